"""The command from start to end, with a bubblewrap that only writes down what it is called with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.sandbox_rig import Rig, snapshot

from switchboard.sandbox import command, making
from switchboard.sandbox.start import MARK


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    made = Rig(tmp_path)
    made.command()
    made.fake_bwrap()
    return made


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed command would start over for them."""
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        monkeypatch.delenv(name)


def host(rig: Rig) -> dict[str, str]:
    """What is on disk, without the fake's own notes."""
    return {name: text for name, text in snapshot(rig.folder).items() if not name.startswith("programs/bwrap.")}


def test_successful_launch_creates_state_dirs_only(rig: Rig) -> None:
    before = host(rig)
    ended = rig.start(arguments=["--resume", "a b", ""])
    assert (ended.code, ended.out) == (0, "")
    made = {name: text for name, text in host(rig).items() if name not in before}
    assert set(made.values()) == {"/"}
    names = {name.split("/")[0] + "/" + name.split("/")[1] for name in made}
    assert names == {"home/.claude", "home/.cache", "home/.config", "home/.local", "project/.claude"}
    last = rig.calls()[-1]
    assert last[-4:] == [str(rig.claude), "--resume", "a b", ""]
    assert last[:3] == ["--unshare-all", "--share-net", "--die-with-parent"]


def test_the_plan_is_tried_out_before_and_after_directories_are_made(rig: Rig) -> None:
    rig.start()
    first = rig.calls()
    assert [call[-1] for call in first] == ["/bin/true", "/bin/true", str(rig.claude)]
    assert first[1][:-1] == planned(first[2])
    (rig.programs / "bwrap.calls").unlink()
    rig.start()
    again = rig.calls()
    assert [call[-1] for call in again] == ["/bin/true", str(rig.claude)]
    assert again[0][:-1] == planned(again[1])


def planned(call: list[str]) -> list[str]:
    """The options of a call without what the mounts are looked at with, and without the program."""
    assert call[-9::] == ["--info-fd", "10", *("--file", "11", MARK), *("--file", "12", MARK), str(call[-1])]
    return call[:-9]


def test_each_call_gets_the_private_file_from_its_start(rig: Rig) -> None:
    rig.write(".claude.json", '{"a":1}')
    rig.start()
    assert (rig.programs / "bwrap.files").read_text() == '{"a":1}' * 3


def test_failed_preflight_creates_nothing(rig: Rig) -> None:
    rig.fake_bwrap(preflight=1, errors="bwrap: something else")
    before = host(rig)
    ended = rig.start()
    assert ended.code == 125
    assert "claude-sandbox: bwrap failed to set up the sandbox: bwrap: something else\n" in ended.errors
    assert host(rig) == before
    assert [call[-1] for call in rig.calls()] == ["/bin/true"]


@pytest.mark.parametrize(
    "text",
    [
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow it",
        "bwrap: setting up uid map: Permission denied",
        "bwrap: Creating new namespace failed: Operation not permitted",
    ],
)
def test_userns_hint(rig: Rig, text: str) -> None:
    rig.fake_bwrap(preflight=1, errors=text)
    ended = rig.start()
    assert ended.code == 125
    for word in ("bwrap failed to set up the sandbox", text, "kernel.unprivileged_userns_clone", "AppArmor"):
        assert word in ended.errors


def test_first_launch_refusal_leaves_home_untouched(rig: Rig) -> None:
    (rig.home / ".claude").rmdir()
    before = host(rig)
    ended = rig.start()
    assert ended.code == 125
    message = f"claude-sandbox: {rig.home}/.claude does not exist; run claude once outside the sandbox first"
    assert ended.errors.splitlines()[-1] == message
    assert host(rig) == before
    assert rig.calls() == []


def test_without_bwrap(rig: Rig) -> None:
    ended = rig.start(PATH="/nonexistent")
    assert ended.code == 125
    assert "claude-sandbox: bwrap not found in PATH; install bubblewrap" in ended.errors


@pytest.mark.parametrize("name", ["bwrap", "git"])
def test_a_program_of_the_project_is_not_run_outside(rig: Rig, name: str) -> None:
    rig.repository(rig.project)
    rig.program(rig.project / f"bin/{name}", f'#!/bin/bash\ntouch "{rig.folder}/ran-outside"\n')
    (rig.programs / "bwrap.calls").unlink(missing_ok=True)
    path = f"{rig.project}/bin:{rig.environment()['PATH']}"
    assert rig.start(PATH=path).code == 0
    assert rig.calls()
    ended = rig.start(PATH=f"{rig.project}/bin:{rig.programs if name == 'git' else ''}")
    assert ended.code == 125
    assert f"{name} was found nowhere in PATH but at {rig.project}/bin/{name}, where sessions can write" in ended.errors
    assert not (rig.folder / "ran-outside").exists()


def test_claude_also_a_shell_function(rig: Rig) -> None:
    """What a shell would call by that name does not count: the program does."""
    ended = rig.start(**{"BASH_FUNC_claude%%": "() { echo function; }"})
    assert ended.code == 0
    assert rig.calls()[-1][-1] == str(rig.claude)


def test_what_the_sandbox_ends_with_is_the_end(rig: Rig) -> None:
    rig.fake_bwrap(code=3)
    assert rig.start().code == 3


def test_nothing_is_tried_without_the_sandbox(rig: Rig) -> None:
    rig.program(rig.claude, f'#!/bin/bash\ntouch "{rig.folder}/ran-outside"\n')
    for arguments in ({}, {"SWITCHBOARD_SANDBOX_PROJECT_FOLDER": ".."}):
        rig.fake_bwrap(preflight=1)
        assert rig.start(**arguments).code == 125
    assert not (rig.folder / "ran-outside").exists()


def test_internal_variables_do_not_reach_the_inside(rig: Rig) -> None:
    rig.start(
        SWITCHBOARD_SANDBOX_DEBUG="1", SWITCHBOARD_SANDBOX_TRIGGERS_DIR="/t", SWITCHBOARD_TRIGGERS_DIR="/t", A="b"
    )
    names = {line.split("=")[0] for line in (rig.programs / "bwrap.environment").read_text().split("\0")}
    assert {"A", "SWITCHBOARD_TRIGGERS_DIR", "HOME", "PATH"} <= names
    assert not [name for name in names if name.startswith("SWITCHBOARD_SANDBOX_")]


def test_refusals_name_what_is_wrong_and_exit_with_125(rig: Rig) -> None:
    ended = rig.start(cwd=rig.home)
    assert ended.code == 125
    assert ended.errors.splitlines()[-1] == f"claude-sandbox: refusing to bind '{rig.home}': it is $HOME itself"


def test_could_not_create(rig: Rig) -> None:
    rig.link(".config", "/nonexistent/place")
    ended = rig.start()
    assert ended.code == 125
    assert "could not create" in ended.errors
    assert str(rig.home / ".config/claude") in ended.errors


def test_what_stays_missing_ends_the_start(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "make", lambda _missing: None)
    with pytest.raises(making.Refusal, match=r"could not prepare the mount points: .*projects"):
        making._complete(rig.request(), None, {})


def test_missing_bind_is_a_warning(rig: Rig) -> None:
    ended = rig.start(SWITCHBOARD_SANDBOX_BINDS=f"{rig.folder}/gone")
    assert ended.code == 0
    assert f"claude-sandbox: warning: '{rig.folder}/gone' does not exist and is not bound\n" in ended.errors


def test_control_directories_are_looked_at_again_at_the_last_moment(rig: Rig) -> None:
    """The preflight moves the triggers directory away: what was planned before it is not made after it."""
    triggers = rig.directory(rig.project / "triggers/processed").parent
    fake = (rig.programs / "bwrap").read_text()
    move = f'[ "${{!#}}" = /bin/true ] && mv "{triggers}" "{rig.project}/moved"\n'
    rig.program(rig.programs / "bwrap", fake.replace("cat <&9", f"{move}cat <&9"))
    ended = rig.start(SWITCHBOARD_TRIGGERS_DIR=str(triggers))
    assert ended.code == 125
    assert f"cannot protect the control directory '{triggers}'" in ended.errors
    assert [call[-1] for call in rig.calls()] == ["/bin/true"]


def test_the_terminal_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sysctl = tmp_path / "legacy_tiocsti"
    monkeypatch.setattr(making, "TIOCSTI", str(sysctl))
    assert making._terminal_warnings() == []
    sysctl.write_text("0\n")
    assert making._terminal_warnings() == []
    sysctl.write_text("1\n")
    assert [text for text in making._terminal_warnings() if "dev.tty.legacy_tiocsti=1" in text]


@pytest.mark.parametrize(
    ("argv", "name", "arguments"),
    [
        ([], "claude", []),
        (["--", "--cli", "agent"], "claude", ["--cli", "agent"]),
        (["--resume", "x"], "claude", ["--resume", "x"]),
        (["--cli", "agent", "--", "--", "-x"], "agent", ["--", "-x"]),
        (["--cli=agent", "-x"], "agent", ["-x"]),
        (["--cli", "claude"], "claude", []),
    ],
)
def test_module_arguments(monkeypatch: pytest.MonkeyPatch, argv: list[str], name: str, arguments: list[str]) -> None:
    seen = []
    monkeypatch.setattr(making, "guarded", lambda *given: seen.append(given) or 125)
    assert making.module_main(argv) == 125
    assert seen == [(name, arguments)]


@pytest.mark.parametrize("argv", [["--cli"], ["--cli", "codex"], ["--cli=", "x"]])
def test_an_unknown_cli(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert making.module_main(argv) == 125
    assert capsys.readouterr().err.startswith("claude-sandbox: --cli takes claude or agent\n")


def test_the_installed_command_takes_every_argument_as_claudes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(making, "guarded", lambda *given: seen.append(given) or 125)
    assert command.main(["--cli", "agent", "--", "x"]) == 125
    assert seen == [("claude", ["--cli", "agent", "--", "x"])]


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX"])
def test_the_installed_command_starts_over_without_what_tells_python_where_to_look(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    seen = []
    monkeypatch.setenv(name, "/p")
    monkeypatch.setattr(os, "execv", lambda *given: seen.append(given) or (_ for _ in ()).throw(OSError(2, "gone")))
    assert command.main(["--cli", "x"]) == 125
    options = ["-E", "-P", "-m", "switchboard.sandbox", "--cli", "claude", "--", "--cli", "x"]
    assert seen == [(sys.executable, [sys.executable, *options])]


def test_a_module_of_the_project_is_not_imported(tmp_path: Path) -> None:
    """The installed command, with a search path that leads into the project, imports nothing from there any more."""
    rig = Rig(tmp_path)
    for module in ("tempfile", "fcntl", "signal", "re", "typing", "dataclasses", "collections"):
        rig.write(rig.project / f"{module}.py", f"open({str(tmp_path / 'loaded')!r}, 'a')\n")
    started = "import sys; from switchboard.sandbox.command import main; sys.exit(main([]))"
    source = str(Path(command.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r}); {started}"],
        cwd=tmp_path,
        env=rig.environment(PYTHONPATH=str(rig.project)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 125
    assert not (tmp_path / "loaded").exists(), done.stderr


def test_an_unexpected_fault_is_a_refusal_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_given: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(making, "_run", fails)
    assert command.main([]) == 125
    assert capsys.readouterr().err == "claude-sandbox: unexpected ZeroDivisionError: by zero\n"


def test_a_working_directory_that_is_gone(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "getcwd", gone)
    with pytest.raises(making.Refusal, match="the working directory is gone"):
        making._cwd()


def test_little_is_imported() -> None:
    """What the start of a terminal waits for: asyncio alone would take longer than the sandbox."""
    listing = 'import sys, switchboard.sandbox.making; print(" ".join(sorted(sys.modules)))'
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    slow = {"asyncio", "subprocess", "tempfile", "json", "hashlib", "argparse", "pathlib"}
    assert slow & set(done.stdout.split()) == set()
