"""Keeps the evidence of one session's transcript current while somebody waits for it (driver).

A transcript exists only after the first prompt, in a folder that cannot always be known beforehand; it moves when the
session moves into a worktree, and `/clear` goes on under another id in another file. So while the file is missing, the
projects folder and the folders in it are watched for its name; once it is found, only its own folder and the projects
folder are. Each change is read in the next loop turn, and only what was added.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Self

from switchboard.clis.transcript_files import TranscriptTail, find_transcript, folder_of, newest_folders
from switchboard.common.facts import Log, TurnEvidence
from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan, Watch

MAX_FOLDERS = 200
"""While the file is missing, so many folders are watched for it, those changed last first."""

Publish = Callable[[TurnEvidence | None], None]


class _Unwatched:
    """Stands for a folder that could not be watched, so that it is complained of once."""

    def close(self) -> None:
        """Nothing was opened."""


class TranscriptWatch:
    """While entered, tells `publish` what the transcript of one session shows, None while there is nothing to read.

    `cwd` is the session's directory if it is known: the folder that belongs to it is looked into first. Belongs to one
    event loop; publishes once on entering, then after each change.
    """

    def __init__(
        self,
        projects_dir: str,
        session_id: str,
        watcher: FolderWatcher,
        publish: Publish,
        log: Log,
        cwd: str | None = None,
    ) -> None:
        self._projects_dir = projects_dir
        self._session_id = session_id
        self._watcher = watcher
        self._publish = publish
        self._log = log
        self._preferred = (folder_of(cwd),) if cwd else ()
        self._watches: dict[str, Watch] = {}
        self._tail: TranscriptTail | None = None
        self._entered = False
        self._scheduled = False

    def __enter__(self) -> Self:
        self._entered = True
        self.refresh()
        return self

    def __exit__(self, *_: object) -> None:
        self._entered = False
        self._cover(())
        self._tail = None

    @property
    def path(self) -> str | None:
        """The transcript's path, None while it has not been found."""
        return self._tail.path if self._tail else None

    def follow(self, session_id: str) -> None:
        """Turn to another id: the session goes on under it."""
        if session_id.lower() == self._session_id.lower():
            return
        self._session_id = session_id
        self._tail = None
        if self._entered:
            self.refresh()

    def refresh(self) -> None:
        """Look now and publish. For a caller that has a reason to believe that an event was lost."""
        self._scheduled = False
        if not self._entered:
            return
        evidence = self._tail.read() if self._tail else None
        if evidence is None:
            evidence = self._search()
        self._publish(evidence)

    def _search(self) -> TurnEvidence | None:
        """Find the file, watch where it is or may appear, and read it."""
        path = self._find()
        if path is None:
            self._cover(newest_folders(self._projects_dir, MAX_FOLDERS, self._preferred))
            path = self._find()  # it may have appeared before its folder was watched
        if path is None:
            self._tail = None
            return None
        self._cover((os.path.dirname(path),))
        self._tail = TranscriptTail(path)
        return self._tail.read()

    def _find(self) -> str | None:
        return find_transcript(self._projects_dir, self._session_id, self._preferred)

    def _cover(self, folders: tuple[str, ...]) -> None:
        """Watch the projects folder and exactly these folders in it; nothing when not entered."""
        wanted = (self._projects_dir, *folders) if self._entered else ()
        for folder in [folder for folder in self._watches if folder not in wanted]:
            self._watches.pop(folder).close()
        for folder in wanted:
            if folder in self._watches:
                continue
            try:
                self._watches[folder] = self._watcher.watch(folder, partial(self._on_event, folder))
            except OSError as error:
                # One folder that cannot be watched leaves the others useful, and `refresh` still reads.
                self._log.warning(f"cannot watch {folder}: {error.strerror}")
                self._watches[folder] = _Unwatched()

    def _on_event(self, folder: str, event: FolderEvent | Rescan) -> None:
        if isinstance(event, Rescan) or self._concerns(folder, event.name):
            self._schedule()

    def _concerns(self, folder: str, name: str) -> bool:
        if folder != self._projects_dir:
            return name.lower() == f"{self._session_id.lower()}.jsonl"
        # A new folder may be the one; of those there are, only the file's own matters.
        return self._tail is None or os.path.dirname(self._tail.path) == f"{folder}/{name}"

    def _schedule(self) -> None:
        if self._entered and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.refresh)
