"""Submitting one text and proving it (driver): the ladder of `submission`, with its one recovery Enter.

An Enter can be swallowed. When nothing shows that the text was taken, one more Enter is pressed, and only where it can
do no harm: not while the CLI reports a dialog or a turn, not into somebody's draft, never for `/compact`.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from switchboard.common.clock import FOREVER, Instant
from switchboard.common.ecma import trim
from switchboard.common.facts import Facts
from switchboard.common.writing import Check, WriteRefused
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk, put, timed
from switchboard.delivery.evidence import composer_trouble, left_in_box, recovery_danger
from switchboard.delivery.keystrokes import ENTER, typed
from switchboard.delivery.port import Target
from switchboard.delivery.reactions import CompactionWait, Mode, ReactionWait
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.submission import Submitted, classify, level_confirms
from switchboard.delivery.typist import Limits, Typed, Typist
from switchboard.delivery.waits import ComposerWait, Ending, Kind


@dataclass(frozen=True, slots=True)
class SubmitOrder:
    """One text to submit. `verify`: when looking for its effect ends at the latest, beside the window.

    `own_entry`: the text's own transcript entry counts as an effect while the CLI works (chains).
    """

    command: str
    limits: Limits
    verify: Instant = FOREVER
    own_entry: bool = False


async def submit(target: Target, order: SubmitOrder, permit: Check, desk: Desk, record: StepRecord) -> Kind:
    """Write the text and its Enter, then look for evidence; the record says what was found.

    Returns `DONE` (an effect was seen), `WINDOW_OVER` (none), `TIMED_OUT` or `EXITED` (the look was cut off).
    Raises `WriteRefused` when the first byte was not permitted, `Halt` when text is left or a write failed.
    """
    async with target.line() as line:
        result = await Typist(target, line, desk, record, order.limits).type(order.command, permit)
    if record.mode is Mode.COMPACT:
        ending = await _await_compaction(target, order, result, desk, record)
    else:
        with target.transcript() if result.during_turn else nullcontext():
            ending = await _Verification(target, order, result, desk, record).run()
    record.activity = record.activity or ending.activity
    return ending.kind


async def _await_compaction(target: Target, order: SubmitOrder, typed: Typed, desk: Desk, record: StepRecord) -> Ending:
    assert record.enter_at is not None
    wait = CompactionWait(record.enter_at, order.verify, typed.known, typed.after_enter)
    ending = await timed(wait, target.facts, desk, record)
    record.submitted = classify(confirmed=ending.kind is Kind.DONE, activity=ending.activity)
    record.confirm_source = ending.source
    return ending


def leave_untaken(target: Target, command: str, record: StepRecord) -> None:
    """Say so if a prompt that went into a working CLI is seen not to have been taken: the next one must not join it.

    What the CLI carries out itself (`/`, `!`) is not always recorded, so that its absence says nothing.
    """
    assert record.enter_at is not None
    if trim(command)[:1] in ("/", "!"):
        return
    if record.submitted is not Submitted.CONFIRMED and left_in_box(target.facts.value, command, record.enter_at):
        target.untaken(typed(command), record.enter_at)


class _Verification:
    """Looks for the effect of an Enter, and presses it once more if there is none."""

    def __init__(self, target: Target, order: SubmitOrder, typed: Typed, desk: Desk, record: StepRecord) -> None:
        self._target = target
        self._order = order
        self._typed = typed
        self._desk = desk
        self._record = record

    async def run(self) -> Ending:
        record = self._record
        ending = await self._look(self._desk.settings.verify_ms)
        attempt = 0 if ending.kind is Kind.DONE else 1
        if ending.kind is Kind.WINDOW_OVER and await self._may_recover():
            ending = await self._recover(ending)
        seen = ending.kind is Kind.DONE
        if record.mode is Mode.EDGE:
            record.submitted = classify(confirmed=seen, activity=False)
        else:
            confirmed = level_confirms(self._typed.gate, attempt=attempt, seen=seen)
            record.submitted = classify(confirmed=confirmed, activity=ending.activity)
        record.confirm_source = ending.source
        if self._typed.during_turn and not self._order.own_entry:
            leave_untaken(self._target, self._order.command, record)
        return ending

    async def _look(self, window_ms: int) -> Ending:
        record, order = self._record, self._order
        assert record.mode is not None
        assert record.enter_at is not None
        wait = ReactionWait(
            record.mode,
            record.enter_at,
            self._desk.clock.now() + window_ms,
            order.verify,
            self._typed.after_enter,
            order.command if order.own_entry else None,
            during_turn=order.command if self._typed.during_turn else None,
        )
        ending = await timed(wait, self._target.facts, self._desk, record)
        record.activity = record.activity or ending.activity
        return ending

    async def _may_recover(self) -> bool:
        """Wait until one bare Enter could do no harm; False, with the reason in the record, when it might."""
        clock, settings, feed = self._desk.clock, self._desk.settings, self._target.facts
        self._record.withheld = recovery_danger(feed.value.status)
        if self._record.withheld is None:
            until = min(self._order.verify, clock.now() + settings.verify_ms)
            ending = await timed(ComposerWait(until, settings.quiet_ms), feed, self._desk, self._record)
            self._record.withheld = ending.reason
        return self._record.withheld is None

    async def _recover(self, ending: Ending) -> Ending:
        record, desk = self._record, self._desk
        late = await self._look(0)
        if late.kind is not Kind.WINDOW_OVER:
            return late  # the effect came while the composer was waited for
        until = min(self._order.verify, desk.clock.now() + desk.settings.verify_ms)
        try:
            async with self._target.line() as line:
                await put(line, ENTER, self._recovery_check, desk, until, record)
        except WriteRefused as refusal:
            if not self._target.facts.value.present:
                return Ending(Kind.EXITED, activity=ending.activity)
            record.withheld = refusal.reason
            return ending
        except OSError as error:
            raise Halt(Trouble.FAILED, str(error)) from error
        record.retries = 1
        return await self._look(desk.settings.verify_ms)

    def _recovery_check(self, facts: Facts) -> str | None:
        if not facts.present:
            return reasons.EXITED
        now = self._desk.clock.now()
        if now >= self._order.verify:
            return reasons.TOO_LATE
        return recovery_danger(facts.status) or composer_trouble(facts.composer, now, self._desk.settings.quiet_ms)
