"""A real host with a real keeper, used as a person and a script use it: the commands, and files in the trigger folder.

Only opening a session goes over the host's local socket, as the terminal page does it: there is no command for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from switchboard.cli.reach import socket_path
from switchboard.page.local_client import request
from switchboard.page.messages import Done, OpenSession
from tests.real_cli.home import RealHome

T = TypeVar("T")

_SWITCHBOARD: Final = [sys.executable, "-m", "switchboard.cli.main"]
_READY_WITHIN_S: Final = 20
_LOOK_AGAIN_S: Final = 0.02


@dataclass
class RealHost:
    """`environment` is that of the host and of the commands. Leaving the context ends sessions, host and keeper."""

    environment: Mapping[str, str]
    triggers: Path
    data: Path
    process: subprocess.Popen[str] = field(init=False)

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [*_SWITCHBOARD, "up", "--no-open"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            self._await_ready()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self.process.poll() is None:
                ended = self.command("down", "--sessions")
                assert ended.returncode == 0, ended.stderr + self.log()
                self.process.wait(10)
        finally:
            self._end()

    def _await_ready(self) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], _READY_WITHIN_S)
        line = self.process.stdout.readline() if ready else ""
        assert line.startswith("Switchboard is ready: "), line + self.log()

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def log(self) -> str:
        path = self.data / "host.log"
        return path.read_text() if path.exists() else "(no log)"

    # -- what a page does ---------------------------------------------------------------------------------------

    def open(self, cwd: Path) -> dict[str, Any]:
        """Open a new session of Claude Code and return it as `switchboard ls --json` shows it."""
        done = request(socket_path(self.environment), OpenSession(1, "new", profile="claude", cwd=str(cwd)), 20)
        assert isinstance(done, Done), done
        assert done.ok, done
        assert done.session is not None, done
        return self.session(done.session.id)

    def set(self, key: str, value: str) -> None:
        """Save a setting for every project (`permissionMode` null: the CLI's own settings decide, here: it asks)."""
        done = self.command("config", "set", key, value)
        assert done.returncode == 0, done.stderr

    # -- what a script does -------------------------------------------------------------------------------------

    def command(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*_SWITCHBOARD, *arguments],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def sessions(self) -> list[dict[str, Any]]:
        done = self.command("ls", "--json")
        assert done.returncode == 0, done.stderr
        listed: list[dict[str, Any]] = json.loads(done.stdout)
        return listed

    def session(self, session_id: str) -> dict[str, Any]:
        (found,) = [session for session in self.sessions() if session["id"] == session_id]
        return found

    def send(self, session_id: str, text: str, *options: str) -> tuple[int, dict[str, Any]]:
        """`switchboard send` with the text on standard input: its exit code and the result that it prints."""
        done = self.command("send", session_id, "-", "--quiet", *options, stdin=text)
        assert done.stdout, done.stderr + self.log()
        return done.returncode, json.loads(done.stdout)

    def drop(self, body: Mapping[str, Any], seconds: float = 40) -> dict[str, Any]:
        """Publish a trigger and return its result."""
        return self.result(self.publish(body), seconds)

    def publish(self, body: Mapping[str, Any]) -> str:
        """Put a trigger file into the folder as a script does (written aside, renamed); return its name."""
        name = str(uuid.uuid4())
        aside = self.triggers / f".{name}.tmp"
        aside.write_text(json.dumps(body))
        aside.rename(self.triggers / f"{name}.json")
        return name

    def has_result(self, name: str) -> bool:
        return (self.triggers / "processed" / f"{name}.result.json").exists()

    def result(self, name: str, seconds: float = 40) -> dict[str, Any]:
        until("a result", lambda: self.has_result(name), seconds, self.log)
        value: dict[str, Any] = json.loads((self.triggers / "processed" / f"{name}.result.json").read_text())
        # The request goes once its result is there for good.
        until("the request's removal", lambda: not (self.triggers / f"{name}.json").exists(), explain=self.log)
        return value


def until(what: str, predicate: Callable[[], T | None], seconds: float = 20, explain: Callable[[], str] = str) -> T:
    """The first true value of `predicate`. For effects in files of other programs; raises AssertionError."""
    deadline = time.monotonic() + seconds
    while not (value := predicate()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s\n{explain()}"
        time.sleep(_LOOK_AGAIN_S)
    return value


def idle(host: RealHost, home: RealHome) -> dict[str, Any]:
    """A new session at its first idle."""
    session = host.open(home.project)
    until_status(host, home, session, "idle")
    return session


def until_status(host: RealHost, home: RealHome, session: dict[str, Any], status: str) -> dict[str, Any]:
    """The session's descriptor as soon as it says `status`."""

    def reached() -> dict[str, Any] | None:
        descriptor = home.descriptor(session["pid"])
        return descriptor if descriptor and descriptor.get("status") == status else None

    return until(f"status {status}", reached, explain=host.log)


def end(pid: int) -> None:
    """SIGTERM, as `kill` sends it."""
    os.kill(pid, signal.SIGTERM)


@contextlib.contextmanager
def stalled(pid: int, seconds: float) -> Iterator[None]:
    """The process does nothing for that long from now on, as on a machine that is busy elsewhere."""
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(seconds, os.kill, [pid, signal.SIGCONT])
    timer.start()
    try:
        yield
    finally:
        timer.join()


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[Callable[[], int]]:
    """The process does nothing meanwhile, so that whatever is typed stays unread. Gives the number of such bytes."""
    terminal = os.open(f"/proc/{pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
    asked = select.poll()
    asked.register(terminal, select.POLLIN)

    def unread() -> int:
        asked.poll(0)  # the kernel brings a write to this side when it is asked, or a little later
        return int(struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))[0])

    os.kill(pid, signal.SIGSTOP)
    try:
        yield unread
    finally:
        os.kill(pid, signal.SIGCONT)
        os.close(terminal)
