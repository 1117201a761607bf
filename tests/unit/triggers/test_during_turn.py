"""Texts that are typed while the CLI works: what its transcript says of them decides."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.stage import Stage, transcript

from switchboard.common.facts import CliStatus, TurnEvidence
from switchboard.delivery import reasons


def working(evidence: TurnEvidence | None, word: str = "busy") -> Stage:
    stage = Stage()
    stage.show(status=CliStatus(word, stage.stamp(-500)), transcript=evidence)
    return stage


def entered(stage: Stage) -> TurnEvidence:
    return transcript((stage.stamp(60), "hello"))


OLD = transcript((0, "hello"), (1, "what runs now"))


@pytest.mark.parametrize("word", ["busy", "shell"])
async def test_the_end_of_the_turn_is_no_proof(word: str) -> None:
    stage = working(OLD, word)
    stage.when("\r", after=100, status="idle")
    stage.when("\r", nth=2, after=5, transcript=transcript((stage.stamp(2060), "hello")))
    result = await stage.ask({"command": "hello"})
    # It did not react to the Enter, so that was pressed again, at rest.
    assert (result["submitted"], result["confirm_source"], result["submit_retries"]) == ("confirmed", "descriptor", 1)
    stage.finish()


async def test_the_end_of_the_turn_and_its_entry_are_proof() -> None:
    stage = working(OLD)
    stage.when("\r", after=10, transcript=entered(stage))
    stage.when("\r", after=100, status="idle")
    result = await stage.ask({"command": "hello"})
    assert (result["submitted"], result["confirm_source"], result["submit_retries"]) == ("confirmed", "descriptor", 0)


async def test_an_unreadable_transcript_contradicts_nothing() -> None:
    stage = working(None)
    stage.when("\r", after=100, status="idle")
    assert (await stage.ask({"command": "hello"}))["submitted"] == "confirmed"


@pytest.mark.parametrize(
    ("evidence", "pending"),
    [(lambda _stage: OLD, 5), (entered, 0), (lambda _stage: None, 0)],
    ids=["not in the transcript", "in the transcript", "no transcript"],
)
async def test_what_was_not_taken_counts_as_unsubmitted(evidence: Any, pending: int) -> None:
    stage = working(OLD)
    stage.when("\r", after=10, transcript=evidence(stage))
    result = await stage.ask({"command": "hello"})
    assert (result["ok"], result["submitted"], result["reason"]) == (True, "assumed", reasons.BARE_ENTER_UNSAFE)
    composer = stage.terminal.facts.value.composer
    assert composer is not None
    assert composer.pending == pending
    following = await stage.ask({"command": "next", "timeout_ms": 4000})
    assert following["wrote"] == (pending == 0)
    if pending:
        assert following["reason"] == reasons.composer_pending("5")


@pytest.mark.parametrize("command", ["/help", " /help", "!ls"])
async def test_what_the_cli_carries_out_itself_need_not_be_recorded(command: str) -> None:
    stage = working(OLD)
    assert (await stage.ask({"command": command}))["submitted"] == "assumed"
    composer = stage.terminal.facts.value.composer
    assert composer is not None
    assert composer.pending == 0


async def test_a_chains_step_that_was_not_taken_counts_as_well() -> None:
    stage = working(transcript(closed_at=-9000, modified_at=-9000))
    result = await stage.ask({"chain": [{"command": "hello"}], "timeout_ms": 60_000})
    assert result["error"] == reasons.NOT_CONFIRMED
    composer = stage.terminal.facts.value.composer
    assert composer is not None
    assert composer.pending == 5
