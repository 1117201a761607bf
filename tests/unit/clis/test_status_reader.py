"""The cache of published statuses: what it keeps, what it lets go, whom it tells and when."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses

from switchboard.clis import status_reader
from switchboard.clis.descriptors import DescriptorChange
from switchboard.clis.status_reader import BURST, BURST_MS, PROBE_MS, SEED_FILES, StatusReader
from switchboard.common.clock import Instant, Timer
from switchboard.common.facts import CliStatus
from switchboard.common.folder_watch import FolderWatcher, open_folder_watcher

START = 1_790_000_000_000


class HandClock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = START
        self.timers: list[tuple[Instant, Callable[[], None]]] = []

    def now(self) -> int:
        return self.time

    def call_at(self, when: Instant, callback: Callable[[], None]) -> Timer:
        entry = (when, callback)
        self.timers.append(entry)
        timers = self.timers

        class _Timer:
            def cancel(self) -> None:
                if entry in timers:
                    timers.remove(entry)

        return _Timer()

    def advance(self, ms: int) -> None:
        self.time += ms
        for entry in [entry for entry in self.timers if entry[0] <= self.time]:
            self.timers.remove(entry)
            entry[1]()


class Messages(list[str]):
    """A log that can be read."""

    def info(self, message: str) -> None:
        self.append(message)

    warning = error = info


class Rig:
    """A sessions folder, processes, and a reader over both."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "sessions"
        self.folder.mkdir()
        self.processes = FakeProcesses(root / "proc")
        self.watcher = FakeFolderWatcher()
        self.clock = HandClock()
        self.log = Messages()
        self.changes: list[DescriptorChange] = []
        self.reader = StatusReader(str(self.folder), self.watcher, self.clock, self.processes.door(), self.log)
        self.reader.on_change(self.changes.append)

    def write(self, pid: int, session_id: str = "a", status: str | None = "idle", **fields: Any) -> None:
        body = {"pid": pid, "sessionId": session_id, "status": status, "statusUpdatedAt": START, "procStart": "1000"}
        (self.folder / f"{pid}.json").write_text(json.dumps({**body, **fields}))

    def tell(self, *names: str) -> None:
        for name in names:
            self.watcher.tell(str(self.folder), name)

    async def update(self, pid: int, session_id: str = "a", status: str | None = "idle", **fields: Any) -> None:
        self.write(pid, session_id, status, **fields)
        self.tell(f"{pid}.json")
        await turn()

    def seen(self) -> list[tuple[str | None, str | None]]:
        """Each change as (status before, status after); None stands for no descriptor."""
        return [
            (change.before and change.before.status.status, change.after and change.after.status.status)
            for change in self.changes
        ]


async def turn() -> None:
    """Let what was scheduled for the next loop turn happen."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    for pid in (10, 11, 12):
        made.processes.add(pid)
    yield made
    made.reader.close()


async def test_3_2_seeded_once_with_what_is_there(rig: Rig) -> None:
    rig.write(10, "a", "busy")
    rig.write(11, "b", "idle")
    rig.reader.start()
    assert rig.reader.get("a") == CliStatus("busy", START)
    assert rig.reader.get("b") == CliStatus("idle", START)
    assert rig.reader.get("c") is None
    assert rig.seen() == [(None, "idle"), (None, "busy")] or rig.seen() == [(None, "busy"), (None, "idle")]
    rig.reader.start()
    assert rig.watcher.watched == [str(rig.folder)]


async def test_the_watch_comes_first_so_that_nothing_is_missed(rig: Rig) -> None:
    real, watched_when_listing = status_reader.descriptor_names, []

    def listing(folder: str) -> list[str]:
        watched_when_listing.append(rig.watcher.watched)
        return real(folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(status_reader, "descriptor_names", listing)
        rig.reader.start()
    assert watched_when_listing == [[str(rig.folder)]]


async def test_a_change_is_read_in_the_next_turn_and_reported_once(rig: Rig) -> None:
    rig.reader.start()
    rig.write(10, "a", "busy", statusUpdatedAt=START + 5)
    rig.tell("10.json", "10.json", "10.json")
    assert rig.reader.get("a") is None
    await turn()
    assert rig.reader.get("a") == CliStatus("busy", START + 5)
    assert rig.seen() == [(None, "busy")]
    rig.tell("10.json")
    await turn()
    assert rig.seen() == [(None, "busy")]
    assert rig.clock.timers == []


async def test_field_12_an_idle_blip_is_passed_on_as_it_is(rig: Rig) -> None:
    rig.reader.start()
    for moment, status in enumerate(("busy", "idle", "busy")):
        await rig.update(10, "a", status, statusUpdatedAt=START + 10 * moment)
        rig.clock.advance(10)
    assert rig.seen() == [(None, "busy"), ("busy", "idle"), ("idle", "busy")]


async def test_3_2_a_burst_is_slowed_down_and_its_end_is_read(rig: Rig) -> None:
    rig.reader.start()
    for number in range(BURST + 1):
        await rig.update(10, "a", "busy", statusUpdatedAt=START + number)
    assert rig.reader.get("a") == CliStatus("busy", START + BURST - 1)
    await rig.update(10, "a", "idle", statusUpdatedAt=START + 1000)
    await rig.update(11, "b", "idle")
    assert rig.reader.get("b") is None
    assert len(rig.clock.timers) == 1
    rig.clock.advance(BURST_MS)
    assert rig.reader.get("a") == CliStatus("idle", START + 1000)
    assert rig.reader.get("b") is not None
    assert rig.clock.timers == []
    assert BURST_MS == 150


async def test_3_2_a_half_written_file_keeps_what_was_known_and_is_read_at_the_next_event(rig: Rig) -> None:
    rig.write(10, "a", "busy")
    rig.reader.start()
    rig.changes.clear()
    for torn in (b"", b'{"pid":10,"sess', b'{"pid":10,"sessionId":"a","status":"idle"}aitingFor":"x"}'):
        (rig.folder / "10.json").write_bytes(torn)
        rig.tell("10.json")
        await turn()
        assert rig.reader.get("a") == CliStatus("busy", START)
    assert rig.changes == []
    await rig.update(10, "a", "idle")
    assert rig.reader.get("a") == CliStatus("idle", START)


async def test_a_file_first_seen_half_written_is_found_when_it_is_whole(rig: Rig) -> None:
    (rig.folder / "10.json").write_bytes(b'{"pid":')
    rig.reader.start()
    assert rig.reader.all() == []
    await rig.update(10)
    assert rig.reader.get("a") is not None


def unlink(path: Path) -> None:
    path.unlink()


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def to_link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(unlink, id="3.2 gone"),
        pytest.param(to_folder, id="3.2 unreadable: no file"),
        pytest.param(to_link, id="3.2 unreadable: a link"),
        pytest.param(lambda path: path.write_text('{"pid":10}'), id="names no session any more"),
        pytest.param(lambda path: path.write_text("x" * 70_000), id="3.2 unreadable: too large"),
    ],
)
async def test_the_entry_ends(rig: Rig, change: Callable[[Path], None]) -> None:
    rig.write(10, "a", "busy")
    rig.reader.start()
    change(rig.folder / "10.json")
    rig.tell("10.json")
    await turn()
    assert rig.reader.get("a") is None
    assert rig.seen() == [(None, "busy"), ("busy", None)]


async def test_3_2_the_descriptor_of_a_dead_process_is_not_kept(rig: Rig) -> None:
    rig.write(99, "dead")
    rig.reader.start()
    assert rig.reader.get("dead") is None
    await rig.update(98, "dead too")
    assert rig.reader.all() == []
    assert rig.changes == []


async def test_3_2_and_8_33_a_killed_cli_is_noticed_within_5_s_of_asking(rig: Rig) -> None:
    rig.write(10, "a", "busy")
    rig.reader.start()
    rig.processes.end(10)
    probes = len(rig.processes.probes)
    rig.clock.advance(PROBE_MS - 1)
    assert rig.reader.get("a") == CliStatus("busy", START)
    assert len(rig.processes.probes) == probes
    rig.clock.advance(1)
    assert rig.reader.get("a") is None
    assert rig.seen() == [(None, "busy")], "the caller has its answer before anybody is called back"
    await turn()
    assert rig.seen() == [(None, "busy"), ("busy", None)]
    assert rig.clock.timers == []
    assert PROBE_MS == 5000


async def test_a_clock_that_was_set_back_does_not_keep_the_dead_alive(rig: Rig) -> None:
    rig.write(10)
    rig.reader.start()
    rig.processes.end(10)
    rig.clock.advance(-3_600_000)
    assert rig.reader.get("a") is None


async def test_asking_late_makes_up_for_an_event_that_never_came(rig: Rig) -> None:
    rig.write(10, "a", "busy")
    rig.reader.start()
    rig.write(10, "a", "idle")
    assert rig.reader.get("a") == CliStatus("busy", START)
    rig.clock.advance(PROBE_MS)
    assert rig.reader.get("a") == CliStatus("idle", START)
    await turn()
    assert rig.seen() == [(None, "busy"), ("busy", "idle")]


@pytest.mark.parametrize(
    ("written", "actual", "live"),
    [
        pytest.param("1000", "1000", True, id="3.3 the same start"),
        pytest.param("999", "1000", False, id="3.3 a decided mismatch"),
        pytest.param(None, "1000", True, id="3.3 undecidable: none recorded"),
    ],
)
async def test_proc_start(rig: Rig, written: str | None, actual: str, live: bool) -> None:
    rig.processes.add(20, start=actual)
    rig.write(20, "s", procStart=written)
    rig.reader.start()
    assert (rig.reader.get("s") is not None) is live


async def test_3_3_undecidable_where_the_process_shows_no_start(rig: Rig) -> None:
    (rig.processes.root / "10" / "stat").unlink()
    rig.write(10, "a", procStart="5")
    rig.reader.start()
    assert rig.reader.get("a") is not None


async def test_3_2_another_start_is_a_new_process_and_no_transition(rig: Rig) -> None:
    rig.write(10, "a", "busy")
    rig.reader.start()
    rig.processes.add(10, start="2000")
    await rig.update(10, "a", "idle", procStart="2000")
    assert rig.seen() == [(None, "busy"), ("busy", None), (None, "idle")]


async def test_clear_in_the_same_process_is_one_change_with_another_key(rig: Rig) -> None:
    rig.write(10, "old", "idle")
    rig.reader.start()
    await rig.update(10, "New", "idle")
    change = rig.changes[-1]
    assert change.rekeyed
    assert change.before is not None
    assert change.after is not None
    assert (change.before.key, change.after.key) == ("old", "new")
    assert rig.reader.get("old") is None
    assert rig.reader.get("new") == CliStatus("idle", START)


async def test_8_34_ids_compare_in_any_case(rig: Rig) -> None:
    rig.write(10, "ABC-def")
    rig.reader.start()
    for spelling in ("ABC-def", "abc-def", "ABC-DEF"):
        assert rig.reader.get(spelling) is not None
        found = rig.reader.descriptor(spelling)
        assert found is not None
        assert found.session_id == "ABC-def"


@pytest.mark.parametrize(
    ("status", "expected"), [pytest.param("tidying", None, id="3.1 unknown"), pytest.param(None, None, id="3.1 absent")]
)
async def test_a_status_that_says_nothing(rig: Rig, status: str | None, expected: None) -> None:
    rig.write(10, "a", status)
    rig.reader.start()
    assert rig.reader.get("a") == CliStatus(expected, START)


async def test_only_descriptors_are_read(rig: Rig) -> None:
    rig.reader.start()
    for name in ("pid-10.json", "10.abc.key", "10.json.tmp"):
        (rig.folder / name).write_text('{"pid":10,"sessionId":"a"}')
        rig.tell(name)
    await turn()
    assert rig.reader.all() == []


async def test_a_folder_that_appears_later_is_read_when_the_watcher_says_so(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.folder.rmdir()
    rig.processes.add(10)
    rig.reader.start()
    assert rig.reader.get("a") is None
    rig.folder.mkdir()
    rig.write(10)
    rig.watcher.rescan(str(rig.folder))
    await turn()
    assert rig.reader.get("a") is not None
    (rig.folder / "10.json").unlink()
    rig.folder.rmdir()
    rig.watcher.rescan(str(rig.folder))
    await turn()
    assert rig.reader.get("a") is None
    assert rig.log == []


async def test_a_rescan_finds_what_came_changed_and_went(rig: Rig) -> None:
    rig.write(10, "a", "busy")
    rig.write(11, "b", "busy")
    rig.reader.start()
    rig.changes.clear()
    (rig.folder / "10.json").unlink()
    rig.write(11, "b", "idle")
    rig.write(12, "c", "shell")
    rig.watcher.rescan(str(rig.folder))
    await turn()
    assert sorted(rig.seen(), key=str) == sorted([("busy", None), ("busy", "idle"), (None, "shell")], key=str)


async def test_a_folder_that_cannot_be_listed_is_reported_and_what_is_known_read_again(rig: Rig) -> None:
    rig.write(10)
    rig.reader.start()
    (rig.folder / "10.json").unlink()
    rig.folder.rmdir()
    rig.folder.write_text("no folder")
    rig.watcher.rescan(str(rig.folder))
    await turn()
    assert rig.reader.get("a") is None
    assert rig.log == [f"cannot list {rig.folder}: Not a directory"]


async def test_3_2_of_more_than_200_files_only_those_of_living_processes_are_read(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pid in range(1000, 1000 + SEED_FILES + 1):
        rig.write(pid, f"s{pid}")
    rig.write(10, "alive")
    reads: list[str] = []
    real = status_reader.read_descriptor

    def counting(folder: str, name: str) -> object:
        reads.append(name)
        return real(folder, name)

    monkeypatch.setattr(status_reader, "read_descriptor", counting)
    rig.reader.start()
    assert reads == ["10.json"]
    assert rig.reader.get("alive") is not None
    assert SEED_FILES == 200


async def test_3_2_more_than_200_living_are_each_read_when_they_change(rig: Rig) -> None:
    for pid in range(1000, 1000 + SEED_FILES + 1):
        rig.processes.add(pid)
        rig.write(pid, f"s{pid}")
    rig.reader.start()
    assert rig.reader.all() == []
    assert len(rig.log) == 1
    await rig.update(1005, "s1005")
    assert rig.reader.get("s1005") is not None


async def test_a_flood_of_files_is_not_held(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_reader, "MAX_FILES", 2)
    rig.reader.start()
    for pid in (10, 11, 12):
        await rig.update(pid, f"s{pid}")
    assert [descriptor.pid for descriptor in rig.reader.all()] == [10, 11]
    await rig.update(11, "s11", "busy")
    assert rig.reader.get("s11") == CliStatus("busy", START)


async def test_lookup_by_process(rig: Rig) -> None:
    rig.write(10, "a")
    rig.write(11, "a")
    rig.reader.start()
    found = rig.reader.by_pid(11)
    assert found is not None
    assert found.pid == 11
    assert rig.reader.by_pid(12) is None
    shared = rig.reader.descriptor("a")
    assert shared is not None
    assert shared.pid == 10


async def test_the_owner_is_the_nearest_descendant(rig: Rig) -> None:
    """A shell starts the CLI, and a tool of the CLI starts another CLI."""
    for pid, parent in ((40, 1), (41, 40), (42, 41), (43, 42), (50, 1)):
        rig.processes.add(pid, parent=parent)
    rig.write(43, "nested")
    rig.write(41, "own")
    rig.write(50, "stranger")
    rig.reader.start()
    owner = rig.reader.owned_by(40)
    assert owner is not None
    assert owner.session_id == "own"
    nested = rig.reader.owned_by(42)
    assert nested is not None
    assert nested.session_id == "nested"
    assert rig.reader.owned_by(60) is None


@pytest.mark.parametrize(
    ("fields", "job"),
    [
        pytest.param({"kind": "bg", "jobId": "j1"}, "j1", id="3.5 live background job"),
        pytest.param({"kind": "bg"}, "", id="3.5 without a job's name"),
        pytest.param({"kind": "interactive"}, None, id="3.5 interactive"),
        pytest.param({"kind": "bg", "jobId": "j1", "procStart": "5"}, None, id="3.5 number given out again"),
    ],
)
async def test_background_job(rig: Rig, fields: dict[str, Any], job: str | None) -> None:
    rig.write(10, "A", **fields)
    rig.reader.start()
    assert rig.reader.background_job("a") == job
    assert rig.reader.background_job("b") is None


async def test_a_background_job_is_found_by_its_bridge_id(rig: Rig) -> None:
    rig.write(10, "a", kind="bg", jobId="j", bridgeSessionId="Bridge")
    rig.reader.start()
    assert rig.reader.background_job("bridge") == "j"
    assert rig.reader.get("bridge") is None


async def test_a_background_job_is_asked_for_now(rig: Rig) -> None:
    rig.write(10, "a", kind="bg", jobId="j")
    rig.reader.start()
    rig.processes.end(10)
    assert rig.reader.background_job("a") is None


async def test_a_callback_that_fails_keeps_no_other_file_unread(rig: Rig) -> None:
    rig.reader.start()
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context["exception"]))

    def fail(change: DescriptorChange) -> None:
        raise ValueError("a callback")

    end = rig.reader.on_change(fail)
    rig.write(10, "a")
    rig.write(11, "b")
    rig.tell("10.json", "11.json")
    for _ in range(3):
        await turn()
    assert len(failures) == 2
    assert rig.reader.get("a") is not None
    assert rig.reader.get("b") is not None
    end()
    end()
    await rig.update(12, "c")
    assert len(failures) == 2


async def test_nothing_is_reported_after_close(rig: Rig) -> None:
    rig.reader.start()
    rig.write(10)
    rig.tell("10.json")
    rig.reader.close()
    rig.reader.close()
    await turn()
    assert rig.changes == []
    assert rig.watcher.watched == []


@pytest.fixture
async def watcher() -> AsyncIterator[FolderWatcher]:
    made = open_folder_watcher()
    yield made
    await made.aclose()


async def test_over_a_real_folder_an_in_place_rewrite_arrives(tmp_path: Path, watcher: FolderWatcher) -> None:
    """The way the CLI does it: open, write, cut to length."""
    rig = Rig(tmp_path)
    reader = StatusReader(str(rig.folder), watcher, rig.clock, rig.processes.door(), rig.log)
    arrived: asyncio.Queue[str | None] = asyncio.Queue()
    reader.on_change(lambda change: arrived.put_nowait(change.after.status.status if change.after else "gone"))
    rig.processes.add(10)
    reader.start()
    rig.write(10, "a", "waiting", waitingFor="permission prompt")
    assert await asyncio.wait_for(arrived.get(), 10) == "waiting"
    file = os.open(rig.folder / "10.json", os.O_WRONLY)
    length = os.write(file, b'{"pid":10,"sessionId":"a","status":"idle"}')
    os.ftruncate(file, length)
    os.close(file)
    assert await asyncio.wait_for(arrived.get(), 10) == "idle"
    (rig.folder / "10.json").unlink()
    assert await asyncio.wait_for(arrived.get(), 10) == "gone"
    reader.close()
