"""Hosts that are killed while they look for the effect of an Enter: what may be in the box is a draft for the next one.

The Enter is out and recorded; the window in which its effect is looked for is made so long that the kill always comes
within it. Whether the CLI took the Enter is up to the CLI, and only what it shows later tells.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.field import FAST, FieldHost, agent, fault, show
from tests.support.hosting import Page, page, until

from switchboard.delivery import reasons
from switchboard.sessions.box import REST_MS

LEFT = "left behind"
LATER = "60000"
"""Milliseconds: not before the host is killed."""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    waits = {"SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "50", "SWITCHBOARD_SUBMIT_VERIFY_MS": LATER}
    made = FieldHost(tmp_path, FAST | waits)
    made.start()
    yield made
    made.clean_up()


async def enter_is_out(shown: Page, handle: int, text: str = LEFT) -> None:
    """The text is in the box and its Enter has gone out: what a person types between the two is held until then.

    While this host lives only that counts as a draft.
    """
    await shown.once(lambda: text.encode() in shown.output.get(handle, b""), "the text in the box")
    shown.type(handle, b"x")
    await shown.once(lambda: shown.sessions[handle].draft, "a person's key to be let through")
    shown.type(handle, b"\x7f")
    await shown.once(lambda: not shown.sessions[handle].draft, "an empty box")


async def killed(host: FieldHost, shown: Page, handle: int, text: str = LEFT) -> str:
    """Have a text typed by a host that is killed once its Enter is out; return the request's name."""
    name = host.ask(shown.sessions[handle].id, text)
    await enter_is_out(shown, handle, text)
    host.kill()
    assert not host.result_path(name).exists()
    return name


@asynccontextmanager
async def next_host(host: FieldHost, **environment: str) -> AsyncIterator[Page]:
    host.environment |= {"SWITCHBOARD_SUBMIT_VERIFY_MS": "1000", **environment}
    host.start()
    async with page(host) as shown:
        yield shown


async def is_refused(host: FieldHost, session_id: str, left: int = len(LEFT)) -> None:
    following = await host.result(host.ask(session_id, "the next one", timeout_ms=300))
    assert (following["error"], following["wrote"]) == ("not sent", False), following
    assert following["reason"] == reasons.composer_pending(str(left))


async def goes_through(host: FieldHost, session_id: str) -> None:
    following = await host.result(host.ask(session_id, "the next one", wait="idle"))
    assert following["submitted"] == "confirmed", following


def prompts(host: FieldHost) -> list[str]:
    """The prompts in the agent's transcripts."""
    return [
        line.split('"content":"')[1].split('"')[0]
        for path in sorted((host.root / "agent").glob("projects/*/*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
        if '"promptSource":"typed"' in line
    ]


def check(result: dict[str, Any]) -> None:
    """The result tells what was written, and claims nothing of what has become of it."""
    told = {key: result[key] for key in ("ok", "error", "reason", "submitted", "text_written", "enter_written")}
    expected = {"ok": False, "error": "interrupted", "reason": "interrupted by restart"}
    assert told == expected | {"submitted": "assumed", "text_written": True, "enter_written": True}, result


@pytest.mark.parametrize("earlier", [False, True], ids=["first prompt", "later prompt"])
async def test_a_swallowed_enter_leaves_a_draft_to_the_next_host(host: FieldHost, earlier: bool) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        if earlier:
            shown.type(handle, b"earlier")
            shown.type(handle, b"\r")
            await until(lambda: prompts(host) == ["earlier"], "an earlier prompt")
            await shown.status(handle, "idle")
        await fault(shown, handle, "swallow-enter=1")
        name = await killed(host, shown, handle)
    async with next_host(host) as shown:
        check(await host.result(name))
        assert shown.sessions[handle].draft
        await is_refused(host, session_id)
        host.kill()
    async with next_host(host) as shown:
        assert shown.sessions[handle].draft
        await is_refused(host, session_id)
        shown.type(handle, b"\r")
        await until(lambda: LEFT in prompts(host), "the text to be submitted by a person")
        await goes_through(host, session_id)
    assert prompts(host) == [*(["earlier"] if earlier else []), LEFT, "the next one"]


async def test_a_draft_that_a_person_clears(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await fault(shown, handle, "swallow-enter=1")
        await killed(host, shown, handle)
    async with next_host(host) as shown:
        await is_refused(host, session_id)
        shown.type(handle, b"\x15")
        await shown.once(lambda: not shown.sessions[handle].draft, "the end of the draft")
        await goes_through(host, session_id)
    assert prompts(host) == ["the next one"]


async def test_what_a_person_types_meanwhile_is_a_draft_beside_it(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await fault(shown, handle, "swallow-enter=1")
        host.ask(session_id, LEFT)
        await enter_is_out(shown, handle)
        shown.type(handle, b"!")
        await shown.once(lambda: shown.sessions[handle].draft, "a person's draft")
        host.kill()
    async with next_host(host) as shown:
        await is_refused(host, session_id, len(LEFT) + 1)
        shown.type(handle, b"\r")
        await until(lambda: prompts(host) == [LEFT + "!"], "both to be submitted by the person")
        await goes_through(host, session_id)


async def test_a_persons_draft_outlives_the_text_that_was_taken(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await fault(shown, handle, "no-busy-edge,no-title,late-transcript=2500")
        host.ask(session_id, LEFT)
        await enter_is_out(shown, handle)
        shown.type(handle, b"mine")
        await shown.once(lambda: shown.sessions[handle].draft, "a person's draft")
        host.kill()
    async with next_host(host) as shown:
        await until(lambda: prompts(host) == [LEFT], "the transcript")
        await shown.once(lambda: shown.sessions[handle].draft, "a person's draft")
        refused = await host.result(host.ask(session_id, "the next one", timeout_ms=3000))
        assert refused["reason"] == reasons.composer_pending(str(len("mine")))


async def test_an_enter_that_was_taken_costs_the_next_prompt_nothing(host: FieldHost) -> None:
    """The CLI shows nothing for a while, then its transcript does: that ends the draft, whichever host reads it."""
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await fault(shown, handle, "no-busy-edge,no-title,late-transcript=2500")
        name = await killed(host, shown, handle)
    async with next_host(host) as shown:
        check(await host.result(name))
        await shown.once(lambda: not shown.sessions[handle].draft, "the end of the draft")
        assert prompts(host) == [LEFT]
        show(shown, handle)
        await shown.once(lambda: handle in shown.output, "what the session printed")
        await fault(shown, handle, "off")
        await goes_through(host, session_id)
    assert prompts(host) == [LEFT, "the next one"]


async def test_a_text_that_the_cli_takes_after_the_kill_ends_the_draft(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown)
        cli.tell((0, "set", {"swallow": 1}))
        await until(lambda: cli.events("set"), "the CLI to be told")
        host.ask(session_id, LEFT)
        await until(lambda: cli.events("enter-ignored"), "the Enter to be swallowed")
        host.kill()
    async with next_host(host) as shown:
        await is_refused(host, session_id)
        cli.tell((0, "enter", None))
        await shown.once(lambda: not shown.sessions[handle].draft, "the end of the draft")
        await goes_through(host, session_id)
    assert cli.submitted == [LEFT, "the next one"]


async def test_a_swallowed_clear_is_a_draft(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await fault(shown, handle, "swallow-enter=1")
        await killed(host, shown, handle, "/clear")
    async with next_host(host) as shown:
        assert shown.sessions[handle].id == session_id
        await is_refused(host, session_id, len("/clear"))
        shown.type(handle, b"\r")
        await shown.once(lambda: shown.sessions[handle].id != session_id, "the new id")
        await goes_through(host, session_id)


async def test_a_plain_terminal_is_not_locked(host: FieldHost) -> None:
    """Nothing would ever show that it took the text."""
    async with page(host) as shown:
        handle = await shown.open(host, "new", "shell", cwd=str(host.project))
        session_id = shown.sessions[handle].id
        await killed(host, shown, handle, "read x; touch taken")
    async with next_host(host) as shown:
        assert not shown.sessions[handle].draft
        host.ask(session_id, "more")
        await until((host.project / "taken").exists, "the next text")


async def test_a_transcript_that_has_grown_by_megabytes_still_shows_the_text(host: FieldHost) -> None:
    """The agent worked on while no host was there: its entry lies far before the window that is read at first."""
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await fault(shown, handle, "no-busy-edge,no-title,late-transcript=1500")
        name = await killed(host, shown, handle)
    await until(lambda: prompts(host) == [LEFT], "the transcript")
    (path,) = (host.root / "agent").glob("projects/*/*.jsonl")
    await until(lambda: "turn_duration" in path.read_text("utf-8"), "the end of its turn")
    answer = next(line for line in path.read_text("utf-8").splitlines() if '"type":"assistant"' in line)
    with path.open("a", encoding="utf-8") as file:
        file.write((answer + "\n") * (3_000_000 // len(answer)))
    async with next_host(host) as shown:
        check(await host.result(name))
        await shown.once(lambda: not shown.sessions[handle].draft, "the end of the draft")
        show(shown, handle)
        await shown.once(lambda: handle in shown.output, "what the session printed")
        await fault(shown, handle, "off")
        await goes_through(host, session_id)


async def test_a_compact_that_the_cli_refuses_is_no_draft(host: FieldHost) -> None:
    """There is nothing to compact: it says so, and records nothing. Its status has moved."""
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await until(
            lambda: all(  # an idle that has lasted is no blip
                time.time() * 1000 - json.loads(path.read_text())["statusUpdatedAt"] > REST_MS
                for path in (host.root / "agent" / "sessions").glob("*.json")
            ),
            "a rest",
        )
        name = host.ask(session_id, "/compact")
        await shown.printed(handle, b"Not enough messages to compact")
        host.kill()
        assert not host.result_path(name).exists()
    async with next_host(host) as shown:
        check(await host.result(name))
        assert not shown.sessions[handle].draft
        await goes_through(host, session_id)


async def test_a_command_whose_enter_was_swallowed_is_a_draft(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id = await agent(host, shown)
        await fault(shown, handle, "swallow-enter=1")
        await killed(host, shown, handle, "/nosuch")
    async with next_host(host):
        await is_refused(host, session_id, len("/nosuch"))
