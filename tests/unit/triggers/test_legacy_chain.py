"""Chains as conversations."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.stage import SESSION, Stage, transcript

from switchboard.common.facts import CliStatus, ComposerView
from switchboard.triggers.results import Result

TWO = {"chain": [{"command": "one"}, {"command": "two"}], "timeout_ms": 60_000}
DIALOG = "the CLI reports a dialog open (waiting); nothing was written into it"
UNSAFE = "the CLI reports a dialog open or a turn running, a bare Enter could answer it"


def has(result: Result, **fields: Any) -> None:
    assert {name: result.get(name) for name in fields} == fields, result


def steps(result: Result) -> list[Any]:
    found = result["steps"]
    assert isinstance(found, list)
    return found


def nothing_sent(stage: Stage, result: Result, reason: str | None, error: str = "not sent") -> None:
    has(result, ok=False, error=error, reason=reason, partial=False, steps_completed=0, submitted="no", wrote=False)
    has(result, sessionId=SESSION, steps_total=2, steps_written=0, steps_with_turn_observed=0)
    assert stage.writes == []


def turns(stage: Stage, *lengths: int) -> None:
    """The CLI answers the n-th Enter: busy 10 ms later, idle again after so long."""
    for nth, length in enumerate(lengths, 1):
        stage.when("\r", nth=nth, after=10, status="busy", busy=True)
        stage.when("\r", nth=nth, after=10 + length, status="idle", busy=False)


# --- success ----------------------------------------------------------------------------------------------------------


async def test_edge_chain() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    turns(stage, 1000, 1000)
    result = await stage.ask(TWO)
    # Idle settles (300), the text, 50 ms, Enter; the turn; idle settles for its end, and again for readiness.
    assert stage.writes == [(300, b"one"), (350, b"\r"), (1960, b"two"), (2010, b"\r")]
    assert result == {
        "ok": True,
        "submitted": "confirmed",
        "steps_total": 2,
        "steps_completed": 2,
        "sessionId": SESSION,
        "sent_at": "2027-01-15T08:00:00.000Z",
        "steps": [
            {
                "idx": 0,
                "command": "one",
                "sent_at": "2027-01-15T08:00:00.000Z",
                "waited_ms": 300 + 10 + 1300,
                "submitted": "confirmed",
                "submit_retries": 0,
                "written": True,
                "turn_observed": True,
                "submit_confirmed": True,
                "confirm_source": "descriptor",
                "ready_source": "descriptor",
                "idle_source": "descriptor",
                "wrote": True,
                "text_written": True,
                "enter_written": True,
            },
            {
                "idx": 1,
                "command": "two",
                "sent_at": "2027-01-15T08:00:01.660Z",
                "waited_ms": 300 + 10,
                "submitted": "confirmed",
                "submit_retries": 0,
                "written": True,
                "turn_observed": True,
                "submit_confirmed": True,
                "confirm_source": "descriptor",
                "ready_source": "descriptor",
                "wrote": True,
                "text_written": True,
                "enter_written": True,
            },
        ],
        "total_waited_ms": 1610 + 310,
        "steps_written": 2,
        "steps_with_turn_observed": 2,
        "wrote": True,
        "text_written": True,
        "enter_written": True,
    }


async def test_level_chain_waits_for_rise_and_settled_fall() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    stage.when("\r", after=510, busy=False)
    stage.when("\r", after=700, busy=True)  # the flicker of a turn's end
    stage.when("\r", after=720, busy=False)
    stage.when("\r", nth=2, after=10, busy=True)
    result = await stage.ask(TWO)
    assert stage.writes == [(0, b"one"), (50, b"\r"), (1070, b"two"), (1120, b"\r")]
    has(steps(result)[0], submitted="confirmed", idle_source="busy_flag")
    assert "ready_source" not in steps(result)[0]
    has(result, ok=True, submitted="confirmed")


async def test_no_rise_goes_on_after_the_bound_and_is_told() -> None:
    stage = Stage(SWITCHBOARD_BUSY_RISE_WAIT_MS="700")
    result = await stage.ask(TWO)
    assert stage.writes == [
        (0, b"one"),
        (50, b"\r"),
        (2050, b"\r"),
        (4750, b"two"),
        (4800, b"\r"),
        (6800, b"\r"),
    ]
    has(result, ok=True, submitted="assumed", unconfirmed_steps=[0, 1], steps_with_turn_observed=0, steps_written=2)
    has(steps(result)[0], idle_source="no_rise", submit_retries=1)


async def test_a_chain_of_one_does_not_wait_for_the_end_of_its_turn() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    result = await stage.ask({"chain": [{"command": "one"}]})
    has(result, ok=True, steps_total=1, submitted="confirmed", total_waited_ms=10)
    assert "idle_source" not in steps(result)[0]


async def test_background_work_that_holds_busy_is_overruled_by_the_transcript() -> None:
    stage = Stage()
    stage.show(
        status="busy", busy=True, transcript=transcript(closed_at=stage.stamp(-9000), modified_at=stage.stamp(-9000))
    )
    entry = (stage.stamp(80), "one")
    stage.when("\r", after=60, transcript=transcript(entry, modified_at=stage.stamp(410)))
    stage.when(
        "\r", after=2000, transcript=transcript(entry, closed_at=stage.stamp(2000), modified_at=stage.stamp(2050))
    )
    result = await stage.ask(TWO)
    assert stage.writes[:3] == [(0, b"one"), (50, b"\r"), (5050, b"two")]
    has(
        steps(result)[0],
        submitted="confirmed",
        confirm_source="transcript",
        ready_source="transcript",
        idle_source="transcript",
    )


# --- the initial wait -------------------------------------------------------------------------------------------------


async def test_initial_idle_timeout() -> None:
    stage = Stage()
    stage.show(busy=True)
    result = await stage.ask({**TWO, "wait": "idle", "timeout_ms": 500})
    nothing_sent(stage, result, "timed out waiting for the session to go idle; nothing was written")
    has(result, sent_at=None, steps=[], total_waited_ms=500)


async def test_initial_idle_timeout_in_a_dialog() -> None:
    stage = Stage()
    stage.show(busy=True, status="waiting")
    nothing_sent(stage, await stage.ask({**TWO, "wait": "idle", "timeout_ms": 500}), DIALOG)


async def test_initial_exit() -> None:
    stage = Stage()
    stage.show(busy=True)
    stage.at(90, act=stage.terminal.exit)
    result = await stage.ask({**TWO, "wait": "idle"})
    reason = "the session exited while waiting for it to go idle; nothing was written"
    nothing_sent(stage, result, reason, "session exited during wait")
    has(result, sent_at=None, steps=[], total_waited_ms=90)


async def test_initial_idle_comes_before_the_first_step_only() -> None:
    stage = Stage()
    stage.show(busy=True)
    stage.at(100, busy=False)
    stage.when("\r", after=10, busy=True)
    stage.when("\r", after=200, busy=False)
    result = await stage.ask({**TWO, "wait": "idle"})
    assert stage.writes[0] == (400, b"one"), "idle of a CLI without a status has to settle"
    assert result["ok"]


# --- refusals of the first step ---------------------------------------------------------------------------------------


async def test_step_0_composer() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(4, 0))
    result = await stage.ask({**TWO, "timeout_ms": 500})
    nothing_sent(stage, result, "4 byte(s) of input are sitting unsubmitted in the composer")
    has(result, total_waited_ms=500)
    has(steps(result)[0], idx=0, submitted="no", submit_retries=0, waited_ms=500, wrote=False)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("busy", "the CLI still reported a turn running (busy) at the deadline; nothing was written"),
        ("waiting", DIALOG),
        ("shell", "the CLI never reported idle before the deadline; nothing was written"),
    ],
)
async def test_step_0_not_ready(name: str, reason: str) -> None:
    stage = Stage()
    stage.show(status=name)
    result = await stage.ask({**TWO, "timeout_ms": 500})
    nothing_sent(stage, result, reason)
    has(steps(result)[0], submitted="no")


async def test_chains_never_say_idle_only_briefly() -> None:
    stage = Stage()
    stage.show(status="idle")
    result = await stage.ask({**TWO, "timeout_ms": 250})
    nothing_sent(stage, result, "the CLI never reported idle before the deadline; nothing was written")


async def test_step_0_process_dead_after_the_politeness_wait() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(1, 0))

    def leave() -> None:
        stage.terminal.alive = False
        stage.show(composer=ComposerView(0, 0))

    stage.at(50, act=leave)
    result = await stage.ask(TWO)
    nothing_sent(stage, result, None, "target process not running")
    has(result, steps=[], total_waited_ms=50)


async def test_step_0_its_own_time_is_up() -> None:
    stage = Stage()
    stage.show(composer=ComposerView(0, stage.stamp(0)))
    result = await stage.ask({"chain": [{"command": "one", "timeout_ms": 3000}, {"command": "two"}]})
    nothing_sent(stage, result, "the step deadline passed before it could be written; nothing was written")


# --- a later step -----------------------------------------------------------------------------------------------------


async def test_a_later_steps_composer_is_a_chain_timeout() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    stage.when("\r", after=20, busy=False, composer=ComposerView(9, stage.stamp(70)))
    result = await stage.ask({**TWO, "timeout_ms": 5000})
    has(result, ok=False, error="chain timeout", partial=True, steps_completed=1, submitted="no", steps_total=2)
    has(result, reason="9 byte(s) of input are sitting unsubmitted in the composer", steps_written=1, wrote=True)
    has(steps(result)[1], idx=1, submitted="no", submit_retries=0)
    assert stage.elapsed == 5000


async def test_a_step_has_the_less_of_its_own_time_and_the_chains() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    result = await stage.ask({"chain": [{"command": "one", "timeout_ms": 700}, {"command": "two"}]})
    has(result, error="chain timeout", steps_completed=0, partial=True)
    assert "reason" not in result
    assert stage.elapsed == 700
    has(steps(result)[0], submitted="confirmed", written=True)


async def test_a_dialog_while_the_turn_is_awaited_is_named() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    stage.when("\r", after=30, status="waiting")
    result = await stage.ask({**TWO, "timeout_ms": 900})
    reason = "the CLI reports a dialog open (waiting) while the turn was awaited; the step had been written"
    has(result, error="chain timeout", reason=reason, partial=True)


async def test_the_deadline_in_the_window_is_a_chain_timeout() -> None:
    stage = Stage()
    result = await stage.ask({**TWO, "timeout_ms": 900})
    has(result, error="chain timeout", steps_completed=0, partial=True, submitted="assumed")
    assert "reason" not in result
    assert stage.writes == [(0, b"one"), (50, b"\r")]


async def test_the_enter_of_a_text_that_is_out_comes_even_if_the_time_is_up_meanwhile() -> None:
    stage = Stage()
    result = await stage.ask({**TWO, "timeout_ms": 20})
    assert stage.writes == [(0, b"one"), (50, b"\r")]
    has(result, error="chain timeout", partial=True, submitted="assumed")


@pytest.mark.parametrize("after", [20, 60], ids=["in the window", "while the turn is awaited"])
async def test_exit(after: int) -> None:
    stage = Stage()
    stage.when("\r", after=40, busy=True)
    stage.when("\r", after=after, act=stage.terminal.exit)
    result = await stage.ask(TWO)
    has(result, ok=False, error="session exited during wait", partial=True, steps_completed=0)
    has(steps(result)[0], written=True)


async def test_a_session_that_is_gone_before_a_step() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    stage.when("\r", after=20, busy=False, act=None)
    stage.when("\r", after=21, act=lambda: stage.terminals.remove(SESSION))
    result = await stage.ask(TWO)
    has(result, error="session exited during wait", partial=True, steps_completed=1, steps_written=1)
    assert len(steps(result)) == 1


async def test_a_session_that_was_replaced_before_a_step_gets_nothing() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    stage.when("\r", after=20, busy=False)
    stage.when("\r", after=21, act=lambda: setattr(stage, "other", stage.terminals.add(SESSION)))
    result = await stage.ask(TWO)
    has(result, error="interrupted", reason="session target changed", partial=True, steps_completed=1)
    assert len(stage.writes) == 2


async def test_a_session_that_was_given_a_new_id_goes_on() -> None:
    stage = Stage()
    stage.when("\r", after=10, busy=True)
    stage.when("\r", after=20, busy=False)
    stage.when("\r", after=21, act=lambda: stage.terminals.rekey(SESSION, "another"))
    stage.when("\r", nth=2, after=10, busy=True)
    has(await stage.ask(TWO), ok=True)


async def test_a_failed_write_of_a_later_step() -> None:
    stage = Stage()
    stage.fail_on[b"two"] = OSError(5, "gone")
    stage.when("\r", after=10, busy=True)
    stage.when("\r", after=20, busy=False)
    result = await stage.ask(TWO)
    has(result, error="pty write failed: [Errno 5] gone", partial=True, steps_completed=1, wrote=True)
    has(steps(result)[1], wrote=True, text_written=False, submitted="no")


# --- the recovery Enter and pending confirmation -------------------------------------------------------------------


async def test_recovery_withheld_stops_the_chain() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("\r", after=30, composer=ComposerView(2, stage.stamp(380)))
    result = await stage.ask(TWO)
    has(result, ok=False, error="step not confirmed", steps_completed=0, partial=True, submitted="assumed")
    assert result["reason"] == (
        "chain step 0 was typed but its submission was not confirmed and the recovery Enter was withheld "
        "(2 byte(s) of input are sitting unsubmitted in the composer); nothing more was typed"
    )
    has(steps(result)[0], submit_confirmed=False, submit_retries=0, written=True)


def busy_with_transcript(stage: Stage) -> None:
    """A CLI that works on background jobs; its own turn is over."""
    old = transcript(closed_at=stage.stamp(-9000), modified_at=stage.stamp(-9000))
    stage.show(status=CliStatus("busy", stage.stamp(-9000)), transcript=old)


async def test_pending_reaction() -> None:
    stage = Stage()
    busy_with_transcript(stage)
    entry = transcript((stage.stamp(8000), "one"))
    stage.when("\r", after=9000, status="idle", transcript=entry)
    result = await stage.ask({"chain": [{"command": "one"}], "timeout_ms": 60_000})
    has(steps(result)[0], submitted="confirmed", confirm_source="descriptor", submit_retries=0, submit_confirmed=True)
    has(result, ok=True, total_waited_ms=9000)


async def test_pending_the_reaction_of_a_cli_whose_transcript_does_not_show_the_step_is_the_end_of_other_work() -> None:
    stage = Stage()
    busy_with_transcript(stage)
    stage.when("\r", after=9000, status="idle")
    result = await stage.ask({"chain": [{"command": "one"}], "timeout_ms": 60_000})
    has(result, error="step not confirmed", submitted="assumed")
    assert stage.elapsed == 30_050


async def test_pending_own_entry_in_a_closed_turn() -> None:
    stage = Stage()
    busy_with_transcript(stage)
    entry = (stage.stamp(5000), "one")
    stage.when("\r", after=5000, transcript=transcript(entry, closed_at=stage.stamp(5050)))
    result = await stage.ask({"chain": [{"command": "one"}], "timeout_ms": 60_000})
    has(steps(result)[0], submitted="confirmed", confirm_source="transcript")


async def test_pending_without_an_own_entry() -> None:
    stage = Stage()
    busy_with_transcript(stage)
    result = await stage.ask(TWO)
    assert result["reason"] == (
        "chain step 0: the step was written while the CLI reported busy; the CLI did not react and the transcript "
        "did not show the step within 30 s of its Enter; nothing more was typed"
    )
    has(result, error="step not confirmed", partial=True)
    assert stage.elapsed == 30_050


async def test_pending_deadline() -> None:
    stage = Stage()
    busy_with_transcript(stage)
    stage.when("\r", after=5000, transcript=transcript((stage.stamp(5000), "one")))
    result = await stage.ask(TWO)
    assert result["reason"] == (
        "chain step 0: the step was written while the CLI reported busy; neither the CLI nor the transcript (the "
        "step's own entry, then a closed turn) confirmed it before the step deadline; nothing more was typed"
    )
    has(result, error="step not confirmed")
    assert stage.elapsed == 60_000


async def test_pending_exit() -> None:
    stage = Stage()
    busy_with_transcript(stage)
    stage.when("\r", after=5000, act=stage.terminal.exit)
    has(await stage.ask(TWO), error="session exited during wait", partial=True)


async def test_a_busy_cli_without_a_transcript_is_not_awaited() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("\r", after=1, status=CliStatus("busy", stage.stamp(-1)))
    result = await stage.ask(TWO)
    assert UNSAFE in str(result["reason"])
    assert stage.elapsed == 350 + 2000


# --- a dialog between text and Enter ----------------------------------------------------------------------------------


async def test_a_dialog_between_text_and_enter_holds_until_the_steps_deadline() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("one", after=10, status="waiting")
    result = await stage.ask({**TWO, "timeout_ms": 10_000})
    assert stage.writes == [(300, b"one")]
    assert stage.elapsed == 10_000
    has(result, error="step not confirmed", partial=True, wrote=True, text_written=True, enter_written=False)
    assert str(result["reason"]).startswith("chain step 0: a dialog opened (waiting)")
    has(steps(result)[0], submitted="no", written=False)


# --- /compact ---------------------------------------------------------------------------------------------------------

COMPACT_FIRST = {"chain": [{"command": "/compact"}, {"command": "two"}], "timeout_ms": 300_000}


async def test_compact_then_a_step() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)), transcript=transcript())
    stage.when("\r", after=30, status="busy", busy=True)
    compacted = ("new", stage.stamp(130_000), True)
    stage.at(130_000, transcript=transcript(boundaries=(compacted,)))
    stage.at(130_100, busy=False, status="idle")
    entry = (stage.stamp(130_750), "two")
    stage.when("\r", nth=2, after=10, status="busy", transcript=transcript(entry, boundaries=(compacted,)))
    result = await stage.ask(COMPACT_FIRST)
    has(result, ok=True, compaction_observed=True, submitted="confirmed")
    has(steps(result)[0], compaction_observed=True, confirm_source="compact_boundary", idle_source="descriptor")
    assert stage.writes[2] == (130_700, b"two")


async def test_a_step_after_compact_wants_an_idle_stamped_after_its_enter() -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)), transcript=transcript())
    stage.at(5_000, transcript=transcript(boundaries=(("new", stage.stamp(5_000), True),)))
    stage.at(20_000, status="idle")
    stage.when("\r", nth=2, after=10, status="busy")
    await stage.ask(COMPACT_FIRST)
    assert stage.writes[2] == (20_300, b"two")


async def test_compact_without_a_boundary_stops_the_chain() -> None:
    stage = Stage()
    stage.show(transcript=transcript())
    result = await stage.ask(COMPACT_FIRST)
    has(result, ok=False, error="step not confirmed", compaction_observed=False, partial=True, steps_completed=0)
    assert result["reason"] == (
        "chain step 0: compaction was not observed in the session transcript before the step deadline; nothing more "
        "was typed"
    )
    has(steps(result)[0], submit_confirmed=False, compaction_observed=False, submit_retries=0)
    assert len(stage.writes) == 2


async def test_compact_exit() -> None:
    stage = Stage()
    stage.when("\r", after=5, act=stage.terminal.exit)
    result = await stage.ask(COMPACT_FIRST)
    reason = "chain step 0: the session exited before compaction was observed; the command was written"
    has(result, error="session exited during wait", reason=reason)


async def test_compaction_is_observed_only_when_every_requested_one_was() -> None:
    stage = Stage()
    stage.show(transcript=transcript())
    first = ("a", stage.stamp(100), True)
    stage.at(100, transcript=transcript(boundaries=(first,)))
    body = {"chain": [{"command": "/compact"}, {"command": "/compact", "timeout_ms": 1000}], "timeout_ms": 60_000}
    result = await stage.ask(body)
    has(result, ok=False, compaction_observed=False)
    assert [step["compaction_observed"] for step in steps(result)] == [True, False]
