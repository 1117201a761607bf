"""A watch that wants to hear of some names only, on both watchers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan
from switchboard.common.inotify import InotifyWatcher
from switchboard.common.portable_watch import PortableWatcher, TimerPulses


@pytest.fixture(params=["inotify", "portable"])
async def watcher(request: pytest.FixtureRequest) -> AsyncIterator[FolderWatcher]:
    found: FolderWatcher = InotifyWatcher() if request.param == "inotify" else PortableWatcher(TimerPulses(0.01))
    yield found
    await found.aclose()


class Told:
    """The names a callback was told of, and a way to wait for one of them."""

    def __init__(self, last: str) -> None:
        self.names: list[str] = []
        self.last = last
        self.done = asyncio.Event()

    def __call__(self, event: FolderEvent | Rescan) -> None:
        if isinstance(event, FolderEvent):
            self.names.append(event.name)
            if event.name == self.last:
                self.done.set()


async def test_only_names_with_the_suffix_are_told_of(watcher: FolderWatcher, tmp_path: Path) -> None:
    some, every = Told("z.json"), Told("z.json")
    watcher.watch(str(tmp_path), some, suffix=".json")
    watcher.watch(str(tmp_path), every)
    (tmp_path / "a.tmp").write_text("")
    os.rename(tmp_path / "a.tmp", tmp_path / "b.tmp")
    (tmp_path / "z.json").write_text("")
    for told in (some, every):
        await asyncio.wait_for(told.done.wait(), 10)
    assert set(some.names) == {"z.json"}
    assert "b.tmp" in every.names


async def test_a_folder_that_is_replaced_is_still_noticed(watcher: FolderWatcher, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "folder"
    folder.mkdir(parents=True)
    rescanned = asyncio.Event()
    watcher.watch(str(folder), lambda event: rescanned.set() if isinstance(event, Rescan) else None, suffix=".json")
    os.rename(tmp_path / "deep", tmp_path / "gone")
    folder.mkdir(parents=True)
    await asyncio.wait_for(rescanned.wait(), 10)
    told = Told("z.json")
    watcher.watch(str(folder), told, suffix=".json")
    (folder / "z.json").write_text("")
    await asyncio.wait_for(told.done.wait(), 10)
