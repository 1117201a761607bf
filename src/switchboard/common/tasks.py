"""Every task has a name and an owner: the group that it is started in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from switchboard.common.facts import Log


def start(group: asyncio.TaskGroup, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start `work` as a task of `group`: it ends with the group at the latest, and its failure fails the group."""
    return group.create_task(work, name=name)


def supervise(group: asyncio.TaskGroup, name: str, work: Callable[[], Awaitable[None]], log: Log) -> asyncio.Task[None]:
    """Start `work` as a task of `group` whose failure is reported and harms no other: one session, one connection."""

    async def guarded() -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - the supervisor is where a fault of one task ends
            log.error(f"{name} failed: {type(error).__name__}: {error}")

    return group.create_task(guarded(), name=name)
