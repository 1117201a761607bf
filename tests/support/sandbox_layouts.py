"""Layouts by chance: a host's files, its control directories, and a plan that may or may not expose them."""

from __future__ import annotations

import os
import posixpath
import subprocess
from dataclasses import dataclass, field
from random import Random

from switchboard.sandbox.control import ControlPaths
from switchboard.sandbox.mounts import Mount
from tests.support.host_tree import HostTree

NAMES = ("a", "b", "c d", " e", "ü", "x'y", "-f", "$(g)", "back\\slash", 'q"t', "tab\tt", "triggers", "processed", ".h")


@dataclass
class Layout:
    """Paths are absolute. `links` by path; `disks`: directories that are file systems of their own; `remounts`: a
    directory and the second place where it is mounted.
    """

    base: str
    directories: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    disks: list[str] = field(default_factory=list)
    remounts: list[tuple[str, str]] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    control: ControlPaths = field(default=ControlPaths("/", ()))

    def tree(self) -> HostTree:
        host = HostTree()
        for path in self.disks:
            host.mount_disk(path)
        for path in self.directories:
            host.make_directory(path)
        for path, target in self.links.items():
            host.make_link(path, target)
        for path in self.files:
            host.make_file(path)
        for source, point in self.remounts:
            host.mount_again(source, point)
        return host

    def on_disk(self) -> None:
        """Make it for real; nothing is at `base` yet. What is mounted twice needs the right to mount."""
        assert not self.disks
        for path in self.directories:
            os.makedirs(path, exist_ok=True)
        for path, target in self.links.items():
            os.symlink(target, path)
        for path in self.files:
            with open(path, "x", encoding="utf-8") as file:
                file.write("untouched\n")
        for source, point in self.remounts:
            os.makedirs(point)
            subprocess.run(["mount", "--bind", source, point], check=True)


def layout(chance: Random, base: str, *, remounts: bool = True) -> Layout:
    made = Layout(base, [base])
    for _ in range(chance.randint(2, 8)):
        _directory(made, chance)
    triggers = _new(made, chance, "triggers")
    data = chance.choice([posixpath.dirname(triggers), _new(made, chance, "data"), _new(made, chance, "data")])
    sockets = f"{data}/run" if chance.random() < 0.6 else _new(made, chance, "sockets")
    own = f"{data}/sandboxes/1/sessions" if chance.random() < 0.4 else None
    for path in (triggers, data, sockets):
        if chance.random() < 0.96:
            _add(made, path)
    if own:
        _add(made, own)
    for number in range(chance.choice([0, 0, 0, 1, 1, 2, 3])):
        _link(made, chance, number)
    _processed(made, chance, triggers)
    for path in (triggers, data, sockets, own):
        if path in made.directories and f"{path}/file" not in made.files:
            made.files.append(f"{path}/file")
    if remounts and chance.random() < 0.25:
        source, point = chance.choice(made.directories), f"{chance.choice(made.directories)}/again"
        if not any(path.startswith(point) for path in made.directories) and not (
            own and (point.startswith(own) or source == own)
        ):
            made.remounts.append((source, point))
    if remounts and chance.random() < 0.1:
        made.disks.append(chance.choice(made.directories))
    made.control = ControlPaths(
        _spelt(made, chance, triggers), tuple(_spelt(made, chance, path) for path in (data, sockets)), own
    )
    for number in range(chance.choice([1, 1, 2, 2, 3, 4, 5])):
        made.mounts.append(_mount(made, chance, number))
    if own:
        made.mounts.append(Mount("rw", f"{base}/home/.cli/sessions", own))
    chance.shuffle(made.mounts)
    return made


def _add(made: Layout, path: str) -> None:
    while path not in made.directories and len(path) > len(made.base):
        made.directories.append(path)
        path = posixpath.dirname(path)


def _directory(made: Layout, chance: Random) -> str:
    path = f"{chance.choice(made.directories[-4:])}/{chance.choice(NAMES)}"
    _add(made, path)
    return path


def _new(made: Layout, chance: Random, name: str) -> str:
    return f"{chance.choice(made.directories)}/{name}"


def _link(made: Layout, chance: Random, number: int) -> None:
    above = chance.choice(made.directories)
    aim = chance.choice([*made.directories, *made.directories, *made.links, f"{made.base}/nowhere"])
    target = chance.choice([aim, aim, posixpath.relpath(aim, above), f"{above}/../{posixpath.basename(above)}"])
    made.links[f"{above}/link{number}"] = target


def _processed(made: Layout, chance: Random, triggers: str) -> None:
    kind = chance.random()
    path = f"{triggers}/processed"
    if triggers not in made.directories or path in made.directories or kind < 0.2:
        return
    if kind < 0.75:
        made.directories.append(path)
        made.files.append(f"{path}/result")
    else:
        made.links[path] = chance.choice([*made.directories, *made.links])


def _spelt(made: Layout, chance: Random, path: str) -> str:
    """Spell a path through a link to a directory above it, sometimes, when there is one."""
    ends = {link: posixpath.normpath(f"{posixpath.dirname(link)}/{made.links[link]}") for link in made.links}
    ends |= {link: target for link, target in made.links.items() if target.startswith("/")}
    ways = [f"{link}{path[len(end) :]}" for link, end in ends.items() if path.startswith(f"{end}/") or path == end]
    return chance.choice(ways) if ways and chance.random() < 0.6 else path


def _mount(made: Layout, chance: Random, number: int) -> Mount:
    real = chance.choice([*made.directories, *made.directories, *(path for path, _ in made.remounts)])
    source = _spelt(made, chance, real)
    place = chance.random()
    if place < 0.65:
        destination = source
    elif place < 0.85:
        destination = f"{made.base}/view{number}"
    else:
        destination = _spelt(made, chance, chance.choice(made.directories))
    kind = chance.random()
    if kind < 0.08:
        return Mount(chance.choice(["tmpfs", "dir"]), destination)
    if kind < 0.1:
        return Mount("symlink", f"{made.base}/sym{number}", source)
    return Mount("ro" if kind < 0.3 else "rw", posixpath.normpath(destination), source)
