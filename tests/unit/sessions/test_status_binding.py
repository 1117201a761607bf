"""Whose descriptor speaks for which session: the session's own CLI, and no other that runs inside or beside it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_clock import START, FakeClock
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses
from tests.support.sessions import House, house

from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import PROFILES
from switchboard.clis.status_reader import StatusReader
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session
from switchboard.sessions.status_binding import SILENT_MS, StatusBinding


class Rig:
    """Sessions, the processes below them, and what those publish. `S` is the id of the session `open` opens."""

    def __init__(self, root: Path, home: House) -> None:
        self.home = home
        self.registry: Registry = home.registry
        self.clock: FakeClock = home.clock
        self.watcher = FakeFolderWatcher()
        self.processes = FakeProcesses(root / "proc")
        self.folders = {"claude": root / "claude", "agent": root / "agent"}
        self.readers = {name: self._reader(folder) for name, folder in self.folders.items()}
        self.ends: dict[int, Callable[[], None]] = {}
        self.binding = self.bind(self.readers)

    def bind(self, readers: dict[str, StatusReader]) -> StatusBinding:
        return StatusBinding(self.registry, readers, self.processes.door(), self.clock, self._watch_end)

    def _watch_end(self, pid: int, ended: Callable[[], None]) -> Callable[[], None]:
        self.ends[pid] = ended
        return lambda: self.ends.pop(pid, None) and None

    def _reader(self, folder: Path) -> StatusReader:
        folder.mkdir()
        reader = StatusReader(str(folder), self.watcher, self.clock, self.processes.door(), self.home.log)
        reader.start()
        return reader

    async def open(self, profile: str = "claude", session_id: str = "s", pid: int = 100, **fields: Any) -> Session:
        """Open a session whose process is `pid`."""
        self.home.keeper.next_pid = pid
        self.processes.add(pid)
        return await self.home.opens(profile, session_id, **fields)

    async def publish(
        self, pid: int, session_id: str = "s", status: str | None = "idle", *, cli: str = "claude", **fields: Any
    ) -> None:
        """A CLI writes its descriptor."""
        start = (self.processes.root / str(pid) / "stat").read_text().split()[21]
        body = {"pid": pid, "sessionId": session_id, "status": status, "statusUpdatedAt": START, "procStart": start}
        (self.folders[cli] / f"{pid}.json").write_text(json.dumps({**body, **fields}))
        self.watcher.tell(str(self.folders[cli]), f"{pid}.json")
        await self.clock.settle()

    async def withdraw(self, pid: int, cli: str = "claude") -> None:
        """The descriptor goes."""
        (self.folders[cli] / f"{pid}.json").unlink()
        self.watcher.tell(str(self.folders[cli]), f"{pid}.json", "gone", "deleted")
        await self.clock.settle()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as home, ExitStack() as stack:
        made = Rig(tmp_path, home)
        for reader in made.readers.values():
            stack.callback(reader.close)
        yield made


def status(session: Session) -> str | None:
    known = session.facts.value.status
    return known.status if known is not None else None


# --- the session's own CLI ----------------------------------------------------------------------------------------


async def test_the_process_that_was_started_speaks_for_its_session(rig: Rig) -> None:
    session = await rig.open()
    await rig.publish(100, status="busy")
    assert status(session) == "busy"
    assert session.label.writer == (100, "1000")
    await rig.publish(100, status="idle")
    assert status(session) == "idle"
    await rig.withdraw(100)
    assert session.facts.value.status is None


async def test_a_process_below_it_does_as_well(rig: Rig) -> None:
    """A login shell, or a program that starts itself again."""
    session = await rig.open()
    rig.processes.add(150, parent=100)
    rig.processes.add(151, parent=150)
    await rig.publish(151, status="waiting", waitingFor="approval")
    assert status(session) == "waiting"
    assert session.label.writer == (151, "1000")


async def test_the_writer_goes_on_to_speak_when_its_parent_has_ended(rig: Rig) -> None:
    session = await rig.open()
    rig.processes.add(150, parent=100)
    await rig.publish(150, status="busy")
    rig.processes.add(150, parent=1)
    await rig.publish(150, status="idle")
    assert status(session) == "idle"


async def test_a_process_elsewhere_does_not(rig: Rig) -> None:
    session = await rig.open()
    rig.processes.add(500)
    await rig.publish(500, status="busy")
    assert status(session) is None
    assert session.label.writer is None


async def test_the_id_is_compared_in_any_letter_case(rig: Rig) -> None:
    session = await rig.open(session_id="abc")
    await rig.publish(100, "ABC", "busy")
    assert status(session) == "busy"
    assert session.label.past == []


async def test_a_descriptor_without_a_start_is_taken(rig: Rig) -> None:
    session = await rig.open()
    await rig.publish(100, procStart=None)
    assert session.label.writer == (100, "")
    await rig.publish(100, status="busy", procStart=None)
    assert status(session) == "busy"


async def test_the_same_id_in_another_terminal_is_another_session(rig: Rig) -> None:
    one = await rig.open(pid=100)
    two = await rig.open(pid=200)
    await rig.publish(200, status="busy")
    assert (status(one), status(two)) == (None, "busy")


async def test_the_nearest_terminal_counts(rig: Rig) -> None:
    """A host that runs inside a session has sessions whose processes descend from both."""
    outer = await rig.open(session_id="outer", pid=100)
    rig.home.keeper.next_pid = 200
    rig.processes.add(200, parent=100)
    inner = await rig.home.opens("claude", "inner")
    await rig.publish(200, "inner", "busy")
    assert (status(outer), status(inner)) == (None, "busy")


# --- a CLI that was just started ----------------------------------------------------------------------------------


async def test_the_first_status_ends_the_start_and_a_descriptor_does_not(rig: Rig) -> None:
    session = await rig.open()
    assert session.facts.value.starting
    await rig.publish(100, status=None, statusUpdatedAt=None)
    assert (session.facts.value.starting, session.label.writer) == (True, (100, "1000"))
    await rig.publish(100, status="idle")
    assert (session.facts.value.starting, status(session)) == (False, "idle")
    await rig.publish(100, status=None)
    await rig.withdraw(100)
    assert not session.facts.value.starting, "what was there and is lost has the old meaning"


async def test_another_cli_below_it_does_not_end_its_start(rig: Rig) -> None:
    session = await rig.open()
    rig.processes.add(101, parent=100)
    await rig.publish(101, "other", "idle")
    assert session.facts.value.starting


async def test_a_cli_that_shows_no_status_has_started_after_a_while(rig: Rig) -> None:
    session = await rig.open()
    await rig.clock.advance(SILENT_MS)
    assert session.facts.value.starting, "it has no descriptor yet"
    await rig.publish(100, status=None)
    await rig.clock.advance(SILENT_MS // 2)
    await rig.publish(100, status=None, name="another")
    await rig.clock.advance(SILENT_MS // 2 - 1)
    assert session.facts.value.starting
    await rig.clock.advance(1)
    assert not session.facts.value.starting
    assert status(session) is None


async def test_an_adopted_session_whose_cli_has_shown_no_status_starts_as_well(rig: Rig) -> None:
    """The host before was killed in between."""
    session = await rig.open()
    session.observed_writer(100, "1000")
    session.observed_silence()
    await rig.publish(100, status=None)
    assert not session.facts.value.starting
    rig.binding.take_up(session)
    assert session.facts.value.starting
    await rig.publish(100, status="idle")
    assert not session.facts.value.starting
    await rig.publish(100, status=None)
    rig.binding.take_up(session)
    await rig.clock.advance(SILENT_MS)
    assert not session.facts.value.starting


async def test_a_descriptor_that_goes_begins_the_while_anew(rig: Rig) -> None:
    session = await rig.open()
    await rig.publish(100, status=None)
    await rig.clock.advance(SILENT_MS - 1)
    await rig.withdraw(100)
    await rig.publish(100, status=None)
    await rig.clock.advance(SILENT_MS - 1)
    assert session.facts.value.starting
    await rig.clock.advance(1)
    assert not session.facts.value.starting


@pytest.mark.parametrize("how", ["status", "exit", "close"])
async def test_nothing_waits_for_it_in_vain(rig: Rig, how: str) -> None:
    session = await rig.open()
    await rig.publish(100, status=None)
    if how == "status":
        await rig.publish(100, status="idle")
    elif how == "exit":
        rig.home.keeper.exits(session.handle)
    else:
        rig.binding.close()
    before = session.facts.value
    await rig.clock.advance(SILENT_MS)
    assert session.facts.value is before


# --- other ids ----------------------------------------------------------------------------------------------------


async def test_a_cli_with_another_id_is_not_the_sessions_own(rig: Rig) -> None:
    session = await rig.open()
    rig.processes.add(101, parent=100)
    await rig.publish(101, "other", "busy")
    assert (status(session), session.key, session.label.writer) == (None, "s", None)


async def test_a_cli_that_a_tool_has_started_says_nothing_of_the_session(rig: Rig) -> None:
    session = await rig.open()
    await rig.publish(100, status="busy")
    rig.processes.add(101, parent=100)
    await rig.publish(101, "nested", "idle")
    await rig.publish(101, "s", "idle")  # not even with the session's own id
    assert (status(session), session.key, session.label.writer) == ("busy", "s", (100, "1000"))
    await rig.withdraw(101)
    assert status(session) == "busy"


async def test_the_session_goes_on_under_the_id_that_its_cli_takes(rig: Rig) -> None:
    session = await rig.open()
    await rig.publish(100)
    await rig.publish(100, "cleared", "busy")
    assert (session.key, session.label.past, status(session)) == ("cleared", ["s"], "busy")
    assert rig.registry.find("s") is session
    await rig.publish(100, "again", "idle")
    assert (session.key, session.label.past) == ("again", ["s", "cleared"])


async def test_a_fork_takes_the_id_that_its_cli_makes(rig: Rig) -> None:
    session = await rig.open(session_id="placeholder", launch="fork")
    await rig.publish(100, "made", "idle")
    assert (session.key, session.label.writer) == ("made", (100, "1000"))


async def test_a_fork_is_no_open_door_after_that(rig: Rig) -> None:
    session = await rig.open(session_id="placeholder", launch="fork")
    rig.processes.add(101, parent=100)
    await rig.publish(101, "made", "idle")
    rig.processes.end(101)
    await rig.withdraw(101)
    rig.processes.add(102, parent=100)
    await rig.publish(102, "a tool's", "busy")
    assert (session.key, status(session)) == ("made", None)
    await rig.publish(102, "made", "busy")
    assert status(session) == "busy"


# --- writers that go ----------------------------------------------------------------------------------------------


async def test_a_new_writer_with_the_sessions_id_follows_one_that_has_died(rig: Rig) -> None:
    session = await rig.open()
    rig.processes.add(101, parent=100)
    await rig.publish(101, status="busy")
    rig.processes.add(102, parent=100)
    await rig.publish(102, status="idle")
    assert (status(session), session.label.writer) == ("busy", (101, "1000"))
    rig.processes.end(101)
    await rig.publish(102, status="idle")
    assert status(session) == "busy", "nothing has changed in its file"
    await rig.publish(102, status="waiting")
    assert (status(session), session.label.writer) == ("waiting", (102, "1000"))


async def test_a_new_process_with_the_number_of_the_old_one_is_another(rig: Rig) -> None:
    session = await rig.open()
    rig.processes.add(101, parent=100, start="1000")
    await rig.publish(101, status="busy")
    rig.processes.add(101, parent=100, start="2000")
    await rig.publish(101, "nested", "idle")
    assert (session.key, session.label.writer) == ("s", (101, "1000"))
    assert session.facts.value.status is None, "the writer is gone"
    await rig.publish(101, "s", "idle")
    assert (status(session), session.label.writer) == ("idle", (101, "2000"))


async def test_what_goes_and_was_never_the_writers_changes_nothing(rig: Rig) -> None:
    session = await rig.open()
    await rig.publish(100, status="busy")
    rig.processes.add(500)
    await rig.publish(500, "elsewhere")
    await rig.withdraw(500)
    assert status(session) == "busy"


async def test_an_ended_session_is_not_spoken_for(rig: Rig) -> None:
    session = await rig.open()
    rig.home.keeper.exits(session.handle)
    await rig.publish(100, status="busy")
    assert session.facts.value.status is None
    rig.binding.take_up(session)
    assert session.facts.value.status is None


# --- kinds of session ---------------------------------------------------------------------------------------------


async def test_each_cli_has_sessions_and_descriptors_of_its_own(rig: Rig) -> None:
    claude = await rig.open("claude", pid=100)
    agent = await rig.open("agent", pid=200)
    await rig.publish(100, cli="agent", status="busy")
    await rig.publish(200, cli="claude", status="busy")
    assert (status(claude), status(agent)) == (None, None)
    await rig.publish(100, cli="claude", status="busy")
    await rig.publish(200, cli="agent", status="idle")
    assert (status(claude), status(agent)) == ("busy", "idle")


async def test_a_background_job_is_not_the_session(rig: Rig) -> None:
    session = await rig.open()
    await rig.publish(100, kind="bg", jobId="job-1", status="busy")
    assert (status(session), session.label.writer) == (None, None)


async def test_background_jobs_are_found_in_every_folder(rig: Rig) -> None:
    rig.processes.add(300)
    rig.processes.add(301)
    await rig.publish(300, "One", kind="bg", jobId="job-1")
    await rig.publish(301, "two", kind="bg", jobId="job-2", cli="agent")
    assert rig.binding.background_job("one") == "job-1"
    assert rig.binding.background_job("TWO") == "job-2"
    assert rig.binding.background_job("three") is None
    rig.processes.end(300)
    assert rig.binding.background_job("one") is None


# --- a CLI inside a session that publishes nothing ------------------------------------------------------------------

SILENT = [name for name, profile in PROFILES.items() if not profile.publishes]


@pytest.mark.parametrize("profile", SILENT)
@pytest.mark.parametrize("cli", ["claude", "agent"])
async def test_a_cli_in_it_speaks_for_it_while_it_runs(rig: Rig, profile: str, cli: str) -> None:
    session = await rig.open(profile)
    rig.processes.add(101, parent=100)
    rig.processes.add(102, parent=101)
    await rig.publish(102, "its own", "waiting", cli=cli, waitingFor="permission prompt")
    assert session.facts.value.status is not None
    assert (status(session), session.facts.value.status.waiting_for) == ("waiting", "permission prompt")
    assert (session.key, session.label.writer, session.facts.value.starting) == ("s", None, False)
    await rig.publish(102, "cleared", "busy", cli=cli)
    assert (status(session), session.key, session.label.past) == ("busy", "s", [])
    await rig.withdraw(102, cli)
    assert session.facts.value.status is None
    assert rig.ends == {}


async def test_a_program_that_became_a_cli_speaks_as_well(rig: Rig) -> None:
    session = await rig.open("shell")
    await rig.publish(100, "its own", "busy")
    assert (status(session), session.label.writer) == ("busy", None)


async def test_a_killed_cli_says_nothing_any_more(rig: Rig) -> None:
    """It leaves its descriptor behind, and nobody asks the reader: the dialog would hold the terminal for ever."""
    session = await rig.open("shell")
    rig.processes.add(101, parent=100)
    await rig.publish(101, "its own", "waiting")
    rig.processes.end(101)
    rig.ends[101]()
    assert (session.facts.value.status, rig.ends) == (None, {})


async def test_the_nearest_cli_speaks(rig: Rig) -> None:
    session = await rig.open("shell")
    rig.processes.add(101, parent=100)
    rig.processes.add(102, parent=101)
    await rig.publish(102, "a tool's", "waiting", cli="agent")
    assert status(session) == "waiting"
    await rig.publish(101, "its own", "idle")
    assert status(session) == "idle"
    await rig.publish(102, "a tool's", "busy", cli="agent")
    assert status(session) == "idle"
    await rig.withdraw(101)
    assert status(session) == "busy"


@pytest.mark.parametrize("word", ["waiting", "busy", "shell"])
async def test_of_two_beside_each_other_the_one_that_holds_more_speaks(rig: Rig, word: str) -> None:
    session = await rig.open("shell")
    for pid in (101, 102, 103):
        rig.processes.add(pid, parent=100)
        await rig.publish(pid, f"{pid}", word if pid == 102 else "idle")
    assert status(session) == word


async def test_a_cli_without_a_status_says_nothing(rig: Rig) -> None:
    session = await rig.open("shell")
    for pid in (101, 102):
        rig.processes.add(pid, parent=100)
    await rig.publish(101, "one", None)
    assert session.facts.value.status is None
    await rig.publish(102, "two", "busy")
    assert status(session) == "busy"
    await rig.publish(101, "one", "waiting")
    assert status(session) == "waiting"


async def test_it_speaks_on_when_its_parent_has_ended(rig: Rig) -> None:
    session = await rig.open("shell")
    rig.processes.add(101, parent=100)
    rig.processes.add(102, parent=101)
    await rig.publish(102, "its own", "busy")
    rig.processes.add(102, parent=1)
    await rig.publish(102, "its own", "waiting")
    assert status(session) == "waiting"


async def test_a_cli_of_a_session_of_its_own_does_not(rig: Rig) -> None:
    """A host that runs inside a terminal has sessions whose processes descend from it."""
    outer = await rig.open("shell", "outer", pid=100)
    rig.home.keeper.next_pid = 200
    rig.processes.add(200, parent=100)
    inner = await rig.home.opens("claude", "inner")
    await rig.publish(200, "inner", "busy")
    rig.binding.take_up(outer)
    assert (status(outer), status(inner)) == (None, "busy")


@pytest.mark.parametrize("kind", ["elsewhere", "a background job", "ended meanwhile"])
async def test_others_do_not(rig: Rig, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await rig.open("shell")
    rig.processes.add(101, parent=1 if kind == "elsewhere" else 100)
    if kind == "ended meanwhile":
        living = iter([True, False])
        monkeypatch.setattr(ProcFs, "is_same", lambda *_: next(living))
    await rig.publish(101, "its own", "busy", kind="bg" if kind == "a background job" else "interactive")
    assert (session.facts.value.status, rig.ends) == (None, {})


async def test_one_that_runs_already_is_taken_up(rig: Rig) -> None:
    rig.processes.add(100)
    rig.processes.add(101, parent=100)
    await rig.publish(101, "its own", "waiting")
    session = await rig.open("shell")
    assert session.facts.value.status is None
    rig.binding.take_up(session)
    assert status(session) == "waiting"
    rig.binding.close()
    assert rig.ends == {}


async def test_a_session_that_has_ended_is_not_told(rig: Rig) -> None:
    session = await rig.open("shell")
    rig.processes.add(101, parent=100)
    await rig.publish(101, "its own", "busy")
    rig.home.keeper.exits(session.handle)
    await rig.publish(101, "its own", "waiting")
    assert session.facts.value.status is None
    await rig.withdraw(101)
    assert rig.ends == {}


# --- a session that was just added --------------------------------------------------------------------------------


async def test_what_was_published_before_is_taken_up(rig: Rig) -> None:
    rig.processes.add(100)
    await rig.publish(100, status="busy")
    session = await rig.open()
    assert status(session) is None
    rig.binding.take_up(session)
    assert (status(session), session.label.writer) == ("busy", (100, "1000"))


async def test_an_adopted_session_is_spoken_for_by_its_writer_and_not_by_a_nearer_cli(rig: Rig) -> None:
    session = await rig.open()
    rig.processes.add(101, parent=100)
    rig.processes.add(102, parent=101)
    session.label.writer = (102, "1000")
    rig.readers["claude"].close()
    await rig.publish(101, "nested", "idle")
    await rig.publish(102, "cleared while no host was there", "busy")
    fresh = StatusReader(str(rig.folders["claude"]), rig.watcher, rig.clock, rig.processes.door(), rig.home.log)
    fresh.start()
    try:
        rig.bind({"claude": fresh}).take_up(session)
    finally:
        fresh.close()
    assert (status(session), session.key) == ("busy", "cleared while no host was there")


async def test_a_stranger_with_the_number_of_the_old_writer_is_not_the_writer(rig: Rig) -> None:
    """It would be asked to end when somebody stops the session."""
    session = await rig.open()
    session.label.writer = (500, "1000")
    rig.processes.add(500, start="2000")
    await rig.publish(500, "s", "busy")
    rig.binding.take_up(session)
    assert (status(session), session.label.writer) == (None, (500, "1000"))
    rig.processes.add(101, parent=100)
    await rig.publish(101, "s", "idle")
    rig.binding.take_up(session)
    assert (status(session), session.label.writer) == ("idle", (101, "1000"))
