"""Opening a session for a versioned request (driver): one that is open here, one that is closed, a new one.

Theory of operation. What was found is shown by the page; only then, and only where there is a text, is it typed. The
marker is written after everything that can be refused without a trace, immediately before the page is asked. A start
happens inside the page's own opening: it is seen in `spawned`, and what could not be seen there was not started. From
the spawn on nothing is taken back: whatever fails then leaves the session open, and the result says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from switchboard.delivery.lifecycle import Create, Guards, HostedTarget, Resume, Trouble
from switchboard.delivery.step import Readiness
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.lifecycle_port import Lifecycle
from switchboard.triggers.limiter import Reservation
from switchboard.triggers.results import Result
from switchboard.triggers.v1_cases import admission_trouble, closed_trouble, liveness_trouble
from switchboard.triggers.v1_delivery import Delivery, Pin
from switchboard.triggers.v1_resolve import open_target, remote_trouble, to_open, to_start
from switchboard.triggers.v1_results import delivery_failed
from switchboard.triggers.v1_schema import OpenNew, OpenResume
from switchboard.triggers.v1_work import Refused, Work, refuse_if


class OpenAction:
    """Shows a session under the id that was given, resuming it if it is closed."""

    def __init__(self, work: Work) -> None:
        assert isinstance(work.request, OpenResume)
        self._work = work
        self._request = work.request

    async def run(self) -> Result:
        work = self._work
        while True:
            found = await to_open(work, self._request)
            await _page_is_ready(work)
            if isinstance(found, Pin) or open_target(work.house, self._request.session_id) is None:
                break
            # While the page was awaited somebody opened it: then it is not to be resumed.
        pin = await (self._show(found) if isinstance(found, Pin) else self._resume(found))
        return await _with_text(work, pin, self._request.prompt)

    async def _show(self, pin: Pin) -> Pin:
        """Have the page show a session that is open already. Nothing is started, whatever becomes of it."""
        work = self._work
        refuse_if(pin.trouble())
        work.claim()
        work.tell("opening")
        await work.ask_page(work.house.page.reattach(self._request.session_id, pin.target, work.deadline.at))
        refuse_if(pin.trouble())
        return pin

    async def _resume(self, what: Resume) -> Pin:
        work = self._work
        session_id = self._request.session_id
        work.claim()
        # It may have been opened elsewhere while the page was awaited.
        refuse_if(liveness_trouble(await work.unless_closing(work.house.liveness.check(session_id, work.deadline.at))))
        work.go_on()
        guards = _ResumeGuards(work, what)
        target = await _opened(work, what, Guards(guards.prepare, guards.final))
        return _pinned(work, target, self._request.expected_cwd)


class NewAction:
    """Starts a session in a project. Its id is reserved only when the start is certain to be tried."""

    def __init__(self, work: Work) -> None:
        assert isinstance(work.request, OpenNew)
        self._work = work
        self._request = work.request

    async def run(self) -> Result:
        work = self._work
        project = await to_start(work, self._request)
        await _page_is_ready(work)
        reservation = work.bench.limiter.reserve(work.now())
        if reservation is None:
            raise Refused(reasons.RATE_LIMITED)
        try:
            pin = await self._create(project, reservation)
        except Refused as refused:
            if not refused.uncertain:
                reservation.refund(work.now())
            raise
        except asyncio.CancelledError:
            # The page takes the permission back, unless the process is being made already.
            if not work.in_doubt:
                reservation.refund(work.now())
            raise
        return await _with_text(work, pin, self._request.prompt)

    async def _create(self, project: str, reservation: Reservation) -> Pin:
        work = self._work
        work.go_on()
        work.session_id = work.house.new_id()
        # Nobody else knows the id yet. Once it is on the page, others may wait behind this request.
        await work.take_turn(work.session_id)
        work.claim()
        guards = _CreateGuards(work, project)
        what = Create(work.session_id, project, self._request.name)
        target = await _opened(work, what, Guards(guards.prepare, guards.final), reservation.spend)
        if not work.spawned:
            raise Refused(reasons.OPEN_FAILED, "the page answered, and nothing was started")
        return _pinned(work, target)


@dataclass(frozen=True, slots=True)
class _ResumeGuards:
    """What must still hold when a closed session is started."""

    work: Work
    what: Resume

    async def prepare(self) -> Trouble | None:
        work, session = self.work, self.what.session
        trouble = work.trouble() or remote_trouble(work.house, session.session_id)
        if trouble is None:
            trouble = liveness_trouble(await work.house.liveness.check(session.session_id, work.deadline.at))
        if trouble is None:
            trouble = closed_trouble(work.house.closed.recheck(session))
        if trouble is None:
            trouble = admission_trouble(await work.house.projects.admit_resume(session.cwd, work.deadline.at))
        return trouble

    def final(self) -> Trouble | None:
        house, session = self.work.house, self.what.session
        return (
            self.work.trouble()
            or _opened_meanwhile(house, session.session_id)
            or remote_trouble(house, session.session_id)
            or closed_trouble(house.closed.recheck(session))
            or _no_directory(house, session.cwd)
            or liveness_trouble(house.liveness.check_now(session.session_id))
            # Looking at all that may have taken a while.
            or self.work.trouble()
        )


@dataclass(frozen=True, slots=True)
class _CreateGuards:
    """What must still hold when a new session is started."""

    work: Work
    project: str

    async def prepare(self) -> Trouble | None:
        work = self.work
        return work.trouble() or admission_trouble(
            await work.house.projects.admit(self.project, self.project, work.deadline.at)
        )

    def final(self) -> Trouble | None:
        return self.work.trouble() or _no_directory(self.work.house, self.project)


def _opened_meanwhile(house: Lifecycle, session_id: str) -> Trouble | None:
    if open_target(house, session_id) is None:
        return None
    return reasons.OPEN_FAILED, "the session was opened by somebody else meanwhile"


def _no_directory(house: Lifecycle, path: str) -> Trouble | None:
    return None if house.is_directory(path) else (reasons.NO_DIRECTORY, None)


async def _page_is_ready(work: Work) -> None:
    await work.ask_page(work.house.page.ready(work.deadline.at))
    work.go_on()


async def _opened(
    work: Work, what: Resume | Create, guards: Guards, on_spawn: Callable[[], None] = lambda: None
) -> HostedTarget:
    """Have the page open it; return the session, which is the one that was started, if any was.

    From the last guard's consent on a process is being made: giving up then leaves open whether there is one.
    """
    started: list[HostedTarget] = []

    def final() -> Trouble | None:
        trouble = guards.final()
        work.in_doubt = trouble is None
        return trouble

    def spawned(target: HostedTarget) -> None:
        work.in_doubt = False
        started.append(target)
        on_spawn()
        work.note_spawned()

    work.tell("opening")
    try:
        target = await work.ask_page(
            work.house.page.open(what, Guards(guards.prepare, final), spawned, work.deadline.at)
        )
    except Refused as refused:
        # The page knows better, unless it was not let finish.
        work.in_doubt = refused.uncertain and not started
        if started and refused.reason in (reasons.TARGET_CHANGED, reasons.OPEN_FAILED):
            _not_ended(started[0])
        raise
    work.in_doubt = False
    if started and started[0] is not target:
        raise Refused(reasons.TARGET_CHANGED, "the page shows another session than the one that was started")
    return target


def _pinned(work: Work, target: HostedTarget, expected_cwd: str | None = None) -> Pin:
    pin = Pin(work.house.sessions, target, expected_cwd)
    _not_ended(target)
    refuse_if(pin.trouble())
    return pin


def _not_ended(target: HostedTarget) -> None:
    """Raise the one reason that a start has which ends at once, whoever is the first to see it: page, pin or delivery.

    Somebody who opens the same conversation again meanwhile changes nothing about that.
    """
    if not target.facts.value.present:
        raise Refused(reasons.EXITED, "it ended right after it was started; what it printed last may say why")


async def _with_text(work: Work, pin: Pin, text: str | None) -> Result:
    """Type the text, if there is one, and return the result of the whole."""
    if text is None:
        return work.succeeded()
    delivery = Delivery(work, pin, text)
    typed = await delivery.run(Readiness.STARTUP if work.spawned else Readiness.IDLE)
    if typed.failed:
        return delivery_failed(work.subject, work.effects(), delivery.detail)
    return work.succeeded()
