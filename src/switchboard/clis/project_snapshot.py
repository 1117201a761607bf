"""The one place that says which projects there are, for pages and triggers alike (driver).

What transcripts record is remembered: a directory that was believed once is believed as long as that file is there.
Of a folder only a few transcripts are looked into until one tells its directory; when somebody asks for a project that
none of them names, the rest of the folders that could be its own are read as well (two directories can share a folder).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence

from switchboard.clis.projects import (
    Admission,
    ProjectMark,
    ProjectSnapshot,
    SnapshotUnavailable,
    UnknownProject,
    admission,
    assemble,
    may_be_of,
    project_of,
)
from switchboard.clis.session_lookup import Indexes, refreshed
from switchboard.clis.transcript_files import probe_transcript
from switchboard.common.clock import FOREVER, Clock, Instant

PROBES = 8
"""So many transcripts of one folder are asked for its directory. Nearly always the first one answers."""

PROBES_A_TURN = 20
"""So many transcripts are looked into (up to 20 ms) before the loop gets a turn."""


class MarksUnavailable(Exception):
    """What people have said about projects cannot be read. The text says what to do."""


class ProjectSnapshots:
    """Takes snapshots. `marks()` returns what people have said, all of one moment, or raises `MarksUnavailable`."""

    def __init__(self, indexes: Indexes, marks: Callable[[], Sequence[ProjectMark]], clock: Clock) -> None:
        self._indexes = indexes
        self._marks = marks
        self._clock = clock
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._lock = asyncio.Lock()

    async def take(self, deadline: Instant = FOREVER) -> ProjectSnapshot | SnapshotUnavailable:
        """Return all projects as they are now."""
        async with self._lock:
            return await self._taken(deadline)

    def take_now(self) -> ProjectSnapshot | SnapshotUnavailable:
        """Return the same without giving the loop a turn, for commands."""
        for _turn in self._probed():
            pass
        return self._assembled()

    async def admit(self, project: str, directory: str, deadline: Instant) -> Admission:
        """Return whether a session may be opened in a project; `directory`: where it is to run."""
        async with self._lock:
            return await self._admit(await self._taken(deadline), project, directory, deadline)

    async def admit_resume(self, cwd: str, deadline: Instant) -> Admission:
        """Return whether a session may be resumed in its recorded directory; a worktree counts as its repository."""
        async with self._lock:
            snapshot = await self._taken(deadline)
            if isinstance(snapshot, SnapshotUnavailable):
                return snapshot
            return await self._admit(snapshot, project_of(cwd, snapshot.marks, os.path.isdir), cwd, deadline)

    async def _taken(self, deadline: Instant) -> ProjectSnapshot | SnapshotUnavailable:
        return self._assembled() if await self._prepared(self._probed(), deadline) else _LATE

    async def _admit(
        self, snapshot: ProjectSnapshot | SnapshotUnavailable, project: str, directory: str, deadline: Instant
    ) -> Admission:
        answer = admission(snapshot, project, directory, os.path.isdir)
        if isinstance(answer, UnknownProject):
            if not await self._prepared(self._searched(project), deadline):
                return _LATE
            answer = admission(self._assembled(), project, directory, os.path.isdir)
        return answer

    # --- from the disk ---

    async def _prepared(self, work: Iterator[None], deadline: Instant) -> bool:
        for _turn in work:
            await asyncio.sleep(0)
            if self._clock.now() >= deadline:
                return False
        return True

    def _assembled(self) -> ProjectSnapshot | SnapshotUnavailable:
        problems = [index.problem for index in self._indexes.values() if index.problem is not None]
        if problems:
            return SnapshotUnavailable(problems[0])
        try:
            marks = self._marks()
        except MarksUnavailable as error:
            return SnapshotUnavailable(str(error))
        unread = [name for index in self._indexes.values() for name in index.unreadable]
        unread += [folder for (_, folder), seen in self._seen.items() if seen.unread]
        found = [directory for seen in self._seen.values() for directory in seen.directories]
        return assemble(found, marks, os.path.isdir, unread)

    def _probed(self) -> Iterator[None]:
        """Bring what is known of directories up to date: a few transcripts of each folder."""
        yield from refreshed(self._indexes)
        found: dict[tuple[str, str], _Seen] = {}
        for index in self._indexes.values():
            for folder in index.folders():
                seen = self._seen.get((index.projects_dir, folder)) or _Seen(-1)
                version = index.version(folder)
                if seen.version != version:
                    seen = seen.renew(version, index.transcripts(folder))
                found[index.projects_dir, folder] = seen
                yield from seen.ask(f"{index.projects_dir}/{folder}")
        self._seen = found

    def _searched(self, project: str) -> Iterator[None]:
        """Look into every transcript of the folders that could be those of a project."""
        for (projects_dir, folder), seen in self._seen.items():
            if may_be_of(project, folder):
                yield from seen.ask_all(f"{projects_dir}/{folder}")


class _Seen:
    """What the transcripts of one folder have told, by their names.

    `told`: the directory. `failed`: when a file that told none was written, None for one that could not be read.
    `rest`: not asked, because others had answered.
    """

    def __init__(self, version: int) -> None:
        self.version = version
        self.told: dict[str, str] = {}
        self.failed: dict[str, int | None] = {}
        self.rest: list[str] = []
        self._new: list[str] = []
        self._again = False

    def renew(self, version: int, names: Sequence[str]) -> _Seen:
        """Return the same for the names that the folder has now."""
        there = set(names)
        seen = _Seen(version)
        seen.told = {name: told for name, told in self.told.items() if name in there}
        seen.failed = {name: at for name, at in self.failed.items() if name in there}
        seen.rest = [name for name in self.rest if name in there]
        known = {*seen.told, *seen.failed, *seen.rest}
        seen._new = [name for name in names if name not in known]
        # A file that has come since the first look is always asked: it can be another directory's of the same folder.
        seen._again = bool(known)
        return seen

    @property
    def directories(self) -> set[str]:
        """Every directory that was told."""
        return set(self.told.values())

    @property
    def unread(self) -> bool:
        """Whether it has told nothing, and something in it cannot be read."""
        return not self.told and None in self.failed.values()

    def ask(self, folder: str) -> Iterator[None]:
        """Look into a few transcripts; yields when that was slow."""
        for name in self._new:
            if self.told and not self._again:
                self.rest.append(name)
            else:
                self._look(folder, name)
        self._new = []
        for _ in range(PROBES):
            if self.told or not self.rest:
                break
            self._look(folder, self.rest.pop(0))
        if not self.told:
            self._look_again(folder)
            yield

    def ask_all(self, folder: str) -> Iterator[None]:
        """Look into every transcript that has told nothing yet."""
        while self.rest:
            self._look(folder, self.rest.pop())
            if len(self.rest) % PROBES_A_TURN == 0:
                yield
        self._look_again(folder)

    def _look_again(self, folder: str) -> None:
        for name, written_at in list(self.failed.items()):
            if written_at is None or _written_at(f"{folder}/{name}") != written_at:
                self._look(folder, name)

    def _look(self, folder: str, name: str) -> None:
        written_at: int | None = _written_at(f"{folder}/{name}")
        try:
            told = probe_transcript(f"{folder}/{name}").cwd.cwd
        except FileNotFoundError:
            return
        except OSError:
            told, written_at = None, None
        if told is not None:
            self.told[name] = told
            self.failed.pop(name, None)
        else:
            self.failed[name] = written_at


_LATE = SnapshotUnavailable("the project folders could not all be read in time")


def _written_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
