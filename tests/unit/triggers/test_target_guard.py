"""Rows 20 to 23: which session a request means, and whether it is the one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.stage import SESSION, Stage

from switchboard.triggers.target_guard import same_directory

HELLO = {"command": "hello"}


async def refused(stage: Stage, body: dict[str, Any], **fields: Any) -> None:
    result = await stage.ask(body)
    expected = {"ok": False, "submitted": "no", "wrote": False, "steps_total": 1, **fields}
    assert {name: result.get(name) for name in expected} == expected
    assert stage.writes == []


async def test_row_20_unknown() -> None:
    stage = Stage()
    await refused(stage, {**HELLO, "sessionId": "other"}, error="session not found", sessionId="other")


async def test_row_20_exited() -> None:
    stage = Stage()
    stage.terminal.exit()
    await refused(stage, HELLO, error="session not found", sessionId=SESSION)


async def test_row_20_letter_case_and_former_ids_do_not_matter() -> None:
    stage = Stage()
    stage.terminals.rekey(SESSION, "ANOTHER")
    for session_id in (SESSION.upper(), SESSION, "another", "Another"):
        stage.when("\r", nth=len(stage.writes) // 2 + 1, busy=True)
        result = await stage.ask({**HELLO, "sessionId": session_id})
        assert (result["ok"], result["sessionId"]) == (True, session_id)
        stage.show(busy=False)


@pytest.mark.parametrize("body", [HELLO, {"chain": [{"command": "x"}]}, {"key": "Escape"}])
async def test_row_20_background(body: dict[str, Any]) -> None:
    stage = Stage()
    stage.terminals.add_background_job("bg", "job7")
    error = "background session, not attached here"
    await refused(stage, {**body, "sessionId": "BG"}, error=error, jobId="job7", sessionId="BG")


async def test_row_20_an_open_tab_wins_over_a_background_job() -> None:
    stage = Stage()
    stage.terminals.add_background_job(SESSION, "job7")
    assert (await stage.ask(HELLO))["ok"]


@pytest.mark.parametrize("body", [HELLO, {"key": "Escape"}], ids=["command", "key"])
async def test_row_20_remote(body: dict[str, Any]) -> None:
    stage = Stage()
    stage.terminals.add_remote("away", "lab")
    stage.terminals.add_background_job("away", "job7")
    reason = "remote sessions are not supported; nothing was written"
    await refused(stage, {**body, "sessionId": "AWAY"}, error="not sent", reason=reason, host="lab", jobId=None)


async def test_row_20_remote_chain() -> None:
    stage = Stage()
    stage.terminals.add_remote("away", "lab")
    reason = "a chain cannot be sent to a remote session through the messaging socket; nothing was written"
    await refused(stage, {"chain": [{"command": "x"}], "sessionId": "away"}, error="not sent", reason=reason)


async def test_row_20_remote_on_several_machines() -> None:
    stage = Stage()
    stage.terminals.add_remote("away", "lab", "office")
    reason = "the session id is listed by more than one host (lab, office); nothing was written"
    await refused(stage, {**HELLO, "sessionId": "away"}, error="not sent", reason=reason, host=None)


async def test_row_20_an_open_tab_wins_over_another_machine() -> None:
    stage = Stage()
    stage.terminals.add_remote(SESSION, "lab")
    assert (await stage.ask(HELLO))["ok"]


async def test_row_21_dead_process() -> None:
    stage = Stage()
    stage.terminal.alive = False
    await refused(stage, HELLO, error="target process not running", sessionId=SESSION)


async def test_row_22_unknown_directory() -> None:
    stage = Stage(cwd=None)
    await refused(
        stage,
        {**HELLO, "expectedCwd": "/srv/project"},
        error="not sent",
        reason="this session's cwd could not be determined; refusing rather than risk targeting the wrong session",
        targetCwdUnknown=True,
        expectedCwd="/srv/project",
        observedCwd=None,
        targetMismatch=None,
    )


async def test_row_23_another_directory() -> None:
    stage = Stage(cwd="/srv/project")
    await refused(
        stage,
        {**HELLO, "expectedCwd": "/srv/Project"},
        error="not sent",
        reason="expectedCwd does not match this session's actual cwd",
        targetMismatch=True,
        expectedCwd="/srv/Project",
        observedCwd="/srv/project",
    )


async def test_row_23_counts_the_steps_of_a_chain() -> None:
    stage = Stage()
    body = {"chain": [{"command": "x"}] * 3, "expectedCwd": "/"}
    await refused(stage, body, error="not sent", steps_total=3)


async def test_row_19_comes_before_row_20() -> None:
    await refused(Stage(), {**HELLO, "sessionId": "other", "expectedCwd": ""}, error="not sent")


async def test_the_right_directory_is_delivered_to() -> None:
    assert (await Stage().ask({**HELLO, "expectedCwd": "/srv/./x/../project/"}))["ok"]


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("/a/b", "/a/b", True),
        ("/a/b/", "/a/b", True),
        ("/a//b/./c/..", "/a/b", True),
        ("//a/b", "/a/b", True),
        ("///a", "/a", True),
        ("/", "/", True),
        ("//", "/", True),
        ("/a", "/A", False),
        ("/a", "/a/b", False),
        ("/ab", "/a", False),
        ("a/b", "a/b/", True),
        ("a", "/a", False),
        (".", "./", True),
    ],
)
def test_directories_compare_as_text(expected: str, actual: str, same: bool) -> None:
    assert same_directory(expected, actual) is same
