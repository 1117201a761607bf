"""A value that changes over time, and waits that wake when it does.

A producer publishes a new frozen value; a wait re-evaluates a pure predicate on each change and at its next deadline.
Nothing polls: with no change and no deadline, nothing runs.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from switchboard.common.clock import Clock, Instant

T = TypeVar("T")


class Feed(Generic[T]):
    """The current value of something, and a way to wait for the next one. Belongs to one event loop."""

    __slots__ = ("_value", "_waiters")

    def __init__(self, value: T) -> None:
        self._value = value
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def value(self) -> T:
        """The value published last."""
        return self._value

    def publish(self, value: T) -> None:
        """Replace the value; equal values wake nobody."""
        if value == self._value:
            return
        self._value = value
        self.poke()

    def poke(self) -> None:
        """Wake every wait without a new value: something a predicate asks for elsewhere has changed."""
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def changed(self, seen: T, clock: Clock, until: Instant) -> None:
        """Return when the value is no longer `seen`, when `poke` is called, or at the instant `until`.

        Check the condition again after every return: the three causes are not told apart.
        """
        if self._value is not seen and self._value != seen:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        timer = clock.call_at(until, lambda: None if waiter.done() else waiter.set_result(None))
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiters.discard(waiter)
