"""What every delivery works with, and the one loop that runs a wait (driver)."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from switchboard.common.clock import Clock, Instant
from switchboard.common.facts import Facts
from switchboard.common.feed import Feed
from switchboard.common.settings import TriggerSettings
from switchboard.common.writing import Check, WriteRefused
from switchboard.delivery import reasons
from switchboard.delivery.port import Line
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.waits import Ending, Wait


class Bell(Protocol):
    """Something that wants to know when everything is to end."""

    def poke(self) -> None:
        """It is to end now."""


class Stop:
    """Asks every delivery at one desk to end: waits end at once, a text that is out still gets its Enter."""

    __slots__ = ("_bells", "requested")

    def __init__(self) -> None:
        self.requested = False
        self._bells: list[Bell] = []

    def request(self) -> None:
        """End what waits now or later. Harmless when repeated."""
        self.requested = True
        for bell in self._bells:
            bell.poke()

    def heard(self, bell: Bell) -> None:
        """A wait begins, on a feed or on anything else that can be woken: `request` does it."""
        self._bells.append(bell)

    def unheard(self, bell: Bell) -> None:
        self._bells.remove(bell)


@dataclass(frozen=True, slots=True)
class Desk:
    """Clock, settings (read at each use) and the way to end everything, shared by deliveries."""

    clock: Clock
    settings: TriggerSettings
    stop: Stop = field(default_factory=Stop)


async def follow(wait: Wait, feed: Feed[Facts], desk: Desk, *, to_the_end: bool = False) -> Ending:
    """Run a wait until it ends. Raises `Halt(CLOSING)` when the desk stops first, unless `to_the_end`."""
    now = desk.clock.now()
    while True:
        facts = feed.value
        ending = wait.observe(facts, now)
        if ending is not None:
            return ending
        if desk.stop.requested and not to_the_end:
            raise Halt(Trouble.CLOSING, reasons.CLOSING)
        desk.stop.heard(feed)
        try:
            await feed.changed(facts, desk.clock, wait.due)
        finally:
            desk.stop.unheard(feed)
        now = desk.clock.now()


async def timed(wait: Wait, feed: Feed[Facts], desk: Desk, record: StepRecord) -> Ending:
    """Run a wait like `follow`, and add what it took to the record."""
    started = desk.clock.now()
    try:
        return await follow(wait, feed, desk)
    finally:
        record.waited_ms += desk.clock.now() - started


async def put(
    line: Line,
    data: bytes,
    check: Check,
    desk: Desk,
    until: Instant,
    record: StepRecord,
    out: Callable[[], None] = lambda: None,
) -> None:
    """Write to a terminal, and give up at `until` when it does not take the bytes, or its program does not read them.

    A terminal whose program does not read never asks the check again, so time has to end the write from outside.
    `out` is called once the terminal has all of it.
    Raises `WriteRefused` (`partial` when a part may be out) or `OSError`; `record.wrote` is true whenever it may be.
    """
    try:
        writing = line.write(data, check, out)
        try:
            waits_for = writing.send(None)
        except StopIteration:
            record.wrote = True
            return
        await _write_until(writing, waits_for, desk, until)
        record.wrote = True
    except WriteRefused as refusal:
        record.wrote = record.wrote or refusal.partial
        raise
    except (asyncio.CancelledError, OSError):
        record.wrote = True
        raise


async def _write_until(writing: Coroutine[Any, Any, None], waits_for: object, desk: Desk, until: Instant) -> None:
    """See a write through that has to wait for room.

    Nearly every write is taken at once, and a timer for each of them was a tenth of the time to the first byte: hence
    the first step by hand in `put`. Simply awaiting the write, with its timer, would be the plain form of both.
    """
    task = asyncio.current_task()
    assert task is not None
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = True
        task.cancel()

    timer = desk.clock.call_at(until, expire)
    try:
        await _rest(writing, waits_for)
    except asyncio.CancelledError:
        if expired and task.uncancel() == 0:
            raise WriteRefused(reasons.TOO_LATE, partial=True) from None
        raise
    finally:
        timer.cancel()


@types.coroutine
def _rest(work: Coroutine[Any, Any, None], waits_for: object) -> Generator[object, Any, None]:
    """The rest of a coroutine that was started by hand and waits for something: what `await` does, from there on."""
    while True:
        try:
            answer = yield waits_for
        except BaseException as error:  # noqa: BLE001 - it is the inner coroutine's, which decides
            resume = partial(work.throw, error)
        else:
            resume = partial(work.send, answer)
        try:
            waits_for = resume()
        except StopIteration:
            return
