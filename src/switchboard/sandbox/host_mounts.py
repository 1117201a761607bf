"""The host's own mounts: under which other paths the same directory can be reached (pure).

A directory that is mounted a second time on the host can be written through both paths. The kernel's table of mounts
tells which part of which file system each mount shows, so the other paths can be computed. Not seen: one file system
under two device numbers, such as the layers of an overlay beside the overlay itself, or a share of this machine that
is mounted back over a network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from switchboard.sandbox.mounts import is_below, moved

ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class HostMount:
    """A line of the table: `root` of the file system `device` is shown at `point`, on top of the mount `parent`.

    `kind`: of file system; empty where the line does not go that far.
    """

    number: int
    parent: int
    device: str
    root: str
    point: str
    read_only: bool = False
    kind: str = ""


class HostMounts:
    """A table of mounts. `all` of them, in its order."""

    def __init__(self, mountinfo: str) -> None:
        """Read the table as the kernel writes it. Raises `ValueError` when it is not one."""
        self.all = [_read(line) for line in mountinfo.splitlines()]
        self._on = {(mount.parent, mount.point): mount for mount in self.all if mount.parent != mount.number}
        numbers = {mount.number for mount in self.all}
        self._root = next(
            (
                mount
                for mount in self.all
                if mount.point == "/" and (mount.parent not in numbers or mount.parent == mount.number)
            ),
            None,
        )

    def same(self, path: str) -> list[str]:
        """Return the other paths of what lies at a real path, also those that a later mount may have covered."""
        mount = self.holder(path)
        if mount is None:
            return []
        inner = moved(path, mount.point, mount.root)
        return [
            moved(inner, other.root, other.point)
            for other in self.all
            if other is not mount and other.device == mount.device and is_below(inner, other.root)
        ]

    def parts(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield what of the inside of a directory is mounted elsewhere: its path in the directory, the other path."""
        holder = self.holder(path)
        if holder is None:
            return
        inner = moved(path, holder.point, holder.root)
        for other in self.all:
            if other.device == holder.device and other.root != inner and is_below(other.root, inner):
                yield moved(other.root, inner, path), other.point
        for mount in self.all:
            if mount.point == path or not is_below(mount.point, path):
                continue
            for other in self.all:
                if other is mount or other.device != mount.device:
                    continue
                if is_below(mount.root, other.root):
                    yield mount.point, moved(mount.root, other.root, other.point)
                elif is_below(other.root, mount.root):
                    yield moved(other.root, mount.root, mount.point), other.point

    def holder(self, path: str) -> HostMount | None:
        """Return the mount that a real path lies in: from the root down, onto whatever is mounted on the way."""
        mount = self._root
        if mount is None:
            return None
        at = ""
        for name in ["/", *(part for part in path.split("/") if part)]:
            at = name if not at else f"{at.rstrip('/')}/{name}"
            while (mount.number, at) in self._on:
                mount = self._on[mount.number, at]
        return mount


def _read(line: str) -> HostMount:
    fields = line.split(" ")
    if len(fields) < 5:
        raise ValueError(f"no line of a table of mounts: {line!r}")
    root, point = (ESCAPE.sub(lambda found: chr(int(found.group(1), 8)), field) for field in fields[3:5])
    read_only = "ro" in fields[5].split(",") if len(fields) > 5 else False
    kind = fields[fields.index("-") + 1] if "-" in fields[:-1] else ""
    return HostMount(int(fields[0]), int(fields[1]), fields[2], root, point, read_only, kind)
