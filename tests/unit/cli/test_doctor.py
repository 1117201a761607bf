"""`switchboard doctor`: each thing it can find, and what it says to do about it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.answering import answering_host
from tests.support.full_disk import FullDisk
from tests.unit.sessions.test_keeper_start import hold, stop

from switchboard import __version__
from switchboard.cli import doctor
from switchboard.cli.doctor import examine, main
from switchboard.cli.finding import Finding
from switchboard.clis.liveness import Resolved
from switchboard.clis.namespace_resolver import NamespaceSearch
from switchboard.host.instance import HostRecord, Instance
from switchboard.host.sandbox_folders import SandboxFolders
from switchboard.page.local_client import HostSilent
from switchboard.page.messages import Listing, ListSessions, Problem, SessionInfo


class Machine:
    """Folders, programs and settings that the doctor looks at. Nothing is there unless a test puts it there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.triggers = root / "triggers"
        self.sessions = root / "claude" / "sessions"
        self.bin = root / "bin"
        self.bin.mkdir()
        self.environment = {
            "PATH": str(self.bin),
            "HOME": str(root),
            "SWITCHBOARD_DATA_DIR": str(self.data),
            "SWITCHBOARD_TRIGGERS_DIR": str(self.triggers),
            "CLAUDE_CONFIG_DIR": str(root / "claude"),
            "SWITCHBOARD_AGENT_HOME": str(root / "agent"),
        }

    def program(self, name: str, body: str = "echo 1.2.3") -> Path:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def make(self, path: Path, mode: int = 0o700) -> Path:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
        return path

    def finds(self, beginning: str) -> list[Finding]:
        """What is said about one thing."""
        return [finding for finding in examine(self.environment) if finding.text.startswith(beginning)]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    umask = os.umask(0o022)
    yield made
    os.umask(umask)


# --- the whole ----------------------------------------------------------------------------------------------------


def test_a_fresh_machine_has_no_problem(machine: Machine) -> None:
    assert [(finding.level, finding.text, finding.remedy) for finding in examine(machine.environment)] == [
        ("ok", f"Switchboard {__version__} on Python {sys.version.split()[0]} ({sys.executable})", None),
        ("ok", f"Data directory {machine.data}: not there yet, made by the first `switchboard up`", None),
        ("note", "Host: no host is running; start one with: switchboard up", "switchboard up"),
        ("ok", f"Trigger folder {machine.triggers}: not there yet, made by the first `switchboard up`", None),
        (
            "note",
            "Claude Code was not found",
            "install it, or set SWITCHBOARD_CLAUDE to its path; the built-in agent works without it",
        ),
        ("ok", "The built-in agent is always there: `switchboard demo` shows it", None),
        ("note", "bubblewrap was not found: sessions cannot be sandboxed", "apt-get install bubblewrap"),
    ]


def test_looking_changes_nothing(machine: Machine) -> None:
    list(examine(machine.environment))
    assert sorted(os.listdir(machine.root)) == ["bin"]


@pytest.mark.parametrize(("problem", "code"), [(False, 0), (True, 1)])
def test_findings_for_people(machine: Machine, problem: bool, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    machine.make(machine.data, 0o777 if problem else 0o700)
    assert main([]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok       Switchboard ")
    if problem:
        at = lines.index(f"problem  Data directory {machine.data} can be written by other users")
        assert lines[at + 1] == f"         → chmod go-w {machine.data}"
    else:
        assert f"ok       Data directory {machine.data}" in lines


def test_findings_for_scripts(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.make(machine.data, 0o777)
    assert main(["--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert [Finding(**one) for one in printed] == list(examine(machine.environment))


def test_another_system_is_said_to_be_less_tested(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    (said,) = machine.finds("This is not Linux")
    assert said.level == "note"
    assert machine.finds("inotify") == []
    assert machine.finds("bubblewrap") == []


@pytest.mark.parametrize("lacking", ["HOME and SWITCHBOARD_DATA_DIR", "HOME and SWITCHBOARD_TRIGGERS_DIR"])
def test_a_machine_without_a_home(machine: Machine, lacking: str) -> None:
    for name in lacking.split(" and "):
        del machine.environment[name]
    (said,) = machine.finds("HOME is not set")
    assert (said.level, said.remedy) == ("problem", "set HOME, or the variables in docs/configuration.md")
    assert machine.finds("Claude Code was not found"), "the rest is looked at all the same"


def test_a_shell_inside_a_session(machine: Machine) -> None:
    machine.environment |= {"CLAUDECODE": "1", "CLAUDE_EFFORT": "x"}
    (said,) = machine.finds("This shell runs inside an agent session")
    assert said == Finding(
        "note",
        "This shell runs inside an agent session (CLAUDECODE, CLAUDE_EFFORT); sessions do not inherit that",
    )


# --- the data directory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "level", "text", "remedy"),
    [
        (0o700, "ok", "", None),
        (0o755, "ok", "", None),
        (0o775, "problem", " can be written by other users", "chmod go-w {}"),
        (0o702, "problem", " can be written by other users", "chmod go-w {}"),
    ],
    ids=lambda value: oct(value) if isinstance(value, int) else "",
)
def test_the_mode_of_the_data_directory(machine: Machine, mode: int, level: str, text: str, remedy: str | None) -> None:
    machine.make(machine.data, mode)
    (said,) = machine.finds("Data directory")
    assert (said.level, said.text) == (level, f"Data directory {machine.data}{text}")
    assert said.remedy == (remedy and remedy.format(machine.data))


def test_a_data_directory_that_is_none(machine: Machine) -> None:
    machine.data.write_text("x")
    (said,) = machine.finds("Data directory")
    assert said == Finding(
        "problem", f"Data directory {machine.data} is not a folder", "move it away, or set SWITCHBOARD_DATA_DIR"
    )


def test_a_data_directory_of_another_user(machine: Machine) -> None:
    if os.geteuid() == 0:
        os.chown(machine.make(machine.data), 12345, -1)
    else:
        machine.data = Path("/usr")
        machine.environment["SWITCHBOARD_DATA_DIR"] = "/usr"
    (said,) = machine.finds("Data directory")
    assert said == Finding(
        "problem", f"Data directory {machine.data} belongs to another user", "choose one with SWITCHBOARD_DATA_DIR"
    )


def test_a_data_directory_that_cannot_be_looked_at(machine: Machine) -> None:
    machine.data.symlink_to(machine.data)
    (said,) = machine.finds("Data directory")
    assert said == Finding(
        "problem",
        f"Data directory {machine.data}: Too many levels of symbolic links",
        "choose another with SWITCHBOARD_DATA_DIR",
    )


# --- the host -----------------------------------------------------------------------------------------------------


async def examined(machine: Machine) -> list[Finding]:
    found = await asyncio.to_thread(lambda: list(examine(machine.environment)))
    return [finding for finding in found if finding.text.startswith("Host")]


async def test_a_host_that_runs(machine: Machine) -> None:
    infos = [SessionInfo(str(number), "open", "claude", "idle") for number in range(3)]
    async with answering_host(machine.data) as host:
        task = asyncio.create_task(examined(machine), name="examined")
        assert await host.heard(ListSessions) == ListSessions(1, 0)
        host.say(Listing(1, infos))
        assert await task == [Finding("ok", f"Host is running at {host.path} with 3 sessions")]


async def test_a_host_that_does_not_answer_as_it_should(machine: Machine) -> None:
    async with answering_host(machine.data) as host:
        task = asyncio.create_task(examined(machine), name="examined")
        await host.heard(ListSessions)
        host.say(Problem("use the same version"))
        assert await task == [
            Finding(
                "problem",
                "Host: use the same version",
                "end it with SIGTERM and start it again: sessions go on meanwhile",
            )
        ]


def test_a_socket_that_a_killed_host_has_left(machine: Machine) -> None:
    machine.make(machine.data / "run")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(machine.data / "run" / "host.sock"))
    (said,) = machine.finds("Host")
    assert (said.level, said.remedy) == ("note", "switchboard up")


@pytest.fixture
def running(machine: Machine) -> Iterator[HostRecord]:
    """A host that holds its data directory, with something in the way of triggers, and no socket."""
    instance = Instance(str(machine.data))
    instance.acquire()
    record = HostRecord(os.getpid(), "u", 1, "v", problem="the triggers folder cannot be watched")
    instance.publish(record)
    instance.state(record.problem)
    yield record
    instance.release()


def test_a_host_whose_socket_was_deleted(machine: Machine, running: HostRecord) -> None:
    (said,) = machine.finds("Host")
    assert said.level == "problem"
    assert f"(process {running.pid}) runs, but its socket {machine.data}/run/host.sock is not there" in said.text
    assert f"`kill {running.pid}`" in said.text


def test_what_the_running_host_says_is_in_the_way_of_triggers(machine: Machine, running: HostRecord) -> None:
    machine.make(machine.triggers)
    (said,) = machine.finds("Triggers: the running host")
    assert said.level == "problem"
    assert said.text.endswith(f"(process {running.pid}) says: the triggers folder cannot be watched")


def test_what_is_seen_from_here_is_not_said_twice(machine: Machine, running: HostRecord) -> None:
    machine.triggers.write_text("")
    assert machine.finds("Triggers: the running host") == []
    assert [said.level for said in machine.finds("Trigger folder")] == ["problem"]


def test_what_a_killed_host_has_said_counts_no_more(machine: Machine, running: HostRecord) -> None:
    text = (machine.data / "host.json").read_text().replace(str(running.pid), str(2**22 + 1))
    (machine.data / "host.json").write_text(text)
    (machine.data / "run" / "host.sock").write_text("")
    assert machine.finds("Triggers: the running host") == []


@pytest.mark.parametrize("errno", [13, 1])
def test_a_socket_of_somebody_else(machine: Machine, errno: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting a host would not help."""

    def refused(*_: object) -> None:
        raise PermissionError(errno, os.strerror(errno))

    monkeypatch.setattr(socket.socket, "connect", refused)
    run = machine.data / "run"
    (said,) = machine.finds("Host")
    assert said == Finding(
        "problem",
        f"Host: the host's socket {run}/host.sock belongs to somebody else: {os.strerror(errno)}",
        f"see whose it is with `ls -ld {run}`, and choose another SWITCHBOARD_DATA_DIR",
    )


def test_a_process_of_somebody_else_behind_the_socket(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard.page.local_client.peer_is_us", lambda _connection: False)
    path = machine.make(machine.data / "run") / "host.sock"
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        theirs.listen(1)
        (said,) = machine.finds("Host")
    assert said == Finding(
        "problem",
        f"Host: the process behind {path} belongs to another user; nothing was sent to it",
        f"see whose it is with `ls -ld {path.parent}`, and choose another SWITCHBOARD_DATA_DIR",
    )


@pytest.mark.parametrize("stopped", [True, False])
def test_a_host_that_is_silent(machine: Machine, stopped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object, **__: object) -> None:
        raise HostSilent("the host did not answer within 5 s")

    monkeypatch.setattr(doctor, "request", silent)
    monkeypatch.setattr(doctor, "is_stopped", lambda pid: stopped and pid == 4242)
    record = {"pid": 4242, "url": "x", "started_at": 1, "version": "x"}
    (machine.make(machine.data) / "host.json").write_text(json.dumps(record))
    (said,) = machine.finds("Host")
    if stopped:
        assert said == Finding("problem", "Host: its process 4242 is stopped", "kill -CONT 4242")
    else:
        assert (said.level, said.text) == ("problem", "Host: the host did not answer within 5 s")


# --- the keeper ---------------------------------------------------------------------------------------------------


def test_a_keeper_that_runs_and_one_that_was_stopped(machine: Machine) -> None:
    """A stopped keeper answers nobody, and its host notices only when somebody wants a session."""
    run = machine.make(machine.data / "run")
    assert machine.finds("Session keeper") == []
    with hold(run) as keeper:
        assert machine.finds("Session keeper") == [Finding("ok", f"Session keeper is running (process {keeper.pid})")]
        stop(keeper)
        assert machine.finds("Session keeper") == [
            Finding(
                "problem",
                f"Session keeper: its process {keeper.pid} is stopped, so that no session can be opened",
                f"kill -CONT {keeper.pid}",
            )
        ]
        keeper.kill()
    assert machine.finds("Session keeper") == []


# --- the trigger folder -------------------------------------------------------------------------------------------


def test_requests_that_wait(machine: Machine) -> None:
    machine.make(machine.triggers)
    assert machine.finds("Trigger folder") == [Finding("ok", f"Trigger folder {machine.triggers}")]
    for name in ("a.json", "b.json", ".c.tmp", "notes.txt"):
        (machine.triggers / name).write_text("{}")
    assert machine.finds("Trigger folder") == [Finding("ok", f"Trigger folder {machine.triggers}, 2 requests waiting")]


@pytest.mark.parametrize("broken", [False, True], ids=["a file", "a broken link"])
def test_a_trigger_folder_that_is_none(machine: Machine, broken: bool) -> None:
    if broken:
        machine.triggers.symlink_to(machine.root / "nowhere")
    else:
        machine.triggers.write_text("x")
    assert machine.finds("Trigger folder") == [
        Finding(
            "problem",
            f"Trigger folder {machine.triggers} is not a folder",
            "move it away, or set SWITCHBOARD_TRIGGERS_DIR",
        )
    ]


def test_a_trigger_folder_elsewhere(machine: Machine) -> None:
    real = machine.make(machine.root / "real")
    machine.triggers.symlink_to(real)
    assert machine.finds("Trigger folder") == [
        Finding("note", f"Trigger folder {machine.triggers} is a symbolic link to {real}"),
        Finding("ok", f"Trigger folder {machine.triggers}"),
    ]


@pytest.mark.parametrize(("mode", "open_"), [(0o700, False), (0o775, False), (0o777, True), (0o1777, True)])
def test_a_trigger_folder_that_everyone_can_write(machine: Machine, mode: int, open_: bool) -> None:
    machine.make(machine.triggers, mode)
    found = machine.finds("Trigger folder")
    if open_:
        text = f"Trigger folder {machine.triggers} can be written by everyone: they could type into your sessions"
        assert found[0] == Finding("problem", text, f"chmod go-w {machine.triggers}")
    assert found[-1] == Finding("ok", f"Trigger folder {machine.triggers}")
    assert len(found) == 1 + open_


@pytest.mark.parametrize("refused", ["triggers", "triggers/processed"])
@pytest.mark.parametrize("right", [os.W_OK, os.X_OK])
def test_a_trigger_folder_without_rights(
    machine: Machine, refused: str, right: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modes do not keep the superuser out, so the system's answer is played."""
    machine.make(machine.triggers / "processed")
    path = str(machine.root / refused)
    monkeypatch.setattr(os, "access", lambda asked, rights: not (asked == path and rights & right))
    assert machine.finds("Trigger folder") == [
        Finding(
            "problem",
            f"Trigger folder {machine.triggers} or its processed/ cannot be read and written",
            f"chmod u+rwx {machine.triggers} {machine.triggers}/processed",
        )
    ]


def test_results_that_cannot_be_published(machine: Machine) -> None:
    machine.make(machine.triggers)
    (machine.triggers / "processed").write_text("")
    (problem,) = machine.finds("Results of triggers")
    assert problem == Finding(
        "problem",
        f"Results of triggers cannot be published, so requests wait: {machine.triggers}/processed cannot be used "
        "(Not a directory): move away what is there",
        "the host goes on with them by itself when that is mended",
    )
    assert [fine.level for fine in machine.finds("Trigger folder")] == ["ok"]


def of_disk(monkeypatch: pytest.MonkeyPatch, path: Path, **fields: int) -> None:
    """The system says this of the disk below that folder, and the truth of others."""
    real = os.statvfs

    def told(asked: str) -> os.statvfs_result:
        found = real(asked)
        if not str(asked).startswith(str(path)):
            return found
        names = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail", "f_flag")
        return os.statvfs_result([*(fields.get(name, getattr(found, name)) for name in names), found.f_namemax])

    monkeypatch.setattr(os, "statvfs", told)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"f_bavail": 0, "f_bfree": 0}, "the disk of {} is full: make room there"),
        ({"f_files": 10, "f_ffree": 0}, "the disk of {} can hold no more files: remove some there"),
    ],
    ids=["full", "no more files"],
)
def test_a_disk_on_which_results_find_no_room_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, fields: dict[str, int], said: str
) -> None:
    processed = machine.make(machine.triggers / "processed")
    (machine.triggers / "waits.json").write_text("{}")
    of_disk(monkeypatch, machine.triggers, **fields)
    assert machine.finds("Results of triggers") == [
        Finding(
            "problem",
            f"Results of triggers cannot be published, so requests wait: {said.format(processed)}",
            "the host goes on with them by itself when that is mended",
        )
    ]
    assert [fine.text for fine in machine.finds("Trigger folder")] == [
        f"Trigger folder {machine.triggers}, 1 requests waiting"
    ]


def test_a_quota_that_says_nothing_beforehand_is_found_out(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    processed = machine.make(machine.triggers / "processed")
    disk = FullDisk(processed, monkeypatch)
    disk.full = disk.silent = True
    (problem,) = machine.finds("Results of triggers")
    assert f"{processed} takes no file (No space left on device): make room there" in problem.text
    disk.full = False
    assert machine.finds("Results of triggers") == []
    assert os.listdir(processed) == []


def test_a_trigger_folder_on_a_disk_that_can_only_be_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed mode would not help."""
    machine.make(machine.triggers / "processed")
    of_disk(monkeypatch, machine.triggers, f_flag=os.ST_RDONLY)
    monkeypatch.setattr(os, "access", lambda _path, rights: not rights & os.W_OK)
    assert machine.finds("Trigger folder") == [
        Finding(
            "problem",
            f"Trigger folder {machine.triggers} is on a disk that can only be read",
            "make that disk writable, or set SWITCHBOARD_TRIGGERS_DIR",
        )
    ]


def test_a_data_directory_on_a_full_disk(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.make(machine.data)
    of_disk(monkeypatch, machine.data, f_bavail=0, f_bfree=0)
    (problem,) = machine.finds("Data directory")
    assert (problem.level, problem.remedy) == ("problem", f"`df {machine.data}` shows the disk; what runs goes on")
    assert f"the disk of {machine.data} is full: make room there" in problem.text


@pytest.mark.parametrize(("count", "others"), [(1, ""), (3, " (and 2 more)")])
def test_requests_whose_results_cannot_be_named(machine: Machine, count: int, others: str) -> None:
    machine.make(machine.triggers / "processed")
    (machine.triggers / f"{'x' * 239}.json").write_text("{}")
    for letter in "xyz"[:count]:
        (machine.triggers / f"{letter * 240}.json").write_text("{}")
    (problem,) = machine.finds("Trigger x") or machine.finds("Trigger y") or machine.finds("Trigger z")
    assert problem.level == "problem"
    assert f".json{others} is left alone" in problem.text
    assert problem.remedy == "rename it to at most 239 bytes and .json"


def test_a_trigger_folder_that_cannot_be_listed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.make(machine.triggers)
    monkeypatch.setattr(os, "access", lambda _path, rights: not rights & os.R_OK)
    assert [finding.level for finding in machine.finds("Trigger folder")] == ["problem"]


def test_a_trigger_folder_given_from_here(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(machine.root)
    machine.make(machine.triggers)
    machine.environment["SWITCHBOARD_TRIGGERS_DIR"] = "triggers"
    assert machine.finds("Trigger folder") == [Finding("ok", f"Trigger folder {machine.triggers}")]


# --- descriptors --------------------------------------------------------------------------------------------------


def describe(machine: Machine, pid: int, **fields: object) -> None:
    machine.make(machine.sessions)
    body = {"pid": pid, "sessionId": f"session-{pid}", "procStart": "1", **fields}
    (machine.sessions / f"{pid}.json").write_text(json.dumps(body))


def test_descriptors_of_processes_that_have_ended(machine: Machine) -> None:
    ended = 2**31 - 1
    describe(machine, ended)
    stat = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    describe(machine, os.getpid(), procStart=stat)
    describe(machine, os.getppid())  # its number belongs to another process now
    found = machine.finds("Claude Code: ")
    assert found == [
        Finding(
            "note",
            f"Claude Code: {machine.sessions}/{pid}.json names session session-{pid}, whose process has ended",
            "delete the file if that session runs nowhere else (in a container, say)",
        )
        for pid in sorted((ended, os.getppid()))
    ]


def test_many_of_them_are_counted(machine: Machine) -> None:
    for number in range(13):
        describe(machine, 2**31 - 20 + number)
    found = machine.finds("Claude Code: ")
    assert len(found) == 11
    assert found[-1] == Finding("note", f"Claude Code: 3 more such files in {machine.sessions}")


def test_a_descriptor_that_cannot_be_read(machine: Machine) -> None:
    machine.make(machine.sessions)
    (machine.sessions / "5.json").write_text("{")
    (said,) = machine.finds("Claude Code: ")
    assert said.level == "note"
    assert "5.json" in said.text
    assert said.remedy == "see who writes that file; it hides a session"


# --- watching -----------------------------------------------------------------------------------------------------


def test_limits_of_the_system(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MIN_INOTIFY_INSTANCES", 10**12)
    monkeypatch.setattr(doctor, "MIN_INOTIFY_WATCHES", 0)
    (said,) = machine.finds("inotify ")
    limit = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    assert said == Finding(
        "note",
        f"inotify max_user_instances is {limit}: other programs may use it up",
        "sysctl fs.inotify.max_user_instances=1000000000000",
    )
    monkeypatch.setattr(doctor, "MIN_INOTIFY_INSTANCES", 0)
    monkeypatch.setattr(doctor, "MIN_INOTIFY_WATCHES", 10**12)
    (said,) = machine.finds("inotify ")
    assert said.remedy == "sysctl fs.inotify.max_user_watches=1000000000000"


# --- programs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("echo '2.1.0 (Claude Code)'; echo more", "(2.1.0 (Claude Code))"),
        ("printf ''", ""),
        ("echo wrong >&2; exit 3", ""),
        (f"echo {'x' * 100}", f"({'x' * 60})"),
        ('[ -n "$SECRET" ] && echo seen', "(seen)"),
        ('read line; echo "<$line>"', "(<>)"),
    ],
    ids=["a line", "silence", "an error", "a long line", "its environment", "no input"],
)
def test_the_version_of_a_program(machine: Machine, body: str, text: str) -> None:
    machine.environment |= {"SECRET": "x", "PATH": f"{machine.bin}:{os.environ['PATH']}"}
    path = machine.program("claude", body)
    (said,) = machine.finds("Claude Code: ")
    assert (said.level, said.text) == ("ok", f"Claude Code: {path} {text}".rstrip())
    assert machine.finds("Claude Code was not found") == []
    assert machine.finds("The built-in agent") == []


def test_a_program_that_does_not_start(machine: Machine) -> None:
    path = machine.program("claude")
    path.write_text("#!/no/such/interpreter\n")
    (said,) = machine.finds("Claude Code: ")
    assert said.text == f"Claude Code: {path} (does not answer --version)"


def test_a_program_that_never_answers(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "VERSION_SECONDS", 0.05)
    path = machine.program("claude", "exec sleep 600")
    machine.environment["PATH"] = f"{machine.bin}:{os.defpath}"
    (said,) = machine.finds("Claude Code: ")
    assert said.text == f"Claude Code: {path} (does not answer --version)"


def test_a_program_named_by_its_variable(machine: Machine) -> None:
    path = machine.program("my-claude")
    machine.environment["SWITCHBOARD_CLAUDE"] = str(path)
    assert [finding.text for finding in machine.finds("Claude Code")] == [f"Claude Code: {path} (1.2.3)"]


def test_a_variable_that_names_nothing(machine: Machine) -> None:
    machine.environment["SWITCHBOARD_CLAUDE"] = "/no/such/claude"
    assert machine.finds("Claude Code") == [
        Finding(
            "problem",
            "Claude Code: SWITCHBOARD_CLAUDE names /no/such/claude, which is no program",
            "correct SWITCHBOARD_CLAUDE, or unset it",
        )
    ]


def test_what_a_person_should_know_of_a_program(machine: Machine) -> None:
    machine.program("gemini")
    found = machine.finds("Gemini CLI")
    assert [finding.level for finding in found] == ["ok", "note"]
    assert "deletes the transcript" in found[1].text


def test_a_sandbox_that_can_be_made(machine: Machine) -> None:
    program = machine.program("bwrap")
    assert machine.finds("bubblewrap") == []
    found = machine.finds("Sandboxes")
    assert found[0] == Finding("ok", f"Sandboxes: {program} makes them")
    # What the kernel of this machine allows beside that.
    assert [one for one in found[1:] if "dev.tty.legacy_tiocsti" not in one.text] == []


def test_a_descriptor_of_a_living_sandbox_is_not_left_over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """In there its process has another number than here."""
    describe(machine, 2**31 - 1)
    assert len(machine.finds("Claude Code: /")) == 1
    resolved = Resolved(7, "5", "pid:[1]")
    monkeypatch.setattr(NamespaceSearch, "found", lambda _self, _descriptor: resolved)
    assert machine.finds("Claude Code: /") == []


def test_a_sandbox_of_another_host_that_is_not_there(machine: Machine) -> None:
    notes = machine.make(machine.root / "claude" / "switchboard-sandboxes")
    (notes / "one").write_text("/gone/sandboxes/one/sessions")
    (found,) = machine.finds("Sandboxes: /")
    assert found.level == "note"
    assert str(notes / "one") in found.text
    assert found.text.endswith("in /gone/sandboxes/one/sessions, which is not there")


def test_what_is_left_of_sandboxes(machine: Machine) -> None:
    for name in ("one", "two"):
        folder = machine.make(machine.data / "sandboxes" / name / "sessions")
        (folder / "2.json").write_text(json.dumps({"pid": 2, "sessionId": "s", "procStart": "5"}))
    (found,) = machine.finds("Sandboxes: /")
    assert found.level == "note"
    assert found.text == f"Sandboxes: {machine.data}/sandboxes/one/sessions and 1 more of ended sessions are left"


def test_what_is_left_of_sandboxes_and_cannot_be_removed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = machine.make(machine.data / "sandboxes" / "one" / "sessions")
    (folder / "2.json").write_text(json.dumps({"pid": 2, "sessionId": "s", "procStart": "5"}))
    monkeypatch.setattr(SandboxFolders, "stuck", lambda _self: [(str(folder), "it belongs to another user")])
    (found,) = machine.finds("Sandboxes: /")
    assert (found.level, found.remedy) == ("problem", "remove it as root")
    assert found.text == f"Sandboxes: {folder} of an ended session cannot be removed: it belongs to another user"


def test_every_remedy_stands_at_something_that_needs_one(machine: Machine) -> None:
    spoil: list[Callable[[], object]] = [
        lambda: machine.make(machine.data, 0o777),
        lambda: machine.make(machine.triggers, 0o777),
        lambda: describe(machine, 2**31 - 1),
    ]
    for act in spoil:
        act()
    for finding in examine(machine.environment):
        assert finding.level != "problem" or finding.remedy, finding
        assert finding.level != "ok" or finding.remedy is None, finding
