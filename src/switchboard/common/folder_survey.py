"""What a folder's path means at one moment, and where to look for that to change (door)."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

_MAX_LINKS = 40  # as many as Linux follows before it answers ELOOP


@dataclass(frozen=True, slots=True)
class Survey:
    """The way to a folder, with every symbolic link resolved.

    `target`: the folder's real path, None while there is no folder. `folders`: each real folder on the way (the
    target last, when there is one) as (path, device, inode); if one of them moves, the path may mean something else.
    `names`: entries, as (real folder, name), whose appearance, disappearance or replacement changes what the path
    means: symbolic links on the way, the first missing name, and the name of the deepest folder in its parent.
    """

    target: str | None
    folders: tuple[tuple[str, int, int], ...]
    names: frozenset[tuple[str, str]]


def absolute(path: str) -> str:
    """Return the path from the root, otherwise as it is: `link/..` is not where `link` stands, so nothing is cut."""
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def survey(path: str) -> Survey:
    """Follow an absolute path as the kernel would. Never raises: what cannot be looked at counts as missing.

    The deepest folder's name is among `names` because a deleted folder reports its own deletion only after the last
    process has left it, while its parent reports it at once.
    """
    here = "/"
    folders: list[tuple[str, int, int]] = []
    names: set[tuple[str, str]] = set()
    links = 0
    rest = path.split("/")[::-1]
    missing = False
    while rest and not missing:
        part = rest.pop()
        if part in ("", "."):
            continue
        if part == "..":
            here = os.path.dirname(here)
            continue
        found = _look(here, part)
        if isinstance(found, str):
            names.add((here, part))
            links += 1
            missing = links > _MAX_LINKS
            here = "/" if found.startswith("/") else here
            rest.extend(reversed(found.split("/")))
        elif found is not None and stat.S_ISDIR(found.st_mode):
            here = os.path.join(here, part)
            folders.append((here, found.st_dev, found.st_ino))
        else:
            names.add((here, part))
            missing = True
    if here != "/":
        names.add((os.path.dirname(here), os.path.basename(here)))
    return Survey(None if missing else here, tuple(dict.fromkeys(folders)), frozenset(names))


def _look(folder: str, name: str) -> os.stat_result | str | None:
    """Return what an entry is: a link's destination, else its status, else None when it is not there."""
    entry = os.path.join(folder, name)
    try:
        found = os.lstat(entry)
        return os.readlink(entry) if stat.S_ISLNK(found.st_mode) else found
    except OSError:
        return None
