"""No control character but Enter is ever typed: each is refused before the first byte, the tab alone passes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.stage import SESSION, Stage

from switchboard.common.facts import CliStatus
from switchboard.delivery.typable import acts_as_key
from switchboard.triggers.results import Result

REASON = "the text contains control characters, which a terminal takes as keys; nothing was written"
CONTRACT = "command contains forbidden control characters (\\r \\n \\0 \\x1b)"

BY_CONTRACT = "\r\n\x00\x1b"
"""Refused for its shape already, in the contract's own words."""
TYPED = ["\t", " ", "~", "\xa0", "é", "\u2028", "\u200b", "\U0001f600"]
REFUSED = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in BY_CONTRACT + "\t"]
NAMES = [f"U+{ord(character):04X}" for character in REFUSED]


def has(result: Result, **fields: Any) -> None:
    assert {name: result.get(name) for name in fields} == fields, result


def test_the_table_is_whole() -> None:
    assert len(REFUSED) == 32 + 33 - len(BY_CONTRACT) - 1
    everything = [chr(code) for code in range(0x3000)]
    assert [one for one in everything if acts_as_key(one)] == sorted([*REFUSED, *BY_CONTRACT])


@pytest.mark.parametrize("character", REFUSED, ids=NAMES)
@pytest.mark.parametrize("wait", ["none", "idle"])
async def test_a_command_with_it_is_not_sent(character: str, wait: str) -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    result = await stage.ask({"command": f"a{character}b", "wait": wait})
    has(result, ok=False, error="not sent", reason=REASON, submitted="no", wrote=False, steps_total=1)
    has(result, sessionId=SESSION)
    assert stage.writes == []
    stage.finish()


@pytest.mark.parametrize("character", REFUSED, ids=NAMES)
async def test_a_chain_with_it_in_any_step_is_not_begun(character: str) -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    result = await stage.ask({"chain": [{"command": "one"}, {"command": character}], "wait": "idle"})
    has(result, ok=False, error="not sent", reason=REASON, submitted="no", wrote=False, steps_total=2)
    has(result, sessionId=SESSION, steps=[], steps_completed=0, partial=False)
    assert stage.writes == []
    stage.finish()


@pytest.mark.parametrize("character", TYPED, ids=[f"U+{ord(character):04X}" for character in TYPED])
async def test_any_other_character_is_typed_as_it_is(character: str) -> None:
    stage = Stage()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("\r", after=40, status="busy")
    result = await stage.ask({"command": f"a{character}b"})
    has(result, ok=True, submitted="confirmed")
    assert b"".join(data for _, data in stage.writes) == f"a{character}b\r".encode()
    stage.finish()


@pytest.mark.parametrize("character", BY_CONTRACT)
async def test_what_the_contract_forbids_keeps_its_words(character: str) -> None:
    stage = Stage()
    has(await stage.ask({"command": f"\x07a{character}b"}), error=CONTRACT, reason=None)
    stage.finish()


async def test_it_comes_after_every_row_of_the_contract() -> None:
    stage = Stage()
    has(await stage.ask({"command": "\x07", "timeout_ms": 0}), error="invalid timeout_ms")
    has(await stage.ask({"command": "\x07", "expectedCwd": "/elsewhere"}), targetMismatch=True)
    stage.finish()
