"""A text for a versioned request: ready or not, written to the session that was found, never late."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.lifecycle import CWD, ID, OTHER, House, MemorySession

from switchboard.common.clock import FOREVER, sleep_until
from switchboard.common.facts import CliStatus, CompactBoundary, ComposerView, PromptEntry, TurnEvidence, Typing
from switchboard.common.writing import Check
from switchboard.delivery import reasons as delivery
from switchboard.delivery.lifecycle import PageRefused
from switchboard.delivery.memory import MemoryLine
from switchboard.triggers.results import Result
from switchboard.triggers.v1_delivery import Pin

OPEN: dict[str, Any] = {"action": "open", "sessionId": ID}
PROMPT: dict[str, Any] = {**OPEN, "prompt": "hello"}
NEW: dict[str, Any] = {"action": "open", "new": {"project": CWD, "name": "n"}, "prompt": "hello"}
LIMIT = 60_000


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture(params=[PROMPT, NEW], ids=["resumed", "created"])
def start(request: pytest.FixtureRequest, house: House) -> dict[str, Any]:
    """A request that starts a session; what its CLI shows is the test's to say."""
    house.closed()
    house.page.on_start = lambda session: session.update(starting=True)
    return {**request.param, "timeout_ms": LIMIT}


def started(house: House) -> MemorySession:
    return house.page.started[0]


def writes(house: House) -> list[str]:
    return [call for call in house.calls if call.startswith("write")]


def spawn_flag(result: Result) -> object:
    return result.get("resumed", result.get("created"))


# --- the pin ----------------------------------------------------------------------------------------------------------


def pin_of(house: House, **options: Any) -> tuple[Pin, MemorySession]:
    session = house.open_here()
    return Pin(house.sessions, session, **options), session


def test_a_session_stays_itself_under_another_id(house: House) -> None:
    pin, _ = pin_of(house)
    house.sessions.rekey(ID, OTHER)
    assert pin.trouble() is None


def test_another_terminal_under_the_same_id_is_another_session(house: House) -> None:
    pin, _ = pin_of(house)
    house.open_here()
    assert pin.trouble() == ("session target changed", None)


def test_another_generation_of_the_same_object_is_another_session(house: House) -> None:
    pin, session = pin_of(house)
    session.generation += 1
    assert (pin.trouble() or ("",))[0] == "session target changed"


def test_a_session_that_ended_is_no_target(house: House) -> None:
    pin, session = pin_of(house)
    session.exit()
    assert (pin.trouble() or ("",))[0] == "session target changed"


def test_another_process_owns_the_conversation(house: House) -> None:
    pin, session = pin_of(house)
    session.writer = (7, "9")
    assert (pin.trouble() or ("",))[0] == "session writer changed"


def test_the_first_process_that_shows_itself_is_the_one(house: House) -> None:
    session = house.open_here()
    session.writer = None
    pin = Pin(house.sessions, session)
    session.writer = (7, "9")
    assert pin.trouble() is None
    session.writer = (8, "9")
    assert (pin.trouble() or ("",))[0] == "session writer changed"


def test_the_directory_is_compared_again(house: House) -> None:
    pin, session = pin_of(house, expected_cwd=CWD)
    assert pin.trouble() is None
    session.cwd = "/srv/other"
    assert (pin.trouble() or ("",))[0] == "expectedCwd does not match this session's actual cwd"


# --- readiness of a started session -----------------------------------------------------------------------------------


async def test_only_settled_idle_of_this_launch_will_do(house: House, start: dict[str, Any]) -> None:
    """Absent, old idle, busy, waiting, a flicker of idle; then idle that holds."""
    task = house.begin(start)

    async def until(ms: int) -> None:
        await house.clock.advance(ms - house.elapsed)
        assert writes(house) == []

    await until(1000)
    session = started(house)
    session.react()
    session.show("idle", ago=5000)
    await until(3000)
    session.show("busy")
    await until(5000)
    session.show("waiting")
    await until(7000)
    session.show("idle")
    await until(7010)
    session.show("busy")
    await until(9000)
    session.show("idle")
    await until(9299)
    await house.clock.advance(1)
    assert writes(house) == ["write b'hello' to 1"]
    result = await house.clock.run(_wait(task))
    assert (result["ok"], spawn_flag(result), result["submitted"]) == (True, True, "confirmed")
    assert writes(house) == ["write b'hello' to 1", "write b'\\r' to 1"]


async def _wait(task: Any) -> Any:
    return await task


async def test_a_status_of_the_very_millisecond_of_the_launch_counts(house: House, start: dict[str, Any]) -> None:
    def up(session: MemorySession) -> None:
        session.react()
        session.show("idle")

    house.page.on_start = up
    result = await house.ask(start)
    assert (result["ok"], house.elapsed) == (True, 350)


def one_older(session: MemorySession) -> None:
    session.show("idle", ago=1)


def no_stamp(session: MemorySession) -> None:
    session.update(status=CliStatus("idle", None), starting=False)


def no_descriptor(session: MemorySession) -> None:
    session.update(starting=True)


NEVER_UP = [one_older, no_stamp, no_descriptor]


@pytest.mark.parametrize("shows", NEVER_UP)
async def test_what_is_no_proof_of_a_start(
    house: House, start: dict[str, Any], shows: Callable[[MemorySession], None]
) -> None:
    house.page.on_start = shows
    result = await house.ask(start)
    assert (result["outcome"], result["reason"]) == ("refused", "session readiness unavailable")
    assert (spawn_flag(result), result["submitted"], result["wrote"], result["steps_total"]) == (True, "no", False, 1)
    assert result["sessionId"] == started(house).key
    assert house.elapsed == LIMIT
    assert writes(house) == []
    assert house.sessions.stops == []
    started(house).show("idle")
    await house.clock.advance(10_000)
    assert writes(house) == []


async def test_a_descriptor_that_is_lost_is_no_readiness(house: House, start: dict[str, Any]) -> None:
    task = house.begin(start)
    await house.clock.advance(1000)
    started(house).show("busy")
    await house.clock.advance(1000)
    started(house).update(status=None)
    result = await house.clock.run(_wait(task))
    assert result["reason"] == "session readiness unavailable"
    assert writes(house) == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("busy", "the CLI still reported a turn running (busy) at the deadline; nothing was written"),
        ("waiting", "the CLI reports a dialog open (waiting); nothing was written into it"),
        ("shell", "the CLI never reported idle before the deadline; nothing was written"),
    ],
)
async def test_a_started_session_that_is_not_idle_in_time(
    house: House, start: dict[str, Any], status: str, reason: str
) -> None:
    house.page.on_start = lambda session: session.show(status)
    result = await house.ask(start)
    assert (result["reason"], result["error"], spawn_flag(result)) == (reason, "not sent", True)
    assert writes(house) == []


async def test_idle_only_briefly_before_the_deadline(house: House, start: dict[str, Any]) -> None:
    house.page.on_start = lambda session: house.at(LIMIT - 100, lambda: session.show("idle"))
    result = await house.ask(start)
    assert result["reason"] == (
        "the CLI was idle only briefly before the deadline; it never held long enough to settle; nothing was written"
    )
    assert writes(house) == []


async def test_a_started_session_that_ends(house: House, start: dict[str, Any]) -> None:
    house.page.on_start = lambda session: house.at(100, session.exit)
    result = await house.ask(start)
    assert (result["reason"], spawn_flag(result), house.elapsed) == ("session exited during wait", True, 100)


def ends(house: House, when: str) -> None:
    """A session that is started ends at this moment."""
    page = house.page

    def start(session: MemorySession) -> None:
        if when == "before the page answers":
            house.at(50, session.exit)
        elif when == "while its terminal shows activity":
            session.update(busy=True)
            house.at(100, session.exit)
        else:
            session.exit()
        if when == "and its id is another's at once":
            house.sessions.forget(session.key)
            house.open_here(session.key)

    page.on_start = start
    if when == "before the page answers":
        page.ack_after = 100
    elif when == "and the page says that it has gone":
        page.fails = PageRefused("session target changed", "it ended, or another one took its place, meanwhile")
    elif when == "and the page cannot show it":
        page.fails = PageRefused("session open failed", "the page says: nothing")
    elif when == "and its id is another's at once":
        page.instead = lambda _found: page.started[0]


@pytest.mark.parametrize(
    "when",
    [
        "as it is started",
        "before the page answers",
        "and the page says that it has gone",
        "and the page cannot show it",
        "and its id is another's at once",
        "while its terminal shows activity",
    ],
)
async def test_a_start_that_ends_at_once_has_one_reason(house: House, start: dict[str, Any], when: str) -> None:
    ends(house, when)
    result = await house.ask(start)
    told = (result["outcome"], result["reason"], spawn_flag(result), result["wrote"], result.get("uncertain"))
    assert told == ("refused", "session exited during wait", True, False, None)
    assert writes(house) == []


async def test_a_started_session_that_is_replaced_before_it_is_ready(house: House, start: dict[str, Any]) -> None:
    task = house.begin(start)
    await house.clock.advance(100)
    key = started(house).key
    house.sessions.forget(key)
    other = house.open_here(key)
    started(house).show("idle")
    result = await house.clock.run(_wait(task))
    assert (result["reason"], result["detail"]) == ("session readiness unavailable", "session target changed")
    assert (writes(house), other.writes) == ([], [])


async def test_a_cli_that_publishes_nothing_gets_no_prompt(house: House, start: dict[str, Any]) -> None:
    house.page.on_start = lambda session: setattr(session, "publishes", False)
    result = await house.ask(start)
    assert (result["reason"], spawn_flag(result), house.elapsed) == ("session readiness unavailable", True, 0)
    assert writes(house) == []


async def test_nor_when_it_is_open_here(house: House) -> None:
    house.open_here().publishes = False
    result = await house.ask(PROMPT)
    assert result["reason"] == "session readiness unavailable"
    assert writes(house) == []
    assert (await house.ask(OPEN))["outcome"] == "opened"


# --- readiness of an open session -------------------------------------------------------------------------------------


async def test_an_open_session_that_works_is_waited_for(house: House) -> None:
    session = house.open_here()
    session.show("busy")
    task = house.begin(PROMPT)
    await house.clock.advance(20_000)
    assert writes(house) == []
    session.show("idle")
    assert (await house.clock.run(_wait(task)))["submitted"] == "confirmed"


async def test_an_open_session_whose_status_is_unknown_keeps_the_fallback(house: House) -> None:
    session = house.open_here()
    session.update(status=None)
    session.on_write = lambda data: session.update(busy=True) if data == b"\r" else None
    result = await house.ask(PROMPT)
    assert (result["ok"], result["submitted"]) == (True, "confirmed")


async def test_without_a_status_the_busy_flag_has_to_stay_down(house: House) -> None:
    """Between two queued turns it is down for some milliseconds."""
    session = house.open_here()
    session.update(status=None, busy=True)
    house.at(1000, lambda: session.update(busy=False))
    house.at(1010, lambda: session.update(busy=True))
    house.at(5000, lambda: session.update(busy=False))
    assert (await house.ask(PROMPT))["ok"] is True
    assert session.writes[0][0] == 5300


def draft(session: MemorySession) -> None:
    session.update(composer=ComposerView(7, 0))


def unseen(session: MemorySession) -> None:
    session.update(composer=None)


def dialog(session: MemorySession) -> None:
    session.show("waiting")


def flag(session: MemorySession) -> None:
    session.update(busy=True)


def working(session: MemorySession) -> None:
    session.show("busy")


HELD = [
    (draft, "7 byte(s) of input are sitting unsubmitted in the composer"),
    (unseen, "the composer of this session cannot be observed, and doubt resolves to busy"),
    (dialog, "the CLI reports a dialog open (waiting); nothing was written into it"),
    (flag, "timeout waiting for idle; nothing was written"),
    (working, "the CLI still reported a turn running (busy) at the deadline; nothing was written"),
]


@pytest.mark.parametrize(("holds", "reason"), HELD, ids=lambda value: getattr(value, "__name__", None))
async def test_an_open_session_that_is_not_free_in_time(
    house: House, holds: Callable[[MemorySession], None], reason: str
) -> None:
    holds(house.open_here())
    result = await house.ask({**PROMPT, "timeout_ms": 5000})
    assert (result["outcome"], result["reason"], result["error"]) == ("refused", reason, "not sent")
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("no", False, 1)
    assert "uncertain" not in result
    assert house.elapsed == 5000
    assert writes(house) == []


async def test_somebody_who_types_is_waited_for(house: House) -> None:
    session = house.open_here()
    session.update(composer=ComposerView(0, house.clock.now()))
    result = await house.ask(PROMPT)
    assert (result["ok"], session.writes[0][0]) == (True, 3000)


# --- losing the session while it is typed into ------------------------------------------------------------------------


def replaced(house: House, session: MemorySession) -> None:
    house.sessions.forget(ID)
    house.open_here()


def taken_over(house: House, session: MemorySession) -> None:
    session.writer = (7, "9")


def moved(house: House, session: MemorySession) -> None:
    session.cwd = "/srv/other"


LOSSES = [
    (replaced, "session target changed"),
    (taken_over, "session writer changed"),
    (moved, "expectedCwd does not match this session's actual cwd"),
]


@pytest.mark.parametrize(("loss", "reason"), LOSSES, ids=lambda value: getattr(value, "__name__", None))
async def test_lost_before_the_first_byte(house: House, loss: Callable[..., None], reason: str) -> None:
    session = house.open_here()
    session.show("busy")
    house.at(1000, lambda: loss(house, session))
    house.at(2000, lambda: session.show("idle"))
    result = await house.ask({**PROMPT, "expectedCwd": CWD})
    assert (result["reason"], result["error"], result["wrote"]) == (reason, "not sent", False)
    assert writes(house) == []


@pytest.mark.parametrize(("loss", "reason"), LOSSES, ids=lambda value: getattr(value, "__name__", None))
async def test_lost_while_it_is_waited_for(house: House, loss: Callable[..., None], reason: str) -> None:
    session = house.open_here()
    session.show("busy")
    house.at(1000, lambda: loss(house, session))
    result = await house.ask({**PROMPT, "expectedCwd": CWD, "timeout_ms": 3000})
    assert (result["reason"], result["wrote"]) == (reason, False)


@pytest.mark.parametrize(("loss", "reason"), LOSSES, ids=lambda value: getattr(value, "__name__", None))
async def test_lost_between_text_and_enter(house: House, loss: Callable[..., None], reason: str) -> None:
    session = house.open_here()
    session.on_write = lambda _data: loss(house, session)
    result = await house.ask({**PROMPT, "expectedCwd": CWD})
    assert (result["reason"], result["submitted"], result["wrote"]) == (reason, "no", True)
    assert (result["text_written"], result["enter_written"]) == (True, False)
    assert "uncertain" not in result
    assert writes(house) == ["write b'hello' to 1"]


@pytest.mark.parametrize(("loss", "reason"), LOSSES, ids=lambda value: getattr(value, "__name__", None))
async def test_lost_before_the_recovery_enter(house: House, loss: Callable[..., None], reason: str) -> None:
    session = house.open_here()
    session.on_write = lambda data: loss(house, session) if data == b"\r" else None
    result = await house.ask({**PROMPT, "expectedCwd": CWD})
    assert (result["outcome"], result["reason"], result["submitted"]) == ("refused", reason, "assumed")
    assert (result["text_written"], result["enter_written"], result["submit_retries"]) == (True, True, 0)
    assert result.get("uncertain", False) is (loss is not moved)
    assert writes(house) == ["write b'hello' to 1", "write b'\\r' to 1"]


async def test_a_session_that_was_confirmed_may_be_replaced(house: House) -> None:
    session = house.open_here()

    def react(data: bytes) -> None:
        if data == b"\r":
            session.show("busy")
            replaced(house, session)

    session.on_write = react
    assert (await house.ask(PROMPT))["submitted"] == "confirmed"


async def test_a_session_that_ends_after_its_enter(house: House) -> None:
    session = house.open_here()
    session.on_write = lambda data: session.exit() if data == b"\r" else None
    result = await house.ask(PROMPT)
    assert (result["ok"], result["reason"], result["submitted"]) == (False, "session exited during wait", "assumed")


async def test_a_terminal_that_fails(house: House) -> None:
    session = house.open_here()

    def fail(_data: bytes) -> None:
        raise OSError(5, "Input/output error")

    session.on_write = fail
    result = await house.ask(PROMPT)
    assert (result["reason"], result["wrote"]) == ("pty write failed: [Errno 5] Input/output error", True)
    assert writes(house) == ["write b'hello' to 1"]


# --- the deadline -----------------------------------------------------------------------------------------------------


def prepared(house: House, kind: str) -> dict[str, Any]:
    if kind == "here":
        house.open_here()
        return PROMPT
    house.closed()
    return PROMPT if kind == "resumed" else NEW


def silent(house: House, kind: str) -> None:
    """The session takes what is typed without any sign."""
    if kind == "here":
        session = house.sessions.find(ID)
        assert session is not None
        session.on_write = lambda _data: None
        return
    comes_up = house.comes_up

    def start(session: MemorySession) -> None:
        comes_up(session)
        session.on_write = lambda _data: None

    house.page.on_start = start


@pytest.mark.parametrize("kind", ["here", "resumed", "created"])
@pytest.mark.parametrize("after_enter", [1, 1999, 5000], ids=["at once", "in the window", "before the recovery"])
async def test_verification_is_cut_off_by_the_deadline(house: House, kind: str, after_enter: int) -> None:
    """One text and one Enter, and no more, whatever comes later."""
    body = prepared(house, kind)
    house.env["SWITCHBOARD_SUBMIT_VERIFY_MS"] = "6000"
    silent(house, kind)
    enter = 50 if kind == "here" else 750
    result = await house.ask({**body, "timeout_ms": enter + after_enter})
    assert (result["outcome"], result["ok"], result["reason"]) == ("refused", False, "session action timed out")
    assert (result["uncertain"], result["timedOut"], result["submitted"]) == (True, True, "assumed")
    assert (result["wrote"], result["text_written"], result["enter_written"]) == (True, True, True)
    assert (result["steps_total"], result["submit_retries"]) == (1, 0)
    assert spawn_flag(result) is (kind != "here")
    assert result["sessionId"] is not None
    before = house.result("00000001-aaaa-4000-8000-000000000000")
    session = house.sessions.find(str(result["sessionId"]))
    assert session is not None
    house.at(house.elapsed + 100, lambda: session.show("busy"))
    await house.clock.advance(60_000)
    assert session.typed == b"hello\r"
    assert house.result("00000001-aaaa-4000-8000-000000000000") == before
    assert house.sessions.stops == []


async def test_the_deadline_falls_between_text_and_enter(house: House) -> None:
    house.open_here()
    result = await house.ask({**PROMPT, "timeout_ms": 50})
    assert (result["reason"], result["submitted"], result["timedOut"]) == ("session action timed out", "no", True)
    assert (result["wrote"], result["text_written"], result["enter_written"]) == (True, True, False)
    assert "uncertain" not in result
    await house.clock.advance(60_000)
    assert writes(house) == ["write b'hello' to 1"]


async def test_the_deadline_falls_before_the_text_was_read(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal has all of it, and its stopped program nothing yet."""
    session = house.open_here()
    write = MemoryLine.write

    async def unread(line: MemoryLine, data: bytes, check: Check, out: Callable[[], None]) -> None:
        await write(line, data, check, out)
        await sleep_until(house.clock, FOREVER)

    monkeypatch.setattr(MemoryLine, "write", unread)
    result = await house.ask({**PROMPT, "timeout_ms": 4000})
    assert (result["reason"], result["submitted"], result["timedOut"]) == ("session action timed out", "no", True)
    assert (result["wrote"], result["text_written"], result["enter_written"]) == (True, True, False)
    assert result["detail"] == delivery.enter_withheld(delivery.TOO_LATE)
    assert "uncertain" not in result
    assert session.typed == b"hello"


async def test_the_marker_knows_of_a_text_that_was_not_read(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.open_here()
    write = MemoryLine.write
    phases: list[str] = []

    async def unread(line: MemoryLine, data: bytes, check: Check, out: Callable[[], None]) -> None:
        await write(line, data, check, out)
        marker = house.marker()
        assert marker is not None
        phases.append(marker["phase"])

    monkeypatch.setattr(MemoryLine, "write", unread)
    await house.ask(PROMPT)
    assert phases == ["text-written", "enter-written"]


async def test_one_millisecond_later_the_enter_is_out(house: House) -> None:
    house.open_here()
    assert (await house.ask({**PROMPT, "timeout_ms": 51}))["enter_written"] is True


async def test_the_deadline_falls_before_the_recovery_enter(house: House) -> None:
    session = house.open_here()
    session.on_write = lambda _data: None
    result = await house.ask({**PROMPT, "timeout_ms": 2050})
    assert (result["reason"], result["submit_retries"]) == ("session action timed out", 0)
    await house.clock.advance(60_000)
    assert session.typed == b"hello\r"


async def test_a_recovery_enter_in_time(house: House) -> None:
    session = house.open_here()
    enters: list[int] = []

    def second(data: bytes) -> None:
        if data == b"\r":
            enters.append(house.elapsed)
            if len(enters) == 2:
                session.show("busy")

    session.on_write = second
    result = await house.ask(PROMPT)
    assert (result["ok"], result["submitted"], result["submit_retries"]) == (True, "confirmed", 1)


async def test_no_sign_within_the_window_is_assumed_and_a_success(house: House) -> None:
    session = house.open_here()
    session.on_write = lambda _data: None
    result = await house.ask(PROMPT)
    assert (result["ok"], result["outcome"], result["submitted"]) == (True, "opened", "assumed")


async def test_a_dialog_that_opens_after_the_text_and_stays(house: House) -> None:
    session = house.open_here()
    session.on_write = lambda data: session.show("waiting") if data != b"\r" else None
    result = await house.ask({**PROMPT, "timeout_ms": 4000})
    assert (result["reason"], result["enter_written"]) == ("session action timed out", False)
    assert "dialog opened" in str(result["detail"])
    assert writes(house) == ["write b'hello' to 1"]


# --- compaction -------------------------------------------------------------------------------------------------------


def compaction(house: House) -> TurnEvidence:
    now = house.clock.now()
    return TurnEvidence(True, now, now, now, (PromptEntry(now, "/compact"),), (CompactBoundary("u", now, True),))


async def test_only_the_compaction_itself_confirms_it(house: House) -> None:
    session = house.open_here()
    session.record(TurnEvidence(True, 1, 1, 1))
    session.on_write = lambda data: session.show("busy") if data == b"\r" else None
    house.at(30_000, lambda: session.record(compaction(house)))
    result = await house.ask({**OPEN, "prompt": "/compact"})
    assert (result["submitted"], result["compaction_observed"], house.elapsed) == ("confirmed", True, 30_000)


async def test_a_compaction_that_is_not_seen_by_the_deadline(house: House) -> None:
    session = house.open_here()
    session.record(TurnEvidence(True, 1, 1, 1))
    session.on_write = lambda data: session.show("busy") if data == b"\r" else None
    result = await house.ask({**OPEN, "prompt": "/compact", "timeout_ms": 9000})
    assert (result["reason"], result["submitted"], result["uncertain"]) == (
        "session action timed out",
        "activity",
        True,
    )
    assert result["compaction_observed"] is False
    assert session.typed == b"/compact\r"


async def test_a_session_that_ends_before_its_compaction_is_seen(house: House) -> None:
    session = house.open_here()
    session.on_write = lambda data: session.exit() if data == b"\r" else None
    result = await house.ask({**OPEN, "prompt": "/compact"})
    assert result["reason"] == "the session exited before compaction was observed; the command was written"


# --- the marker at its moments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typing",
    [Typing(chunk_bytes=2), Typing(chunk_bytes=4, bracketed_paste=True), Typing(bracketed_paste=True), Typing()],
    ids=["pieces", "pasted in pieces", "pasted", "whole"],
)
async def test_the_marker_knows_each_moment(house: House, typing: Typing) -> None:
    session = house.open_here()
    session.typing = typing
    seen: list[tuple[bytes, str]] = []

    def look(data: bytes) -> None:
        marker = house.marker()
        assert marker is not None
        seen.append((data, marker["phase"]))
        if data == b"\r":
            session.show("busy")

    session.on_write = look
    phases: list[str] = []
    house.at(40, lambda: phases.append((house.marker() or {})["phase"]))
    task = house.begin(PROMPT)
    result = await house.clock.run(_wait(task))
    assert result["ok"] is True
    # In each write the marker says what was certain before it; between text and Enter, that the text is out.
    assert [phase for _, phase in seen] == [*["prompt-attempted"] * (len(seen) - 1), "text-written"]
    assert phases == ["text-written"]


async def test_the_marker_has_the_enters_time(house: House) -> None:
    session = house.open_here()
    session.on_write = lambda _data: None
    task = house.begin(PROMPT)
    await house.clock.advance(60)
    marker = house.marker()
    assert marker is not None
    assert (marker["phase"], marker["submitted"], marker["enter_at"]) == ("enter-written", "assumed", house.start + 50)
    await house.clock.run(_wait(task))


async def test_without_its_marker_no_byte_is_written(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = house.open_here()

    def full(_stem: str, _data: bytes) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(house.spool, "update_marker", full)
    result = await house.ask(PROMPT)
    assert (result["reason"], result["wrote"]) == ("action state could not be saved", False)
    assert "No space left" in str(result["detail"])
    assert session.writes == []


async def test_a_later_mark_that_cannot_be_written_stops_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = house.open_here()
    update = house.spool.update_marker

    def full(stem: str, data: bytes) -> None:
        if b"text-written" in data:
            raise OSError(28, os.strerror(28))
        update(stem, data)

    monkeypatch.setattr(house.spool, "update_marker", full)
    assert (await house.ask(PROMPT))["ok"] is True
    assert session.typed == b"hello\r"
    assert house.log.about("could not be recorded")


# --- closing ----------------------------------------------------------------------------------------------------------


async def test_a_closing_host_writes_nothing_more(house: House) -> None:
    session = house.open_here()
    session.show("busy")
    task = house.begin(PROMPT)
    await house.clock.advance(100)
    house.close()
    result = await _wait(task)
    assert (result["reason"], result["error"], result["wrote"]) == ("Switchboard is closing.", "not sent", False)
    session.show("idle")
    await house.clock.advance(10_000)
    assert session.writes == []


async def test_a_closing_host_finishes_a_text_that_is_out_and_knows_no_more(house: House) -> None:
    session = house.open_here()
    session.on_write = lambda _data: None
    task = house.begin(PROMPT)
    await house.clock.advance(10)
    house.close()
    result = await house.clock.run(_wait(task))
    assert (result["reason"], result["submitted"], result["uncertain"]) == ("Switchboard is closing.", "assumed", True)
    assert session.typed == b"hello\r"
