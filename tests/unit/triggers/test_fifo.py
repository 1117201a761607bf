"""One queue per session."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.fake_clock import FakeClock

from switchboard.common.clock import FOREVER
from switchboard.delivery.record import Halt, Trouble
from switchboard.triggers.fifo import SessionFifo, Ticket


class Queue:
    """A queue whose ids are told apart by `keys`, and what became of each request."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        self.fifo = SessionFifo(lambda session_id: self.keys.get(session_id, session_id.lower()))
        self.held: dict[str, Ticket] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, name: str, session_id: str) -> None:
        async def hold() -> None:
            self.held[name] = await self.fifo.acquire(session_id)

        self.tasks[name] = asyncio.create_task(hold(), name=name)
        await FakeClock().settle()

    async def done(self, name: str) -> None:
        self.held.pop(name).release()
        await FakeClock().settle()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await FakeClock().settle()


async def test_requests_of_a_session_go_one_after_another_in_their_order() -> None:
    queue = Queue()
    for name in "abc":
        await queue.ask(name, "S")
    for name in "abc":
        assert list(queue.held) == [name]
        await queue.done(name)


async def test_sessions_do_not_hold_each_other_up() -> None:
    queue = Queue()
    await queue.ask("a", "S")
    await queue.ask("b", "T")
    assert list(queue.held) == ["a", "b"]


async def test_letter_case_does_not_make_another_session() -> None:
    queue = Queue()
    await queue.ask("a", "S")
    await queue.ask("b", "s")
    assert list(queue.held) == ["a"]
    await queue.done("a")
    assert list(queue.held) == ["b"]


async def test_old_and_new_id_of_a_session_share_one_queue_also_when_it_changed_while_held() -> None:
    queue = Queue()
    await queue.ask("a", "old")
    queue.keys = {"old": "new", "new": "new"}
    await queue.ask("b", "new")
    await queue.ask("c", "old")
    assert list(queue.held) == ["a"]
    await queue.done("a")
    assert list(queue.held) == ["b"]
    await queue.done("b")
    assert list(queue.held) == ["c"]


async def test_a_waiter_that_is_cancelled_leaves_no_trace() -> None:
    queue = Queue()
    for name in "abc":
        await queue.ask(name, "S")
    await queue.cancel("b")
    assert list(queue.held) == ["a"]
    await queue.done("a")
    assert list(queue.held) == ["c"]
    await queue.done("c")
    await queue.ask("d", "S")
    assert list(queue.held) == ["d"]


async def test_a_waiter_cancelled_in_the_turn_in_which_its_turn_comes_passes_it_on() -> None:
    queue = Queue()
    for name in "abc":
        await queue.ask(name, "S")
    queue.held.pop("a").release()
    await queue.cancel("b")
    assert list(queue.held) == ["c"]


async def test_releasing_twice_lets_only_one_go_on() -> None:
    queue = Queue()
    for name in "abc":
        await queue.ask(name, "S")
    ticket = queue.held["a"]
    await queue.done("a")
    ticket.release()
    await FakeClock().settle()
    assert list(queue.held) == ["b"]
    await queue.cancel("c")


async def test_a_ticket_is_released_by_its_block_on_every_path() -> None:
    queue = Queue()
    with pytest.raises(RuntimeError), await queue.fifo.acquire("S"):
        raise RuntimeError
    await queue.ask("b", "S")
    assert list(queue.held) == ["b"]


async def test_closing_turns_away_who_waits_and_who_comes() -> None:
    queue = Queue()
    await queue.ask("a", "S")
    await queue.ask("b", "S")
    queue.fifo.close()
    for name in ("b", "c"):
        if name == "c":
            await queue.ask("c", "S")
        with pytest.raises(Halt) as halt:
            await queue.tasks[name]
        assert halt.value.reason == "Switchboard is closing."
    assert list(queue.held) == ["a"]
    await queue.done("a")


async def test_a_turn_that_does_not_come_in_time_is_given_up_without_a_trace() -> None:
    queue, clock = Queue(), FakeClock()
    await queue.ask("a", "S")
    late = asyncio.create_task(queue.fifo.acquire("S", clock, clock.now() + 100))
    await queue.ask("c", "S")
    await clock.advance(99)
    assert not late.done()
    await clock.advance(1)
    with pytest.raises(Halt) as halt:
        await late
    assert halt.value.trouble is Trouble.DEADLINE
    await queue.done("a")
    assert list(queue.held) == ["c"]


async def test_a_turn_that_came_in_time_is_kept() -> None:
    queue, clock = Queue(), FakeClock()
    await queue.ask("a", "S")
    patient = asyncio.create_task(queue.fifo.acquire("S", clock, clock.now() + 100))
    await clock.advance(50)
    await queue.done("a")
    ticket = await patient
    await clock.advance(1000)
    await queue.ask("c", "S")
    assert not queue.held
    ticket.release()
    await clock.settle()
    assert list(queue.held) == ["c"]
    assert clock.next_timer == FOREVER


async def test_a_turn_that_is_there_at_once_sets_no_timer() -> None:
    queue, clock = Queue(), FakeClock()
    (await queue.fifo.acquire("S", clock, clock.now() + 100)).release()
    assert clock.timers_set == 0
