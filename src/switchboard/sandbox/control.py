"""The protection of a host's control directories in a sandbox's mount plan (pure).

A sandbox must not write, rename, replace or publish what the host acts on: its triggers directory, with the results
and markers in `processed`. And it must not see the data directory or the sockets at all.

Given all other mounts, three kinds are added:

1. **Covers**: wherever a mount shows a control directory, it is mounted once more on that spot, read-only, or an empty
   tmpfs is put over what must not be seen.
2. **Pins**: a directory on the way to a control directory that the sandbox could rename is mounted on itself. The
   kernel refuses to rename or remove the spot another mount sits on.
3. Nothing for a symbolic link: none can be pinned, so one that the sandbox could replace refuses the plan.

Mounts are made shallow first. A cover lies at or below the mount it restricts and is the last of its depth, so no
mount of the plan lies on top of it but a deeper one; that one is covered too if it shows a part of the same directory,
and refuses the plan otherwise. In the end the finished plan is asked, path by path, whether all this holds.

Not a matter of mounts, and so not prevented here: a hard link, made outside the sandbox, between a file in a control
directory and one in a writable directory; a service that mounts host paths for whoever asks (Podman's socket).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from switchboard.common.paths import normalise_directory
from switchboard.sandbox.control_paths import (
    ControlPaths,
    Region,
    follow,
    forms,
    names_of,
    refused,
    survey,
)
from switchboard.sandbox.inside import Inside, uppers
from switchboard.sandbox.mounts import Mount, Refusal, is_below
from switchboard.sandbox.path_walk import Unresolved, look, quoted, unrepresentable, walk

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import Found, HostFiles

__all__ = ["ControlPaths", "protect_control", "refuse_binds"]

NOTHING = "/dev/null"
"""What is mounted over a file that must not be seen."""


def protect_control(mounts: Sequence[Mount], control: ControlPaths, files: HostFiles) -> list[Mount]:
    """Return the mounts to append to a plan, so that its sandbox cannot touch the control directories.

    `mounts`: everything else, in any order. Raises `Refusal`, which names the control path, when that cannot be had.
    """
    plan = _Plan(mounts, control, files)
    plan.refuse_missing()
    plan.refuse_detours()
    extra = plan.covers()
    extra += plan.pins(extra)
    plan.prove(extra)
    return extra


def refuse_binds(paths: Iterable[str], control: ControlPaths, files: HostFiles) -> None:
    """Refuse a working directory or directory to bind that is a control directory, or lies in one, by any name.

    `paths`: absolute. Raises `Refusal`, which names the path and the control path.
    """
    found = survey(control, files)
    kept = [(region.path, region.name) for region in found.regions]
    kept += [(form, name) for name, form in names_of(control)]
    # The innermost directory is the one to be named.
    kept.sort(key=lambda place: len(place[0]), reverse=True)
    identities = {
        there.identity: region.name
        for region in found.regions
        if region.exists and (there := _look(files, region.path, region.name)) is not None
    }
    for path in paths:
        end = follow(path, control.triggers, files)
        inside = next(
            (name for place, name in kept if any(is_below(form, place) for form in (*forms(path), end.real))), None
        )
        for upper in uppers(end.existing):
            there = None if inside else _look(files, upper, control.triggers)
            inside = inside or (identities.get(there.identity) if there else None)
        if inside:
            raise Refusal(f"refusing to bind {quoted(path)}: it is, or lies in, the control directory {quoted(inside)}")


class _Plan:
    """The plan under protection: `_given` with sources resolved, `_needed` what has to hold for the control paths."""

    def __init__(self, mounts: Sequence[Mount], control: ControlPaths, files: HostFiles) -> None:
        self._files = files
        self._control = control
        self._given = [self._resolved(mount) for mount in mounts]
        sources = [mount.source for mount in self._given if mount.source and mount.access in ("ro", "rw")]
        self._needed = survey(control, files, sources)
        self._before = Inside(self._given)
        self._own = self._resolved_own()

    def _resolved(self, mount: Mount) -> Mount:
        spot, source = mount.destination, mount.source or ""
        if not spot.startswith("/") or spot != normalise_directory(spot):
            raise refused(self._control.triggers, f"the mount at {quoted(spot)} is not at a normal absolute path")
        if mount.access not in ("ro", "rw"):
            return mount
        try:
            if not source.startswith("/"):
                raise Unresolved(f"its source {quoted(source)} is not absolute")  # noqa: TRY301 -- one way out
            return replace(mount, source=walk(source, self._files).real)
        except Unresolved as why:
            raise refused(self._control.triggers, f"the mount at {quoted(mount.destination)}: {why}") from why

    def _resolved_own(self) -> str | None:
        if self._control.own is None:
            return None
        own = follow(self._control.own, self._control.own, self._files).real
        regions = self._needed.regions
        if not any(region.access == "tmpfs" and is_below(own, region.path) for region in regions):
            raise refused(self._control.own, "the folder of a launch lies in a hidden directory")
        for region in regions:
            if is_below(region.path, own) or (region.access == "ro" and is_below(own, region.path)):
                raise refused(region.name, f"it shares files with the folder of this launch, {quoted(own)}")
        return own

    # --- what cannot be protected ---

    def refuse_missing(self) -> None:
        """Refuse a control directory that does not exist where the sandbox could make it, or would see it made."""
        for region in self._needed.regions:
            for alias, access in () if region.exists else self._before.sightings(region.path):
                if access == "rw" or region.access == "tmpfs":
                    why = f"it does not exist, and the sandbox would see its place at {quoted(alias)}; create it first"
                    raise refused(region.name, why)

    def refuse_detours(self) -> None:
        """Refuse a mount that does not end up where it says, but behind a link, in a plan that shows control paths."""
        touched = {mount for mount, source in self._before.shared if self._needed.touched_by(source)}
        if not touched:
            return
        made_links = {mount.destination for mount in self._given if mount.access == "symlink"}
        # On its own spot a mount is judged as a spot on what lies below it: for each directory, that is the same.
        linked = {spot: self._is_link(spot) for mount in self._before.mounts for spot in uppers(mount.destination)}
        for mount in self._before.mounts:
            for spot in uppers(mount.destination):
                if linked[spot] or (spot in made_links and mount in touched):
                    why = f"the mount at {quoted(mount.destination)} passes through the symbolic link {quoted(spot)}"
                    raise refused(self._control.triggers, why)

    def _is_link(self, spot: str) -> bool:
        host = self._before.under(spot).host
        there = _look(self._files, host, self._control.triggers) if host is not None else None
        return there is not None and there.kind == "link"

    # --- what is added ---

    def covers(self) -> list[Mount]:
        """Return what lies over the control directories: empty where they are hidden, else read-only."""
        hidden: dict[str, Mount] = {}
        kept: dict[str, Mount] = {}
        vanishing = self._vanishing()
        for alias, source, region, access in self._exposures(self._before):
            why = f"control directory {region.name}"
            if region.access == "tmpfs":
                there = _look(self._files, source, region.name)
                empty = there is None or there.kind == "directory"
                hidden[alias] = Mount("tmpfs", alias, why=why) if empty else Mount("ro", alias, NOTHING, why=why)
            elif access == "rw" or any(is_below(alias, spot) for spot in vanishing):
                kept[alias] = Mount("ro", alias, source, why=why)
        return list((kept | hidden).values())

    def _vanishing(self) -> list[str]:
        """The paths inside that show a hidden directory."""
        hidden = [region for region in self._needed.regions if region.access == "tmpfs" and region.exists]
        return [spot for region in hidden for spot, _ in self._before.sightings(region.path)]

    def _exposures(self, inside: Inside) -> Iterator[tuple[str, str, Region, str]]:
        """Yield each spot where a region, or a part of one, is mounted: spot, host path, region and access."""
        for region in self._needed.regions:
            for alias, access in inside.sightings(region.path) if region.exists else ():
                yield alias, region.path, region, access
        for mount, source in inside.shared:
            around = self._needed.region_at(source)
            if around is None or source == self._own:
                continue
            there = inside.at(mount.destination)
            if there.host == source:
                yield mount.destination, source, around, there.access

    def pins(self, covers: Sequence[Mount]) -> list[Mount]:
        """Return what keeps the ways in place. Raises `Refusal` for a link on one that could be replaced."""
        inside = Inside([*self._given, *covers])
        added: dict[str, Mount] = {}
        for way, name in self._needed.ways.items():
            for alias, access in inside.sightings(way):
                if access == "rw" and not inside.is_mount(alias):
                    added[alias] = Mount("rw", alias, way, why=f"on the way to {name}")
        for link, name in self._needed.links.items():
            if any(access == "rw" for _, access in inside.sightings(link)):
                raise refused(name, f"{quoted(link)} is a symbolic link in a directory the sandbox can write")
        return list(added.values())

    # --- what has to hold in the end ---

    def prove(self, extra: Sequence[Mount]) -> None:
        """Ask the finished plan. Raises `Refusal` for what does not hold."""
        for mount in extra:
            trouble = unrepresentable(mount.destination) or unrepresentable(mount.source or "")
            if trouble:
                raise refused(self._control.triggers, f"a path it is shown at: {trouble}")
        inside = Inside([*self._given, *extra], asked_plainly=True)
        for alias, _, region, access in self._exposures(inside):
            if access == "rw" or region.access == "tmpfs":
                raise refused(region.name, f"it would stay within reach at {quoted(alias)}")
            self._prove_below(alias, region, extra)
        for way, name in self._needed.ways.items():
            for alias, access in inside.sightings(way):
                if access == "rw" and not inside.is_mount(alias):
                    raise refused(name, f"{quoted(alias)}, on the way to it, could be renamed")
        for link, name in self._needed.links.items():
            if any(access == "rw" for _, access in inside.sightings(link)):
                raise refused(name, f"the link {quoted(link)}, on the way to it, could be replaced")

    def _prove_below(self, alias: str, region: Region, extra: Sequence[Mount]) -> None:
        """Refuse what would be made in a protected directory at `alias`, except by this protection itself."""
        last = {mount.destination: mount for mount in (*self._given, *extra)}
        for mount in last.values():
            inside = is_below(mount.destination, alias) and mount.destination != alias
            if inside and mount.access != "ro" and mount not in extra:
                raise refused(region.name, f"the mount at {quoted(mount.destination)} lies on top of it")


def _look(files: HostFiles, path: str, name: str) -> Found | None:
    try:
        return look(files, path)
    except Unresolved as why:
        raise refused(name, str(why)) from why
