"""A value that changes, and waits that wake when it does."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.fake_clock import START, FakeClock
from tests.support.hand_clock import HandClock

from switchboard.common.clock import FOREVER
from switchboard.common.feed import Feed


class Rig:
    """A feed of texts and one who waits."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.feed = Feed("one")

    def waiting(self, seen: str | None = None, until: float = FOREVER) -> asyncio.Task[None]:
        wait = self.feed.changed(self.feed.value if seen is None else seen, self.clock, until)
        return asyncio.create_task(wait, name="waiting")


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_the_value_is_the_one_published_last(rig: Rig) -> None:
    assert rig.feed.value == "one"
    rig.feed.publish("two")
    assert rig.feed.value == "two"


async def test_every_wait_wakes_with_a_new_value(rig: Rig) -> None:
    tasks = [rig.waiting() for _ in range(3)]
    await rig.clock.settle()
    assert not any(task.done() for task in tasks)
    rig.feed.publish("two")
    await rig.clock.settle()
    assert all(task.done() for task in tasks)


async def test_an_equal_value_wakes_nobody_and_is_not_taken(rig: Rig) -> None:
    value = [1]
    feed = Feed(value)
    task = asyncio.create_task(feed.changed(value, rig.clock, FOREVER), name="waiting")
    await rig.clock.settle()
    feed.publish([1])
    await rig.clock.settle()
    assert not task.done()
    assert feed.value is value
    feed.poke()
    await task


async def test_a_value_that_was_not_seen_is_not_waited_for(rig: Rig) -> None:
    rig.feed.publish("two")
    await rig.clock.run(rig.feed.changed("one", rig.clock, FOREVER))
    assert rig.clock.timers_set == 0


async def test_an_equal_value_was_seen(rig: Rig) -> None:
    task = rig.waiting(seen=str(b"one", "ascii"))
    await rig.clock.settle()
    assert not task.done()
    rig.feed.poke()
    await task


async def test_a_poke_wakes_without_a_new_value(rig: Rig) -> None:
    task = rig.waiting()
    await rig.clock.settle()
    rig.feed.poke()
    await rig.clock.settle()
    assert task.done()
    assert rig.feed.value == "one"


async def test_a_wait_ends_at_its_instant(rig: Rig) -> None:
    task = rig.waiting(until=START + 50)
    await rig.clock.advance(49)
    assert not task.done()
    await rig.clock.advance(1)
    assert task.done()


async def test_an_instant_that_has_passed_ends_it_at_once(rig: Rig) -> None:
    await rig.clock.run(rig.feed.changed("one", rig.clock, START - 1))
    assert rig.clock.now() == START


async def test_nothing_happens_while_nothing_changes(rig: Rig) -> None:
    task = rig.waiting()
    await rig.clock.settle()
    assert (rig.clock.timers_set, rig.clock.next_timer) == (0, FOREVER)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("how", ["a change", "its instant", "being given up"])
async def test_a_wait_that_is_over_leaves_nothing(rig: Rig, how: str) -> None:
    task = rig.waiting(until=START + 50)
    await rig.clock.settle()
    match how:
        case "a change":
            rig.feed.publish("two")
        case "its instant":
            await rig.clock.advance(50)
        case _:
            task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert rig.feed._waiters == set()
    assert rig.clock.next_timer == FOREVER


async def test_a_change_and_the_instant_in_one_turn_are_one_end() -> None:
    clock, feed = HandClock(), Feed("one")
    task = asyncio.create_task(feed.changed("one", clock, START + 50), name="waiting")
    await asyncio.sleep(0)
    feed.publish("two")
    clock.run(50)
    feed.publish("three")
    await task


async def test_a_change_in_the_turn_in_which_a_wait_is_given_up(rig: Rig) -> None:
    task = rig.waiting()
    await rig.clock.settle()
    task.cancel()
    rig.feed.publish("two")
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def test_who_changes_the_value_while_others_wake_wakes_them_for_the_next(rig: Rig) -> None:
    seen = []

    async def follow() -> None:
        while rig.feed.value != "three":
            value = rig.feed.value
            seen.append(value)
            await rig.feed.changed(value, rig.clock, FOREVER)
            if rig.feed.value == "two":
                rig.feed.publish("three")

    task = asyncio.create_task(follow(), name="follow")
    await rig.clock.settle()
    rig.feed.publish("two")
    await task
    assert seen == ["one"]
