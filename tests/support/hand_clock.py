"""The fake clock for tests of drivers that no task takes part in."""

from __future__ import annotations

import asyncio

from switchboard.common.clock import FOREVER
from tests.support.fake_clock import FakeClock


class HandClock(FakeClock):
    """Also moves without an event loop."""

    @property
    def armed(self) -> bool:
        """Whether anything waits for time to pass."""
        return self.next_timer != FOREVER

    def run(self, ms: int) -> None:  # type: ignore[override]  # here time passes, and no coroutine is carried out
        """Let `ms` milliseconds pass where no task takes part."""
        end = self._now + ms
        while self.next_timer <= end:
            self._jump()
        self._now = end


async def turns(number: int = 20) -> None:
    """Let the loop turn over."""
    for _ in range(number):
        await asyncio.sleep(0)
