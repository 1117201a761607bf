"""Stopping after a last text: only after its own turn has provably ended, and else never.

At 0 ms the text is typed, its Enter is at 50 ms. `stays_unstopped` looks for what must not happen: no signal, no other
byte, now or once the result is there, although by then everything would be well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.lifecycle import CWD, ID, House, MemorySession
from tests.support.stage import transcript
from tests.unit.triggers.test_v1_stop import (
    CHANGES,
    PROMPT,
    STATES,
    TYPED_AND_DELETED,
    Act,
    ends,
    full,
    is_replaced,
    kills,
    nothing_later,
)

from switchboard.common.facts import CliStatus, ComposerView, TurnEvidence
from switchboard.delivery import reasons as delivery
from switchboard.sessions.stop import StopError
from switchboard.triggers import v1_reasons as reasons

TEXT = "write your note"
NOTE: dict[str, Any] = {"action": "stop", "sessionId": ID, "before": TEXT}
ENTER_AT, QUIET, SETTLE, TRANSCRIPT_QUIET = 50, 3000, 300, 3000
PAIR = [(0, TEXT.encode()), (ENTER_AT, b"\r")]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def on_enter(session: MemorySession, act: Callable[[], object]) -> None:
    def react(data: bytes) -> None:
        if data == b"\r":
            act()

    session.on_write = react


def shown(house: House, *, closed_at: int | None = None, text: str = TEXT, at: int = 60) -> TurnEvidence:
    """A transcript that has the text, and perhaps the end of its turn."""
    closed = None if closed_at is None else house.start + closed_at
    return transcript((house.start + at, text), closed_at=closed, modified_at=closed or house.start + at)


async def stays_unstopped(
    house: House, session: MemorySession, result: Mapping[str, Any], underlying: str | None = None
) -> None:
    """`underlying`: delivery's own reason, or the detail, which a person can go by."""
    assert (result["ok"], result["outcome"], result["reason"]) == (False, "refused", reasons.NOTE_NOT_FINISHED)
    assert result["steps_total"] == 1
    assert result.get("uncertain", False) is (result.get("enter_written", False)), "only an Enter can have an effect"
    assert (result["delivery"]["wrote"], result["delivery"]["submitted"]) == (result["wrote"], result["submitted"])
    if underlying is not None:
        assert underlying in (result["delivery"].get("reason"), result["delivery"].get("error"), result.get("detail"))
    await nothing_later(house, session, result)


# --- what is to happen ------------------------------------------------------------------------------------------------


async def test_one_text_its_turn_and_then_the_end(house: House) -> None:
    session = house.open_here()
    session.turns(1000)
    session.ends_after = None
    task = house.begin({**NOTE, "expectedCwd": CWD})
    await house.clock.advance(ENTER_AT + 1000 + SETTLE - 1)
    assert kills(house) == []
    await house.clock.advance(1)
    assert kills(house) == ["stop 1"]
    await house.clock.advance(5000)
    assert not task.done(), "closed before the exit"
    session.exit()
    result = await task
    assert (result["ok"], result["outcome"], result["reason"], result["steps_total"]) == (True, "closed", None, 1)
    assert (result["submitted"], result["confirm_source"], result["idle_source"]) == (
        *("confirmed", "descriptor", "descriptor"),
    )
    assert (result["wrote"], result["text_written"], result["enter_written"]) == (True, True, True)
    assert session.writes == PAIR
    assert house.calls[0] == "ready"
    assert house.steps == ["waiting", "writing", "stopping"]


async def test_a_busy_target_is_waited_for_and_a_held_turn_prevents_the_end(house: House) -> None:
    session = house.open_here()
    session.show("busy")
    on_enter(session, lambda: session.show("busy"))
    task = house.begin(NOTE)
    await house.clock.advance(5000)
    assert session.writes == []
    session.show("idle")
    await house.clock.advance(SETTLE + ENTER_AT)
    assert session.typed == TEXT.encode() + b"\r"
    await house.clock.advance(200_000)
    assert kills(house) == [], "the last step's acknowledgement was taken for the end of its turn"
    session.show("idle")
    await house.clock.advance(SETTLE)
    assert kills(house) == ["stop 1"]
    assert (await house.clock.run(ends(task)))["outcome"] == "closed"
    assert session.typed == TEXT.encode() + b"\r"


async def test_a_dialog_before_the_text_is_waited_for(house: House) -> None:
    session = house.open_here()
    session.turns(500)
    session.show("waiting")
    house.at(2000, lambda: session.show("idle"))
    assert (await house.ask(NOTE))["outcome"] == "closed"
    assert session.writes[0][0] == 2000 + SETTLE


async def test_the_marker_tells_how_far_it_came(house: House) -> None:
    session = house.open_here()
    session.turns(1000)
    phases: list[str] = []

    def look() -> None:
        phases.append((house.marker() or {})["phase"])

    react = session.on_write

    def written(data: bytes) -> None:
        look()
        react(data)

    session.on_write = written
    house.at(500, look)
    house.sessions.on_stop = lambda _session: look()
    house.at(ENTER_AT + 1000 + SETTLE + 10, look)
    await house.ask(NOTE)
    assert phases == ["prompt-attempted", "text-written", "enter-written", "note-finished", "stop-requested"]


async def test_there_is_no_marker_until_the_text_is_typed(house: House) -> None:
    """Until then nothing is done: a host that ends while a turn is awaited leaves an untouched request."""
    session = house.open_here()
    session.show("busy")
    task = house.begin(NOTE)
    await house.clock.advance(5000)
    assert house.marker() is None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (house.marker(), session.writes, kills(house)) == (None, [], [])


async def test_a_blip_of_idle_ends_no_turn(house: House) -> None:
    session = house.open_here()
    on_enter(session, lambda: session.show("busy"))
    house.at(1000, lambda: session.show("idle"))
    house.at(1010, lambda: session.show("busy"))
    house.at(4000, lambda: session.show("idle"))
    house.begin(NOTE)
    await house.clock.advance(4000 + SETTLE - 1)
    assert kills(house) == []
    await house.clock.advance(1)
    assert kills(house) == ["stop 1"]
    await house.clock.advance(1000)


async def test_the_transcript_shows_the_turn_over_while_background_work_holds_the_cli(house: House) -> None:
    session = house.open_here()
    on_enter(session, lambda: session.show("busy", busy=True))
    house.at(100, lambda: session.record(shown(house)))
    house.at(2000, lambda: session.record(shown(house, closed_at=2000)))
    task = house.begin(NOTE)
    await house.clock.advance(2000 + TRANSCRIPT_QUIET - 1)
    assert kills(house) == []
    await house.clock.advance(1)
    assert kills(house) == ["stop 1"], "a busy that is accounted for blocks for ever"
    result = await house.clock.run(ends(task))
    assert (result["outcome"], result["submitted"], result["idle_source"]) == ("closed", "confirmed", "transcript")


async def test_a_session_without_a_status_keeps_the_fallback_of_its_flag(house: House) -> None:
    session = house.open_here()
    session.update(status=None)
    on_enter(session, lambda: session.update(busy=True))
    house.at(1000, lambda: session.update(busy=False))
    house.begin(NOTE)
    await house.clock.advance(1000 + SETTLE - 1)
    assert kills(house) == []
    await house.clock.advance(1)
    assert kills(house) == ["stop 1"]
    await house.clock.advance(1000)
    assert (house.result("00000001-aaaa-4000-8000-000000000000") or {})["idle_source"] == "busy_flag"


async def test_a_flag_that_rose_and_fell_while_the_text_was_verified_need_not_rise_again(house: House) -> None:
    """Without a status, and with a transcript that shows the text late: by then its turn is over."""
    session = house.open_here()
    session.update(status=None)
    session.record(transcript((house.start - 9000, "something else")))
    on_enter(session, lambda: session.update(busy=True) if house.elapsed == ENTER_AT else None)
    house.at(500, lambda: session.update(busy=False))
    house.at(3500, lambda: session.record(shown(house)))
    result = await house.ask({**NOTE, "timeout_ms": 20_000})
    assert (result["outcome"], result["submitted"], result["idle_source"]) == ("closed", "confirmed", "busy_flag")
    assert session.writes == PAIR


async def test_a_late_sign_of_the_text_is_what_the_result_tells(house: House) -> None:
    """Nothing within the window; later the transcript has it, and its turn ends."""
    session = house.open_here()
    session.on_write = lambda _data: None
    house.at(8000, lambda: session.record(shown(house, at=7900)))
    house.at(8000, lambda: session.show("busy"))
    house.at(9000, lambda: session.show("idle"))
    result = await house.ask(NOTE)
    assert (result["outcome"], result["submitted"], result["confirm_source"]) == ("closed", "confirmed", "transcript")


async def test_a_command_that_compacts_is_a_text_like_others(house: House) -> None:
    session = house.open_here()
    on_enter(session, lambda: session.show("busy"))
    house.at(1000, lambda: session.record(transcript(boundaries=(("u", house.start + 900, True),))))
    house.at(1000, lambda: session.show("idle"))
    session.record(transcript())
    result = await house.ask({**NOTE, "before": "/compact"})
    assert (result["outcome"], result["confirm_source"]) == ("closed", "compact_boundary")


# --- nothing that ends the wait badly ends the session ----------------------------------------------------------------


def absorbed(_house: House, session: MemorySession) -> None:
    """The Enter is swallowed: no rise, an old idle, an empty composer."""
    session.on_write = lambda _data: None


def another_reason(house: House, session: MemorySession) -> None:
    """The CLI works and goes idle for a reason of its own; its transcript does not have the text."""
    session.record(transcript((house.start - 9000, "something else"), closed_at=house.start - 8000))
    session.turns(500)


def never_ends(_house: House, session: MemorySession) -> None:
    on_enter(session, lambda: session.show("busy"))


def asks(_house: House, session: MemorySession) -> None:
    on_enter(session, lambda: session.show("waiting"))


def asks_later(house: House, session: MemorySession) -> None:
    on_enter(session, lambda: session.show("busy"))
    house.at(1000, lambda: session.show("waiting"))


def goes_on_in_a_shell(house: House, session: MemorySession) -> None:
    on_enter(session, lambda: session.show("busy"))
    house.at(1000, lambda: session.show("shell"))


def is_not_seen_any_more(house: House, session: MemorySession) -> None:
    on_enter(session, lambda: session.show("busy"))
    house.at(1000, lambda: session.update(status=None))


def has_a_flag_that_never_rises(_house: House, session: MemorySession) -> None:
    session.update(status=None)
    session.on_write = lambda _data: None


def is_idle_too_late(house: House, session: MemorySession) -> None:
    on_enter(session, lambda: session.show("busy"))
    house.at(20_000 - SETTLE, lambda: session.show("idle"))


@pytest.mark.parametrize(
    "happens",
    [
        *(absorbed, another_reason, never_ends, asks, asks_later, goes_on_in_a_shell, is_not_seen_any_more),
        *(has_a_flag_that_never_rises, is_idle_too_late),
    ],
)
async def test_a_turn_that_is_not_proven_over_by_the_deadline(house: House, happens: Act) -> None:
    session = house.open_here()
    happens(house, session)
    result = await house.ask({**NOTE, "timeout_ms": 20_000})
    assert house.elapsed == 20_000
    assert session.writes[:2] == PAIR
    assert all(data == b"\r" for _, data in session.writes[2:]), "more was typed than one recovery Enter"
    assert len(session.writes) <= 3
    await stays_unstopped(house, session, result)


async def test_a_flag_that_falls_while_a_dialog_without_a_stamp_is_open_ends_no_turn(house: House) -> None:
    session = house.open_here()
    session.update(status=None)
    on_enter(session, lambda: session.update(busy=True))
    house.at(1000, lambda: session.update(busy=False, status=CliStatus("waiting", None, "permission")))
    result = await house.ask({**NOTE, "timeout_ms": 20_000})
    await stays_unstopped(house, session, result)


async def test_a_flag_that_rose_before_the_enter_as_well_proves_no_command(house: House) -> None:
    """Something else makes the CLI work, and a command of its own does not stand in the transcript."""
    session = house.open_here()
    session.update(status=None)
    session.record(transcript((house.start - 9000, "something else")))
    house.at(20, lambda: session.update(busy=True))
    house.at(30, lambda: session.update(busy=False))
    on_enter(session, lambda: session.update(busy=True))
    house.at(1000, lambda: session.update(busy=False))
    result = await house.ask({**NOTE, "before": "/wrap-up", "timeout_ms": 20_000})
    assert result["submitted"] == "activity"
    await stays_unstopped(house, session, result)


@pytest.mark.parametrize("after_enter", [1, 700])
async def test_verification_is_cut_off_by_the_deadline(house: House, after_enter: int) -> None:
    """Exactly one text and one Enter, and nothing when the reaction comes after all."""
    session = house.open_here()
    session.on_write = lambda _data: None
    result = await house.ask({**NOTE, "timeout_ms": ENTER_AT + after_enter})
    assert house.elapsed == ENTER_AT + after_enter
    assert (result["submitted"], result["wrote"], result["text_written"], result["enter_written"]) == (
        *("assumed", True, True, True),
    )
    underlying: Any = result["delivery"]
    assert (result["uncertain"], underlying["timedOut"], result["steps_total"]) == (True, True, 1)
    assert "enter_at" in underlying
    house.at(house.elapsed + 100, lambda: session.show("busy"))
    house.at(house.elapsed + 5000, lambda: session.show("idle"))
    await house.clock.advance(10_000)
    assert session.writes == PAIR
    await stays_unstopped(house, session, result)


async def test_the_deadline_falls_between_text_and_enter(house: House) -> None:
    session = house.open_here()
    result = await house.ask({**NOTE, "timeout_ms": ENTER_AT})
    assert session.writes == PAIR[:1]
    assert (result["wrote"], result["text_written"], result["enter_written"]) == (True, True, False)
    await stays_unstopped(house, session, result, delivery.enter_withheld(delivery.TOO_LATE))


def is_busy(_house: House, session: MemorySession) -> None:
    session.show("busy")


def shows_a_dialog(_house: House, session: MemorySession) -> None:
    session.show("waiting")


def runs_a_shell(_house: House, session: MemorySession) -> None:
    session.show("shell")


def has_a_draft(_house: House, session: MemorySession) -> None:
    session.type(b"half")


def is_not_observed(_house: House, session: MemorySession) -> None:
    session.update(composer=None)


def is_typed_in(house: House, session: MemorySession) -> None:
    for ms in range(0, 6000, 1000):
        house.at(ms, lambda: session.type(TYPED_AND_DELETED))


def publishes_nothing(_house: House, session: MemorySession) -> None:
    session.publishes = False


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (is_busy, delivery.STILL_BUSY),
        (shows_a_dialog, delivery.DIALOG_OPEN),
        (runs_a_shell, delivery.NEVER_IDLE),
        (has_a_draft, delivery.composer_pending("4")),
        (is_not_observed, delivery.COMPOSER_UNSEEN),
        (is_typed_in, delivery.composer_recent("0", str(QUIET))),
        (publishes_nothing, reasons.READINESS_UNAVAILABLE),
    ],
)
async def test_a_target_that_is_not_ready_by_the_deadline(house: House, happens: Act, reason: str) -> None:
    session = house.open_here()
    happens(house, session)
    result = await house.ask({**NOTE, "timeout_ms": 5000})
    assert session.writes == []
    assert (result["submitted"], result["wrote"]) == ("no", False)
    session.publishes = True
    await stays_unstopped(house, session, result, reason)


@pytest.mark.parametrize("at", [20, 500], ids=["before the Enter", "during its turn"])
async def test_an_exit_before_the_end_of_the_turn_finishes_no_note(house: House, at: int) -> None:
    session = house.open_here()
    session.turns(1000)
    house.at(at, session.exit)
    result = await house.ask(NOTE)
    assert house.elapsed == at if at > ENTER_AT else house.elapsed <= ENTER_AT
    await stays_unstopped(house, session, result, delivery.EXITED)


# --- after the turn ---------------------------------------------------------------------------------------------------

OVER_AT = ENTER_AT + 1000 + SETTLE


async def until_the_turn_is_over(house: House) -> tuple[MemorySession, asyncio.Task[Any]]:
    """The note is finished, and the quiet window holds the end back: somebody has typed, and deleted it."""
    session = house.open_here()
    session.turns(1000)
    house.at(900, lambda: session.type(TYPED_AND_DELETED))
    task = house.begin({**NOTE, "expectedCwd": CWD, "timeout_ms": 60_000})
    await house.clock.advance(OVER_AT + 100)
    assert (house.marker() or {})["phase"] == "note-finished"
    return session, task


async def refused_with_its_note(house: House, session: MemorySession, result: Mapping[str, Any], reason: str) -> None:
    """The note is finished, and told; the session is left alone."""
    assert (result["ok"], result["outcome"], result["reason"]) == (False, "refused", reason)
    assert (result["submitted"], result["wrote"], result["enter_written"]) == ("confirmed", True, True)
    assert "uncertain" not in result
    assert session.writes == PAIR
    await nothing_later(house, session, result)


async def test_the_quiet_window_is_waited_for(house: House) -> None:
    session, task = await until_the_turn_is_over(house)
    await house.clock.advance(900 + QUIET - house.elapsed - 1)
    assert kills(house) == []
    await house.clock.advance(1)
    assert kills(house) == ["stop 1"]
    assert (await house.clock.run(ends(task)))["outcome"] == "closed"
    assert session.writes == PAIR


@pytest.mark.parametrize("name", STATES)
async def test_whatever_is_new_after_the_turn_invalidates_it(house: House, name: str) -> None:
    act, reason = STATES[name]
    session, task = await until_the_turn_is_over(house)
    act(house, session)
    await refused_with_its_note(house, session, await house.clock.run(ends(task)), reason)


@pytest.mark.parametrize("name", CHANGES)
async def test_a_session_that_changes_after_the_turn_is_not_stopped(house: House, name: str) -> None:
    act, _, reason = CHANGES[name]
    session, task = await until_the_turn_is_over(house)
    act(house, session)
    await refused_with_its_note(house, session, await house.clock.run(ends(task)), reason)


async def test_a_new_turn_right_after_the_note_is_not_interrupted(house: House) -> None:
    session = house.open_here()
    session.turns(1000)
    house.at(OVER_AT, lambda: session.show("busy"))
    result = await house.ask({**NOTE, "timeout_ms": 4000})
    await stays_unstopped(house, session, result)


async def test_a_deadline_in_the_quiet_window_is_told_as_such(house: House) -> None:
    session = house.open_here()
    session.turns(1000)
    house.at(900, lambda: session.type(TYPED_AND_DELETED))
    result = await house.ask({**NOTE, "timeout_ms": 900 + QUIET})
    await refused_with_its_note(house, session, result, reasons.NOT_QUIET)


async def test_an_exit_after_the_turn_is_what_was_asked_for(house: House) -> None:
    session, task = await until_the_turn_is_over(house)
    session.exit()
    result = await ends(task)
    assert (result["ok"], result["outcome"], result["submitted"], kills(house)) == (True, "closed", "confirmed", [])


async def test_one_that_ended_and_was_opened_again_is_another_one(house: House) -> None:
    session, task = await until_the_turn_is_over(house)
    session.exit()
    is_replaced(house, session)
    await refused_with_its_note(house, session, await house.clock.run(ends(task)), reasons.TARGET_CHANGED)


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        (lambda session: session.show("busy"), reasons.BUSY),
        (lambda session: session.update(busy=False) or session.update(busy=True), reasons.BUSY),
        (lambda session: session.show("waiting", busy=False), reasons.DIALOG),
        (lambda session: session.show("shell", busy=False), reasons.SHELL),
        (lambda session: session.type(b"x"), reasons.UNSUBMITTED),
    ],
    ids=["another busy", "the flag again", "dialog", "shell", "text"],
)
async def test_a_busy_that_is_accounted_for_covers_nothing_newer(
    house: House, later: Callable[[MemorySession], object], reason: str
) -> None:
    session = house.open_here()
    on_enter(session, lambda: session.show("busy", busy=True))
    house.at(2000, lambda: session.record(shown(house, closed_at=2000)))
    house.at(4500, lambda: session.type(TYPED_AND_DELETED))
    task = house.begin(NOTE)
    await house.clock.advance(6000)
    assert (house.marker() or {})["phase"] == "note-finished"
    later(session)
    await refused_with_its_note(house, session, await house.clock.run(ends(task)), reason)


async def test_a_status_that_was_shown_and_is_lost_proves_nothing_through_the_flag(house: House) -> None:
    """Its CLI had a status when the text was typed: without it nobody knows what it does."""
    session = house.open_here()
    on_enter(session, lambda: session.show("busy", busy=True))
    house.at(1000, lambda: session.update(busy=False, status=None))
    result = await house.ask(NOTE)
    assert house.elapsed == 1000 + SETTLE
    await refused_with_its_note(house, session, result, reasons.STATE_UNAVAILABLE)


async def test_a_signal_that_cannot_be_sent_leaves_the_note_told(house: House) -> None:
    session = house.open_here()
    session.turns(1000)
    house.sessions.cannot_stop = StopError("why")
    result = await house.ask(NOTE)
    assert (result["reason"], result["error"], result["submitted"]) == (reasons.STOP_FAILED, "why", "confirmed")
    assert "uncertain" not in result
    await house.clock.advance(400_000)
    assert kills(house) == ["stop 1"]


async def test_an_end_that_is_not_seen_keeps_the_note(house: House) -> None:
    session = house.open_here()
    session.turns(1000)
    session.ends_after = None
    result = await house.ask({**NOTE, "timeout_ms": 5000})
    assert (result["reason"], result["uncertain"], result["submitted"]) == (
        *(reasons.STOP_NOT_CONFIRMED, True, "confirmed"),
    )
    assert "delivery" not in result


# --- the session changes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("at", [-100, 20, 500], ids=["before the text", "before the Enter", "during the turn"])
async def test_a_session_that_changes_before_the_turn_is_over(house: House, name: str, at: int) -> None:
    act, _, reason = CHANGES[name]
    session = house.open_here()
    session.turns(1000)
    session.show("busy")
    house.at(200, lambda: session.show("idle"))
    begins = 200 + SETTLE
    house.at(begins + at, lambda: act(house, session))
    result = await house.ask({**NOTE, "expectedCwd": CWD, "timeout_ms": 20_000})
    expected = [] if at < 0 else PAIR[:1] if at < ENTER_AT else PAIR
    assert [data for _, data in session.writes] == [data for _, data in expected]
    await stays_unstopped(house, session, result, reason if at < ENTER_AT else None)
    underlying: Any = result["delivery"]
    assert reason in (str(result["detail"]) if at > ENTER_AT else underlying["reason"])


# --- from outside -----------------------------------------------------------------------------------------------------


async def test_a_text_whose_marker_cannot_be_written_is_not_typed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = house.open_here()
    monkeypatch.setattr(house.spool, "create_marker", full)
    result = await house.ask(NOTE)
    assert (result["reason"], result["wrote"], session.writes) == (reasons.MARKER_NOT_SAVED, False, [])
    assert "No space left" in str(result["error"])
    await nothing_later(house, session, result)


@pytest.mark.parametrize(
    ("at", "typed", "uncertain"),
    [(100, b"", False), (520, TEXT.encode() + b"\r", True), (900, TEXT.encode() + b"\r", True)],
    ids=["idle awaited", "between text and Enter", "turn awaited"],
)
async def test_a_host_that_closes_ends_nothing(house: House, at: int, typed: bytes, uncertain: bool) -> None:
    session = house.open_here()
    session.show("busy")
    house.at(200, lambda: session.show("idle"))
    on_enter(session, lambda: session.show("busy"))
    task = house.begin(NOTE)
    await house.clock.advance(at)
    house.close()
    result = await house.clock.run(ends(task))
    assert (result["reason"], result.get("uncertain", False)) == (reasons.CLOSING, uncertain)
    assert session.typed == typed
    session.show("idle")
    await house.clock.advance(400_000)
    assert kills(house) == []
    assert session.typed == typed


async def test_a_host_that_closes_after_the_turn_ends_nothing_and_knows_all(house: House) -> None:
    session, task = await until_the_turn_is_over(house)
    house.close()
    result = await ends(task)
    assert (result["reason"], result["submitted"], result.get("uncertain")) == (reasons.CLOSING, "confirmed", None)
    await house.clock.advance(400_000)
    assert (kills(house), session.writes) == ([], PAIR)


@pytest.mark.parametrize("at", [100, 520, 900, 3000], ids=["idle awaited", "before Enter", "turn awaited", "quiet"])
async def test_a_note_that_is_cancelled_ends_nothing(house: House, at: int) -> None:
    session = house.open_here()
    session.show("busy")
    house.at(200, lambda: session.show("idle"))
    session.turns(1000)
    house.at(1500, lambda: session.type(TYPED_AND_DELETED))
    task = house.begin(NOTE)
    await house.clock.advance(at)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    writes = list(session.writes)
    result = house.actions[0].broken_off(reasons.CLOSING)
    assert (result["outcome"], result["wrote"]) == ("refused", bool(writes))
    assert result.get("uncertain", False) is (b"\r" in session.typed)
    session.update(composer=ComposerView(0, 0))
    await house.clock.advance(400_000)
    assert (kills(house), session.writes) == ([], writes)


async def test_a_prompt_that_was_asked_for_before_comes_first_and_its_turn_is_not_cut_off(house: House) -> None:
    session = house.open_here()
    session.turns(3000)
    first = house.begin(PROMPT)
    task = house.begin(NOTE)
    result = await house.clock.run(ends(task))
    assert first.done()
    assert result["outcome"] == "closed"
    assert session.typed == b"hello\r" + TEXT.encode() + b"\r"
    assert session.writes[2][0] >= 3000 + SETTLE
