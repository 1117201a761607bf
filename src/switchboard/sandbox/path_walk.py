"""Following a path on the host step by step, as the kernel would, and remembering the way (pure).

Whoever can rename a directory on the way, or replace a link on it, decides where the path leads. So the way counts as
much as its end: `a/../b` passes through `a` although its end does not lie in it.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import Found, HostFiles

MAX_LINKS = 40
"""Linux follows no more links in one path."""


class Unresolved(Exception):
    """The path leads nowhere that can be told. The text says why."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a path leads. All paths in it are normal, absolute and free of links above their last name.

    `real`: the end; where part of the path does not exist, what it would be. `found`: what lies there, None when
    missing. `existing`: `real`, or the last directory on the way that exists. `directories`, `links`: passed on the
    way, the root excluded and the end included.
    """

    real: str
    found: Found | None
    existing: str
    directories: tuple[str, ...]
    links: tuple[str, ...]


def walk(path: str, files: HostFiles) -> Walk:
    """Follow an absolute path. Raises `Unresolved` for what is unreadable, unrepresentable or a loop of links."""
    trouble = unrepresentable(path)
    if trouble:
        raise Unresolved(trouble)
    here, ahead = "/", _names(path)
    directories: dict[str, None] = {}
    links: list[str] = []
    while ahead:
        name = ahead.pop()
        if name == "..":
            here = posixpath.dirname(here)
            continue
        at = posixpath.join(here, name)
        found = look(files, at)
        if found is None:
            if ".." in ahead:
                raise Unresolved(f"{quoted(at)} does not exist, and the path goes back through it")
            return Walk(posixpath.join(at, *reversed(ahead)), None, here, tuple(directories), tuple(links))
        if found.kind == "link":
            links.append(at)
            target = _follow(files, at, len(links))
            here = "/" if target.startswith("/") else here
            ahead += _names(target)
            continue
        if found.kind == "directory":
            directories[at] = None
        elif ahead:
            raise Unresolved(f"{quoted(at)} is not a directory")
        here = at
    return Walk(here, look(files, here), here, tuple(directories), tuple(links))


def _follow(files: HostFiles, link: str, followed: int) -> str:
    if followed > MAX_LINKS:
        raise Unresolved(f"too many levels of symbolic links at {quoted(link)}")
    try:
        target = files.readlink(link)
    except OSError as error:
        raise Unresolved(f"{quoted(link)} cannot be read ({error.strerror})") from error
    trouble = unrepresentable(target)
    if trouble:
        raise Unresolved(f"the target of {quoted(link)}: {trouble}")
    return target


def look(files: HostFiles, path: str) -> Found | None:
    """Return what lies at `path`, None when nothing does; raises `Unresolved` when that cannot be told."""
    try:
        return files.look(path)
    except OSError as error:
        raise Unresolved(f"{quoted(path)} cannot be read ({error.strerror})") from error


def _names(path: str) -> list[str]:
    """The parts of a path, the first one last."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def unrepresentable(path: str) -> str:
    """Say why a path cannot be handed on as one line of text and one argument; empty when it can."""
    if "\n" in path:
        return "it contains a newline"
    if "\0" in path:
        return "it contains a NUL"
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "no file can have that name"
    return ""


def quoted(path: str) -> str:
    """Return a path for a message of one line."""
    return f"'{path}'" if path.isprintable() else repr(path)
