"""`claude-sandbox` with the real bubblewrap: what a program inside can and cannot do, as root and as an ordinary user.

Where no sandbox can be made, these tests fail and say what to install or allow; none is left out.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.sandbox_rig import SYSTEM_PATH, Rig, as_user, snapshot

USERS = ("self", "nobody") if os.geteuid() == 0 else ("self",)
"""Root starts them as somebody else as well; whoever is not root is somebody else already."""


@pytest.fixture(scope="session", params=USERS)
def user(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    bwrap = shutil.which("bwrap", path=SYSTEM_PATH)
    assert bwrap is not None, "bubblewrap is missing. Install it (Debian: apt-get install bubblewrap)."
    trial = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/true"]
    done = subprocess.run(trial, capture_output=True, text=True, check=False, **as_user(name))  # type: ignore[call-overload]  # the arguments of one user
    assert done.returncode == 0, f"no sandbox can be made here as {name}: {done.stderr}; `switchboard doctor` says more"
    return name


@pytest.fixture
def rig(user: str) -> Iterator[Rig]:
    # Not below pytest's own folder, which is closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="sandbox-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield Rig(folder, user)
    shutil.rmtree(folder)


def attempts(out: str) -> dict[str, str]:
    """What each attempt said of itself: its lines are `name: yes` or `name: no`."""
    return dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)


def script(*tries: tuple[str, str]) -> str:
    """Each attempt in a shell of its own."""
    return "\n".join(
        f"if ( {what} ) >/dev/null 2>&1; then echo '{name}: yes'; else echo '{name}: no'; fi" for name, what in tries
    )


def prepared(rig: Rig) -> None:
    """A home and a project with everything that a session might be after."""
    for name in (".credentials.json", "history.jsonl", "settings.json", "CLAUDE.md", "shell-snapshots/snap.sh"):
        rig.write(f".claude/{name}")
    for name in ("skills/s/SKILL.md", "plugins/p/plugin.json", "hooks/h.sh", "projects/-other/t.jsonl", "ide/1.lock"):
        rig.write(f".claude/{name}")
    rig.write(".claude.json", '{"host":true}')
    rig.write(".bashrc")
    rig.write(".ssh/id")
    rig.write(rig.folder / "outside/file")
    rig.write(rig.project / ".claude/settings.json", "{}")
    rig.directory(rig.project / ".claude/worktrees")
    rig.write(rig.project / "source.py", "old\n")
    rig.repository(rig.project)
    rig.repository(rig.project / "vendor/inner")
    rig.git(rig.project, "config", "user.name", "A")
    rig.git(rig.project, "config", "user.email", "a@example.com")
    rig.git(rig.project, "config", "core.hooksPath", "tools/hooks")
    rig.write(rig.project / "tools/hooks/pre-push", "#!/bin/sh\n")
    rig.git(rig.project, "add", "source.py")
    rig.git(rig.project, "commit", "-q", "-m", "first")
    rig.write(".switchboard/triggers/processed/old.result.json", "{}\n")
    rig.write(".switchboard/switchboard.db", "db\n")


ALLOWED = (
    ("transcript", "echo line >>~/.claude/projects/-own/s.jsonl"),
    ("credentials refresh", "echo new >~/.claude/.credentials.json"),
    ("source file", "echo new >source.py"),
    ("git commit", "git add source.py && git commit -q -m second"),
    ("reading resolv.conf", "cat /etc/resolv.conf"),
)

FORBIDDEN = (
    ("project settings", "echo x >.claude/settings.json"),
    ("new project settings", "echo x >.claude/settings.local.json"),
    ("project claude away", "mv .claude gone"),
    ("git config", "git config core.fsmonitor 'touch x'"),
    ("git hook", "echo x >.git/hooks/post-commit"),
    ("hooks away", "mv .git/hooks .git/gone"),
    ("effective hook", "echo x >tools/hooks/pre-commit"),
    ("way to the hooks away", "mv tools elsewhere"),
    ("git away", "mv .git elsewhere"),
    ("inner git config", "echo x >>vendor/inner/.git/config"),
    ("inner git away", "mv vendor/inner/.git vendor/inner/gone"),
    ("way to inner git away", "mv vendor elsewhere"),
    ("inner git deleted", "rm -rf vendor/inner/.git/hooks"),
    ("user settings", "echo x >~/.claude/settings.json"),
    ("user memory", "echo x >>~/.claude/CLAUDE.md"),
    ("user skill", "echo x >~/.claude/skills/s/SKILL.md"),
    ("user plugin", "rm ~/.claude/plugins/p/plugin.json"),
    ("other transcript", "echo x >>~/.claude/projects/-other/t.jsonl"),
    ("ide lock", "echo x >~/.claude/ide/1.lock"),
    ("the program", 'echo x >>"$PROGRAMS/claude"'),
    ("machine", "touch /etc/x || touch /usr/x"),
    ("mounts", "umount .claude || mount -o remount,rw /etc"),
    ("mounts in a namespace of its own", "unshare -Urm sh -c 'umount .claude || mount -o remount,bind,rw .claude'"),
    ("the project once more", 'unshare -Urm sh -c \'mkdir /tmp/m && mount --bind "$0" /tmp/m\' "$PWD"'),
    ("renamed in a namespace of its own", "unshare -Urm mv .git/hooks .git/gone"),
)
"""These fail, so that whoever tries can see it."""

VANISHING = (
    ("shell snapshot", "echo x >~/.claude/shell-snapshots/snap.sh && echo x >~/.claude/shell-snapshots/new.sh"),
    ("user file", "mkdir -p ~/.ssh && echo x >~/.bashrc && echo x >~/.ssh/id"),
    ("claude.json", "echo x >~/.claude.json"),
    ("new in home claude", "echo x >~/.claude/settings.local.json"),
    ("trigger", "mkdir -p ~/.switchboard/triggers && echo x >~/.switchboard/triggers/x.json"),
    ("elsewhere", 'mkdir -p "$FOLDER/outside" && echo x >"$FOLDER/outside/file"'),
    ("temporary", "echo x >/tmp/x-of-a-sandbox"),
)
"""These may succeed, in memory of the sandbox alone."""


def test_what_lasts_and_what_does_not(rig: Rig) -> None:
    """What a session is for lasts. Everything else leaves the host as it was."""
    prepared(rig)
    rig.start(SWITCHBOARD_SANDBOX_PROJECT_FOLDER="-own")  # makes the directories of a first start
    before = snapshot(rig.folder)
    ended = rig.start(
        script(*ALLOWED, *FORBIDDEN, *VANISHING),
        SWITCHBOARD_SANDBOX_PROJECT_FOLDER="-own",
        PROGRAMS=str(rig.programs),
        FOLDER=str(rig.folder),
    )
    assert ended.code == 0, ended.errors
    results = attempts(ended.out)
    assert len(results) == len(ALLOWED) + len(FORBIDDEN) + len(VANISHING)
    assert [name for name, _ in ALLOWED if results[name] != "yes"] == []
    assert [name for name, _ in FORBIDDEN if results[name] != "no"] == []
    after = snapshot(rig.folder)
    inside_git = {name for name in {*before, *after} if name.startswith("project/.git/")}
    changed = {name for name in {*before, *after} - inside_git if before.get(name) != after.get(name)}
    assert changed == {
        "home/.claude/projects/-own/s.jsonl",
        "home/.claude/.credentials.json",
        "project/source.py",
    }
    assert {name: before[name] for name in inside_git if "/config" in name or "/hooks" in name} == {
        name: after[name] for name in inside_git if name in after and ("/config" in name or "/hooks" in name)
    }
    assert not Path("/tmp/x-of-a-sandbox").exists()
    assert rig.git(rig.project, "-c", f"safe.directory={rig.project}", "log", "--format=%s") == "second\nfirst"


def test_a_first_start_makes_its_directories_and_nothing_else(rig: Rig) -> None:
    rig.command()
    before = snapshot(rig.folder)
    ended = rig.start("exit 7")
    assert ended.code == 7
    made = set(snapshot(rig.folder)) - set(before)
    own = "home/.claude/projects/" + "".join(letter if letter.isalnum() else "-" for letter in str(rig.project))
    names = ("projects", "todos", "statsig", "file-history", "sessions", "plans", "tasks", "ide")
    assert made == {
        *(f"home/.claude/{name}" for name in names),
        own,
        *("home/.config", "home/.config/claude", "home/.cache", "home/.cache/claude"),
        *("home/.local", "home/.local/share", "home/.local/share/claude"),
        "project/.claude",
    }


def test_what_is_inside(rig: Rig) -> None:
    """Arguments, environment, numbers of processes, working directory and terminal are the CLI's."""
    rig.write(".claude.json", '{"mine":1}')
    ended = rig.start(
        'printf "<%s>" "$@"; echo; pwd; echo "$SHELL|$KEPT|$SWITCHBOARD_SANDBOX_BINDS|$SWITCHBOARD_TRIGGERS_DIR";'
        "id -u; cat ~/.claude.json; echo; ls /proc | grep -c '^[0-9]'; env | grep -c ^SWITCHBOARD_SANDBOX",
        arguments=["--resume", "a b", "", "--", "$x", "ü"],
        KEPT="kept",
        SHELL="/bin/zsh",
        SWITCHBOARD_TRIGGERS_DIR=str(rig.folder / "triggers"),
    )
    lines = ended.out.splitlines()
    assert lines[0] == "<--resume><a b><><--><$x><ü>"
    assert lines[1] == str(rig.project)
    assert lines[2] == f"/bin/bash|kept||{rig.folder}/triggers"
    assert lines[3] == str(65_534 if rig.user == "nobody" else os.getuid())
    assert lines[4] == '{"mine":1}'
    assert int(lines[5]) < 8
    assert lines[6] == "0"


KERNEL_FILES = """
for file in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sys/kernel/modprobe /proc/sysrq-trigger; do
    # Opened for writing, and nothing is written.
    if [ -e "$file" ] && ( exec 3>>"$file" ) 2>/dev/null; then echo "open: $file"; fi
done
echo done
"""


def test_the_kernels_settings_cannot_be_written(rig: Rig) -> None:
    """What acts on the whole machine: root needs no capability for it, so it is covered."""
    assert rig.start(KERNEL_FILES).out.split("\n") == ["done", ""]


def test_an_exit_by_signal_is_passed_on(rig: Rig) -> None:
    assert rig.start("kill -TERM $$").code == 128 + 15


def test_the_process_stays_with_the_sandbox(rig: Rig) -> None:
    """The terminal's process has bubblewrap as its child, holds nothing open but the terminal, and ends with it."""
    rig.hand_over()
    command = rig.command()
    rig.hand_over()
    process = subprocess.Popen(  # type: ignore[call-overload]  # the arguments of one user
        command,
        cwd=rig.project,
        env=rig.environment(PYTHONPATH=str(rig.folder / "product"), RUN="echo up; read -r _; true"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        **as_user(rig.user),
    )
    with process:
        assert process.stdout.readline() == b"up\n"
        below = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert [Path(f"/proc/{child}/comm").read_text() for child in below] == ["bwrap\n"]
        assert {entry.name for entry in Path(f"/proc/{process.pid}/fd").iterdir()} == {"0", "1", "2"}
        process.stdin.close()
        assert process.wait(10) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_what_ends_the_process_ends_the_sandbox(rig: Rig, number: signal.Signals) -> None:
    command = rig.command()
    rig.hand_over()
    process = subprocess.Popen(  # type: ignore[call-overload]  # the arguments of one user
        command,
        cwd=rig.project,
        env=rig.environment(
            PYTHONPATH=str(rig.folder / "product"), RUN="trap '' TERM HUP; echo up; read -r _; read -r _"
        ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        **as_user(rig.user),
    )
    with process:
        assert process.stdout.readline() == b"up\n"
        process.send_signal(number)
        # The program inside has this open until it ends.
        assert process.stdout.read() == b""
        assert process.wait(10) == -number


EXCHANGES = """\
#!/bin/bash
if [ "${{!#}}" != /bin/true ]; then
  mv "{project}/sub" "{project}/kept"
  ln -s "{target}" "{project}/sub"
fi
exec {bwrap} "$@"
"""


@pytest.mark.parametrize("target", ["{home}", "/oldroot{home}", "/newroot/usr/share"])
def test_an_exchange_between_the_plan_and_the_mounts(rig: Rig, target: str) -> None:
    """A directory of the project becomes a link when bubblewrap is about to mount what lies in it."""
    rig.directory(rig.project / "sub/.claude/worktrees")
    rig.directory(".claude/worktrees")
    rig.directory(".switchboard/triggers/processed")
    where = target.format(home=rig.home)
    bwrap = shutil.which("bwrap", path=SYSTEM_PATH)
    rig.program(rig.programs / "bwrap", EXCHANGES.format(project=rig.project, target=where, bwrap=bwrap))
    ended = rig.start("echo ran; echo x >sub/.switchboard/triggers/evil.json", faked=False)
    assert (ended.code, ended.out) == (125, "")
    assert ended.errors.splitlines()[-1].startswith("claude-sandbox: ")
    assert list((rig.home / ".switchboard/triggers").iterdir()) == [rig.home / ".switchboard/triggers/processed"]


def test_an_exchange_of_two_directories_of_the_project_is_noticed(rig: Rig) -> None:
    """Nothing foreign comes in that way, but what is read-only may have landed elsewhere."""
    rig.directory(rig.project / "sub/.claude")
    rig.directory(rig.project / "other/.claude")
    bwrap = shutil.which("bwrap", path=SYSTEM_PATH)
    script = EXCHANGES.format(project=rig.project, target="other", bwrap=bwrap)
    rig.program(rig.programs / "bwrap", script)
    ended = rig.start("echo ran", faked=False)
    assert (ended.code, ended.out) == (125, "")
    assert "did not come out as planned" in ended.errors


def test_own_descriptor_folder(rig: Rig) -> None:
    """Two sandboxes write the same name, each into its own folder, and neither sees the data directory around it."""
    rig.directory(".switchboard/triggers/processed")
    rig.write(".switchboard/switchboard.db")
    for name in ("one", "two"):
        rig.directory(f".switchboard/sandboxes/{name}/sessions")
    rig.directory(".claude/sessions")
    for name in ("one", "two"):
        own = rig.home / f".switchboard/sandboxes/{name}/sessions"
        ended = rig.start(
            f"echo {name} >~/.claude/sessions/2.json; ls ~/.switchboard; ls {own}",
            SWITCHBOARD_SANDBOX_SESSIONS_DIR=str(own),
        )
        assert ended.out == "", ended.errors
    for name in ("one", "two"):
        assert (rig.home / f".switchboard/sandboxes/{name}/sessions/2.json").read_text() == f"{name}\n"
    assert list((rig.home / ".claude/sessions").iterdir()) == []


def test_a_data_directory_in_the_project_is_out_of_sight(rig: Rig) -> None:
    triggers, data = rig.directory(rig.project / "triggers/processed").parent, rig.directory(rig.project / "data")
    rig.write(data / "switchboard.db")
    own = rig.directory(data / "sandboxes/1/sessions")
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    try:
        os.chdir(rig.directory(data / "run"))
        listener.bind("host.sock")
        listener.listen()
    finally:
        os.chdir(here)
    with listener:
        ended = rig.start(
            script(
                ("database", f"cat {data}/switchboard.db"),
                ("socket", f"test -S {data}/run/host.sock"),
                ("trigger", f"echo x >{triggers}/x.json"),
                ("triggers away", f"mv {triggers} {rig.project}/gone"),
                ("descriptor", "echo x >~/.claude/sessions/2.json"),
                ("project", "echo x >x"),
            ),
            SWITCHBOARD_SANDBOX_TRIGGERS_DIR=str(triggers),
            SWITCHBOARD_SANDBOX_DATA_DIR=str(data),
            SWITCHBOARD_SANDBOX_RUNTIME_DIR=str(data / "run"),
            SWITCHBOARD_SANDBOX_SESSIONS_DIR=str(own),
        )
    assert attempts(ended.out) == {
        **dict.fromkeys(("database", "socket", "trigger", "triggers away"), "no"),
        **dict.fromkeys(("descriptor", "project"), "yes"),
    }, ended.errors
    assert (own / "2.json").read_text() == "x\n"
    assert list(triggers.iterdir()) == [triggers / "processed"]


def test_open_directories_are_not_inherited(rig: Rig) -> None:
    """A directory that whoever starts it holds open would be a way out; the output of a command is passed on."""
    rig.command()
    rig.hand_over()
    rig.write(rig.folder / "secret/file", "secret")
    starter = (
        "import os, sys; folder = os.open(sys.argv[1], os.O_RDONLY); os.set_inheritable(folder, True); "
        "read, write = os.pipe(); os.set_inheritable(read, True); os.write(write, b'piped'); os.close(write); "
        "os.environ['RUN'] = f'cat /proc/self/fd/{folder}/file; cat <&{read}'; os.execv(sys.argv[2], sys.argv[2:])"
    )
    done = subprocess.run(  # type: ignore[call-overload]  # the arguments of one user
        [rig.command()[0], "-c", starter, str(rig.folder / "secret"), *rig.command()],
        cwd=rig.project,
        env=rig.environment(PYTHONPATH=str(rig.folder / "product")),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        **as_user(rig.user),
    )
    assert done.stdout == "piped", done.stderr


def test_the_built_in_agent_runs_inside(rig: Rig) -> None:
    """Its interpreter and source are there, its own folder is made, and it gets as far as asking for a terminal."""
    (rig.home / ".claude").rmdir()
    ended = rig.start(options=["--cli", "agent"], arguments=["--version"])
    assert (ended.code, ended.out) == (0, "0.1.0\n"), ended.errors
    ended = rig.start(options=["--cli=agent"])
    assert "the agent needs a terminal" in ended.errors
    assert ended.code == 1
    assert {path.name for path in (rig.home / ".switchboard-agent").iterdir()} == {"projects", "sessions"}
    assert not (rig.home / ".claude").exists()


def test_the_agents_source_in_the_project_stays_what_it_is(rig: Rig) -> None:
    """Whoever works on Switchboard itself does not hand the agent its own host."""
    rig.command()
    shutil.copytree(rig.folder / "product", rig.project / "src")
    shutil.rmtree(rig.folder / "product/switchboard")
    (rig.folder / "product/switchboard").symlink_to(rig.project / "src/switchboard")
    ended = rig.start(
        options=["--cli", "agent"],
        arguments=["--version"],
        PYTHONPATH=str(rig.project / "src"),
        SWITCHBOARD_SANDBOX_DEBUG="1",
    )
    assert (ended.code, ended.out) == (0, "0.1.0\n"), ended.errors
    assert f"ro      {rig.project}/src  (Switchboard itself)\n" in ended.errors


def test_switchboard_in_the_project_is_not_a_sessions_to_change(rig: Rig) -> None:
    """Nor Claude Code's: what lies there starts the next sandbox, outside."""
    rig.command()
    shutil.copytree(rig.folder / "product", rig.project / "src")
    shutil.rmtree(rig.folder / "product/switchboard")
    tries = [
        ("source", "echo x >>src/switchboard/__init__.py"),
        ("module beside it", "echo x >src/sitecustomize.py"),
        ("another in its place", "mv src old"),
        ("elsewhere", "echo x >file"),
    ]
    ended = rig.start(script(*tries), PYTHONPATH=str(rig.project / "src"))
    assert attempts(ended.out) == {
        "source": "no",
        "module beside it": "no",
        "another in its place": "no",
        "elsewhere": "yes",
    }, ended.errors


def test_debug_shows_the_plan(rig: Rig) -> None:
    ended = rig.start("exit 0", SWITCHBOARD_SANDBOX_DEBUG="1")
    assert f"claude-sandbox: rw      {rig.project}  (working directory)\n" in ended.errors


def test_the_interpreter_of_this_environment_runs_it_too(tmp_path: Path) -> None:
    """As it is installed here: from a virtual environment, editable or not."""
    rig = Rig(tmp_path)
    for module in ("switchboard.sandbox",):
        done = subprocess.run(
            [sys.executable, "-P", "-m", module, "--cli", "agent", "--", "--version"],
            cwd=rig.project,
            env=rig.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "0.1.0\n"), done.stderr
