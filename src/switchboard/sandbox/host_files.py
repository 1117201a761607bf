"""The host's files as a sandbox plan asks about them: protocols, and the door that looks for real.

Reads only, and remembers what it has seen: one object answers for the time of building one plan.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, Protocol

from switchboard.sandbox.git_answers import GIT_PLACES, Repository, repository
from switchboard.sandbox.run import run_both

Kind = Literal["directory", "file", "link", "other"]

MARKERS = (".claude", ".git")
UNSEARCHED = frozenset({"node_modules", ".git"})
"""Directories without a project of one's own: packages, and what git keeps."""


@dataclass(frozen=True, slots=True)
class Found:
    """What lies at a path, links not followed. `identity`: device and number, the same for two names of one thing."""

    kind: Kind
    identity: tuple[int, int]


class HostFiles(Protocol):
    """Reads only. Each method raises `OSError` when the answer cannot be had."""

    def look(self, path: str) -> Found | None:
        """Return what lies at `path`; None when nothing does."""

    def readlink(self, path: str) -> str:
        """Return a link's target as it is written."""

    def mountinfo(self) -> str:
        """Return the table of mounts as `/proc/self/mountinfo` has it; empty where there is none."""


class PlanFiles(HostFiles, Protocol):
    """What the whole plan asks beyond that. Raises `OSError` as above, except where said otherwise."""

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""

    def read(self, path: str, limit: int) -> bytes:
        """Return the first `limit` bytes of a regular file."""

    def may_write(self, path: str) -> bool:
        """Tell whether this user may make entries in a directory. Never raises."""

    def is_program(self, path: str) -> bool:
        """Tell whether a path leads to a regular file that this user may execute. Never raises."""

    def is_socket(self, path: str) -> bool:
        """Tell whether a path leads to a socket. Never raises."""

    def markers(self, folder: str) -> list[str]:
        """Return every `.claude` and `.git` in a directory and below, on its file system; shallow first.

        Neither links nor `node_modules` nor what a `.git` holds are followed. What cannot be read is passed over.
        """

    def links(self, folder: str, without: AbstractSet[str]) -> list[str]:
        """Return every symbolic link at any depth in a directory, leaving out the directories at paths `without`."""

    def git(self, marker: str) -> Repository | str | None:
        """Return what git says of the repository that a `.git` belongs to, or why it cannot; None without git.

        Raises `OSError` too when git does not come back.
        """


class RealHostFiles:
    """This machine's files. `git`: the program, None when there is none.

    `searched`: what earlier searches for markers have found, by directory. A search takes as long as everything else
    together, and a marker that appears after it is no different from one that appears after the start.
    """

    def __init__(self, git: str | None = None, searched: dict[str, list[str]] | None = None) -> None:
        self._git = git
        self._searched = {} if searched is None else searched
        self._seen: dict[str, Found | None] = {}
        self._mountinfo: str | None = None

    def look(self, path: str) -> Found | None:
        if path in self._seen:
            return self._seen[path]
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            found = None
        else:
            found = Found(_kind(status.st_mode), (status.st_dev, status.st_ino))
        self._seen[path] = found
        return found

    def readlink(self, path: str) -> str:
        return os.readlink(path)

    def mountinfo(self) -> str:
        if self._mountinfo is None:
            with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                self._mountinfo = file.read()
        return self._mountinfo

    def names(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def read(self, path: str, limit: int) -> bytes:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            return file.read(limit)

    def may_write(self, path: str) -> bool:
        return os.access(path, os.W_OK | os.X_OK)

    def is_program(self, path: str) -> bool:
        return os.path.isfile(path) and os.access(path, os.X_OK)

    def is_socket(self, path: str) -> bool:
        try:
            return stat.S_ISSOCK(os.stat(path).st_mode)
        except OSError:
            return False

    def markers(self, folder: str) -> list[str]:
        if folder not in self._searched:
            self._searched[folder] = self._search(folder)
        return self._searched[folder]

    def _search(self, folder: str) -> list[str]:
        found: list[str] = []
        waiting = [folder]
        device = os.stat(folder).st_dev
        while waiting:
            for entry in _entries(waiting.pop()):
                if entry.name in MARKERS:
                    found.append(entry.path)
                if entry.is_dir(follow_symlinks=False) and entry.name not in UNSEARCHED and _device(entry) == device:
                    waiting.append(entry.path)
        return sorted(found, key=lambda path: (path.count("/"), path))

    def links(self, folder: str, without: AbstractSet[str]) -> list[str]:
        found: list[str] = []
        waiting = [folder]
        while waiting:
            for entry in _entries(waiting.pop()):
                if entry.is_symlink():
                    found.append(entry.path)
                elif entry.is_dir(follow_symlinks=False) and entry.path not in without:
                    waiting.append(entry.path)
        return sorted(found)

    def git(self, marker: str) -> Repository | str | None:
        if self._git is None:
            return None
        where = os.path.dirname(marker)
        environment = {name: value for name, value in os.environ.items() if name not in GIT_PLACES}
        environment["LC_ALL"] = "C"
        command = [self._git, "-C", where, f"--git-dir={marker}"]
        try:
            places, settings = run_both(
                [*command, "rev-parse", "--git-dir", "--git-common-dir", "--git-path", "hooks"],
                [*command, "config", "--list", "--show-origin", "--includes", "-z"],
                environment,
            )
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}, asked about the repository there", marker) from error
        return repository(where, os.environ.get("HOME", "/"), places, settings)


def _kind(mode: int) -> Kind:
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_ISREG(mode) else "other"


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # gone, or not for this user to see


def _device(entry: os.DirEntry[str]) -> int | None:
    try:
        return entry.stat(follow_symlinks=False).st_dev
    except OSError:
        return None


def _without_waiting(path: str, flags: int) -> int:
    """A pipe in a file's place must not hold the start up."""
    return os.open(path, flags | os.O_NONBLOCK)
