"""The names of all transcripts below one projects folder, kept between questions (door).

A folder's own time changes with every name that comes or goes, so a listing holds as long as that time does: a question
costs one `stat` for each project folder, and only folders that changed are listed again. Watching was the other way; it
would wake the host for every row that any CLI writes, and takes a kernel watch for each folder.

Clocks of file systems are coarse. A folder that had changed less than `COARSE_NS` before it was listed may have changed
again within the same tick, so that listing is not kept.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

COARSE_NS = 50_000_000
"""Kernels advance file times every 1 to 10 ms."""

FOLDERS_A_TURN = 50
"""So many folders are listed (3 ms) before the loop gets a turn."""

_SUFFIX = ".jsonl"


@dataclass(slots=True)
class _Folder:
    """`names` by their stem in lower case, whatever they are. `problem`: why it cannot be listed."""

    state: tuple[int, int, int]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str | None = None
    settled: bool = True
    version: int = 0


@dataclass(slots=True)
class _Root:
    state: tuple[int, int, int] = (0, 0, 0)
    names: list[str] = field(default_factory=list)
    settled: bool = False


class TranscriptIndex:
    """The index of one projects folder, which need not exist. `refresh` brings it up to date, the rest only reads."""

    def __init__(self, projects_dir: str) -> None:
        self.projects_dir = projects_dir
        self.problem: str | None = None
        self.listings = 0
        self._root = _Root()
        self._folders: dict[str, _Folder] = {}

    def refresh(self) -> Iterator[None]:
        """List what has changed; yields wherever the loop may have a turn.

        `problem` says afterwards why the projects folder cannot be read; that it does not exist is no problem.
        """
        names = self._names()
        self._folders = {name: self._folders.get(name) or _Folder((0, 0, 0), settled=False) for name in names}
        listed = 0
        for name, known in list(self._folders.items()):
            try:
                state = _state(f"{self.projects_dir}/{name}")
            except OSError as error:
                if isinstance(error, (FileNotFoundError, NotADirectoryError)):
                    self._folders.pop(name, None)
                else:
                    self._folders[name] = _Folder((0, 0, 0), problem=error.strerror, settled=False)
                continue
            if known.settled and known.state == state:
                continue
            self._folders[name] = self._list(name, state)
            listed += 1
            if listed % FOLDERS_A_TURN == 0:
                yield

    def paths(self, session_id: str) -> list[str]:
        """Return every entry named after that session, in any spelling, in whatever state; sorted."""
        key = session_id.lower()
        return sorted(
            f"{self.projects_dir}/{folder}/{name}"
            for folder, known in self._folders.items()
            for name in known.names.get(key, ())
        )

    def folders(self) -> list[str]:
        """Return the names of the project folders."""
        return list(self._folders)

    def version(self, folder: str) -> int:
        """Return a number that changes when the folder's names may have."""
        known = self._folders.get(folder)
        return known.version if known is not None else 0

    def transcripts(self, folder: str) -> list[str]:
        """Return the names of a folder's transcripts; those of subagents are not there."""
        known = self._folders.get(folder)
        return [name for names in known.names.values() for name in names] if known is not None else []

    @property
    def unreadable(self) -> dict[str, str]:
        """The folders that cannot be listed, and why."""
        return {name: known.problem for name, known in self._folders.items() if known.problem is not None}

    def _names(self) -> list[str]:
        self.problem = None
        try:
            state = _state(self.projects_dir)
            if self._root.settled and state == self._root.state:
                return self._root.names
            now = time.time_ns()
            self.listings += 1
            with os.scandir(self.projects_dir) as entries:
                # A name that is a file, or a link to nothing, shows itself when it is looked at.
                names = [entry.name for entry in entries if not entry.is_file(follow_symlinks=False)]
        except OSError as error:
            self._root = _Root()
            if not isinstance(error, FileNotFoundError):
                self.problem = f"{self.projects_dir} cannot be read: {error.strerror}"
            return []
        self._root = _Root(state, names, _is_settled(state, now))
        return names

    def _list(self, name: str, state: tuple[int, int, int]) -> _Folder:
        now = time.time_ns()
        self.listings += 1
        names: dict[str, tuple[str, ...]] = {}
        try:
            with os.scandir(f"{self.projects_dir}/{name}") as entries:
                for entry in entries:
                    # Older versions keep subagents beside the sessions, as agent-<id>.jsonl.
                    if entry.name.endswith(_SUFFIX) and not entry.name.startswith("agent-"):
                        key = entry.name.removesuffix(_SUFFIX).lower()
                        names[key] = (*names.get(key, ()), entry.name)
        except OSError as error:
            return _Folder(state, problem=error.strerror, settled=False)
        return _Folder(state, names, settled=_is_settled(state, now), version=self.listings)


def _state(path: str) -> tuple[int, int, int]:
    found = os.stat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _is_settled(state: tuple[int, int, int], listed_at: int) -> bool:
    return listed_at - state[2] > COARSE_NS
