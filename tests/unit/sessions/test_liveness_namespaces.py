"""Writers in other PID namespaces, found by the real reader over files and a described /proc.

Throughout, the descriptor says number 2 and start 9000, and its writer is process 8000 here. Number 2 is free here in
half of the rows, and in the other half it belongs to somebody else: neither may make a difference.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.fake_clock import FakeClock
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses

from switchboard.clis import procfs
from switchboard.clis.liveness import Background, LaunchEvidence, LiveElsewhere, Liveness, NotLive, Unknown
from switchboard.clis.namespace_resolver import NamespaceResolver
from switchboard.sessions.liveness_check import LivenessCheck, LivenessSources
from switchboard.sessions.schedules import Schedules

ID = "0d6f3a52-0000-4000-8000-00000000000a"
OTHER = "0d6f3a52-0000-4000-8000-00000000000b"
OTHER_BOX = "pid:[4026533000]"


class Stage:
    """One host's view: a descriptor folder shared by all sandboxes, one of its own, processes, a clock."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "sessions"
        self.own = root / "sandboxes" / "one" / "sessions"
        self.folder.mkdir()
        self.own.mkdir(parents=True)
        self.clock = FakeClock()
        self.processes = FakeProcesses(root / "proc")
        self.processes.root.mkdir()
        self.processes.machine()
        self.launches: list[LaunchEvidence] = []

    def door(self) -> LivenessCheck:
        processes = self.processes.door()
        sources = LivenessSources(
            lambda: (str(self.folder), str(self.own)),
            processes,
            Schedules(),
            lambda _pid, _start: self.launches,
            NamespaceResolver(processes),
        )
        return LivenessCheck(sources, FakeFolderWatcher(), self.clock)

    def write(self, pid: int = 2, session_id: str = ID, folder: Path | None = None, **fields: object) -> Path:
        path = (folder or self.folder) / f"{pid}.json"
        path.write_text(
            json.dumps({"pid": pid, "sessionId": session_id, "status": "idle", "procStart": "9000", **fields})
        )
        return path

    async def ask(self, exclude: tuple[tuple[int, str], ...] = (), within: int = 60_000) -> Liveness:
        """Ask both ways; they agree."""
        answer = await self.clock.run(self.door().check(ID, self.clock.now() + within, exclude))
        assert self.door().check_now(ID, exclude) == answer
        return answer


@pytest.fixture(params=["host N absent", "host N occupied"])
def stage(tmp_path: Path, request: pytest.FixtureRequest) -> Stage:
    made = Stage(tmp_path)
    if request.param == "host N occupied":
        made.processes.add(2, start="777")
    return made


async def test_9_a_namespace_writer_is_live_elsewhere(stage: Stage) -> None:
    stage.processes.sandboxed()
    path = stage.write(cwd="/w", startedAt=7)
    answer = await stage.ask()
    assert isinstance(answer, LiveElsewhere)
    assert (answer.where.pid, answer.where.cwd, answer.where.started_at, answer.where.path) == (
        8000,
        "/w",
        7,
        str(path),
    )


async def test_9_in_its_own_folder(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.write(folder=stage.own)
    assert isinstance(await stage.ask(), LiveElsewhere)


async def test_9_three_levels(stage: Stage) -> None:
    stage.processes.sandboxed(ns_pids=(8000, 14, 2))
    stage.write()
    assert isinstance(await stage.ask(), LiveElsewhere)


async def test_9_a_nested_sandbox_makes_it_no_second_match(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.processes.sandboxed(8001, ns_pids=(8001, 3, 2), start="9050", namespace=OTHER_BOX)
    stage.processes.sandboxed(8002, ns_pids=(8002, 2, 5), namespace=OTHER_BOX)
    stage.write()
    answer = await stage.ask()
    assert isinstance(answer, LiveElsewhere)
    assert answer.where.pid == 8000


async def test_9_other_sandboxes_with_the_same_number(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.processes.sandboxed(8100, start="9100", namespace=OTHER_BOX)
    stage.write()
    assert isinstance(await stage.ask(), LiveElsewhere)
    stage.write(session_id=OTHER)
    assert await stage.ask() == NotLive(), "the other one has overwritten the descriptor"


async def test_9_other_users_processes_blind_nobody(stage: Stage) -> None:
    """Their links cannot be read; their start and numbers can."""
    for pid in range(100, 200):
        stage.processes.add(pid, namespace=None, start=str(pid))
    stage.processes.sandboxed(300, start="9100", namespace=None)
    stage.processes.sandboxed(301, 3, namespace=None)
    stage.processes.sandboxed()
    stage.write()
    assert isinstance(await stage.ask(), LiveElsewhere)


# --- not proven: unknown, never dead ----------------------------------------------------------------------------------


def nobody(stage: Stage) -> None:
    """A complete scan finds no match at all."""


def two(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.processes.sandboxed(8100, namespace=OTHER_BOX)


def other_start(stage: Stage) -> None:
    stage.processes.sandboxed(start="9001")


def other_number(stage: Stage) -> None:
    stage.processes.sandboxed(number=3)


def our_namespace(stage: Stage) -> None:
    stage.processes.sandboxed(namespace="pid:[4026531836]")


def no_namespace(stage: Stage) -> None:
    stage.processes.sandboxed(namespace=None)


def no_status(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.processes.unreadable(8000, "status")


def no_stat(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.processes.unreadable(8000, "stat")


def no_numbers(stage: Stage) -> None:
    stage.processes.sandboxed()
    (stage.processes.root / "8000" / "status").write_text("Name:\tan old kernel\n")


def garbage(stage: Stage) -> None:
    stage.processes.sandboxed()
    (stage.processes.root / "8000" / "stat").write_text("8000 (x) S")


def one_unreadable_beside(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.processes.sandboxed(8100, namespace=OTHER_BOX)
    stage.processes.unreadable(8100, "status")


def hidepid(stage: Stage) -> None:
    stage.processes.machine(mount="rw,hidepid=1")
    stage.processes.sandboxed()


def exited(stage: Stage) -> None:
    stage.processes.sandboxed(state="Z")


def ended_meanwhile(stage: Stage) -> None:
    stage.processes.sandboxed()
    (stage.processes.root / "8000" / "stat").unlink()


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(nobody, id="zero matches"),
        pytest.param(two, id="ambiguous"),
        pytest.param(other_start, id="start differs"),
        pytest.param(other_number, id="NSpid differs"),
        pytest.param(our_namespace, id="namespace is ours"),
        pytest.param(no_namespace, id="namespace unreadable"),
        pytest.param(no_status, id="status unreadable"),
        pytest.param(no_stat, id="stat unreadable"),
        pytest.param(no_numbers, id="NSpid missing"),
        pytest.param(garbage, id="stat incomplete"),
        pytest.param(one_unreadable_beside, id="unreadable beside the match"),
        pytest.param(hidepid, id="processes hidden"),
        pytest.param(exited, id="exited, not collected"),
        pytest.param(ended_meanwhile, id="ended while listed"),
    ],
)
@pytest.mark.parametrize("kind", ["interactive", "bg"])
async def test_9_unproven_is_unknown(stage: Stage, prepare: Callable[[Stage], None], kind: str) -> None:
    prepare(stage)
    path = stage.write(kind=kind)
    answer = await stage.ask()
    assert isinstance(answer, Unknown)
    assert str(path) in answer.detail


async def test_9_an_unsupported_identity_is_unknown(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.write(procStart=None)
    assert isinstance(await stage.ask(), Unknown)
    assert stage.processes.listings == 0, "there is nothing to look for"


async def test_9_a_scan_that_reaches_its_limit_is_unknown(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procfs, "MAX_PROCESSES", 1)
    stage.processes.sandboxed()
    stage.write()
    answer = await stage.ask()
    assert isinstance(answer, Unknown)
    assert "too many processes" in answer.detail


async def test_9_a_proc_that_cannot_be_listed_is_unknown(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.write()
    stage.processes.machine()
    root = stage.processes.root
    check = stage.door()
    moved = root.rename(root.with_name("moved"))
    answer = await stage.clock.run(check.check(ID, stage.clock.now() + 1000))
    moved.rename(root)
    assert isinstance(answer, Unknown)


async def test_unknown_says_what_was_found(stage: Stage) -> None:
    two(stage)
    stage.write()
    answer = await stage.ask()
    assert isinstance(answer, Unknown)
    assert "processes 8000 and 8100 may each have written it" in answer.detail


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda stage: stage.processes.end(8000), id="it exits"),
        pytest.param(lambda stage: stage.processes.sandboxed(start="9001"), id="its number is given out again"),
        pytest.param(lambda stage: stage.processes.sandboxed(namespace=OTHER_BOX), id="another namespace"),
        pytest.param(lambda stage: stage.processes.unreadable(8000, "status"), id="it becomes unreadable"),
    ],
)
@pytest.mark.parametrize("look", [2, 3], ids=["during the scan", "while the descriptor is read again"])
async def test_9_evidence_that_changes_at_every_look_is_unknown(
    stage: Stage, change: Callable[[Stage], object], look: int
) -> None:
    """At each pass anew it is there when all are looked at, and not what it was when it is looked at again."""
    stage.write()
    looks = 0

    def before(_pid: int) -> None:
        nonlocal looks
        looks += 1
        if looks == look:
            change(stage)

    stage.processes.sandboxed()
    stage.processes.before_look = before
    assert isinstance(stage.door().check_now(ID), Unknown)
    assert looks >= look


async def test_9_a_descriptor_that_is_replaced_meanwhile_is_judged_anew(stage: Stage) -> None:
    path = stage.write()
    stage.processes.sandboxed()
    stage.processes.before_look = lambda _pid: path.unlink(missing_ok=True)
    assert isinstance(stage.door().check_now(ID), Unknown)
    stage.write()
    answer = await stage.clock.run(stage.door().check(ID, stage.clock.now() + 1000))
    assert answer == NotLive(), "it has removed its descriptor, as at a clean end"


# --- the deadline ---------------------------------------------------------------------------------------------------


class Passing(FakeClock):
    """Each look at the clock takes a while."""

    def now(self) -> int:
        self._now += 10
        return self._now


async def test_9_a_scan_has_its_turns_and_its_deadline(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procfs, "PROCESSES_A_TURN", 2)
    for pid in range(100, 120):
        stage.processes.add(pid)
    stage.processes.sandboxed()
    stage.write()
    stage.clock = Passing()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count(), name="count")
    try:
        assert isinstance(await stage.door().check(ID, stage.clock.now() + 60_000), LiveElsewhere)
        assert turns >= 10
        late = await stage.door().check(ID, stage.clock.now() + 50)
    finally:
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)
    assert isinstance(late, Unknown)
    assert "in time" in late.detail


async def test_a_proven_writer_is_told_without_waiting_for_the_rest(stage: Stage) -> None:
    """The deadline is over; only whether a background job has it, too, could not be found out any more."""
    stage.processes.add(500, start="9500")
    stage.write(500, procStart="9500")
    stage.write(kind="bg")
    assert isinstance(await stage.door().check(ID, stage.clock.now()), LiveElsewhere)


# --- what is looked at, and how often -------------------------------------------------------------------------------


async def test_without_a_descriptor_of_the_session_nothing_is_scanned(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.write(session_id=OTHER)
    assert await stage.ask() == NotLive()
    assert stage.processes.listings == 0


@pytest.mark.parametrize(
    "native",
    [
        pytest.param({"start": "9500"}, id="living"),
        pytest.param({"start": "9500", "state": "Z"}, id="exited"),
    ],
)
async def test_judged_in_our_own_namespace_nothing_is_scanned(stage: Stage, native: dict[str, str]) -> None:
    stage.processes.add(500, **native)  # type: ignore[arg-type] # the options of one row
    stage.write(500, procStart="9500")
    await stage.ask()
    assert stage.processes.listings == 0


async def test_a_death_on_record_needs_no_scan(stage: Stage) -> None:
    stage.launches = [LaunchEvidence(ID, 2, "9000", "boot-1", None, None, ended=True)]
    stage.write()
    assert await stage.ask() == NotLive()
    assert stage.processes.listings == 0


async def test_one_scan_for_several_descriptors(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.write()
    stage.write(folder=stage.own)
    stage.write(7, procStart="9001")
    assert isinstance(stage.door().check_now(ID), LiveElsewhere)
    assert stage.processes.listings == 1


async def test_a_writer_of_ours_makes_a_scan_unnecessary(stage: Stage) -> None:
    stage.processes.add(500, start="9500")
    stage.write(500, procStart="9500")
    stage.write()
    assert isinstance(await stage.ask(), LiveElsewhere)
    assert stage.processes.listings == 0


async def test_one_unresolved_beside_a_proven_dead_one(stage: Stage) -> None:
    stage.processes.add(500, start="9500", state="Z")
    stage.write(500, procStart="9500")
    stage.write()
    assert isinstance(await stage.ask(), Unknown)
    stage.processes.sandboxed()
    assert isinstance(await stage.ask(), LiveElsewhere)


# --- background jobs ------------------------------------------------------------------------------------------------


async def test_5_a_background_job_in_a_namespace(stage: Stage) -> None:
    stage.processes.sandboxed()
    stage.write(kind="bg", jobId="j7")
    answer = await stage.ask(exclude=((8000, "9000"),))
    assert isinstance(answer, Background)
    assert (answer.job, answer.where.pid) == ("j7", 8000)


async def test_5_a_background_job_in_a_namespace_comes_before_a_writer_of_ours(stage: Stage) -> None:
    stage.processes.add(500, start="9500")
    stage.write(500, procStart="9500")
    stage.processes.sandboxed()
    stage.write(kind="bg", jobId="j7")
    assert isinstance(await stage.ask(), Background)


async def test_5_a_background_job_of_ours_needs_no_scan(stage: Stage) -> None:
    stage.processes.add(500, start="9500")
    stage.write(500, procStart="9500", kind="bg")
    stage.write(kind="bg")
    assert isinstance(await stage.ask(), Background)
    assert stage.processes.listings == 0


# --- the conversation's own terminal --------------------------------------------------------------------------------


@pytest.fixture
def terminal(stage: Stage) -> Stage:
    """A terminal whose process 300 runs the sandbox that the writer lives in."""
    stage.processes.add(300, start="7000")
    stage.processes.sandboxed(7999, 1, parent=300, start="8990")
    stage.processes.sandboxed(parent=7999)
    stage.write(folder=stage.own)
    return stage


@pytest.mark.parametrize(
    ("exclude", "answer"),
    [
        pytest.param(((300, "7000"),), NotLive, id="it runs below this terminal"),
        pytest.param(((8000, "9000"),), NotLive, id="it is this terminal's process"),
        pytest.param((), LiveElsewhere, id="no local terminal"),
        pytest.param(((301, "7000"),), LiveElsewhere, id="an unrelated terminal"),
        pytest.param(((300, "7001"),), LiveElsewhere, id="the terminal's number was given out again"),
        pytest.param(((2, "9000"),), LiveElsewhere, id="the number inside is no number here"),
    ],
)
async def test_7_its_own_terminal(terminal: Stage, exclude: tuple[tuple[int, str], ...], answer: type[object]) -> None:
    assert type(await terminal.ask(exclude)) is answer


async def test_7_an_unproven_writer_is_never_its_own(terminal: Stage) -> None:
    terminal.processes.sandboxed(8100, namespace=OTHER_BOX)
    assert isinstance(await terminal.ask(((300, "7000"),)), Unknown)


async def test_7_its_own_terminal_hides_no_other_writer(terminal: Stage) -> None:
    terminal.processes.sandboxed(8100, start="9100", namespace=OTHER_BOX)
    terminal.write(procStart="9100")
    answer = await terminal.ask(((300, "7000"),))
    assert isinstance(answer, LiveElsewhere)
    assert answer.where.pid == 8100


async def test_7_a_writer_whose_ancestry_is_hidden_is_elsewhere(terminal: Stage) -> None:
    terminal.processes.unreadable(7999, "stat")
    assert isinstance(await terminal.ask(((300, "7000"),)), LiveElsewhere)
