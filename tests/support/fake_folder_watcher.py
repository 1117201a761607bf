"""A folder watcher that tells what the test says, when the test says it."""

from __future__ import annotations

import errno

from switchboard.common.folder_watch import Callback, FolderEvent, How, Kind, Rescan


class FakeFolderWatcher:
    """`tell` and `rescan` reach whoever watches that path at this moment. `refused` paths cannot be watched."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self._watches: list[_FakeWatch] = []

    @property
    def watched(self) -> list[str]:
        """Every path watched now, sorted; a path watched twice is there twice."""
        return sorted(watch.path for watch in self._watches)

    def watch(self, path: str, callback: Callback, *, suffix: str = "") -> _FakeWatch:
        if path in self.refused:
            raise OSError(errno.ENOSPC, "no watches left", path)
        watch = _FakeWatch(self, path, callback, suffix)
        self._watches.append(watch)
        return watch

    async def aclose(self) -> None:
        self._watches.clear()

    def tell(self, path: str, name: str, kind: Kind = "changed", how: How = "written") -> None:
        self._send(path, FolderEvent(name, kind, how))

    def rescan(self, path: str) -> None:
        self._send(path, Rescan())

    def forget(self, watch: _FakeWatch) -> None:
        if watch in self._watches:
            self._watches.remove(watch)

    def _send(self, path: str, event: FolderEvent | Rescan) -> None:
        for watch in list(self._watches):
            if isinstance(event, FolderEvent) and not event.name.endswith(watch.suffix):
                continue
            if watch.path == path and watch in self._watches:
                watch.callback(event)


class _FakeWatch:
    def __init__(self, owner: FakeFolderWatcher, path: str, callback: Callback, suffix: str) -> None:
        self.path = path
        self.suffix = suffix
        self.callback = callback
        self._owner = owner

    def close(self) -> None:
        self._owner.forget(self)
