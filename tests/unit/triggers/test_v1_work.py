"""What the three actions share: gates, marker, and a truthful result at any moment."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.lifecycle import ID, House

from switchboard.delivery.lifecycle import PageRefused
from switchboard.delivery.submission import Submitted
from switchboard.triggers.markers import Effect
from switchboard.triggers.progress import Step
from switchboard.triggers.v1_results import Evidence
from switchboard.triggers.v1_schema import OpenResume, Request, Stop
from switchboard.triggers.v1_work import Refused, Work, refuse_if

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def work_of(house: House, request: Request | None = None) -> Work:
    def tell(_step: Step) -> None:
        """Nobody watches."""

    return Work(request or OpenResume(ID, "hello", 1000), STEM, house.bench, tell)


def test_the_deadline_begins_with_the_work(house: House) -> None:
    assert work_of(house).deadline.at == house.start + 1000
    assert work_of(house, OpenResume(ID)).deadline.at == house.start + 300_000


async def test_nothing_is_begun_at_the_deadline(house: House) -> None:
    work = work_of(house)
    await house.clock.advance(999)
    work.go_on()
    await house.clock.advance(1)
    with pytest.raises(Refused, match="session action timed out"):
        work.go_on()


def test_nor_when_the_host_closes(house: House) -> None:
    work = work_of(house)
    house.close()
    with pytest.raises(Refused, match=r"Switchboard is closing\."):
        work.go_on()
    with pytest.raises(Refused, match=r"Switchboard is closing\."):
        work.claim()
    assert house.marker() is None


def test_no_trouble_is_no_refusal() -> None:
    refuse_if(None)
    with pytest.raises(Refused) as refused:
        refuse_if(("no readable transcript", "why"))
    assert (refused.value.reason, refused.value.detail, refused.value.uncertain) == (
        "no readable transcript",
        "why",
        False,
    )


# --- waiting ----------------------------------------------------------------------------------------------------------


async def seven() -> int:
    await asyncio.sleep(0)
    return 7


async def test_what_is_awaited_is_returned(house: House) -> None:
    assert await work_of(house).unless_closing(seven()) == 7
    assert house.clock.timers_set == 0


async def test_a_closing_host_ends_the_wait_and_what_was_awaited(house: House) -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("its clean-up is done")

    task = asyncio.create_task(work_of(house).unless_closing(forever()))
    await house.clock.settle()
    house.close()
    with pytest.raises(Refused, match=r"Switchboard is closing\."):
        await task
    assert ended


async def test_an_answer_that_comes_with_the_closing_counts(house: House) -> None:
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def ask() -> int:
        return await answer

    task = asyncio.create_task(work_of(house).unless_closing(ask()))
    await house.clock.settle()
    answer.set_result(7)
    await asyncio.sleep(0)
    house.close()
    assert await task == 7


async def test_closing_within_what_is_awaited_leaves_nothing_behind(house: House) -> None:
    """It may be this very task that closes the host: what it does afterwards is not cancelled."""

    async def close() -> int:
        house.close()
        return 7

    async def whole() -> int:
        answer = await work_of(house).unless_closing(close())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return answer

    assert await asyncio.create_task(whole()) == 7


async def test_what_has_its_answer_in_spite_of_the_closing_is_believed(house: House) -> None:
    async def stubborn() -> int:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return 7

    async def whole() -> tuple[int, int]:
        answer = await work_of(house).unless_closing(stubborn())
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        return answer, task.cancelling()

    task = asyncio.create_task(whole())
    await house.clock.settle()
    house.close()
    assert await task == (7, 0)


@pytest.mark.parametrize("first", ["the host", "its task"])
async def test_who_is_cancelled_while_the_host_closes_is_cancelled(house: House, first: str) -> None:
    task = asyncio.create_task(work_of(house).unless_closing(asyncio.Event().wait()))
    await house.clock.settle()
    for act in (house.close, task.cancel) if first == "the host" else (task.cancel, house.close):
        act()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_closing_host_awaits_nothing_more(house: House) -> None:
    house.close()
    with pytest.raises(Refused, match=r"Switchboard is closing\."):
        await work_of(house).unless_closing(seven())


async def test_a_cancelled_wait_cancels_what_was_awaited_first(house: House) -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("its clean-up is done")

    task = asyncio.create_task(work_of(house).unless_closing(forever()))
    await house.clock.settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended


async def test_what_the_page_refuses_is_a_refusal(house: House) -> None:
    async def refuse() -> None:
        raise PageRefused("renderer unavailable", "it was reloaded", uncertain=True)

    with pytest.raises(Refused) as refused:
        await work_of(house).ask_page(refuse())
    assert (refused.value.reason, refused.value.detail, refused.value.uncertain) == (
        "renderer unavailable",
        "it was reloaded",
        True,
    )


# --- the session's turn -----------------------------------------------------------------------------------------------


async def test_a_turn_is_kept_until_it_is_given_back(house: House) -> None:
    first, second = work_of(house), work_of(house)
    await first.take_turn(ID)
    waiting = asyncio.create_task(second.take_turn(ID.upper()))
    await house.clock.settle()
    assert not waiting.done()
    first.held.close()
    await waiting
    second.held.close()


async def test_a_turn_that_does_not_come_in_time_leaves_the_queue_clean(house: House) -> None:
    first, second, third = work_of(house), work_of(house), work_of(house, OpenResume(ID, None, 5000))
    await first.take_turn(ID)
    late = asyncio.create_task(second.take_turn(ID))
    patient = asyncio.create_task(third.take_turn(ID))
    await house.clock.advance(999)
    assert not late.done()
    await house.clock.advance(1)
    with pytest.raises(Refused, match="session action timed out"):
        await late
    first.held.close()
    await patient
    third.held.close()


async def test_a_turn_that_comes_at_the_deadline_is_too_late(house: House) -> None:
    first, second = work_of(house), work_of(house)
    await first.take_turn(ID)
    house.at(1000, first.held.close)
    late = asyncio.create_task(second.take_turn(ID))
    await house.clock.advance(1000)
    with pytest.raises(Refused, match="session action timed out"):
        await late
    second.held.close()
    third = work_of(house)
    await third.take_turn(ID)
    third.held.close()


async def test_a_closing_host_answers_who_waits_for_a_turn(house: House) -> None:
    first, second = work_of(house), work_of(house)
    await first.take_turn(ID)
    waiting = asyncio.create_task(second.take_turn(ID))
    await house.clock.settle()
    house.close()
    with pytest.raises(Refused, match=r"Switchboard is closing\."):
        await waiting
    first.held.close()


# --- the marker -------------------------------------------------------------------------------------------------------


def test_the_marker_follows_the_deeds(house: House) -> None:
    work = work_of(house)
    work.claim()
    marker = house.marker()
    assert marker is not None
    assert (marker["mode"], marker["sessionId"], marker["deadline"]) == ("resume", ID, house.start + 1000)
    assert (marker["phase"], marker["steps_total"]) == ("claimed", 1)
    work.note_spawned()
    assert work.attempt() is None
    work.note(Effect.ENTER_WRITTEN, enter_at=7)
    marker = house.marker()
    assert marker is not None
    assert marker["effects"] == ["spawned", "prompt-attempted", "enter-written"]


def test_without_a_marker_nothing_is_done(house: House) -> None:
    work = work_of(house)
    Path(house.spool.results, f"{STEM}.action.json").write_text("another's")
    with pytest.raises(Refused) as refused:
        work.claim()
    assert refused.value.reason == "action state could not be saved"
    assert refused.value.error


def test_nor_is_a_byte_typed_when_it_cannot_be_written(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    work = work_of(house)
    work.claim()

    def full(_stem: str, _data: bytes) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(house.spool, "update_marker", full)
    assert "No space left" in (work.attempt() or "")


# --- results ----------------------------------------------------------------------------------------------------------


def test_a_result_tells_what_happened_by_then(house: House) -> None:
    work = work_of(house)
    assert work.broken_off("Switchboard is closing.")["resumed"] is False
    work.claim()
    work.note_spawned()
    work.evidence = lambda: Evidence(Submitted.ASSUMED, True, True, True)
    result = work.broken_off("Switchboard is closing.")
    assert (result["resumed"], result["submitted"], result["wrote"]) == (True, "assumed", True)
    assert result["uncertain"] is True
    assert work.fault("broken")["error"] == "internal error: broken"


def test_breaking_off_is_certain_while_no_enter_is_out(house: House) -> None:
    work = work_of(house)
    work.evidence = lambda: Evidence(Submitted.NO, True, True)
    assert "uncertain" not in work.broken_off("Switchboard is closing.")


def test_what_was_set_off_and_not_seen_to_end_is_in_doubt(house: House) -> None:
    work = work_of(house, Stop(ID))
    work.in_doubt = True
    assert work.broken_off("Switchboard is closing.")["uncertain"] is True
    assert work.fault("broken")["uncertain"] is True


def test_doubt_is_only_told_where_the_contract_has_it(house: House) -> None:
    assert "uncertain" not in work_of(house).refused(Refused("session open failed", uncertain=True))
