"""What only inotify tells, and what only inotify can lose. The suite for every watcher is `test_folder_watch`."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.leaks import descriptors
from tests.support.watching import Copy, Recorder

from switchboard.common import inotify
from switchboard.common.folder_survey import Survey, survey
from switchboard.common.folder_watch import FolderEvent, Rescan
from switchboard.common.inotify import InotifyWatcher

MAX_QUEUED = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


class Log:
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def info(self, message: str) -> None: ...

    def warning(self, message: str) -> None:
        self.warnings.append(message)

    def error(self, message: str) -> None: ...


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
async def watcher(log: Log) -> AsyncIterator[InotifyWatcher]:
    made = InotifyWatcher(log)
    yield made
    await made.aclose()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "around" / "watched"
    path.mkdir(parents=True)
    return path


def kernel_watches() -> int:
    """How many watches the kernel keeps for this process."""
    total = 0
    for number, target in descriptors():
        if "inotify" in target:
            total += len(re.findall("^inotify ", Path(f"/proc/self/fdinfo/{number}").read_text(), re.MULTILINE))
    return total


async def test_the_life_of_a_file_written_in_place(watcher: InotifyWatcher, folder: Path) -> None:
    seen = Recorder()
    watcher.watch(str(folder), seen)
    with (folder / "a").open("w") as file:
        file.write("{}")
    (folder / "a").unlink()
    await seen.until_named("a", "gone")
    assert seen.of("a") == [
        ("appeared", "created"),
        ("changed", "written"),
        ("changed", "closed"),
        ("gone", "deleted"),
    ]


async def test_a_truncating_rewrite(watcher: InotifyWatcher, folder: Path) -> None:
    (folder / "a").write_text("old")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    (folder / "a").write_text("new")
    await seen.until(lambda: ("changed", "closed") in seen.of("a"))
    assert set(seen.of("a")) == {("changed", "written"), ("changed", "closed")}


async def test_moves_from_and_to_elsewhere(watcher: InotifyWatcher, folder: Path) -> None:
    outside = folder.with_name("outside")
    outside.write_text("{}")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    outside.rename(folder / "a")
    (folder / "a").rename(outside)
    await seen.until_named("a", "gone")
    assert seen.of("a") == [("appeared", "moved"), ("gone", "moved")]


async def test_reading_is_not_told(watcher: InotifyWatcher, folder: Path) -> None:
    (folder / "a").write_text("{}")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    (folder / "a").read_text()
    os.listdir(folder)
    (folder / "b").mkdir()
    await seen.until_named("b", "appeared")
    assert seen.seen == [FolderEvent("b", "appeared", "created")]


async def test_an_unlinked_file_that_is_still_written_is_not_told(watcher: InotifyWatcher, folder: Path) -> None:
    with (folder / "a").open("w") as file:
        seen = Recorder()
        watcher.watch(str(folder), seen)
        (folder / "a").unlink()
        file.write("late")
    (folder / "b").mkdir()
    await seen.until_named("b", "appeared")
    assert seen.of("a") == [("gone", "deleted")]


async def test_an_overflowing_queue_is_a_rescan_for_everybody(watcher: InotifyWatcher, folder: Path, log: Log) -> None:
    quiet = folder.with_name("quiet")
    quiet.mkdir()
    (folder / "there").write_text("")
    copy, other = Copy(watcher, folder), Recorder()
    watcher.watch(str(quiet), other)
    for _ in range(MAX_QUEUED // 4 + 1):
        (folder / "there").rename(folder / "back")
        (folder / "back").rename(folder / "there")
    (folder / "lost").write_text("unseen")
    await other.until_rescan()
    await copy.until(lambda: copy.files == {"there": b"", "lost": b"unseen"})
    assert "lost" not in {name for name, _ in copy.names_and_kinds()}
    assert len(log.warnings) == 1
    (quiet / "a").write_text("")
    await other.until_named("a", "appeared")
    assert other.seen[0] == Rescan()


async def test_a_replacement_that_was_lost_in_an_overflow_is_found(watcher: InotifyWatcher, folder: Path) -> None:
    (folder / "there").write_text("")
    copy = Copy(watcher, folder)
    for _ in range(MAX_QUEUED // 4 + 1):
        (folder / "there").rename(folder / "back")
        (folder / "back").rename(folder / "there")
    folder.rename(folder.with_name("former"))
    folder.mkdir()
    await copy.until(lambda: copy.files == {})
    (folder / "new").write_text("")
    await copy.until(lambda: "new" in copy.files)


async def test_an_ancestor_that_is_moved(watcher: InotifyWatcher, folder: Path) -> None:
    deep = folder / "b" / "c" / "d"
    deep.mkdir(parents=True)
    (deep / "a").write_text("")
    copy = Copy(watcher, deep)
    folder.rename(folder.with_name("away"))
    await copy.until(lambda: copy.files == {})
    folder.with_name("away").rename(folder)
    await copy.until(lambda: "a" in copy.files)


async def test_a_folder_that_is_away_for_a_moment_only(watcher: InotifyWatcher, folder: Path) -> None:
    seen = Recorder()
    watcher.watch(str(folder), seen)
    folder.rename(folder.with_name("away"))
    folder.with_name("away").rename(folder)
    (folder / "a").write_text("")
    await seen.until_named("a", "appeared")
    assert Rescan() not in seen.seen


async def test_a_folder_replaced_within_one_turn_is_told_once(watcher: InotifyWatcher, folder: Path) -> None:
    seen = Recorder()
    watcher.watch(str(folder), seen)
    folder.rmdir()
    folder.mkdir()
    (folder / "a").write_text("")
    await seen.until_rescan()
    (folder / "b").write_text("")
    await seen.until_named("b", "appeared")
    assert seen.seen.count(Rescan()) == 1


async def test_many_watches_take_one_descriptor_and_give_everything_back(watcher: InotifyWatcher, folder: Path) -> None:
    watches = []
    for number in range(100):
        (folder / str(number)).mkdir()
        watches.append(watcher.watch(str(folder / str(number)), Recorder()))
    watches.append(watcher.watch(str(folder / "missing" / "deeper"), Recorder()))
    assert sum("inotify" in target for _, target in descriptors()) == 1
    assert kernel_watches() == 100 + len(survey(str(folder)).folders)
    for watch in watches:
        watch.close()
    assert kernel_watches() == 0


async def test_following_a_folder_that_comes_and_goes_leaves_nothing_behind(
    watcher: InotifyWatcher, folder: Path
) -> None:
    seen = Recorder()
    watch = watcher.watch(str(folder / "x"), seen)
    before = kernel_watches()
    for _ in range(20):
        (folder / "x").mkdir()
        await seen.until_rescan()
        seen.take()
        (folder / "x").rmdir()
        await seen.until_rescan()
        seen.take()
    assert kernel_watches() == before
    watch.close()
    assert kernel_watches() == 0


async def test_a_path_that_changes_while_it_is_being_followed(
    watcher: InotifyWatcher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def look_and_replace(path: str) -> Survey:
        nonlocal looks
        looks += 1
        seen = survey(path)
        if looks <= 4:  # the two looks of the first two rounds
            folder.rename(folder.with_name(f"former{looks}"))
            folder.mkdir()
        return seen

    monkeypatch.setattr(inotify, "survey", look_and_replace)
    seen = Recorder()
    watcher.watch(str(folder), seen)
    assert looks == 6
    (folder.with_name("former1") / "unseen").write_text("")
    (folder / "a").write_text("")
    await seen.until_named("a", "appeared")
    assert {name for name, _ in seen.names_and_kinds()} == {"a"}
    assert kernel_watches() == len(survey(str(folder)).folders)


async def test_a_path_that_never_stands_still_is_looked_at_again_later(
    watcher: InotifyWatcher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restless = True
    looks = 0

    def look(path: str) -> Survey:
        nonlocal looks
        looks += 1
        seen = survey(path)
        return Survey(seen.target, seen.folders, seen.names | {("/", str(looks))}) if restless else seen

    monkeypatch.setattr(inotify, "survey", look)
    seen = Recorder()
    watcher.watch(str(folder), seen)
    first = looks
    restless = False
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert looks == first + 2
    (folder / "a").write_text("")
    await seen.until_named("a", "appeared")


async def test_a_folder_that_cannot_be_watched_any_longer_is_reported(
    watcher: InotifyWatcher, folder: Path, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy(watcher, folder)
    folder.rename(folder.with_name("former"))
    (folder.with_name("former") / "a").write_text("")
    # A name that is too long to be asked for stands for every refusal of the kernel that is not "missing".
    monkeypatch.setattr(inotify, "survey", lambda path: Survey("/" + "x" * 300, (), frozenset()))
    await copy.until_rescan()
    assert len(log.warnings) == 1
    assert str(folder) in log.warnings[0]


async def test_the_descriptor_is_closed_with_the_watcher(folder: Path) -> None:
    before = descriptors()
    watcher = InotifyWatcher()
    watcher.watch(str(folder), Recorder())
    assert any("inotify" in target for _, target in descriptors() - before)
    await watcher.aclose()
    assert descriptors() == before
