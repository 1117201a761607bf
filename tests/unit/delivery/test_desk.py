"""The loop that runs a wait, the way to end everything, and writes that a terminal does not take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.support.fake_clock import FakeClock

from switchboard.common.clock import FOREVER, Instant
from switchboard.common.facts import Facts
from switchboard.common.feed import Feed
from switchboard.common.settings import TriggerSettings
from switchboard.common.writing import Check, WriteRefused
from switchboard.delivery.desk import Desk, follow, put, timed
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.waits import IdleFlagWait, Kind

BUSY = Facts(busy=True)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def desk(clock: FakeClock) -> Desk:
    return Desk(clock, TriggerSettings({}))


async def test_a_wait_that_is_over_at_once_sets_no_timer(desk: Desk, clock: FakeClock) -> None:
    ending = await follow(IdleFlagWait(clock.now() + 100), Feed(Facts()), desk)
    assert ending.kind is Kind.DONE
    assert clock.timers_set == 0


async def test_a_wait_ends_with_the_change_it_waits_for(desk: Desk, clock: FakeClock) -> None:
    feed, record = Feed(BUSY), StepRecord()
    clock.call_at(clock.now() + 70, lambda: feed.publish(Facts()))
    ending = await clock.run(timed(IdleFlagWait(clock.now() + 100), feed, desk, record))
    assert (ending.kind, record.waited_ms) == (Kind.DONE, 70)


async def test_a_wait_ends_at_its_deadline(desk: Desk, clock: FakeClock) -> None:
    record = StepRecord(waited_ms=5)
    ending = await clock.run(timed(IdleFlagWait(clock.now() + 100), Feed(BUSY), desk, record))
    assert (ending.kind, record.waited_ms) == (Kind.TIMED_OUT, 105)


async def test_stopping_ends_waits_that_run_and_waits_that_come(desk: Desk, clock: FakeClock) -> None:
    feed, record = Feed(BUSY), StepRecord()
    clock.call_at(clock.now() + 30, desk.stop.request)
    for waited in (30, 30):
        with pytest.raises(Halt) as halt:
            await clock.run(timed(IdleFlagWait(FOREVER), feed, desk, record))
        assert (halt.value.trouble, halt.value.reason) == (Trouble.CLOSING, "Switchboard is closing.")
        assert record.waited_ms == waited


async def test_stopping_does_not_end_a_wait_that_is_over(desk: Desk, clock: FakeClock) -> None:
    desk.stop.request()
    assert (await follow(IdleFlagWait(FOREVER), Feed(Facts()), desk)).kind is Kind.DONE


async def test_a_wait_to_the_end_goes_on_while_stopping(desk: Desk, clock: FakeClock) -> None:
    desk.stop.request()
    wait = IdleFlagWait(clock.now() + 10)
    assert (await clock.run(follow(wait, Feed(BUSY), desk, to_the_end=True))).kind is Kind.TIMED_OUT


class SlowLine:
    """A terminal that fails as it is told, or takes bytes only when somebody makes room, several times."""

    def __init__(self, error: Exception | None = None, late_error: Exception | None = None) -> None:
        self.error = error
        self.late_error = late_error
        self.dropped = False
        self.room = [asyncio.Event(), asyncio.Event()]

    async def write(self, data: bytes, check: Check, out: Callable[[], None]) -> None:
        if self.error is not None:
            raise self.error
        try:
            for room in self.room:
                await room.wait()
        except asyncio.CancelledError:
            self.dropped = True
            raise
        if self.late_error is not None:
            raise self.late_error

    def release(self) -> None:
        """Nobody's keystrokes are held."""


async def write(line: SlowLine, desk: Desk, until: Instant, record: StepRecord) -> None:
    await put(line, b"x", lambda _facts: None, desk, until, record)


async def test_a_write_that_the_terminal_does_not_take_is_given_up(desk: Desk, clock: FakeClock) -> None:
    line, record = SlowLine(), StepRecord()
    with pytest.raises(WriteRefused) as refusal:
        await clock.run(write(line, desk, clock.now() + 500, record))
    assert (refusal.value.partial, record.wrote, line.dropped) == (True, True, True)


async def test_a_write_that_is_cancelled_from_outside_is_cancelled(desk: Desk, clock: FakeClock) -> None:
    line, record = SlowLine(), StepRecord()
    task = asyncio.create_task(write(line, desk, clock.now() + 500, record), name="write")
    await clock.settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert record.wrote, "a part may be out"
    assert clock.next_timer == FOREVER


@pytest.mark.parametrize(
    ("error", "wrote"),
    [(WriteRefused("no"), False), (WriteRefused("no", partial=True), True), (OSError(5, "gone"), True)],
    ids=["refused", "refused after a part", "failed"],
)
async def test_what_may_be_out_counts_as_written(desk: Desk, clock: FakeClock, error: Exception, wrote: bool) -> None:
    record = StepRecord()
    with pytest.raises(type(error)):
        await write(SlowLine(error), desk, clock.now() + 500, record)
    assert record.wrote is wrote


@pytest.mark.parametrize("error", [None, WriteRefused("no", partial=True), OSError(5, "gone")])
async def test_a_write_that_has_to_wait_for_room_ends_as_it_ends(
    desk: Desk, clock: FakeClock, error: Exception | None
) -> None:
    line, record = SlowLine(late_error=error), StepRecord()
    for number, room in enumerate(line.room, 1):
        clock.call_at(clock.now() + 100 * number, room.set)
    writing = clock.run(write(line, desk, clock.now() + 500, record))
    if error is None:
        await writing
    else:
        with pytest.raises(type(error)):
            await writing
    assert (record.wrote, line.dropped) == (True, False)
    assert clock.next_timer == FOREVER


async def test_a_write_that_is_taken_at_once_sets_no_timer(desk: Desk, clock: FakeClock) -> None:
    line, record = SlowLine(), StepRecord()
    for room in line.room:
        room.set()
    await write(line, desk, clock.now() + 500, record)
    assert (record.wrote, clock.timers_set) == (True, 0)
