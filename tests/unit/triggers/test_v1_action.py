"""One versioned request: its turn, its age, its deadline, and how it ends from outside."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.lifecycle import CWD, ID, OTHER, House, MemorySession

from switchboard.common.clock import sleep_until
from switchboard.delivery.lifecycle import PageRefused
from switchboard.delivery.reasons import BACKSLASH_AT_END, KEYS_IN_TEXT, NOT_SENT
from switchboard.triggers.v1_action import DEEDS
from switchboard.triggers.v1_schema import Mode

OPEN: dict[str, Any] = {"action": "open", "sessionId": ID}
PROMPT: dict[str, Any] = {**OPEN, "prompt": "hello"}
NEW: dict[str, Any] = {"action": "open", "new": {"project": CWD, "name": "n"}, "prompt": "hello"}


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def _wait(task: asyncio.Task[Any]) -> Any:
    return await task


def turns(session: MemorySession, ms: int = 1000) -> None:
    """Each Enter makes the CLI work for so long."""
    house = session._house

    def react(data: bytes) -> None:
        if data == b"\r":
            session.show("busy")
            house.at(house.elapsed + ms, lambda: session.show("idle"))

    session.on_write = react


def test_every_kind_of_request_has_its_deed() -> None:
    assert set(DEEDS) == set(Mode)


# --- turns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second_id", [ID, ID.upper()])
async def test_two_requests_for_one_closed_session_resume_it_once(house: House, second_id: str) -> None:
    house.closed()
    house.page.ack_after = 500
    comes_up = house.comes_up

    def start(session: MemorySession) -> None:
        comes_up(session)
        turns(session)

    house.page.on_start = start
    first = house.begin({**OPEN, "prompt": "first"})
    await house.clock.settle()
    second = house.begin({**OPEN, "sessionId": second_id, "prompt": "second"})
    results = [await house.clock.run(_wait(task)) for task in (first, second)]
    assert [result["resumed"] for result in results] == [True, False]
    assert [result["ok"] for result in results] == [True, True]
    assert len(house.page.started) == 1
    assert house.page.started[0].typed == b"first\rsecond\r"


async def test_requests_under_an_old_and_a_new_id_of_one_session_take_turns(house: House) -> None:
    session = house.open_here(ID)
    house.sessions.rekey(ID, OTHER)
    turns(session)
    first = house.begin({**OPEN, "sessionId": OTHER, "prompt": "first"})
    second = house.begin({**OPEN, "sessionId": ID, "prompt": "second"})
    await house.clock.run(_wait(second))
    assert first.done()
    assert session.typed == b"first\rsecond\r"


async def test_a_session_that_ended_meanwhile_is_resumed_by_the_second_too(house: House) -> None:
    house.closed()
    assert (await house.ask(OPEN))["resumed"] is True
    house.page.started[0].exit()
    assert (await house.ask(OPEN))["resumed"] is True


async def test_other_sessions_do_not_wait(house: House) -> None:
    house.open_here(ID).show("busy")
    house.open_here(OTHER)
    slow = house.begin(PROMPT)
    assert (await house.ask({**PROMPT, "sessionId": OTHER}))["ok"] is True
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)


async def test_the_deadline_covers_the_wait_for_the_turn(house: House) -> None:
    session = house.open_here()
    session.show("busy")
    first = house.begin({**PROMPT, "timeout_ms": 9000})
    await house.clock.advance(100)
    result = await house.ask({**PROMPT, "timeout_ms": 1000})
    assert (result["reason"], result["wrote"], house.elapsed) == ("session action timed out", False, 1100)
    assert house.deeds() == [f"reattach {ID} key {ID} generation 1"]
    session.show("idle")
    session.react()
    assert (await house.clock.run(_wait(first)))["ok"] is True
    assert (await house.ask(OPEN))["ok"] is True, "the queue is blocked"


async def test_a_turn_that_comes_late_leaves_less_time(house: House) -> None:
    session = house.open_here()
    session.show("busy")
    first = house.begin({**PROMPT, "timeout_ms": 3000})
    second = house.begin({**PROMPT, "timeout_ms": 5000})
    await house.clock.run(_wait(first))
    result = await house.clock.run(_wait(second))
    assert house.elapsed == 5000
    assert result["reason"].endswith("(busy) at the deadline; nothing was written")


async def test_the_default_deadline_is_the_legacy_one(tmp_path: Path) -> None:
    house = House(tmp_path, SWITCHBOARD_TRIGGER_IDLE_TIMEOUT_MS="7000")
    house.open_here().show("busy")
    await house.ask(PROMPT)
    assert house.elapsed == 7000


# --- age --------------------------------------------------------------------------------------------------------------


async def test_a_request_that_grew_too_old_in_the_queue_does_nothing(house: House) -> None:
    session = house.open_here()
    session.show("busy")
    first = house.begin({**PROMPT, "timeout_ms": 60_000})
    await house.clock.advance(10)
    second = house.begin({**PROMPT, "timeout_ms": 600_000}, age_ms=299_000)
    await house.clock.run(_wait(first))
    result = await house.clock.run(_wait(second))
    assert (result["outcome"], result["error"]) == ("refused", "not sent")
    assert result["reason"] == (
        "trigger is 358990ms old, older than the 300000ms staleness limit; refused rather than act on a request that "
        "may no longer target the intended session state"
    )
    assert len(house.deeds()) == 1


async def test_exactly_as_old_as_the_limit_is_not_too_old(house: House) -> None:
    house.open_here()
    assert (await house.ask(OPEN, age_ms=300_000))["ok"] is True
    assert str((await house.ask(OPEN, age_ms=300_001))["reason"]).startswith("trigger is 300001ms old")


async def test_a_request_for_a_new_session_can_be_too_old_as_well(house: House) -> None:
    assert str((await house.ask(NEW, age_ms=300_001))["reason"]).startswith("trigger is 300001ms old")
    assert house.calls == []


# --- ended from outside -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [PROMPT, NEW], ids=["open", "new"])
async def test_a_closing_host_begins_nothing(house: House, body: dict[str, Any]) -> None:
    house.closed()
    house.close()
    result = await house.ask(body)
    assert result["reason"] == "Switchboard is closing."
    assert house.calls == []


async def test_closing_is_told_before_age(house: House) -> None:
    house.close()
    assert (await house.ask(NEW, age_ms=300_001))["reason"] == "Switchboard is closing."


async def test_who_waits_for_a_turn_is_answered_when_the_host_closes(house: House) -> None:
    house.open_here().show("busy")
    first, second = house.begin(PROMPT), house.begin(PROMPT)
    await house.clock.advance(100)
    house.close()
    for task in (first, second):
        assert (await house.clock.run(_wait(task)))["reason"] == "Switchboard is closing."


@pytest.mark.parametrize(
    ("at", "resumed", "wrote", "submitted", "uncertain"),
    [(100, False, False, "no", False), (600, True, False, "no", False), (1260, True, True, "assumed", True)],
    ids=["while the page prepares", "while it starts", "while it is verified"],
)
async def test_what_is_cut_off_tells_what_it_did(
    house: House, at: int, resumed: bool, wrote: bool, submitted: str, uncertain: bool
) -> None:
    house.closed()
    house.page.prepared_after = 500
    comes_up = house.comes_up

    def start(session: MemorySession) -> None:
        comes_up(session)
        session.on_write = lambda _data: None

    house.page.on_start = start
    task = house.begin(PROMPT)
    await house.clock.advance(at)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    result = house.actions[0].broken_off("Switchboard is closing.")
    assert (result["resumed"], result["wrote"], result["submitted"]) == (resumed, wrote, submitted)
    assert result.get("uncertain", False) is uncertain
    typed = [call for call in house.calls if call.startswith("write")]
    await house.clock.advance(60_000)
    assert [call for call in house.calls if call.startswith("write")] == typed
    assert len(house.page.started) == resumed
    house.page.prepared_after = 0
    assert (await house.ask({**OPEN, "timeout_ms": 1}))["reason"] != "session action timed out", "the turn is kept"


@pytest.mark.parametrize("body", [PROMPT, NEW], ids=["open", "new"])
@pytest.mark.parametrize("how", ["closing", "cancelled"])
async def test_a_process_that_is_being_made_is_in_doubt(house: House, body: dict[str, Any], how: str) -> None:
    """Whoever gives up then cannot know whether there is one: nobody may repeat it, and its token stays spent."""
    house.closed()

    async def making() -> None:
        await sleep_until(house.clock, house.clock.now() + 1000)

    house.page.making = making
    tasks = [house.begin(body) for _ in range(1 if body is PROMPT else 3)]
    await house.clock.advance(100)
    if how == "closing":
        house.close()
        results = [await task for task in tasks]
    else:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        results = [action.broken_off("Switchboard is closing.") for action in house.actions]
    for result in results:
        assert (result["reason"], result["uncertain"]) == ("Switchboard is closing.", True)
        assert result.get("resumed", result.get("created")) is False
    if body is NEW:
        assert house.bench.limiter.reserve(house.clock.now()) is None


async def test_a_page_that_knows_that_nothing_was_made_ends_the_doubt(house: House) -> None:
    house.closed()

    async def making() -> None:
        raise PageRefused("session open failed", "the program was not found")

    house.page.making = making
    result = await house.ask(PROMPT)
    assert (result["reason"], result["resumed"]) == ("session open failed", False)
    assert "uncertain" not in result
    assert "uncertain" not in house.actions[0].broken_off("Switchboard is closing.")
    for _ in range(4):
        assert (await house.ask(NEW))["reason"] == "session open failed", "its token was not given back"


# --- keys in a text ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["\x01", "\x03", "\x04", "\x08", "\x1a", "\x7f", "\x85", "\x9b"])
@pytest.mark.parametrize(
    "body",
    [OPEN, {"action": "open", "new": {"project": CWD, "name": "n"}}, {"action": "stop", "sessionId": ID}],
    ids=["open", "new", "stop"],
)
async def test_a_key_in_the_text_is_refused_before_anything_is_done(
    house: House, body: dict[str, Any], key: str
) -> None:
    """Its shape is allowed. Typed, it would interrupt the CLI or erase what somebody has written."""
    house.closed()
    field = "before" if body["action"] == "stop" else "prompt"
    result = await house.ask({**body, field: f"stop{key} here"})
    assert (result["outcome"], result["reason"], result["error"]) == ("refused", KEYS_IN_TEXT, NOT_SENT)
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("no", False, 1)
    assert house.calls == []


async def test_a_text_whose_enter_would_be_a_new_line_is_refused(house: House) -> None:
    house.open_here()
    result = await house.ask({**PROMPT, "prompt": "ends with \\"})
    assert (result["reason"], result["wrote"]) == (BACKSLASH_AT_END, False)
    assert house.calls == []


async def test_a_tab_is_text(house: House) -> None:
    session = house.open_here()
    turns(session)
    assert (await house.ask({**PROMPT, "prompt": "a\tb"}))["ok"]
    assert session.typed == b"a\tb\r"
