"""Finds what a versioned request means (driver): an open session, a closed one, a project; or the reason why not.

The order is the contract's, and decides what a caller is told: a session that is open here first, then one that another
machine lists, then one that is live elsewhere, then its transcript, its project, its directory. So an id that nobody
knows is `session not found`, whoever else could not be asked. Nothing is begun here.
"""

from __future__ import annotations

from collections.abc import Collection

from switchboard.clis.closed_sessions import ClosedSession
from switchboard.clis.projects import Admitted
from switchboard.delivery.lifecycle import HostedTarget, Resume, Trouble
from switchboard.store.sqlite import StoreError
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.lifecycle_port import Lifecycle
from switchboard.triggers.v1_cases import (
    admission_trouble,
    closed_trouble,
    cwd_trouble,
    liveness_trouble,
    target_trouble,
    unopened_trouble,
)
from switchboard.triggers.v1_delivery import Pin
from switchboard.triggers.v1_schema import OpenNew, OpenResume, Stop
from switchboard.triggers.v1_work import Refused, Work, refuse_if


async def to_open(work: Work, request: OpenResume) -> Pin | Resume:
    """Return the open session, pinned, or the closed one that can be resumed. Raises `Refused`."""
    pin = await _open_here(work, request)
    if pin is not None:
        return pin
    closed = await closed_session(work, request.session_id)
    answer = await work.unless_closing(work.house.projects.admit_resume(closed.cwd, work.deadline.at))
    _in_time(work, admission_trouble(answer))
    refuse_if(cwd_trouble(request.expected_cwd, closed.cwd))
    assert isinstance(answer, Admitted)
    return Resume(closed, answer.project.path)


async def to_start(work: Work, request: OpenNew) -> str:
    """Return the path of the project that a new session can be started in. Raises `Refused`."""
    answer = await work.unless_closing(work.house.projects.admit(request.project, request.project, work.deadline.at))
    _in_time(work, admission_trouble(answer))
    assert isinstance(answer, Admitted)
    return answer.project.path


async def to_stop(work: Work, request: Stop) -> Pin:
    """Return the open session that is to be stopped, pinned. Raises `Refused`."""
    pin = await _open_here(work, request)
    if pin is not None:
        return pin
    await not_elsewhere(work, request.session_id)
    outcome = await work.unless_closing(work.house.closed.resolve(request.session_id, work.deadline.at))
    _in_time(work, unopened_trouble(outcome))
    raise AssertionError("a session that is not open is refused")


def open_target(house: Lifecycle, session_id: str) -> HostedTarget | None:
    """Return the session that is open here under this id, or one that had it before; one that ended is not open."""
    target = house.sessions.find(session_id)
    return target if target is not None and target.facts.value.present else None


async def _open_here(work: Work, request: OpenResume | Stop) -> Pin | None:
    sessions = work.house.sessions
    target = open_target(work.house, request.session_id)
    if target is not None and target.key != request.session_id:
        # It went on under another id (`/clear`). That it had this one is no proof that nobody else has it by now.
        await not_elsewhere(work, request.session_id, target.processes)
        target = open_target(work.house, request.session_id)
    if target is None:
        return None
    refuse_if(target_trouble(target.kind, sessions.background_job(request.session_id)))
    if not target.is_alive():
        raise Refused(reasons.NOT_RUNNING)
    refuse_if(cwd_trouble(request.expected_cwd, target.cwd))
    pin = Pin(sessions, target, request.expected_cwd)
    left_over = pin.left_over()
    # Ending a session without a last text asks for its state, and has its own word where there is none to be had.
    if left_over is not None and not (isinstance(request, Stop) and request.before is None):
        raise Refused(reasons.NOT_RUNNING, left_over)
    return pin


async def closed_session(work: Work, session_id: str) -> ClosedSession:
    """Return a session that is provably open nowhere and can be resumed. Raises `Refused`."""
    await not_elsewhere(work, session_id)
    outcome = await work.unless_closing(work.house.closed.resolve(session_id, work.deadline.at))
    _in_time(work, closed_trouble(outcome))
    assert isinstance(outcome, ClosedSession)
    return outcome


async def not_elsewhere(work: Work, session_id: str, own: Collection[tuple[int, str]] = ()) -> None:
    """Return when neither another machine nor another process here has the session. Raises `Refused`.

    `own`: (number, start) of the processes of a terminal here that had it, and are not elsewhere.
    """
    if not own:
        refuse_if(remote_trouble(work.house, session_id))
    answer = await work.unless_closing(work.house.liveness.check(session_id, work.deadline.at, own))
    # What is known is said, and that it could not be known in time has a reason of its own: both before the deadline's.
    refuse_if(liveness_trouble(answer))
    work.go_on()


def remote_trouble(house: Lifecycle, session_id: str) -> Trouble | None:
    """Why a session that is not open here may be another machine's."""
    try:
        return (reasons.REMOTE, None) if house.sessions.remote(session_id) else None
    except StoreError as error:
        return reasons.LIVENESS_UNAVAILABLE, str(error)


def _in_time(work: Work, trouble: Trouble | None) -> None:
    """Raise what was found; a look that was cut short by the deadline has found nothing."""
    work.go_on()
    refuse_if(trouble)
