"""What is seen inside a sandbox, and under which names, as its mounts are in the end (pure)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from switchboard.sandbox.mounts import Mount, View, is_below, moved, ordered, view

COVERING = ("ro", "rw", "tmpfs", "dev", "proc")
"""The kinds that lie over what was there. The others are made in it: on a writable mount they cover nothing."""


class Inside:
    """The mounts of a plan that decide what is seen, in the order they are made."""

    def __init__(self, mounts: Iterable[Mount], *, asked_plainly: bool = False) -> None:
        """`asked_plainly`: answer by going through all mounts, as a proof does, and not by their destinations."""
        self.mounts = ordered(mount for mount in mounts if mount.access in COVERING)
        self._last = {mount.destination: mount for mount in self.mounts}
        self._asked_plainly = asked_plainly

    @property
    def shared(self) -> list[tuple[Mount, str]]:
        """The mounts that show a part of the host, each with that part's path."""
        return [(mount, mount.source) for mount in self.mounts if mount.access in ("ro", "rw") and mount.source]

    def at(self, path: str) -> View:
        """Return what a normal absolute path without links is."""
        if self._asked_plainly:
            return view(self.mounts, path)
        above = next((upper for upper in (*uppers(path), "/") if upper in self._last), None)
        return view([self._last[above]], path) if above is not None else View("none")

    def under(self, destination: str) -> View:
        """Return what a mount at a destination is mounted on: what would be there without it."""
        around = self.at(posixpath.dirname(destination))
        if around.host is None:
            return around
        return View(around.access, posixpath.join(around.host, posixpath.basename(destination)))

    def is_mount(self, path: str) -> bool:
        """Tell whether a mount sits on a path, so that nobody inside can rename or remove it."""
        return path in self._last

    def sightings(self, host: str) -> list[tuple[str, str]]:
        """Return each path inside that shows a path of the host, and whether it is `ro` or `rw` there."""
        seen: dict[str, str] = {}
        for mount, source in self.shared:
            if is_below(host, source):
                alias = moved(host, source, mount.destination)
                there = self.at(alias)
                if there.host == host:
                    seen[alias] = there.access
        return list(seen.items())


def uppers(path: str) -> list[str]:
    """Return a normal absolute path and the directories above it, the root excluded."""
    found = []
    while path != "/":
        found.append(path)
        path = posixpath.dirname(path)
    return found
