"""Whether the mounts of a sandbox came out as they were planned (pure).

Bubblewrap resolves paths while it mounts. Whoever can exchange a directory for a link at that moment, another session
of the same project, decides where it ends up. So before anything runs inside, the kernel is asked what was mounted.

Its table names for each mount the file system, the part of it that is shown, and where. A mount shows the same part
for as long as it exists, and nobody makes further ones in a sandbox: what is found once stays true. The part is named
by its path as it is now. Who can rename things in a project can change such a name, but only within the project: what
lies outside of it is called what it is called. So what is none of the planned parts is recognised, and so is a planned
mount that is missing because it landed elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from switchboard.sandbox.host_mounts import HostMount, HostMounts
from switchboard.sandbox.mounts import Mount, is_below, moved
from switchboard.sandbox.path_walk import quoted

NODES = ("null", "zero", "full", "random", "urandom", "tty")
"""The devices that bubblewrap takes from the host."""

_Place = tuple[str, str, str]
"""A file system, the part of it that is shown, and where."""


class Expected:
    """What a plan's mounts have to be, on a host with this table of mounts. `mounts`: their sources are real paths."""

    def __init__(self, mounts: Sequence[Mount], host: HostMounts) -> None:
        self._devices = {mount.device for mount in host.all}
        self._shared: dict[_Place, set[bool]] = {}
        """Whether read-only, for each place; both where two of the plan's mounts are at one place."""
        self._along: dict[_Place, set[bool]] = {}
        """What is mounted on the host in a directory that is shown comes along; it need not."""
        self._empty: set[str] = {"/"}
        self._kernel: dict[str, str] = {}
        """Kinds of file system that the kernel fills, by directory."""
        self._console: str | None = None
        for mount in mounts:
            if mount.access in ("ro", "rw"):
                assert mount.source is not None
                self._add_shared(mount, mount.source, host)
            elif mount.access == "tmpfs":
                self._empty.add(mount.destination)
            elif mount.access == "dev":
                self._add_devices(mount.destination, host)
            elif mount.access == "proc":
                self._kernel[mount.destination] = "proc"

    def _add_shared(self, mount: Mount, source: str, host: HostMounts) -> None:
        is_closed = mount.access == "ro"
        holder = host.holder(source)
        if holder is not None:
            place = (holder.device, moved(source, holder.point, holder.root), mount.destination)
            self._shared.setdefault(place, set()).add(is_closed)
        for inner in host.all:
            if inner.point != source and is_below(inner.point, source):
                place = (inner.device, inner.root, moved(inner.point, source, mount.destination))
                self._along.setdefault(place, set()).add(is_closed)

    def _add_devices(self, folder: str, host: HostMounts) -> None:
        self._empty.add(folder)
        self._kernel[f"{folder}/pts"] = "devpts"
        self._console = f"{folder}/console"
        for name in NODES:
            holder = host.holder(f"/dev/{name}")
            if holder is not None:
                place = (holder.device, moved(f"/dev/{name}", holder.point, holder.root), f"{folder}/{name}")
                self._along.setdefault(place, set()).add(False)

    def trouble(self, table: HostMounts, top: str) -> str | None:
        """Say what is wrong with the mounts at and below the directory `top` of another process's table."""
        seen = [(moved(mount.point, top, "/"), mount) for mount in table.all if is_below(mount.point, top)]
        for point, mount in seen:
            if not self._is_planned(point, mount):
                return f"{quoted(point)} shows {quoted(mount.root)}{'' if mount.read_only else ', writable'}"
        missing = self._missing(seen)
        return f"nothing is mounted at {quoted(missing)}" if missing is not None else None

    def _is_planned(self, point: str, mount: HostMount) -> bool:
        place = (mount.device, mount.root, point)
        closed = self._shared.get(place, set()) | self._along.get(place, set())
        if closed:
            return mount.read_only or False in closed
        if point == self._console:
            return mount.kind == "devpts"
        if mount.device in self._devices:
            return False
        if point in self._empty:
            return mount.kind == "tmpfs"
        # Bubblewrap covers some of what it shows of the kernel with itself.
        return any(mount.kind == kind and is_below(point, folder) for folder, kind in self._kernel.items())

    def _missing(self, seen: Iterable[tuple[str, HostMount]]) -> str | None:
        there: dict[_Place, set[bool]] = {}
        points: dict[str, None] = {}
        for point, mount in seen:
            there.setdefault((mount.device, mount.root, point), set()).add(mount.read_only)
            points[point] = None
        for place, closed in self._shared.items():
            if place not in there or (True in closed and True not in there[place]):
                return place[2]
        return next((point for point in self._empty if point not in points), None)
