"""Two lists and what must have happened between them; the two sources of pulses."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from tests.support.leaks import descriptors
from tests.support.watching import PATIENCE_SECONDS, Recorder

from switchboard.common.folder_watch import FolderEvent, How, Kind, Rescan
from switchboard.common.portable_watch import (
    Entry,
    PortableWatcher,
    Pulse,
    TimerPulses,
    WatchfilesPulses,
    differences,
)


def entry(inode: int, modified: int = 0, size: int = 0) -> Entry:
    return Entry(1, inode, modified, size)


Lists = tuple[dict[str, Entry], dict[str, Entry], list[tuple[str, Kind, How]]]

CHANGES: dict[str, Lists] = {
    "nothing": ({"a": entry(1)}, {"a": entry(1)}, []),
    "created": ({}, {"a": entry(1)}, [("a", "appeared", "created")]),
    "deleted": ({"a": entry(1)}, {}, [("a", "gone", "deleted")]),
    "longer": ({"a": entry(1, 5, 1)}, {"a": entry(1, 5, 2)}, [("a", "changed", "written")]),
    "same size, later": ({"a": entry(1, 5, 1)}, {"a": entry(1, 6, 1)}, [("a", "changed", "written")]),
    "renamed": ({"a": entry(1)}, {"b": entry(1)}, [("a", "gone", "moved"), ("b", "appeared", "moved")]),
    "renamed and written": ({"a": entry(1)}, {"b": entry(1, 9)}, [("a", "gone", "moved"), ("b", "appeared", "moved")]),
    "renamed over another": (
        {"a": entry(1), "b": entry(2)},
        {"b": entry(1)},
        [("a", "gone", "moved"), ("b", "appeared", "moved")],
    ),
    "replaced from elsewhere": ({"a": entry(1)}, {"a": entry(2)}, [("a", "appeared", "created")]),
    "linked": ({"a": entry(1)}, {"a": entry(1), "b": entry(1)}, [("b", "appeared", "created")]),
    "linked and unlinked": ({"a": entry(1), "b": entry(1)}, {"b": entry(1)}, [("a", "gone", "deleted")]),
    "exchanged": (
        {"a": entry(1), "b": entry(2)},
        {"a": entry(2), "b": entry(1)},
        [("a", "appeared", "moved"), ("b", "appeared", "moved")],
    ),
    "same inode on another device": (
        {"a": Entry(1, 7, 0, 0)},
        {"b": Entry(2, 7, 0, 0)},
        [("a", "gone", "deleted"), ("b", "appeared", "created")],
    ),
}


@pytest.mark.parametrize(("before", "after", "events"), CHANGES.values(), ids=CHANGES.keys())
def test_differences(before: dict[str, Entry], after: dict[str, Entry], events: list[tuple[str, Kind, How]]) -> None:
    assert list(differences(before, after)) == [FolderEvent(*event) for event in events]


class ByHand:
    """Pulses when the test says so."""

    def __init__(self) -> None:
        self.begun = 0
        self.folders: frozenset[str] = frozenset()
        self.pulse: Pulse = lambda _: None

    def follow(self, folders: frozenset[str], pulse: Pulse) -> None:
        self.begun += 1
        self.folders = folders
        self.pulse = pulse

    async def aclose(self) -> None:
        self.folders = frozenset()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "around" / "watched"
    path.mkdir(parents=True)
    return path


async def test_only_the_folders_in_question_are_looked_at(folder: Path) -> None:
    other = folder.with_name("other")
    other.mkdir()
    pulses = ByHand()
    watcher = PortableWatcher(pulses)
    one, two = Recorder(), Recorder()
    watcher.watch(str(folder), one)
    watcher.watch(str(other), two)
    assert pulses.folders == {str(folder), str(other), str(folder.parent)}
    (folder / "a").write_text("")
    (other / "b").write_text("")
    pulses.pulse(frozenset([str(folder / "a")]))
    assert (one.names_and_kinds(), two.names_and_kinds()) == ([("a", "appeared")], [])
    pulses.pulse(frozenset(["/another/spelling"]))
    assert two.names_and_kinds() == [("b", "appeared")]
    (other / "c").write_text("")
    pulses.pulse(None)
    assert ("c", "appeared") in two.names_and_kinds()
    await watcher.aclose()
    assert pulses.folders == frozenset()


async def test_a_missing_folder_is_awaited_where_it_would_appear(folder: Path) -> None:
    pulses = ByHand()
    watcher = PortableWatcher(pulses)
    watch = watcher.watch(str(folder / "x" / "y"), Recorder())
    assert pulses.folders == {str(folder), str(folder.parent)}
    (folder / "x" / "y").mkdir(parents=True)
    pulses.pulse(frozenset([str(folder / "x")]))
    assert pulses.folders == {str(folder / "x" / "y"), str(folder / "x")}
    watch.close()
    assert pulses.folders == frozenset()


async def test_a_folder_that_may_be_another_by_now_is_followed_anew(folder: Path) -> None:
    pulses = ByHand()
    watcher = PortableWatcher(pulses)
    seen = Recorder()
    watcher.watch(str(folder), seen)
    (folder / "a").write_text("")
    pulses.pulse(frozenset([str(folder / "a")]))
    assert pulses.begun == 1
    pulses.pulse(frozenset([str(folder)]))  # named itself, although the list shows no difference
    assert pulses.begun == 2
    folder.rename(folder.with_name("former"))
    folder.mkdir()
    pulses.pulse(None)
    assert pulses.begun == 3
    assert seen.seen[-1] == Rescan()
    await watcher.aclose()


async def test_a_timer_pulses_until_nothing_is_followed() -> None:
    pulses = TimerPulses(0.001)
    pulsed = asyncio.Event()
    pulses.follow(frozenset(["/"]), lambda folders: pulsed.set() if folders is None else None)
    for _ in range(3):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await pulsed.wait()
        pulsed.clear()
    pulses.follow(frozenset(), lambda _: None)
    assert not [handle for handle in asyncio.get_running_loop()._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]  # asyncio shows its timers nowhere else
    await pulses.aclose()


class Log:
    def __init__(self) -> None:
        self.warned = asyncio.Event()

    def info(self, message: str) -> None: ...

    def warning(self, message: str) -> None:
        self.warned.set()

    def error(self, message: str) -> None: ...


async def test_a_folder_that_vanishes_before_the_library_begins(folder: Path) -> None:
    before = descriptors()
    log = Log()
    pulses = WatchfilesPulses(log, step_ms=5)
    pulsed: asyncio.Queue[frozenset[str] | None] = asyncio.Queue()
    async with asyncio.timeout(PATIENCE_SECONDS):
        pulses.follow(frozenset([str(folder / "vanished")]), pulsed.put_nowait)
        await log.warned.wait()
        assert await pulsed.get() is None
        pulses.follow(frozenset([str(folder)]), pulsed.put_nowait)
        numbers = itertools.count()
        changed = None
        while changed is None:  # as long as a pulse says no more than "look around", which it does at the beginning
            (folder / str(next(numbers))).write_text("")
            changed = await pulsed.get()
        assert {Path(path).parent for path in changed} == {folder}
        await pulses.aclose()
        while descriptors() - before:  # the library's own thread ends a moment later
            await asyncio.sleep(0)
