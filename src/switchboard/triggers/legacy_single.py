"""A single text, or a single key, for one session (driver)."""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.clis.transcripts import is_compact_command
from switchboard.common.clock import FOREVER, Instant
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk, timed
from switchboard.delivery.port import Target
from switchboard.delivery.reactions import Mode
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.step import Readiness, StepOrder, deliver_step, press_escape
from switchboard.delivery.submission import Submitted
from switchboard.delivery.waits import NEVER, IdleFlagWait, Kind
from switchboard.triggers.legacy_schema import LegacyRequest
from switchboard.triggers.results import Result, envelope, iso_time, proof, written

ERRORS = {
    Trouble.EXITED: reasons.EXITED,
    Trouble.NOT_RUNNING: reasons.NOT_RUNNING,
    Trouble.LEFT_IN_COMPOSER: reasons.NOT_CONFIRMED,
}
"""Troubles with an `error` of their own; the others are `not sent`, or `interrupted` once a byte is out."""


async def await_idle(target: Target, deadline: Instant, desk: Desk, record: StepRecord, too_late: str) -> Instant:
    """Wait until the busy flag is down; return since when it is. Raises `Halt`, at the deadline with `too_late`."""
    was_busy = target.facts.value.busy
    ending = await timed(IdleFlagWait(deadline), target.facts, desk, record)
    if ending.kind is Kind.EXITED:
        raise Halt(Trouble.EXITED, reasons.EXITED_BEFORE_IDLE)
    if ending.kind is Kind.TIMED_OUT:
        raise Halt(Trouble.NOT_READY, reasons.DIALOG_OPEN if ending.dialog else too_late)
    return desk.clock.now() if was_busy else NEVER


@dataclass(frozen=True, slots=True)
class SingleDelivery:
    """One request with a command or a key, on its way to a session that was found."""

    request: LegacyRequest
    target: Target
    desk: Desk
    record: StepRecord

    async def run(self) -> Result:
        """Deliver, and return the result."""
        request, desk = self.request, self.desk
        timeout = request.timeout_ms
        deadline = desk.clock.now() + (desk.settings.idle_timeout_ms if timeout is None else timeout)
        try:
            down_since = None
            if request.wait_idle:
                down_since = await await_idle(self.target, deadline, desk, self.record, reasons.IDLE_TIMEOUT)
            if request.key is not None:
                return await self._press(deadline)
            return await self._type(deadline, down_since)
        except Halt as halt:
            return self._halted(halt)

    async def _press(self, deadline: Instant) -> Result:
        order = StepOrder("", deadline, Readiness.NO_DIALOG)
        await press_escape(self.target, order, self.desk, self.record)
        result = envelope(True, self.record.submitted, 1)
        result.update(self._common())
        result.update(written(self.record))
        return result

    async def _type(self, deadline: Instant, down_since: Instant | None) -> Result:
        command, record = self.request.command, self.record
        assert command is not None
        compact = is_compact_command(command)
        order = StepOrder(
            command,
            deadline,
            Readiness.IDLE if self.request.wait_idle else Readiness.NO_DIALOG,
            # An ordinary text is looked after for one window, however late that ends; a compaction until the deadline.
            verify=deadline if compact else FOREVER,
            flag_down_since=down_since,
        )
        if compact:
            with self.target.transcript():
                kind = await deliver_step(self.target, order, self.desk, record)
        else:
            kind = await deliver_step(self.target, order, self.desk, record)
        if record.mode is Mode.COMPACT and kind is not Kind.DONE:
            exited = kind is Kind.EXITED
            reason = reasons.EXITED_BEFORE_COMPACTION if exited else reasons.NOT_COMPACTED
            return self._submitted(reasons.NOT_CONFIRMED, reason)
        return self._submitted(None, record.withheld)

    def _submitted(self, error: str | None, reason: str | None) -> Result:
        """The text and its Enter are written."""
        result = envelope(error is None, self.record.submitted, 1, error, reason)
        result.update(self._common())
        result.update(proof(self.record))
        result.update(written(self.record))
        return result

    def _halted(self, halt: Halt) -> Result:
        record = self.record
        if halt.trouble is Trouble.FAILED:
            # The contract leaves open what became of it: no `waited_ms`, and `submitted` at its default.
            result = envelope(False, Submitted.NO, 1, reasons.write_failed(halt.reason or "unknown"))
            result["sessionId"] = self.request.session_id
            result.update(written(record))
            return result
        error = ERRORS.get(halt.trouble, reasons.INTERRUPTED if record.wrote else reasons.NOT_SENT)
        result = envelope(False, record.submitted, 1, error, halt.reason)
        if halt.dialog is not None:
            result["dialog"] = halt.dialog
        result["sessionId"] = self.request.session_id
        result["waited_ms"] = record.waited_ms
        if record.wrote:
            result.update(self._common())
            result.update(proof(record))
        result.update(written(record))
        return result

    def _common(self) -> Result:
        request = self.request
        payload: Result = {"command": request.command} if request.key is None else {"key": request.key}
        return {
            "sessionId": request.session_id,
            **payload,
            "sent_at": iso_time(self.desk.clock.now()),
            "waited_ms": self.record.waited_ms,
        }
