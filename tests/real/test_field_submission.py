"""Reported from the field: text that stays in the composer and is called sent, sends that interleave, idle blips."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.field import FAST, FieldHost, only_enter
from tests.support.hosting import Page, page, until
from tests.support.scripted_cli import Script

from switchboard.delivery import reasons


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path, FAST | {"SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "50"})
    made.start()
    yield made
    made.clean_up()


# --- an Enter that is swallowed ---------------------------------------------------------------------------------------

DEAF = {"deaf_ms": 100}


@pytest.mark.parametrize(
    ("profile", "wait", "script", "proven"),
    [
        ("claude", "idle", DEAF, 25),
        ("claude", "none", {**DEAF, "turn_ms": 100, "blip_ms": 10}, 25),
        ("claude", "idle", {"deaf_ms": 50}, 25),
        # Without a descriptor a second Enter never brings more than `activity`.
        ("gemini", "idle", DEAF, 0),
    ],
    ids=["idle", "into turns", "just about in time", "no descriptor"],
)
async def test_01_a_prompt_is_proven_submitted_or_reported_otherwise(
    host: FieldHost, profile: str, wait: str, script: dict[str, Any], proven: int
) -> None:
    """Fifty prompts to a CLI that ignores an Enter soon after text, in five sessions side by side."""
    async with page(host) as shown:
        runs = [_ten_prompts(host, shown, f"s{number}", profile, wait, script) for number in range(5)]
        confirmed = sum(await asyncio.gather(*runs))
    assert confirmed >= proven


async def _ten_prompts(host: FieldHost, shown: Page, name: str, profile: str, wait: str, script: dict[str, Any]) -> int:
    _, session_id, cli = await host.open_script(shown, name, profile, **script)
    texts = [f"prompt {number} to {name};" for number in range(10)]
    results = [await host.result(host.ask(session_id, text, wait=wait, timeout_ms=3000)) for text in texts]
    for text, result in zip(texts, results, strict=True):
        # Where a busy machine has made one look like lost in a turn, the next ones are refused.
        assert result["ok"] == result["wrote"], result
        if result["submitted"] == "confirmed":
            assert cli.submitted.count(text) == 1, (result, cli.submitted, cli.box)
            assert text not in cli.box
    # Nothing was lost or doubled, whatever was claimed of it.
    written = [text for text, result in zip(texts, results, strict=True) if result["wrote"]]
    assert "".join([*cli.submitted, cli.box]) == "".join(written)
    assert only_enter(cli.received)
    return sum(result["submitted"] == "confirmed" for result in results)


async def test_01_a_text_that_a_working_cli_did_not_take_is_not_joined_by_the_next(host: FieldHost) -> None:
    """A second Enter could answer a dialog there, so the text stays: it is reported, and kept apart."""
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown, turn_ms=60_000)
        first = await host.result(host.ask(session_id, "first"))
        assert first["submitted"] == "confirmed", first
        cli.tell((0, "set", {"swallow": 1}))
        await until(lambda: cli.events("set"), "the CLI to be told")
        second = await host.result(host.ask(session_id, "second"))
        assert (second["submitted"], second["reason"]) == ("assumed", reasons.BARE_ENTER_UNSAFE)
        await shown.once(lambda: shown.sessions[handle].draft, "the text in the box")
        third = await host.result(host.ask(session_id, "third", timeout_ms=200))
        assert (third["error"], third["wrote"]) == ("not sent", False), third
        assert third["reason"] == reasons.composer_pending(str(len("second")))
        # Somebody presses Enter at the program itself: its transcript shows the text, and the way is free.
        cli.tell((0, "enter", None))
        fourth = await host.result(host.ask(session_id, "fourth"))
        assert fourth["ok"], fourth
        assert cli.submitted == ["first", "second", "fourth"]
        assert cli.received == b"first\rsecond\rfourth\r"


# --- sends at the same time -------------------------------------------------------------------------------------------


async def test_04_eight_triggers_within_a_millisecond_are_submitted_in_order(host: FieldHost) -> None:
    async with page(host) as shown:
        _, session_id, cli = await host.open_script(shown, turn_ms=30, blip_ms=10)
        _, other_id, other = await host.open_script(shown, "other", turn_ms=30, blip_ms=10)
        texts = [f"request number {number} " + "x" * 700 for number in range(8)]
        names = _at_once(host, [(session_id, text) for text in texts])
        names += _at_once(host, [(other_id, text) for text in texts])
        results = [await host.result(name) for name in names]
        assert all(result["ok"] for result in results)
        for each in (cli, other):
            assert each.submitted == texts
            # An Enter may come twice, where a busy machine kept the CLI from showing that it took the first.
            assert [part for part in each.received.split(b"\r") if part] == [text.encode() for text in texts]
            assert only_enter(each.received)


def _at_once(host: FieldHost, requests: list[tuple[str, str]]) -> list[str]:
    names = []
    for number, (session_id, text) in enumerate(requests):
        name = f"{session_id}-{number}"
        (host.triggers / f"{name}.tmp").write_text(f'{{"sessionId":"{session_id}","command":"{text}"}}', "utf-8")
        names.append(name)
    for name in names:
        os.rename(host.triggers / f"{name}.tmp", host.triggers / f"{name}.json")
    return names


# --- idle for a moment ------------------------------------------------------------------------------------------------

BLIP_MS = 10


def _idle_before(cli: Script, text: str) -> list[float]:
    """For how long each idle had held by the time the text came: 0 for one that had ended by then."""
    came = next(event["at"] for event in cli.events("read") if text in event["data"])
    said = [event for event in cli.events("status") if event["at"] < came]
    return [came - event["at"] if event is said[-1] else 0 for event in said if event["status"] == "idle"]


@pytest.mark.parametrize("profile", ["claude", "gemini"])
async def test_12_no_byte_is_written_in_a_blip(tmp_path: Path, profile: str) -> None:
    """A CLI that says idle for 10 ms, twelve times, between one busy stretch and the next."""
    host = FieldHost(tmp_path, {"SWITCHBOARD_TRIGGER_QUIET_MS": "0"})
    host.start()
    try:
        async with page(host) as shown:
            blips = [(90, "status", "idle"), (BLIP_MS, "status", "busy")] * 12
            steps = [(0, "status", "busy"), *blips, (90, "status", "idle")]
            handle, session_id, cli = await host.open_script(shown, profile=profile, steps=steps)
            await shown.once(lambda: shown.sessions[handle].status == "busy", "busy")
            result = await host.result(host.ask(session_id, "now you are idle", wait="idle"))
            assert result["ok"], result
            assert cli.submitted == ["now you are idle"]
            *blipped, settled = _idle_before(cli, "now you")
            assert settled > 290
            assert blipped == [0] * 13
    finally:
        host.clean_up()


async def test_12_no_step_of_a_chain_is_written_in_a_blip(host: FieldHost) -> None:
    host.environment["SWITCHBOARD_BUSY_FALL_SETTLE_MS"] = "300"
    host.terminate()
    host.start()
    async with page(host) as shown:
        script = {"turn_ms": 900, "blip_ms": BLIP_MS, "turn_blips": [100, 250, 400, 700]}
        _, session_id, cli = await host.open_script(shown, **script)
        result = await host.result(host.ask(session_id, chain=[{"command": "one"}, {"command": "two"}]))
        assert result["ok"], result
        assert cli.submitted == ["one", "two"]
        *blipped, settled = _idle_before(cli, "two")
        assert settled > 290
        assert blipped == [0] * 5
