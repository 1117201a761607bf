"""Reported from the field: a person's draft sent along with a prompt, and dialogs that a prompt's Enter answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.field import FieldHost, show
from tests.support.hosting import Page, page, until

from switchboard.delivery import reasons
from switchboard.page import messages

QUIET = {"SWITCHBOARD_TRIGGER_QUIET_MS": "100"}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path, QUIET)
    made.start()
    yield made
    made.clean_up()


SHORT = 250
"""Time limit of a trigger that is to be refused, in milliseconds; longer than the quiet window of these hosts."""

PAYLOADS: list[dict[str, Any]] = [
    {"command": "not now", "wait": "none"},
    {"command": "not now", "wait": "idle"},
    {"chain": [{"command": "not now"}, {"command": "nor this"}]},
    {"key": "Escape"},
]


async def refused(host: FieldHost, session_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Send a trigger that must not be carried out; return its result."""
    result = await host.result(host.ask(session_id, timeout_ms=SHORT, **payload))
    assert result["ok"] is False
    assert (result["error"], result["submitted"], result["wrote"]) == ("not sent", "no", False)
    return result


# --- drafts -----------------------------------------------------------------------------------------------------------

DRAFTS = {
    "typed": (b"half a sentence", 15),
    "cursor-at-home": (b"half a sentence\x01", 15),
    "cursor-at-home-by-key": (b"half a sentence\x1b[H", 15),
    "several-lines": (b"\x1b[200~first line\rsecond line\r\x1b[201~", 23),
    "unfinished-paste": (b"\x1b[200~first line\rsecond", 17),
    "recalled": (b"\x1b[A", 1),
    "not-ascii": ("größer → 你好".encode(), 11),
}


@pytest.mark.parametrize("second_page", [False, True], ids=["own-page", "second-page"])
async def test_03_nothing_is_written_into_a_draft(host: FieldHost, second_page: bool) -> None:
    async with page(host) as shown, page(host) as other:
        await asyncio.gather(
            *(
                _guarded(host, shown, other if second_page else shown, name, keys, length)
                for name, (keys, length) in DRAFTS.items()
            )
        )


async def _guarded(host: FieldHost, shown: Page, typing: Page, name: str, keys: bytes, length: int) -> None:
    handle, session_id, cli = await host.open_script(shown, name)
    if typing is not shown:
        show(typing, handle)
    typing.type(handle, keys)
    await until(lambda: cli.received == keys, "the draft")
    results = [await refused(host, session_id, payload) for payload in PAYLOADS]
    assert {result["reason"] for result in results} == {reasons.composer_pending(str(length))}
    assert cli.received == keys
    # Its author throws it away: the next one goes through, alone.
    away = b"\x1b[201~\x15" if b"\x1b[200~" in keys else b"\x15"
    typing.type(handle, away)
    await until(lambda: cli.received == keys + away, "an empty box")
    result = await host.result(host.ask(session_id, "now then", wait="idle"))
    assert result["submitted"] == "confirmed", result
    assert cli.received == keys + away + b"now then\r"
    assert cli.submitted == ["now then"]


# What an agent keeps in its box although a line break was typed, or what it brings back: the pieces as they are typed,
# how many code points the reason names, and the prompt that its author submits in the end.
KEPT = {
    "backslash-enter": ((b"line1\\", b"\r"), 6, "line1"),
    "backslash-enter-in-one": ((b"line1\\\r",), 6, "line1"),
    "backslash-enter-and-more": ((b"line1\\", b"\r", b"line2"), 11, "line1\nline2"),
    "line-feed": ((b"row1", b"\n"), 5, "row1"),
    "line-feed-and-more": ((b"row1", b"\n", b"row2"), 9, "row1\nrow2"),
    "long-with-enter": ((b"q" * 64 + b"\r",), 65, "q" * 64),
    "longer-with-enter": ((b"q" * 300 + b"\r",), 301, "q" * 300),
    "paste-with-enter": ((b"q" * 900 + b"\r",), 901, f'<pasted_content id="1">\n{"q" * 900}\n\n</pasted_content>'),
    "lines": ((b"a\rb\rc\rd\r",), 8, '<pasted_content id="1">\na\nb\nc\nd\n\n</pasted_content>'),
    "brought-back": ((b"yank me", b"\x15", b"\x19"), 1, "yank me"),
    "undone": ((b"undo me", b"\x15", b"\x1f"), 1, "undo me"),
}


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FieldHost]:
    """One host for all drafts in built-in agents."""
    made = FieldHost(tmp_path_factory.mktemp("agents"), QUIET)
    made.start()
    yield made
    made.clean_up()


def prompts(host: FieldHost, session_id: str) -> list[str]:
    """What was submitted in a built-in agent."""
    paths = (host.root / "agent" / "projects").glob(f"*/{session_id}.jsonl")
    rows = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    return [row["message"]["content"] for row in rows if row.get("promptSource") == "typed"]


@pytest.mark.parametrize(("pieces", "length", "prompt"), KEPT.values(), ids=KEPT)
async def test_03_nothing_is_written_into_what_an_agent_keeps(
    agents: FieldHost, pieces: tuple[bytes, ...], length: int, prompt: str
) -> None:
    async with page(agents) as shown:
        handle = await shown.open(agents)
        session_id = (await shown.status(handle, "idle")).id
        for piece in pieces:
            shown.type(handle, piece)
        await shown.ask(messages.ListSessions)  # answered after all of them: the request comes behind the keys
        for payload in PAYLOADS:
            result = await refused(agents, session_id, payload)
            assert result["reason"] == reasons.composer_pending(str(length))
        assert prompts(agents, session_id) == []
        shown.type(handle, b"\r")
        await until(lambda: prompts(agents, session_id), "the draft as a prompt")
        assert prompts(agents, session_id) == [prompt]
        result = await agents.result(agents.ask(session_id, "now then", wait="idle"))
        assert result["submitted"] == "confirmed", result
        assert prompts(agents, session_id) == [prompt, "now then"]


async def test_03_a_key_with_alt_leaves_nothing_in_the_agents_box(agents: FieldHost) -> None:
    async with page(agents) as shown:
        handle = await shown.open(agents)
        session_id = (await shown.status(handle, "idle")).id
        shown.type(handle, b"\x1bx\x1by\x1b;")
        await shown.ask(messages.ListSessions)  # answered after them
        result = await agents.result(agents.ask(session_id, "now then", wait="idle"))
        assert result["submitted"] == "confirmed", result
        assert prompts(agents, session_id) == ["now then"]


async def test_03_nothing_is_written_right_after_a_keystroke(tmp_path: Path) -> None:
    host = FieldHost(tmp_path, {"SWITCHBOARD_TRIGGER_QUIET_MS": "60000"})
    host.start()
    try:
        async with page(host) as shown:
            handle, session_id, cli = await host.open_script(shown)
            shown.type(handle, b"x\x7f")
            await until(lambda: cli.received == b"x\x7f", "the keys")
            for payload in PAYLOADS:
                result = await refused(host, session_id, payload)
                assert result["reason"].startswith("the last keystroke landed ")
                assert result["reason"].endswith(" ms ago, inside the 60000 ms quiet window")
            assert cli.received == b"x\x7f"
    finally:
        host.clean_up()


async def test_03_keys_between_a_text_and_its_enter_come_after_it(tmp_path: Path) -> None:
    host = FieldHost(tmp_path, {"SWITCHBOARD_TRIGGER_QUIET_MS": "0", "SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "400"})
    host.start()
    try:
        async with page(host) as shown, page(host) as other:
            handle, session_id, cli = await host.open_script(shown)
            show(other, handle)
            name = host.ask(session_id, "from a script")
            await until(lambda: cli.received == b"from a script", "the text")
            shown.type(handle, b"from a ")
            await shown.ask(messages.ListSessions)  # so that the other page's keys come after these
            other.type(handle, b"person")
            result = await host.result(name)
            assert result["submitted"] == "confirmed", result
            await until(lambda: cli.box == "from a person", "the keys")
            assert cli.received == b"from a script\rfrom a person"
            assert cli.submitted == ["from a script"]
            # What they typed is a draft now.
            again = await refused(host, session_id, PAYLOADS[0])
            assert again["reason"] == reasons.composer_pending("13")
    finally:
        host.clean_up()


# --- dialogs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trust", "theme", "login"])
async def test_05_nothing_is_written_before_the_cli_has_reported_itself(host: FieldHost, name: str) -> None:
    """The dialogs that a CLI starts with: no descriptor exists while they are open, and Enter picks "No, exit"."""
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown, dialog=name)
        results = [await refused(host, session_id, payload) for payload in PAYLOADS]
        assert {result["reason"] for result in results} == {reasons.STARTING}
        assert name in reasons.STARTING
        assert shown.sessions[handle].status == "starting"
        assert cli.received == b""
        # A trigger that may wait is carried out once the dialog has been answered.
        waiting = host.ask(session_id, "when you are ready")
        cli.tell((100, "dialog", None))
        result = await host.result(waiting)
        assert result["submitted"] == "confirmed", result
        assert cli.received == b"when you are ready\r"


async def test_05_a_dialog_from_the_start_survives_the_host(host: FieldHost) -> None:
    async with page(host) as shown:
        _, session_id, cli = await host.open_script(shown, dialog="trust")
    host.kill()
    host.start()
    result = await refused(host, session_id, PAYLOADS[0])
    assert result["reason"] == reasons.STARTING
    assert cli.received == b""


async def test_05_the_built_in_agents_trust_dialog(tmp_path: Path) -> None:
    host = FieldHost(tmp_path, QUIET | {"SWITCHBOARD_AGENT_FAULTS": "trust-dialog"})
    host.start()
    try:
        async with page(host) as shown:
            handle = await shown.open(host)
            session_id = shown.sessions[handle].id
            await shown.printed(handle, b"No, exit")
            for payload in PAYLOADS:
                result = await refused(host, session_id, payload)
                assert result["reason"] == reasons.STARTING
            assert shown.sessions[handle].state == "open"
            shown.type(handle, b"\x1b[B\r")  # a digit would do as well, and count as a draft until the next Enter
            await shown.status(handle, "idle")
            result = await host.result(host.ask(session_id, "hello", wait="idle"))
            assert result["submitted"] == "confirmed", result
    finally:
        host.clean_up()


@pytest.mark.parametrize("name", ["permission prompt", "dialog open", "input needed"])
async def test_05_nothing_is_written_into_a_dialog(host: FieldHost, name: str) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown)
        cli.tell((0, "dialog", name))
        await shown.status(handle, "waiting")
        for payload in PAYLOADS:
            result = await refused(host, session_id, payload)
            assert result["reason"] == reasons.DIALOG_OPEN
            assert result["dialog"] == name
        assert cli.received == b""
        assert cli.events("dialog-answered") == []


async def test_05_a_dialog_whose_descriptor_is_lost_stays_a_dialog(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown)
        cli.tell((0, "dialog", "permission prompt"))
        await shown.status(handle, "waiting")
        name = host.ask(session_id, "not now", timeout_ms=SHORT * 3)
        cli.tell((100, "status", None))
        result = await host.result(name)
        assert (result["reason"], result["wrote"]) == (reasons.DIALOG_OPEN, False)
        assert cli.received == b""


async def test_05_a_dialog_between_the_text_and_its_enter_gets_no_enter(tmp_path: Path) -> None:
    environment = {"SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "600", "SWITCHBOARD_SUBMIT_VERIFY_MS": "300"}
    host = FieldHost(tmp_path, QUIET | environment)
    host.start()
    try:
        async with page(host) as shown:
            handle, session_id, cli = await host.open_script(shown)
            name = host.ask(session_id, "too late")
            await until(lambda: cli.received == b"too late", "the text")
            cli.tell((0, "dialog", "permission prompt"))
            result = await host.result(name)
            assert (result["ok"], result["submitted"], result["wrote"]) == (False, "no", True)
            assert result["reason"] == reasons.DIALOG_BEFORE_ENTER
            assert result["dialog"] == "permission prompt"
            assert cli.received == b"too late"
            assert cli.events("dialog-answered") == []
            await shown.once(lambda: shown.sessions[handle].draft, "the text in the box")
    finally:
        host.clean_up()
