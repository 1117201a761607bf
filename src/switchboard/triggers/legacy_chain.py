"""A chain of texts for one session, each typed when the turn of the one before has ended (driver).

One deadline covers the whole chain. A chain stops at the first step that cannot be delivered or proven, and nothing
more is typed. Its result tells where to go on: at the first step with `submitted: "no"`, else after the last listed.
"""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.clis.transcripts import is_compact_command
from switchboard.common.clock import Instant
from switchboard.common.ecma import number_to_string
from switchboard.common.strict_json import JsonValue
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk, timed
from switchboard.delivery.port import Target, Terminals
from switchboard.delivery.reactions import BusyFallWait, Mode, PendingWait, Pulse
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.step import Readiness, StepOrder, deliver_step
from switchboard.delivery.submission import Submitted
from switchboard.delivery.submit import leave_untaken, may_be_queued
from switchboard.delivery.waits import NEVER, Ending, Kind, TranscriptRule
from switchboard.triggers.legacy_schema import LegacyRequest, Step
from switchboard.triggers.legacy_single import ERRORS, await_idle
from switchboard.triggers.results import Result, chain_counts, chain_rank, envelope, iso_time, step_entry, written

TIMED = frozenset({Trouble.COMPOSER, Trouble.NOT_READY, Trouble.DEADLINE})
"""Troubles that mean that a step's time was used up before it could be written."""
UNLISTED = frozenset({Trouble.EXITED, Trouble.NOT_RUNNING, Trouble.REFUSED, Trouble.CLOSING})
"""Troubles after which a step that was not written gets no entry: it was never its turn."""


class _Failed(Exception):
    """The chain stops here."""

    def __init__(self, error: str, reason: str | None = None, dialog: str | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.reason = reason
        self.dialog = dialog


@dataclass(frozen=True, slots=True)
class _Previous:
    """The step before: its Enter, and whether it was a compaction."""

    enter_at: Instant = NEVER
    compact: bool = False


class ChainDelivery:
    """One request with a chain, on its way to a session that was found. `record` is the step worked on last."""

    def __init__(self, request: LegacyRequest, terminals: Terminals, target: Target, desk: Desk) -> None:
        self._request = request
        self._terminals = terminals
        self._target = target
        self._desk = desk
        self._steps: list[JsonValue] = []
        self._index = 0
        self._sent_at: str | None = None
        self._waited = 0
        self._compacted: list[bool] = []
        """For each `/compact` whose turn it was: whether its compaction was seen."""
        self.wrote = False
        self.record = StepRecord()

    async def run(self) -> Result:
        """Deliver step by step, and return the result."""
        request, desk = self._request, self._desk
        timeout = request.timeout_ms
        deadline = desk.clock.now() + (desk.settings.idle_timeout_ms if timeout is None else timeout)
        try:
            with self._target.transcript():
                down_since = await self._initial_wait(deadline)
                previous = _Previous()
                for index, step in enumerate(request.chain):
                    self._index = index
                    previous = await self._step(index, step, deadline, previous, down_since)
                    down_since = None
        except _Failed as failed:
            return self._failure(failed)
        except Halt as halt:
            return self._failure(self._as_failed(halt))
        return self._success()

    def cut_off(self, error: str, reason: str | None) -> Result:
        """The result of a chain that was ended from outside, at any moment."""
        return self._failure(_Failed(error, reason))

    async def _initial_wait(self, deadline: Instant) -> Instant | None:
        if not self._request.wait_idle:
            return None
        try:
            return await await_idle(self._target, deadline, self._desk, self.record, reasons.CHAIN_IDLE_TIMEOUT)
        finally:
            self._waited += self.record.waited_ms

    async def _step(
        self, index: int, step: Step, deadline: Instant, previous: _Previous, down_since: Instant | None
    ) -> _Previous:
        clock, settings = self._desk.clock, self._desk.settings
        if clock.now() >= deadline:
            raise _Failed(self._timeout_error(index), None if index else reasons.DEADLINE_PASSED)
        self._find_again()
        sent_at = iso_time(clock.now())
        self._sent_at = self._sent_at or sent_at
        step_deadline = deadline if step.timeout_ms is None else min(deadline, clock.now() + step.timeout_ms)
        record = self.record = StepRecord()
        order = StepOrder(
            step.command,
            step_deadline,
            Readiness.CHAIN,
            verify=step_deadline,
            after=previous.enter_at if previous.compact else NEVER,
            anchor=previous.enter_at,
            flag_down_since=down_since,
        )
        idle_source = None
        listed = True
        try:
            kind = await deliver_step(self._target, order, self._desk, record)
            await self._prove(index, order, kind)
            if index < len(self._request.chain) - 1:
                idle_source = await self._turn_end(order, clock.now() + settings.rise_wait_ms)
        except Halt as halt:
            listed = record.wrote or halt.trouble not in UNLISTED
            raise
        finally:
            self.wrote = self.wrote or record.wrote
            self._waited += record.waited_ms
            if record.mode is Mode.COMPACT and record.wrote:
                self._compacted.append(record.submitted is Submitted.CONFIRMED)
            if listed:
                self._steps.append(step_entry(index, step.command, sent_at, record, idle_source))
        assert record.enter_at is not None
        return _Previous(record.enter_at, record.mode is Mode.COMPACT)

    def _find_again(self) -> None:
        """The session must still be there, and be the one the chain began with."""
        found = self._terminals.find(self._request.session_id)
        if found is None or not self._target.facts.value.present:
            raise _Failed(reasons.EXITED)
        if found.facts is not self._target.facts:
            raise Halt(Trouble.REFUSED, reasons.TARGET_CHANGED)

    async def _prove(self, index: int, order: StepOrder, kind: Kind) -> None:
        """The step is written: stop the chain unless it may go on."""
        record, number = self.record, str(index)
        compact = record.mode is Mode.COMPACT
        if kind is Kind.EXITED:
            reason = reasons.of_step(number, reasons.EXITED_BEFORE_COMPACTION) if compact else None
            raise _Failed(reasons.EXITED, reason)
        if kind is Kind.TIMED_OUT and not compact:
            raise _Failed(reasons.CHAIN_TIMEOUT)
        if kind is Kind.TIMED_OUT:
            raise _Failed(reasons.NOT_CONFIRMED, reasons.of_step(number, reasons.NOT_COMPACTED))
        if record.withheld is None or record.submitted is Submitted.CONFIRMED:
            return
        if not may_be_queued(self._target.facts.value, record):
            raise _Failed(reasons.NOT_CONFIRMED, reasons.step_recovery_withheld(number, record.withheld))
        await self._pending(number, order)

    async def _pending(self, number: str, order: StepOrder) -> None:
        """The step went into a working CLI, which says nothing of what it queues: wait for what it does with it."""
        record, own_entry_ms = self.record, self._desk.settings.own_entry_ms
        assert record.enter_at is not None
        wait = PendingWait(record.enter_at, order.command, order.deadline, record.enter_at + own_entry_ms)
        ending = await self._timed(wait)
        if ending.kind is Kind.EXITED:
            raise _Failed(reasons.EXITED)
        if ending.kind is not Kind.DONE:
            leave_untaken(self._target, order.command, record, during_turn=True)
        if ending.kind is Kind.NO_OWN_ENTRY:
            seconds = number_to_string(own_entry_ms / 1000)
            raise _Failed(reasons.NOT_CONFIRMED, reasons.step_no_own_entry(number, seconds))
        if ending.kind is Kind.TIMED_OUT:
            raise _Failed(reasons.NOT_CONFIRMED, reasons.step_pending_timeout(number))
        record.submitted = Submitted.CONFIRMED
        record.confirm_source = ending.source
        record.activity = True

    async def _turn_end(self, order: StepOrder, rise_until: int) -> str | None:
        record, settings = self.record, self._desk.settings
        assert record.enter_at is not None
        # Whoever saw the flag rise, or the compaction, need not see it again.
        risen = record.activity and record.mode is not Mode.EDGE
        wait = BusyFallWait(
            record.enter_at,
            order.deadline,
            settings.settle_ms,
            rise_until,
            TranscriptRule(record.enter_at, settings.transcript_quiet_ms),
            Pulse(self._target.facts.value.busy_changed_at, risen),
        )
        ending = await self._timed(wait)
        if ending.kind is Kind.EXITED:
            raise _Failed(reasons.EXITED)
        if ending.kind is Kind.TIMED_OUT:
            raise _Failed(reasons.CHAIN_TIMEOUT, reasons.DIALOG_DURING_TURN if ending.dialog else None)
        return ending.source

    async def _timed(self, wait: PendingWait | BusyFallWait) -> Ending:
        return await timed(wait, self._target.facts, self._desk, self.record)

    def _as_failed(self, halt: Halt) -> _Failed:
        if halt.trouble is Trouble.FAILED:
            return _Failed(reasons.write_failed(halt.reason or "unknown"))
        if halt.trouble in TIMED:
            return _Failed(self._timeout_error(self._index), halt.reason, halt.dialog)
        error = ERRORS.get(halt.trouble, reasons.INTERRUPTED if self.wrote else reasons.NOT_SENT)
        reason = halt.reason
        if halt.trouble is Trouble.LEFT_IN_COMPOSER and reason is not None:
            reason = reasons.of_step(str(self._index), reason)
        return _Failed(error, reason, halt.dialog)

    def _timeout_error(self, index: int) -> str:
        return reasons.CHAIN_TIMEOUT if index else reasons.NOT_SENT

    def _failure(self, failed: _Failed) -> Result:
        result = envelope(False, chain_rank(self._steps), self._request.steps_total, failed.error, failed.reason)
        if failed.dialog is not None:
            result["dialog"] = failed.dialog
        result["partial"] = self.wrote
        result["steps_completed"] = self._index
        result.update(self._common())
        return result

    def _success(self) -> Result:
        rank = chain_rank(self._steps)
        result = envelope(True, rank, self._request.steps_total)
        unconfirmed: list[JsonValue] = [
            step["idx"] for step in self._steps if isinstance(step, dict) and step["submitted"] != "confirmed"
        ]
        if unconfirmed:
            result["unconfirmed_steps"] = unconfirmed
        result["steps_completed"] = len(self._steps)
        result.update(self._common())
        return result

    def _common(self) -> Result:
        fields: Result = {
            "sessionId": self._request.session_id,
            "sent_at": self._sent_at,
            "steps": self._steps,
            "total_waited_ms": self._waited,
        }
        fields.update(chain_counts(self._steps))
        wanted = sum(is_compact_command(step.command) for step in self._request.chain)
        if wanted:
            fields["compaction_observed"] = sum(self._compacted) == wanted
        fields.update(written(self.record))
        fields["wrote"] = self.wrote
        return fields
