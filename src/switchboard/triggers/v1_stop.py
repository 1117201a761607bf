"""A versioned stop: a last turn first, if one is asked for, then the end of the very session that was found (driver).

Theory of operation. Ending a session cannot be undone, so it is done only from a state seen in the same moment:
the gate of `v1_stop_gate` is asked once more right before the signal, with the pin, the deadline and the host's own
closing. The last text is delivered like any other; then its turn has to be proven over, and anything less leaves the
session running, for good: nothing that comes later ends it. `closed` is said only of a process that was reaped.
"""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.common.clock import FOREVER, Instant
from switchboard.common.facts import Facts
from switchboard.delivery import reasons as delivery
from switchboard.delivery.desk import follow
from switchboard.delivery.evidence import WORKING, own_entry, usable_status
from switchboard.delivery.final_turn import FinalTurnWait
from switchboard.delivery.lifecycle import Trouble
from switchboard.delivery.reactions import Mode, Pulse
from switchboard.delivery.record import Halt
from switchboard.delivery.step import Readiness
from switchboard.delivery.submission import Submitted
from switchboard.delivery.waits import Ending, Kind, Wait
from switchboard.sessions.stop import StopError
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.lifecycle_port import Stopping
from switchboard.triggers.markers import Effect
from switchboard.triggers.results import Result
from switchboard.triggers.v1_delivery import Delivery, Pin
from switchboard.triggers.v1_resolve import to_stop
from switchboard.triggers.v1_results import note_not_finished
from switchboard.triggers.v1_schema import Stop
from switchboard.triggers.v1_stop_gate import AccountedFor, StopGate, StopRefused
from switchboard.triggers.v1_work import Refused, Work


class StopAction:
    """One stop, once its session's turn has come."""

    def __init__(self, work: Work) -> None:
        assert isinstance(work.request, Stop)
        self._work = work
        self._request = work.request

    async def run(self) -> Result:
        """Stop the session, and return the result. Raises `Refused`."""
        work, before = self._work, self._request.before
        pin = await to_stop(work, self._request)
        await work.ask_page(work.house.page.ready(work.deadline.at))
        work.go_on()
        accounted = None
        if before is not None:
            note = Note(work, pin, before)
            unfinished = await note.run()
            if unfinished is not None:
                return unfinished
            accounted = note.accounted
        await self._end(pin, accounted)
        return work.succeeded()

    async def _end(self, pin: Pin, accounted: AccountedFor | None) -> None:
        """Wait for the moment, send the signal, and return once the process was reaped. Raises `Refused`."""
        work, settings, target = self._work, self._work.desk.settings, pin.target
        gate = StopGate(work.deadline.at, settings.quiet_ms, settings.settle_ms, accounted)
        guarded = _Pinned(gate, pin, noted=self._request.before is not None)
        last = None
        while last is None:
            if (await self._wait(guarded, pin)).kind is Kind.EXITED:
                return  # it has ended by itself, which is what was asked for
            if not work.claimed:
                work.claim()
            work.go_on()
            # Nothing is awaited from here to the signal. None: somebody has typed, and the quiet is waited for anew.
            last = guarded.observe(pin.facts.value, work.now())
        if last.kind is Kind.EXITED:
            return
        _refuse(last)
        work.in_doubt = True
        try:
            stopping = work.house.sessions.request_stop(target, work.deadline.at)
        except StopError as error:
            work.in_doubt = False
            raise Refused(reasons.STOP_FAILED, error=str(error)) from error
        work.note(Effect.STOP_REQUESTED)
        work.tell("stopping")
        await self._see_it_end(stopping)

    async def _see_it_end(self, stopping: Stopping) -> None:
        try:
            ended = await self._work.unless_closing(stopping.finished())
        except StopError as error:
            raise Refused(reasons.STOP_NOT_CONFIRMED, error=str(error), uncertain=True) from error
        if not ended:
            raise Refused(reasons.STOP_NOT_CONFIRMED, "it was asked to end and still runs", uncertain=True)

    async def _wait(self, wait: Wait, pin: Pin) -> Ending:
        work = self._work
        try:
            ending = await follow(wait, pin.facts, work.desk)
        except Halt as halt:
            raise Refused(reasons.CLOSING, uncertain=work.in_doubt) from halt
        _refuse(ending)
        return ending


class Note:
    """The last text before a stop, and its turn. `accounted`: what its CLI reported when the turn was over."""

    def __init__(self, work: Work, pin: Pin, text: str) -> None:
        self._work = work
        self._target = pin.target
        self._text = text
        self._delivery = Delivery(work, pin, text)
        self._pin = pin
        self.accounted: AccountedFor | None = None

    async def run(self) -> Result | None:
        """Deliver the text and wait until its turn is proven over: None, or the result that says what is missing."""
        with self._target.transcript():
            typed = await self._delivery.run(Readiness.IDLE)
            if typed.reason == reasons.MARKER_NOT_SAVED:
                raise Refused(typed.reason, error=self._delivery.detail)
            if typed.reason == reasons.CLOSING:
                raise Refused(typed.reason, self._delivery.detail, uncertain=typed.enter_written)
            if typed.failed:
                return self._unfinished(self._delivery.detail)
            try:
                ending = await follow(self._final_turn(), self._pin.facts, self._work.desk)
            except Halt as halt:
                raise Refused(reasons.CLOSING, uncertain=True) from halt
            if ending.kind is not Kind.DONE:
                return self._unfinished(_why(ending))
            self._finished(ending, self._pin.facts.value)
        return None

    def _final_turn(self) -> Wait:
        record, settings, facts = self._delivery.record, self._work.desk.settings, self._pin.facts.value
        assert record.enter_at is not None
        wait = FinalTurnWait(
            record.enter_at,
            self._text,
            record.submitted is Submitted.CONFIRMED,
            self._work.deadline.at,
            settings.settle_ms,
            settings.transcript_quiet_ms,
            # Whoever saw the flag rise while the Enter was proven need not see it again.
            Pulse(facts.busy_changed_at, record.activity and record.mode is not Mode.EDGE),
        )
        return _Pinned(wait, self._pin, noted=True)

    def _finished(self, ending: Ending, facts: Facts) -> None:
        record = self._delivery.record
        assert record.enter_at is not None
        record.activity = True
        if record.submitted is not Submitted.CONFIRMED:
            shown = own_entry(facts, self._text, record.enter_at) is not None
            source = "transcript" if shown else ending.source
            if source != "busy_flag":
                record.submitted, record.confirm_source = Submitted.CONFIRMED, source
            else:
                record.submitted = Submitted.ACTIVITY
        self._delivery.idle_source = ending.source
        self._work.note(Effect.NOTE_FINISHED, record.submitted)
        held = facts.status is not None and facts.status.status in WORKING
        # A CLI that had no status when the text was typed has none to lose. One that had shown it is not accounted for.
        silent = usable_status(facts) is None and record.ready_source is None
        if ending.source != "descriptor" and (held or silent):
            self.accounted = AccountedFor(facts.status, facts.busy_changed_at)

    def _unfinished(self, detail: str | None) -> Result:
        return note_not_finished(self._work.subject, self._work.effects(), detail)


@dataclass(slots=True)
class _Pinned:
    """A wait for a session that must stay the one that was found: at each look that is asked first.

    `noted`: a last text was asked for. Without one, a session whose owner is no longer proven has no state to go by.
    One that has ended is only then another one when somebody has opened it again.
    """

    wait: Wait
    pin: Pin
    noted: bool
    due: Instant = FOREVER

    def observe(self, facts: Facts, now: int) -> Ending | None:
        trouble = self._trouble(facts)
        if trouble is not None:
            reason, detail = trouble
            return StopRefused(Kind.TIMED_OUT, reason=reason, detail=detail)
        # As of the look that was just made.
        ending = self.wait.observe(self.pin.facts.value, now)
        self.due = self.wait.due
        if ending is not None and ending.kind is Kind.DONE and self.pin.proven is not None and self.pin.proven.writing:
            self.due = FOREVER  # what it goes by is half-written; the next sample tells whether it still holds
            return None
        return ending

    def _trouble(self, facts: Facts) -> Trouble | None:
        pin = self.pin
        if not facts.present:
            return (reasons.TARGET_CHANGED, "it has ended, and was opened again") if pin.replaced() else None
        trouble = pin.unowned(writing=True)
        if trouble is None or self.noted:
            return trouble
        reason, detail = trouble
        if reason in (reasons.WRITER_CHANGED, reasons.READINESS_UNAVAILABLE):
            return reasons.STATE_UNAVAILABLE, detail
        if reason == reasons.TARGET_CHANGED and pin.in_place():
            return reasons.STATE_UNAVAILABLE, detail
        return trouble


def _refuse(ending: Ending) -> None:
    if isinstance(ending, StopRefused):
        assert ending.reason is not None
        raise Refused(ending.reason, ending.detail)


def _why(ending: Ending) -> str | None:
    """What a person may want to know of a turn that was not seen to end."""
    if isinstance(ending, StopRefused):
        return ending.reason if ending.detail is None else f"{ending.reason}: {ending.detail}"
    if ending.kind is Kind.EXITED:
        return delivery.EXITED
    if ending.dialog:
        return delivery.DIALOG_DURING_TURN
    return "the turn of the text was not seen to end before the deadline"
