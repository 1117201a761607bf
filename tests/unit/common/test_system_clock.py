"""The real clock, over a wall clock and an event loop that the test moves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from switchboard.common.clock import FOREVER
from switchboard.common.system_clock import SystemClock

START = 1_800_000_000_000


class Handle:
    def __init__(self, delay: float, callback: Callable[[], None]) -> None:
        self.delay = delay
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Machine:
    """The wall time in nanoseconds, and what the loop was asked to call later."""

    def __init__(self) -> None:
        self.nanoseconds = START * 1_000_000
        self.asked: list[Handle] = []

    def time_ns(self) -> int:
        return self.nanoseconds

    def call_later(self, delay: float, callback: Callable[[], None], *arguments: object) -> Handle:
        assert not arguments
        self.asked.append(Handle(delay, callback))
        return self.asked[-1]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(time, "time_ns", made.time_ns)
    return made


@pytest.fixture
async def loop(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Any:
    running = asyncio.get_running_loop()
    monkeypatch.setattr(running, "call_later", machine.call_later)
    return running


def test_now_is_wall_time_in_whole_milliseconds_rounded_down(machine: Machine) -> None:
    clock = SystemClock()
    assert clock.now() == START
    machine.nanoseconds += 999_999
    assert clock.now() == START
    machine.nanoseconds += 1
    assert clock.now() == START + 1


def test_now_is_the_systems() -> None:
    assert abs(SystemClock().now() - time.time() * 1000) < 10_000


async def test_a_timer_is_asked_for_a_little_late_never_early(machine: Machine, loop: Any) -> None:
    fired: list[int] = []
    SystemClock().call_at(START + 100, lambda: fired.append(1))
    (asked,) = machine.asked
    assert asked.delay == pytest.approx(0.1005)
    machine.nanoseconds += 100_500_000
    asked.callback()
    assert fired == [1]
    assert len(machine.asked) == 1


async def test_a_timer_that_fires_early_waits_on(machine: Machine, loop: Any) -> None:
    """The loop's clock and the wall clock differ: one of them was stepped, or rounds otherwise."""
    fired: list[int] = []
    SystemClock().call_at(START + 100, lambda: fired.append(1))
    machine.nanoseconds += 99_999_999
    machine.asked[0].callback()
    assert fired == []
    assert machine.asked[1].delay == pytest.approx(0.0005, abs=1e-6)
    machine.nanoseconds += 1
    machine.asked[1].callback()
    assert fired == [1]


async def test_a_wall_clock_that_was_set_back_is_waited_for(machine: Machine, loop: Any) -> None:
    fired: list[int] = []
    SystemClock().call_at(START + 100, lambda: fired.append(1))
    machine.nanoseconds -= 3_600_000 * 1_000_000
    machine.asked[0].callback()
    assert fired == []
    assert machine.asked[1].delay == pytest.approx(3600.1005)


async def test_an_instant_that_has_passed_comes_at_once(machine: Machine, loop: Any) -> None:
    SystemClock().call_at(START - 100_000, lambda: None)
    assert machine.asked[0].delay == 0.0


async def test_a_cancelled_timer_does_not_fire_again_after_it_was_early(machine: Machine, loop: Any) -> None:
    timer = SystemClock().call_at(START + 100, lambda: None)
    machine.asked[0].callback()
    timer.cancel()
    timer.cancel()
    assert [handle.cancelled for handle in machine.asked] == [False, True]


async def test_for_ever_asks_for_nothing(machine: Machine, loop: Any) -> None:
    timer = SystemClock().call_at(FOREVER, lambda: None)
    timer.cancel()
    assert machine.asked == []


async def test_on_a_real_loop() -> None:
    clock = SystemClock()
    fired: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    cancelled: list[int] = []
    clock.call_at(clock.now() - 1, lambda: cancelled.append(1)).cancel()
    clock.call_at(clock.now(), lambda: fired.set_result(clock.now()))
    async with asyncio.timeout(20):
        await fired
    assert cancelled == []
