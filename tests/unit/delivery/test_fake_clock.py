"""The clock that is moved by hand keeps the promises of a clock."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.fake_clock import FakeClock, Stuck

from switchboard.common.clock import FOREVER, sleep_until


async def test_timers_fire_in_their_order_and_at_their_time() -> None:
    clock, seen = FakeClock(), []
    start = clock.now()
    for after in (30, 10, 20):
        clock.call_at(start + after, lambda after=after: seen.append((after, clock.now() - start)))
    await clock.advance(20)
    assert seen == [(10, 10), (20, 20)]
    await clock.advance(9)
    assert clock.now() == start + 29
    await clock.advance(1)
    assert seen[-1] == (30, 30)


async def test_an_instant_that_has_passed_fires_at_the_next_turn_of_the_loop() -> None:
    clock, seen = FakeClock(), []
    clock.call_at(clock.now(), lambda: seen.append(1))
    assert seen == []
    await clock.settle()
    assert seen == [1]


async def test_a_cancelled_timer_does_not_fire() -> None:
    clock, seen = FakeClock(), []
    for when in (clock.now(), clock.now() + 5):
        clock.call_at(when, lambda: seen.append(1)).cancel()
    await clock.advance(10)
    assert seen == []
    assert clock.next_timer == FOREVER


async def test_running_jumps_from_timer_to_timer() -> None:
    clock = FakeClock()
    start = clock.now()

    async def work() -> int:
        for _ in range(3):
            await sleep_until(clock, clock.now() + 100_000)
        return clock.now() - start

    assert await clock.run(work()) == 300_000


async def test_work_that_waits_for_nothing_that_can_come_fails() -> None:
    with pytest.raises(Stuck):
        await FakeClock().run(asyncio.Event().wait())


async def test_what_the_work_raises_is_raised() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await FakeClock().run(work())
