"""What those who watch are told of a legacy request while it is under way."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.stage import SESSION, Stage

from switchboard.triggers.legacy import LegacyAction


async def told(stage: Stage, body: dict[str, Any]) -> list[tuple[int, str]]:
    """Carry out a request; return its steps and when they were told."""
    steps: list[tuple[int, str]] = []
    action = LegacyAction(
        {"sessionId": SESSION, **body},
        stage.terminals,
        stage.fifo,
        stage.desk,
        tell=lambda step: steps.append((stage.elapsed, step)),
    )
    await stage.clock.run(action.run())
    action.release()
    return list(dict.fromkeys(steps))


@pytest.mark.parametrize(
    "body",
    [{"command": "hello"}, {"chain": [{"command": "hello"}]}, {"key": "Escape"}],
    ids=["a text", "a chain", "a key"],
)
async def test_it_waits_and_is_written_when_it_may_be(body: dict[str, Any]) -> None:
    stage = Stage()
    stage.show(status="waiting")
    stage.at(700, status="idle")
    stage.when("\r", after=5, status="busy")
    steps = await told(stage, body)
    assert steps[0] == (0, "waiting")
    assert steps[1][1] == "writing"
    assert stage.writes[0][0] == steps[1][0] >= 700


async def test_what_is_never_written_is_not_said_to_be() -> None:
    stage = Stage()
    stage.show(status="waiting")
    assert await told(stage, {"command": "hello", "timeout_ms": 1000}) == [(0, "waiting")]


async def test_what_is_no_request_does_not_wait() -> None:
    assert await told(Stage(), {"sessionId": 5}) == []
