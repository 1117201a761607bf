"""Where the control directories of a host lie, under all their names, and by which way they are reached (pure).

Each control path is judged as it is written and as the host resolves it. What counts is more than its end:

- a **region** is a directory whose whole content is under protection;
- the **ways** are the directories passed on the way to it: rename one, and the path leads elsewhere;
- the **links** are the symbolic links followed on the way.

Each of them may have several paths on the host, because a directory can be mounted twice or, on a file system that
ignores case, be spelt in two ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from switchboard.common.paths import normalise_directory
from switchboard.sandbox.host_mounts import HostMounts
from switchboard.sandbox.mounts import Refusal, is_below, moved
from switchboard.sandbox.path_walk import Unresolved, Walk, look, quoted, unrepresentable, walk

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import HostFiles


@dataclass(frozen=True, slots=True)
class ControlPaths:
    """The directories of a host that a sandbox must not change, all absolute.

    `triggers`: read-only inside wherever it would be visible, with `processed` in it and whatever that leads to.
    `hidden`: not visible inside at all (the data directory and the folder of the sockets: a socket takes connections
    through a read-only mount too). `own`: the folder inside a hidden one that this launch is given, if any; a mount of
    exactly that folder stays.
    """

    triggers: str
    hidden: tuple[str, ...]
    own: str | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A protected directory at one of its paths. `name`: the control path it stands for, as it was given.

    `existing`: the path, or the last directory on the way to it that exists.
    """

    path: str
    access: Literal["ro", "tmpfs"]
    name: str
    existing: str

    @property
    def exists(self) -> bool:
        return self.existing == self.path


@dataclass(slots=True)
class Survey:
    """All that has to hold. Keys of `ways` and `links` are paths on the host, values the control path's name."""

    regions: list[Region] = field(default_factory=list)
    ways: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def region_at(self, path: str) -> Region | None:
        """Return the innermost region that holds `path`; of two at one place, the one that is hidden."""
        holding = [region for region in self.regions if region.exists and is_below(path, region.path)]
        return max(holding, key=lambda region: (len(region.path), region.access == "tmpfs"), default=None)

    def touched_by(self, source: str) -> bool:
        """Tell whether a mount of `source` shows a part of a region or of the way to one."""
        paths = (*(region.path for region in self.regions), *self.ways, *self.links)
        return self.region_at(source) is not None or any(is_below(path, source) for path in paths)


def refused(name: str, why: str) -> Refusal:
    """Return the refusal for a control path."""
    return Refusal(f"cannot protect the control directory {quoted(name)}: {why}")


def forms(path: str) -> list[str]:
    """Return a path as written and, where that differs, with `..` and the like taken out of its text."""
    return list(dict.fromkeys((path, normalise_directory(path))))


def survey(control: ControlPaths, files: HostFiles, sources: Iterable[str] = ()) -> Survey:
    """Follow the control paths. `sources`: real paths of mounts, which may be further names of what lies on the way.

    Raises `Refusal` for a control path that cannot be followed to a directory or to a place where none is yet.
    """
    found = Survey()
    for name in control.hidden:
        for form in forms(name):
            # Nothing is made unseen in a directory that is hidden itself.
            _add(found, form, name, "tmpfs", files, {"tmpfs"})
    for form in forms(control.triggers):
        # The host makes this one before it starts a session: where it is missing, something is wrong.
        _add(found, form, control.triggers, "ro", files, set())
    for form in forms(control.triggers):
        _add(found, f"{form}/processed", f"{control.triggers}/processed", "ro", files, {"ro", "tmpfs"})
    _add_other_names(found, control.triggers, sources, files)
    return found


def _add(
    found: Survey,
    path: str,
    name: str,
    access: Literal["ro", "tmpfs"],
    files: HostFiles,
    may_be_missing_in: set[str],
) -> None:
    if not path.startswith("/"):
        raise refused(name, "its path is not absolute")
    way = follow(path, name, files)
    if way.real == "/":
        raise refused(name, "it is the root of the file system")
    if way.found is not None and way.found.kind != "directory":
        raise refused(name, "it is not a directory")
    found.ways.update((directory, name) for directory in way.directories if directory not in found.ways)
    found.links.update((link, name) for link in way.links if link not in found.links)
    region = Region(way.real, access, name, way.existing)
    around = found.region_at(way.existing)
    if region not in found.regions and (region.exists or around is None or around.access not in may_be_missing_in):
        found.regions.append(region)


def follow(path: str, name: str, files: HostFiles) -> Walk:
    """Walk a path; `name` is the control path in whose name a failure is refused."""
    try:
        return walk(path, files)
    except Unresolved as why:
        raise refused(name, str(why)) from why


class Names:
    """Finds the other paths of what lies at a path: `pairs` are known doubles, each the same directory twice."""

    def __init__(self, table: HostMounts, pairs: list[tuple[str, str]], files: HostFiles) -> None:
        self._table = table
        self._pairs = pairs
        self._files = files

    def of(self, path: str) -> Iterator[str]:
        """Yield them, each proven to be the same thing now. Raises `Unresolved` when one cannot be looked at."""
        doubles = [moved(path, one, other) for one, other in self._pairs if is_below(path, one)]
        for other in dict.fromkeys([*self._table.same(path), *doubles]):
            if other != path and self._same(path, other):
                yield other

    def of_parts(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield what of a directory's inside is shown by a path outside of it: its path inside, the other path."""
        for inside, other in self._table.parts(path):
            if not is_below(other, path) and self._same(inside, other):
                yield inside, other

    def _same(self, one: str, other: str) -> bool:
        first, second = look(self._files, one), look(self._files, other)
        return first is not None and second is not None and first.identity == second.identity


def _add_other_names(found: Survey, name: str, sources: Iterable[str], files: HostFiles) -> None:
    try:
        table = HostMounts(files.mountinfo())
    except (OSError, ValueError) as error:
        raise refused(name, "the host's table of mounts cannot be read") from error
    try:
        names = Names(table, _doubles(found, sources, files), files)
        regions = [
            Region(place, region.access, region.name, existing)
            for region in found.regions
            for place, existing in _elsewhere(found, region, names)
        ]
        found.regions += regions
        for paths in (found.ways, found.links):
            for path, owner in list(paths.items()):
                paths.update((other, owner) for other in names.of(path) if other not in paths)
    except Unresolved as why:
        raise refused(name, str(why)) from why


def _elsewhere(found: Survey, region: Region, names: Names) -> Iterator[tuple[str, str]]:
    """Yield the other paths of a region and of its parts, each with the part of it that exists."""
    missing = region.path[len(region.existing.rstrip("/")) :]
    for other in names.of(region.existing):
        yield f"{other.rstrip('/')}{missing}" if missing else other, other
    for inside, other in names.of_parts(region.path) if region.exists else ():
        # What lies in an inner region is that region's to name.
        if found.region_at(inside) in (None, found.region_at(region.path)):
            yield other, other


def _doubles(found: Survey, sources: Iterable[str], files: HostFiles) -> list[tuple[str, str]]:
    """Sources that are a directory on the way under another path."""
    by_identity = {}
    for path in (*found.ways, *(region.path for region in found.regions)):
        there = look(files, path)
        if there is not None:
            by_identity[there.identity] = path
    pairs = []
    for source in sources:
        there = look(files, source)
        known = by_identity.get(there.identity) if there is not None else None
        if known is not None and known != source:
            pairs.append((known, source))
    return pairs


def names_of(control: ControlPaths) -> Iterator[tuple[str, str]]:
    """Yield each control path's name with each of its written forms."""
    for name in (control.triggers, f"{control.triggers}/processed", *control.hidden):
        for form in forms(name):
            if not unrepresentable(form):
                yield name, form
