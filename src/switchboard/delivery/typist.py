"""Typing one text and pressing its Enter (driver).

The text goes out in the writes its profile asks for, then, after the profile's pause, Enter as a write of its own: an
Enter that arrives together with text is read as a line break. Before each write the moment is judged again. What must
never happen is an Enter that answers a dialog, so when one opens between text and Enter, the Enter waits for its end
and, if that does not come in time, is withheld; then the text stays in the composer and counts as unsubmitted input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from switchboard.common.clock import FOREVER, Instant
from switchboard.common.facts import CompactBoundary, ComposerView, Facts
from switchboard.common.writing import Check, WriteRefused
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk, follow, put
from switchboard.delivery.evidence import dialog_name, dialog_open, shows_itself, usable_status, working
from switchboard.delivery.keystrokes import ENTER, chunks, typed
from switchboard.delivery.port import Line, Target
from switchboard.delivery.reactions import GapWait, Mode, Pulse
from switchboard.delivery.record import Halt, StepRecord, Trouble
from switchboard.delivery.submission import LevelGate, Submitted, choose_mode
from switchboard.delivery.waits import Kind, NoDialogWait

SLEPT_MS = 10_000
"""An Enter that comes later than this after it was due is not pressed although its text is out: the machine slept, or
the host was stopped, and what the terminal shows now is not what was looked at then."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Until when what may be written.

    `text`: the first byte. `hold`: how long a dialog may keep the rest waiting; None means one verification window.
    `strict`: nothing at all may be written at or after `text`, the Enter included.
    """

    text: Instant
    hold: Instant | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Typed:
    """What is needed to judge a submission. `known`: the compaction boundaries before the text, None: unreadable.

    `during_turn`: the CLI reported itself working before the text or at the Enter.
    """

    gate: LevelGate
    after_enter: Pulse
    known: frozenset[CompactBoundary] | None
    during_turn: bool


class Typist:
    """Types one command into one line. Used once."""

    def __init__(self, target: Target, line: Line, desk: Desk, record: StepRecord, limits: Limits) -> None:
        self._target = target
        self._line = line
        self._desk = desk
        self._record = record
        self._limits = limits
        self._hold_until: Instant = FOREVER
        self._latest: Instant = FOREVER
        self._pieces = 0
        """Of the text, how many the terminal has not taken yet."""
        self._released: ComposerView | None = None
        """The composer right after people's keystrokes were let through, our own text included."""

    async def type(self, command: str, permit: Check) -> Typed:
        """Write the text and its Enter. `permit` is asked for the first byte.

        Raises `WriteRefused` when the first byte was not permitted (nothing is written then), `Halt` when the text is
        left in the composer or the terminal failed.
        """
        feed, record = self._target.facts, self._record
        before = feed.value
        record.mode = choose_mode(command, before)
        known = None
        if record.mode is Mode.COMPACT and before.transcript is not None:
            known = frozenset(boundary for boundary in before.transcript.boundaries if boundary.manual)
        between = Pulse(before.busy_changed_at)
        await self._text(command, permit, between)
        set_delay = self._desk.settings.enter_delay_ms
        await self._pause(self._target.typing.enter_delay_ms if set_delay is None else set_delay, between)
        after_enter = await self._enter(command, between)
        gate = LevelGate(before.busy, between.seen, feed.value.composer)
        return Typed(gate, after_enter, known, during_turn=working(before) or working(feed.value))

    async def _text(self, command: str, permit: Check, between: Pulse) -> None:
        typing = self._target.typing
        first, *rest = chunks(command, typing)
        self._pieces = 1 + len(rest)
        try:
            await put(self._line, first, permit, self._desk, self._limits.text, self._record, self._piece_out)
        except WriteRefused as refusal:
            if not refusal.partial:
                raise
            raise self._cut_short(refusal.reason) from refusal
        except OSError as error:
            raise Halt(Trouble.FAILED, str(error)) from error
        self._set_limits(typing.enter_delay_ms)
        for piece in rest:
            await self._pause(typing.chunk_gap_ms, between)
            await self._put_held(piece, self._cut_short, out=self._piece_out)
            self._set_limits(typing.enter_delay_ms)

    def _piece_out(self) -> None:
        self._pieces -= 1
        self._record.text_written = self._pieces == 0

    def _set_limits(self, delay_ms: int) -> None:
        """Text is out as of now: say how long its rest and its Enter may take."""
        now, limits = self._desk.clock.now(), self._limits
        window_end = now + delay_ms + self._desk.settings.verify_ms
        self._hold_until = window_end if limits.hold is None else limits.hold
        if limits.strict:
            self._hold_until = min(self._hold_until, limits.text)
            self._latest = limits.text
        else:
            self._latest = max(self._hold_until, now + delay_ms + SLEPT_MS)

    async def _enter(self, command: str, between: Pulse) -> Pulse:
        """Press Enter, and return what will tell whether the busy flag rose after it."""
        record, feed = self._record, self._target.facts
        after = Pulse(0)

        def mark() -> None:
            between.look(feed.value)
            record.enter_at = self._desk.clock.now()
            after.mark = feed.value.busy_changed_at
            if shows_itself(command):
                self._target.unproven(typed(command), record.enter_at)

        await self._put_held(ENTER, self._withheld, mark)
        record.enter_written = True
        record.submitted = Submitted.ASSUMED
        return after

    async def _put_held(
        self,
        data: bytes,
        left: Callable[[str], Halt],
        before: Callable[[], None] = lambda: None,
        out: Callable[[], None] = lambda: None,
    ) -> None:
        """Write what follows the first byte, after any dialog has closed. `left` makes the `Halt` of a refusal."""
        while True:
            await self._no_dialog(left)
            before()
            try:
                await put(self._line, data, self._check, self._desk, self._latest, self._record, out)
            except WriteRefused as refusal:
                if refusal.reason == reasons.DIALOG_BEFORE_ENTER and not refusal.partial:
                    continue  # it opened while the write waited for room
                raise left(refusal.reason) from refusal
            except OSError as error:
                raise Halt(Trouble.FAILED, str(error)) from error
            else:
                return

    async def _no_dialog(self, left: Callable[[str], Halt]) -> None:
        feed = self._target.facts
        if dialog_open(feed.value) and self._released is None:
            # Whoever answers the dialog has to reach it.
            self._line.release()
            self._released = feed.value.composer
        try:
            ending = await follow(NoDialogWait(self._hold_until), feed, self._desk)
        except Halt:
            raise left(reasons.CLOSING) from None
        if ending.kind is Kind.EXITED:
            raise Halt(Trouble.EXITED)
        if ending.kind is Kind.TIMED_OUT:
            raise left(reasons.DIALOG_BEFORE_ENTER)

    def _check(self, facts: Facts) -> str | None:
        """Asked immediately before each write after the first byte."""
        if not facts.present:
            return reasons.EXITED
        if self._target.is_outlived():
            return reasons.OUTLIVED
        if dialog_open(facts):
            return reasons.DIALOG_BEFORE_ENTER
        if self._desk.clock.now() >= self._latest:
            return reasons.TOO_LATE
        return self._draft_trouble(facts)

    def _draft_trouble(self, facts: Facts) -> str | None:
        """Somebody's keystrokes are in the composer beside our text.

        The gate holds them back, except after a dialog took them: keys up to its end answered it and never reached
        the composer, whatever the model of it says; later ones did.
        """
        composer = facts.composer
        if self._released is None:
            if composer is None or not composer.pending:
                return None
            return reasons.composer_pending(str(composer.pending))
        if composer is None:
            return reasons.COMPOSER_UNSEEN
        if composer.last_input_at <= self._released.last_input_at:
            return None
        status = usable_status(facts)
        return None if status is not None and composer.last_input_at <= status[1] else reasons.TYPED_SINCE

    async def _pause(self, ms: int, pulse: Pulse) -> None:
        """Let time pass, closing or not: a text that is out gets its Enter."""
        if ms <= 0:
            pulse.look(self._target.facts.value)
            return
        wait = GapWait(self._desk.clock.now() + ms, pulse)
        await follow(wait, self._target.facts, self._desk, to_the_end=True)

    def _cut_short(self, why: str) -> Halt:
        if self._record.text_written:  # all of it is there, and the program has not read it
            return self._withheld(why)
        return self._left(why, reasons.text_cut_short(why))

    def _withheld(self, why: str) -> Halt:
        return self._left(why, why if why == reasons.DIALOG_BEFORE_ENTER else reasons.enter_withheld(why))

    def _left(self, why: str, reason: str) -> Halt:
        if why == reasons.CLOSING:
            return Halt(Trouble.CLOSING, reasons.CLOSING)
        if why == reasons.EXITED:
            return Halt(Trouble.EXITED)
        if why == reasons.OUTLIVED:
            return Halt(Trouble.NOT_RUNNING, why)
        return Halt(Trouble.LEFT_IN_COMPOSER, reason, dialog_name(self._target.facts.value))
