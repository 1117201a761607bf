"""What those who watch are told of a request."""

from __future__ import annotations

from typing import Any

import pytest

from switchboard.triggers.progress import Progress, Teller, done, received


@pytest.mark.parametrize(
    ("body", "action"),
    [
        ({"sessionId": "S", "command": "x"}, "command"),
        ({"sessionId": "S", "chain": []}, "chain"),
        ({"sessionId": "S", "key": "Escape"}, "key"),
        ({"sessionId": "S"}, ""),
        ({"version": 1, "action": "open", "sessionId": "S"}, "open"),
        ({"version": 1, "action": "open", "new": {"project": "/p", "name": "n"}}, "new"),
        ({"version": 1, "action": "stop", "sessionId": "S"}, "stop"),
        ({"action": "fork", "command": "x"}, ""),
        ({"version": 1, "command": "x"}, ""),
        ({"action": ["open"]}, ""),
        (None, ""),
    ],
)
def test_what_is_asked_for(body: Any, action: str) -> None:
    assert received("a", body).action == action


def test_the_session_is_the_results_where_the_request_has_none() -> None:
    begun = received("a", {"version": 1, "action": "open", "new": {}})
    assert done("a", {"ok": True, "sessionId": "S"}, begun) == Progress("a", "done", "new", "S", True)


def test_each_step_is_told_once_with_what_the_request_was() -> None:
    told: list[Progress] = []
    teller = Teller(told.append)
    teller.received("a", {"version": 1, "action": "open", "sessionId": "S"})
    for step in ("waiting", "waiting", "opening", "writing"):
        teller.step("a", step)  # type: ignore[arg-type] # they are steps
    teller.done("a", {"ok": False, "reason": "why", "submitted": "no"})
    assert [progress.step for progress in told] == ["received", "waiting", "opening", "writing", "done"]
    assert {(progress.action, progress.session_id) for progress in told} == {("open", "S")}
    assert told[-1].reason == "why"
    teller.step("a", "writing")
    assert len(told) == 5


def test_a_request_that_ends_without_a_result_is_forgotten() -> None:
    told: list[Progress] = []
    teller = Teller(told.append)
    teller.received("a", {})
    teller.forget("a")
    teller.step("a", "writing")
    assert [progress.step for progress in told] == ["received"]


def test_what_an_observer_raises_changes_nothing() -> None:
    def broken(_progress: Progress) -> None:
        raise ZeroDivisionError

    teller = Teller(broken)
    teller.received("a", {})
    teller.step("a", "waiting")
    teller.done("a", {"ok": True})


def test_without_an_observer_nothing_is_remembered() -> None:
    teller = Teller(None)
    teller.received("a", {})
    teller.step("a", "waiting")
    teller.done("a", {"ok": True})
    assert teller._begun == {}


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"ok": True, "submitted": "confirmed"}, (True, "confirmed", None, None, None, False)),
        ({"ok": False, "error": "not sent", "reason": "r"}, (False, None, "not sent", "r", None, False)),
        ({"ok": True, "outcome": "opened", "submitted": "no"}, (True, "no", None, None, "opened", False)),
        (
            {"ok": False, "outcome": "refused", "reason": "session action timed out", "uncertain": True, "detail": "d"},
            (False, None, None, "session action timed out", "refused", True, "d"),
        ),
        ({"ok": False, "outcome": 5, "uncertain": "yes"}, (False, None, None, None, None, False)),
    ],
    ids=["legacy success", "legacy refusal", "opened", "uncertain", "values of other types"],
)
def test_a_result_as_it_is_told(result: dict[str, Any], told: tuple[Any, ...]) -> None:
    assert done("n", result, Progress("n", "writing", "open", "S")) == Progress("n", "done", "open", "S", *told)
