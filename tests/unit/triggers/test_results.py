"""Small parts of result objects."""

from __future__ import annotations

import pytest

from switchboard.delivery.reactions import Mode
from switchboard.delivery.record import StepRecord
from switchboard.delivery.submission import Submitted
from switchboard.triggers.results import chain_counts, chain_rank, envelope, iso_time, proof, refused, step_entry


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_800_000_000_007, "2027-01-15T08:00:00.007Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
    ],
)
def test_iso_time(instant: int, text: str) -> None:
    assert iso_time(instant) == text


def test_the_envelope_shows_error_and_reason_only_where_there_are_some() -> None:
    assert envelope(True, Submitted.CONFIRMED, 2) == {"ok": True, "submitted": "confirmed", "steps_total": 2}
    assert envelope(False, Submitted.NO, 0, "e", "r")["reason"] == "r"


def test_a_refusal_says_that_nothing_was_written() -> None:
    assert refused("e", "r", 3, {"sessionId": "s"}, internal=True) == {
        "ok": False,
        "submitted": "no",
        "steps_total": 3,
        "error": "e",
        "reason": "r",
        "internal": True,
        "sessionId": "s",
        "wrote": False,
        "text_written": False,
        "enter_written": False,
    }


@pytest.mark.parametrize(
    ("mode", "confirmed", "compaction"), [(Mode.EDGE, True, None), (Mode.COMPACT, True, True), (Mode.LEVEL, None, None)]
)
def test_which_proof_is_claimed_depends_on_the_mode(
    mode: Mode, confirmed: bool | None, compaction: bool | None
) -> None:
    fields = proof(StepRecord(mode=mode, submitted=Submitted.CONFIRMED))
    assert fields.get("submit_confirmed") is confirmed
    assert fields.get("compaction_observed") is compaction


def test_a_step_that_was_not_written_claims_nothing() -> None:
    entry = step_entry(1, "x", "then", StepRecord(waited_ms=5))
    assert entry == {
        "idx": 1,
        "command": "x",
        "sent_at": "then",
        "waited_ms": 5,
        "submitted": "no",
        "submit_retries": 0,
        "wrote": False,
        "text_written": False,
        "enter_written": False,
    }


def test_counts_and_rank_of_a_chain() -> None:
    steps = [
        step_entry(0, "x", "", StepRecord(wrote=True, enter_written=True, activity=True, submitted=Submitted.ACTIVITY)),
        step_entry(1, "y", "", StepRecord(wrote=True, enter_written=True, submitted=Submitted.ASSUMED)),
    ]
    assert chain_counts(steps) == {"steps_written": 2, "steps_with_turn_observed": 1}
    assert chain_rank(steps) is Submitted.ASSUMED
    assert chain_rank([]) is Submitted.NO
