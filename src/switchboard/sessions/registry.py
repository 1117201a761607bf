"""All sessions of the host: opened through the keeper, adopted from it, found by id (driver)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from switchboard.clis.profiles import PROFILES, SHELL, CliProfile
from switchboard.common.clock import FOREVER, Clock, Instant
from switchboard.common.facts import Log
from switchboard.sessions import keeper_client
from switchboard.sessions.keeper_client import ExitReport, Holding, KeeperClient, KeeperError, KeeperGoneError
from switchboard.sessions.labels import Label, decode_label, encode_label
from switchboard.sessions.launch import LaunchPlan
from switchboard.sessions.session import Session, SessionHooks

MAX_EXITED = 50
"""Ended sessions whose last screen stays readable; the oldest goes first."""


class Listener(Protocol):
    """Who wants to know of sessions: pages, the status binding."""

    def session_changed(self, session: Session) -> None: ...
    def session_printed(self, session: Session) -> None: ...
    def session_removed(self, session: Session) -> None: ...


class OpenError(Exception):
    """A session could not be opened. The text says why and what to do.

    `uncertain`: the keeper went away while it was starting it, so it may have been started.
    """

    def __init__(self, text: str, *, uncertain: bool = False) -> None:
        super().__init__(text)
        self.uncertain = uncertain


class Registry:
    """The sessions of one host. `folder` is the private runtime folder where the keeper's socket lives."""

    def __init__(self, folder: str, clock: Clock, log: Log) -> None:
        self._folder = folder
        self._clock = clock
        self._log = log
        self._sessions: dict[int, Session] = {}
        self._listeners: list[Listener] = []
        self._keeper = KeeperClient(self._child_exited, self._keeper_lost)
        self._keeper_lock = asyncio.Lock()
        self._closing = False
        self.transcripts: Callable[[Session], AbstractContextManager[None]] = lambda _session: nullcontext()
        self.on_keeper_lost: Callable[[], None] = lambda: None
        self.on_interrupted: Callable[[Session], None] = lambda _session: None
        self.outlived: Callable[[Session], bool] = lambda _session: False
        """Whether the CLI of a session has ended while its terminal goes on."""

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every change from now on."""
        self._listeners.append(listener)

    # --- look-ups ---

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def by_handle(self, handle: int) -> Session | None:
        """Return the session with the keeper's number `handle`."""
        return self._sessions.get(handle)

    def find(self, session_id: str) -> Session | None:
        """Return the open session that has this id, or else the newest open one that had it before."""
        wanted = session_id.lower()
        had_it = None
        for session in reversed(self._sessions.values()):
            if session.exit is None:
                if session.key == wanted:
                    return session
                if had_it is None and wanted in session.label.past:
                    had_it = session
        return had_it

    # --- life ---

    async def connect(self) -> None:
        """Reach or start the keeper and adopt what it holds. Raises `KeeperError`."""
        async with self._keeper_lock:
            if self._keeper.connected:
                return
            holdings = await self._keeper.connect(self._folder)
            handed = {holding.handle: holding for holding in holdings}
            orphans = []
            for session in [session for session in self if session.exit is None]:
                same = handed.pop(session.handle, None)
                if same is None:
                    orphans.append(session)
                    continue
                # Only the connection was lost: it is the session that we have, and here are its descriptors once more.
                same.close()
                if same.exit is not None:
                    self._child_exited(session.handle, same.exit)
            for holding in handed.values():
                self._adopt(holding)
            for session in orphans:
                # The previous keeper died under it; we still have its terminal.
                self._keeper.adopt(session.holding)

    def _adopt(self, holding: Holding) -> None:
        label = decode_label(holding.ring.load_label())
        if label is None or label.profile not in PROFILES:
            self._log.warning(f"session {holding.handle} has an unreadable label; it is shown as a plain terminal")
            label = Label(f"unknown-{holding.handle}", SHELL.name, "/", 0, holding.started_at, composer={})
        self._add(holding, PROFILES[label.profile], label, adopted=True)
        if holding.exit is not None:
            self._forget(holding.handle)

    async def open(
        self,
        profile: CliProfile,
        plan: LaunchPlan,
        session_id: str,
        launch: str,
        name: str | None,
        project: str | None,
        last_look: Callable[[], None] = lambda: None,
        opened_by: str | None = None,
        deadline: Instant = FOREVER,
        sandbox: str | None = None,
    ) -> Session:
        """Start a session and return it. Raises `OpenError`.

        `sandbox`: it starts in one, and this is the folder of its descriptors; empty: they go into the shared folder.

        `last_look` is called right before the keeper is told to start it, with no wait in between; what it raises ends
        the attempt, and nothing is started. At `deadline` or later the keeper starts nothing, whatever kept it, nor
        when nobody waits for it any more.
        """
        try:
            await self.connect()
        except (KeeperError, TimeoutError) as error:
            raise OpenError(str(error) or "the session keeper did not answer in time") from error
        last_look()
        label = Label(
            key=session_id.lower(),
            profile=profile.name,
            cwd=plan.cwd,
            generation=self._next_generation(),
            launched_at=self._clock.now(),
            launch=launch,
            project=project,
            name=name,
            columns=plan.columns,
            rows=plan.rows,
            opened_by=opened_by,
            sandbox=sandbox is not None,
            descriptors=sandbox or None,
        )
        until = int(min(deadline, self._clock.now() + keeper_client.SPAWN_SECONDS * 1000))
        try:
            holding = await self._keeper.spawn(
                plan.argv, plan.cwd, plan.environment, plan.columns, plan.rows, encode_label(label), until
            )
        except KeeperError as error:
            raise OpenError(str(error), uncertain=isinstance(error, KeeperGoneError)) from error
        return self._add(holding, profile, label, adopted=False)

    def _next_generation(self) -> int:
        return max([self._clock.now(), *(session.generation + 1 for session in self)])

    def _add(self, holding: Holding, profile: CliProfile, label: Label, adopted: bool) -> Session:
        hooks = SessionHooks(
            self._changed, self._printed, self._failed, self._follow_transcript, self._interrupted, self._is_outlived
        )
        session = Session(holding, profile, label, self._clock, hooks, adopted)
        if (ended := self._sessions.get(holding.handle)) is not None:
            self.remove(ended)  # a new keeper gives out the numbers of sessions that had ended under the one before
        self._sessions[holding.handle] = session
        session.start()
        self._changed(session)
        self._drop_old_exited()
        return session

    def _follow_transcript(self, session: Session) -> AbstractContextManager[None]:
        return self.transcripts(session)

    def _is_outlived(self, session: Session) -> bool:
        return self.outlived(session)

    def _interrupted(self, session: Session) -> None:
        self.on_interrupted(session)

    def remove(self, session: Session) -> None:
        """Drop a session that has exited from the list."""
        if self._sessions.pop(session.handle, None) is not None:
            for listener in self._listeners:
                self._tell(listener.session_removed, session)
            session.close()

    def _drop_old_exited(self) -> None:
        exited = [session for session in self if session.exit is not None]
        for session in exited[:-MAX_EXITED]:
            self.remove(session)

    def close(self) -> None:
        """Leave every running session to the keeper."""
        self._closing = True
        for session in self:
            session.detach()
        self._keeper.close()
        for session in self:
            session.close()
        self._sessions.clear()

    # --- the keeper's reports ---

    def _child_exited(self, handle: int, report: ExitReport) -> None:
        session = self._sessions.get(handle)
        if session is None:
            return
        session.exited(report)
        self._forget(handle)
        self._drop_old_exited()

    def _forget(self, handle: int) -> None:
        """The keeper need not hold an ended session any longer: its last output is in our copy."""
        with contextlib.suppress(KeeperError):
            self._keeper.forget(handle)

    def _keeper_lost(self) -> None:
        if self._closing:
            return
        self._log.error("the session keeper has gone; sessions go on, and a new keeper takes them over")
        self.on_keeper_lost()

    # --- what sessions report ---

    def _changed(self, session: Session) -> None:
        for listener in self._listeners:
            self._tell(listener.session_changed, session)

    def _printed(self, session: Session) -> None:
        for listener in self._listeners:
            self._tell(listener.session_printed, session)

    def _failed(self, session: Session, error: Exception) -> None:
        self._log.error(f"session {session.handle}: following it failed: {type(error).__name__}: {error}")

    def _tell(self, callback: Callable[[Session], None], session: Session) -> None:
        """One listener's or session's fault must not reach another session."""
        try:
            callback(session)
        except Exception as error:  # noqa: BLE001 - the boundary between sessions
            self._log.error(f"session {session.handle}: {type(error).__name__}: {error}")
