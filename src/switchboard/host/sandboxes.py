"""What this host has to do with the sandboxes of its sessions (driver): what they are made with, and what they leave.

Every sandboxed start has a folder for its descriptors. It goes when the session has ended and no living process can
have written what is in it: descriptors are what keeps a session from being opened a second time. That is looked at
when the process has been reaped and some times more soon after, since what a killed sandbox held ends a moment later
than the sandbox itself; then once more when the next host starts.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial

from switchboard.common.clock import Clock, sleep_until
from switchboard.common.facts import Log
from switchboard.common.tasks import supervise
from switchboard.host.sandbox_folders import SandboxFolders
from switchboard.sessions.sandbox_start import SandboxPlace
from switchboard.sessions.session import Session
from switchboard.triggers.spool import Spool

RETRIES_MS = (100, 400, 1_600, 6_400)


class Sandboxes:
    """Those of one host; all folders are absolute. A listener of the registry."""

    def __init__(
        self, folders: SandboxFolders, triggers_dir: str, data_dir: str, runtime_dir: str, clock: Clock, log: Log
    ) -> None:
        self._folders = folders
        self._triggers = Spool(triggers_dir)
        self._data_dir = data_dir
        self._runtime_dir = runtime_dir
        self._clock = clock
        self._log = log
        self._start: Callable[[str, Callable[[], Awaitable[None]]], None] | None = None
        """Starts a named task while folders are tended."""
        self._ended: set[int] = set()
        self._leaving: set[str] = set()
        """Folders of sessions that have ended."""

    # --- starts ---

    def place(self, project_folder: str, binds: Iterable[str]) -> SandboxPlace:
        """Return what a sandbox is made with. Nothing is made yet."""
        return SandboxPlace(
            triggers_dir=self._triggers.folder,
            data_dir=self._data_dir,
            runtime_dir=self._runtime_dir,
            sessions_dir=self._folders.of(str(uuid.uuid4())),
            project_folder=project_folder,
            binds=tuple(binds),
            platform=sys.platform,
        )

    def prepare(self, place: SandboxPlace, home: str | None) -> None:
        """Make what has to be there before the sandbox is: what is missing cannot be protected. Raises OSError.

        `home`: the CLI's own folder, None when that is not to be made.
        """
        self._triggers.prepare()
        try:
            self._folders.make(place.sessions_dir, home)
        except OSError as error:
            self.withdraw(place)
            where = error.filename or place.sessions_dir
            raise OSError(
                f"{where} cannot be made for the sandbox: {error.strerror}; look at its owner and mode, and at the disk"
            ) from error

    def withdraw(self, place: SandboxPlace) -> None:
        """The start came to nothing."""
        try:
            self._folders.drop(place.sessions_dir)
        except OSError as error:
            self._log.warning(f"the folder {place.sessions_dir} is left: {error}")

    def folders(self) -> list[str]:
        """Return the descriptor folders as they are now."""
        return self._folders.everyone()

    # --- ends ---

    @asynccontextmanager
    async def tended(self, adopted: Iterable[Session]) -> AsyncIterator[None]:
        """While entered, folders go when they are not needed any more. At first those that no adopted session uses."""
        in_use = {session.label.descriptors for session in adopted if session.exit is None}
        tasks: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as group:

            def start(name: str, work: Callable[[], Awaitable[None]]) -> None:
                task = supervise(group, name, work, self._log)
                tasks.add(task)
                task.add_done_callback(tasks.discard)

            self._start = start
            if left := self._folders.others(in_use):
                start("sweep of left sandboxes", partial(self._sweep, left))
            try:
                yield
            finally:
                self._start = None
                for task in tasks:
                    task.cancel()
                # A host that ends its sessions and itself leaves nothing behind, if that can be had at once.
                for folder in list(self._leaving):
                    self._retired(folder)

    async def _sweep(self, folders: Iterable[str]) -> None:
        for folder in folders:
            await asyncio.to_thread(self._retired, folder)

    def _retired(self, folder: str) -> bool:
        """Remove it if that may be; tell whether there is no more to be done about it."""
        try:
            done = self._folders.retire(folder)
        except OSError as error:
            self._log.warning(f"the folder {folder} is left: {error}")
            done = True
        if done:
            self._leaving.discard(folder)
        return done

    async def _after(self, folder: str) -> None:
        for pause in (0, *RETRIES_MS):
            if pause:
                await sleep_until(self._clock, self._clock.now() + pause)
            if await asyncio.to_thread(self._retired, folder):
                return
        self._leaving.discard(folder)
        self._log.warning(f"the folder {folder} is left: a process that is named in it may still run")

    def session_changed(self, session: Session) -> None:
        folder = session.label.descriptors
        if session.exit is None or not folder or session.handle in self._ended or self._start is None:
            return
        self._ended.add(session.handle)
        self._leaving.add(folder)
        self._start(f"end of the sandbox of session {session.handle}", partial(self._after, folder))

    def session_printed(self, session: Session) -> None:
        """Output leaves nothing."""

    def session_removed(self, session: Session) -> None:
        self._ended.discard(session.handle)
