"""A made-up machine: files, links, and mounts of the host, with the kernel's rules for walking through them.

It answers the questions of a sandbox plan like a real machine, and it is what `sandbox_model` mounts from. Nothing of
the product is used: a fault there does not repeat itself here.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import Literal

from switchboard.sandbox.host_files import Found

Kind = Literal["directory", "link", "other"]


@dataclass(eq=False)
class Node:
    """A directory, link or file of one file system. It has one name, so it stands for its name's entry too."""

    kind: Kind
    device: int
    number: int
    parent: Node | None = None
    target: str = ""
    children: dict[str, Node] = field(default_factory=dict)
    unreadable: bool = False

    def path(self) -> str:
        """Its path in its own file system."""
        if self.parent is None:
            return ""
        name = next(name for name, child in self.parent.children.items() if child is self)
        return f"{self.parent.path()}/{name}"

    def within(self, other: Node) -> bool:
        here: Node | None = self
        while here is not None and here is not other:
            here = here.parent
        return here is other


@dataclass(eq=False)
class Mounted:
    """One mount in one tree of mounts: what it shows, and which mounts sit on entries of it."""

    root: Node
    writable: bool = True
    host: bool = True
    over: dict[Node, Mounted] = field(default_factory=dict)
    number: int = 0
    parent: int = 0
    point: str = "/"

    def top(self, node: Node) -> Place:
        """What is seen at one of its entries."""
        mount = self
        while node in mount.over:
            mount = mount.over[node]
            node = mount.root
        return Place(mount, node)

    def copy(self, node: Node, *, writable: bool) -> Mounted:
        """A recursive bind of one directory or file of it, with all mounts below."""
        made = Mounted(node, writable and self.writable, self.host)
        for entry, child in self.over.items():
            if entry.within(node):
                made.over[entry] = child.copy(child.root, writable=writable)
        return made


@dataclass(frozen=True)
class Place:
    mount: Mounted
    node: Node


@dataclass(frozen=True)
class Step:
    """One name looked up on the way along a path; `child` is None where nothing has that name."""

    at: Place
    name: str
    child: Node | None


class Nowhere(Exception):
    """A path that leads to nothing; `code` as the kernel gives it."""

    def __init__(self, code: int) -> None:
        super().__init__(errno.errorcode[code])
        self.code = code


def walk(root: Mounted, path: str, *, follow: bool = True, steps: list[Step] | None = None) -> list[Place]:
    """The places on the way to a path, the last one being its end. Raises `Nowhere`."""
    way = [root.top(root.root)]
    ahead = [name for name in reversed(path.split("/")) if name not in ("", ".")]
    links = 0
    while ahead:
        name = ahead.pop()
        here = way[-1]
        if here.node.kind != "directory":
            raise Nowhere(errno.ENOTDIR)
        if here.node.unreadable:
            raise Nowhere(errno.EACCES)
        if name == "..":
            way = way[:-1] or way
            way = way or [root.top(root.root)]
            continue
        child = here.node.children.get(name)
        if steps is not None:
            steps.append(Step(here, name, child))
        if child is None:
            raise Nowhere(errno.ENOENT)
        if child.kind == "link" and (ahead or follow):
            links += 1
            if links > 40:
                raise Nowhere(errno.ELOOP)
            if child.target.startswith("/"):
                way = way[:1]
            ahead += [part for part in reversed(child.target.split("/")) if part not in ("", ".")]
            continue
        way.append(here.mount.top(child))
    return way


class HostTree:
    """The machine. Paths given to the `make_…` methods are made with all directories above them."""

    def __init__(self) -> None:
        self._numbers = 0
        self.mounts = [Mounted(self._node("directory", 1), number=1)]
        self.make_file("/dev/null")

    @property
    def root(self) -> Mounted:
        return self.mounts[0]

    def _node(self, kind: Kind, device: int, parent: Node | None = None, target: str = "") -> Node:
        self._numbers += 1
        return Node(kind, device, self._numbers, parent, target)

    def make_directory(self, path: str) -> Node:
        here = self.root.top(self.root.root)
        for name in path.split("/"):
            if name:
                here = here.mount.top(self._child(here.node, name, "directory"))
        return here.node

    def make_link(self, path: str, target: str) -> None:
        above, name = path.rsplit("/", 1)
        self._child(self.make_directory(above), name, "link", target)

    def make_file(self, path: str) -> None:
        above, name = path.rsplit("/", 1)
        self._child(self.make_directory(above), name, "other")

    def _child(self, parent: Node, name: str, kind: Kind, target: str = "") -> Node:
        if name not in parent.children:
            parent.children[name] = self._node(kind, parent.device, parent, target)
        assert parent.children[name].kind == kind, name
        return parent.children[name]

    def lock(self, path: str) -> None:
        """Nobody may search or list this directory any more."""
        walk(self.root, path)[-1].node.unreadable = True

    def mount_again(self, source: str, point: str) -> None:
        """Bind-mount a directory at a second place, which is made."""
        self.make_directory(point)
        shown = walk(self.root, source)[-1]
        self._mount(shown.mount.copy(shown.node, writable=True), point)

    def mount_disk(self, point: str) -> None:
        """Mount a new, empty file system."""
        self.make_directory(point)
        self._mount(Mounted(self._node("directory", 1 + len(self.mounts))), point)

    def _mount(self, made: Mounted, point: str) -> None:
        under = walk(self.root, point, follow=False)[-1]
        under.mount.over[under.node] = made
        self._list(made, under.mount.number, point)

    def _list(self, made: Mounted, parent: int, point: str) -> None:
        made.number, made.parent, made.point = len(self.mounts) + 1, parent, point
        self.mounts.append(made)
        for entry, child in made.over.items():
            self._list(child, made.number, point.rstrip("/") + entry.path()[len(made.root.path()) :])

    # --- as a sandbox plan asks ---

    def look(self, path: str) -> Found | None:
        try:
            node = walk(self.root, path, follow=False)[-1].node
        except Nowhere as problem:
            if problem.code == errno.ENOENT:
                return None
            raise OSError(problem.code, "as the kernel says") from problem
        return Found(node.kind, (node.device, node.number))

    def readlink(self, path: str) -> str:
        node = walk(self.root, path, follow=False)[-1].node
        assert node.kind == "link"
        return node.target

    def mountinfo(self) -> str:
        def escaped(path: str) -> str:
            return "".join(f"\\{ord(letter):03o}" if letter in " \t\n\\" else letter for letter in path)

        return "".join(
            f"{mount.number} {mount.parent} 8:{mount.root.device} {escaped(mount.root.path() or '/')}"
            f" {escaped(mount.point)} rw,relatime - ext4 /dev/disk rw\n"
            for mount in self.mounts
        )
