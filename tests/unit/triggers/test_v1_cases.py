"""What was found out, as the contract's reasons."""

from __future__ import annotations

import pytest

from switchboard.clis.closed_sessions import (
    AmbiguousTranscript,
    ClosedOutcome,
    ClosedSession,
    CwdUnavailable,
    NoReadableTranscript,
    SessionNotFound,
)
from switchboard.clis.liveness import (
    Background,
    LiveElsewhere,
    Liveness,
    NotLive,
    Scheduled,
    ScheduledRun,
    Unknown,
    Where,
)
from switchboard.clis.projects import (
    Admission,
    Admitted,
    NoDirectory,
    Project,
    ProjectHidden,
    ProjectMark,
    SnapshotUnavailable,
    UnknownProject,
)
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.v1_cases import (
    admission_trouble,
    closed_trouble,
    cwd_trouble,
    liveness_trouble,
    target_trouble,
    unopened_trouble,
)

WHERE = Where(77, "/w", 1, "/s/77.json")
SESSION = ClosedSession("s", "claude", "/t", (1, 2), "/w")


@pytest.mark.parametrize(
    ("answer", "reason", "detail"),
    [
        (NotLive(), None, ""),
        (LiveElsewhere(WHERE), "session live elsewhere", "process 77"),
        (Background("j7", WHERE), "background session is not supported", "job j7"),
        (Background("", WHERE), "background session is not supported", "job 77"),
        (Scheduled(ScheduledRun("s", 9, "/p", 1)), "scheduled session is not supported", "process 9"),
        (Unknown("/s/77.json: unclear"), "session liveness unavailable", "/s/77.json: unclear"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_liveness(answer: Liveness, reason: str | None, detail: str) -> None:
    trouble = liveness_trouble(answer)
    if reason is None:
        assert trouble is None
    else:
        assert trouble is not None
        assert trouble[0] == reason
        assert detail in (trouble[1] or "")


@pytest.mark.parametrize(
    ("outcome", "reason", "stop"),
    [
        (SESSION, None, "session not open here"),
        (SessionNotFound(), "session not found", "session not found"),
        (NoReadableTranscript("why"), "no readable transcript", "session not open here"),
        (AmbiguousTranscript("why"), "ambiguous session transcript", "session not open here"),
        (CwdUnavailable("why"), "session cwd unavailable", "session not open here"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_session_that_is_not_open(outcome: ClosedOutcome, reason: str | None, stop: str) -> None:
    trouble = closed_trouble(outcome)
    assert (None if trouble is None else trouble[0]) == reason
    if reason not in (None, reasons.NOT_FOUND):
        assert trouble == (reason, "why")
    assert unopened_trouble(outcome) == (stop, None)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Admitted(Project("/p")), None),
        *(
            (ProjectHidden(ProjectMark("/p", hidden_at=1, hidden_kind=kind)), reasons.ARCHIVED)
            for kind in ("archive", "delete", None)
        ),
    ],
)
def test_a_project_that_was_taken_off_the_list(answer: Admission, reason: str | None) -> None:
    trouble = admission_trouble(answer)
    assert (None if trouble is None else trouble[0]) == reason


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (UnknownProject(), ("unknown project", None)),
        (NoDirectory(), ("project directory does not exist", None)),
        (SnapshotUnavailable("why"), ("project lookup unavailable", "why")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_project_that_cannot_be_used(answer: Admission, trouble: tuple[str, str | None]) -> None:
    assert admission_trouble(answer) == trouble


@pytest.mark.parametrize(
    ("expected", "actual", "reason"),
    [
        (None, None, None),
        (None, "/w", None),
        ("/w", "/w", None),
        ("/w/", "/w", None),
        ("//w/x/..", "/w", None),
        ("/w", "/W", reasons.CWD_DIFFERS),
        ("/w", "/w/x", reasons.CWD_DIFFERS),
        ("/w", None, reasons.CWD_UNKNOWN),
    ],
)
def test_the_directory_that_the_caller_expects(expected: str | None, actual: str | None, reason: str | None) -> None:
    trouble = cwd_trouble(expected, actual)
    assert (None if trouble is None else trouble[0]) == reason


def test_which_open_sessions_an_action_may_work_with() -> None:
    assert target_trouble("agent", None) is None
    assert (target_trouble("agent", "j") or ("",))[0] == reasons.BACKGROUND
    assert (target_trouble("attach", None) or ("",))[0] == reasons.BACKGROUND
    assert (target_trouble("shell", None) or ("",))[0] == reasons.PLAIN_TERMINAL
