"""Subscribers of a folder watch for tests: one that remembers, and one that keeps a copy by the documented recipe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan

PATIENCE_SECONDS = 10.0  # for what must happen; a loaded machine needs it, a good run never does


class Recorder:
    """Remembers every event; `until` waits for some."""

    def __init__(self) -> None:
        self.seen: list[FolderEvent | Rescan] = []
        self._more = asyncio.Event()

    def __call__(self, event: FolderEvent | Rescan) -> None:
        self.seen.append(event)
        self._more.set()

    async def until(self, wanted: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not wanted():
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"not seen in time; seen: {self.seen}") from None

    async def until_named(self, name: str, kind: str) -> None:
        """Wait for an event of this entry."""
        await self.until(lambda: (name, kind) in self.names_and_kinds())

    async def until_rescan(self) -> None:
        await self.until(lambda: Rescan() in self.seen)

    def names_and_kinds(self) -> list[tuple[str, str]]:
        return [(event.name, event.kind) for event in self.seen if isinstance(event, FolderEvent)]

    def of(self, name: str) -> list[tuple[str, str]]:
        """What was said of one entry, as (kind, how)."""
        return [(event.kind, event.how) for event in self.seen if isinstance(event, FolderEvent) and event.name == name]

    def take(self) -> list[FolderEvent | Rescan]:
        """Return what was seen, and forget it."""
        seen, self.seen = self.seen, []
        return seen


class Copy(Recorder):
    """Knows the folder's files and their contents without ever asking twice: watch, list, follow, list on `Rescan`."""

    def __init__(self, watcher: FolderWatcher, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.files: dict[str, bytes] = {}
        self.watch = watcher.watch(str(folder), self)
        self._list()

    def __call__(self, event: FolderEvent | Rescan) -> None:
        if isinstance(event, Rescan):
            self._list()
        else:
            self._read(event.name)
        super().__call__(event)

    def _list(self) -> None:
        self.files.clear()
        try:
            names = os.listdir(self._folder)
        except OSError:
            names = []
        for name in names:
            self._read(name)

    def _read(self, name: str) -> None:
        try:
            self.files[name] = (self._folder / name).read_bytes()
        except OSError:
            self.files.pop(name, None)


def contents(folder: Path) -> dict[str, bytes]:
    """What a perfect copy would hold."""
    if not folder.is_dir():
        return {}
    return {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
