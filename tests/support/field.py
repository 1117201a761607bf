"""A real host with scripted CLIs in its sessions: what the tests of faults reported from the field start from."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from switchboard.page import messages
from switchboard.page.messages import SessionInfo
from tests.support.hosting import Page, RunningHost, until
from tests.support.scripted_cli import Script, install

GEMINI_TITLES = "\u25c7\u2726"
"""The glyphs of a CLI that is known by its titles alone (profile `gemini`), idle and busy."""

FAST = {
    "SWITCHBOARD_TRIGGER_QUIET_MS": "0",
    "SWITCHBOARD_BUSY_FALL_SETTLE_MS": "50",
    "SWITCHBOARD_SUBMIT_VERIFY_MS": "300",
}
"""Short waits, for tests that send many prompts."""


class FieldHost(RunningHost):
    """A host whose `claude` and `gemini` are the scripted CLI."""

    def __init__(self, root: Path, environment: dict[str, str] | None = None) -> None:
        super().__init__(root, environment)
        programs = root / "bin"
        programs.mkdir()
        self.environment["SWITCHBOARD_CLAUDE"] = str(install(programs, root / "claude"))
        install(programs, root / "claude", "gemini")
        self.environment["PATH"] = f"{programs}:{self.environment['PATH']}"

    async def open_script(
        self, page: Page, name: str = "session", profile: str = "claude", **script: Any
    ) -> tuple[int, str, Script]:
        """Open a session that runs this script, wait until it does, and return its handle and id."""
        if profile == "gemini":
            script = {"publish": False, "titles": GEMINI_TITLES, **script}
        made = Script(self.root / name, **script)
        handle = await page.open(self, "new", profile, cwd=str(made.folder))
        await until(lambda: made.events("ready", "dialog"), f"the start of {name}")
        info: SessionInfo = page.sessions[handle]
        return handle, info.id, made

    def ask(self, session_id: str, command: str | None = None, **fields: Any) -> str:
        """Publish a trigger; return its name."""
        payload = {} if command is None else {"command": command}
        return self.trigger({"sessionId": session_id, **payload, **fields})

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def keeper_pid(self) -> int:
        return int((self.data / "run" / "keeper.lock").read_text())

    @property
    def log(self) -> str:
        return (self.data / "host.log").read_text("utf-8")


def only_enter(received: bytes) -> bool:
    """Whether no control byte other than Enter was received."""
    return not re.search(rb"[\x00-\x0c\x0e-\x1f\x7f]", received)


def show(page: Page, handle: int) -> None:
    """Attach another page to a session, and make it the one in use."""
    page.say(messages.Attach(handle))
    page.say(messages.Focus(handle, 120, 40))


def descriptors(pid: int) -> int:
    """How many file descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def voluntary_switches(pid: int) -> int:
    """How often a process has gone to sleep by itself, over all its threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        text = Path(f"/proc/{pid}/task/{task}/status").read_text()
        total += int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return total


def resident_mb(pid: int) -> float:
    """Private and shared memory that a process holds in RAM now, in MB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("\nVmRSS:")[2].split()[0]) / 1024


async def agent(host: FieldHost, shown: Page) -> tuple[int, str]:
    """Open the built-in agent; return its handle and id."""
    handle = await shown.open(host, "new", "agent")
    await shown.status(handle, "idle")
    return handle, shown.sessions[handle].id


async def fault(shown: Page, handle: int, what: str) -> None:
    """Tell the agent, as a person does, to misbehave."""
    said = len(shown.output[handle])
    shown.type(handle, f"/fault {what}".encode())
    shown.type(handle, b"\r")
    await shown.once(lambda: b"Faults: " in shown.output[handle][said:], "the fault in force")
