"""A terminal that goes on without the CLI it was opened for: nothing is typed into what has it then."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.stage import SESSION, Stage, transcript

from switchboard.common.facts import CliStatus
from switchboard.delivery import reasons
from switchboard.triggers.results import Result

BODIES: list[dict[str, Any]] = [
    {"command": "hello"},
    {"command": "hello", "wait": "idle"},
    {"command": "/compact"},
    {"chain": [{"command": "hello"}]},
    {"key": "Escape"},
]
IDS = ["command", "after idle", "compact", "chain", "key"]


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.show(status=CliStatus("idle", made.stamp(-9000)))
    return made


def gone(stage: Stage) -> None:
    """The CLI ends; its terminal does not, and nobody is told of it but who asks."""
    stage.terminal.outlived = True


def told(result: Result) -> tuple[Any, ...]:
    return result["error"], result["reason"], result["submitted"], result["wrote"]


NOTHING = ("target process not running", reasons.OUTLIVED, "no", False)


@pytest.mark.parametrize("body", BODIES, ids=IDS)
async def test_before_the_request_comes(stage: Stage, body: dict[str, Any]) -> None:
    stage.show(status=None)
    gone(stage)
    result = await stage.ask(body)
    assert told(result) == NOTHING
    assert (result["ok"], result["sessionId"], stage.writes, stage.elapsed) == (False, SESSION, [], 0)


@pytest.mark.parametrize("body", BODIES, ids=IDS)
async def test_while_a_draft_is_waited_for(stage: Stage, body: dict[str, Any]) -> None:
    stage.terminal.count_input(3)
    stage.at(100, lambda: gone(stage))
    stage.at(200, lambda: stage.terminal.count_input(-3))
    assert told(await stage.ask(body)) == NOTHING
    assert stage.writes == []


@pytest.mark.parametrize("body", [*BODIES[:2], BODIES[3]], ids=[*IDS[:2], IDS[3]])
async def test_between_the_text_and_its_enter(stage: Stage, body: dict[str, Any]) -> None:
    stage.when("hello", act=lambda: gone(stage))
    result = await stage.ask(body)
    assert result["error"] == "target process not running"
    assert (result["text_written"], result["enter_written"], result["submitted"]) == (True, False, "no")
    assert stage.typed == b"hello"


@pytest.mark.parametrize("body", [BODIES[0], BODIES[3]], ids=[IDS[0], IDS[3]])
async def test_no_second_enter_is_pressed(stage: Stage, body: dict[str, Any]) -> None:
    stage.when("\r", after=10, act=lambda: gone(stage))
    result = await stage.ask(body)
    assert (result["enter_written"], result["submitted"]) == (True, "assumed")
    assert stage.typed == b"hello\r"
    if "chain" in body:
        assert result["error"] == "session exited during wait"


async def test_between_two_steps_of_a_chain(stage: Stage) -> None:
    stage.show(transcript=transcript())
    stage.when("\r", after=5, status="busy", transcript=transcript((stage.stamp(360), "one")))
    stage.when("\r", after=500, status="idle", act=None)
    stage.when("\r", after=700, act=lambda: gone(stage))
    result = await stage.ask({"chain": [{"command": "one"}, {"command": "two"}], "timeout_ms": 60_000})
    assert told(result)[:2] == ("target process not running", reasons.OUTLIVED)
    assert (result["partial"], result["steps_completed"], stage.typed) == (True, 1, b"one\r")


async def test_a_terminal_that_nothing_is_known_of_takes_what_it_is_sent(stage: Stage) -> None:
    stage.show(status=None)
    assert (await stage.ask({"command": "hello"}))["ok"]
