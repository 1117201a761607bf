"""The one way into a session's terminal.

Everything that is written to a session passes here, in order: people's keystrokes and deliveries. A delivery's write
carries a check that is asked immediately before each real write, also for a tail that had to wait for room; once it
says no, the rest is dropped. From a delivery's first byte to its Enter, people's keystrokes are held; then they are let
through in the order in which they were typed. People's keystrokes feed the composer model, deliveries do not: a
delivery that ends with its text typed and no Enter sent does, because that text is now somebody's unsubmitted input.

A program must have read each piece of a delivery before the next is written. What it finds in one go counts for it as
one event, whoever wrote it in how many pieces: two pieces become a paste, and text with its Enter becomes a text with
a line break. A pause between the writes is no answer (a busy machine, or a program that collects garbage, is longer
away than any pause), so the terminal is asked. No kernel event says that input was read; the question is repeated every
few milliseconds, for as long as a delivery has unread text, and never otherwise.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from switchboard.common.clock import Clock, sleep_until
from switchboard.common.facts import Facts
from switchboard.common.writing import NOT_READING, Check, WriteRefused
from switchboard.sessions.input_run import InputRun

MAX_QUEUED = 1024 * 1024
"""Keystrokes (or a paste) waiting for a terminal that does not read, in bytes; more is refused, not lost silently.
Only the end of a paste that has begun comes on top of it."""

JOINED_BYTES = 64 * 1024
"""Keystrokes that wait are joined up to so many bytes: a million of them, kept one by one, would take 200 MB."""

READ_MS = 10_000
"""A program that has not read a delivery's text by then gets no Enter: it is stopped, or does not read at all."""

LOOKS_MS = (1, 1, 2, 2, 4, 4, 8, 8, 16)
"""Pauses between looks whether the text was read; the last one repeats."""

ENTER = b"\r"
ESCAPE = b"\x1b"


class Sink(Protocol):
    """Where bytes go: a `Pty`, or a test's fake."""

    def write(self, data: bytes | memoryview) -> int: ...
    def when_writable(self, callback: Callable[[], None] | None) -> None: ...
    def unread(self) -> bool: ...


class Keys(Protocol):
    """What follows the keystrokes that are let through: a `Box`, or a bare `Composer`."""

    def feed(self, data: bytes, now: int) -> None: ...
    def clear(self) -> None: ...


class Owner(Protocol):
    """The session a gate belongs to."""

    def facts_now(self) -> Facts:
        """What checks are asked with."""

    def may_write(self) -> str | None:
        """None, or why nothing may be written any more (the exact reason)."""

    def composer_changed(self) -> None:
        """The composer model has moved; called before the keystrokes are written."""

    def delivery_changed(self, text: bytes | None) -> None:
        """What a delivery has typed without its Enter so far; called before it is written. None: nothing."""

    def delivery_entered(self) -> None:
        """The Enter of what the delivery has typed is out; called before held keystrokes are let through."""


@dataclass(eq=False)
class _Write:
    data: bytes | bytearray
    check: Check | None = None
    done: asyncio.Future[None] | None = None
    offset: int = 0
    recorded: bool = False


class Gate:
    """Orders all writes to one terminal. See the module text."""

    def __init__(self, sink: Sink, owner: Owner, composer: Keys, clock: Clock) -> None:
        self._sink = sink
        self._owner = owner
        self._composer = composer
        self._clock = clock
        self._queue: deque[_Write] = deque()
        self._queued = 0
        self._typed: bytearray | None = None
        """What the delivery under way has written since its first byte; None: no delivery between byte and Enter."""
        self._held = bytearray()
        self._released = False
        """Whether this line's text was left in the box for people to deal with."""
        self._mutex = asyncio.Lock()

    def people(self, data: bytes, run: InputRun | None = None, *, more: bool = False) -> bool:
        """Take keystrokes. False: not, because too much is waiting already or nothing may be written.

        `run`: what they belong to, of which nothing more is taken then; `more`: its next piece is still to come.
        """
        if self._owner.may_write() is not None:
            return False
        room = MAX_QUEUED - self._queued - len(self._held)
        taken = (run or InputRun()).take(data, room, self._clock.now(), more=more)
        self._take(taken)
        return taken is data

    def leave(self, run: InputRun) -> None:
        """Nothing more of this run will come: a paste that has begun ends here."""
        if self._owner.may_write() is None:
            self._take(run.leave())

    def _take(self, data: bytes) -> None:
        if not data:
            return
        if self._typed is not None:
            self._held += data
        else:
            self._let_through(data)

    def _let_through(self, data: bytes) -> None:
        self._composer.feed(data, self._clock.now())
        self._owner.composer_changed()
        last = self._queue[-1] if self._queue else None
        if last is not None and last.check is None and len(last.data) < JOINED_BYTES:
            last.data += data
            self._queued += len(data)
        else:
            self._put(_Write(bytearray(data)))

    @asynccontextmanager
    async def line(self) -> AsyncIterator[GateLine]:
        """Take the terminal's input for one delivery; others wait their turn."""
        async with self._mutex:
            try:
                yield GateLine(self)
            finally:
                self.end_delivery()
                self._released = False

    async def deliver(self, data: bytes, check: Check, out: Callable[[], None]) -> None:
        """Write for the delivery that holds the line; `out` is called once the terminal has all of it.

        Raises `WriteRefused` or `OSError`.
        """
        if not data:
            return
        write = _Write(data, check, asyncio.get_running_loop().create_future())
        assert write.done is not None
        self._put(write)
        try:
            await write.done
        except asyncio.CancelledError:
            if write in self._queue:
                self._queue.remove(write)
                self._queued -= len(write.data) - write.offset
                self._unrecord(write)
                self._pump()
            elif not write.done.cancelled() and write.done.exception() is None:
                out()  # it was given up in the very step in which the terminal took the last of it
            raise
        out()

    async def taken(self) -> None:
        """Wait until the program has read what was written. Raises `WriteRefused` when it does not."""
        look, until = 0, self._clock.now() + READ_MS
        while self._sink.unread():
            now = self._clock.now()
            if now >= until:
                raise WriteRefused(NOT_READING, partial=True)
            await sleep_until(self._clock, min(until, now + LOOKS_MS[min(look, len(LOOKS_MS) - 1)]))
            look += 1

    def release(self) -> None:
        """Let people's held keystrokes through although no Enter was sent (a dialog opened, and is theirs to answer).

        What the delivery typed counts as unsubmitted input from here on.
        """
        self._released = self._released or self._typed is not None
        self.end_delivery()

    def end_delivery(self) -> None:
        """The delivery is over: text without its Enter becomes unsubmitted input, held keystrokes go through."""
        typed, self._typed = self._typed, None
        if typed:
            self._composer.feed(bytes(typed), self._clock.now())
            self._owner.composer_changed()
        if typed is not None:
            self._owner.delivery_changed(None)
        self._let_held_through()

    def _let_held_through(self) -> None:
        held, self._held = bytes(self._held), bytearray()
        if held and self._owner.may_write() is None:
            self._let_through(held)

    def fail(self, error: OSError) -> None:
        """The terminal is gone: nothing waiting will be written."""
        while self._queue:
            write = self._queue.popleft()
            if write.done is not None and not write.done.done():
                write.done.set_exception(error)
        self._queued = 0
        self._held.clear()
        self._sink.when_writable(None)

    # --- the queue ---

    def _put(self, write: _Write) -> None:
        self._queue.append(write)
        self._queued += len(write.data)
        if len(self._queue) == 1:
            self._pump()

    def _pump(self) -> None:
        while self._queue:
            write = self._queue[0]
            refusal = self._refusal(write)
            if refusal is not None:
                self._finish(write, WriteRefused(refusal, partial=write.offset > 0))
                continue
            if write.check is not None:
                self._record(write)
            try:
                count = self._sink.write(memoryview(write.data)[write.offset :])
            except OSError as error:
                self.fail(error)
                return
            if count == 0:
                self._sink.when_writable(self._pump)
                return
            write.offset += count
            self._queued -= count
            if write.offset == len(write.data):
                self._finish(write, None)
        self._sink.when_writable(None)

    def _refusal(self, write: _Write) -> str | None:
        refusal = self._owner.may_write()
        if refusal is None and write.check is not None:
            refusal = write.check(self._owner.facts_now())
        return refusal

    def _record(self, write: _Write) -> None:
        """A delivery is about to write text or Escape: record it first, so that a killed host's successor knows."""
        if write.recorded or write.data == ENTER:
            return
        write.recorded = True
        if write.data != ESCAPE:
            self._typed = (self._typed or bytearray()) + write.data
        self._owner.delivery_changed(None if self._typed is None else bytes(self._typed))

    def _unrecord(self, write: _Write) -> None:
        """What was recorded but never written did not happen."""
        tail = len(write.data) - write.offset
        if write.recorded and self._typed is not None and tail:
            del self._typed[len(self._typed) - tail :]
            if not self._typed:
                self.end_delivery()

    def _finish(self, write: _Write, refused: WriteRefused | None) -> None:
        self._queue.popleft()
        self._queued -= len(write.data) - write.offset
        if write.check is None:
            return
        if refused is not None:
            self._unrecord(write)
        elif write.data == ENTER:
            self._entered()
        if write.done is not None and not write.done.done():
            if refused is None:
                write.done.set_result(None)
            else:
                write.done.set_exception(refused)

    def _entered(self) -> None:
        """An Enter is out. One that follows no text of its own delivery is a recovery, and changes nothing here."""
        released, self._released = self._released, False
        typed, self._typed = self._typed, None
        if released:
            self._composer.clear()
        if released or typed is not None:
            self._owner.delivery_entered()
        if released:
            self._owner.composer_changed()
        self._let_held_through()


class GateLine:
    """The line handed to a delivery."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def write(self, data: bytes, check: Check, out: Callable[[], None] = lambda: None) -> None:
        """Write all of `data`, and wait until the program has read it; `check` is asked before each real write.

        `out` is called between the two.
        Raises `WriteRefused` when a check said no or the program does not read, `OSError` when the terminal is gone.
        """
        await self._gate.deliver(data, check, out)
        if data != ENTER:
            await self._gate.taken()

    def release(self) -> None:
        """Let people's held keystrokes through now; what was typed counts as unsubmitted input."""
        self._gate.release()
