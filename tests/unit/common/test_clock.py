"""The one wait that is built on a clock."""

from __future__ import annotations

import asyncio
import math

import pytest
from tests.support.fake_clock import START, FakeClock

from switchboard.common.clock import FOREVER, sleep_until


def test_for_ever_is_later_than_every_instant() -> None:
    assert math.inf == FOREVER
    assert START < FOREVER


async def test_sleeping_ends_at_the_instant_and_not_before() -> None:
    clock = FakeClock()
    task = asyncio.create_task(sleep_until(clock, START + 100), name="sleeping")
    await clock.advance(99)
    assert not task.done()
    await clock.advance(1)
    assert task.done()


@pytest.mark.parametrize("when", [START, START - 1, 0])
async def test_an_instant_that_has_passed_is_no_wait(when: int) -> None:
    clock = FakeClock()
    await sleep_until(clock, when)
    assert clock.now() == START


async def test_a_sleep_through_a_suspended_machine_ends_when_it_wakes() -> None:
    clock = FakeClock()
    task = asyncio.create_task(sleep_until(clock, START + 1000), name="sleeping")
    await clock.settle()
    clock.sleep(3600)
    await clock.advance(0)
    assert task.done()


async def test_a_sleep_that_is_given_up_leaves_no_timer() -> None:
    clock = FakeClock()
    task = asyncio.create_task(sleep_until(clock, START + 100), name="sleeping")
    await clock.settle()
    assert clock.next_timer == START + 100
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert clock.next_timer == FOREVER


async def test_sleeping_for_ever_sets_no_timer() -> None:
    clock = FakeClock()
    task = asyncio.create_task(sleep_until(clock, FOREVER), name="sleeping")
    await clock.settle()
    assert clock.timers_set == 0
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
