"""A text that ends in a backslash is not submitted by Enter, which makes a line break of it: refused before a byte."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.stage import SESSION, Stage

from switchboard.clis.profiles import PROFILES
from switchboard.common.facts import CliStatus
from switchboard.delivery.typable import untypable

REASON = "the text ends in a backslash, which makes Enter a line break instead of submitting it; nothing was written"
PROMPT = PROFILES["shell"].typing

REFUSED = ["\\", "text\\", "text\\\\", "text\\\\\\", "text\\\t\t", "!echo a\\", "/compact about\\"]
TAKEN = ["\\ ", "text\\ ", "a\\b", "text\\\u200b", "text\\\t ", "/"]


@pytest.mark.parametrize("command", REFUSED)
@pytest.mark.parametrize("payload", ["command", "chain"])
async def test_it_is_not_sent(command: str, payload: str) -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    asked: dict[str, Any] = {"command": command}
    result = await stage.ask(asked if payload == "command" else {"chain": [{"command": "one"}, asked]})
    told = (result["ok"], result["error"], result["reason"], result["submitted"], result["wrote"], result["sessionId"])
    assert told == (False, "not sent", REASON, "no", False, SESSION)
    assert stage.writes == []


@pytest.mark.parametrize("command", TAKEN)
async def test_a_backslash_elsewhere_is_typed(command: str) -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("\r", after=40, status="busy")
    assert (await stage.ask({"command": command}))["ok"]
    assert stage.typed == f"{command}\r".encode()


@pytest.mark.parametrize("count", range(6))
async def test_in_a_shell_two_backslashes_are_a_quoted_one(count: int) -> None:
    stage = Stage()
    stage.terminal.typing = PROMPT
    result = await stage.ask({"command": "echo a" + "\\" * count})
    assert result["wrote"] is (count % 2 == 0)
    assert result.get("reason") == (REASON if count % 2 else None)


@pytest.mark.parametrize("name", PROFILES)
def test_every_cli_refuses_one(name: str) -> None:
    assert untypable("text\\", PROFILES[name].typing) == REASON
    assert untypable("text\\\\", PROFILES[name].typing) == (None if name == "shell" else REASON)
    assert untypable("text", PROFILES[name].typing) is None


async def test_control_characters_come_first() -> None:
    stage = Stage()
    assert "control characters" in (await stage.ask({"command": "\x07\\"}))["reason"]
