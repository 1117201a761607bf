"""Submitting one text and proving it (driver): the ladder of `submission`, with its one recovery Enter.

An Enter can be swallowed. When nothing shows that the text was taken, one more Enter is pressed, and only where it can
do no harm: not while the CLI reports a dialog or a turn, not into somebody's draft, not where the profile forbids it (a
shell's prompt, where anything may be asked), never for `/compact`. A text that
still shows no sign of having been taken is in the box as far as anybody knows: it becomes unsubmitted input, so that
nothing is typed behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.clis.transcripts import is_clear_command, is_prompt
from switchboard.common.clock import FOREVER, Instant
from switchboard.common.facts import Facts
from switchboard.common.writing import Check, WriteRefused
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk, put, timed
from switchboard.delivery.evidence import composer_trouble, left_in_box, reacted, recovery_danger, unrecorded, working
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
    with target.transcript():
        try:
            if record.mode is Mode.COMPACT:
                ending = await _await_compaction(target, order, result, desk, record)
            else:
                ending = await _Verification(target, order, result, desk, record).run()
        except BaseException:
            # Also one that is given up from outside: while this host goes on, whoever types next must know.
            leave_untaken(target, order.command, record, during_turn=result.during_turn)
            raise
        record.activity = record.activity or ending.activity
        if not (order.own_entry and may_be_queued(target.facts.value, record)):
            leave_untaken(target, order.command, record, during_turn=result.during_turn)
    return ending.kind


async def _await_compaction(target: Target, order: SubmitOrder, typed: Typed, desk: Desk, record: StepRecord) -> Ending:
    assert record.enter_at is not None
    wait = CompactionWait(record.enter_at, order.verify, typed.known, typed.after_enter)
    ending = await timed(wait, target.facts, desk, record)
    record.submitted = classify(confirmed=ending.kind is Kind.DONE, activity=ending.activity)
    record.confirm_source = ending.source
    return ending


def may_be_queued(facts: Facts, record: StepRecord) -> bool:
    """A working CLI, which says nothing of what it queues, may still show in its transcript that it has the text."""
    unproven = record.withheld is not None and record.submitted is not Submitted.CONFIRMED
    return unproven and working(facts) and facts.transcript is not None


def leave_untaken(target: Target, command: str, record: StepRecord, *, during_turn: bool) -> None:
    """Looking for the text's effect has ended. In the box, as far as is known, it is unsubmitted input from here on.

    The next one must not join it. A text whose effect is still looked for is held back from here, and stays in doubt.
    """
    assert record.enter_at is not None
    if record.submitted is Submitted.CONFIRMED:
        target.settled()
        return
    facts, activity = target.facts.value, record.activity
    known = record.mode is not Mode.LEVEL
    if left_in_box(facts, command, record.enter_at, during_turn=during_turn, activity=activity, status_before=known):
        target.untaken(typed(command), record.enter_at)
    else:
        target.settled()


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
        if ending.kind is Kind.WINDOW_OVER and self._half_proven():
            ending = await self._look(self._desk.settings.verify_ms)
        attempt = 0 if ending.kind is Kind.DONE else 1
        if ending.kind is Kind.WINDOW_OVER and await self._may_recover():
            ending = await self._recover(ending)
        seen = ending.kind is Kind.DONE
        if record.mode is Mode.EDGE:
            record.submitted = classify(confirmed=seen, activity=False)
        else:
            flagged = level_confirms(self._typed.gate, attempt=attempt, seen=seen) and not self._contradicted()
            flagged = flagged and self._target.typing.flag_proves
            record.submitted = classify(confirmed=ending.source is not None or flagged, activity=ending.activity)
        record.confirm_source = ending.source
        return ending

    def _recorded(self) -> str | None:
        """The command, where a transcript that can be read must show it."""
        command = self._order.command
        return command if is_prompt(command) or self._typed.during_turn else None

    def _half_proven(self) -> bool:
        """The CLI changed its state at rest: it took the text, and on a busy machine its transcript is late."""
        enter_at = self._record.enter_at
        assert enter_at is not None
        reaction = self._record.mode is Mode.EDGE and reacted(self._target.facts.value, enter_at)
        return reaction and not self._typed.during_turn and self._contradicted()

    def _contradicted(self) -> bool:
        recorded, enter_at = self._recorded(), self._record.enter_at
        assert enter_at is not None
        return recorded is not None and unrecorded(self._target.facts.value, recorded, enter_at)

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
            recorded=self._recorded(),
            entry_proves=not self._typed.during_turn,
            rekeys=is_clear_command(order.command),
        )
        ending = await timed(wait, self._target.facts, self._desk, record)
        record.activity = record.activity or ending.activity
        return ending

    async def _may_recover(self) -> bool:
        """Wait until one bare Enter could do no harm; False, with the reason in the record, when it might.

        Without a reason where no such Enter is ever pressed: then nothing is held back that anybody could expect.
        """
        clock, settings, feed = self._desk.clock, self._desk.settings, self._target.facts
        self._record.withheld = recovery_danger(feed.value.status)
        if self._record.withheld is None and not self._target.typing.recovery_enter:
            return False
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
            if not self._target.facts.value.present or refusal.reason == reasons.OUTLIVED:
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
        if self._target.is_outlived():
            return reasons.OUTLIVED
        now = self._desk.clock.now()
        if now >= self._order.verify:
            return reasons.TOO_LATE
        return recovery_danger(facts.status) or composer_trouble(facts.composer, now, self._desk.settings.quiet_ms)
