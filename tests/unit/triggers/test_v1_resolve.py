"""Which session, which project: every row of the contract's table that refuses before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.lifecycle import CWD, ID, OTHER, House

from switchboard.clis.closed_sessions import AmbiguousTranscript, CwdUnavailable, NoReadableTranscript
from switchboard.clis.liveness import Background, LiveElsewhere, Liveness, Scheduled, ScheduledRun, Unknown, Where
from switchboard.clis.projects import (
    Admitted,
    NoDirectory,
    Project,
    ProjectHidden,
    ProjectMark,
    SnapshotUnavailable,
)
from switchboard.delivery.lifecycle import PageRefused, Resume
from switchboard.triggers import v1_resolve
from switchboard.triggers.v1_delivery import Pin
from switchboard.triggers.v1_schema import OpenNew, OpenResume, Stop
from switchboard.triggers.v1_work import Refused, Work

WHERE = Where(77, "/w", 1, "/s/77.json")
OPEN: dict[str, Any] = {"action": "open", "sessionId": ID}
NEW: dict[str, Any] = {"action": "open", "new": {"project": CWD, "name": "n"}, "prompt": "hello"}
NOTE: dict[str, Any] = {"action": "stop", "sessionId": ID, "before": "bye"}


@dataclass(frozen=True)
class Row:
    """One row: what there is, and how it is refused."""

    name: str
    prepare: Callable[[House], object]
    reason: str
    outcome: str = "refused"
    body: dict[str, Any] | None = None


def known_but(outcome: object) -> Callable[[House], object]:
    return lambda house: house.lookup.known.update({ID: outcome})  # type: ignore[dict-item] # one of the outcomes


def closed_in(admission: object) -> Callable[[House], object]:
    def prepare(house: House) -> None:
        house.closed()
        house.projects.known[CWD] = admission  # type: ignore[assignment] # one of the admissions

    return prepare


def live(answer: object) -> Callable[[House], object]:
    def prepare(house: House) -> None:
        house.closed()
        house.liveness.answer = answer  # type: ignore[assignment] # one of the answers

    return prepare


def hidden(kind: str | None) -> ProjectHidden:
    return ProjectHidden(ProjectMark(CWD, hidden_at=1, hidden_kind=kind, archived_at=2))


def shell_here(house: House) -> None:
    house.sessions.add(ID, kind="shell")


def attached_here(house: House) -> None:
    house.sessions.add(ID, kind="attach")


def backgrounded_here(house: House) -> None:
    house.open_here()
    house.sessions.jobs[ID] = "j7"


def dead_here(house: House) -> None:
    house.open_here().alive = False


def left_over_here(house: House) -> None:
    """What its CLI was started through has outlived it."""
    house.open_here().owner_lives = False


def remote_and_unreadable(house: House) -> None:
    house.closed()
    house.sessions.store_is_broken = True


ROWS = [
    Row("live in another process", live(LiveElsewhere(WHERE)), "session live elsewhere"),
    Row("live background job", live(Background("j7", WHERE)), "background session is not supported"),
    Row("background attach tab", attached_here, "background session is not supported"),
    Row("background handoff of an open tab", backgrounded_here, "background session is not supported"),
    Row("live scheduled run", live(Scheduled(ScheduledRun(ID, 9, CWD, 1))), "scheduled session is not supported"),
    Row("remote", lambda house: house.sessions.remotes.add(ID), "remote sessions are not supported"),
    Row("plain terminal", shell_here, "plain terminal sessions are not supported"),
    Row("known, transcript unusable", known_but(NoReadableTranscript("why")), "no readable transcript"),
    Row("known nowhere", lambda _house: None, "session not found", "not-found"),
    Row("more than one transcript", known_but(AmbiguousTranscript("why")), "ambiguous session transcript"),
    Row("cwd not verified", known_but(CwdUnavailable("why")), "session cwd unavailable"),
    Row("unknown project of a closed session", lambda house: forget_project(house), "unknown project"),
    Row("hidden as archive", closed_in(hidden("archive")), "project is archived"),
    Row("hidden as delete", closed_in(hidden("delete")), "project is archived"),
    Row("hidden without a kind", closed_in(hidden(None)), "project is archived"),
    Row("recorded directory is gone", closed_in(NoDirectory()), "project directory does not exist"),
    Row("projects cannot be told", closed_in(SnapshotUnavailable("why")), "project lookup unavailable"),
    Row("liveness cannot be told", live(Unknown("why")), "session liveness unavailable"),
    Row("remote list cannot be read", remote_and_unreadable, "session liveness unavailable"),
    Row(
        "expectedCwd of a closed session differs",
        lambda house: house.closed(),
        "expectedCwd does not match this session's actual cwd",
        body={**OPEN, "expectedCwd": "/srv/other"},
    ),
    Row(
        "expectedCwd of an open session differs",
        lambda house: house.open_here(),
        "expectedCwd does not match this session's actual cwd",
        body={**OPEN, "expectedCwd": "/srv/other"},
    ),
    Row(
        "cwd of an open session is unknown",
        lambda house: house.open_here(cwd=None),
        "this session's cwd could not be determined; refusing rather than risk targeting the wrong session",
        body={**OPEN, "expectedCwd": CWD},
    ),
    Row("process of an open session is gone", dead_here, "target process not running"),
    Row("CLI of an open session is gone, its terminal is not", left_over_here, "target process not running"),
    Row("unknown project", lambda house: house.projects.known.clear(), "unknown project", body=NEW),
    Row(
        "hidden project",
        lambda house: house.projects.known.update({CWD: hidden(None)}),
        "project is archived",
        body=NEW,
    ),
    Row(
        "project directory is gone",
        lambda house: house.projects.known.update({CWD: NoDirectory()}),
        "project directory does not exist",
        body=NEW,
    ),
    Row(
        "projects cannot be told for a new session",
        lambda house: house.projects.known.update({CWD: SnapshotUnavailable("why")}),
        "project lookup unavailable",
        body=NEW,
    ),
]


def forget_project(house: House) -> None:
    house.closed()
    house.projects.known.clear()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize("prompt", [None, "hello"], ids=["no prompt", "prompt"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_refused_before_anything_is_done(house: House, row: Row, prompt: str | None) -> None:
    row.prepare(house)
    body = {**(row.body or OPEN), **({} if prompt is None else {"prompt": prompt})}
    result = await house.ask(body)
    assert (result["outcome"], result["reason"], result["ok"]) == (row.outcome, row.reason, False)
    assert (result["submitted"], result["wrote"]) == ("no", False)
    assert "uncertain" not in result
    assert result["sessionId"] == (None if "new" in body else ID)
    assert result["created" if "new" in body else "resumed"] is False
    assert house.deeds() == []
    assert "ready" not in house.calls, "the page was asked for a request that could not be carried out"
    assert house.marker() is None
    # Refusing has not used the limiter up either.
    assert [house.bench.limiter.reserve(house.clock.now()) is not None for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize("body", [OPEN, {**OPEN, "prompt": "hello"}, NOTE], ids=["open", "prompt", "stop with a note"])
async def test_of_a_terminal_that_outlives_its_cli_it_is_said_what_it_is_and_what_helps(
    house: House, body: dict[str, Any]
) -> None:
    """Whatever is typed there would be carried out by a shell; and while it stands the session cannot be resumed."""
    session = house.open_here()
    session.owner_lives = False
    house.closed()
    result = await house.ask(body)
    assert result["reason"] == "target process not running"
    assert "process 4001" in result["detail"]
    assert "Stop" in result["detail"], "nobody knows how to go on"
    assert (session.writes, house.deeds(), house.marker()) == ([], [], None)
    session.exit()
    assert (await house.ask(OPEN))["resumed"] is True, "what was said to help does not"


async def test_a_terminal_that_outlives_its_cli_comes_after_an_unexpected_directory(house: House) -> None:
    house.open_here().owner_lives = False
    result = await house.ask({**OPEN, "expectedCwd": "/srv/other"})
    assert result["reason"] == "expectedCwd does not match this session's actual cwd"


async def test_a_local_session_comes_before_a_remote_one_of_the_same_id(house: House) -> None:
    house.open_here()
    house.sessions.remotes.add(ID)
    assert (await house.ask(OPEN))["outcome"] == "opened"


async def test_a_completed_scheduled_run_may_be_resumed(house: House) -> None:
    house.closed()
    assert (await house.ask(OPEN))["resumed"] is True


async def test_an_archived_group_forbids_nothing(house: House) -> None:
    house.closed()
    house.page.on_start = house.comes_up
    house.projects.known[CWD] = Admitted(Project(CWD, archived_at=7))
    assert (await house.ask(OPEN))["outcome"] == "opened"
    assert (await house.ask(NEW))["outcome"] == "opened"


async def test_an_id_that_nobody_knows_is_not_found_without_a_page_too(house: House) -> None:
    house.page.window = False
    assert (await house.ask(OPEN))["reason"] == "session not found"
    house.closed()
    assert (await house.ask(OPEN))["reason"] == "window not available"


ORDER: list[tuple[str, Callable[[House], object]]] = [
    ("remote sessions are not supported", lambda house: house.sessions.remotes.add(ID)),
    ("session live elsewhere", lambda house: setattr(house.liveness, "answer", LiveElsewhere(WHERE))),
    ("ambiguous session transcript", known_but(AmbiguousTranscript("why"))),
    ("project is archived", lambda house: house.projects.known.update({CWD: hidden(None)})),
    ("expectedCwd does not match this session's actual cwd", lambda _house: None),
    ("window not available", lambda _house: None),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
async def test_the_first_of_many_reasons_is_told(house: House, first: int) -> None:
    """Of all that is wrong, what comes first in the contract's order."""
    house.closed()
    for _, prepare in reversed(ORDER[first:]):
        prepare(house)
    house.page.window = False
    expected = "/srv/other" if first <= 4 else CWD
    result = await house.ask({**OPEN, "expectedCwd": expected})
    assert result["reason"] == ORDER[first][0]


async def test_a_look_that_ended_too_late_has_found_nothing(house: House) -> None:
    house.closed()

    async def slow(_session_id: str, deadline: float) -> NoReadableTranscript:
        house.clock.sleep(10)
        return NoReadableTranscript("the project folders could not all be listed in time")

    house.lookup.resolve = slow  # type: ignore[method-assign] # as the lookup does at its deadline
    result = await house.ask({**OPEN, "timeout_ms": 9000})
    assert result["reason"] == "session action timed out"


async def test_that_liveness_could_not_be_told_in_time_is_said_as_such(house: House) -> None:
    house.closed()

    async def slow(_session_id: str, deadline: float, exclude: object = ()) -> Unknown:
        house.clock.sleep(10)
        return Unknown("the descriptors could not all be read in time")

    house.liveness.check = slow  # type: ignore[method-assign, assignment] # as the check does at its deadline
    result = await house.ask({**OPEN, "timeout_ms": 9000})
    assert result["reason"] == "session liveness unavailable"


# --- what is found ----------------------------------------------------------------------------------------------------


def work_of(house: House, request: OpenResume | OpenNew | Stop) -> Work:
    return Work(request, "0a1b2c3d-4e5f-6789-abcd-ef0123456789", house.bench, house.steps.append)


async def test_a_closed_session_is_resumed_in_its_recorded_directory_with_its_projects_defaults(house: House) -> None:
    session = house.closed(cwd="/srv/project/.claude/worktrees/x")
    house.projects.known[session.cwd] = Admitted(Project(CWD))
    request = OpenResume(ID)
    assert await v1_resolve.to_open(work_of(house, request), request) == Resume(session, CWD)


async def test_the_projects_own_spelling_counts(house: House) -> None:
    house.projects.known["/srv//project/"] = Admitted(Project(CWD))
    request = OpenNew("/srv//project/", "n", "p")
    assert await v1_resolve.to_start(work_of(house, request), request) == CWD


async def test_an_open_session_under_an_older_id_is_pinned(house: House) -> None:
    session = house.open_here(ID)
    house.sessions.rekey(ID, OTHER)
    request = OpenResume(ID)
    pin = await v1_resolve.to_open(work_of(house, request), request)
    assert isinstance(pin, Pin)
    assert pin.target is session
    assert pin.trouble() is None


@pytest.mark.parametrize("body", [OPEN, {**OPEN, "prompt": "hello"}, NOTE], ids=["open", "prompt", "stop with a note"])
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (LiveElsewhere(WHERE), "session live elsewhere"),
        (Background("j7", WHERE), "background session is not supported"),
        (Scheduled(ScheduledRun(ID, 9, CWD, 1)), "scheduled session is not supported"),
        (Unknown("why"), "session liveness unavailable"),
    ],
    ids=["another process", "background job", "scheduled run", "unknown"],
)
async def test_a_terminal_that_once_had_the_id_does_not_speak_for_who_has_it_now(
    house: House, answer: Liveness, reason: str, body: dict[str, Any]
) -> None:
    session = house.open_here(ID)
    house.sessions.rekey(ID, OTHER)
    house.liveness.answer = answer
    result = await house.ask(body)
    assert (result["outcome"], result["reason"], result["wrote"]) == ("refused", reason, False)
    assert (session.writes, house.deeds(), house.marker()) == ([], [], None)


async def test_a_session_that_ended_is_a_closed_one(house: House) -> None:
    house.open_here().exit()
    house.closed()
    request = OpenResume(ID)
    assert isinstance(await v1_resolve.to_open(work_of(house, request), request), Resume)


# --- for a stop -------------------------------------------------------------------------------------------------------

STOPS = [
    Row("known closed", lambda house: house.closed(), "session not open here"),
    Row("known closed, transcript unusable", known_but(NoReadableTranscript("why")), "session not open here"),
    Row("known nowhere", lambda _house: None, "session not found"),
    Row("remote", lambda house: house.sessions.remotes.add(ID), "remote sessions are not supported"),
    Row("live in another process", live(LiveElsewhere(WHERE)), "session live elsewhere"),
    Row("live background job", live(Background("j7", WHERE)), "background session is not supported"),
    Row("live scheduled run", live(Scheduled(ScheduledRun(ID, 9, CWD, 1))), "scheduled session is not supported"),
    Row("liveness cannot be told", live(Unknown("why")), "session liveness unavailable"),
    Row("background attach tab", attached_here, "background session is not supported"),
    Row("plain terminal", shell_here, "plain terminal sessions are not supported"),
]


@pytest.mark.parametrize("row", STOPS, ids=lambda row: row.name)
async def test_nothing_here_to_stop(house: House, row: Row) -> None:
    row.prepare(house)
    request = Stop(ID)
    with pytest.raises(Refused) as refused:
        await v1_resolve.to_stop(work_of(house, request), request)
    assert refused.value.reason == row.reason
    assert house.deeds() == []


async def test_an_open_session_can_be_stopped_whatever_its_project(house: House) -> None:
    session = house.open_here()
    house.projects.known.clear()
    request = Stop(ID, expected_cwd=CWD)
    assert (await v1_resolve.to_stop(work_of(house, request), request)).target is session


async def test_a_page_that_refuses_is_no_reason_to_look_further(house: House) -> None:
    house.closed()
    house.page.refuses = PageRefused("session open failed", "no such model")
    result = await house.ask(OPEN)
    assert (result["reason"], result["detail"]) == ("session open failed", "no such model")
    assert not any(call.startswith("spawn") for call in house.calls)
