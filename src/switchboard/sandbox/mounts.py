"""Mounts of a sandbox: values, their order, bubblewrap's arguments for them, and what is visible in the end (pure).

A plan is a list of mounts. Bubblewrap makes them one after the other, so a later one covers an earlier one at or below
its destination. The list is sorted by depth before it is used: a deeper mount always lands on top of a shallower one,
whatever order the parts of a plan were collected in, and of two at one depth the later one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Access = Literal["ro", "rw", "tmpfs", "symlink", "dev", "proc", "file", "dir"]
"""`ro`, `rw`: a part of the host; `tmpfs`, `dir`: empty; `file`: a private file with `content`; the rest as named."""


class Refusal(Exception):
    """The sandbox cannot be made as it was asked for. The text says why, and what to do; nothing was started."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount. `destination`: absolute and normal, inside. `source`: the path on the host, or a link's target."""

    access: Access
    destination: str
    source: str | None = None
    content: bytes | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """What a path inside leads to. `host`: the path on the host that it shows; None where it shows none of it."""

    access: Literal["none", "ro", "rw", "tmpfs"]
    host: str | None = None


def ordered(mounts: Iterable[Mount]) -> list[Mount]:
    """Return the mounts as they are made: shallow first, otherwise in the order given."""
    return sorted(mounts, key=lambda mount: 0 if mount.destination == "/" else mount.destination.count("/"))


def is_below(path: str, folder: str) -> bool:
    """Tell whether a normal absolute path is `folder` or lies in it."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def moved(path: str, folder: str, to: str) -> str:
    """Return `path`, which is `folder` or lies in it, as it is called when `folder` is called `to`."""
    rest = path[len(folder) :].lstrip("/")
    return f"{to.rstrip('/')}/{rest}" if rest else to


def view(mounts: Sequence[Mount], path: str) -> View:
    """Return what a normal absolute path without links is inside, when these mounts are made in this order."""
    for mount in reversed(mounts):
        if not is_below(path, mount.destination):
            continue
        if mount.access in ("ro", "rw"):
            assert mount.source is not None
            return View("ro" if mount.access == "ro" else "rw", moved(path, mount.destination, mount.source))
        return View("none" if mount.access == "symlink" else "tmpfs")
    return View("none")


FLAGS = ("--unshare-all", "--share-net", "--die-with-parent", "--cap-drop", "ALL")
"""The network is the host's. No new terminal session: the CLI would no longer hear that its window changes size.

No capabilities: root would keep all of them inside, and simply unmount what protects the host's directories.
"""

FIRST_FILE = 9
"""The descriptor that the first private file is read from; the others follow it."""

_OPTIONS = {"ro": "--ro-bind", "rw": "--bind", "symlink": "--symlink"}
_EMPTY = {"tmpfs": "--tmpfs", "dev": "--dev", "proc": "--proc", "dir": "--dir"}


def arguments(mounts: Iterable[Mount]) -> tuple[list[str], list[bytes]]:
    """Return bubblewrap's options for these mounts, in this order, and what descriptors from `FIRST_FILE` on hold."""
    options: list[str] = []
    files: list[bytes] = []
    for mount in mounts:
        if mount.access in _EMPTY:
            options += [_EMPTY[mount.access], mount.destination]
        elif mount.access == "file":
            options += ["--file", str(FIRST_FILE + len(files)), mount.destination]
            files.append(mount.content or b"")
        else:
            assert mount.source is not None
            options += [_OPTIONS[mount.access], mount.source, mount.destination]
    return options, files
