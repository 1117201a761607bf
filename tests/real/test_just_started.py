"""Requests for a CLI that has a descriptor and no status yet, by the built-in agent and by a scripted CLI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.field import FAST, FieldHost
from tests.support.hosting import page

from switchboard.delivery import reasons

SILENT_MS = 1500


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    faults = {"SWITCHBOARD_AGENT_FAULTS": "swallow-enter=2", "SWITCHBOARD_SUBMIT_VERIFY_MS": "1000"}
    made = FieldHost(tmp_path, FAST | faults)
    made.start()
    yield made
    made.clean_up()


async def test_a_first_prompt_that_was_swallowed_is_a_draft(host: FieldHost) -> None:
    """Both requests are there before the agent is; the `idle` of its start is no answer to the first one's Enter."""
    async with page(host) as shown:
        handle = await shown.open(host, "new", "agent")
        session_id = shown.sessions[handle].id
        first = host.ask(session_id, "FIRST")
        second = host.ask(session_id, "SECOND", timeout_ms=8000)
        result = await host.result(first)
        told = (result["submitted"], result["submit_retries"], result.get("submit_confirmed"))
        assert told == ("assumed", 1, False), result
        refused = await host.result(second)
        assert (refused["error"], refused["reason"]) == (reasons.NOT_SENT, reasons.composer_pending("5")), refused
        assert shown.sessions[handle].draft


@pytest.mark.parametrize("wait", ["none", "idle"])
async def test_nothing_is_typed_before_the_first_status(host: FieldHost, wait: str) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown, silent_ms=SILENT_MS)
        assert shown.sessions[handle].status == "starting"
        early = await host.result(host.ask(session_id, "too early", wait=wait, timeout_ms=300))
        assert (early["reason"], early["wrote"]) == (reasons.STARTING, False), early
        result = await host.result(host.ask(session_id, "hello", wait=wait))
        assert (result["submitted"], result["confirm_source"]) == ("confirmed", "descriptor"), result
        (first_status, *_) = cli.events("status")
        (first_read, *_) = cli.events("read")
        assert first_read["at"] > first_status["at"]
        assert cli.submitted == ["hello"]
