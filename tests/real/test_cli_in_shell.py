"""An agent CLI that a person has started in a plain terminal: its dialogs and turns hold as in a session of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.field import FAST, FieldHost
from tests.support.hosting import page, until
from tests.support.scripted_cli import Script

from switchboard.delivery import reasons


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path, FAST)
    made.start()
    yield made
    made.clean_up()


@pytest.mark.parametrize("end", ["exit", "kill"])
async def test_its_status_is_the_terminals_while_it_runs(host: FieldHost, end: str) -> None:
    cli = Script(host.root / "inside")
    program = host.environment["SWITCHBOARD_CLAUDE"]
    async with page(host) as shown:
        handle = await shown.open(host, "shell", "shell", cwd=str(cli.folder))
        info = await shown.status(handle, "running")
        shown.type(handle, f"{program} --session-id its-own\r".encode())
        await shown.status(handle, "idle")
        result = await host.result(host.ask(info.id, "hello", wait="idle"))
        assert (result["submitted"], result["confirm_source"]) == ("confirmed", "descriptor"), result
        await until(lambda: [event["status"] for event in cli.events("status")][-1] == "idle", "the turn's end")
        cli.tell((0, "dialog", "permission prompt"))
        waiting = await shown.status(handle, "waiting")
        assert (waiting.id, waiting.waiting_for, waiting.cli) == (info.id, "permission prompt", "shell")
        for wait in ("none", "idle"):
            held = await host.result(host.ask(info.id, "no answer", wait=wait, timeout_ms=300))
            assert (held["reason"], held["dialog"]) == (reasons.DIALOG_OPEN, "permission prompt"), held
        # A new host finds it there.
        host.terminate()
        host.start()
    async with page(host) as shown:
        await shown.status(handle, "waiting")
        held = await host.result(host.ask(info.id, "no answer", timeout_ms=300))
        assert held["reason"] == reasons.DIALOG_OPEN, held
        if end == "exit":
            cli.tell((0, "exit", 0))
        else:
            (descriptor,) = (host.root / "claude" / "sessions").glob("*.json")
            os.kill(int(descriptor.stem), signal.SIGKILL)
        again = await shown.status(handle, "running")
        assert again.waiting_for is None
    assert cli.submitted == ["hello"]


async def test_a_question_in_a_terminal_is_not_answered_by_a_second_enter(host: FieldHost) -> None:
    folder = host.root / "asks"
    folder.mkdir()
    script = "read text; sleep 0.4; printf 'Go on? [Y/n] '; read answer; touch answered"
    (folder / "install").write_text(script)
    async with page(host) as shown:
        handle = await shown.open(host, "shell", "shell", cwd=str(folder))
        shown.type(handle, b"sh ./install; echo 'all ''over'\r")
        await until(lambda: b"install" in shown.output.get(handle, b""), "the command to be echoed")
        result = await host.result(host.ask(shown.sessions[handle].id, "some package"))
        assert (result["ok"], result["submitted"], result["submit_retries"]) == (True, "assumed", 0), result
        await shown.printed(handle, b"[Y/n]")
        assert not (folder / "answered").exists()
        shown.type(handle, b"y\r")
        await shown.printed(handle, b"all over")
