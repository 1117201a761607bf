"""Where a project's transcripts lie, and which recorded directory can be believed (pure).

Claude Code keeps the transcripts of a directory in a folder named after that directory. The rows inside record a
directory too, but whoever can write a row can write any directory into it, and a session is resumed in it. So a
recorded directory counts only when it spells the name of the folder that it was found in.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from switchboard.clis.transcript_rows import Row, text_of

_LONGEST_NAME = 200  # longer names are cut there, and a hash of the whole path follows
_OTHER = re.compile(r"[^A-Za-z0-9]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LONGEST_PATH = 4_096  # PATH_MAX: a longer directory cannot be entered

# A worktree that a CLI made for itself lies exactly one level below one of these, in its repository.
_WORKTREE = re.compile(r"(?P<repo>.+?)[/\\](?:\.claude[/\\]worktrees|\.claude-worktrees|\.worktrees)[/\\][^/\\]+[/\\]?")
_WORKTREE_MARKS = ("--claude-worktrees-", "--worktrees-")


@dataclass(frozen=True, slots=True)
class RecordedCwd:
    """What rows say about a session's directory.

    `cwd`: the first one that could be verified. `rejected`: the first that could not. `ended`: more rows would change
    nothing. `complete`: everything that had to be read could be.
    """

    cwd: str | None = None
    rejected: str | None = None
    ended: bool = False
    complete: bool = True


def folder_name(path: str) -> str:
    """Return the name of the folder that keeps the transcripts of the directory `path` (which must be resolved).

    Every UTF-16 unit but ASCII letters and digits becomes a dash; a longer name than 200 is cut and ends in a hash of
    the whole path. Two versions measured agree on that hash, others need not: to find a session's file, look into every
    folder.
    """
    name = _OTHER.sub(lambda found: "--" if ord(found[0]) > 0xFFFF else "-", path)
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{_base36(abs(_hash(path)))}"


def is_verified(cwd: str, folder: str, remap: str | None = None) -> bool:
    """Tell whether a recorded directory can be believed: it is absolute and spells the folder's name.

    `remap` is the directory that a person has recorded for this folder after moving the project; it is believed too.
    """
    if not cwd.startswith("/") or len(cwd) > _LONGEST_PATH or "\0" in cwd:
        return False
    return cwd == remap or folder_name(_resolved(cwd)) == folder


def find_cwd(rows: Iterable[Row], folder: str, remap: str | None = None) -> RecordedCwd:
    """Return the first directory in `rows` that can be believed.

    The first one that cannot ends the search, because rows below it are no better, unless the folder may belong to a
    worktree of that directory or lie above it: then the session has moved, and an honest row can still follow.
    """
    rejected: str | None = None
    for row in rows:
        cwd = text_of(row, "cwd")
        if cwd is None:
            continue
        if is_verified(cwd, folder, remap):
            return RecordedCwd(cwd, rejected, ended=True)
        if rejected is None:
            rejected = cwd
            if not _may_have_moved(cwd, folder):
                return RecordedCwd(None, rejected, ended=True)
    return RecordedCwd(None, rejected)


def worktree_root(cwd: str, exists: Callable[[str], bool]) -> str:
    """Return the repository of a CLI's worktree when it exists, for grouping; any other directory unchanged."""
    found = _WORKTREE.fullmatch(cwd)
    return found["repo"] if found and exists(found["repo"]) else cwd


def _may_have_moved(cwd: str, folder: str) -> bool:
    if len(folder) > _LONGEST_NAME:
        return True  # what follows the cut cannot be told from the name
    for path in _ancestry(cwd):
        name = folder_name(path)
        if folder == name or any(folder.startswith(name + mark) for mark in _WORKTREE_MARKS):
            return True
    return False


def _ancestry(cwd: str) -> Iterator[str]:
    if not cwd.startswith("/") or len(cwd) > _LONGEST_PATH:
        return
    path = _resolved(cwd)
    while path != "/":
        if len(path) <= _LONGEST_NAME:  # the name of a longer one is cut and could not be found in an uncut name
            yield path
        path = posixpath.dirname(path)


def _resolved(path: str) -> str:
    """Return an absolute path without `.`, `..` and doubled separators. Links are not followed."""
    return "/" + posixpath.normpath(path).lstrip("/")


def _hash(path: str) -> int:
    """Return the 32-bit string hash of JavaScript folklore: h * 31 + unit, over UTF-16 units, wrapped and signed."""
    units = path.encode("utf-16-le", "surrogatepass")
    value = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value - 0x100000000 if value & 0x80000000 else value


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
