"""Keeps transcripts followed while somebody waits for their evidence (driver)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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
