"""The built-in agent in a real terminal, with a screen to read and files to look at."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyte

COLUMNS, ROWS = 100, 40
DEADLINE_S = 30

# The child makes the terminal its own before it becomes the agent.
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "switchboard.agent", *sys.argv[1:]])
"""

_TITLE = re.compile(rb"\x1b\]0;([^\x07]*)\x07")


class AgentTerminal:
    """One agent process on a pseudo-terminal. Waits end at what they wait for, or fail at a deadline."""

    def __init__(self, folder: Path, *arguments: str, env: Mapping[str, str] | None = None, faults: str = "") -> None:
        self.home = folder / "home"
        self.cwd = folder / "work"
        self.cwd.mkdir(exist_ok=True)
        self.raw = bytearray()
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TERM": "xterm-256color",
            "SWITCHBOARD_AGENT_HOME": str(self.home),
            "SWITCHBOARD_AGENT_FAULTS": faults,
            **{name: os.environ[name] for name in ("SWITCHBOARD_TEST_MARK", "PYTHONPATH") if name in os.environ},
            **(env or {}),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self.cwd,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)

    # -- what goes in

    def send(self, data: str | bytes) -> None:
        """One write."""
        data = data.encode() if isinstance(data, str) else data
        while data:
            data = data[os.write(self.master, data) :]

    def submit(self, text: str) -> None:
        """Text, then Enter as its own write once the text is in the box."""
        before = self.shown.count(text)
        self.send(text)
        self.wait(lambda: self.shown.count(text) > before, f"{text!r} in the box")
        self.send("\r")

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # -- what comes out

    @property
    def shown(self) -> str:
        """The screen as text."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def titles(self) -> list[str]:
        """Every title that was set, without the name."""
        return [title.decode()[:1] for title in _TITLE.findall(bytes(self.raw))]

    @property
    def descriptor(self) -> dict[str, Any] | None:
        """What the descriptor says; None while there is none or it is half written."""
        try:
            fields: dict[str, Any] = json.loads(self.descriptor_path.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return fields

    @property
    def descriptor_path(self) -> Path:
        return self.home / "sessions" / f"{self.process.pid}.json"

    @property
    def status(self) -> str | None:
        return (self.descriptor or {}).get("status")

    @property
    def session_id(self) -> str:
        assert self.descriptor is not None
        return str(self.descriptor["sessionId"])

    def rows(self, session_id: str | None = None) -> list[dict[str, Any]]:
        """The transcript of a conversation, of the current one by default; empty while there is none."""
        found = list(self.home.glob(f"projects/*/{session_id or self.session_id}.jsonl"))
        return [json.loads(line) for path in found for line in path.read_text("utf-8").splitlines()]

    def prompts(self, session_id: str | None = None) -> list[str]:
        """What was typed, as the transcript has it."""
        return [row["message"]["content"] for row in self.rows(session_id) if row.get("promptSource") == "typed"]

    # -- waiting

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Go on reading the terminal until `condition` holds."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"no {what} within {DEADLINE_S} s; the screen:\n{self.shown}")
            self.read(0.01)

    def wait_shown(self, text: str) -> None:
        self.wait(lambda: text in self.shown, f"{text!r} on the screen")

    def wait_status(self, status: str) -> None:
        self.wait(lambda: self.status == status, f"status {status}")

    def wait_ready(self) -> None:
        """The box is there and the agent is idle."""
        self.wait_shown("Enter sends")
        self.wait_status("idle")

    def wait_exit(self) -> int:
        """The exit code, negative for a signal."""
        self.wait(lambda: self.process.poll() is not None, "exit")
        self.read(0.01)
        assert self.process.returncode is not None
        return self.process.returncode

    def read(self, seconds: float) -> None:
        """Take what the agent prints within that time."""
        if not select.select([self.master], [], [], seconds)[0]:
            return
        try:
            data = os.read(self.master, 65_536)
        except OSError:
            time.sleep(seconds)  # nobody holds the terminal any more; what is waited for may still come
            return
        self.raw += data
        self._stream.feed(data)

    # -- its end

    def close(self) -> None:
        """End the agent, whatever it does, and let go of the terminal."""
        if self.process.poll() is None:
            # As Stop does; it takes the commands that the agent has started along.
            self.process.send_signal(signal.SIGHUP)
            try:
                self.process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def hang_up(self) -> None:
        """Close the master side."""
        os.close(self.master)
        self.master = -1
