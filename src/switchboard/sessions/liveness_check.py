"""Asks whether a session is live elsewhere, from files and processes as they are at this moment (driver).

Nothing is remembered from one question to the next: the answer decides whether a process is started, so it is asked
again at each step on the way there, the last time (`check_now`) right before the start, with no wait in between.

CLIs rewrite their descriptors in place. A file that is half-written is waited for: until its next change, and only
while its last one is younger than `WRITING_MS`; what has been lying there for longer, nobody is writing. Then the files
that name the session are read a second time, and their processes looked at again: if one was replaced meanwhile, the
question starts over.

A descriptor that no process of our own PID namespace is proven to have written may have been written in another one.
Only then are all processes looked at, once for every such descriptor; a session that no file names costs nothing of it.

Into the folder of a sandbox nobody writes but the processes of that sandbox, and these are in another PID namespace. So
a descriptor in there that gives the figures of a process of our own proves nothing about that process. When all have
been looked at and none elsewhere has these figures, it is a fabrication, and counts for nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from switchboard.clis.background_jobs import job_that_has
from switchboard.clis.descriptor_files import MAX_NAMES, RawFile, descriptor_names, read_raw
from switchboard.clis.descriptors import BACKGROUND, Descriptor
from switchboard.clis.liveness import (
    Background,
    Candidate,
    EvidenceUnavailable,
    LaunchEvidence,
    LiveElsewhere,
    Liveness,
    NotLive,
    Resolved,
    Scheduled,
    Unknown,
    Unproven,
    Vantage,
    decide,
    judge,
)
from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import Clock, Instant
from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan
from switchboard.sessions.schedules import Schedules

WRITING_MS = 2_000
"""An in-place rewrite takes microseconds; a busy machine may stretch it."""

FILES_A_TURN = 200
"""So many files are read (5 ms) before the loop gets a turn."""

ROUNDS = 50
"""A file whose writer changes as often as this while we look gives no answer."""

Excluded = Collection[tuple[int, str]]
"""(number, start) of the processes that the conversation's own terminal runs."""


class WriterSearch(Protocol):
    """One look at all processes, for some descriptors."""

    def run(self) -> Iterator[None]:
        """Look; yields wherever the loop may have a turn. Not run to its end, it proves nothing."""

    def found(self, descriptor: Descriptor) -> Resolved | Unproven:
        """Return the one process that provably wrote it, looked at anew, or why there is none."""

    def is_nobodys(self, descriptor: Descriptor) -> bool:
        """Tell whether every process has been looked at, and none of another PID namespace may have written it."""


class WriterResolver(Protocol):
    """Finds the writers of descriptors among processes of other PID namespaces."""

    def search(self, descriptors: Sequence[Descriptor], vantage: Vantage) -> WriterSearch:
        """Return a look for their writers, still to be run."""


@dataclass(frozen=True, slots=True)
class LivenessSources:
    """Where evidence comes from. `folders`: the descriptor folders, as they are now.

    `launches(pid, start)`: what was recorded of a process that we launched; may raise `EvidenceUnavailable`.
    `resolver`: without one, what is not proven in our own PID namespace stays unresolved.
    `jobs`: the folders in which background jobs are recorded. `sandboxed`: those of `folders` that only the processes
    of one sandbox write to.
    """

    folders: Callable[[], Sequence[str]]
    processes: ProcFs
    schedules: Schedules
    launches: Callable[[int, str], Sequence[LaunchEvidence]]
    resolver: WriterResolver | None = None
    jobs: Callable[[], Sequence[str]] = lambda: ()
    sandboxed: Callable[[], Collection[str]] = lambda: ()


class _Pass:
    """One reading of every folder, for one session."""

    def __init__(self, sources: LivenessSources, session_id: str, excluded: frozenset[tuple[int, str]]) -> None:
        self._sources = sources
        self._key = session_id
        self._excluded = excluded
        self._searches: dict[str, WriterSearch] = {}  # by the path of the file whose writer was looked for
        self._sandboxed: frozenset[str] = frozenset()
        self._fabricated: set[str] = set()
        """The paths of files in sandboxes' folders that give the figures of a process of our own."""
        self.vantage: Vantage = sources.processes.vantage()
        self.candidates: list[Candidate] = []
        self.torn: list[RawFile] = []
        self.unread: list[str] = []

    def run(self) -> Iterator[None]:
        """Read, and look for writers elsewhere; yields wherever the loop may have a turn."""
        count = 0
        self._sandboxed = frozenset(self._sources.sandboxed())
        for folder in self._sources.folders():
            for name in self._names(folder):
                self._take(read_raw(folder, name))
                count += 1
                if count % FILES_A_TURN == 0:
                    yield
        yield from self._search()

    def _search(self) -> Iterator[None]:
        wanted = self._doubtful()
        if not wanted or self._sources.resolver is None:
            return
        descriptors = [one.descriptor for one in wanted if one.descriptor is not None]
        search = self._sources.resolver.search(descriptors, self.vantage)
        yield from search.run()
        self._searches = dict.fromkeys((candidate.path for candidate in wanted), search)
        self.candidates = [
            self._translated(candidate) for candidate in self.candidates if not self._is_fabricated(candidate)
        ]

    def _doubtful(self) -> list[Candidate]:
        """Return the candidates whose writer may be in another namespace, as far as that can change the answer."""
        verdicts = [(candidate, judge(candidate, self.vantage, self._excluded)[0]) for candidate in self.candidates]
        kinds = {_kind(candidate) for candidate, verdict in verdicts if verdict == "live"}
        if BACKGROUND in kinds:
            return []
        unresolved = [
            candidate
            for candidate, verdict in verdicts
            if verdict == "unresolved" and candidate.descriptor is not None and candidate.descriptor.proc_start
        ]
        return [candidate for candidate in unresolved if not kinds or _kind(candidate) == BACKGROUND]

    def _translated(self, candidate: Candidate) -> Candidate:
        search = self._searches.get(candidate.path)
        if search is None or candidate.descriptor is None:
            return candidate
        return replace(candidate, resolved=search.found(candidate.descriptor))

    def _is_fabricated(self, candidate: Candidate) -> bool:
        search = self._searches.get(candidate.path)
        if search is None or candidate.descriptor is None or candidate.path not in self._fabricated:
            return False
        return search.is_nobodys(candidate.descriptor)

    def _names(self, folder: str) -> list[str]:
        try:
            names = descriptor_names(folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            self.unread.append(f"the folder {folder} cannot be read ({error.strerror}); make it readable")
            return []
        if len(names) >= MAX_NAMES:
            self.unread.append(f"the folder {folder} holds too many descriptors; delete those of ended processes")
        return names

    def _take(self, file: RawFile | None) -> None:
        if file is None:
            return
        if file.problem is not None:
            self.unread.append(f"{file.path} cannot be read ({file.problem}) and may name this session; remove it")
        elif file.torn:
            self.torn.append(file)
        elif file.concerns(self._key):
            self.candidates.append(self._examine(file))

    def _examine(self, file: RawFile) -> Candidate:
        """Look at what has the number of a file that names the session."""
        descriptor = file.descriptor
        if descriptor is None:
            return Candidate(file.path, None)
        process = self._sources.processes.facts(descriptor.pid)
        found = Candidate(file.path, descriptor, process)
        if os.path.dirname(file.path) in self._sandboxed:
            if judge(found, self.vantage)[0] != "unresolved":
                self._fabricated.add(file.path)
            found = Candidate(file.path, descriptor)
        if judge(found, self.vantage)[0] != "unresolved" or descriptor.proc_start is None:
            return found
        try:
            launches = tuple(self._sources.launches(descriptor.pid, descriptor.proc_start))
        except EvidenceUnavailable:
            launches = ()  # no proof of death is to be had from it
        return replace(found, launches=launches)

    def is_live(self) -> bool:
        """Whether a refusal is certain already, whatever the rest says."""
        return any(judge(candidate, self.vantage, self._excluded)[0] == "live" for candidate in self.candidates)

    def still_holds(self) -> bool:
        """Read what named the session again: the same writers, in the same state of proof?"""
        for candidate in self.candidates:
            file = read_raw(*os.path.split(candidate.path))
            if file is None or file.problem is not None or file.torn or not file.concerns(self._key):
                return False
            again = self._translated(self._examine(file))
            if _essence(again) != _essence(candidate):
                return False
        return True

    def verdict(self) -> Liveness:
        torn = [
            f"{file.path} is no complete JSON and may name this session; remove it if nothing writes it any more"
            for file in self.torn
        ]
        return decide(None, self.candidates, [*self.unread, *torn], self.vantage, self._excluded)


class LivenessCheck:
    """The question, for one host."""

    def __init__(self, sources: LivenessSources, watcher: FolderWatcher, clock: Clock) -> None:
        self._sources = sources
        self._watcher = watcher
        self._clock = clock

    async def check(self, session_id: str, deadline: Instant, exclude: Excluded = ()) -> Liveness:
        """Return whether the session is live elsewhere; unknown when that is not certain by `deadline`."""
        key = session_id.lower()
        for _ in range(ROUNDS):
            if (run := self._sources.schedules.find(key)) is not None:
                return Scheduled(run)
            look = _Pass(self._sources, key, frozenset(exclude))
            for _turn in look.run():
                await asyncio.sleep(0)
                if self._clock.now() >= deadline:
                    if look.is_live():
                        break
                    return Unknown("not everything could be looked at in time; try again with a longer timeout")
            writing = [] if look.is_live() else self._being_written(look.torn)
            if writing and self._clock.now() < deadline:
                await self._changed(writing, deadline)
            elif look.still_holds():
                return self._answer(look, key)
        return Unknown(f"the descriptor of session {key} changes all the time; try again when it is quiet")

    def check_now(self, session_id: str, exclude: Excluded = ()) -> Liveness:
        """Return the same without any wait, for the moment before a start: a half-written file makes it unknown."""
        key = session_id.lower()
        if (run := self._sources.schedules.find(key)) is not None:
            return Scheduled(run)
        look = _Pass(self._sources, key, frozenset(exclude))
        for _turn in look.run():
            pass
        if not look.still_holds():
            return Unknown(f"the descriptor of session {key} changed while it was looked at; try again")
        return self._answer(look, key)

    def _answer(self, look: _Pass, key: str) -> Liveness:
        # A run may have been registered while files were read.
        if (run := self._sources.schedules.find(key)) is not None:
            return Scheduled(run)
        verdict = look.verdict()
        if isinstance(verdict, (LiveElsewhere, Background)):
            return verdict
        # A conversation on its way into the background has no process yet, and none may be started for it.
        job = job_that_has(self._sources.jobs, key)
        if isinstance(job, Background) or (job is not None and isinstance(verdict, NotLive)):
            return job
        return verdict

    def _being_written(self, torn: Sequence[RawFile]) -> list[RawFile]:
        now = self._clock.now()
        # A file from the future was not written just now; its clock is another one.
        return [file for file in torn if 0 <= now - file.modified_at < WRITING_MS]

    async def _changed(self, files: Sequence[RawFile], deadline: Instant) -> None:
        """Return when one of these files changes, or when waiting for it is no use any more."""
        changed = asyncio.Event()
        names = {file.path for file in files}
        until = min(deadline, max(file.modified_at for file in files) + WRITING_MS)
        with ExitStack() as stack:
            timer = self._clock.call_at(until, changed.set)
            stack.callback(timer.cancel)
            for folder in {os.path.dirname(name) for name in names}:

                def heard(event: FolderEvent | Rescan, folder: str = folder) -> None:
                    if isinstance(event, Rescan) or f"{folder}/{event.name}" in names:
                        changed.set()

                try:
                    stack.callback(self._watcher.watch(folder, heard).close)
                except OSError:
                    continue  # without events the timer decides
            # It may have been completed before anybody watched.
            if any(_is_torn(file) for file in files):
                await changed.wait()


def _kind(candidate: Candidate) -> str | None:
    return candidate.descriptor.kind if candidate.descriptor is not None else None


def _is_torn(file: RawFile) -> bool:
    now = read_raw(*os.path.split(file.path))
    return now is not None and now.torn


def _essence(candidate: Candidate) -> object:
    """What must not change while a candidate is looked at; its status may."""
    identity = candidate.descriptor.identity if candidate.descriptor is not None else None
    return identity, replace(candidate.process, ancestry=()), candidate.launches, candidate.resolved
