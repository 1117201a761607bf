"""What is wrong with a session, a project or a directory, as the contract's reasons (pure).

Each function takes what somebody else found out and returns None, when nothing is wrong with it, or the reason and a
detail for a person. In which order they are asked is the resolver's part.
"""

from __future__ import annotations

from typing import Literal, assert_never

from switchboard.clis.closed_sessions import (
    AmbiguousTranscript,
    ClosedOutcome,
    ClosedSession,
    CwdUnavailable,
    NoReadableTranscript,
    SessionNotFound,
)
from switchboard.clis.liveness import Background, LiveElsewhere, Liveness, NotLive, Scheduled, Unknown
from switchboard.clis.projects import (
    Admission,
    Admitted,
    NoDirectory,
    ProjectHidden,
    SnapshotUnavailable,
    UnknownProject,
)
from switchboard.delivery.lifecycle import Trouble
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.target_guard import same_directory


def target_trouble(kind: Literal["agent", "shell", "attach"], background_job: str | None) -> Trouble | None:
    """Why an open session is none that an action may work with.

    `background_job`: the live job that owns its conversation by now, which a terminal can outlive.
    """
    if kind == "attach":
        return reasons.BACKGROUND, "this terminal is attached to a background job"
    if background_job is not None:
        return reasons.BACKGROUND, f"background job {background_job} has it"
    if kind == "shell":
        return reasons.PLAIN_TERMINAL, None
    return None


def liveness_trouble(answer: Liveness) -> Trouble | None:
    """Why a session that is not open here may not be opened."""
    match answer:
        case NotLive():
            return None
        case LiveElsewhere(where):
            return reasons.LIVE_ELSEWHERE, f"process {where.pid} has it open ({where.path})"
        case Background(job, where):
            return reasons.BACKGROUND, f"background job {job or where.pid} has it ({where.path})"
        case Scheduled(run):
            return reasons.SCHEDULED, f"a scheduled run of it goes on in process {run.pid}"
        case Unknown(detail):
            return reasons.LIVENESS_UNAVAILABLE, detail
        case _:
            assert_never(answer)


def closed_trouble(outcome: ClosedOutcome) -> Trouble | None:
    """Why a session that is not open cannot be resumed."""
    match outcome:
        case ClosedSession():
            return None
        case SessionNotFound():
            return reasons.NOT_FOUND, None
        case NoReadableTranscript(detail):
            return reasons.NO_TRANSCRIPT, detail
        case AmbiguousTranscript(detail):
            return reasons.AMBIGUOUS_TRANSCRIPT, detail
        case CwdUnavailable(detail):
            return reasons.CWD_UNAVAILABLE, detail
        case _:
            assert_never(outcome)


def unopened_trouble(outcome: ClosedOutcome) -> Trouble:
    """Why a session that is not open cannot be stopped: it is closed, or nobody has heard of it."""
    return (reasons.NOT_FOUND if isinstance(outcome, SessionNotFound) else reasons.NOT_OPEN), None


def admission_trouble(answer: Admission) -> Trouble | None:
    """Why no session may be opened in a project."""
    match answer:
        case Admitted():
            return None
        case ProjectHidden(mark):
            return reasons.ARCHIVED, f"{mark.path} was taken off the list of projects; add it again to use it"
        case UnknownProject():
            return reasons.UNKNOWN_PROJECT, None
        case NoDirectory():
            return reasons.NO_DIRECTORY, None
        case SnapshotUnavailable(detail):
            return reasons.PROJECTS_UNAVAILABLE, detail
        case _:
            assert_never(answer)


def cwd_trouble(expected: str | None, actual: str | None) -> Trouble | None:
    """Why a session's directory is not the one that the caller expects; None expected: any will do."""
    if expected is None:
        return None
    if actual is None:
        return reasons.CWD_UNKNOWN, None
    if not same_directory(expected, actual):
        return reasons.CWD_DIFFERS, f"it is {actual}"
    return None
