"""One launch plan for every kind of start."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from switchboard.clis.launch_options import LaunchOptions
from switchboard.clis.profiles import PROFILES, UnsupportedStart
from switchboard.sessions.launch import LaunchPlan, LaunchRequest, Mode, plan_launch
from switchboard.sessions.sandbox_start import SandboxPlace

ID = "0d6f3a52-0000-4000-8000-00000000000a"
IN_SANDBOX = LaunchOptions(sandbox=True)


def plan(mode: Mode, profile: str, **environment: str) -> LaunchPlan:
    return plan_launch(LaunchRequest(mode, PROFILES[profile], ID, "/srv/p", environment, "/venv/python", 90, 20))


@pytest.mark.parametrize(
    ("mode", "profile", "argv"),
    [
        ("new", "claude", ("claude", "--session-id", ID)),
        ("schedule", "claude", ("claude", "--session-id", ID)),
        ("resume", "claude", ("claude", "--resume", ID)),
        ("restore", "claude", ("claude", "--resume", ID)),
        ("fork", "claude", ("claude", "--resume", ID, "--fork-session")),
        ("new", "agent", ("/venv/python", "-P", "-m", "switchboard.cli.main", "agent", "--session-id", ID)),
        ("resume", "agent", ("/venv/python", "-P", "-m", "switchboard.cli.main", "agent", "--resume", ID)),
        ("shell", "shell", ("/bin/zsh", "-l", "-i")),
    ],
)
def test_argument_lists(mode: Mode, profile: str, argv: tuple[str, ...]) -> None:
    made = plan(mode, profile, SHELL="/bin/zsh")
    assert made.argv == argv
    assert (made.cwd, made.columns, made.rows) == ("/srv/p", 90, 20)
    assert made.environment["TERM"] == "xterm-256color"


def test_an_override_names_the_executable() -> None:
    assert plan("new", "claude", SWITCHBOARD_CLAUDE="/opt/c").argv[0] == "/opt/c"


def test_a_profile_gives_its_variables() -> None:
    assert plan("new", "gemini", GEMINI_CLI_NO_RELAUNCH="false").environment["GEMINI_CLI_NO_RELAUNCH"] == "true"


@pytest.mark.parametrize(("mode", "profile"), [("fork", "gemini"), ("resume", "shell")])
def test_a_start_that_a_cli_does_not_have_is_refused(mode: Mode, profile: str) -> None:
    with pytest.raises(UnsupportedStart):
        plan(mode, profile)


def with_options(mode: Mode, profile: str, options: LaunchOptions) -> LaunchPlan:
    return plan_launch(LaunchRequest(mode, PROFILES[profile], ID, "/srv/p q", {}, "/python", options=options))


@pytest.mark.parametrize(
    ("mode", "argv"),
    [
        ("new", ("claude", "--session-id", ID, "--chrome")),
        ("resume", ("claude", "--resume", ID, "--chrome")),
        ("fork", ("claude", "--resume", ID, "--fork-session", "--chrome")),
    ],
)
def test_saved_flags_follow_the_id(mode: Mode, argv: tuple[str, ...]) -> None:
    assert with_options(mode, "claude", LaunchOptions(("--chrome",))).argv == argv


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (LaunchOptions(shell="/bin/bash"), f"cd '/srv/p q' && exec claude --resume {ID}"),
        (LaunchOptions(prefix="a -b C=d", shell="/bin/bash"), f"cd '/srv/p q' && a -b C=d claude --resume {ID}"),
    ],
)
def test_through_a_login_shell(options: LaunchOptions, line: str) -> None:
    assert with_options("resume", "claude", options).argv == ("/bin/bash", "-l", "-i", "-c", line)


def test_a_terminal_is_its_own_shell() -> None:
    assert with_options("shell", "shell", LaunchOptions(prefix="x", shell="/bin/bash")).argv[1:] == ("-l", "-i")


# --- in a sandbox -------------------------------------------------------------------------------------------------

SANDBOX = ("/venv/python", "-E", "-P", "-m", "switchboard.sandbox", "--cli")
PLACE = SandboxPlace("/t dir", "/data", "/data/run", "/data/sandboxes/7/sessions", "-srv-p", ("/a", "/b c"))


def sandboxed(mode: Mode, profile: str, options: LaunchOptions = IN_SANDBOX, **environment: str) -> LaunchPlan:
    request = LaunchRequest(
        mode, PROFILES[profile], ID, "/srv/p", environment, "/venv/python", options=options, sandbox=PLACE
    )
    return plan_launch(request)


@pytest.mark.parametrize("profile", ["claude", "agent"])
@pytest.mark.parametrize(
    ("mode", "arguments"),
    [
        ("new", ("--session-id", ID)),
        ("schedule", ("--session-id", ID)),
        ("resume", ("--resume", ID)),
        ("restore", ("--resume", ID)),
        ("fork", ("--resume", ID, "--fork-session")),
    ],
)
def test_the_sandbox_takes_the_place_of_the_cli_in_every_kind_of_start(
    mode: Mode, profile: str, arguments: tuple[str, ...]
) -> None:
    made = sandboxed(mode, profile)
    assert made.argv == (*SANDBOX, profile, "--", *arguments)
    assert made.cwd == "/srv/p"
    assert {name: value for name, value in made.environment.items() if name.startswith("SWITCHBOARD_SANDBOX")} == {
        "SWITCHBOARD_SANDBOX_TRIGGERS_DIR": "/t dir",
        "SWITCHBOARD_SANDBOX_DATA_DIR": "/data",
        "SWITCHBOARD_SANDBOX_RUNTIME_DIR": "/data/run",
        "SWITCHBOARD_SANDBOX_SESSIONS_DIR": "/data/sandboxes/7/sessions",
        "SWITCHBOARD_SANDBOX_BINDS": "/a:/b c",
        "SWITCHBOARD_SANDBOX_PROJECT_FOLDER": "-srv-p",
    }


def test_an_override_of_the_cli_is_left_to_the_sandbox() -> None:
    made = sandboxed("new", "claude", SWITCHBOARD_CLAUDE="/opt/c")
    assert made.argv[:7] == (*SANDBOX, "claude")
    assert made.environment["SWITCHBOARD_CLAUDE"] == "/opt/c"


def test_what_the_host_has_in_its_environment_does_not_count() -> None:
    made = sandboxed("new", "claude", SWITCHBOARD_SANDBOX_TRIGGERS_DIR="/other", SWITCHBOARD_SANDBOX_BINDS="/etc")
    assert made.environment["SWITCHBOARD_SANDBOX_TRIGGERS_DIR"] == "/t dir"
    assert made.environment["SWITCHBOARD_SANDBOX_BINDS"] == "/a:/b c"


def test_shell_and_prefix_stay_outside_and_in_front() -> None:
    made = sandboxed("resume", "claude", replace(IN_SANDBOX, shell="/bin/bash", prefix="aws exec", arguments=("--x",)))
    command = f"cd /srv/p && aws exec {' '.join(SANDBOX)} claude -- --resume {ID} --x"
    assert made.argv == ("/bin/bash", "-l", "-i", "-c", command)


def test_a_start_without_a_sandbox_has_nothing_of_it() -> None:
    made = sandboxed("new", "claude", LaunchOptions())
    assert made.argv == ("claude", "--session-id", ID)
    assert not any(name.startswith("SWITCHBOARD_SANDBOX") for name in made.environment)


@pytest.mark.parametrize("profile", ["codex", "gemini", "opencode"])
@pytest.mark.parametrize("mode", ["new", "resume"])
def test_a_cli_that_no_sandbox_is_known_for_is_refused(mode: Mode, profile: str) -> None:
    with pytest.raises(UnsupportedStart, match=f"{PROFILES[profile].title} .*nothing was started without it"):
        sandboxed(mode, profile)


@pytest.mark.parametrize("platform", ["darwin", "win32", "freebsd14"])
def test_a_sandbox_requires_linux(platform: str) -> None:
    request = LaunchRequest(
        "new",
        PROFILES["agent"],
        ID,
        "/srv/p",
        {},
        "/python",
        options=IN_SANDBOX,
        sandbox=replace(PLACE, platform=platform),
    )
    with pytest.raises(UnsupportedStart, match=r"^Sandbox mode requires Linux \(bubblewrap\)"):
        plan_launch(request)


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_a_prefix_in_a_real_shell(shell: str, tmp_path: Path) -> None:
    """Set variables, functions of the profile files and programs all work, and arguments arrive as they are."""
    (tmp_path / ".profile").write_text('fun() { echo "fun: $*"; "$@"; }\ncd /\n')
    request = LaunchRequest(
        "resume",
        replace(PROFILES["claude"], program=("printf", "%s|")),
        ID,
        str(tmp_path),
        {},
        "/python",
        options=LaunchOptions(("--add-dir", "/a b;c"), "fun env A=b", shutil.which(shell)),
    )
    done = subprocess.run(
        plan_launch(request).argv,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=20,
        check=True,
    )
    said = done.stdout.decode()
    assert said == f"fun: env A=b printf %s| --resume {ID} --add-dir /a b;c\n--resume|{ID}|--add-dir|/a b;c|"
