"""Keeps transcripts followed while somebody waits for their evidence (driver)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from switchboard.clis.transcript_search import entries_since
from switchboard.clis.transcript_watch import TranscriptWatch
from switchboard.common.facts import Log
from switchboard.common.folder_watch import FolderWatcher
from switchboard.sessions.session import Session


class TranscriptService:
    """Follows the transcripts of hosted sessions, each at most once. `environment` locates their folders."""

    def __init__(self, watcher: FolderWatcher, environment: Mapping[str, str], log: Log) -> None:
        self._watcher = watcher
        self._environment = environment
        self._log = log
        self._followed: dict[int, tuple[TranscriptWatch, int]] = {}

    @contextmanager
    def follow(self, session: Session) -> Iterator[None]:
        """While entered, `session.facts` carries its transcript's evidence."""
        projects = session.profile.projects_dir(self._environment)
        if projects is None:
            yield
            return
        watch, users = self._followed.get(session.handle, (None, 0))
        if watch is None:
            watch = TranscriptWatch(
                projects, session.key, self._watcher, session.observed_transcript, self._log, session.label.cwd
            )
            watch.__enter__()
        self._followed[session.handle] = (watch, users + 1)
        try:
            yield
        finally:
            watch, users = self._followed[session.handle]
            if users > 1:
                self._followed[session.handle] = (watch, users - 1)
            else:
                del self._followed[session.handle]
                watch.__exit__(None, None, None)
                session.observed_transcript(None)

    async def search(self, session: Session) -> None:
        """Look for what a delivery has left in the transcript as far back as its Enter, and tell the session.

        A following reader begins with the last window, and much more may have been written since. To be awaited while
        the session is followed. Other work has its turn after each window.
        """
        followed = self._followed.get(session.handle)
        path = None if followed is None else followed[0].path
        if path is None:
            return
        with closing(entries_since(path, session.label.delivery_at)) as found:
            for evidence in found:
                session.observed_entries(evidence)
                await asyncio.sleep(0)
                if session.interrupted is None or session.exit is not None:
                    return

    # --- listener of the registry ---

    def session_changed(self, session: Session) -> None:
        """A session that goes on under another id is followed there."""
        followed = self._followed.get(session.handle)
        if followed is not None:
            followed[0].follow(session.key)

    def session_printed(self, session: Session) -> None:
        """Output says nothing about a transcript."""

    def session_removed(self, session: Session) -> None:
        """Whoever follows it ends by itself."""
