from __future__ import annotations

import asyncio

import pytest
from tests.support.hand_clock import HandClock, turns

from switchboard.agent.work import Interrupted, Work


async def value() -> int:
    return 7


async def test_a_pause_passes() -> None:
    clock = HandClock()
    task = asyncio.create_task(Work(clock).pause(100))
    await clock.advance(99)
    assert not task.done()
    await clock.advance(1)
    await task


async def test_a_pause_is_interrupted() -> None:
    clock = HandClock()
    work = Work(clock)
    task = asyncio.create_task(work.pause(100))
    await turns()
    work.stop()
    with pytest.raises(Interrupted):
        await task
    assert not clock.armed


async def test_after_stop_the_next_wait_ends() -> None:
    work = Work(HandClock())
    assert await work.wait(value()) == 7
    work.stop()
    work.stop()
    with pytest.raises(Interrupted):
        await work.wait(value())


async def test_what_fails_fails() -> None:
    async def fail() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await Work(HandClock()).wait(fail())


async def test_cancelling_cancels_what_is_waited_for() -> None:
    clock = HandClock()
    task = asyncio.create_task(Work(clock).pause(100))
    await turns()
    task.cancel()
    await asyncio.wait({task})
    await turns()
    assert task.cancelled()
    assert not clock.armed
