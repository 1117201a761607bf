"""Delivering one text (driver): wait until it harms nobody, write it, prove it.

The order is the baseline's: nobody's draft in the composer, process alive, CLI ready, time left. Then the line is
taken, and immediately before the first byte all of it must still hold; if the moment was lost, the waits begin again.
Returns and raises only: publishing a result is the caller's part.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from switchboard.common.clock import FOREVER, Instant
from switchboard.common.facts import CliStatus, Facts, TurnEvidence
from switchboard.common.writing import Check, WriteRefused
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk, put, timed
from switchboard.delivery.evidence import composer_trouble, dialog_name, dialog_open
from switchboard.delivery.keystrokes import ESCAPE
from switchboard.delivery.port import Target
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.submission import Submitted
from switchboard.delivery.submit import SubmitOrder, submit
from switchboard.delivery.typist import Limits
from switchboard.delivery.waits import (
    NEVER,
    CliIdleWait,
    ComposerWait,
    Ending,
    IdleFlagHold,
    Kind,
    NoDialogWait,
    StartedWait,
    TranscriptRule,
    Wait,
)


class Readiness(Enum):
    """What must hold before the first byte."""

    NO_DIALOG = "no dialog"
    """A single text that may be queued behind a running turn."""
    IDLE = "idle"
    """A single text that wants an idle CLI: its status may have been idle for long already."""
    CHAIN = "chain"
    """A step of a chain: idle as seen from now on, or a transcript that shows the turn over."""
    STARTUP = "startup"
    """A CLI that was just started: only its own fresh status will do."""


@dataclass(frozen=True, slots=True)
class StepOrder:
    """One text, and under which conditions it may be written.

    `deadline`: until when the first byte must be out. `verify`: until when its effect is looked for, beside the
    verification window. `after`: an idle status must be stamped later than this (instants are whole milliseconds: to
    accept an instant itself, pass the one before). `anchor`: the Enter that the transcript's closed turn must not
    precede. `flag_down_since`: for CLIs without a status, from when on the busy flag is known to be down; None asks
    for no such hold. `strict`: nothing is written at or after `deadline`, the Enter included. `status_needed`: nothing
    is written without the CLI's own status, also where there has never been one.
    """

    command: str
    deadline: Instant
    readiness: Readiness
    verify: Instant = FOREVER
    after: Instant = NEVER
    anchor: Instant = NEVER
    flag_down_since: Instant | None = None
    strict: bool = False
    status_needed: bool = False

    @property
    def in_chain(self) -> bool:
        return self.readiness is Readiness.CHAIN


@dataclass(frozen=True, slots=True)
class _Moment:
    """What made the CLI count as ready; it must still be so at the first byte."""

    status: CliStatus | None = None
    transcript: TurnEvidence | None = None
    flag_down: bool = False
    any_status: bool = False

    def holds(self, facts: Facts) -> bool:
        if self.flag_down and facts.busy:
            return False
        if self.transcript is not None and facts.transcript != self.transcript:
            return False
        return self.any_status or facts.status == self.status


async def deliver_step(target: Target, order: StepOrder, desk: Desk, record: StepRecord) -> Kind:
    """Deliver one text; the record is filled on the way. Returns what `submit` returns.

    Raises `Halt` when it could not be delivered; `record.wrote` tells whether anything went out.
    """
    hold = order.deadline if order.in_chain or order.strict else None
    limits = Limits(order.deadline, hold, order.strict)
    submission = SubmitOrder(order.command, limits, order.verify, own_entry=order.in_chain)
    delivery = _Delivery(target, order, desk, record)
    return await delivery.run(lambda permit: submit(target, submission, permit, desk, record))


async def press_escape(target: Target, order: StepOrder, desk: Desk, record: StepRecord) -> None:
    """Press Escape once, under the conditions of a text's first byte. Raises `Halt` as `deliver_step` does."""

    async def press(permit: Check) -> Kind:
        async with target.line() as line:
            try:
                await put(line, ESCAPE, permit, desk, order.deadline, record)
            except OSError as error:
                raise Halt(Trouble.FAILED, str(error)) from error
        record.submitted = Submitted.ASSUMED
        return Kind.DONE

    await _Delivery(target, order, desk, record).run(press)


class _Delivery:
    """One text on its way."""

    def __init__(self, target: Target, order: StepOrder, desk: Desk, record: StepRecord) -> None:
        self._target = target
        self._order = order
        self._desk = desk
        self._record = record
        self._moment = _Moment()
        self._quiet_ms = 0
        self._again = False

    async def run(self, act: Callable[[Check], Awaitable[Kind]]) -> Kind:
        """Wait for the right moment and act. `act` asks its argument for permission at its first byte."""
        order, desk = self._order, self._desk
        while True:
            self._again = False
            await self._composer_free()
            if not self._target.is_alive():
                raise Halt(Trouble.NOT_RUNNING)
            if self._target.is_outlived():
                raise Halt(Trouble.NOT_RUNNING, reasons.OUTLIVED)
            self._moment = await self._ready()
            if desk.stop.requested:
                raise Halt(Trouble.CLOSING, reasons.CLOSING)
            if desk.clock.now() >= order.deadline:
                raise Halt(Trouble.DEADLINE, reasons.DEADLINE_PASSED)
            try:
                return await act(self._permit)
            except WriteRefused as refusal:
                if not self._again:
                    raise self._refused(refusal.reason) from refusal

    async def _composer_free(self) -> None:
        self._quiet_ms = self._desk.settings.quiet_ms
        ending = await self._wait(ComposerWait(self._order.deadline, self._quiet_ms))
        if ending.kind is Kind.TIMED_OUT:
            raise Halt(Trouble.COMPOSER, ending.reason)

    async def _ready(self) -> _Moment:
        order, settings = self._order, self._desk.settings
        if order.readiness is not Readiness.STARTUP:  # that one waits for more, and has its own words for it
            await self._started()
        if order.readiness is Readiness.NO_DIALOG:
            await self._no_dialog()
            return _Moment(any_status=True)
        settle = settings.settle_ms
        if order.readiness is Readiness.IDLE:
            # A short deadline shortens the proof rather than making delivery impossible.
            settle = max(0, min(settle, int(order.deadline - self._desk.clock.now() - 1)))
        wait = CliIdleWait(
            order.after,
            order.deadline,
            settle,
            trust_stamp=order.readiness is Readiness.IDLE,
            transcript=TranscriptRule(order.anchor, settings.transcript_quiet_ms) if order.in_chain else None,
            startup=order.readiness is Readiness.STARTUP or order.status_needed,
        )
        ending = await self._wait(wait)
        if ending.kind is Kind.UNAVAILABLE:
            return await self._ready_without_status(settle)
        if ending.kind is Kind.TIMED_OUT:
            raise self._not_ready(ending)
        self._record.ready_source = ending.source
        facts = self._target.facts.value
        return _Moment(facts.status, facts.transcript if ending.source == "transcript" else None)

    async def _ready_without_status(self, settle_ms: int) -> _Moment:
        """The CLI publishes nothing usable: the busy flag must hold, where asked for, and no dialog be open."""
        down_since = self._order.flag_down_since
        if down_since is not None:
            ending = await self._wait(IdleFlagHold(self._order.deadline, settle_ms, down_since))
            if ending.kind is Kind.TIMED_OUT:
                raise Halt(Trouble.NOT_READY, reasons.IDLE_TIMEOUT)
        await self._no_dialog()
        return _Moment(self._target.facts.value.status, flag_down=down_since is not None)

    async def _started(self) -> None:
        ending = await self._wait(StartedWait(self._order.deadline))
        if ending.kind is Kind.TIMED_OUT:
            raise Halt(Trouble.NOT_READY, reasons.STARTING)

    async def _no_dialog(self) -> None:
        ending = await self._wait(NoDialogWait(self._order.deadline))
        if ending.kind is Kind.TIMED_OUT:
            raise Halt(Trouble.NOT_READY, reasons.DIALOG_OPEN, dialog_name(self._target.facts.value))

    async def _wait(self, wait: Wait) -> Ending:
        feed = self._target.facts
        # Most waits are over at the first look.
        ending = wait.observe(feed.value, self._desk.clock.now())
        if ending is None:
            ending = await timed(wait, feed, self._desk, self._record)
        if ending.kind is Kind.EXITED:
            raise Halt(Trouble.EXITED)
        return ending

    def _not_ready(self, ending: Ending) -> Halt:
        if ending.dialog or ending.status == "waiting":
            return Halt(Trouble.NOT_READY, reasons.DIALOG_OPEN, dialog_name(self._target.facts.value))
        if ending.status == "busy":
            return Halt(Trouble.NOT_READY, reasons.STILL_BUSY)
        if ending.status == "idle" and not self._order.in_chain:
            return Halt(Trouble.NOT_READY, reasons.IDLE_TOO_BRIEF)
        return Halt(Trouble.NOT_READY, reasons.NEVER_IDLE)

    def _permit(self, facts: Facts) -> str | None:
        """Asked immediately before the first byte. `_again` tells whether waiting once more could help."""
        self._again = False
        if not facts.present:
            return reasons.EXITED
        if self._target.is_outlived():
            return reasons.OUTLIVED
        now = self._desk.clock.now()
        if now >= self._order.deadline:
            return reasons.DEADLINE_PASSED
        trouble = reasons.DIALOG_OPEN if dialog_open(facts) else None
        trouble = trouble or composer_trouble(facts.composer, now, self._quiet_ms)
        if trouble is None and not self._moment.holds(facts):
            trouble = reasons.NEVER_IDLE
        self._again = trouble is not None
        return trouble

    def _refused(self, reason: str) -> Halt:
        if reason == reasons.EXITED:
            return Halt(Trouble.EXITED)
        if reason == reasons.OUTLIVED:
            return Halt(Trouble.NOT_RUNNING, reason)
        if reason == reasons.DEADLINE_PASSED:
            return Halt(Trouble.DEADLINE, reason)
        return Halt(Trouble.REFUSED, reason)
