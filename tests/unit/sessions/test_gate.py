"""The write gate: order, permission at each real write, held keystrokes, what is recorded."""

import asyncio
import tracemalloc
from collections.abc import Callable

import pytest
from tests.support.fake_clock import FakeClock

from switchboard.common.clock import Instant, Timer
from switchboard.common.facts import Facts
from switchboard.common.writing import WriteRefused
from switchboard.sessions.composer import Composer
from switchboard.sessions.gate import MAX_QUEUED, Gate


class StillClock:
    def now(self) -> int:
        return 1000

    def call_at(self, when: Instant, callback: Callable[[], None]) -> Timer:
        raise AssertionError("the gate waits for nothing")


class Terminal:
    """A terminal that takes `room` bytes and then is full."""

    def __init__(self, room: int = 10**9) -> None:
        self.room = room
        self.written = bytearray()
        self.writes: list[bytes] = []
        self.callback: Callable[[], None] | None = None
        self.broken = False

    def write(self, data: bytes | memoryview) -> int:
        if self.broken:
            raise BrokenPipeError("gone")
        count = min(len(data), self.room)
        self.room -= count
        if count:
            self.written += data[:count]
            self.writes.append(bytes(data[:count]))
        return count

    def when_writable(self, callback: Callable[[], None] | None) -> None:
        self.callback = callback

    def unread(self) -> bool:
        return False

    def read(self, count: int) -> None:
        self.room += count
        if self.callback:
            self.callback()


class Owner:
    def __init__(self) -> None:
        self.refusal: str | None = None
        self.composer: Composer | None = None
        self.seen: list[tuple[str, object]] = []
        self.terminal: Terminal | None = None

    def facts_now(self) -> Facts:
        assert self.composer is not None
        return Facts(composer=self.composer.view())

    def may_write(self) -> str | None:
        return self.refusal

    def composer_changed(self) -> None:
        assert self.composer is not None
        assert self.terminal is not None
        self.seen.append(("composer", (self.composer.pending, bytes(self.terminal.written))))

    def delivery_changed(self, text: bytes | None) -> None:
        assert self.terminal is not None
        self.seen.append(("delivery", (text, bytes(self.terminal.written))))

    def delivery_entered(self) -> None:
        assert self.terminal is not None
        self.seen.append(("entered", bytes(self.terminal.written)))


def make(room: int = 10**9) -> tuple[Gate, Terminal, Owner, Composer]:
    terminal, owner, composer = Terminal(room), Owner(), Composer()
    owner.composer, owner.terminal = composer, terminal
    return Gate(terminal, owner, composer, StillClock()), terminal, owner, composer


def yes(_facts: Facts) -> str | None:
    return None


async def test_keystrokes_reach_the_model_before_the_terminal() -> None:
    gate, terminal, owner, composer = make()
    assert gate.people(b"draft")
    assert terminal.written == b"draft"
    assert owner.seen == [("composer", (5, b""))]
    assert composer.pending == 5


async def test_a_delivery_is_recorded_before_its_first_byte_and_told_of_after_its_enter() -> None:
    gate, terminal, owner, composer = make()
    async with gate.line() as line:
        await line.write(b"hel", yes)
        await line.write(b"lo", yes)
        await line.write(b"\r", yes)
    assert terminal.writes == [b"hel", b"lo", b"\r"]
    assert owner.seen == [
        ("delivery", (b"hel", b"")),
        ("delivery", (b"hello", b"hel")),
        ("entered", b"hello\r"),
    ]
    assert composer.pending == 0


async def test_keystrokes_between_first_byte_and_enter_are_held_and_come_after_in_order() -> None:
    gate, terminal, _, composer = make()
    gate.people(b"1")
    gate.people(b"\x7f")
    async with gate.line() as line:
        gate.people(b"2\x7f")  # before the first byte: goes through
        await line.write(b"text", yes)
        assert gate.people(b"a")
        assert gate.people(b"b")
        assert composer.pending == 0
        await line.write(b"\r", yes)
        assert terminal.written == b"1\x7f2\x7ftext\rab"
        assert composer.pending == 2


async def test_of_the_enter_is_told_before_held_keystrokes_go_through() -> None:
    gate, _, owner, _ = make()
    async with gate.line() as line:
        await line.write(b"text", yes)
        gate.people(b"ab")
        await line.write(b"\r", yes)
    assert owner.seen[1:] == [("entered", b"text\r"), ("composer", (2, b"text\r"))]


async def test_of_an_enter_by_itself_nothing_is_told() -> None:
    gate, terminal, owner, _ = make()
    async with gate.line() as line:
        await line.write(b"text", yes)
        await line.write(b"\r", yes)
    owner.seen.clear()
    async with gate.line() as line:
        await line.write(b"\r", yes)
    assert terminal.written == b"text\r\r"
    assert owner.seen == []


async def test_a_text_that_was_left_to_people_and_gets_its_enter_after_all_is_told_of() -> None:
    gate, _, owner, composer = make()
    async with gate.line() as line:
        await line.write(b"text", yes)
        line.release()
        assert composer.pending == 4
        owner.seen.clear()
        await line.write(b"\r", yes)
    # The Enter first: a later host must never find an empty box and nothing else.
    assert owner.seen == [("entered", b"text\r"), ("composer", (0, b"text\r"))]


async def test_text_without_enter_counts_as_unsubmitted_and_held_keys_follow() -> None:
    gate, terminal, _, composer = make()
    async with gate.line() as line:
        await line.write(b"left", yes)
        gate.people(b"!")
    assert terminal.written == b"left!"
    assert composer.pending == 5


async def test_release_lets_people_answer_while_the_line_is_kept() -> None:
    gate, terminal, _, composer = make()
    async with gate.line() as line:
        await line.write(b"left", yes)
        gate.people(b"y")
        line.release()
        assert terminal.written == b"lefty"
        assert composer.pending == 5
        gate.people(b"z")
        assert terminal.written == b"leftyz"


async def test_escape_is_no_unsubmitted_input() -> None:
    gate, terminal, owner, composer = make()
    async with gate.line() as line:
        await line.write(b"\x1b", yes)
    assert terminal.written == b"\x1b"
    assert composer.pending == 0
    assert owner.seen == [("delivery", (None, b""))]  # told of before it is written, and with no text


async def test_a_refused_write_writes_nothing_and_holds_nobody() -> None:
    gate, terminal, _, composer = make()
    async with gate.line() as line:
        with pytest.raises(WriteRefused, match="no") as refused:
            await line.write(b"text", lambda _facts: "no")
        assert not refused.value.partial
        gate.people(b"me")
        assert terminal.written == b"me"
    assert composer.pending == 2


async def test_permission_is_asked_again_for_a_tail_that_had_to_wait() -> None:
    gate, terminal, _, composer = make(room=3)
    answers = iter([None, None, "lost"])
    async with gate.line() as line:
        task = asyncio.create_task(line.write(b"abcdef", lambda _facts: next(answers)))
        await asyncio.sleep(0)
        assert terminal.written == b"abc"
        assert not task.done()
        terminal.read(100)
        with pytest.raises(WriteRefused) as refused:
            await task
    assert refused.value.partial
    assert terminal.written == b"abc"
    # Three characters are in the box, and count as somebody's unsubmitted input.
    assert composer.pending == 3


async def test_short_writes_lose_and_reorder_nothing() -> None:
    gate, terminal, _, _ = make(room=0)
    text = bytes(range(33, 127)) * 50
    gate.people(b"before ")
    async with gate.line() as line:
        task = asyncio.create_task(line.write(text, yes))
        await asyncio.sleep(0)
        gate.people(b" after")
        while not task.done():
            terminal.read(7)
            await asyncio.sleep(0)
        terminal.read(100)
        enter = asyncio.create_task(line.write(b"\r", yes))
        await asyncio.sleep(0)
        terminal.read(100)
        await enter
    assert terminal.written == b"before " + text + b" after\r" or terminal.written == b"before  after" + text + b"\r"
    assert terminal.callback is None


async def test_a_cancelled_delivery_drops_its_tail() -> None:
    gate, terminal, _, composer = make(room=2)
    async with gate.line() as line:
        task = asyncio.create_task(line.write(b"abcdef", yes))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        terminal.read(100)
    assert terminal.written == b"ab"
    assert composer.pending == 2


async def test_it_is_told_when_all_of_a_write_is_out() -> None:
    gate, terminal, _, _ = make(room=3)
    told: list[bytes] = []
    async with gate.line() as line:
        task = asyncio.create_task(line.write(b"abcdef", yes, lambda: told.append(bytes(terminal.written))))
        await asyncio.sleep(0)
        assert told == []
        terminal.read(3)
        await task
    assert told == [b"abcdef"]


async def test_a_program_that_has_not_read_it_has_it_all_the_same() -> None:
    gate, terminal, _, _ = make()
    told: list[bytes] = []
    gate._clock = FakeClock()
    terminal.unread = lambda: True  # type: ignore[method-assign]  # it is stopped
    async with gate.line() as line:
        task = asyncio.create_task(line.write(b"abc", yes, lambda: told.append(bytes(terminal.written))))
        await asyncio.sleep(0)
        assert told == [b"abc"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_write_that_is_given_up_as_it_ends_is_told_of() -> None:
    gate, terminal, _, _ = make(room=2)
    told: list[bytes] = []
    async with gate.line() as line:
        task = asyncio.create_task(line.write(b"abc", yes, lambda: told.append(bytes(terminal.written))))
        await asyncio.sleep(0)
        terminal.read(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert told == [b"abc"]


@pytest.mark.parametrize("end", ["refused", "given up"])
async def test_of_a_write_that_is_not_all_out_nothing_is_told(end: str) -> None:
    gate, terminal, _, _ = make(room=2)
    told: list[bytes] = []
    answers = iter([None, "no"])
    async with gate.line() as line:
        check = (lambda _facts: next(answers)) if end == "refused" else yes
        task = asyncio.create_task(line.write(b"abc", check, lambda: told.append(b"")))
        await asyncio.sleep(0)
        if end == "refused":
            terminal.read(1)
        else:
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert told == []


async def test_deliveries_take_turns() -> None:
    gate, terminal, _, _ = make()

    async def deliver(text: bytes) -> None:
        async with gate.line() as line:
            await line.write(text, yes)
            await asyncio.sleep(0)
            await line.write(b"\r", yes)

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(deliver(b"%d" % number))
    assert terminal.written == b"".join(b"%d\r" % number for number in range(8))


async def test_a_terminal_that_is_gone_fails_what_waits() -> None:
    gate, terminal, _, _ = make()
    terminal.broken = True
    async with gate.line() as line:
        with pytest.raises(BrokenPipeError):
            await line.write(b"text", yes)


async def test_a_session_that_may_not_be_written_takes_no_keystrokes() -> None:
    gate, terminal, owner, _ = make()
    owner.refusal = "session exited during wait"
    assert not gate.people(b"x")
    async with gate.line() as line:
        with pytest.raises(WriteRefused, match="session exited"):
            await line.write(b"text", yes)
    assert terminal.written == b""


async def test_a_flood_of_keystrokes_is_refused_not_lost() -> None:
    gate, terminal, _, _ = make(room=0)
    assert gate.people(b"x" * MAX_QUEUED)
    assert not gate.people(b"y")
    terminal.read(MAX_QUEUED)
    assert gate.people(b"y")


async def test_keystrokes_that_wait_are_joined_and_stay_in_order_beside_a_delivery() -> None:
    gate, terminal, owner, _ = make(room=0)
    tracemalloc.start()
    try:
        for number in range(20_000):
            assert gate.people(b"%05d" % number)
        owner.seen.clear()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1_000_000  # 100,000 bytes of keystrokes
    async with gate.line() as line:
        text = asyncio.create_task(line.write(b"text", yes))
        await asyncio.sleep(0)
        assert gate.people(b"before its first byte")
        terminal.read(100_000)
        assert bytes(terminal.written[-5:]) == b"19999"
        terminal.read(1000)
        await text
        assert gate.people(b"held, ")
        assert gate.people(b"both")
        assert terminal.written.endswith(b"textbefore its first byte")
        await line.write(b"\r", yes)
    assert terminal.written == b"".join(b"%05d" % number for number in range(20_000)) + (
        b"textbefore its first byte\rheld, both"
    )
