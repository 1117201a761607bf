"""The mounts of a plan while it is being made, answering where a path of the host can be seen inside (pure).

Because mounts are made shallow first, the deepest one at or above a path decides what it is: a look-up per directory
level instead of a pass over the whole plan.
"""

from __future__ import annotations

import posixpath

from switchboard.sandbox.mounts import Mount, View, is_below, moved


class Table:
    """A growing list of mounts. Of two with one destination the later one counts."""

    def __init__(self) -> None:
        self.mounts: list[Mount] = []
        self._at: dict[str, Mount] = {}
        self._writable: list[tuple[str, str]] = []

    def add(self, mount: Mount) -> None:
        """Add a mount; its source is a real path."""
        self.mounts.append(mount)
        self._at[mount.destination] = mount
        if mount.access == "rw" and mount.source is not None:
            self._writable.append((mount.destination, mount.source))

    def pin(self, destination: str, source: str) -> None:
        """Mount a directory on itself, where it is writable already: what can be seen stays the same."""
        mount = Mount("rw", destination, source, why="pin")
        self.mounts.append(mount)
        self._at[destination] = mount

    def has(self, destination: str) -> bool:
        """Tell whether something is mounted right there."""
        return destination in self._at

    def view(self, path: str) -> View:
        """Return what a path is inside, as `mounts.view` says of the finished plan."""
        at = path
        while True:
            mount = self._at.get(at)
            if mount is not None:
                if mount.access in ("ro", "rw") and mount.source is not None:
                    return View("ro" if mount.access == "ro" else "rw", moved(path, at, mount.source))
                return View("none" if mount.access == "symlink" else "tmpfs")
            if at == "/":
                return View("none")
            at = posixpath.dirname(at)

    def writable(self, host: str) -> list[str]:
        """Return every path inside at which a real path of the host can be written."""
        found: dict[str, None] = {}
        for destination, source in self._writable:
            if is_below(host, source):
                alias = moved(host, source, destination)
                if self.view(alias) == View("rw", host):
                    found[alias] = None
        return list(found)

    def holds(self, host: str) -> bool:
        """Tell whether a directory of the host is, or contains, one that is mounted writable."""
        return any(is_below(source, host) for _, source in self._writable)
