"""Something that is going on and that a person may stop: every wait in it goes through here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from switchboard.common.clock import Clock, sleep_until

T = TypeVar("T")


class Interrupted(Exception):
    """The person stopped it. Raised out of the wait that was going on, or out of the next one.

    `in_dialog`: by closing the dialog it had opened.
    """

    def __init__(self, *, in_dialog: bool = False) -> None:
        super().__init__()
        self.in_dialog = in_dialog


class Work:
    """One activity. It ends of itself, or at its next wait after `stop`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def stop(self) -> None:
        """Ask it to end."""
        if not self._stopped.done():
            self._stopped.set_result(None)

    async def pause(self, ms: int) -> None:
        """Let `ms` milliseconds pass. Raises `Interrupted`."""
        await self.wait(sleep_until(self._clock, self._clock.now() + ms))

    async def wait(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Return what `waiting` gives. Raises `Interrupted`, also when both happen in the same loop turn."""
        task = asyncio.create_task(waiting, name="agent-wait")
        try:
            both: set[asyncio.Future[Any]] = {task, self._stopped}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if self._stopped.done():
                raise Interrupted
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})  # what it had begun (a process) is ended before anything else happens
