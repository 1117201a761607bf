"""Whose descriptor speaks for which session: the session's own CLI, and no other that runs inside or beside it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_clock import START, FakeClock
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses
from tests.support.sessions import House, house

from switchboard.clis.profiles import PROFILES
from switchboard.clis.status_reader import StatusReader
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session
from switchboard.sessions.status_binding import StatusBinding


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
        self.binding = StatusBinding(self.registry, self.readers, self.processes.door())

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
        self, pid: int, session_id: str = "s", status: str = "idle", *, cli: str = "claude", **fields: Any
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


@pytest.mark.parametrize("profile", ["attach", "shell", "codex", "gemini", "opencode"])
async def test_a_cli_that_publishes_nothing_is_not_spoken_for(rig: Rig, profile: str) -> None:
    """Not even by a Claude Code in it: a terminal in which somebody has started one is still a terminal."""
    assert PROFILES[profile].home is None
    session = await rig.open(profile)
    await rig.publish(100, status="busy")
    rig.processes.add(101, parent=100)
    await rig.publish(101, status="busy")
    rig.binding.take_up(session)
    assert session.facts.value.status is None
    assert session.label.writer is None


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
        StatusBinding(rig.registry, {"claude": fresh}, rig.processes.door()).take_up(session)
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
