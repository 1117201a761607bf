"""The envelope of versioned results: every field, and `uncertain` only where the contract has it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.json_schema import fits

from switchboard.delivery import reasons as delivery
from switchboard.delivery.reactions import Mode as EvidenceMode
from switchboard.delivery.record import StepRecord
from switchboard.delivery.submission import Submitted
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.results import Result
from switchboard.triggers.v1_json_schema import result_schema
from switchboard.triggers.v1_results import (
    Effects,
    Evidence,
    delivery_failed,
    evidence,
    failed,
    fault,
    legacy_evidence,
    note_not_finished,
    shape_refused,
    stale,
    succeeded,
)
from switchboard.triggers.v1_schema import Mode, ShapeRefusal, Subject, validate

ID = "01234567-89ab-cdef-0123-456789abcdef"
NEW_ID = "fedcba98-7654-3210-fedc-ba9876543210"
RESUME = Subject(1, "open", Mode.RESUME, ID, 1)
SHOW = Subject(1, "open", Mode.RESUME, ID, 0)
NEW = Subject(1, "open", Mode.NEW, None, 1)
NOTE = Subject(1, "stop", Mode.STOP, ID, 1)
BARE = Subject(1, "stop", Mode.STOP, ID, 0)
SENT = 1_800_000_000_000
SCHEMA = result_schema()


def confirmed() -> StepRecord:
    return StepRecord(
        mode=EvidenceMode.EDGE,
        submitted=Submitted.CONFIRMED,
        wrote=True,
        text_written=True,
        enter_written=True,
        enter_at=SENT + 50,
        waited_ms=120,
        confirm_source="descriptor",
        activity=True,
        ready_source="descriptor",
    )


def unverified(submitted: Submitted = Submitted.ASSUMED) -> StepRecord:
    """Text and Enter are out, then the time was up."""
    return StepRecord(EvidenceMode.EDGE, submitted, True, True, True, enter_at=SENT + 50)


def fitting(result: Result) -> dict[str, Any]:
    assert fits(result, SCHEMA), result
    assert set(result) <= set(SCHEMA["properties"])  # type: ignore[index, call-overload, arg-type]  # it is an object
    return result


# --- the envelope -----------------------------------------------------------------------------------------------------


def test_the_example_of_the_contract() -> None:
    result = fitting(succeeded(RESUME, Effects(spawned=True, typed=evidence(confirmed(), sent_at=SENT))))
    assert list(result.items())[:10] == [
        ("version", 1),
        ("action", "open"),
        ("ok", True),
        ("outcome", "opened"),
        ("reason", None),
        ("sessionId", ID),
        ("resumed", True),
        ("submitted", "confirmed"),
        ("wrote", True),
        ("steps_total", 1),
    ]
    assert "uncertain" not in result


@pytest.mark.parametrize(
    ("subject", "present", "absent"),
    [
        pytest.param(RESUME, "resumed", "created", id="open-resume"),
        pytest.param(NEW, "created", "resumed", id="open-new"),
        pytest.param(BARE, "action", "resumed", id="stop"),
        pytest.param(Subject(2, "open"), "action", "resumed", id="shape unknown"),
    ],
)
def test_resumed_and_created_are_of_their_own_request(subject: Subject, present: str, absent: str) -> None:
    result = fitting(failed(subject, reasons.OPEN_FAILED))
    assert present in result
    assert absent not in result
    assert "created" not in failed(BARE, reasons.BUSY)


@pytest.mark.parametrize("spawned", [True, False])
def test_the_flag_is_true_after_a_spawn_only(spawned: bool) -> None:
    assert succeeded(RESUME, Effects(spawned=spawned))["resumed"] is spawned
    assert failed(NEW, reasons.NAME_NOT_SAVED, Effects(NEW_ID, spawned))["created"] is spawned


def test_open_without_a_prompt() -> None:
    result = fitting(succeeded(SHOW))
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("no", False, 0)
    assert (result["ok"], result["outcome"], result["resumed"]) == (True, "opened", False)
    assert "text_written" not in result


def test_closed() -> None:
    result = fitting(succeeded(NOTE, Effects(typed=evidence(confirmed(), sent_at=SENT, idle_source="transcript"))))
    assert (result["outcome"], result["ok"], result["reason"]) == ("closed", True, None)
    assert (result["submitted"], result["idle_source"], result["steps_total"]) == ("confirmed", "transcript", 1)


def test_the_reserved_id_of_a_new_session_is_named_also_on_failure() -> None:
    result = fitting(failed(NEW, reasons.READINESS_UNAVAILABLE, Effects(NEW_ID, True)))
    assert (result["sessionId"], result["created"], result["ok"]) == (NEW_ID, True, False)
    assert failed(NEW, reasons.UNKNOWN_PROJECT)["sessionId"] is None


def test_a_historical_match_keeps_the_requested_id() -> None:
    assert succeeded(SHOW, Effects(session_id=NEW_ID))["sessionId"] == ID


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        (reason, "not-found" if reason in ("session not found", "session not open here") else "refused")
        for reason in sorted(reasons.catalogue().values())
    ],
)
def test_outcome(reason: str, outcome: str) -> None:
    result = fitting(failed(RESUME, reason))
    assert (result["outcome"], result["ok"], result["reason"]) == (outcome, False, reason)


def test_unsupported_values_are_echoed() -> None:
    refusal = validate({"version": "1", "action": {"a": [1]}}, "x")
    assert isinstance(refusal, ShapeRefusal)
    result = fitting(shape_refused(refusal))
    assert (result["version"], result["action"], result["sessionId"]) == ("1", {"a": [1]}, None)


def test_a_request_that_grew_old_in_the_queue() -> None:
    reason = delivery.stale("400000", "300000")
    result = fitting(stale(RESUME, reason))
    assert (result["error"], result["reason"], result["outcome"]) == ("not sent", reason, "refused")


def test_error_and_detail_are_beside_the_reason() -> None:
    result = fitting(failed(RESUME, reasons.OPEN_FAILED, error="ENOENT", detail="look here"))
    assert (result["reason"], result["error"], result["detail"]) == ("session open failed", "ENOENT", "look here")


# --- uncertain --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", sorted(reasons.catalogue().values()))
def test_uncertain_is_where_the_contract_has_it(reason: str) -> None:
    always = reason in ("interrupted by restart", "session stop not confirmed")
    assert ("uncertain" in failed(RESUME, reason)) is always
    if reason in reasons.MAYBE_UNCERTAIN:
        assert failed(RESUME, reason, uncertain=True)["uncertain"] is True
    else:
        with pytest.raises(ValueError, match="nothing is uncertain"):
            failed(RESUME, reason, uncertain=True)


# --- delivery's evidence ----------------------------------------------------------------------------------------------


def test_evidence_of_a_record() -> None:
    assert evidence(confirmed(), sent_at=SENT).fields == {
        "sent_at": "2027-01-15T08:00:00.000Z",
        "waited_ms": 120,
        "submit_retries": 0,
        "written": True,
        "turn_observed": True,
        "submit_confirmed": True,
        "confirm_source": "descriptor",
        "ready_source": "descriptor",
        "enter_at": "2027-01-15T08:00:00.050Z",
        "text_written": True,
        "enter_written": True,
    }


def test_evidence_of_a_text_that_was_not_begun() -> None:
    found = evidence(StepRecord(waited_ms=7), error="not sent", reason=delivery.STILL_BUSY, dialog="permission prompt")
    assert found.fields == {
        "waited_ms": 7,
        "submit_retries": 0,
        "dialog": "permission prompt",
        "text_written": False,
        "enter_written": False,
    }
    assert (found.failed, found.wrote, found.submitted) == (True, False, Submitted.NO)


def test_evidence_of_a_compaction() -> None:
    record = StepRecord(EvidenceMode.COMPACT, Submitted.CONFIRMED, True, True, True, confirm_source="compact_boundary")
    assert evidence(record).fields["compaction_observed"] is True


def test_evidence_of_a_legacy_result_leaves_its_echo_out() -> None:
    found = legacy_evidence(
        {
            "ok": False,
            "submitted": "activity",
            "steps_total": 1,
            "error": "step not confirmed",
            "reason": "why",
            "sessionId": "other",
            "command": "secret",
            "sent_at": "then",
            "waited_ms": 5,
            "submit_retries": 1,
            "wrote": True,
            "text_written": True,
            "enter_written": True,
            "written": True,
            "turn_observed": True,
        }
    )
    assert (found.error, found.reason, found.submitted) == ("step not confirmed", "why", Submitted.ACTIVITY)
    assert set(found.fields) == {
        *("sent_at", "waited_ms", "submit_retries", "written", "turn_observed", "text_written", "enter_written")
    }


def test_a_reason_on_a_success_is_no_failure() -> None:
    found = legacy_evidence({"ok": True, "submitted": "assumed", "reason": "withheld", "wrote": True})
    assert not found.failed
    assert found.reason is None


def test_an_assumed_submission_within_the_budget_stays_assumed() -> None:
    result = fitting(succeeded(RESUME, Effects(typed=evidence(unverified()))))
    assert (result["ok"], result["submitted"]) == (True, "assumed")


# --- a delivery that failed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "effects_of", "flags"),
    [
        pytest.param(RESUME, Effects(), {"resumed": False}, id="open here"),
        pytest.param(RESUME, Effects(spawned=True), {"resumed": True}, id="resumed"),
        pytest.param(NEW, Effects(NEW_ID, True), {"created": True, "sessionId": NEW_ID}, id="new"),
    ],
)
def test_verification_that_meets_the_deadline_after_enter(
    subject: Subject, effects_of: Effects, flags: dict[str, Any]
) -> None:
    typed = evidence(unverified(), sent_at=SENT, timed_out=True)
    result = fitting(delivery_failed(subject, Effects(effects_of.session_id, effects_of.spawned, typed)))
    wanted: dict[str, Any] = {
        "outcome": "refused",
        "ok": False,
        "reason": "session action timed out",
        "uncertain": True,
        "submitted": "assumed",
        "wrote": True,
        "text_written": True,
        "enter_written": True,
        "steps_total": 1,
        "timedOut": True,
        "submit_retries": 0,
        "enter_at": "2027-01-15T08:00:00.050Z",
        **flags,
    }
    assert {name: result.get(name) for name in wanted} == wanted


def test_activity_that_was_seen_before_the_deadline_is_kept() -> None:
    result = delivery_failed(RESUME, Effects(typed=evidence(unverified(Submitted.ACTIVITY), timed_out=True)))
    assert result["submitted"] == "activity"


def test_the_deadline_between_text_and_enter_leaves_no_doubt() -> None:
    record = StepRecord(EvidenceMode.EDGE, wrote=True, text_written=True)
    result = fitting(delivery_failed(RESUME, Effects(typed=evidence(record, timed_out=True, error="interrupted"))))
    assert (result["reason"], result["wrote"], result["enter_written"]) == ("session action timed out", True, False)
    assert "uncertain" not in result


@pytest.mark.parametrize(
    "reason",
    [
        *(delivery.DIALOG_OPEN, delivery.STILL_BUSY, delivery.NEVER_IDLE, delivery.IDLE_TOO_BRIEF),
        *(delivery.composer_pending("3"), delivery.composer_recent("5", "3000"), delivery.COMPOSER_UNSEEN),
    ],
)
def test_exact_reasons_of_delivery_are_kept(reason: str) -> None:
    typed = evidence(StepRecord(), timed_out=True, error=delivery.NOT_SENT, reason=reason)
    result = fitting(delivery_failed(RESUME, Effects(spawned=True, typed=typed)))
    assert (result["reason"], result["error"], result["resumed"]) == (reason, "not sent", True)
    assert "uncertain" not in result


def test_a_failure_without_a_reason_has_its_error_as_the_reason() -> None:
    typed = evidence(StepRecord(), error=delivery.NOT_RUNNING)
    assert delivery_failed(RESUME, Effects(typed=typed))["reason"] == "target process not running"


def test_a_changed_target_after_enter_is_uncertain_and_before_it_is_not() -> None:
    after = evidence(unverified(), error="interrupted", reason=reasons.TARGET_CHANGED)
    assert delivery_failed(RESUME, Effects(typed=after))["uncertain"] is True
    before = evidence(StepRecord(), error="not sent", reason=reasons.TARGET_CHANGED)
    assert "uncertain" not in delivery_failed(RESUME, Effects(typed=before))


# --- a note that is not finished --------------------------------------------------------------------------------------


def test_a_note_whose_verification_timed_out() -> None:
    result = fitting(delivery_failed(NOTE, Effects(typed=evidence(unverified(), timed_out=True))))
    assert (result["reason"], result["uncertain"], result["outcome"]) == ("note step not finished", True, "refused")
    assert (result["submitted"], result["wrote"], result["enter_written"]) == ("assumed", True, True)
    underlying = result["delivery"]
    assert (underlying["timedOut"], underlying["submitted"], underlying["enter_written"]) == (True, "assumed", True)


def test_a_note_that_was_not_typed() -> None:
    typed = evidence(StepRecord(), error=delivery.NOT_SENT, reason=delivery.STILL_BUSY)
    result = fitting(delivery_failed(NOTE, Effects(typed=typed)))
    assert result["reason"] == "note step not finished"
    assert result["delivery"]["reason"] == delivery.STILL_BUSY
    assert result["delivery"]["error"] == result["error"] == "not sent"
    assert "uncertain" not in result


def test_a_note_that_was_submitted_and_whose_turn_did_not_end() -> None:
    result = fitting(note_not_finished(NOTE, Effects(typed=evidence(confirmed())), "the turn still ran"))
    assert (result["submitted"], result["detail"]) == ("confirmed", "the turn still ran")
    assert result["uncertain"] is True


def test_a_fault_of_ours() -> None:
    result = fitting(fault(RESUME, "KeyError: 'x'"))
    assert (result["reason"], result["error"]) == ("internal error", "internal error: KeyError: 'x'")
    assert "uncertain" not in result
    typed = Evidence(Submitted.ASSUMED, True, True, True)
    assert fault(RESUME, "x", Effects(typed=typed))["uncertain"] is True


@pytest.mark.parametrize("subject", [RESUME, NEW, NOTE], ids=["resume", "new", "note"])
def test_what_a_person_may_want_to_know_of_a_failed_delivery(subject: Subject) -> None:
    typed = evidence(StepRecord(), error="not sent", reason="session readiness unavailable")
    result = fitting(delivery_failed(subject, Effects(typed=typed), "the CLI never reported idle"))
    assert result["detail"] == "the CLI never reported idle"
    late = evidence(unverified(), timed_out=True)
    assert delivery_failed(subject, Effects(typed=late), "why")["detail"] == "why"
