"""One queue per session: deliveries to a session happen one after another, in the order of their requests.

A session can have several ids (it is given a new one by `/clear`), so which requests belong together is asked anew
whenever somebody waits: the ids are compared as they are understood then. Sessions do not hold each other up. Few
requests are under way at a time (the watcher sees to that), so a plain list is walked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

from switchboard.common.clock import FOREVER, Clock, Instant
from switchboard.delivery import reasons
from switchboard.delivery.record import Halt, Trouble


class SessionFifo:
    """`key_of` says which session an id means now: equal keys queue behind each other."""

    def __init__(self, key_of: Callable[[str], str]) -> None:
        self._key_of = key_of
        self._tickets: list[Ticket] = []
        self._waiting = 0
        self._closed = False

    async def acquire(self, session_id: str, clock: Clock | None = None, until: Instant = FOREVER) -> Ticket:
        """Return when every earlier request for the same session is done. Release the ticket on every path.

        A caller that is cancelled while it waits leaves no trace. Raises `Halt(CLOSING)` once the queue is closed, and
        `Halt(DEADLINE)` for a turn that has not come at the instant `until` of `clock`.
        """
        if self._closed:
            raise Halt(Trouble.CLOSING, reasons.CLOSING)
        ticket = Ticket(self, session_id)
        self._tickets.append(ticket)
        if not self._is_first(ticket):
            await self._turn(ticket, clock, until)
        return ticket

    def close(self) -> None:
        """Turn away whoever waits, and whoever comes. What holds a ticket keeps it."""
        self._closed = True
        for ticket in self._tickets:
            if ticket.turn is not None and not ticket.turn.done():
                ticket.turn.set_exception(Halt(Trouble.CLOSING, reasons.CLOSING))

    async def _turn(self, ticket: Ticket, clock: Clock | None, until: Instant) -> None:
        turn = ticket.turn = asyncio.get_running_loop().create_future()
        timer = None if clock is None else clock.call_at(until, partial(_expire, turn))
        self._waiting += 1
        try:
            await turn
        except BaseException:
            self.leave(ticket)
            raise
        finally:
            self._waiting -= 1
            if timer is not None:
                timer.cancel()

    def leave(self, ticket: Ticket) -> None:
        """A ticket is given back, used or not: whoever waited for it has its turn."""
        self._tickets.remove(ticket)
        if self._waiting and not self._closed:
            for waiting in self._tickets:
                if waiting.turn is not None and not waiting.turn.done() and self._is_first(waiting):
                    waiting.turn.set_result(None)

    def _is_first(self, ticket: Ticket) -> bool:
        if self._tickets[0] is ticket:
            return True
        key = self._key_of(ticket.session_id)
        for earlier in self._tickets:
            if earlier is ticket:
                return True
            if self._key_of(earlier.session_id) == key:
                return False
        return True


def _expire(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(Halt(Trouble.DEADLINE))


class Ticket:
    """A place in a session's queue. Its holder may deliver until it is released."""

    __slots__ = ("_fifo", "_released", "session_id", "turn")

    def __init__(self, fifo: SessionFifo, session_id: str) -> None:
        self._fifo = fifo
        self._released = False
        self.session_id = session_id
        self.turn: asyncio.Future[None] | None = None

    def release(self) -> None:
        """Let the next request of the session go on. Harmless when repeated."""
        if not self._released:
            self._released = True
            self._fifo.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
