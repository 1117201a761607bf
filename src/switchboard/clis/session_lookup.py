"""Finds the transcript of a closed session, and reads as much of it as the answer takes (driver)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from switchboard.clis.closed_sessions import (
    ClosedOutcome,
    ClosedSession,
    FoundTranscript,
    NoReadableTranscript,
    closed_outcome,
    same_session,
)
from switchboard.clis.transcript_files import probe_transcript
from switchboard.clis.transcript_index import TranscriptIndex
from switchboard.common.clock import Clock, Instant

Indexes = Mapping[str, TranscriptIndex]
"""The index of each profile that keeps transcripts, by the profile's name."""


class SessionLookup:
    """Looks up closed sessions. `known(session_id)`: whether one was ever named, launched or open here.

    `remaps`: directories that a person has recorded for folders, by the folder's name.
    """

    def __init__(
        self,
        indexes: Indexes,
        clock: Clock,
        known: Callable[[str], bool] = lambda _session_id: False,
        remaps: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._indexes = indexes
        self._clock = clock
        self._known = known
        self._remaps = remaps

    async def resolve(self, session_id: str, deadline: Instant) -> ClosedOutcome:
        """Return what a session that is not open is. `session_id`: a UUID, in either letter case."""
        for _turn in refreshed(self._indexes):
            await asyncio.sleep(0)
            if self._clock.now() >= deadline:
                return NoReadableTranscript("the project folders could not all be listed in time")
        return self._outcome(session_id.lower())

    def recheck(self, session: ClosedSession) -> ClosedOutcome:
        """Return the session when it is still in the same file and directory, else what it is now; waits for nothing.

        For the moment before a start. A session that moved to another file or directory is refused.
        """
        for _turn in refreshed(self._indexes):
            pass
        now = self._outcome(session.session_id)
        if isinstance(now, ClosedSession) and not same_session(session, now):
            return NoReadableTranscript(f"the transcript {session.path} was replaced meanwhile")
        return now

    def _outcome(self, session_id: str) -> ClosedOutcome:
        found = [
            self._look(profile, path) for profile, index in self._indexes.items() for path in index.paths(session_id)
        ]
        unread = list(unreadable(self._indexes.values())) if not found else []
        return closed_outcome(session_id, found, known=not found and self._known(session_id), unread=unread)

    def _look(self, profile: str, path: str) -> FoundTranscript:
        remap = self._remaps().get(os.path.basename(os.path.dirname(path)))
        try:
            probe = probe_transcript(path, remap)
        except OSError as error:
            return FoundTranscript(profile, path, problem=error.strerror or str(error))
        stem = os.path.basename(path).removesuffix(".jsonl")
        if stem != stem.lower():
            return FoundTranscript(profile, path, problem="its name is not in lower case, so the CLI does not find it")
        if not probe.usable:
            return FoundTranscript(profile, path, problem="there is no row in it")
        return FoundTranscript(profile, path, probe.identity, probe.cwd.cwd)


def refreshed(indexes: Indexes) -> Iterator[None]:
    """Bring every index up to date; yields wherever the loop may have a turn."""
    for index in indexes.values():
        yield from index.refresh()


def unreadable(indexes: Iterable[TranscriptIndex]) -> Iterator[str]:
    """Say what could not be listed."""
    for index in indexes:
        if index.problem is not None:
            yield index.problem
        for folder, why in index.unreadable.items():
            yield f"{index.projects_dir}/{folder}: {why}"
