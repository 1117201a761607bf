"""One versioned request under way (driver): what its action works with, and what it has brought about so far.

The three actions share this. Whatever it is, an action goes through the same gates: it asks `go_on` before each thing
that it begins, `claim`s its marker before its first deed, notes each deed in the marker at once, and ends with a result
that is made from what is noted here, so that it can be told truthfully at any moment, also when it is broken off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from switchboard.delivery.desk import Desk
from switchboard.delivery.lifecycle import PageRefused, Trouble
from switchboard.delivery.record import Halt
from switchboard.delivery.record import Trouble as Cause
from switchboard.delivery.submission import Submitted
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.action_files import ActionMarker, MarkerNotSavedError
from switchboard.triggers.deadline import ActionDeadline
from switchboard.triggers.fifo import SessionFifo
from switchboard.triggers.lifecycle_port import Lifecycle
from switchboard.triggers.limiter import Limiter
from switchboard.triggers.markers import Effect, Marker
from switchboard.triggers.progress import Step
from switchboard.triggers.results import Result
from switchboard.triggers.say import Reporter
from switchboard.triggers.spool import Spool
from switchboard.triggers.v1_results import NOTHING_TYPED, Effects, Evidence, failed, fault, succeeded
from switchboard.triggers.v1_schema import Request, Subject, subject_of

T = TypeVar("T")


class Refused(Exception):
    """The action ends here. `reason`: one of the contract's texts; `error` and `detail`: for a person.

    `uncertain`: something may be under way or done that was not seen.
    """

    def __init__(
        self, reason: str, detail: str | None = None, *, error: str | None = None, uncertain: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.error = error
        self.uncertain = uncertain


def refuse_if(trouble: Trouble | None) -> None:
    """Raise `Refused` when there is any."""
    if trouble is not None:
        raise Refused(*trouble)


@dataclass(frozen=True, slots=True)
class Bench:
    """What all versioned requests of one watcher share."""

    house: Lifecycle
    desk: Desk
    fifo: SessionFifo
    spool: Spool
    say: Reporter
    limiter: Limiter


class _Closing:
    """Cancels what the current task awaits when the host closes.

    It is awaited in the task itself: a task of its own for each of these short waits took longer than all the rest.
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._over = False
        self._cancelled = False

    def poke(self) -> None:
        """The host closes."""
        # Not at once: it may be this very task that closes it, and what has ended by then is not to be lost.
        asyncio.get_running_loop().call_soon(self._cancel)

    def _cancel(self) -> None:
        # Whoever is being cancelled already is not disturbed at it.
        if not self._over and not self._task.cancelling():
            self._cancelled = self._task.cancel()

    @property
    def broke_off(self) -> bool:
        """Whether a cancellation is this one, and no other one came as well."""
        return self._cancelled and self._task.cancelling() == 1

    def end(self) -> None:
        """What was awaited has ended, one way or the other."""
        self._over = True
        if self._cancelled:
            self._task.uncancel()


class Work:
    """One request under way. Its deadline begins now.

    `session_id`: the target; of a new session the id that was reserved, None before. `spawned`: a process was started
    for it, seen. `in_doubt`: something was set off whose end has not been seen, so that breaking off leaves it open.
    `evidence` says what became of its text so far.
    """

    def __init__(self, request: Request, stem: str, bench: Bench, tell: Callable[[Step], None]) -> None:
        self.request = request
        self.stem = stem
        self.bench = bench
        self.desk = bench.desk
        now = bench.desk.clock.now()
        self.deadline = ActionDeadline.of(now, request.timeout_ms, bench.desk.settings.idle_timeout_ms)
        self.session_id: str | None = request.session_id
        self.spawned = False
        self.in_doubt = False
        self.evidence: Callable[[], Evidence] = lambda: NOTHING_TYPED
        self.tell = tell
        self.held = ExitStack()
        """What is given back once the result is published."""
        self._marker: ActionMarker | None = None

    @property
    def house(self) -> Lifecycle:
        return self.bench.house

    @property
    def subject(self) -> Subject:
        """What the result says of the request."""
        return subject_of(self.request)

    def now(self) -> int:
        return self.desk.clock.now()

    # --- gates ---

    def trouble(self) -> Trouble | None:
        """Why nothing may be begun any more: the host closes, or time is up. None while it may."""
        if self.desk.stop.requested:
            return reasons.CLOSING, None
        if self.deadline.passed(self.now()):
            return reasons.TIMED_OUT, None
        return None

    def go_on(self) -> None:
        """Raise `Refused` when nothing may be begun any more."""
        refuse_if(self.trouble())

    async def unless_closing(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something that may take long, and cancel it when the host closes.

        It has ended, one way or the other, when this returns or raises. Raises `Refused(CLOSING)`.
        """
        try:
            self._not_closing()
        except Refused:
            work.close()
            raise
        stop, closing = self.desk.stop, _Closing()
        stop.heard(closing)
        try:
            return await work
        except asyncio.CancelledError:
            if closing.broke_off:
                raise Refused(reasons.CLOSING, uncertain=self.in_doubt) from None
            raise
        finally:
            stop.unheard(closing)
            closing.end()

    async def ask_page(self, work: Coroutine[Any, Any, T]) -> T:
        """Await what was asked of the page, as above. What it refuses is raised as `Refused`."""
        try:
            return await self.unless_closing(work)
        except PageRefused as refusal:
            raise Refused(refusal.reason, refusal.detail, uncertain=refusal.uncertain) from refusal

    def _not_closing(self) -> None:
        if self.desk.stop.requested:
            raise Refused(reasons.CLOSING)

    async def take_turn(self, session_id: str) -> None:
        """Wait until every earlier request for the session is done, and keep its turn. Raises `Refused`."""
        try:
            ticket = await self.bench.fifo.acquire(session_id, self.desk.clock, self.deadline.at)
        except Halt as halt:
            raise Refused(reasons.CLOSING if halt.trouble is Cause.CLOSING else reasons.TIMED_OUT) from halt
        self.held.callback(ticket.release)
        self.go_on()

    # --- the marker ---

    @property
    def claimed(self) -> bool:
        """Whether the marker is written."""
        return self._marker is not None

    def claim(self) -> None:
        """Write the marker: from here on the request is never begun again. Raises `Refused`, and then it is not."""
        self.go_on()
        try:
            self._begin(self._unmarked())
        except MarkerNotSavedError as error:
            raise Refused(reasons.MARKER_NOT_SAVED, error=str(error)) from error

    def attempt(self) -> str | None:
        """The first byte of the text is about to be written: None, or the system's message why it must not be.

        Where that is the first deed of all the marker begins with it, and so leaves no doubt about the time before.
        """
        try:
            if self._marker is None:
                self._begin(self._unmarked().after(Effect.PROMPT_ATTEMPTED))
            else:
                self._marker.attempt()
        except MarkerNotSavedError as error:
            return str(error)
        return None

    def _unmarked(self) -> Marker:
        return Marker(self.stem, self.request.mode, self.session_id, self.deadline.at, self.subject.steps_total)

    def _begin(self, marker: Marker) -> None:
        self._marker = ActionMarker.begin(self.bench.spool, marker, self.bench.say)

    def note(self, effect: Effect, submitted: Submitted = Submitted.NO, enter_at: int | None = None) -> None:
        """A deed was done, and seen."""
        assert self._marker is not None
        self._marker.record(effect, submitted, enter_at)

    def note_spawned(self) -> None:
        """A process was started for this request."""
        self.spawned = True
        self.note(Effect.SPAWNED)

    # --- results ---

    def effects(self) -> Effects:
        """What the request has brought about by now."""
        return Effects(self.session_id, self.spawned, self.evidence())

    def succeeded(self) -> Result:
        return succeeded(self.subject, self.effects())

    def refused(self, refusal: Refused) -> Result:
        """The result of an action that ended in a refusal."""
        return failed(
            self.subject,
            refusal.reason,
            self.effects(),
            error=refusal.error,
            detail=refusal.detail,
            uncertain=refusal.uncertain and refusal.reason in reasons.MAYBE_UNCERTAIN,
        )

    def broken_off(self, reason: str) -> Result:
        """The result of an action that is ended from outside, at any moment."""
        uncertain = self.in_doubt or self.evidence().enter_written
        return self.refused(Refused(reason, uncertain=uncertain))

    def fault(self, message: str) -> Result:
        """The result of an action that met a fault of ours."""
        result = fault(self.subject, message, self.effects())
        if self.in_doubt:
            result["uncertain"] = True
        return result
