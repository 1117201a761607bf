"""What a sandbox could do to its host, worked out from the kernel's rules and not from the product's own reasoning.

The mounts of a plan are made one by one in a tree of their own, as bubblewrap makes them. Then every entry that can be
reached from inside is listed, with the mount it is reached through. From that follows what can be harmed:

- an entry is written when it is reached through a writable mount;
- an entry is renamed, removed or replaced when its directory is reached through a writable mount, unless a mount sits
  on it anywhere in the sandbox: the kernel then refuses;
- an entry is seen when it is reached at all.

Renaming cannot bring anything new within reach: what moves keeps the mounts that sit on it.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from switchboard.sandbox.mounts import Mount
from tests.support.host_tree import HostTree, Mounted, Node, Nowhere, Place, Step, walk


class LaunchFails(Exception):
    """Bubblewrap could not make these mounts."""


@dataclass
class Sandbox:
    """The tree of mounts inside, and all entries that can be reached in it."""

    root: Mounted
    reached: set[Place] = field(default_factory=set)
    mountpoints: set[Node] = field(default_factory=set)

    def writable(self, node: Node) -> bool:
        return any(place.node is node and place.mount.writable and place.mount.host for place in self.reached)


def launch(host: HostTree, mounts: Iterable[Mount]) -> Sandbox:
    """Make the mounts, shallow first as every plan is made. Raises `LaunchFails`."""
    made = Sandbox(Mounted(Node("directory", 0, 0), host=False))
    plan = sorted(mounts, key=lambda mount: len([part for part in mount.destination.split("/") if part]))
    try:
        for mount in plan:
            _make(host, made.root, mount)
    except Nowhere as problem:
        raise LaunchFails(str(problem)) from problem
    waiting = [made.root]
    while waiting:
        one = waiting.pop()
        made.mountpoints |= set(one.over)
        waiting += one.over.values()
    made.reached = reach(made.root.top(made.root.root))
    return made


def reach(start: Place, barred: Sequence[Node] = ()) -> set[Place]:
    """Everything at and below a place, as it is mounted there; `barred` entries and what is below them excluded."""
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for child in here.node.children.values():
            there = here.mount.top(child)
            if there not in found and there.node not in barred:
                found.add(there)
                waiting.append(there)
    return found


def _make(host: HostTree, root: Mounted, mount: Mount) -> None:
    if mount.access in ("ro", "rw"):
        source = walk(host.root, mount.source or "")[-1]
        spot = _spot(root, mount.destination, source.node.kind)
        spot.mount.over[spot.node] = source.mount.copy(source.node, writable=mount.access == "rw")
    elif mount.access == "symlink":
        above, name = mount.destination.rsplit("/", 1)
        under = _spot(root, above, "directory")
        _own_only(under)
        if name in under.node.children:
            raise LaunchFails("there is something already")
        under.node.children[name] = Node("link", 0, 0, under.node, mount.source or "")
    elif mount.access == "dir":
        _spot(root, mount.destination, "directory")
    else:
        spot = _spot(root, mount.destination, "directory")
        spot.mount.over[spot.node] = Mounted(Node("directory", 0, 0), host=False)


def _own_only(place: Place) -> None:
    if place.mount.host:
        raise LaunchFails("it would have to be made on the host")


def _spot(root: Mounted, path: str, kind: str) -> Place:
    """Where a destination leads, made where it is missing and nothing of the host would have to be changed."""
    so_far = ""
    parts = [part for part in path.split("/") if part]
    for number, part in enumerate(parts, 1):
        above = walk(root, so_far)[-1]
        so_far = f"{so_far}/{part}"
        there = above.node.children.get(part)
        if there is None:
            _own_only(above)
            new = "other" if number == len(parts) and kind != "directory" else "directory"
            above.node.children[part] = Node(new, 0, 0, above.node)  # type: ignore[arg-type]  # one of the two kinds
        elif there.kind == "link" and there.target.startswith("/"):
            raise LaunchFails("an absolute link leads out of the tree that is being made")
    end = walk(root, path)[-1]
    if (end.node.kind == "directory") != (kind == "directory"):
        raise LaunchFails("a directory on a file, or the other way round")
    return end


@dataclass
class Control:
    """What must not be harmed, as the host itself finds it now."""

    kept: set[Node] = field(default_factory=set)
    unseen: set[Node] = field(default_factory=set)
    own: set[Node] = field(default_factory=set)
    own_root: Node | None = None
    roots: list[Node] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    own_apart: bool = True
    """No file of the launch's own folder lies in another control directory than the hidden one around it."""
    clean: bool = True
    """Everything exists, and no link is on the way to anything."""


def control_of(host: HostTree, triggers: str, hidden: Sequence[str], own: str | None = None) -> Control:
    """Look the control paths up as the host does. Raises `Nowhere` for one that leads nowhere but is not missing."""
    found = Control()
    ends: list[tuple[Place, set[Node]]] = []
    for path, nodes in [
        (triggers, found.kept),
        (f"{triggers}/processed", found.kept),
        *((one, found.unseen) for one in hidden),
    ]:
        steps: list[Step] = []
        try:
            ends.append((walk(host.root, path, steps=steps)[-1], nodes))
        except Nowhere as problem:
            if problem.code != errno.ENOENT:
                raise
            found.clean = False
        found.clean &= all(step.child is not None and step.child.kind != "link" for step in steps)
        found.steps += steps
    roots = found.roots = [place.node for place, _ in ends]
    hidden_roots = [place.node for place, nodes in ends if nodes is found.unseen]
    for place, nodes in ends:
        if nodes is found.unseen or place.node not in hidden_roots:
            nodes |= {one.node for one in reach(place, [root for root in roots if root is not place.node])}
    if own is not None:
        way = walk(host.root, own)
        found.own_root, found.own = way[-1].node, {one.node for one in reach(way[-1])}
        others = [place for place, nodes in ends if nodes is found.kept or place not in way]
        found.own_apart = not any(found.own & {one.node for one in reach(place)} for place in others)
    return found


def harm(sandbox: Sandbox, control: Control) -> list[str]:
    """Name everything the sandbox could do that it must not."""
    found = []
    for place in sandbox.reached:
        if not place.mount.host:
            continue
        if place.node in control.kept and place.mount.writable:
            found.append(f"writes {place.node.path()}")
        elif place.node in control.unseen and place.node not in control.kept:
            given = place.node in control.own and place.mount.root is control.own_root
            if not given:
                found.append(f"sees {place.node.path()}")
    for step in control.steps:
        if not sandbox.writable(step.at.node):
            continue
        if step.child is None:
            found.append(f"makes {step.at.node.path()}/{step.name}")
        elif step.child not in sandbox.mountpoints:
            found.append(f"replaces {step.child.path()}")
    return sorted(set(found))


def lands_in(host: HostTree, mounts: Sequence[Mount], control: Control) -> bool:
    """Tell whether the plan itself puts anything but read-only mounts inside a control directory, or on a link."""
    plan = sorted(mounts, key=lambda mount: mount.destination.count("/"))
    made = Mounted(Node("directory", 0, 0), host=False)
    for mount in plan:
        try:
            steps: list[Step] = []
            way = walk(made, mount.destination, steps=steps)
        except Nowhere:
            way = []
        linked = any(step.child is not None and step.child.kind == "link" for step in steps)
        inside = any(place.node in control.kept | control.unseen for place in way[:-1])
        if linked or (inside and mount.access != "ro"):
            return True
        _make(host, made, mount)
    return False
