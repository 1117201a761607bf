"""A clock that is moved by hand, and a runner that moves it when nothing else can happen.

`FakeClock` passes for `switchboard.common.clock.Clock`. `run` carries out a coroutine to its end in no real time: while
the event loop has something to do it does that, and when all of it waits, the clock jumps to the next timer. Reading
files and watched folders count as something to do, because the loop is asked for their events before each jump.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from switchboard.common.clock import FOREVER, Instant

T = TypeVar("T")

START = 1_800_000_000_000
"""An arbitrary moment, so that instants look like instants."""


class Stuck(AssertionError):
    """Everything waits for something that cannot come any more."""


class _Timer:
    def __init__(self, when: Instant, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    """Wall milliseconds that stand still until somebody moves them."""

    def __init__(self, now: int = START) -> None:
        self._now = now
        self._numbers = itertools.count()
        self._timers: list[tuple[Instant, int, _Timer]] = []
        self.timers_set = 0
        """How many timers were ever asked for, `FOREVER` aside."""

    def now(self) -> int:
        return self._now

    def call_at(self, when: Instant, callback: Callable[[], None]) -> _Timer:
        timer = _Timer(when, callback)
        if when == FOREVER:
            return timer
        self.timers_set += 1
        if when <= self._now:
            asyncio.get_running_loop().call_soon(_fire, timer)
        else:
            heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    @property
    def next_timer(self) -> Instant:
        """The instant of the earliest timer; `FOREVER` when there is none."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else FOREVER

    async def settle(self) -> None:
        """Return when the event loop has nothing left to do at this instant."""
        loop: Any = asyncio.get_running_loop()
        quiet = 0
        while quiet < 2:
            await asyncio.sleep(0)
            quiet = 0 if loop._ready else quiet + 1

    async def advance(self, ms: int) -> None:
        """Let that much time pass, with everything that happens in it."""
        end = self._now + ms
        await self.settle()
        while self.next_timer <= end:
            self._jump()
            await self.settle()
        self._now = end

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out `work` to its end, jumping over the times in which nothing happens."""
        task = asyncio.get_running_loop().create_task(work, name="run by the fake clock")
        try:
            await self.settle()
            while not task.done():
                if self.next_timer == FOREVER:
                    raise Stuck(f"nothing happens any more, and {work} is not done")
                self._jump()
                await self.settle()
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def sleep(self, seconds: float) -> None:
        """The machine sleeps: time has passed when it wakes, and nothing happened meanwhile."""
        self._now += round(seconds * 1000)

    def _jump(self) -> None:
        """Go to the earliest timer, and let all of that instant fire in the order in which they were set."""
        self._now = max(self._now, int(self.next_timer))
        while self.next_timer <= self._now:
            _fire(heapq.heappop(self._timers)[2])


def _fire(timer: _Timer) -> None:
    callback, timer.callback = timer.callback, None
    if callback is not None:
        callback()
