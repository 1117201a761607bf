"""Texts whose Enter was swallowed: what is left in the box is a draft until it is proven to have been taken."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.support.stage import Stage, transcript

from switchboard.common.facts import CliStatus, Facts, TurnEvidence
from switchboard.delivery import reasons
from switchboard.delivery.evidence import left_in_box
from switchboard.triggers.results import Result

OLD = transcript((0, "hello"), (1, "what was said before"))
"""A transcript that can be read, and shows nothing of what is typed now."""


def idle(evidence: TurnEvidence | None = OLD, **facts: Any) -> Stage:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)), transcript=evidence, **facts)
    return stage


def pending(stage: Stage) -> int:
    composer = stage.terminal.facts.value.composer
    assert composer is not None
    return composer.pending


def told(result: Result) -> tuple[Any, ...]:
    return result["submitted"], result.get("confirm_source"), result["submit_retries"]


# --- a prompt into an idle CLI ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [OLD, None], ids=["not in the transcript", "no transcript yet"])
async def test_a_prompt_that_two_enters_did_not_submit_is_a_draft(evidence: TurnEvidence | None) -> None:
    stage = idle(evidence)
    assert told(await stage.ask({"command": "hello"})) == ("assumed", None, 1)
    assert pending(stage) == 5
    following = await stage.ask({"command": "next", "timeout_ms": 4000})
    assert (following["error"], following["reason"]) == (reasons.NOT_SENT, reasons.composer_pending("5"))
    assert b"next" not in stage.typed


async def test_the_draft_ends_when_the_transcript_shows_that_it_was_taken() -> None:
    stage = idle()
    await stage.ask({"command": "hello"})
    assert pending(stage) == 5
    stage.show(transcript=transcript((stage.stamp(49), "hello"), (stage.stamp(60), "other")))
    assert pending(stage) == 5
    stage.show(transcript=transcript((stage.stamp(50), "hello")))
    assert pending(stage) == 0
    stage.when("\r", nth=3, after=5, status="busy", transcript=transcript((stage.stamp(9000), "next")))
    assert (await stage.ask({"command": "next"}))["ok"]


async def test_a_status_that_moves_for_another_reason_proves_nothing() -> None:
    stage = idle()
    stage.when("\r", after=100, status="busy")
    result = await stage.ask({"command": "hello"})
    assert (told(result), result["reason"]) == (("assumed", None, 0), reasons.BARE_ENTER_UNSAFE)
    assert pending(stage) == 5


async def test_a_status_and_the_entry_are_proof() -> None:
    stage = idle()
    stage.when("\r", after=10, status="busy")
    stage.when("\r", after=90, transcript=transcript((stage.stamp(60), "hello")))
    result = await stage.ask({"command": "hello"})
    assert (told(result), result["waited_ms"]) == (("confirmed", "descriptor", 0), 90)
    assert pending(stage) == 0


async def test_a_status_has_a_second_window_for_its_entry() -> None:
    """On a busy machine the CLI is late with its transcript, and a second Enter is not pressed meanwhile."""
    stage = idle()
    stage.when("\r", after=10, status="busy")
    stage.when("\r", after=20, status="idle")
    stage.when("\r", after=3990, transcript=transcript((stage.stamp(60), "hello")))
    result = await stage.ask({"command": "hello"})
    assert (told(result), result["waited_ms"]) == (("confirmed", "descriptor", 0), 3990)
    assert pending(stage) == 0


async def test_the_entry_alone_is_proof_and_spares_the_second_enter() -> None:
    """A turn so short that the CLI never said it was busy."""
    stage = idle()
    stage.when("\r", after=90, transcript=transcript((stage.stamp(60), "hello")))
    result = await stage.ask({"command": "hello"})
    assert (told(result), stage.writes[-1]) == (("confirmed", "transcript", 0), (50, b"\r"))
    assert pending(stage) == 0


async def test_a_first_prompt_is_proven_by_the_status() -> None:
    stage = idle(None)
    stage.when("\r", after=10, status="busy")
    assert told(await stage.ask({"command": "hello"})) == ("confirmed", "descriptor", 0)
    assert pending(stage) == 0


async def test_the_second_enter_submits_it() -> None:
    stage = idle()
    stage.when("\r", nth=2, after=5, status="busy")
    stage.when("\r", nth=2, after=6, transcript=transcript((stage.stamp(2050), "hello")))
    assert told(await stage.ask({"command": "hello"})) == ("confirmed", "descriptor", 1)
    assert pending(stage) == 0


@pytest.mark.parametrize("prompt", ["a draft nobody saw. hello", "hellomine", "hello\nsecond line"])
async def test_what_was_entered_with_something_else_is_not_in_the_box_and_not_proven(prompt: str) -> None:
    stage = idle()
    stage.when("\r", after=10, status="busy", transcript=transcript((stage.stamp(60), prompt)))
    assert told(await stage.ask({"command": "hello"}))[0] == "assumed"
    assert pending(stage) == 0


async def test_a_turn_that_is_seen_in_the_title_has_taken_a_first_prompt() -> None:
    stage = idle(None)
    stage.when("\r", after=10, busy=True)
    assert (await stage.ask({"command": "hello"}))["submitted"] == "assumed"
    assert pending(stage) == 0


@pytest.mark.parametrize("command", ["/nosuch", " /tmp/x is full"])
@pytest.mark.parametrize("evidence", [OLD, None], ids=["not in the transcript", "no transcript yet"])
async def test_a_command_that_two_enters_did_not_submit_is_a_draft(command: str, evidence: TurnEvidence | None) -> None:
    """What came behind it would be its arguments. Without a transcript a command may show nothing at all."""
    stage = idle(evidence)
    assert told(await stage.ask({"command": command})) == ("assumed", None, 1)
    left = 0 if evidence is None else len(command)
    assert pending(stage) == left
    following = await stage.ask({"command": "next", "timeout_ms": 4000})
    assert following["wrote"] is (left == 0)
    assert (b"next" in stage.typed) is (left == 0)


@pytest.mark.parametrize("word", ["busy", "waiting", "idle"])
async def test_a_command_that_the_cli_reacts_to_is_no_draft(word: str) -> None:
    stage = idle()
    stage.when("\r", after=10, status=word)
    assert told(await stage.ask({"command": "/nosuch"})) == ("confirmed", "descriptor", 0)
    assert pending(stage) == 0


@pytest.mark.parametrize(
    ("command", "entry"),
    [
        ("/model opus", "<command-name>/model</command-name>\n<command-args>opus</command-args>"),
        ("/tmp/x is full", "/tmp/x is full"),
    ],
)
async def test_a_command_that_is_recorded_is_no_draft(command: str, entry: str) -> None:
    stage = idle()
    stage.when("\r", after=90, transcript=transcript((stage.stamp(60), entry)))
    assert told(await stage.ask({"command": command})) == ("assumed", None, 1)
    assert pending(stage) == 0


@pytest.mark.parametrize("command", ["!", "\u00a0 "])
async def test_what_need_not_be_recorded_says_nothing_by_its_absence(command: str) -> None:
    stage = idle()
    assert (await stage.ask({"command": command}))["submitted"] == "assumed"
    assert pending(stage) == 0
    stage = idle()
    stage.when("\r", after=10, status="busy")
    assert told(await stage.ask({"command": command})) == ("confirmed", "descriptor", 0)


async def test_a_shell_command_that_an_idle_cli_did_not_begin_is_in_the_box() -> None:
    """What came behind it would be run with it."""
    stage = idle()
    assert (await stage.ask({"command": "!ls"}))["submitted"] == "assumed"
    assert pending(stage) == 3
    stage = idle()
    stage.when("\r", after=10, status="busy")
    assert told(await stage.ask({"command": "!ls"})) == ("confirmed", "descriptor", 0)
    assert pending(stage) == 0


async def test_a_session_that_has_ended_has_no_box() -> None:
    stage = idle()
    stage.when("\r", after=5, act=stage.terminal.exit)
    await stage.ask({"command": "hello"})
    assert pending(stage) == 0


async def test_a_host_that_closes_before_there_is_proof_leaves_a_draft() -> None:
    stage = idle()
    stage.when("\r", after=100, act=stage.desk.stop.request)
    result = await stage.ask({"command": "hello"})
    assert (result["error"], result["enter_written"]) == (reasons.INTERRUPTED, True)
    assert pending(stage) == 5


# --- a CLI without a status -------------------------------------------------------------------------------------------


def level(evidence: TurnEvidence | None = OLD) -> Stage:
    stage = Stage()
    stage.show(transcript=evidence)
    return stage


async def test_without_status_and_transcript_nothing_can_be_said() -> None:
    stage = level(None)
    assert told(await stage.ask({"command": "hello"})) == ("assumed", None, 1)
    assert pending(stage) == 0


async def test_without_a_status_the_transcript_tells() -> None:
    stage = level()
    assert told(await stage.ask({"command": "hello"})) == ("assumed", None, 1)
    assert pending(stage) == 5


async def test_without_a_status_the_busy_flag_is_no_proof_against_the_transcript() -> None:
    stage = level()
    stage.when("\r", after=10, busy=True)
    assert told(await stage.ask({"command": "hello"})) == ("activity", None, 0)
    assert pending(stage) == 5


@pytest.mark.parametrize("flag", [True, False])
async def test_without_a_status_the_entry_is_proof(flag: bool) -> None:
    stage = level()
    if flag:
        stage.when("\r", after=10, busy=True)
    stage.when("\r", after=40, transcript=transcript((stage.stamp(60), "hello")))
    assert told(await stage.ask({"command": "hello"})) == ("confirmed", "transcript", 0)


# --- chains -----------------------------------------------------------------------------------------------------------


async def test_a_chain_types_nothing_behind_a_step_that_is_left() -> None:
    stage = idle()
    result = await stage.ask({"chain": [{"command": "one"}, {"command": "two"}], "timeout_ms": 20_000})
    assert (result["error"], result["reason"]) == (reasons.CHAIN_TIMEOUT, reasons.composer_pending("3"))
    assert (b"two" in stage.typed, pending(stage)) == (False, 3)


async def test_a_chains_step_without_an_entry_is_not_proven_by_a_status_that_moves() -> None:
    stage = idle()
    stage.when("\r", after=100, status="busy")
    stage.when("\r", after=20_000, status="idle")
    result = await stage.ask({"chain": [{"command": "one"}, {"command": "two"}], "timeout_ms": 60_000})
    assert (result["error"], result["submitted"]) == (reasons.NOT_CONFIRMED, "assumed")
    assert result["reason"] == reasons.step_no_own_entry("0", "30")
    assert (b"two" in stage.typed, pending(stage)) == (False, 3)


async def test_a_chains_step_whose_entry_comes_late_is_no_draft() -> None:
    stage = idle()
    stage.when("\r", after=100, status="busy")
    stage.when("\r", after=9000, transcript=transcript((stage.stamp(360), "one")))
    result = await stage.ask({"chain": [{"command": "one"}], "timeout_ms": 60_000})
    assert (result["ok"], result["submitted"], result["total_waited_ms"]) == (True, "confirmed", 300 + 9000)
    assert pending(stage) == 0


async def test_a_chain_whose_time_is_up_before_there_is_proof_leaves_a_draft() -> None:
    stage = idle()
    result = await stage.ask({"chain": [{"command": "one"}], "timeout_ms": 900})
    assert (result["error"], pending(stage)) == (reasons.CHAIN_TIMEOUT, 3)


# --- /compact ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [OLD, None], ids=["transcript", "no transcript"])
async def test_compact_without_any_effect_is_a_draft_and_gets_no_second_enter(evidence: TurnEvidence | None) -> None:
    stage = idle(evidence)
    result = await stage.ask({"command": "/compact", "timeout_ms": 60_000})
    assert (result["reason"], told(result)) == (reasons.NOT_COMPACTED, ("assumed", None, 0))
    assert stage.writes == [(0, b"/compact"), (50, b"\r")]
    assert pending(stage) == 8
    # Its entry in the transcript, late as it may be, ends the draft.
    stage.show(transcript=transcript((stage.stamp(61_000), "<command-name>/compact</command-name>")))
    assert pending(stage) == 0


@pytest.mark.parametrize("effect", [{"status": "busy"}, {"busy": True}], ids=["status", "title"])
async def test_a_compaction_that_takes_longer_than_its_deadline_is_no_draft(effect: dict[str, Any]) -> None:
    stage = idle()
    stage.when("\r", after=100, **effect)
    assert (await stage.ask({"command": "/compact", "timeout_ms": 60_000}))["submitted"] == "activity"
    assert pending(stage) == 0


@pytest.mark.parametrize(
    ("entry", "left"), [(True, 0), (False, 8)], ids=["queued, by its transcript", "not in its transcript"]
)
async def test_compact_into_a_turn_is_in_the_transcript_or_in_the_box(entry: bool, left: int) -> None:
    stage = Stage()
    stage.show(status=CliStatus("busy", stage.stamp(-500)), transcript=OLD)
    if entry:
        stage.when("\r", after=10, transcript=transcript((stage.stamp(60), "/compact")))
    stage.when("\r", after=100, status="idle")
    await stage.ask({"command": "/compact", "timeout_ms": 60_000})
    assert pending(stage) == left


async def test_a_chain_leaves_a_compact_as_a_draft() -> None:
    stage = idle()
    await stage.ask({"chain": [{"command": "/compact"}, {"command": "two"}], "timeout_ms": 60_000})
    assert pending(stage) == 8


async def test_a_closing_host_does_not_take_a_running_compaction_for_a_draft() -> None:
    stage = idle()
    stage.when("\r", after=100, status="busy")
    stage.when("\r", after=200, act=stage.desk.stop.request)
    await stage.ask({"command": "/compact", "timeout_ms": 60_000})
    assert pending(stage) == 0


# --- /clear -----------------------------------------------------------------------------------------------------------


def goes_on_as(stage: Stage, new_id: str, nth: int = 1) -> None:
    old = stage.terminal.key
    stage.when("\r", nth=nth, after=40, act=lambda: stage.terminals.rekey(old, new_id))


async def test_clear_is_proven_by_the_new_id() -> None:
    stage = idle()
    goes_on_as(stage, "another")
    result = await stage.ask({"command": " /clear "})
    assert (told(result), result["submit_confirmed"], result["waited_ms"]) == (("confirmed", "descriptor", 0), True, 40)
    assert stage.writes == [(0, b" /clear "), (50, b"\r")]
    assert pending(stage) == 0


async def test_clear_is_proven_by_the_new_id_after_the_second_enter() -> None:
    stage = idle()
    goes_on_as(stage, "another", nth=2)
    assert told(await stage.ask({"command": "/clear"})) == ("confirmed", "descriptor", 1)


@pytest.mark.parametrize("evidence", [OLD, None], ids=["transcript", "no transcript"])
async def test_clear_without_a_new_id_is_a_draft(evidence: TurnEvidence | None) -> None:
    stage = idle(evidence)
    assert told(await stage.ask({"command": "/clear"})) == ("assumed", None, 1)
    assert pending(stage) == 6


async def test_clear_is_not_proven_by_a_status_that_moves() -> None:
    stage = idle()
    stage.when("\r", after=10, status="busy")
    result = await stage.ask({"command": "/clear"})
    assert (told(result), result["reason"]) == (("assumed", None, 0), reasons.BARE_ENTER_UNSAFE)
    assert pending(stage) == 6


async def test_clear_into_a_turn_is_proven_by_the_new_id_alone() -> None:
    stage = Stage()
    stage.show(status=CliStatus("busy", stage.stamp(-500)), transcript=OLD)
    stage.when("\r", after=10, transcript=transcript((stage.stamp(60), "/clear")))
    stage.when("\r", after=1000, status="idle")
    goes_on_as(stage, "another")
    assert told(await stage.ask({"command": "/clear"})) == ("confirmed", "descriptor", 0)


async def test_an_id_that_was_new_before_the_enter_proves_nothing() -> None:
    stage = idle()
    old = stage.terminal.key
    stage.when("/clear", after=10, act=lambda: stage.terminals.rekey(old, "another"))
    assert told(await stage.ask({"command": "/clear"}))[0] == "assumed"


async def test_another_command_is_not_proven_by_a_new_id() -> None:
    stage = idle()
    goes_on_as(stage, "another")
    assert told(await stage.ask({"command": "/resume"}))[0] == "assumed"


@pytest.mark.parametrize("word", ["idle", "busy"])
async def test_clear_in_a_chain(word: str) -> None:
    stage = Stage()
    over = transcript(closed_at=stage.stamp(-9000), modified_at=stage.stamp(-9000))
    stage.show(status=CliStatus(word, stage.stamp(-9000)), transcript=over)
    goes_on_as(stage, "another")
    result = await stage.ask({"chain": [{"command": "/clear"}, {"command": "/help"}], "timeout_ms": 60_000})
    steps: Any = result["steps"]
    step = steps[0]
    assert (step["submitted"], step["confirm_source"], step["submit_retries"]) == ("confirmed", "descriptor", 0)


async def test_a_pending_clear_is_not_proven_by_the_end_of_other_work() -> None:
    stage = Stage()
    over = transcript(closed_at=stage.stamp(-9000), modified_at=stage.stamp(-9000))
    stage.show(status=CliStatus("busy", stage.stamp(-9000)), transcript=over)
    stage.when("\r", after=5000, status="idle")
    result = await stage.ask({"chain": [{"command": "/clear"}], "timeout_ms": 60_000})
    assert (result["error"], pending(stage)) == (reasons.NOT_CONFIRMED, 6)


# --- while the effect is looked for: what a host that is killed then has to leave to the next one ---------------------


def doubts(stage: Stage, *moments: int) -> dict[int, tuple[str, int] | None]:
    """What is in doubt at these moments (ms after the start), filled in as they come; at 0: within the first Enter."""
    found: dict[int, tuple[str, int] | None] = {}

    def look(moment: int) -> None:
        found[moment] = stage.terminal.in_doubt

    for moment in moments:
        if moment:
            stage.at(moment, act=lambda moment=moment: look(moment))  # type: ignore[misc]  # bound now
        else:
            stage.when("\r", act=lambda: look(0))
    return found


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("hello", True),
        ("/compact", True),
        ("/compact and more", True),
        ("/clear", True),
        ("/help", True),
        ("/tmp/x is full", True),
        ("!ls", True),
        ("!", False),
        ("?", False),
    ],
)
@pytest.mark.parametrize("word", ["idle", "busy", None], ids=["idle", "in a turn", "no status"])
async def test_a_text_that_shows_itself_is_in_doubt_from_its_enter_on(
    command: str, kept: bool, word: str | None
) -> None:
    stage = level() if word is None else idle()
    if word == "busy":
        stage.show(status="busy")
    found = doubts(stage, 49, 0, 51, 500)
    await stage.ask({"command": command, "timeout_ms": 10_000})
    doubt = (command, stage.stamp(50)) if kept else None
    assert found == {49: None, 0: doubt, 51: doubt, 500: doubt}
    assert stage.terminal.in_doubt is None


async def test_the_doubt_ends_with_the_proof() -> None:
    stage = idle()
    stage.when("\r", after=10, status="busy")
    stage.when("\r", after=90, transcript=transcript((stage.stamp(60), "hello")))
    found = doubts(stage, 130)
    assert (await stage.ask({"command": "hello"}))["submitted"] == "confirmed"
    assert found == {130: ("hello", stage.stamp(50))}
    assert (stage.terminal.in_doubt, pending(stage)) == (None, 0)


async def test_the_doubt_lasts_over_the_second_enter_and_dates_from_the_first() -> None:
    stage = idle()
    found = doubts(stage, 2100, 4000)
    assert told(await stage.ask({"command": "hello"})) == ("assumed", None, 1)
    assert found == dict.fromkeys((2100, 4000), ("hello", stage.stamp(50)))
    assert (stage.terminal.in_doubt, pending(stage)) == (None, 5)


@pytest.mark.parametrize(
    ("effect", "left"),
    [({"busy": True}, 0), ({"present": False}, 0), ({}, 5)],
    ids=["it works, unproven", "it has ended", "nothing"],
)
async def test_the_doubt_ends_with_the_delivery(effect: dict[str, Any], left: int) -> None:
    stage = idle(None)
    if effect:
        stage.when("\r", after=10, **effect)
    await stage.ask({"command": "hello"})
    assert (stage.terminal.in_doubt, pending(stage)) == (None, left)


async def test_a_closing_host_decides_what_is_in_doubt() -> None:
    stage = idle()
    stage.when("\r", after=100, act=stage.desk.stop.request)
    await stage.ask({"command": "hello"})
    assert (stage.terminal.in_doubt, pending(stage)) == (None, 5)


async def test_a_delivery_that_is_given_up_from_outside_leaves_a_draft() -> None:
    stage = idle()
    task = asyncio.create_task(stage.carry_out({"command": "hello"}))

    def give_up() -> None:
        task.cancel()

    stage.when("\r", after=100, act=give_up)

    async def until_given_up() -> None:
        with pytest.raises(asyncio.CancelledError):
            await task

    await stage.clock.run(until_given_up())
    assert (stage.terminal.in_doubt, pending(stage)) == (None, 5)


async def test_an_enter_that_is_withheld_leaves_nothing_in_doubt_that_it_would_have_entered() -> None:
    stage = idle()
    stage.when("hello", after=10, status="waiting")
    result = await stage.ask({"command": "hello", "timeout_ms": 5000})
    assert result["enter_written"] is False
    assert (stage.terminal.in_doubt, pending(stage)) == (None, 5)


@pytest.mark.parametrize("shown", [True, False])
async def test_a_chains_step_stays_in_doubt_as_long_as_it_may_be_queued(shown: bool) -> None:
    stage = idle()
    stage.when("\r", after=100, status="busy")
    stage.when("\r", after=20_000, status="idle")
    if shown:
        stage.when("\r", after=15_000, transcript=transcript((stage.stamp(14_000), "one")))
    found = doubts(stage, 14_900)
    result = await stage.ask({"chain": [{"command": "one"}], "timeout_ms": 60_000})
    assert found == {14_900: ("one", stage.stamp(350))}
    assert (result["submitted"], pending(stage)) == (("confirmed", 0) if shown else ("assumed", 3))
    assert stage.terminal.in_doubt is None


# --- the rule itself --------------------------------------------------------------------------------------------------

IDLE = Facts(status=CliStatus("idle", 5))
SHOWN = Facts(status=CliStatus("idle", 5), transcript=transcript((100, "hello")))
SILENT = Facts(status=CliStatus("idle", 5), transcript=transcript((99, "hello")))


@pytest.mark.parametrize(
    ("facts", "command", "during_turn", "activity", "left"),
    [
        pytest.param(SILENT, "hello", False, False, True, id="idle, transcript without it"),
        pytest.param(SILENT, "hello", True, True, True, id="in a turn, transcript without it"),
        pytest.param(SHOWN, "hello", False, False, False, id="transcript with it"),
        pytest.param(IDLE, "hello", False, False, True, id="no transcript, nothing happened"),
        pytest.param(IDLE, "hello", False, True, False, id="no transcript, something happened"),
        pytest.param(IDLE, "hello", True, False, False, id="no transcript, in a turn"),
        pytest.param(Facts(), "hello", False, False, False, id="neither status nor transcript"),
        pytest.param(Facts(transcript=SILENT.transcript), "hello", False, False, True, id="transcript alone"),
        pytest.param(Facts(present=False, transcript=SILENT.transcript), "hello", False, False, False, id="ended"),
        pytest.param(SILENT, "/help", False, False, True, id="a command without any effect"),
        pytest.param(SILENT, "/help", False, True, False, id="a command with an effect"),
        pytest.param(SILENT, "/help", True, False, False, id="a command in a turn"),
        pytest.param(IDLE, "/help", False, False, False, id="a command, no transcript"),
        pytest.param(IDLE, "/compact", False, False, True, id="compact, no transcript, nothing happened"),
        pytest.param(SILENT, "/compact", False, True, False, id="compact with an effect"),
        pytest.param(SILENT, "/compact", True, True, True, id="compact in a turn"),
        pytest.param(SILENT, "/clear", False, True, True, id="clear, whose effect is at once"),
    ],
)
def test_left_in_box(facts: Facts, command: str, during_turn: bool, activity: bool, left: bool) -> None:
    assert left_in_box(facts, command, 100, during_turn=during_turn, activity=activity) is left
