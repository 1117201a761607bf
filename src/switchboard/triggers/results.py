"""Result objects of legacy requests (the legacy trigger contract), as pure functions.

Every result says `ok`, how sure the submission is (`submitted`), how many texts the request had (`steps_total`), and
what went out: `wrote` (a byte, or maybe one), `text_written`, `enter_written`. The last two are about the text that
was worked on last.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from switchboard.common.strict_json import JsonValue
from switchboard.delivery.reactions import Mode
from switchboard.delivery.record import StepRecord
from switchboard.delivery.submission import Submitted, weakest

Result: TypeAlias = dict[str, JsonValue]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_time(instant: int) -> str:
    """A wall instant the way JavaScript's `toISOString` writes it: UTC, three decimals, `Z`."""
    return (_EPOCH + timedelta(milliseconds=instant)).isoformat(timespec="milliseconds")[:-6] + "Z"


def envelope(
    ok: bool, submitted: Submitted, steps_total: int, error: str | None = None, reason: str | None = None
) -> Result:
    """The fields that all results begin with; `error` and `reason` only where there is one."""
    result: Result = {"ok": ok, "submitted": submitted.wire, "steps_total": steps_total}
    if error is not None:
        result["error"] = error
    if reason is not None:
        result["reason"] = reason
    return result


def written(record: StepRecord) -> Result:
    """What went out of one text."""
    return {
        "wrote": record.wrote,
        "text_written": record.text_written,
        "enter_written": record.enter_written,
    }


def refused(
    error: str, reason: str | None = None, steps_total: int = 0, fields: Result | None = None, *, internal: bool = False
) -> Result:
    """A request that ended before anything was written."""
    result = envelope(False, Submitted.NO, steps_total, error, reason)
    if internal:
        result["internal"] = True
    result.update(fields or {})
    result.update(written(StepRecord()))
    return result


def proof(record: StepRecord) -> Result:
    """What is known of the submission of one written text."""
    fields: Result = {
        "submit_retries": record.retries,
        "written": record.enter_written,
        "turn_observed": record.activity,
    }
    if record.mode in (Mode.EDGE, Mode.COMPACT):
        fields["submit_confirmed"] = record.submitted is Submitted.CONFIRMED
    if record.confirm_source is not None:
        fields["confirm_source"] = record.confirm_source
    if record.mode is Mode.COMPACT:
        fields["compaction_observed"] = record.submitted is Submitted.CONFIRMED
    return fields


def step_entry(index: int, command: str, sent_at: str, record: StepRecord, idle_source: str | None = None) -> Result:
    """One element of a chain's `steps`."""
    entry: Result = {
        "idx": index,
        "command": command,
        "sent_at": sent_at,
        "waited_ms": record.waited_ms,
        "submitted": record.submitted.wire,
    }
    entry.update(proof(record) if record.wrote else {"submit_retries": 0})
    if record.ready_source is not None:
        entry["ready_source"] = record.ready_source
    if idle_source is not None:
        entry["idle_source"] = idle_source
    entry.update(written(record))
    return entry


def chain_rank(steps: Sequence[JsonValue]) -> Submitted:
    """How sure a chain is: as its weakest step."""
    return weakest([Submitted[str(step["submitted"]).upper()] for step in steps if isinstance(step, dict)])


def chain_counts(steps: Sequence[JsonValue]) -> Result:
    """The counts that stand beside every `steps`."""
    entries = [step for step in steps if isinstance(step, dict)]
    return {
        "steps_written": sum(step.get("written") is True for step in entries),
        "steps_with_turn_observed": sum(step.get("turn_observed") is True for step in entries),
    }
