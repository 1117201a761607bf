"""The real clock (door)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from switchboard.common.clock import FOREVER, Instant, Timer


class _Never:
    def cancel(self) -> None:
        """Nothing was scheduled."""


class _LoopTimer:
    """A callback that waits for wall time: a timer that fires early (rounding, a stepped clock) waits on."""

    def __init__(self, clock: SystemClock, when: Instant, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._when = when
        self._callback = callback
        self._arm()

    def _arm(self) -> None:
        # Half a millisecond more than asked: `now` floors, so waking exactly at the instant may still read one less.
        delay = max(0.0, (self._when - time.time_ns() / 1_000_000) / 1000 + 0.0005)
        self._handle = asyncio.get_running_loop().call_later(delay, self._fire)

    def _fire(self) -> None:
        if self._clock.now() < self._when:
            self._arm()
        else:
            self._callback()

    def cancel(self) -> None:
        self._handle.cancel()


class SystemClock:
    """Wall time of this machine, with timers on the running event loop."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def call_at(self, when: Instant, callback: Callable[[], None]) -> Timer:
        if when == FOREVER:
            return _Never()
        return _LoopTimer(self, when, callback)
