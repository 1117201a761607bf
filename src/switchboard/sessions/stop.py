"""Ending a session (driver): the one backend of every Stop, by a person, a command or a trigger.

Theory of operation. A session is asked to end as the system does it when a terminal is closed: by a hang-up, followed
by SIGCONT, because a program that somebody has stopped hears nothing. (A shell that waits for its child ignores
SIGTERM.) One is asked after the other, from the inside out:

1. The process that owns the conversation, while it lives, and nobody else: it ends cleanly and takes its files away,
   and signalling what it runs in (a sandbox) would kill it hard.
2. Else what runs in the terminal's foreground: a program in a shell, an agent that was typed into one. It has time to
   save, because the end of its shell would take its terminal away.
3. When that is over, or `INNER_MS` have passed, the process that was started.

A request can be lost: a shell that is reading its start files has given the terminal to one of their commands, and a
signal that arrives just before a program waits for input may wait with it. So who was asked is asked again. Nothing
stronger than a hang-up is ever sent without `force`. A session that ignores it goes on, and only a person may then
decide to end it by force.

What confirms a Stop is the exit of the session's process alone. A signal sent, or a program in it that has ended, does
not.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import Clock, Instant
from switchboard.common.facts import Facts
from switchboard.sessions.session import Session

DETACH = b"\x1a"
"""Ctrl+Z: on it, a CLI that is attached to a background job detaches, and the job goes on."""

INNER_MS = 1_500
"""What runs in the foreground of a session may take so long to end. Agent CLIs were measured to take up to 500 ms."""

AGAIN_MS = 2_000
"""When a CLI is asked once more: long after it should have ended, so that the request cannot disturb its clean-up."""

SHELL_AGAIN_MS = 500
"""The same for a shell, which has nothing to clean up but its history, and that at once."""


class StopError(Exception):
    """The request could not be sent. The text says why."""


async def stop_session(
    session: Session, processes: ProcFs, clock: Clock, deadline: Instant, force: bool = False
) -> bool:
    """Ask a session to end, and return whether its process has exited by the deadline.

    With `force`, SIGKILL to the process that owns the conversation, to the foreground group and to the process that was
    started: only a person asks for that, it leaves the CLI's files behind. A terminal that is attached to a background
    job detaches: the job behind it is not this terminal's to end.

    Raises `StopError` when the process may not be signalled. Cancelled while what runs in the session is given its
    time, it asks the session itself before it goes: a shell must not stay half ended because somebody did not wait.
    """
    return await request_stop(session, processes, clock, deadline, force).finished()


def request_stop(session: Session, processes: ProcFs, clock: Clock, deadline: Instant, force: bool = False) -> Stopping:
    """The same in two steps: the first request is sent at once, `finished` sees it through. Raises `StopError`."""
    stopping = Stopping(session, processes, clock, deadline, force)
    if force:
        stopping.kill()
    elif session.exit is None and clock.now() < deadline:
        stopping.ask()
    return stopping


class Stopping:
    """One Stop on its way. Whom it asks is known by number: a process id, or that of a process group."""

    def __init__(
        self, session: Session, processes: ProcFs, clock: Clock, deadline: Instant, force: bool = False
    ) -> None:
        self._session = session
        self._force = force
        self._processes = processes
        self._clock = clock
        self._deadline = deadline
        # Where there is little time, half of it is left for the session itself.
        self._inner_ms = min(INNER_MS, (deadline - clock.now()) / 2)
        self._again_ms = SHELL_AGAIN_MS if session.profile.kind == "shell" else AGAIN_MS
        self._asked: dict[int, int] = {}
        """When each was asked last."""
        self._over: set[int] = set()
        """Whose turn it was: they have ended, may not be signalled, or took too long."""

    async def finished(self) -> bool:
        """Go on asking, and return whether the process has exited by the deadline. As `stop_session` otherwise."""
        session, deadline = self._session, self._deadline
        try:
            while session.exit is None and self._clock.now() < deadline:
                seen = session.facts.value
                await self.wait(seen, deadline if self._force else self.ask())
        except asyncio.CancelledError:
            if not self._force:
                self.leave()
            raise
        return session.exit is not None

    def ask(self) -> Instant:
        """Ask whoever is next, if it is time to. Returns when to come back at the latest. Raises `StopError`."""
        if self._session.profile.kind != "attach":
            while (owner := self._owner()) is not None:
                if (due := self._ask_again(owner, partial(_hang_up, os.kill, owner))) is not None:
                    return due
                self._over.add(owner)
            while (group := self._foreground()) is not None:
                if (due := self._ask_once(group)) is not None:
                    return due
                self._over.add(group)
        due = self._ask_again(self._session.pid, self._ask_session)
        # Nobody there: it has exited, and its keeper is about to say so.
        return self._clock.now() + self._again_ms if due is None else due

    async def wait(self, seen: Facts, until: Instant) -> None:
        """Return when the session has news, when whoever was asked inside it has ended, or at the instant `until`."""
        attached = self._session.profile.kind == "attach"
        number = None if attached else self._owner() or self._foreground()
        try:
            with self._noticing_end(number):
                await self._session.facts.changed(seen, self._clock, min(until, self._deadline))
        except ProcessLookupError:
            assert number is not None
            self._over.add(number)  # it was quicker than we are

    def leave(self) -> None:
        """Nobody waits any more: what is left to ask is asked now."""
        if self._session.exit is None and self._owner() is None and self._session.pid not in self._asked:
            with suppress(OSError):
                self._ask_session()

    def kill(self) -> None:
        """End everything by force. Raises `StopError`."""
        session, number = self._session, signal.SIGKILL
        if session.exit is not None:
            return
        owner, group = self._owner(), session.foreground_group()
        with suppress(OSError):  # without its terminal it has nothing left to do here
            if owner is not None:
                os.kill(owner, number)
        with suppress(OSError):
            if group is not None:
                os.killpg(group, number)
        try:
            if self._is_there():
                os.kill(session.pid, number)
        except ProcessLookupError:
            pass
        except OSError as error:
            raise _refused(error) from error

    # --- who is there ---

    def _owner(self) -> int | None:
        """The process that owns the conversation, while it lives."""
        writer = self._session.label.writer
        if writer is None or writer[0] in self._over or not self._processes.is_same(*writer):
            return None
        return writer[0]

    def _foreground(self) -> int | None:
        """The group that has the terminal, when it is another one than that of the session's own process."""
        group = self._session.foreground_group()
        return None if group is None or group == self._session.pid or group in self._over else group

    def _is_there(self) -> bool:
        return self._processes.is_same(self._session.pid, self._session.holding.start)

    # --- asking: each says whether anybody was there ---

    def _ask_again(self, number: int, ask: Callable[[], bool]) -> Instant | None:
        """Ask, unless that was done a moment ago. Returns when to ask once more, None when nobody is there."""
        now = self._clock.now()
        if now >= self._asked.get(number, 0) + self._again_ms:
            try:
                there = ask()
            except OSError as error:
                raise _refused(error) from error
            if not there:
                return None
            self._asked[number] = now
        return self._asked[number] + self._again_ms

    def _ask_once(self, group: int) -> Instant | None:
        """Ask what has the foreground. Returns how long it has, None when its time is over or nobody is there."""
        now = self._clock.now()
        if group not in self._asked:
            with suppress(PermissionError):  # another user's (sudo), which hears the end of its terminal
                if _hang_up(os.killpg, group):
                    self._asked[group] = now
        due = self._asked.get(group, -self._inner_ms) + self._inner_ms
        return due if now < due else None

    def _ask_session(self) -> bool:
        session = self._session
        if session.profile.kind == "attach":
            # A program that was just started takes the key as the terminal's own, and may have been stopped by it.
            with suppress(OSError):
                os.kill(session.pid, signal.SIGCONT)
            return session.type(DETACH)
        if session.foreground_group() == session.pid:
            return _hang_up(os.killpg, session.pid)
        return self._is_there() and _hang_up(os.kill, session.pid)

    @contextmanager
    def _noticing_end(self, number: int | None) -> Iterator[None]:
        """Within it, the end of a process wakes the wait. Where the system has no such thing, time alone does.

        Raises `ProcessLookupError` when it has ended already, and its group with it.
        """
        try:
            end = None if number is None else os.pidfd_open(number)
        except ProcessLookupError:
            assert number is not None
            with suppress(PermissionError):
                os.killpg(number, 0)  # of a pipeline, whose first process may be gone, the others go on
            end = None
        except (AttributeError, OSError):
            end = None
        if end is None or number is None:
            yield
            return
        loop = asyncio.get_running_loop()
        loop.add_reader(end, self._ended, number)
        try:
            yield
        finally:
            loop.remove_reader(end)
            os.close(end)

    def _ended(self, number: int) -> None:
        self._over.add(number)
        self._session.facts.poke()


def _hang_up(kill: Callable[[int, int], None], number: int) -> bool:
    """Return whether anybody was there. Raises `OSError`."""
    try:
        kill(number, signal.SIGHUP)
    except ProcessLookupError:
        return False
    with suppress(OSError):
        kill(number, signal.SIGCONT)
    return True


def _refused(error: OSError) -> StopError:
    return StopError(f"the session could not be signalled: {error.strerror}")
