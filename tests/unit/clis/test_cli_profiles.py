"""How each CLI is started, how it takes text, and where it publishes."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from switchboard.clis.profiles import (
    AGENT,
    ATTACH,
    CLAUDE,
    CODEX,
    GEMINI,
    OPENCODE,
    PROFILES,
    SHELL,
    CliProfile,
    UnsupportedStart,
    through_login_shell,
)

ID = "6f1d2a0e-0000-4000-8000-000000000001"
ENV = {"HOME": "/home/ada"}
PYTHON = "/usr/bin/python3.11"
AGENT_COMMAND = [PYTHON, "-P", "-m", "switchboard.cli.main", "agent"]


@pytest.mark.parametrize(
    ("profile", "start", "expected"),
    [
        pytest.param(CLAUDE, "new", ["claude", "--session-id", ID], id="7.4 new"),
        pytest.param(CLAUDE, "resume", ["claude", "--resume", ID], id="7.4 resume"),
        pytest.param(CLAUDE, "fork", ["claude", "--resume", ID, "--fork-session"], id="7.4 fork"),
        pytest.param(AGENT, "new", [*AGENT_COMMAND, "--session-id", ID], id="agent new"),
        pytest.param(AGENT, "resume", [*AGENT_COMMAND, "--resume", ID], id="agent resume"),
        pytest.param(CODEX, "new", ["codex", "--no-daemon"], id="codex makes its own id"),
        pytest.param(CODEX, "resume", ["codex", "resume", "--no-daemon", ID], id="codex resume"),
        pytest.param(GEMINI, "new", ["gemini", "--session-id", ID], id="gemini new"),
        pytest.param(GEMINI, "resume", ["gemini", "--resume", ID], id="gemini resume"),
        pytest.param(OPENCODE, "new", ["opencode"], id="opencode makes its own id"),
        pytest.param(OPENCODE, "resume", ["opencode", "--session", ID], id="opencode resume"),
        pytest.param(SHELL, "new", ["/bin/sh", "-l", "-i"], id="shell"),
        pytest.param(ATTACH, "new", ["claude", "attach", ID], id="attach to a job"),
    ],
)
def test_argument_list(profile: CliProfile, start: str, expected: list[str]) -> None:
    build = {"new": profile.new, "resume": profile.resume, "fork": profile.fork}[start]
    assert build(profile.command(ENV, PYTHON), ID) == expected


def test_extra_arguments_come_last() -> None:
    assert CLAUDE.new(("claude",), ID, ["--model", "x"]) == ["claude", "--session-id", ID, "--model", "x"]


@pytest.mark.parametrize(
    ("profile", "start"),
    [
        (SHELL, "resume"),
        (SHELL, "fork"),
        (ATTACH, "resume"),
        (CODEX, "fork"),
        (GEMINI, "fork"),
        (OPENCODE, "fork"),
    ],
)
def test_a_start_the_cli_does_not_have_is_refused_by_name(profile: CliProfile, start: str) -> None:
    build = profile.resume if start == "resume" else profile.fork
    with pytest.raises(UnsupportedStart, match=f"{profile.title} cannot {start} a session"):
        build(("x",), ID)


@pytest.mark.parametrize("session_id", ["", "-c", "--dangerously-skip-permissions"])
def test_an_id_that_would_be_read_as_an_option_is_refused(session_id: str) -> None:
    with pytest.raises(UnsupportedStart):
        CLAUDE.resume(("claude",), session_id)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ("claude",)),
        ({"SWITCHBOARD_CLAUDE": ""}, ("claude",)),
        ({"SWITCHBOARD_CLAUDE": "/opt/claude dir/claude"}, ("/opt/claude dir/claude",)),
    ],
)
@pytest.mark.parametrize("profile", [CLAUDE, ATTACH])
def test_the_claude_program_can_be_overridden(
    profile: CliProfile, env: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert profile.command(env, PYTHON) == expected


def test_the_override_is_for_claude_alone() -> None:
    env = {"SWITCHBOARD_CLAUDE": "/opt/claude"}
    assert CODEX.command(env, PYTHON) == ("codex",)
    assert AGENT.command(env, PYTHON) == tuple(AGENT_COMMAND)


@pytest.mark.parametrize(("env", "shell"), [({"SHELL": "/bin/zsh"}, "/bin/zsh"), ({"SHELL": ""}, "/bin/sh")])
def test_the_shell_is_the_persons(env: dict[str, str], shell: str) -> None:
    assert SHELL.command(env, PYTHON) == (shell,)


@pytest.mark.parametrize(
    ("profile", "env", "sessions", "projects"),
    [
        (CLAUDE, ENV, "/home/ada/.claude/sessions", "/home/ada/.claude/projects"),
        (CLAUDE, {**ENV, "CLAUDE_CONFIG_DIR": "/c"}, "/c/sessions", "/c/projects"),
        (AGENT, ENV, "/home/ada/.switchboard-agent/sessions", "/home/ada/.switchboard-agent/projects"),
        (AGENT, {**ENV, "SWITCHBOARD_AGENT_HOME": "/a", "CLAUDE_CONFIG_DIR": "/c"}, "/a/sessions", "/a/projects"),
        (SHELL, ENV, None, None),
        (CODEX, ENV, None, None),
    ],
)
def test_where_it_publishes(
    profile: CliProfile, env: dict[str, str], sessions: str | None, projects: str | None
) -> None:
    assert profile.sessions_dir(env) == sessions
    assert profile.projects_dir(env) == projects
    assert profile.publishes is (sessions is not None)


@pytest.mark.parametrize(
    ("profile", "delay", "bracketed", "whole"),
    [
        pytest.param(CLAUDE, 50, False, False, id="claude: chunks, Enter after 50 ms"),
        pytest.param(AGENT, 50, False, False, id="agent: the default"),
        pytest.param(SHELL, 50, False, False, id="shell: the default"),
        pytest.param(CODEX, 50, True, True, id="codex: paste, 50 ms"),
        pytest.param(GEMINI, 200, True, True, id="gemini: paste, 200 ms"),
        pytest.param(OPENCODE, 50, True, True, id="opencode: paste, 50 ms"),
    ],
)
def test_how_it_takes_text(profile: CliProfile, delay: int, bracketed: bool, whole: bool) -> None:
    assert profile.typing.enter_delay_ms == delay
    assert profile.typing.bracketed_paste is bracketed
    if whole:
        assert profile.typing.chunk_bytes >= 3 * 4096 + len("\x1b[200~\x1b[201~")
    else:
        assert profile.typing.chunk_bytes == 256


@pytest.mark.parametrize(
    ("profile", "takes"),
    [(CLAUDE, True), (AGENT, True), (GEMINI, True), (CODEX, False), (OPENCODE, False), (SHELL, False)],
)
def test_who_can_be_given_an_id(profile: CliProfile, takes: bool) -> None:
    assert profile.takes_session_id is takes


def test_every_profile_is_found_by_its_name() -> None:
    assert set(PROFILES) == {"claude", "agent", "shell", "attach", "codex", "gemini", "opencode"}
    assert all(profile.name == name for name, profile in PROFILES.items())
    assert {name for name, profile in PROFILES.items() if profile.publishes} == {"claude", "agent"}
    assert {profile.kind for profile in PROFILES.values()} == {"agent", "shell", "attach"}


def test_profiles_are_values() -> None:
    assert replace(CLAUDE) == CLAUDE
    assert hash(CLAUDE) == hash(replace(CLAUDE))


def test_gemini_runs_as_one_process_and_warns_of_its_clean_up() -> None:
    assert ("GEMINI_CLI_NO_RELAUNCH", "true") in GEMINI.environment
    assert any("sessionRetention" in caution for caution in GEMINI.cautions)


def test_a_login_shell_enters_the_directory_after_its_profile_and_leaves_no_shell_behind(tmp_path: Path) -> None:
    strange = tmp_path / "it's $HOME"
    strange.mkdir()
    argv = through_login_shell("/bin/sh", str(strange), ["printf", "%s|", "a b", "$HOME;", "it's"])
    assert argv[:4] == ["/bin/sh", "-l", "-i", "-c"]
    assert shlex.split(argv[4])[-6:-3] == ["exec", "printf", "%s|"]
    # -i wants a terminal; what is shown here is the quoting and the directory.
    done = subprocess.run(["/bin/sh", "-c", argv[4]], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout == "a b|$HOME;|it's|"
    entered = subprocess.run(
        ["/bin/sh", "-c", through_login_shell("/bin/sh", str(strange), ["pwd"])[4]],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert entered.stdout == f"{strange}\n"
