"""The end of a host (driver): one order, and one instant by which everything has ended.

The parts close one after the other, each with a grace of its own, and those add up to more than a service manager is
promised. So whatever a part would like, it gets no more than is left; what hangs all the same is cut off with the
process. Nothing is lost with it: the sessions are with the keeper, and requests not begun are in their folder.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import TypeVar

from switchboard.common.facts import Log

T = TypeVar("T")

STOP_SECONDS = 5.0
"""From the order until the process has ended, whatever is under way."""

RESERVE_SECONDS = 1.0
"""Of these, kept for the last things: the database, the lock, `host.json`."""


class Closing:
    """The order to end. Belongs to one event loop."""

    def __init__(self) -> None:
        self._ordered = asyncio.Event()
        self._deadline: float | None = None
        self._watchdog: asyncio.TimerHandle | None = None

    def order(self) -> None:
        """End the host, also one that has not finished starting. The first order counts."""
        if self._ordered.is_set():
            return
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + STOP_SECONDS - RESERVE_SECONDS
        self._watchdog = loop.call_later(STOP_SECONDS, os._exit, 0)
        self._ordered.set()

    async def ordered(self) -> None:
        """Return once the order was given."""
        await self._ordered.wait()

    def ended(self) -> None:
        """Everything has ended in time."""
        if self._watchdog is not None:
            self._watchdog.cancel()

    async def hold(self, stack: AsyncExitStack, part: AbstractAsyncContextManager[T], what: str, log: Log) -> T:
        """Enter a part on the stack. At an ordered end, its exit is cancelled when the time is over, and logged."""
        value = await part.__aenter__()

        async def leave(
            kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> bool | None:
            limit = asyncio.timeout_at(self._deadline)
            try:
                async with limit:
                    return await part.__aexit__(kind, error, trace)
            except TimeoutError:
                if not limit.expired():
                    raise
                log.warning(f"{what} did not end in time and was cut off")
                return None

        stack.push_async_exit(leave)
        return value

    def seconds_left(self, at_most: float) -> float:
        """How long a part may take to close by itself; all it asks for when no end was ordered."""
        if self._deadline is None:
            return at_most
        return max(0.0, min(at_most, self._deadline - asyncio.get_running_loop().time()))
