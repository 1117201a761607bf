"""Requests to a plain terminal: no second Enter, which could answer a question, and nothing of it proves anything."""

from __future__ import annotations

from tests.support.stage import Stage

from switchboard.clis.profiles import PROFILES
from switchboard.common.facts import CliStatus
from switchboard.delivery import reasons


def shell() -> Stage:
    stage = Stage()
    stage.terminal.typing = PROFILES["shell"].typing
    return stage


async def test_an_enter_without_effect_is_not_repeated() -> None:
    stage = shell()
    result = await stage.ask({"command": "install"})
    assert stage.writes == [(0, b"install"), (50, b"\r")]
    told = (result["ok"], result["submitted"], result["submit_retries"], result.get("reason"))
    assert told == (True, "assumed", 0, None)
    assert (await stage.ask({"command": "next"}))["wrote"], "a shell that says nothing is not locked"


async def test_a_terminal_that_becomes_busy_is_no_proof() -> None:
    stage = shell()
    stage.when("\r", after=5, busy=True)
    result = await stage.ask({"command": "make"})
    assert (result["submitted"], result.get("submit_confirmed")) == ("activity", None)


async def test_a_chain_goes_on_without_proof() -> None:
    stage = shell()
    result = await stage.ask({"chain": [{"command": "one"}, {"command": "two"}]})
    assert (result["ok"], result["unconfirmed_steps"], stage.typed) == (True, [0, 1], b"one\rtwo\r")


async def test_the_status_of_a_cli_in_it_proves() -> None:
    stage = shell()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("\r", after=5, status="busy")
    result = await stage.ask({"command": "hello"})
    assert (result["submitted"], result["confirm_source"]) == ("confirmed", "descriptor")


async def test_a_dialog_of_a_cli_in_it_holds() -> None:
    stage = shell()
    stage.show(status=CliStatus("waiting", stage.stamp(-9000), "permission prompt"))
    result = await stage.ask({"command": "hello", "timeout_ms": 1000})
    assert (result["reason"], result["dialog"], stage.writes) == (reasons.DIALOG_OPEN, "permission prompt", [])


async def test_a_step_that_a_working_cli_in_it_did_not_take_ends_the_chain() -> None:
    stage = shell()
    stage.show(status=CliStatus("idle", stage.stamp(-9000)))
    stage.when("\r", after=0, status=CliStatus("busy", None))
    result = await stage.ask({"chain": [{"command": "one"}, {"command": "two"}]})
    assert result["reason"] == reasons.step_recovery_withheld("0", reasons.BARE_ENTER_UNSAFE)
