"""What on the host is kept from a sandbox that can write around it: read-only mounts, and pins on the way (pure).

The sandbox must not change what programs outside of it obey. Three ways lead around a read-only mount, and each is
closed: a second path to the same directory (every one of them is covered), renaming a directory on the way and putting
another in its place (each is mounted on itself, and then the kernel refuses), and a symbolic link that the sandbox
could replace (the plan is refused: a link cannot be pinned).
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from switchboard.sandbox.mounts import Mount, Refusal, is_below
from switchboard.sandbox.path_walk import Unresolved, Walk, walk
from switchboard.sandbox.table import Table

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import PlanFiles
    from switchboard.sandbox.policy import Findings

SYSTEM = ("/usr", "/etc", "/dev", "/proc", "/sys", "/nix/store")
"""Trees that are not searched for links: they are the machine's, and large."""


class Protection:
    """Adds to a table what keeps things as they are. `home`: the real path of the home directory."""

    def __init__(self, table: Table, files: PlanFiles, findings: Findings, home: str) -> None:
        self._table = table
        self._files = files
        self._findings = findings
        self.home = home
        self._kept: dict[str, None] = {}
        self._followed: set[str] = set()
        self._open: set[str] = set()

    def check_chain(self, path: str, what: str = "") -> Walk:
        """Follow a path. Raises `Refusal` when a link on it could be replaced from inside. `what` names it."""
        try:
            way = walk(path, self._files)
        except Unresolved as why:
            raise Refusal(f"{what or path}: {why}") from why
        for link in way.links:
            if self._table.writable(posixpath.dirname(link)):
                on = f"{what}: " if what else ""
                raise Refusal(
                    f"{on}{link} is a symbolic link in a directory the sandbox can write; "
                    "replace it with what it links to, or name that directory itself"
                )
        return way

    def keep(self, host: str, why: str) -> list[str]:
        """Make a real path read-only wherever it could be written, and return where that was."""
        spots = self._table.writable(host)
        for spot in spots:
            self._table.add(Mount("ro", spot, host, why=why))
            self._kept[spot] = None
        return spots

    def leave_open(self, folder: str) -> None:
        """Take a directory inside a kept one out of the search for links: it is the sandbox's to write."""
        self._open.add(folder)

    def hold(self, host: str) -> None:
        """Keep a writable directory from being renamed, wherever it can be."""
        for spot in self._table.writable(host):
            if not self._table.has(spot):
                self._table.pin(spot, host)
            self._kept[spot] = None

    def guard(self, spot: str) -> None:
        """Have the way to a read-only mount of the plan pinned too, should it lie in something writable."""
        self._kept[spot] = None

    def keep_link(self, link: str) -> None:
        """Keep what a link on the host leads to, and in a directory what the links in it lead to, and so on."""
        waiting = [link]
        while waiting:
            at = waiting.pop()
            way = self.check_chain(at)
            if way.real in self._followed:
                continue
            self._followed.add(way.real)
            if way.found is None:
                self._refuse_invention(at, way)
                continue
            if self._table.holds(way.real):
                self._findings.warn(f"{at} links to {way.real}, where the session works: it can change what is there")
                continue
            self.keep(way.real, why=f"linked from {at}")
            if way.found.kind == "directory" and self._is_searched(way.real):
                waiting += reversed(self._files.links(way.real, self._open))

    def keep_links_below(self, folder: str) -> None:
        """Do so for every link at any depth in a read-only directory (a real path)."""
        for link in self._files.links(folder, self._open):
            self.keep_link(link)

    def _refuse_invention(self, link: str, way: Walk) -> None:
        if self._table.writable(way.existing):
            raise Refusal(f"{link} links to {way.real}, which does not exist and which the sandbox could create")

    def _is_searched(self, folder: str) -> bool:
        return not is_below(self.home, folder) and not any(is_below(folder, system) for system in SYSTEM)

    def pin_ways(self) -> None:
        """Mount on itself each writable directory above what is kept. Called once, after everything else."""
        for spot in list(self._kept):
            at = posixpath.dirname(spot)
            while at != "/":
                seen = self._table.view(at)
                if seen.access == "rw" and seen.host is not None and not self._table.has(at):
                    self._table.pin(at, seen.host)
                at = posixpath.dirname(at)
