"""Time as an interface: drivers take a `Clock`, tests pass one that is advanced by hand.

All instants are *wall* milliseconds since the Unix epoch, floored to an integer where the clock is read. A float of
1000.7 compared with a command-line tool's stamp of 1000 would break every "not older than" rule, and a monotonic clock
stands still while a laptop sleeps: a prompt must not be typed hours later because its deadline did not move.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Protocol

FOREVER = math.inf
"""A deadline that never comes."""

Instant = int | float
"""Wall milliseconds since the epoch; `FOREVER` is the only float in use."""


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Make sure that the callback does not run. Harmless when it already has."""


class Clock(Protocol):
    """The one source of time of a driver."""

    def now(self) -> int:
        """Return the wall time in whole milliseconds since the epoch."""

    def call_at(self, when: Instant, callback: Callable[[], None]) -> Timer:
        """Run `callback` on the event loop once `now() >= when`; at the next loop turn if that is already so."""


async def sleep_until(clock: Clock, when: Instant) -> None:
    """Return once `clock.now() >= when`; at once (after one loop turn) when that is already so."""
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.call_at(when, lambda: None if woken.done() else woken.set_result(None))
    try:
        await woken
    finally:
        timer.cancel()
