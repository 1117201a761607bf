"""A shell that goes on after its CLI: legacy triggers type nothing into it, and a plain terminal takes what it did.

The CLI is started through a saved command that stays when it has ended and runs a shell, as a login script may do.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosting import Page, RunningHost, page, until

from switchboard.delivery import reasons

STAYS = """#!/bin/sh
"$@"
echo the CLI has ended
exec sh -i
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    made = RunningHost(tmp_path).start()
    yield made
    made.clean_up()


@pytest.fixture
async def shown(host: RunningHost) -> AsyncIterator[Page]:
    async with page(host) as connected:
        yield connected


async def behind_a_script(host: RunningHost, shown: Page) -> tuple[int, str, int]:
    """A session whose CLI runs behind a script that stays; its handle, its id, the CLI's number."""
    script = host.root / "stays"
    script.write_text(STAYS)
    script.chmod(0o755)
    assert host.cli("config", "set", "preLaunchCmd", str(script)).returncode == 0
    handle = await shown.open(host)
    info = await shown.status(handle, "idle")
    (descriptor,) = (host.root / "agent" / "sessions").glob("*.json")
    return handle, info.id, int(descriptor.stem)


def requests(host: RunningHost, session_id: str) -> list[tuple[Path, dict[str, Any]]]:
    """Requests of every kind, and the file that each would make if a shell took it."""
    made = []
    for number, wait in enumerate(("none", "idle")):
        for shape in ("command", "chain"):
            path = host.root / f"typed-{number}-{shape}"
            text = f"touch {path}"
            payload = {"command": text} if shape == "command" else {"chain": [{"command": text}]}
            made.append((path, {"sessionId": session_id, "wait": wait, "timeout_ms": 5000, **payload}))
    return made


@pytest.mark.parametrize("end", ["exit", "kill"])
@pytest.mark.parametrize("restarted", [False, True], ids=["same host", "next host"])
async def test_nothing_is_typed_into_a_shell_that_outlives_its_cli(
    host: RunningHost, shown: Page, end: str, restarted: bool
) -> None:
    handle, session_id, cli = await behind_a_script(host, shown)
    if end == "exit":
        shown.type(handle, b"/exit\r")
    else:
        os.kill(cli, signal.SIGKILL)
    await shown.printed(handle, b"the CLI has ended")
    if restarted:
        host.kill()
        host.start()
    for path, body in requests(host, session_id):
        result = await host.result(host.trigger(body))
        told = {name: result[name] for name in ("ok", "error", "reason", "submitted", "wrote")}
        assert told == {
            "ok": False,
            "error": "target process not running",
            "reason": reasons.OUTLIVED,
            "submitted": "no",
            "wrote": False,
        }
        assert not path.exists()
    escape = await host.result(host.trigger({"sessionId": session_id, "key": "Escape"}))
    assert (escape["error"], escape["wrote"]) == ("target process not running", False)


async def test_a_cli_that_ends_between_the_text_and_its_enter(host: RunningHost, shown: Page) -> None:
    host.kill()
    host.environment["SWITCHBOARD_SUBMIT_ENTER_DELAY_MS"] = "1500"
    host.start()
    async with page(host) as now:
        handle, session_id, cli = await behind_a_script(host, now)
        path = host.root / "typed"
        name = host.trigger({"sessionId": session_id, "command": f"touch {path}"})
        await now.printed(handle, str(path).encode())
        os.kill(cli, signal.SIGKILL)
        result = await host.result(name)
        assert (result["error"], result["reason"]) == ("target process not running", reasons.OUTLIVED)
        assert (result["text_written"], result["enter_written"], result["submitted"]) == (True, False, "no")
        assert not path.exists()


async def test_a_cli_that_is_started_there_again_takes_triggers_again(host: RunningHost, shown: Page) -> None:
    handle, session_id, _cli = await behind_a_script(host, shown)
    first = await host.result(host.trigger({"sessionId": session_id, "command": "hello", "wait": "idle"}))
    assert first["submitted"] == "confirmed"
    await shown.status(handle, "idle")
    shown.type(handle, b"/exit\r")
    await shown.printed(handle, b"the CLI has ended")
    refused = await host.result(host.trigger({"sessionId": session_id, "command": "no"}))
    assert refused["error"] == "target process not running"
    shown.type(handle, f"{sys.executable} -m switchboard.cli.main agent --resume {session_id}".encode())
    await shown.printed(handle, session_id.encode())
    shown.type(handle, b"\r")
    folder = host.root / "agent" / "sessions"
    await until(lambda: any("idle" in path.read_text() for path in folder.glob("*.json")), "the CLI in the shell")
    again = await host.result(host.trigger({"sessionId": session_id, "command": "welcome back", "wait": "idle"}))
    assert again["submitted"] == "confirmed", again


async def test_a_plain_terminal_takes_what_it_is_sent(host: RunningHost, shown: Page) -> None:
    """It was opened as a shell, so a shell is what a trigger for it is meant for, before and after a CLI in it."""
    handle = await shown.open(host, "shell", "shell")
    info = await shown.status(handle, "running")
    for number in range(2):
        path = host.root / f"made-{number}"
        result = await host.result(host.trigger({"sessionId": info.id, "command": f"touch {path}"}))
        assert (result["ok"], result["enter_written"]) == (True, True)
        await until(path.exists, "the command to be run")
