"""What every delivery works with, and the one loop that runs a wait (driver)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from switchboard.common.clock import FOREVER, Clock, Instant
from switchboard.common.facts import Facts
from switchboard.common.feed import Feed
from switchboard.common.settings import TriggerSettings
from switchboard.common.writing import Check, WriteRefused
from switchboard.delivery import reasons
from switchboard.delivery.port import Line
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.waits import Ending, Wait


class Stop:
    """Asks every delivery at one desk to end: waits end at once, a text that is out still gets its Enter."""

    __slots__ = ("_feeds", "requested")

    def __init__(self) -> None:
        self.requested = False
        self._feeds: list[Feed[Facts]] = []

    def request(self) -> None:
        """End what waits now or later. Harmless when repeated."""
        self.requested = True
        for feed in self._feeds:
            feed.poke()

    def heard(self, feed: Feed[Facts]) -> None:
        """A wait on that feed begins: `request` wakes it."""
        self._feeds.append(feed)

    def unheard(self, feed: Feed[Facts]) -> None:
        self._feeds.remove(feed)


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


async def put(line: Line, data: bytes, check: Check, desk: Desk, until: Instant, record: StepRecord) -> None:
    """Write to a terminal, and give up at `until` when it does not take the bytes.

    A terminal whose program does not read never asks the check again, so time has to end the write from outside.
    Raises `WriteRefused` (`partial` when a part may be out) or `OSError`; `record.wrote` is true whenever it may be.
    """
    task = asyncio.current_task()
    assert task is not None
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = True
        task.cancel()

    timer = None if until == FOREVER else desk.clock.call_at(until, expire)
    try:
        await line.write(data, check)
        record.wrote = True
    except WriteRefused as refusal:
        record.wrote = record.wrote or refusal.partial
        raise
    except asyncio.CancelledError:
        record.wrote = True
        if expired and task.uncancel() == 0:
            raise WriteRefused(reasons.TOO_LATE, partial=True) from None
        raise
    except OSError:
        record.wrote = True
        raise
    finally:
        if timer is not None:
            timer.cancel()
