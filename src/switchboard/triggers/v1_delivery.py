"""A text on its way into the session that was found for a versioned request (driver).

The delivery is everybody's; what is added here stands between it and the terminal. Every real write asks once more
whether this is still the session that was found: the same object under its key, its conversation owned by the same
process, in the directory that the caller expects. The marker is written at its moments: before the first byte, after
the text, after the Enter. And the action's deadline bounds everything, so that nothing is written at or after it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

from switchboard.clis.transcripts import is_compact_command
from switchboard.common.clock import Clock, Instant
from switchboard.common.facts import Facts, Typing
from switchboard.common.feed import Feed
from switchboard.common.writing import Check
from switchboard.delivery import reasons as delivery
from switchboard.delivery.evidence import usable_status
from switchboard.delivery.keystrokes import ENTER, PASTE_END, PASTE_START, typed
from switchboard.delivery.lifecycle import HostedTarget, Trouble
from switchboard.delivery.port import Line
from switchboard.delivery.reactions import Mode
from switchboard.delivery.record import Halt, StepRecord
from switchboard.delivery.record import Trouble as Cause
from switchboard.delivery.step import Readiness, StepOrder, deliver_step
from switchboard.delivery.waits import NEVER, Kind
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.legacy_single import ERRORS, await_idle
from switchboard.triggers.lifecycle_port import HostedSessions
from switchboard.triggers.markers import Effect
from switchboard.triggers.v1_cases import cwd_trouble
from switchboard.triggers.v1_proof import ProvenFeed
from switchboard.triggers.v1_results import Evidence, evidence
from switchboard.triggers.v1_work import Work


class Pin:
    """A session as it was found. `target` is the object; a replacement is another one.

    Its id may change (`/clear`), and the process that owns its conversation may still have to show itself: the first
    one seen is the one. `facts`: what is known of it, as far as an action may go by it.
    """

    def __init__(self, sessions: HostedSessions, target: HostedTarget, expected_cwd: str | None = None) -> None:
        self.target = target
        self._sessions = sessions
        self._generation = target.generation
        self._expected_cwd = expected_cwd
        self._writer = target.writer
        proof = sessions.proof(target)
        self.proven = None if proof is None else ProvenFeed(target.facts, proof)
        """The facts of one that is sandboxed."""
        self.facts: Feed[Facts] = self.proven or target.facts

    def trouble(self) -> Trouble | None:
        """Why it is not that session any more; None while it is. One whose process was reaped is not."""
        target = self.target
        if not self._sessions.holds(target, target.key, self._generation):
            return reasons.TARGET_CHANGED, self.left_over()
        writer = target.writer
        if self._writer is None:
            self._writer = writer
        if writer is not None and writer != self._writer:
            return reasons.WRITER_CHANGED, f"process {writer[0]} owns the conversation now"
        return cwd_trouble(self._expected_cwd, target.cwd)

    def unowned(self, *, thorough: bool = True, writing: bool = False) -> Trouble | None:
        """Why nothing may be written to it or asked of it: as `trouble`, and where it is sandboxed, its owner's proof.

        That is looked for now. `writing`: for once it may be missing because the descriptor is half-written.
        """
        proven = self.proven
        why = None if proven is None else proven.unproven(thorough=thorough)
        trouble = self.trouble()
        if trouble is not None or why is None or proven is None or (writing and proven.writing):
            return trouble
        return reasons.WRITER_CHANGED if proven.was_proven else reasons.READINESS_UNAVAILABLE, why

    async def written_out(self, clock: Clock, until: Instant) -> None:
        """Return once what its CLI publishes is not half-written, which takes microseconds as a rule."""
        proven = self.proven
        while proven is not None and proven.unproven(thorough=False) and proven.writing and clock.now() < until:
            await proven.changed(proven.value, clock, until)

    def in_place(self) -> bool:
        """Whether the terminal itself is the one that was found, whoever owns the conversation in it."""
        target = self.target
        return self._sessions.find(target.key) is target and target.generation == self._generation

    def left_over(self) -> str | None:
        """What to say of a terminal that has outlived its CLI, None when it has not.

        The shell that a CLI was started through may go on, and would carry out what is meant for the CLI. The session
        counts as open for as long: a second one of that id would not be told from it.
        """
        target = self.target
        if not self.in_place() or self._sessions.holds(target, target.key, self._generation):
            return None
        owner = "its CLI" if target.writer is None else f"its CLI (process {target.writer[0]})"
        return (
            f"{owner} has ended, and what it was started through still has the terminal; end that with Stop on a page, "
            "then open the session again"
        )

    def replaced(self) -> bool:
        """Whether another terminal has the session now."""
        return self._sessions.find(self.target.key) not in (None, self.target)


class Delivery:
    """One text for one request. `record` is true at any moment; `idle_source`: what showed that its turn has ended.

    `detail`: what a person may want to know beside the reason.
    """

    def __init__(self, work: Work, pin: Pin, text: str) -> None:
        self.record = StepRecord()
        self.idle_source: str | None = None
        self.detail: str | None = None
        self._work = work
        self._pin = pin
        self._text = text
        self._sent_at: int | None = None
        self._dialog: str | None = None
        self._failure: tuple[str | None, str | None] = (None, None)
        """`error` and `reason`."""
        self._timed_out = False
        self._refusal: Trouble | None = None
        """What a write was refused with between the delivery and its terminal."""
        work.evidence = self.evidence

    def evidence(self) -> Evidence:
        """What has become of the text by now."""
        if self._sent_at is None and self._failure == (None, None):
            return Evidence()
        error, reason = self._failure
        return evidence(
            self.record,
            sent_at=self._sent_at,
            timed_out=self._timed_out,
            idle_source=self.idle_source,
            dialog=self._dialog,
            error=error,
            reason=reason,
        )

    async def run(self, readiness: Readiness) -> Evidence:
        """Wait until the session is ready, type the text, and look for its effect. The marker stands already.

        `Readiness.STARTUP` for a session that this request has started: only what its CLI has published since counts.
        """
        startup = readiness is Readiness.STARTUP
        target = self._pin.target
        if not target.publishes:
            # Whatever it shows, nobody can tell that no approval is open, which an Enter would give.
            self._fail(delivery.NOT_SENT, reasons.READINESS_UNAVAILABLE, "its CLI does not publish its state")
            return self.evidence()
        try:
            kind = await self._deliver(readiness)
        except Halt as halt:
            self._halted(halt, startup=startup)
        else:
            self._delivered(kind)
        return self.evidence()

    async def _deliver(self, readiness: Readiness) -> Kind:
        desk, pin, deadline = self._work.desk, self._pin, self._work.deadline.at
        target = _PinnedTarget(pin, self)
        down_since = await await_idle(target, deadline, desk, self.record, delivery.IDLE_TIMEOUT)
        order = StepOrder(
            self._text,
            deadline,
            readiness,
            verify=deadline,
            # A status of the very millisecond of the launch is one of this launch.
            after=pin.target.launched_at - 1 if readiness is Readiness.STARTUP else NEVER,
            flag_down_since=down_since,
            strict=True,
            status_needed=pin.proven is not None,
        )
        with target.transcript() if is_compact_command(self._text) else nullcontext():
            return await deliver_step(target, order, desk, self.record)

    # --- how it ended ---

    def _delivered(self, kind: Kind) -> None:
        """The Enter is out, and its effect was looked for."""
        if self._refusal is not None:
            # The recovery Enter was due, and this is not the session any more that got the first one.
            self._fail(delivery.INTERRUPTED, *self._refusal)
        elif kind is Kind.DONE:
            return
        elif kind is Kind.TIMED_OUT or self._work.deadline.passed(self._work.now()):
            self._timed_out = True
        elif kind is Kind.EXITED:
            compact = self.record.mode is Mode.COMPACT
            self._fail(delivery.EXITED, delivery.EXITED_BEFORE_COMPACTION if compact else None)

    def _halted(self, halt: Halt, *, startup: bool) -> None:
        record = self.record
        self._dialog = halt.dialog
        error = ERRORS.get(halt.trouble, delivery.INTERRUPTED if record.wrote else delivery.NOT_SENT)
        if halt.trouble is Cause.FAILED:
            self._fail(delivery.write_failed(halt.reason or "unknown"), None)
            return
        broken = self._refusal
        if broken is None and halt.trouble not in (Cause.EXITED, Cause.NOT_RUNNING, Cause.CLOSING):
            broken = self._pin.unowned(writing=True)
        if broken is not None and broken[0] == reasons.READINESS_UNAVAILABLE and halt.trouble is Cause.COMPOSER:
            broken = None  # nobody was proven yet, and nobody would have been waited for: the draft came first
        if startup and not record.wrote and not self._pin.target.facts.value.present:
            self._fail(delivery.EXITED, None, halt.reason)  # it has not come up, and that has one reason
        elif broken is not None:
            reason, detail = broken
            if startup and not record.wrote and reason in (reasons.TARGET_CHANGED, reasons.WRITER_CHANGED):
                reason, detail = reasons.READINESS_UNAVAILABLE, reason if detail is None else f"{reason}: {detail}"
            self._fail(error, reason, detail)
        elif startup and self._never_started(halt):
            self._fail(error, reasons.READINESS_UNAVAILABLE, halt.reason)
        else:
            self._fail(error, halt.reason)
            self._timed_out = record.wrote and self._work.deadline.passed(self._work.now())
            if self._timed_out:
                self.detail = halt.reason

    def _never_started(self, halt: Halt) -> bool:
        """It was not ready in time, and as far as its CLI says it has not come up, or is lost again."""
        if halt.trouble is not Cause.NOT_READY or halt.reason == delivery.DIALOG_OPEN:
            return False
        status = usable_status(self._pin.facts.value)
        return status is None or status[1] < self._pin.target.launched_at

    def _fail(self, error: str, reason: str | None, detail: str | None = None) -> None:
        self._failure = (error, reason)
        self.detail = detail

    # --- between the delivery and the terminal ---

    def may_write(self) -> str | None:
        """Asked last, immediately before a real write; the first time the marker is written."""
        self._refusal = self._pin.unowned(thorough=False)
        if self._refusal is None and self._sent_at is None:
            message = self._work.attempt()
            if message is not None:
                self._refusal = reasons.MARKER_NOT_SAVED, message
            else:
                self._sent_at = self._work.now()
                self._work.tell("writing")
        return None if self._refusal is None else self._refusal[0]

    async def written_out(self) -> None:
        """Return when the CLI does not write its descriptor just now, or time is up: half of it proves nothing."""
        await self._pin.written_out(self._work.desk.clock, self._work.deadline.at)

    def wrote(self, data: bytes, so_far: bytes) -> None:
        """The terminal has all of a write. `so_far`: all that was typed, Enter excepted."""
        text = typed(self._text)
        if data != ENTER:
            if so_far in (text, PASTE_START + text + PASTE_END):
                self._work.note(Effect.TEXT_WRITTEN)
        elif not self.record.enter_written:
            self._work.note(Effect.ENTER_WRITTEN, enter_at=self.record.enter_at)


class _PinnedTarget:
    """The session as the delivery sees it: itself, except that its line asks the pin and tells of each write."""

    def __init__(self, pin: Pin, owner: Delivery) -> None:
        self._target = pin.target
        self._pin = pin
        self._owner = owner

    @property
    def key(self) -> str:
        return self._target.key

    @property
    def cwd(self) -> str | None:
        return self._target.cwd

    @property
    def typing(self) -> Typing:
        return self._target.typing

    @property
    def facts(self) -> Feed[Facts]:
        return self._pin.facts

    def is_alive(self) -> bool:
        return self._target.is_alive()

    def is_outlived(self) -> bool:
        """The pin is asked at each write, and has its own words for it."""
        return False

    @asynccontextmanager
    async def line(self) -> AsyncIterator[Line]:
        async with self._target.line() as line:
            yield _PinnedLine(line, self._pin, self._owner)

    def unproven(self, text: bytes, since: int) -> None:
        self._target.unproven(text, since)

    def settled(self) -> None:
        self._target.settled()

    def untaken(self, text: bytes, since: int) -> None:
        self._target.untaken(text, since)

    def transcript(self) -> AbstractContextManager[None]:
        return self._target.transcript()


class _PinnedLine:
    """A line whose writes go to the pinned session or nowhere."""

    def __init__(self, line: Line, pin: Pin, owner: Delivery) -> None:
        self._line = line
        self._pin = pin
        self._owner = owner
        self._typed = b""

    async def write(self, data: bytes, check: Check, out: Callable[[], None] = lambda: None) -> None:
        proven = self._pin.proven

        def permitted(facts: Facts) -> str | None:
            return check(facts if proven is None else proven.proven_now()) or self._owner.may_write()

        def all_out() -> None:
            if data != ENTER:
                self._typed += data
            self._owner.wrote(data, self._typed)
            out()

        if proven is not None:
            await self._owner.written_out()
        await self._line.write(data, permitted, all_out)

    def release(self) -> None:
        self._line.release()
