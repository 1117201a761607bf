"""How often new sessions may be started: three at once, then one each 20 seconds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.lifecycle import CWD, ID, House

from switchboard.delivery.lifecycle import PageRefused

NEW: dict[str, Any] = {"action": "open", "new": {"project": CWD, "name": "n"}, "prompt": "hello", "timeout_ms": 900}
LIMITED = "new session rate limit exceeded"


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Its sessions come up and answer within 900 ms."""
    house = House(tmp_path)
    house.page.on_start = house.comes_up
    return house


async def ask(house: House, times: int = 1) -> list[Any]:
    """So many requests at once; return the reasons."""
    tasks = [house.begin(NEW) for _ in range(times)]
    await house.clock.advance(900)
    return [(await task)["reason"] for task in tasks]


async def test_three_at_once_and_the_fourth_is_refused(house: House) -> None:
    assert await ask(house, 4) == [None, None, None, LIMITED]
    assert len(house.page.started) == 3
    assert sum(call.startswith("open") for call in house.calls) == 3, "the page was asked for the refused one"
    assert sum("ready" in call for call in house.calls) == 4


async def test_a_refused_one_does_not_wait(house: House) -> None:
    await ask(house, 3)
    before = house.elapsed
    result = await house.ask(NEW)
    assert (result["reason"], result["created"], result["sessionId"]) == (LIMITED, False, None)
    assert house.elapsed == before
    assert house.marker() is None


async def test_a_token_comes_back_after_20_seconds_and_not_before(house: House) -> None:
    await ask(house, 3)
    await house.clock.advance(19_999 - house.elapsed)
    assert (await house.ask(NEW))["reason"] == LIMITED
    await house.clock.advance(1)
    assert (await house.ask(NEW))["reason"] is None
    assert (await house.ask(NEW))["reason"] == LIMITED


PRE_SPAWN = {
    "the page refuses": PageRefused("session open failed"),
    "the page goes": PageRefused("renderer unavailable"),
}


@pytest.mark.parametrize("refusal", PRE_SPAWN.values(), ids=PRE_SPAWN)
async def test_what_certainly_started_nothing_gives_its_token_back(house: House, refusal: PageRefused) -> None:
    house.page.refuses = refusal
    for _ in range(5):
        assert (await house.ask(NEW))["reason"] == refusal.reason
    house.page.refuses = None
    assert await ask(house, 4) == [None, None, None, LIMITED]


async def test_so_does_a_marker_that_cannot_be_made(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_stem: str, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(house.spool, "create_marker", full)
        assert await ask(house, 1) == ["action state could not be saved"]
    assert await ask(house, 4) == [None, None, None, LIMITED]


async def test_and_a_start_whose_guard_said_no(house: House) -> None:
    house.directories.clear()
    assert await ask(house, 3) == ["project directory does not exist"] * 3
    house.directories.add(CWD)
    assert await ask(house, 3) == [None, None, None]


async def test_and_one_that_was_cancelled_before_its_start(house: House) -> None:
    house.page.prepared_after = 5000
    task = house.begin({**NEW, "timeout_ms": 60_000})
    await house.clock.advance(100)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    house.page.prepared_after = 0
    assert await ask(house, 4) == [None, None, None, LIMITED]


SPENT = {
    "started, then lost": (PageRefused("renderer unavailable"), True),
    "started, its name not saved": (PageRefused("session name could not be saved"), True),
    "perhaps started": (PageRefused("renderer action timed out", uncertain=True), False),
}


@pytest.mark.parametrize(("refusal", "started"), SPENT.values(), ids=SPENT)
async def test_what_may_have_started_something_keeps_it(house: House, refusal: PageRefused, started: bool) -> None:
    if started:
        house.page.fails = refusal
    else:
        house.page.refuses = refusal
    assert await ask(house, 3) == [refusal.reason] * 3
    house.page.fails = house.page.refuses = None
    assert await ask(house, 1) == [LIMITED]


async def test_what_fails_after_the_start_keeps_it(house: House) -> None:
    house.page.on_start = lambda session: session.update(starting=True)
    assert await ask(house, 3) == ["session readiness unavailable"] * 3
    assert (await house.ask(NEW))["reason"] == LIMITED


async def test_a_fault_of_ours_in_the_page_keeps_it(house: House) -> None:
    async def during() -> None:
        raise ZeroDivisionError("a fault")

    house.page.during = during
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await house.ask(NEW)
    assert (await house.ask(NEW))["reason"] == LIMITED


async def test_resuming_and_showing_take_none(house: House) -> None:
    await ask(house, 3)
    house.closed()
    for _ in range(4):
        result = await house.ask({"action": "open", "sessionId": ID})
        assert result["ok"] is True
        house.page.started[-1].exit()


async def test_what_is_refused_for_its_project_takes_none(house: House) -> None:
    other = {**NEW, "new": {"project": "/srv/unknown", "name": "n"}}
    for _ in range(5):
        assert (await house.ask(other))["reason"] == "unknown project"
    assert await ask(house, 3) == [None, None, None]


async def test_it_is_no_limit_of_open_sessions(house: House) -> None:
    for _ in range(10):
        assert (await house.ask(NEW))["reason"] is None
        await house.clock.advance(20_000)
    assert len(house.page.started) == 10
