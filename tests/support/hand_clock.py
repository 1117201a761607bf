"""A clock that stands still until it is moved by hand, for the tests of drivers."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

from switchboard.common.clock import FOREVER, Instant


class HandTimer:
    """A callback that waits for the hand."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class HandClock:
    """Wall time in milliseconds; `advance` runs what becomes due, in its order, and lets tasks go on in between."""

    def __init__(self, now: int = 1_000_000) -> None:
        self._now = now
        self._order = count()
        self._timers: list[tuple[Instant, int, HandTimer]] = []

    @property
    def armed(self) -> bool:
        """Whether anything waits for time to pass."""
        return any(timer.callback is not None for _, _, timer in self._timers)

    def now(self) -> int:
        return self._now

    def call_at(self, when: Instant, callback: Callable[[], None]) -> HandTimer:
        timer = HandTimer(callback)
        if when != FOREVER:
            heapq.heappush(self._timers, (when, next(self._order), timer))
        return timer

    def run(self, ms: int) -> None:
        """Let `ms` milliseconds pass where no task takes part."""
        until = self._now + ms
        while self._timers and self._timers[0][0] <= until:
            self._fire()
        self._now = until

    async def advance(self, ms: int = 0) -> None:
        """Let `ms` milliseconds pass, and every task do what it can."""
        until = self._now + ms
        await turns()
        while self._timers and self._timers[0][0] <= until:
            self._fire()
            await turns()
        self._now = until

    def _fire(self) -> None:
        when, _, timer = heapq.heappop(self._timers)
        self._now = max(self._now, int(when))
        callback, timer.callback = timer.callback, None
        if callback is not None:
            callback()


async def turns(number: int = 20) -> None:
    """Let the loop turn over."""
    for _ in range(number):
        await asyncio.sleep(0)
