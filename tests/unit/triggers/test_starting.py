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


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
async def test_a_descriptor_without_a_status_is_no_report(payload: dict[str, Any]) -> None:
    stage = Stage()
    stage.show(starting=True, status=CliStatus(None, None))
    result = await stage.ask({**payload, "timeout_ms": 5000})
    assert (result["error"], result["reason"], stage.writes) == (reasons.NOT_SENT, reasons.STARTING, [])


async def test_the_status_of_its_start_is_no_reaction_to_an_enter() -> None:
    """The next one finds the text in the box; before, the first `idle` was taken for the effect of the Enter."""
    stage = Stage()
    stage.show(starting=True, status=CliStatus(None, None))
    stage.at(200, starting=False, status=CliStatus("idle", stage.stamp(200)))
    first = await stage.ask({"command": "first"})
    assert stage.writes == [(200, b"first"), (250, b"\r"), (2250, b"\r")]
    assert (first["submitted"], first["submit_confirmed"]) == ("assumed", False)
    following = await stage.ask({"command": "second", "timeout_ms": 500})
    assert following["reason"] == reasons.composer_pending("5")


async def test_of_a_cli_that_was_given_up_waiting_for_a_late_first_idle_is_no_reaction_either() -> None:
    stage = Stage()
    stage.show(status=CliStatus(None, None))
    stage.when("\r", after=100, status="idle")
    assert (await stage.ask({"command": "first"}))["submitted"] == "assumed"
    following = await stage.ask({"command": "second", "timeout_ms": 500})
    assert following["reason"] == reasons.composer_pending("5")


async def test_a_cli_that_shows_no_status_is_typed_into_once_it_counts_as_started() -> None:
    stage = Stage()
    stage.show(starting=True, status=CliStatus(None, None))
    stage.at(900, starting=False)
    assert (await stage.ask({"command": "hello", "timeout_ms": 5000}))["ok"]
    assert stage.writes[0] == (900, b"hello")


async def test_a_session_that_ends_meanwhile() -> None:
    stage = Stage()
    stage.show(starting=True)
    stage.at(900, stage.terminal.exit)
    result = await stage.ask({"command": "hello", "timeout_ms": 5000})
    assert (result["error"], result["wrote"]) == (reasons.EXITED, False)
