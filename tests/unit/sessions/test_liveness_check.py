"""The question "is it live elsewhere?", asked over real files and a described /proc."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.support.fake_clock import FakeClock
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses

from switchboard.clis.descriptors import Descriptor
from switchboard.clis.liveness import (
    Background,
    EvidenceUnavailable,
    LaunchEvidence,
    LiveElsewhere,
    Liveness,
    NotLive,
    Resolved,
    Scheduled,
    ScheduledRun,
    Unknown,
    Unproven,
    Vantage,
)
from switchboard.sessions import liveness_check
from switchboard.sessions.liveness_check import WRITING_MS, LivenessCheck, LivenessSources, WriterResolver
from switchboard.sessions.schedules import Schedules

ID = "0d6f3a52-0000-4000-8000-00000000000a"
OTHER = "0d6f3a52-0000-4000-8000-00000000000b"
HERE = "linux:m1:pid:[4026531836]"


class Stage:
    """One host's view: two descriptor folders, processes, a clock."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "claude" / "sessions"
        self.second = root / "agent" / "sessions"
        self.folder.mkdir(parents=True)
        self.clock = FakeClock()
        self.watcher = FakeFolderWatcher()
        self.processes = FakeProcesses(root / "proc")
        self.processes.root.mkdir()
        self.processes.machine()
        self.schedules = Schedules()
        self.records: dict[tuple[int, str], list[LaunchEvidence]] = {}
        self.broken_store = False

    def door(self, resolver: WriterResolver | None = None) -> LivenessCheck:
        sources = LivenessSources(
            lambda: (str(self.folder), str(self.second)), self.processes.door(), self.schedules, self.launches
        )
        if resolver is not None:
            sources = LivenessSources(sources.folders, sources.processes, sources.schedules, sources.launches, resolver)
        return LivenessCheck(sources, self.watcher, self.clock)

    def launches(self, pid: int, start: str) -> Sequence[LaunchEvidence]:
        if self.broken_store:
            raise EvidenceUnavailable("the database cannot be used")
        return self.records.get((pid, start), [])

    def write(self, pid: int = 500, session_id: str = ID, folder: Path | None = None, **fields: object) -> Path:
        body = {"pid": pid, "sessionId": session_id, "status": "idle", "procStart": "9000", **fields}
        return self.put(f"{pid}.json", json.dumps(body), folder)

    def put(self, name: str, text: str, folder: Path | None = None, age_ms: int = 0) -> Path:
        path = (folder or self.folder) / name
        path.write_text(text)
        at = (self.clock.now() - age_ms) / 1000
        os.utime(path, (at, at))
        return path

    async def ask(self, session_id: str = ID, within: int = 60_000, **options: object) -> Liveness:
        exclude = options.get("exclude", ())
        check = self.door().check(session_id, self.clock.now() + within, exclude)  # type: ignore[arg-type] # the pairs of one test
        return await self.clock.run(check)


class Resolver:
    """Says what it is told to say of each descriptor's writer."""

    def __init__(self, found: Callable[[Descriptor], Resolved | Unproven]) -> None:
        self._found = found
        self.asked: list[int] = []

    def search(self, descriptors: Sequence[Descriptor], vantage: Vantage) -> Resolver:
        self.asked += [descriptor.pid for descriptor in descriptors]
        return self

    def run(self) -> Iterator[None]:
        yield

    def found(self, descriptor: Descriptor) -> Resolved | Unproven:
        return self._found(descriptor)

    def is_nobodys(self, descriptor: Descriptor) -> bool:
        return self._found(descriptor) is NOBODY


NOBODY = Unproven("nobody was found")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_nothing_is_known_absence(stage: Stage) -> None:
    assert await stage.ask() == NotLive()
    stage.folder.rmdir()
    assert await stage.ask() == NotLive()


async def test_other_sessions_do_not_matter(stage: Stage) -> None:
    stage.write(500, OTHER)
    stage.put("501.json", '{"pid": 501}')
    stage.put("pid-7.json", "{")
    stage.put("500.abc.key", "{")
    assert await stage.ask() == NotLive()


@pytest.mark.parametrize("spelling", [ID, ID.upper()])
async def test_a_living_writer_in_any_spelling_and_any_folder(stage: Stage, spelling: str) -> None:
    stage.processes.add(500, start="9000")
    stage.second.mkdir(parents=True)
    path = stage.write(500, spelling, stage.second, cwd="/w", startedAt=7)
    answer = await stage.ask(ID.upper())
    assert isinstance(answer, LiveElsewhere)
    assert (answer.where.pid, answer.where.cwd, answer.where.started_at, answer.where.path) == (500, "/w", 7, str(path))


async def test_a_session_is_found_by_its_bridge_id(stage: Stage) -> None:
    stage.processes.add(500, start="9000")
    stage.write(500, OTHER, bridgeSessionId=ID.upper())
    assert isinstance(await stage.ask(), LiveElsewhere)


async def test_a_background_job(stage: Stage) -> None:
    stage.processes.add(500, start="9000")
    stage.write(500, kind="bg", jobId="j7")
    answer = await stage.ask()
    assert isinstance(answer, Background)
    assert answer.job == "j7"


async def test_a_scheduled_run_without_a_descriptor(stage: Stage) -> None:
    run = ScheduledRun(ID.upper(), 9, "/p", 1)
    ended = stage.schedules.track(run)
    assert await stage.ask() == Scheduled(run)
    assert stage.door().check_now(ID) == Scheduled(run)
    ended()
    assert await stage.ask() == NotLive()


async def test_a_run_that_begins_while_files_are_read(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ScheduledRun(ID, 9, "/p", 1)
    monkeypatch.setattr(liveness_check, "descriptor_names", lambda _folder: stage.schedules.track(run) and [])
    assert await stage.ask() == Scheduled(run)


@pytest.mark.parametrize("inner", ["absent", "occupied"])
async def test_9_a_namespace_writer_is_never_taken_for_absent(stage: Stage, inner: str) -> None:
    """The raw number is another process here, or none: neither proves anything."""
    if inner == "occupied":
        stage.processes.add(2, start="777")
    stage.write(2, procStart="9000")
    answer = await stage.ask()
    assert isinstance(answer, Unknown)
    assert "2.json" in answer.detail


async def test_a_resolver_finds_a_namespace_writer(stage: Stage) -> None:
    stage.processes.add(500, start="9000")
    stage.write(2)
    resolver = Resolver(lambda _descriptor: Resolved(8_000, "9000"))
    answer = await stage.clock.run(stage.door(resolver).check(ID, stage.clock.now() + 1000))
    assert isinstance(answer, LiveElsewhere)
    assert answer.where.pid == 8_000
    assert set(resolver.asked) == {2}


@pytest.mark.parametrize("excluded", [(), ((500, "9000"),)], ids=["", "our own terminal's"])
@pytest.mark.parametrize(
    ("found", "answer"),
    [
        pytest.param(NOBODY, NotLive, id="nobody elsewhere"),
        pytest.param(Unproven("a process cannot be looked at"), Unknown, id="not all can be looked at"),
        pytest.param(Resolved(8_000, "9000"), LiveElsewhere, id="somebody elsewhere"),
    ],
)
async def test_figures_of_a_native_process_in_a_sandboxs_own_folder(
    stage: Stage, found: Resolved | Unproven, answer: type, excluded: tuple[tuple[int, str], ...]
) -> None:
    """Nobody in a sandbox is in our PID namespace: such a file must not keep others from being resumed."""
    stage.processes.add(500, start="9000")
    stage.second.mkdir(parents=True)
    stage.write(500, folder=stage.second)
    sources = LivenessSources(
        lambda: (str(stage.folder), str(stage.second)),
        stage.processes.door(),
        stage.schedules,
        stage.launches,
        Resolver(lambda _descriptor: found),
        sandboxed=lambda: [str(stage.second)],
    )
    check = LivenessCheck(sources, stage.watcher, stage.clock)
    assert isinstance(check.check_now(ID, excluded), answer)
    assert isinstance(await stage.clock.run(check.check(ID, stage.clock.now() + 1_000, excluded)), answer)
    # The same file in a folder that everyone shares is another matter.
    (stage.second / "500.json").rename(stage.folder / "500.json")
    shared = check.check_now(ID)
    assert isinstance(shared, LiveElsewhere)
    assert shared.where.pid == 500


async def test_what_names_no_process_of_ours_in_a_sandboxs_own_folder_stays_unknown(stage: Stage) -> None:
    """Its sandbox may be one that we see nothing of."""
    stage.second.mkdir(parents=True)
    stage.write(2, folder=stage.second)
    sources = LivenessSources(
        lambda: (str(stage.second),),
        stage.processes.door(),
        stage.schedules,
        stage.launches,
        Resolver(lambda _descriptor: NOBODY),
        sandboxed=lambda: [str(stage.second)],
    )
    assert isinstance(LivenessCheck(sources, stage.watcher, stage.clock).check_now(ID), Unknown)


async def test_only_its_own_proven_terminal_is_excluded(stage: Stage) -> None:
    stage.processes.add(300, start="7000")
    stage.processes.add(500, start="9000", parent=300)
    stage.write(500)
    assert await stage.ask(exclude=[(300, "7000")]) == NotLive()
    assert isinstance(await stage.ask(exclude=[(300, "7001")]), LiveElsewhere)
    assert isinstance(await stage.ask(exclude=[(301, "7000")]), LiveElsewhere)
    assert stage.door().check_now(ID, [(300, "7000")]) == NotLive()


async def test_23_our_own_child_was_reaped(stage: Stage) -> None:
    stage.write(500)
    assert isinstance(await stage.ask(), Unknown)
    stage.records[500, "9000"] = [LaunchEvidence(ID, 500, "9000", "boot-1", None, None, ended=True)]
    assert await stage.ask() == NotLive()
    stage.broken_store = True
    assert isinstance(await stage.ask(), Unknown)


async def test_23_the_machine_was_started_again(stage: Stage) -> None:
    stage.write(500)
    stage.records[500, "9000"] = [LaunchEvidence(ID, 500, "9000", "boot-1", None, None, ended=False)]
    assert isinstance(await stage.ask(), Unknown)
    stage.processes.machine(boot_id="boot-2")
    assert await stage.ask() == NotLive()


@pytest.mark.parametrize(
    ("machine", "answer"),
    [
        pytest.param({}, NotLive, id="the machine's first namespace, everything visible"),
        pytest.param({"mount": "rw,hidepid=0"}, NotLive, id="hidepid is off"),
        pytest.param({"mount": "rw,hidepid=invisible"}, Unknown, id="hidepid=invisible"),
        pytest.param({"mount": "rw,hidepid=2,gid=5"}, Unknown, id="hidepid=2"),
        pytest.param({"namespace": "pid:[4026532000]"}, Unknown, id="a container"),
        pytest.param({"machine_id": None}, Unknown, id="a machine without an id"),
        pytest.param({"machine_id": "m2"}, Unknown, id="another machine"),
    ],
)
async def test_23_the_descriptor_names_this_machine(
    stage: Stage, machine: dict[str, str], answer: type[object]
) -> None:
    stage.processes.machine(**machine)  # type: ignore[arg-type] # the options of one row
    stage.write(500, pidDomain=HERE)
    assert type(await stage.ask()) is answer


async def test_23_the_number_was_given_to_another_process(stage: Stage) -> None:
    stage.processes.add(500, start="9999")
    stage.write(500, pidDomain=HERE)
    assert await stage.ask() == NotLive()
    stage.processes.add(500, start="9000")
    assert isinstance(await stage.ask(), LiveElsewhere)


async def test_23_a_process_that_may_not_be_signalled_is_not_gone(stage: Stage) -> None:
    stage.processes.hidden.add(500)
    stage.write(500, pidDomain=HERE)
    assert isinstance(await stage.ask(), Unknown)


# --- files that cannot be read --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "named"),
    [
        pytest.param(lambda folder: (folder / "9.json").mkdir(), "9.json", id="a folder"),
        pytest.param(lambda folder: os.mkfifo(folder / "9.json"), "9.json", id="a pipe"),
        pytest.param(lambda folder: (folder / "9.json").symlink_to("nowhere"), "9.json", id="a link"),
        pytest.param(lambda folder: (folder / "9.json").write_text("x" * 70_000), "9.json", id="too large"),
    ],
)
async def test_what_cannot_be_read_is_unknown_and_named(stage: Stage, make: object, named: str) -> None:
    make(stage.folder)  # type: ignore[operator] # one of the lambdas above
    answer = await stage.ask()
    assert isinstance(answer, Unknown)
    assert named in answer.detail


async def test_a_folder_that_cannot_be_listed_is_unknown(stage: Stage) -> None:
    stage.folder.rmdir()
    stage.folder.write_text("no folder")
    answer = await stage.ask()
    assert isinstance(answer, Unknown)
    assert str(stage.folder) in answer.detail


@pytest.mark.parametrize(
    "body", ['{"sessionId": "%s"}', '{"pid": "500", "sessionId": "%s"}', '{"pid": 0, "bridgeSessionId": "%s"}']
)
async def test_a_file_that_names_the_session_and_no_process(stage: Stage, body: str) -> None:
    stage.put("500.json", body % ID.upper())
    answer = await stage.ask()
    assert isinstance(answer, Unknown)
    assert "500.json" in answer.detail


async def test_too_many_files_are_unknown(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness_check, "MAX_NAMES", 2)
    stage.write(500, OTHER)
    stage.write(501, OTHER)
    assert isinstance(await stage.ask(), Unknown)


async def test_a_proven_writer_is_told_although_the_rest_cannot_be_read(stage: Stage) -> None:
    stage.processes.add(500, start="9000")
    stage.write(500)
    (stage.folder / "9.json").mkdir()
    stage.put("8.json", "{")
    before = stage.clock.now()
    assert isinstance(await stage.ask(), LiveElsewhere)
    assert stage.clock.now() == before, "nothing more had to be waited for"


# --- files that are being written -----------------------------------------------------------------------------------


async def test_a_half_written_file_is_waited_for_until_it_changes(stage: Stage) -> None:
    stage.processes.add(500, start="9000")
    stage.put("500.json", '{"pid": 500, "sess')
    task = asyncio.create_task(stage.door().check(ID, stage.clock.now() + 60_000), name="check")
    await stage.clock.settle()
    assert not task.done()
    assert stage.watcher.watched == [str(stage.folder)]
    stage.watcher.tell(str(stage.folder), "501.json")
    await stage.clock.settle()
    assert not task.done()
    stage.write(500)
    stage.watcher.tell(str(stage.folder), "500.json")
    await stage.clock.settle()
    assert isinstance(await task, LiveElsewhere)
    assert stage.watcher.watched == []


async def test_a_half_written_file_that_stays_so_is_unknown_after_a_moment(stage: Stage) -> None:
    stage.put("500.json", "")
    before = stage.clock.now()
    answer = await stage.ask(within=600_000)
    assert isinstance(answer, Unknown)
    assert "500.json" in answer.detail
    assert stage.clock.now() - before == WRITING_MS
    assert stage.watcher.watched == []


async def test_no_longer_than_the_deadline(stage: Stage) -> None:
    stage.put("500.json", "")
    before = stage.clock.now()
    assert isinstance(await stage.ask(within=300), Unknown)
    assert stage.clock.now() - before == 300


@pytest.mark.parametrize("age", [WRITING_MS, 3_600_000, -3_600_000], ids=["the limit", "long ago", "the future"])
async def test_a_file_that_nobody_writes_is_not_waited_for(stage: Stage, age: int) -> None:
    stage.put("500.json", "{", age_ms=age)
    before = stage.clock.now()
    assert isinstance(await stage.ask(), Unknown)
    assert stage.clock.now() == before


async def test_without_events_the_file_is_read_again_in_the_end(stage: Stage) -> None:
    stage.watcher.refused.add(str(stage.folder))
    stage.put("500.json", "{")
    task = asyncio.create_task(stage.door().check(ID, stage.clock.now() + 60_000), name="check")
    await stage.clock.settle()
    stage.put("500.json", "{}")
    await stage.clock.advance(WRITING_MS)
    assert await task == NotLive()


async def test_a_file_completed_before_anybody_watched(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.put("500.json", "{")
    watch = stage.watcher.watch

    def complete(path: str, callback: object) -> object:
        stage.put("500.json", "{}")
        return watch(path, callback)  # type: ignore[arg-type] # passed through

    monkeypatch.setattr(stage.watcher, "watch", complete)
    before = stage.clock.now()
    assert await stage.ask() == NotLive()
    assert stage.clock.now() == before


async def test_cancelled_it_leaves_no_watch(stage: Stage) -> None:
    stage.put("500.json", "{")
    task = asyncio.create_task(stage.door().check(ID, stage.clock.now() + 60_000), name="check")
    await stage.clock.settle()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert stage.watcher.watched == []


async def test_right_before_a_start_nothing_is_waited_for(stage: Stage) -> None:
    stage.put("500.json", "{")
    assert isinstance(stage.door().check_now(ID), Unknown)
    stage.put("500.json", "{}")
    assert stage.door().check_now(ID) == NotLive()


# --- evidence that changes while it is looked at --------------------------------------------------------------------


def shifting(change: Callable[[], object]) -> Resolver:
    """A resolver that changes the world once, between the first and the second look."""
    changes = [change]

    def found(_descriptor: Descriptor) -> Unproven:
        if changes:
            changes.pop()()
        return NOBODY

    return Resolver(found)


async def test_a_writer_that_leaves_meanwhile_is_not_live(stage: Stage) -> None:
    path = stage.write(500)
    door = stage.door(shifting(path.unlink))
    assert await stage.clock.run(door.check(ID, stage.clock.now() + 1000)) == NotLive()
    stage.write(500)
    assert isinstance(stage.door(shifting(path.unlink)).check_now(ID), Unknown)


async def test_a_writer_that_is_replaced_meanwhile_is_judged_anew(stage: Stage) -> None:
    stage.write(500)
    stage.processes.add(501, start="9000")

    def replaced() -> None:
        (stage.folder / "500.json").unlink()
        stage.write(501)

    door = stage.door(shifting(replaced))
    assert isinstance(await stage.clock.run(door.check(ID, stage.clock.now() + 1000)), LiveElsewhere)


async def test_a_status_that_changes_meanwhile_is_no_change_of_the_writer(stage: Stage) -> None:
    stage.write(500)
    door = stage.door(shifting(lambda: stage.write(500, status="busy", statusUpdatedAt=5)))
    assert "500.json" in getattr(door.check_now(ID), "detail", "")


async def test_a_writer_that_never_rests_gives_no_answer(stage: Stage) -> None:
    stage.write(500)
    starts = iter(range(10_000))

    def restless(_descriptor: Descriptor) -> Unproven:
        stage.write(500, procStart=str(next(starts)))
        return NOBODY

    answer = await stage.clock.run(stage.door(Resolver(restless)).check(ID, stage.clock.now() + 1000))
    assert isinstance(answer, Unknown)
    assert "changes all the time" in answer.detail


# --- many files -----------------------------------------------------------------------------------------------------


async def test_the_loop_has_its_turns_and_the_deadline_counts(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness_check, "FILES_A_TURN", 2)
    for pid in range(100, 110):
        stage.write(pid, OTHER)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count(), name="count")
    try:
        assert await stage.door().check(ID, stage.clock.now() + 1000) == NotLive()
        assert turns >= 5
        assert isinstance(await stage.door().check(ID, stage.clock.now()), Unknown)
    finally:
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)


def job(stage: Stage, state: str) -> None:
    path = stage.folder.parent / "jobs" / "j7" / "state.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"state": state, "sessionId": ID}))


def with_jobs(stage: Stage) -> LivenessCheck:
    sources = LivenessSources(
        lambda: (str(stage.folder),),
        stage.processes.door(),
        stage.schedules,
        stage.launches,
        jobs=lambda: (str(stage.folder.parent / "jobs"),),
    )
    return LivenessCheck(sources, stage.watcher, stage.clock)


async def test_a_conversation_on_its_way_into_the_background(stage: Stage) -> None:
    """Its job is recorded some seconds before the process shows itself."""
    job(stage, "starting")
    look = with_jobs(stage)
    for answer in (await stage.clock.run(look.check(ID, stage.clock.now() + 60_000)), look.check_now(ID)):
        assert isinstance(answer, Background)
        assert answer.job == "j7"
    stage.schedules.track(ScheduledRun(ID, 1, "/w", 2))
    assert isinstance(look.check_now(ID), Scheduled)


async def test_a_living_process_is_named_before_a_recorded_job(stage: Stage) -> None:
    job(stage, "working")
    stage.processes.add(500, start="9000")
    stage.write(500)
    assert isinstance(with_jobs(stage).check_now(ID), LiveElsewhere)


async def test_a_recorded_job_is_named_before_an_unresolved_descriptor(stage: Stage) -> None:
    job(stage, "working")
    stage.write(500)
    assert isinstance(with_jobs(stage).check_now(ID), Background)


async def test_a_job_in_an_unknown_state_leaves_it_unknown(stage: Stage) -> None:
    job(stage, "resting")
    assert isinstance(with_jobs(stage).check_now(ID), Unknown)
    assert with_jobs(stage).check_now(OTHER) == NotLive()
