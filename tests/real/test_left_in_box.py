"""Enters that are swallowed, by the built-in agent and by a scripted CLI: what is left in the box protects itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.field import FAST, FieldHost, agent, fault
from tests.support.hosting import Page, page, until

from switchboard.delivery import reasons

SWALLOWED = "Faults: swallow-enter="


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    waits = {"SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "50", "SWITCHBOARD_SUBMIT_VERIFY_MS": "1000"}
    made = FieldHost(tmp_path, FAST | waits)
    made.start()
    yield made
    made.clean_up()


async def swallow(shown: Page, handle: int, count: int) -> None:
    """Tell the agent, as a person does, to ignore the next Enters."""
    await fault(shown, handle, f"swallow-enter={count}")


async def ask(host: FieldHost, session_id: str, command: str, **fields: Any) -> dict[str, Any]:
    return await host.result(host.ask(session_id, command, **fields))


async def is_draft(shown: Page, handle: int) -> None:
    await shown.once(lambda: shown.sessions[handle].draft, "the text in the box to be shown as a draft")


async def is_refused(host: FieldHost, session_id: str, left: str) -> None:
    following = await ask(host, session_id, "the next one", timeout_ms=200)
    assert (following["error"], following["wrote"]) == ("not sent", False), following
    assert following["reason"] == reasons.composer_pending(str(len(left)))


def prompts(host: FieldHost) -> list[str]:
    """The prompts in the agent's transcripts."""
    return [
        line.split('"content":"')[1].split('"')[0]
        for path in sorted((host.root / "agent").glob("projects/*/*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
        if '"promptSource":"typed"' in line
    ]


@pytest.mark.parametrize("earlier", [False, True], ids=["first prompt", "later prompt"])
@pytest.mark.parametrize("wait", ["none", "idle"])
async def test_a_prompt_that_two_enters_did_not_submit_is_a_draft(host: FieldHost, wait: str, earlier: bool) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        if earlier:
            first = await ask(host, session_id, "earlier", wait="idle")
            assert first["submitted"] == "confirmed", first
            await shown.status(handle, "idle")
        await swallow(shown, handle, 2)
        left = await ask(host, session_id, "left behind", wait=wait)
        assert (left["ok"], left["submitted"], left["submit_retries"]) == (True, "assumed", 1), left
        await is_draft(shown, handle)
        await is_refused(host, session_id, "left behind")
        # A new host knows of it as well.
        host.terminate()
        host.start()
    async with page(host) as shown:
        await is_refused(host, session_id, "left behind")
        shown.type(handle, b"\r")
        await until(lambda: "left behind" in prompts(host), "the text to be submitted")
        following = await ask(host, session_id, "the next one", wait="idle")
        assert following["submitted"] == "confirmed", following
        assert prompts(host) == [*(["earlier"] if earlier else []), "left behind", "the next one"]


async def test_one_swallowed_enter_is_made_up_for(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await swallow(shown, handle, 1)
        result = await ask(host, session_id, "hello")
        assert (result["submitted"], result["submit_retries"]) == ("confirmed", 1), result
        assert prompts(host) == ["hello"]
        assert not shown.sessions[handle].draft


async def test_a_turn_that_is_never_published_is_proven_by_the_transcript(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        said = len(shown.output[handle])
        shown.type(handle, b"/fault no-busy-edge,no-title")
        shown.type(handle, b"\r")
        await shown.once(lambda: b"Faults: no-busy-edge" in shown.output[handle][said:], "the fault in force")
        result = await ask(host, session_id, "hello")
        told = (result["submitted"], result["confirm_source"], result["submit_retries"])
        assert told == ("confirmed", "transcript", 0), result


async def test_a_transcript_that_is_late_ends_the_draft(host: FieldHost) -> None:
    """The scripted CLI takes the text by itself, unseen by any page: its transcript is all that tells."""
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown)
        assert (await ask(host, session_id, "first"))["submitted"] == "confirmed"
        cli.tell((0, "set", {"swallow": 2}))
        await until(lambda: cli.events("set"), "the CLI to be told")
        second = await ask(host, session_id, "second", wait="idle")
        assert (second["submitted"], second["submit_retries"]) == ("assumed", 1), second
        await is_draft(shown, handle)
        await is_refused(host, session_id, "second")
        cli.tell((0, "enter", None))
        await shown.once(lambda: not shown.sessions[handle].draft, "the end of the draft")
        assert (await ask(host, session_id, "third", wait="idle"))["submitted"] == "confirmed"
        assert cli.submitted == ["first", "second", "third"]


async def test_a_status_that_moves_by_itself_is_no_proof(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown)
        assert (await ask(host, session_id, "first"))["submitted"] == "confirmed"
        cli.tell((0, "set", {"swallow": 1}))
        await until(lambda: cli.events("set"), "the CLI to be told")
        name = host.ask(session_id, "second", wait="idle")
        await until(lambda: cli.events("enter-ignored"), "the Enter to be swallowed")
        cli.tell((0, "status", "busy"))
        result = await host.result(name)
        assert (result["submitted"], result["reason"]) == ("assumed", reasons.BARE_ENTER_UNSAFE), result
        await is_draft(shown, handle)
        await is_refused(host, session_id, "second")


async def test_a_chain_types_nothing_behind_a_step_that_is_left(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await swallow(shown, handle, 2)
        steps = [{"command": "one"}, {"command": "two"}]
        result = await host.result(host.ask(session_id, chain=steps, timeout_ms=5000))
        assert (result["error"], result["reason"]) == (reasons.CHAIN_TIMEOUT, reasons.composer_pending("3")), result
        assert prompts(host) == []
        await is_draft(shown, handle)


async def test_compact_that_was_swallowed_is_a_draft_and_gets_no_second_enter(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await ask(host, session_id, "something to compact", wait="idle")
        await shown.status(handle, "idle")
        await swallow(shown, handle, 1)
        result = await ask(host, session_id, "/compact", wait="idle", timeout_ms=1000)
        assert (result["error"], result["reason"]) == (reasons.NOT_CONFIRMED, reasons.NOT_COMPACTED), result
        assert (result["submitted"], result["submit_retries"]) == ("assumed", 0)
        await is_refused(host, session_id, "/compact")
        shown.type(handle, b"\x15")
        again = await ask(host, session_id, "/compact", wait="idle", timeout_ms=10_000)
        assert (again["submitted"], again["confirm_source"]) == ("confirmed", "compact_boundary"), again


async def test_a_compaction_that_takes_longer_than_its_deadline_is_no_draft(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await ask(host, session_id, "something to compact", wait="idle")
        await shown.status(handle, "idle")
        result = await ask(host, session_id, "/compact [slow 3s]", wait="idle", timeout_ms=700)
        assert (result["error"], result["submitted"]) == (reasons.NOT_CONFIRMED, "activity"), result
        assert not shown.sessions[handle].draft


@pytest.mark.parametrize(
    ("swallowed", "told"),
    [(0, ("confirmed", "descriptor", 0)), (1, ("confirmed", "descriptor", 1)), (2, ("assumed", None, 1))],
    ids=["taken", "one Enter swallowed", "both swallowed"],
)
async def test_clear_is_proven_by_the_new_id(host: FieldHost, swallowed: int, told: tuple[Any, ...]) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await ask(host, session_id, "hello", wait="idle")
        await shown.status(handle, "idle")
        if swallowed:
            await swallow(shown, handle, swallowed)
        result = await ask(host, session_id, "/clear", wait="idle")
        assert (result["submitted"], result.get("confirm_source"), result["submit_retries"]) == told, result
        if told[0] != "confirmed":
            await is_draft(shown, handle)
            await is_refused(host, session_id, "/clear")
            assert shown.sessions[handle].id == session_id
            return
        await shown.once(lambda: shown.sessions[handle].id != session_id, "the new id")
        assert not shown.sessions[handle].draft
        # The old id still finds it, and the next text goes into the new conversation.
        assert (await ask(host, session_id, "hello again", wait="idle"))["submitted"] == "confirmed"


@pytest.mark.parametrize("command", ["/nosuch", "/help"])
async def test_a_command_that_two_enters_did_not_submit_is_a_draft(host: FieldHost, command: str) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        assert (await ask(host, session_id, "earlier", wait="idle"))["submitted"] == "confirmed"
        await shown.status(handle, "idle")
        await swallow(shown, handle, 2)
        left = await ask(host, session_id, command)
        assert (left["ok"], left["submitted"], left["submit_retries"]) == (True, "assumed", 1), left
        await is_draft(shown, handle)
        await is_refused(host, session_id, command)
        shown.type(handle, b"\x15")
        await shown.once(lambda: not shown.sessions[handle].draft, "the end of the draft")
        assert (await ask(host, session_id, "the next one", wait="idle"))["submitted"] == "confirmed"
        assert prompts(host) == ["earlier", "the next one"]


async def test_a_command_that_is_taken_locks_nobody(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        for first in ("/help", "earlier", "/help"):
            await ask(host, session_id, first, wait="idle")
            await shown.status(handle, "idle")
            assert not shown.sessions[handle].draft
        assert (await ask(host, session_id, "the next one", wait="idle"))["submitted"] == "confirmed"
