"""Single commands and keys as conversations: what is written when, and what the result says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.support.stage import SESSION, Stage, transcript

from switchboard.common.facts import CliStatus, ComposerView, Facts, Typing
from switchboard.triggers.results import Result

HELLO = {"command": "hello"}
DIALOG = "the CLI reports a dialog open (waiting); nothing was written into it"
UNSAFE = "the CLI reports a dialog open or a turn running, a bare Enter could answer it"
LEFT = (
    "a dialog opened (waiting) after the text was written and before its Enter; the Enter was withheld and the text "
    "is left in the composer"
)


def has(result: Result, **fields: Any) -> None:
    assert {name: result.get(name) for name in fields} == fields, result


def not_sent(stage: Stage, result: Result, reason: str) -> None:
    has(
        result,
        ok=False,
        error="not sent",
        reason=reason,
        submitted="no",
        wrote=False,
        text_written=False,
        enter_written=False,
        steps_total=1,
        sessionId=SESSION,
    )
    assert stage.writes == []


# --- success ----------------------------------------------------------------------------------------------------------


async def test_edge_confirmed() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("\r", after=40, status="busy")
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello"), (50, b"\r")]
    assert result == {
        "ok": True,
        "submitted": "confirmed",
        "steps_total": 1,
        "sessionId": SESSION,
        "command": "hello",
        "sent_at": "2027-01-15T08:00:00.090Z",
        "waited_ms": 40,
        "submit_retries": 0,
        "written": True,
        "turn_observed": True,
        "submit_confirmed": True,
        "confirm_source": "descriptor",
        "wrote": True,
        "text_written": True,
        "enter_written": True,
    }
    stage.finish()


async def test_level_confirmed() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    result = await stage.ask(HELLO)
    has(result, ok=True, submitted="confirmed", waited_ms=10, turn_observed=True, submit_retries=0)
    assert "submit_confirmed" not in result
    assert "confirm_source" not in result


async def test_level_activity_when_busy_before_the_text() -> None:
    stage = Stage()
    stage.show(busy=True)
    has(await stage.ask(HELLO), ok=True, submitted="activity", turn_observed=True, submit_retries=0)


async def test_level_activity_when_busy_between_text_and_enter() -> None:
    stage = Stage()
    stage.when("hello", after=10, busy=True)
    stage.when("hello", after=11, busy=False)
    stage.when("\r", after=10, busy=True)
    has(await stage.ask(HELLO), submitted="activity")
    stage.finish()


async def test_level_activity_when_a_pulse_came_and_went_in_one_turn_of_the_loop() -> None:
    stage = Stage()

    def pulse() -> None:
        stage.show(busy=True)
        stage.show(busy=False)

    stage.when("hello", after=10, act=pulse)
    stage.when("\r", after=10, busy=True)
    has(await stage.ask(HELLO), submitted="activity")


async def test_level_activity_when_the_composer_is_not_empty_after_the_enter() -> None:
    stage = Stage()
    stage.when("\r", composer=ComposerView(1, stage.stamp(50)))
    stage.when("\r", after=10, busy=True)
    has(await stage.ask(HELLO), submitted="activity")


async def test_level_activity_when_the_composer_is_not_observable_after_the_enter() -> None:
    stage = Stage()
    stage.when("\r", composer=None)
    stage.when("\r", after=10, busy=True)
    has(await stage.ask(HELLO), submitted="activity")


async def test_level_activity_when_seen_only_after_the_recovery_enter() -> None:
    stage = Stage()
    stage.when("\r", nth=2, after=5, busy=True)
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello"), (50, b"\r"), (2050, b"\r")]
    has(result, ok=True, submitted="activity", submit_retries=1, waited_ms=2005)


async def test_edge_confirmed_after_the_recovery_enter() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("\r", nth=2, after=5, status="busy")
    result = await stage.ask(HELLO)
    has(result, submitted="confirmed", submit_retries=1, submit_confirmed=True, waited_ms=2005)


@pytest.mark.parametrize("edge", [True, False])
async def test_assumed_when_nothing_shows(edge: bool) -> None:
    stage = Stage()
    if edge:
        stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello"), (50, b"\r"), (2050, b"\r")]
    has(result, ok=True, submitted="assumed", submit_retries=1, waited_ms=4000, turn_observed=False, written=True)
    assert result.get("submit_confirmed") == (False if edge else None)


async def test_an_old_busy_stamp_does_not_confirm_and_forbids_the_recovery_enter() -> None:
    stage = Stage()
    stage.show(status=CliStatus("busy", stage.stamp(-1)))
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello"), (50, b"\r")]
    has(result, ok=True, submitted="assumed", submit_retries=0, submit_confirmed=False, reason=UNSAFE)


async def test_a_shell_status_after_the_enter_does_not_confirm() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-1)))
    stage.when("\r", after=5, status="shell")
    has(await stage.ask(HELLO), submitted="assumed", submit_retries=1)


async def test_the_exit_during_verification_is_still_a_success() -> None:
    stage = Stage()
    stage.when("\r", after=5, act=stage.terminal.exit)
    has(await stage.ask(HELLO), ok=True, submitted="assumed", waited_ms=5)


# --- the recovery Enter -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["waiting", "busy"])
async def test_recovery_withheld_by_a_status_without_a_usable_stamp(name: str) -> None:
    stage = Stage()
    stage.when("\r", after=100, status=CliStatus(name, None))
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello"), (50, b"\r")]
    has(result, ok=True, submit_retries=0, reason=UNSAFE)


async def test_recovery_withheld_by_a_draft() -> None:
    stage = Stage()
    stage.when("\r", after=100, composer=ComposerView(3, stage.stamp(150)))
    result = await stage.ask(HELLO)
    assert len(stage.writes) == 2
    reason = "3 byte(s) of input are sitting unsubmitted in the composer"
    has(result, submit_retries=0, reason=reason, waited_ms=4000, submitted="assumed")


async def test_recovery_waits_for_the_quiet_window() -> None:
    stage = Stage(SWITCHBOARD_TRIGGER_QUIET_MS="2500")
    stage.when("\r", after=100, composer=ComposerView(0, stage.stamp(150)))
    await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello"), (50, b"\r"), (2650, b"\r")]


async def test_an_effect_that_comes_while_the_composer_is_waited_for_needs_no_second_enter() -> None:
    stage = Stage(SWITCHBOARD_TRIGGER_QUIET_MS="2500")
    stage.show(status=CliStatus("idle", stage.stamp(-1)))
    stage.when("\r", after=100, composer=ComposerView(0, stage.stamp(150)))
    stage.when("\r", after=2100, status="idle")
    has(await stage.ask(HELLO), submitted="confirmed", submit_retries=0)
    assert len(stage.writes) == 2


# --- waits before the text --------------------------------------------------------------------------------------------


async def test_a_draft_holds_until_the_deadline() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(5, stage.stamp(0)))
    result = await stage.ask({**HELLO, "timeout_ms": 1000})
    not_sent(stage, result, "5 byte(s) of input are sitting unsubmitted in the composer")
    has(result, waited_ms=1000)


async def test_typing_goes_on_after_the_draft_is_gone() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(5, stage.stamp(0)))
    stage.at(400, composer=ComposerView(0, stage.stamp(400)))
    result = await stage.ask(HELLO)
    assert stage.writes[0] == (3400, b"hello")
    assert result["waited_ms"] == 3400 + 4000


async def test_the_quiet_window_is_the_one_of_the_environment_at_that_moment() -> None:
    stage = Stage()
    stage.env["SWITCHBOARD_TRIGGER_QUIET_MS"] = "70"
    stage.show(composer=ComposerView(0, stage.stamp(0)))
    await stage.ask(HELLO)
    assert stage.writes[0] == (70, b"hello")


async def test_without_wait_a_dialog_holds_until_the_deadline() -> None:
    stage = Stage()
    stage.show(status=CliStatus("waiting", stage.stamp(-5), "permission prompt"))
    result = await stage.ask({**HELLO, "timeout_ms": 800})
    not_sent(stage, result, DIALOG)
    has(result, waited_ms=800, dialog="permission prompt")


async def test_without_wait_a_running_turn_does_not_hold() -> None:
    stage = Stage()
    stage.show(busy=True, status=CliStatus("busy", stage.stamp(-5)))
    stage.when("\r", after=5, status="busy")
    has(await stage.ask(HELLO), submitted="confirmed")
    assert stage.writes[0] == (0, b"hello")


async def test_exit_during_the_dialog_hold() -> None:
    stage = Stage()
    stage.show(status="waiting")
    stage.at(100, act=stage.terminal.exit)
    has(await stage.ask(HELLO), ok=False, error="session exited during wait", waited_ms=100, wrote=False)
    assert not stage.writes


async def test_liveness_is_asked_again_before_the_text() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(1, stage.stamp(0)))

    def leave() -> None:
        stage.terminal.alive = False
        stage.show(composer=ComposerView(0, 0))

    stage.at(100, act=leave)
    result = await stage.ask(HELLO)
    has(result, error="target process not running", waited_ms=100, submitted="no", wrote=False)


# --- wait: "idle" -----------------------------------------------------------------------------------------------------

IDLE = {"command": "hello", "wait": "idle", "timeout_ms": 5000}


async def test_idle_timeout() -> None:
    stage = Stage()
    stage.show(busy=True)
    result = await stage.ask(IDLE)
    not_sent(stage, result, "timeout waiting for idle; nothing was written")
    has(result, waited_ms=5000)


async def test_idle_timeout_with_a_dialog() -> None:
    stage = Stage()
    stage.show(busy=True, status="waiting")
    not_sent(stage, await stage.ask(IDLE), DIALOG)


async def test_idle_exit() -> None:
    stage = Stage()
    stage.show(busy=True)
    stage.at(70, act=stage.terminal.exit)
    result = await stage.ask(IDLE)
    reason = "the session exited while waiting for it to go idle; nothing was written"
    has(result, error="session exited during wait", reason=reason, waited_ms=70, submitted="no")


async def test_idle_for_long_is_typed_at_once() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-300)))
    await stage.ask(IDLE)
    assert stage.writes[0] == (0, b"hello")


async def test_idle_of_a_moment_ago_is_typed_when_it_has_settled() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-100)))
    await stage.ask(IDLE)
    assert stage.writes[0] == (200, b"hello")


async def test_a_short_deadline_shortens_the_settling() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(0)))
    await stage.ask({**IDLE, "timeout_ms": 100})
    assert stage.writes[0] == (99, b"hello")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("busy", "the CLI still reported a turn running (busy) at the deadline; nothing was written"),
        ("waiting", DIALOG),
        ("shell", "the CLI never reported idle before the deadline; nothing was written"),
    ],
)
async def test_not_ready_at_the_deadline(name: str, reason: str) -> None:
    stage = Stage()
    stage.show(status=name)
    result = await stage.ask(IDLE)
    not_sent(stage, result, reason)
    has(result, waited_ms=5000)


async def test_idle_only_briefly() -> None:
    stage = Stage()
    stage.show(status="busy")
    stage.at(4900, status="idle")
    reason = "the CLI was idle only briefly before the deadline; it never held long enough to settle; "
    not_sent(stage, await stage.ask(IDLE), reason + "nothing was written")


async def test_a_dialog_in_the_last_settle_window_is_named() -> None:
    stage = Stage()
    stage.show(status="waiting")
    stage.at(4800, status="idle")
    not_sent(stage, await stage.ask(IDLE), DIALOG)


@pytest.mark.parametrize("publishes", [True, False])
async def test_a_ten_millisecond_blip_never_gets_a_byte(publishes: bool) -> None:
    stage = Stage()
    stage.show(busy=True, **({"status": "busy"} if publishes else {}))
    for blip in range(100, 4000, 400):
        stage.at(blip, busy=False, **({"status": "idle"} if publishes else {}))
        stage.at(blip + 10, busy=True, **({"status": "busy"} if publishes else {}))
    result = await stage.ask(IDLE)
    assert stage.writes == []
    has(result, ok=False, error="not sent")


async def test_a_request_that_arrives_within_a_blip_gets_no_byte_into_it() -> None:
    stage = Stage()
    stage.show(busy=True)
    stage.show(busy=False)
    stage.at(10, busy=True)
    stage.at(1000, busy=False)
    await stage.ask(IDLE)
    assert stage.writes[0] == (1300, b"hello")


async def test_an_idle_cli_without_a_status_is_typed_to_at_once() -> None:
    stage = Stage()
    await stage.ask(IDLE)
    assert stage.writes[0] == (0, b"hello")


async def test_a_dialog_without_a_usable_stamp_holds_too() -> None:
    stage = Stage()
    stage.show(status=CliStatus("waiting", None))
    not_sent(stage, await stage.ask(IDLE), DIALOG)


# --- the deadline -----------------------------------------------------------------------------------------------------


async def test_the_default_budget_is_the_one_of_the_environment() -> None:
    stage = Stage(SWITCHBOARD_TRIGGER_IDLE_TIMEOUT_MS="700000")
    stage.show(composer=None)
    assert (await stage.ask(HELLO))["waited_ms"] == 700_000


async def test_a_free_composer_at_the_deadline_itself_is_too_late_to_write() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(0, stage.stamp(0)))
    result = await stage.ask({**HELLO, "timeout_ms": 3000})
    not_sent(stage, result, "the step deadline passed before it could be written; nothing was written")


async def test_a_machine_that_slept_does_not_type_hours_later() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(1, stage.stamp(0)))

    def wake() -> None:
        stage.clock.sleep(7200)
        stage.show(composer=ComposerView(0, 0))

    stage.at(100, act=wake)
    not_sent(
        stage,
        await stage.ask({**HELLO, "timeout_ms": 60_000}),
        "the step deadline passed before it could be written; nothing was written",
    )


# --- between text and Enter -------------------------------------------------------------------------------------------


async def test_a_dialog_between_text_and_enter_withholds_the_enter() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("hello", after=20, status=CliStatus("waiting", stage.stamp(20), "permission prompt"))
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello")]
    has(
        result,
        ok=False,
        error="step not confirmed",
        reason=LEFT,
        dialog="permission prompt",
        submitted="no",
        wrote=True,
        text_written=True,
        enter_written=False,
        written=False,
    )
    assert stage.elapsed == 2050
    assert stage.terminal.facts.value.composer == ComposerView(5, stage.stamp(50))


async def test_a_dialog_that_closes_in_time_lets_the_enter_through() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("hello", after=20, status="waiting")
    stage.when("hello", after=500, status="idle")
    stage.when("\r", after=10, status="busy")
    has(await stage.ask(HELLO), ok=True, submitted="confirmed")
    assert stage.writes == [(0, b"hello"), (500, b"\r")]
    assert stage.terminal.facts.value.composer == ComposerView(0, stage.stamp(500))


async def test_keys_that_answered_the_dialog_do_not_withhold_the_enter() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("hello", after=20, status="waiting")
    stage.when("hello", after=400, composer=ComposerView(0, stage.stamp(400)))
    stage.when("hello", after=500, status=CliStatus("busy", stage.stamp(400)))
    await stage.ask(HELLO)
    assert stage.writes[:2] == [(0, b"hello"), (500, b"\r")]


async def test_a_draft_begun_after_the_dialog_withholds_the_enter() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("hello", after=20, status="waiting")
    stage.when("hello", after=499, composer=ComposerView(6, stage.stamp(499)))
    stage.when("hello", after=500, status=CliStatus("idle", stage.stamp(498)))
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello")]
    has(result, error="step not confirmed", wrote=True, text_written=True, enter_written=False)
    assert "somebody typed after the dialog had closed" in str(result["reason"])


async def test_a_draft_between_text_and_enter_withholds_the_enter() -> None:
    stage = Stage()
    stage.when("hello", after=20, composer=ComposerView(2, stage.stamp(20)))
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello")]
    has(result, error="step not confirmed", enter_written=False)
    assert "2 byte(s) of input" in str(result["reason"])


async def test_exit_between_text_and_enter() -> None:
    stage = Stage()
    stage.when("hello", after=20, act=stage.terminal.exit)
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello")]
    has(result, ok=False, error="session exited during wait", wrote=True, text_written=True, enter_written=False)


async def test_a_machine_that_slept_between_text_and_enter_does_not_press_it() -> None:
    stage = Stage()
    stage.when("hello", after=20, act=lambda: stage.clock.sleep(3600))
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello")]
    has(result, error="step not confirmed", text_written=True, enter_written=False)


# --- how it is typed --------------------------------------------------------------------------------------------------


async def test_the_profile_says_how_text_is_typed() -> None:
    stage = Stage(SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="")
    stage.terminal.typing = Typing(enter_delay_ms=200, chunk_bytes=2, chunk_gap_ms=3, bracketed_paste=True)
    stage.when("\r", busy=True)
    await stage.ask(HELLO)
    pieces = [b"\x1b[200~", b"he", b"ll", b"o", b"\x1b[201~"]
    assert stage.writes == [*((3 * index, piece) for index, piece in enumerate(pieces)), (212, b"\r")]


async def test_the_environment_overrides_the_profiles_delay() -> None:
    stage = Stage(SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="5")
    stage.terminal.typing = Typing(enter_delay_ms=200)
    await stage.ask(HELLO)
    assert stage.writes[1] == (5, b"\r")


async def test_a_dialog_between_two_pieces_of_a_text_leaves_a_part() -> None:
    stage = Stage()
    stage.terminal.typing = Typing(chunk_bytes=2, chunk_gap_ms=3)
    stage.when("he", after=1, status="waiting")
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"he")]
    has(result, error="step not confirmed", submitted="no", wrote=True, text_written=False, enter_written=False)
    assert str(result["reason"]).startswith("only a part of the text was written")


async def test_a_lone_surrogate_is_typed_as_the_replacement_character() -> None:
    stage = Stage()
    await stage.ask({"command": "a\ud800"})
    assert stage.writes[0] == (0, "a\ufffd".encode())


async def test_without_a_wait_no_timer_is_left_and_nothing_is_delayed() -> None:
    stage = Stage(SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="0")
    stage.when("\r", busy=True)
    has(await stage.ask(HELLO), submitted="confirmed", waited_ms=0)
    assert stage.elapsed == 0


# --- failures of the terminal -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "evidence"),
    [(b"hello", (True, False, False)), (b"\r", (True, True, False))],
    ids=["text", "Enter"],
)
async def test_a_failed_write(data: bytes, evidence: tuple[bool, bool, bool]) -> None:
    stage = Stage()
    stage.fail_on[data] = OSError(5, "Input/output error")
    result = await stage.ask(HELLO)
    has(result, ok=False, error="pty write failed: [Errno 5] Input/output error", submitted="no", steps_total=1)
    assert "waited_ms" not in result
    assert (result["wrote"], result["text_written"], result["enter_written"]) == evidence


async def test_a_failed_recovery_enter() -> None:
    stage = Stage()
    stage.when("\r", act=lambda: stage.fail_on.update({b"\r": OSError(5, "gone")}))
    has(await stage.ask(HELLO), error="pty write failed: [Errno 5] gone", text_written=True, enter_written=True)


async def test_the_terminals_own_refusal_is_the_reason() -> None:
    stage = Stage()
    stage.terminal.refusal = "session target changed"
    not_sent(stage, await stage.ask(HELLO), "session target changed")


async def test_a_target_replaced_between_text_and_enter() -> None:
    stage = Stage()
    stage.when("hello", after=10, act=lambda: setattr(stage.terminal, "refusal", "session target changed"))
    result = await stage.ask(HELLO)
    assert stage.writes == [(0, b"hello")]
    has(result, error="step not confirmed", text_written=True, enter_written=False)
    assert "session target changed" in str(result["reason"])


async def test_a_moment_that_was_lost_while_the_line_was_taken_is_waited_for_again() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))

    taken = stage.terminal.line()
    await taken.__aenter__()
    stage.at(100, status="busy")
    stage.at(1000, status="idle")
    asking = asyncio.create_task(stage.carry_out(IDLE), name="request")
    await stage.clock.advance(200)
    await taken.__aexit__(None, None, None)
    await stage.clock.advance(6000)
    await asking
    assert stage.writes[0] == (1300, b"hello")


# --- /compact ---------------------------------------------------------------------------------------------------------

COMPACT = {"command": "/compact keep names", "timeout_ms": 300_000}
NOT_SEEN = "compaction was not observed in the session transcript before the step deadline; nothing more was typed"


async def test_compact_confirmed_by_a_new_boundary() -> None:
    stage = Stage()
    old = ("old", stage.stamp(-500), True)
    stage.show(status=CliStatus("idle", stage.stamp(-9000)), transcript=transcript(boundaries=(old,)))
    new = transcript(boundaries=(old, ("new", stage.stamp(129_000), True)))
    stage.at(129_000, transcript=new)
    result = await stage.ask(COMPACT)
    has(
        result,
        ok=True,
        submitted="confirmed",
        submit_confirmed=True,
        confirm_source="compact_boundary",
        compaction_observed=True,
        submit_retries=0,
        waited_ms=128_950,
    )
    assert stage.writes == [(0, b"/compact keep names"), (50, b"\r")]


@pytest.mark.parametrize(("busy", "rank"), [(True, "activity"), (False, "assumed")])
async def test_compact_not_observed(busy: bool, rank: str) -> None:
    stage = Stage()
    stage.show(transcript=transcript())
    if busy:
        stage.when("\r", after=30, busy=True)
    result = await stage.ask(COMPACT)
    has(
        result,
        ok=False,
        error="step not confirmed",
        reason=NOT_SEEN,
        submitted=rank,
        submit_confirmed=False,
        compaction_observed=False,
        submit_retries=0,
        wrote=True,
        enter_written=True,
    )
    assert stage.elapsed == 300_000
    assert len(stage.writes) == 2


async def test_compact_exit() -> None:
    stage = Stage()
    stage.when("\r", after=9, act=stage.terminal.exit)
    reason = "the session exited before compaction was observed; the command was written"
    has(await stage.ask(COMPACT), ok=False, error="step not confirmed", reason=reason, submit_confirmed=False)


async def test_compact_without_a_first_reading_is_never_confirmed() -> None:
    stage = Stage()
    stage.at(1000, transcript=transcript(boundaries=(("new", stage.stamp(900), True),)))
    has(await stage.ask(COMPACT), ok=False, reason=NOT_SEEN, submitted="assumed")


# --- key --------------------------------------------------------------------------------------------------------------

ESCAPE = {"key": "Escape"}


async def test_escape_is_one_byte_without_enter_also_into_a_running_turn() -> None:
    stage = Stage()
    stage.show(busy=True, status=CliStatus("busy", stage.stamp(-5)))
    result = await stage.ask(ESCAPE)
    assert stage.writes == [(0, b"\x1b")]
    has(
        result,
        ok=True,
        submitted="assumed",
        steps_total=1,
        key="Escape",
        wrote=True,
        text_written=False,
        enter_written=False,
        waited_ms=0,
    )
    assert stage.terminal.facts.value.composer == Facts().composer


async def test_escape_does_not_answer_a_dialog() -> None:
    stage = Stage()
    stage.show(status="waiting")
    not_sent(stage, await stage.ask({**ESCAPE, "timeout_ms": 50}), DIALOG)


async def test_escape_does_not_touch_a_draft() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(3, stage.stamp(-9000)))
    reason = "3 byte(s) of input are sitting unsubmitted in the composer"
    not_sent(stage, await stage.ask({**ESCAPE, "timeout_ms": 50}), reason)


async def test_escape_that_fails() -> None:
    stage = Stage()
    stage.fail_on[b"\x1b"] = OSError(5, "gone")
    has(await stage.ask(ESCAPE), ok=False, error="pty write failed: [Errno 5] gone", submitted="no")
