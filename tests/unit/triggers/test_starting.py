"""Requests for a CLI that has not reported itself since it was started: nothing is written before it has."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.stage import Stage

from switchboard.common.facts import CliStatus
from switchboard.delivery import reasons

PAYLOADS: dict[str, dict[str, Any]] = {
    "none": {"command": "hello"},
    "idle": {"command": "hello", "wait": "idle"},
    "chain": {"chain": [{"command": "hello"}]},
    "key": {"key": "Escape"},
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
async def test_it_is_refused_at_the_deadline(payload: dict[str, Any]) -> None:
    stage = Stage()
    stage.show(starting=True)
    result = await stage.ask({**payload, "timeout_ms": 5000})
    assert (result["error"], result["reason"]) == (reasons.NOT_SENT, reasons.STARTING)
    assert (result["submitted"], result["wrote"]) == ("no", False)
    assert stage.elapsed == 5000
    assert stage.writes == []


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
async def test_it_is_carried_out_once_the_cli_has_reported_itself(payload: dict[str, Any]) -> None:
    stage = Stage()
    stage.show(starting=True)
    stage.at(900, starting=False, status=CliStatus("idle", stage.stamp(900)))
    if "key" not in payload:
        stage.when("\r", after=10, status="busy")
    result = await stage.ask({**payload, "timeout_ms": 5000})
    assert result["ok"], result
    assert min(at for at, _ in stage.writes) >= 900
    stage.finish()


async def test_a_descriptor_without_a_status_is_a_report() -> None:
    stage = Stage()
    stage.show(starting=True)
    stage.at(900, starting=False, status=CliStatus(None, None))
    assert (await stage.ask({"command": "hello", "timeout_ms": 5000}))["ok"]
    assert stage.writes[0] == (900, b"hello")


async def test_a_session_that_ends_meanwhile() -> None:
    stage = Stage()
    stage.show(starting=True)
    stage.at(900, stage.terminal.exit)
    result = await stage.ask({"command": "hello", "timeout_ms": 5000})
    assert (result["error"], result["wrote"]) == (reasons.EXITED, False)
