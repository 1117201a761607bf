"""Results of versioned requests: one envelope, and the delivery's evidence beside it. Pure.

A result says what happened, never more: `resumed` and `created` are true only for a spawn that was seen, `ok` only when
everything that was asked for is done, and `uncertain` only where an action that was broken off may have taken effect.
`reason` is a fixed text that callers compare; `error` and `detail` are for a person. A refusal is no proof that nothing
happened: what had happened by then stands in the same fields as on a success.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from switchboard.delivery.reasons import NOT_SENT
from switchboard.delivery.record import StepRecord
from switchboard.delivery.submission import Submitted
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.results import Result, iso_time, proof, written
from switchboard.triggers.v1_schema import Mode, ShapeRefusal, Subject

EVIDENCE = frozenset(
    {
        *("sent_at", "waited_ms", "submit_retries", "written", "turn_observed", "submit_confirmed", "confirm_source"),
        *("compaction_observed", "ready_source", "idle_source", "text_written", "enter_written", "enter_at"),
        *("timedOut", "dialog", "withheld"),
    }
)
"""Fields of a delivery that a versioned result keeps, beside `submitted` and `wrote`, which every one has."""


class Outcome(Enum):
    """How a request ended."""

    OPENED = "opened"
    CLOSED = "closed"
    REFUSED = "refused"
    NOT_FOUND = "not-found"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a delivery left behind. `error` and `reason`: delivery's own texts when it failed.

    `timed_out`: the action's deadline came before the delivery was complete, verification included.
    """

    submitted: Submitted = Submitted.NO
    wrote: bool = False
    text_written: bool = False
    enter_written: bool = False
    timed_out: bool = False
    error: str | None = None
    reason: str | None = None
    fields: Result = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return self.error is not None or self.timed_out


NOTHING_TYPED = Evidence()


def evidence(
    record: StepRecord,
    *,
    sent_at: int | None = None,
    timed_out: bool = False,
    idle_source: str | None = None,
    dialog: str | None = None,
    error: str | None = None,
    reason: str | None = None,
) -> Evidence:
    """Take down what became of one text. `sent_at`: when it was typed, as a wall instant."""
    fields: Result = {} if sent_at is None else {"sent_at": iso_time(sent_at)}
    fields["waited_ms"] = record.waited_ms
    fields.update(proof(record) if record.wrote else {"submit_retries": 0})
    for name, value in (
        ("ready_source", record.ready_source),
        ("idle_source", idle_source),
        ("dialog", dialog),
        ("withheld", record.withheld),
        ("enter_at", iso_time(record.enter_at) if record.enter_written and record.enter_at is not None else None),
        ("timedOut", timed_out or None),
    ):
        if value is not None:
            fields[name] = value
    fields.update(written(record))
    return _evidence(record.submitted, fields, timed_out, error, reason)


def legacy_evidence(result: Result, *, timed_out: bool = False) -> Evidence:
    """Take down a result of the legacy delivery: its evidence, and its failure if it has one.

    What it echoes of its request (`command` and the like) and a session id of its own are left out.
    """
    submitted = Submitted[str(result.get("submitted", "no")).upper()]
    error = result.get("error")
    reason = result.get("reason")
    failed = result.get("ok") is not True
    fields = dict(result)
    if timed_out:
        fields["timedOut"] = True
    return _evidence(
        submitted,
        fields,
        timed_out,
        str(error) if failed and error is not None else None,
        str(reason) if failed and reason is not None else None,
    )


def _evidence(submitted: Submitted, fields: Result, timed_out: bool, error: str | None, reason: str | None) -> Evidence:
    text, enter = fields.get("text_written") is True, fields.get("enter_written") is True
    kept = {name: value for name, value in fields.items() if name in EVIDENCE}
    # What wrote an Enter wrote something, whether or not that was noted.
    wrote = fields.get("wrote") is True or text or enter
    return Evidence(submitted, wrote, text, enter, timed_out, error, reason, kept)


@dataclass(frozen=True, slots=True)
class Effects:
    """What a request has brought about. `session_id`: the id that was reserved for a new session."""

    session_id: str | None = None
    spawned: bool = False
    typed: Evidence = NOTHING_TYPED


NO_EFFECTS = Effects()


def succeeded(subject: Subject, effects: Effects = NO_EFFECTS) -> Result:
    """Everything that was asked for is done: the session is open, or its process has ended."""
    outcome = Outcome.CLOSED if subject.mode is Mode.STOP else Outcome.OPENED
    return _envelope(subject, effects, outcome, None)


def failed(
    subject: Subject,
    reason: str,
    effects: Effects = NO_EFFECTS,
    *,
    error: str | None = None,
    detail: str | None = None,
    uncertain: bool = False,
) -> Result:
    """The request was refused, or broken off after some effects.

    `uncertain`: something may be under way or done that is not seen. Raises ValueError where the contract leaves no
    room for that doubt.
    """
    if uncertain and reason not in reasons.MAYBE_UNCERTAIN:
        raise ValueError(f"nothing is uncertain about {reason!r}")
    outcome = Outcome.NOT_FOUND if reason in reasons.NOT_FOUND_REASONS else Outcome.REFUSED
    result = _envelope(subject, effects, outcome, reason)
    if uncertain or reason in reasons.ALWAYS_UNCERTAIN:
        result["uncertain"] = True
    for name, text in (("error", effects.typed.error if error is None else error), ("detail", detail)):
        if text is not None:
            result[name] = text
    return result


def shape_refused(refusal: ShapeRefusal) -> Result:
    """The request was refused for its shape."""
    return failed(refusal.subject, refusal.reason)


def delivery_failed(subject: Subject, effects: Effects, detail: str | None = None) -> Result:
    """The text could not be delivered in full; what is known of it is in `effects.typed`.

    For an open, the deadline has a reason of its own once something was written; else delivery's exact reason counts,
    or its `error` where it gave none. For a stop, the note is not finished, and what delivery said stands in
    `delivery`. Only an Enter that went out can have had an effect that was not seen.
    """
    typed = effects.typed
    if subject.mode is Mode.STOP:
        return note_not_finished(subject, effects, detail)
    if typed.timed_out and (typed.wrote or typed.error is None):
        return failed(subject, reasons.TIMED_OUT, effects, detail=detail, uncertain=typed.enter_written)
    reason = typed.reason or typed.error or reasons.FAULT
    uncertain = typed.enter_written and reason in reasons.MAYBE_UNCERTAIN
    return failed(subject, reason, effects, detail=detail, uncertain=uncertain)


def note_not_finished(subject: Subject, effects: Effects, detail: str | None = None) -> Result:
    """The last turn before a stop could not be brought to a proven end; the session goes on running.

    Once its Enter is out the note may have its effect, now or later, so nobody may type it again by himself.
    """
    typed = effects.typed
    result = failed(subject, reasons.NOTE_NOT_FINISHED, effects, detail=detail, uncertain=typed.enter_written)
    underlying: Result = {"submitted": typed.submitted.wire, "wrote": typed.wrote}
    underlying.update(typed.fields)
    for name, text in (("error", typed.error), ("reason", typed.reason)):
        if text is not None:
            underlying[name] = text
    result["delivery"] = underlying
    return result


def fault(subject: Subject, message: str, effects: Effects = NO_EFFECTS) -> Result:
    """We are at fault. `message`: what went wrong, for `error`."""
    return failed(
        subject, reasons.FAULT, effects, error=f"internal error: {message}", uncertain=effects.typed.enter_written
    )


def stale(subject: Subject, reason: str) -> Result:
    """The request grew too old while it waited for its session's turn. `reason`: delivery's text, with the ages."""
    return failed(subject, reason, error=NOT_SENT)


def _envelope(subject: Subject, effects: Effects, outcome: Outcome, reason: str | None) -> Result:
    typed = effects.typed
    result: Result = {
        "version": subject.version,
        "action": subject.action,
        "ok": reason is None,
        "outcome": outcome.value,
        "reason": reason,
        "sessionId": subject.session_id or effects.session_id,
    }
    spawn_field = None if subject.mode is None else subject.mode.spawn_field
    if spawn_field is not None:
        result[spawn_field] = effects.spawned
    result["submitted"] = typed.submitted.wire
    result["wrote"] = typed.wrote
    result["steps_total"] = subject.steps_total
    result.update(typed.fields)
    return result
