"""Delivering one text, for what single triggers and chains do not use: a CLI that starts, and a strict deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.support.stage import Stage

from switchboard.common.clock import sleep_until
from switchboard.common.facts import CliStatus, ComposerView, Typing
from switchboard.common.writing import NOT_READING, Check, WriteRefused
from switchboard.delivery import reasons
from switchboard.delivery.memory import MemoryLine
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.step import Readiness, StepOrder, deliver_step
from switchboard.delivery.waits import Kind


async def deliver(stage: Stage, order: StepOrder) -> tuple[Kind | Trouble, StepRecord]:
    record = StepRecord()
    try:
        return await stage.clock.run(deliver_step(stage.terminal, order, stage.desk, record)), record
    except Halt as halt:
        return halt.trouble, record


def starting(stage: Stage, budget: int = 10_000, **options: object) -> StepOrder:
    """A text for a CLI that was launched at the start: an idle stamped at the launch itself is fresh."""
    return StepOrder(
        "hello",
        stage.stamp(budget),
        Readiness.STARTUP,
        verify=stage.stamp(budget),
        after=stage.stamp(0) - 1,
        **options,  # type: ignore[arg-type]  # the options of single tests
    )


async def test_a_starting_cli_gets_no_byte_before_its_own_settled_idle() -> None:
    stage = Stage()
    stage.at(100, status=CliStatus("idle", stage.stamp(-1)))  # another launch's
    stage.at(500, status="busy")
    stage.at(900, status="waiting")
    stage.at(1000, status="idle")
    stage.at(1010, status="busy")
    stage.at(2000, status="idle")
    stage.when("\r", after=10, status="busy")
    ended, record = await deliver(stage, starting(stage))
    assert stage.writes == [(2300, b"hello"), (2350, b"\r")]
    assert (ended, record.submitted.wire) == (Kind.DONE, "confirmed")
    stage.finish()


@pytest.mark.parametrize("stamp", [0, 1])
async def test_an_idle_stamped_at_the_launch_itself_is_fresh(stamp: int) -> None:
    stage = Stage()
    stage.at(100, status=CliStatus("idle", stage.stamp(stamp)))
    await deliver(stage, starting(stage))
    assert stage.writes[0] == (400, b"hello")


async def test_a_cli_that_publishes_nothing_is_waited_for_until_the_deadline() -> None:
    stage = Stage()
    ended, record = await deliver(stage, starting(stage, 5000))
    assert (ended, record.wrote, stage.elapsed) == (Trouble.NOT_READY, False, 5000)


async def test_a_descriptor_that_is_lost_is_not_idle() -> None:
    stage = Stage()
    stage.at(100, status="idle")
    stage.at(300, status=None)
    ended, _ = await deliver(stage, starting(stage, 5000))
    assert (ended, stage.writes) == (Trouble.NOT_READY, [])


async def test_a_strict_deadline_forbids_a_late_enter() -> None:
    stage = Stage(SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="50")
    order = StepOrder("hello", stage.stamp(40), Readiness.NO_DIALOG, verify=stage.stamp(40), strict=True)
    ended, record = await deliver(stage, order)
    assert stage.writes == [(0, b"hello")]
    assert ended is Trouble.LEFT_IN_COMPOSER
    assert (record.text_written, record.enter_written) == (True, False)


async def test_a_strict_deadline_forbids_a_late_recovery_enter() -> None:
    stage = Stage()
    order = StepOrder("hello", stage.stamp(1000), Readiness.NO_DIALOG, verify=stage.stamp(1000), strict=True)
    ended, record = await deliver(stage, order)
    assert stage.writes == [(0, b"hello"), (50, b"\r")]
    assert (ended, record.submitted.wire, stage.elapsed) == (Kind.TIMED_OUT, "assumed", 1000)


async def test_the_deadline_is_asked_at_the_write_itself() -> None:
    stage = Stage()
    order = StepOrder("hello", stage.stamp(1000), Readiness.NO_DIALOG)
    taken = stage.terminal.line()
    await taken.__aenter__()

    async def later() -> tuple[Kind | Trouble, StepRecord]:
        record = StepRecord()
        try:
            return await deliver_step(stage.terminal, order, stage.desk, record), record
        except Halt as halt:
            return halt.trouble, record

    stage.at(1000, act=taken._mutex.release)
    ended, record = await stage.clock.run(later())
    assert (ended, record.wrote, stage.writes) == (Trouble.DEADLINE, False, [])


async def test_a_draft_begun_while_the_line_was_taken_is_respected() -> None:
    stage = Stage()
    order = StepOrder("hello", stage.stamp(60_000), Readiness.NO_DIALOG)
    taken = stage.terminal.line()
    await taken.__aenter__()
    stage.at(100, composer=ComposerView(1, stage.stamp(100)))
    stage.at(200, act=taken._mutex.release)
    stage.at(300, composer=ComposerView(0, stage.stamp(300)))
    await deliver(stage, order)
    assert stage.writes[0] == (3300, b"hello")


class TestTheMomentOfTheWriteItself:
    """The terminal has no room at first: what was true when the write began may be true no longer when it is made."""

    def room_after(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch, data: bytes, ms: int, *, times: int = 1, **facts: object
    ) -> None:
        """The first writes of `data` wait so long, and these facts are published meanwhile."""
        write, left = MemoryLine.write, [times]

        async def late(line: MemoryLine, wanted: bytes, check: Check, out: Callable[[], None]) -> None:
            if wanted == data and left[0]:
                left[0] -= 1
                stage.show(**facts)
                await sleep_until(stage.clock, stage.clock.now() + ms)
            await write(line, wanted, check, out)

        monkeypatch.setattr(MemoryLine, "write", late)

    async def test_a_dialog_before_the_first_byte(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stage = Stage()
        self.room_after(stage, monkeypatch, b"hello", 100, status="waiting")
        stage.at(500, status="idle")
        await deliver(stage, StepOrder("hello", stage.stamp(60_000), Readiness.NO_DIALOG))
        assert stage.writes[0] == (500, b"hello")

    async def test_a_dialog_before_the_enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stage = Stage()
        self.room_after(stage, monkeypatch, b"\r", 100, status="waiting")
        stage.at(500, status="idle")
        await deliver(stage, StepOrder("hello", stage.stamp(60_000), Readiness.NO_DIALOG))
        assert stage.writes[:2] == [(0, b"hello"), (500, b"\r")]

    async def test_a_dialog_before_the_recovery_enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stage = Stage()
        stage.when("\r", act=lambda: self.room_after(stage, monkeypatch, b"\r", 100, status="waiting"))
        _, record = await deliver(stage, StepOrder("hello", stage.stamp(60_000), Readiness.NO_DIALOG))
        assert stage.writes == [(0, b"hello"), (50, b"\r")]
        assert record.withheld == "the CLI reports a dialog open or a turn running, a bare Enter could answer it"
        assert record.retries == 0

    async def test_a_draft_before_the_recovery_enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stage = Stage()
        draft = ComposerView(2, stage.stamp(2060))
        stage.when("\r", act=lambda: self.room_after(stage, monkeypatch, b"\r", 100, composer=draft))
        _, record = await deliver(stage, StepOrder("hello", stage.stamp(60_000), Readiness.NO_DIALOG))
        assert len(stage.writes) == 2
        assert record.withheld == "2 byte(s) of input are sitting unsubmitted in the composer"

    async def test_no_room_until_the_deadline(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stage = Stage()
        self.room_after(stage, monkeypatch, b"hello", 90_000)
        ended, record = await deliver(stage, StepOrder("hello", stage.stamp(5000), Readiness.NO_DIALOG))
        assert (ended, record.wrote, record.text_written) == (Trouble.LEFT_IN_COMPOSER, True, False)
        assert (stage.writes, stage.elapsed) == ([], 5000)


class TestAProgramThatDoesNotRead:
    """The terminal takes a text, and its program never reads it: stopped, say."""

    def unread(self, stage: Stage, monkeypatch: pytest.MonkeyPatch, data: bytes, give_up_ms: int = 90_000) -> None:
        """After the write of `data` the terminal waits so long for its program, as the gate does."""
        write = MemoryLine.write

        async def stuck(line: MemoryLine, wanted: bytes, check: Check, out: Callable[[], None]) -> None:
            await write(line, wanted, check, out)
            if wanted == data:
                await sleep_until(stage.clock, stage.clock.now() + give_up_ms)
                raise WriteRefused(NOT_READING, partial=True)

        monkeypatch.setattr(MemoryLine, "write", stuck)

    async def halted(self, stage: Stage) -> tuple[Halt, StepRecord]:
        record, order = StepRecord(), StepOrder("hello", stage.stamp(4000), Readiness.NO_DIALOG, strict=True)
        with pytest.raises(Halt) as halted:
            await stage.clock.run(deliver_step(stage.terminal, order, stage.desk, record))
        assert halted.value.trouble is Trouble.LEFT_IN_COMPOSER
        return halted.value, record

    @pytest.mark.parametrize(("give_up_ms", "why"), [(90_000, reasons.TOO_LATE), (500, NOT_READING)])
    @pytest.mark.parametrize("chunk", [2, 100], ids=["in pieces", "in one piece"])
    async def test_the_whole_text_is_written(
        self, monkeypatch: pytest.MonkeyPatch, chunk: int, give_up_ms: int, why: str
    ) -> None:
        stage = Stage()
        stage.terminal.typing = Typing(chunk_bytes=chunk)
        self.unread(stage, monkeypatch, b"hello" if chunk == 100 else b"o", give_up_ms)
        halt, record = await self.halted(stage)
        assert halt.reason == reasons.enter_withheld(why)
        assert (record.wrote, record.text_written, record.enter_written) == (True, True, False)
        assert stage.typed == b"hello"

    async def test_the_rest_of_it_is_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stage = Stage()
        stage.terminal.typing = Typing(chunk_bytes=2)
        self.unread(stage, monkeypatch, b"ll")
        halt, record = await self.halted(stage)
        assert halt.reason == reasons.text_cut_short(reasons.TOO_LATE)
        assert (record.wrote, record.text_written, stage.typed) == (True, False, b"hell")

    async def test_the_end_of_a_paste_is_a_part_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stage = Stage()
        stage.terminal.typing = Typing(chunk_bytes=6, bracketed_paste=True)
        self.unread(stage, monkeypatch, b"hello")
        _, record = await self.halted(stage)
        assert (record.text_written, stage.typed) == (False, b"\x1b[200~hello")

    async def test_it_is_known_while_it_is_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stage = Stage()
        self.unread(stage, monkeypatch, b"hello")
        record, order = StepRecord(), StepOrder("hello", stage.stamp(4000), Readiness.NO_DIALOG)
        task = asyncio.create_task(deliver_step(stage.terminal, order, stage.desk, record), name="step")
        await stage.clock.settle()
        assert record.text_written
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
