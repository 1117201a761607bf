"""`switchboard demo`: a guided tour with the built-in agent in a throw-away folder."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from switchboard.cli.demo_guard import DOWN_SECONDS, KEEPER_SECONDS, TERM_SECONDS, Guard
from switchboard.cli.triggers import TriggerFolderError, wait_result, write_trigger
from switchboard.common.paths import host_socket, runtime_folder
from switchboard.common.system_clock import SystemClock
from switchboard.page import messages
from switchboard.page.local_client import HostUnavailable
from switchboard.page.local_connection import LocalConnection, connect
from switchboard.page.messages import HostMessage, SessionInfo
from switchboard.sessions.keeper_start import end_keeper

SECONDS = 30.0
"""Nothing in the tour takes longer; a step that does is reported as a fault."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

ESCAPE = b"\x1b"
CLEAR = b"\x15"


class DemoError(Exception):
    """A step of the tour did not go as it must."""


def main(argv: Sequence[str]) -> int:
    """Return 0 when every step went as it must, 1 otherwise."""
    parser = argparse.ArgumentParser(
        prog="switchboard demo",
        description="A tour with the built-in agent: a host, a session, and triggers while the agent is busy, while a "
        "draft is half typed and while a dialog is open. On a terminal it then stays for you to try; it leaves nothing "
        "behind.",
    )
    parser.add_argument("--no-watch", action="store_true", help="end after the tour, also on a terminal")
    options = parser.parse_args(argv)
    stay = not options.no_watch and sys.stdin.isatty() and sys.stdout.isatty()
    before = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    try:
        return _run(stay)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, _frame: object) -> None:
    """End the tour. A signal, or a second one, must not leave the host and its folder behind."""
    _ignore_signals()
    print("\nswitchboard demo: cleaning up, a moment ...", file=sys.stderr, flush=True)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _ignore_signals() -> None:
    # What is started from here on inherits this: a terminal sends Ctrl-C to all that runs in it.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _run(stay: bool) -> int:
    folder = Path(tempfile.mkdtemp(prefix="switchboard-demo-"))
    host = _Host(folder)
    guard: Guard | None = None
    try:
        guard = Guard(str(folder), host.environment, host.temporary)
        host.told = guard.started
        host.start()
        session = asyncio.run(_tour(host))
        if stay:
            host.watch(session)
    except (DemoError, HostUnavailable, TriggerFolderError, OSError) as error:
        print(f"switchboard demo: {error}", file=sys.stderr)
        return 1
    finally:
        _ignore_signals()
        host.end()
        shutil.rmtree(folder, ignore_errors=True)
        if guard is not None:
            guard.dismiss()
    return 0


class _Host:
    """The tour's host: everything it writes is below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.triggers = folder / "triggers"
        self.environment = os.environ | {
            "SWITCHBOARD_DATA_DIR": str(folder / "data"),
            "SWITCHBOARD_TRIGGERS_DIR": str(self.triggers),
            "SWITCHBOARD_AGENT_HOME": str(folder / "agent"),
            "CLAUDE_CONFIG_DIR": str(folder / "claude"),
            # A person's pause of 3 s would make the tour long.
            "SWITCHBOARD_TRIGGER_QUIET_MS": "500",
        }
        self.temporary = os.path.realpath(tempfile.gettempdir())
        self._runtime = runtime_folder(str(folder / "data"), os.geteuid(), self.temporary)
        self.socket = host_socket(self._runtime)
        self._process: subprocess.Popen[str] | None = None
        self.told: Callable[[int], None] = lambda _pid: None
        """Is told of each process that goes on when the tour is killed."""

    def start(self) -> None:
        """Start the host and say what it says."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "switchboard.cli.main", "up", "--no-open"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C is for the tour: the host must still be there to end its sessions.
            start_new_session=True,
        )
        self.told(self._process.pid)
        assert self._process.stdout is not None
        line = self._process.stdout.readline().rstrip()
        if "ready" not in line:
            raise DemoError(f"the host did not start{line and f': {line}'}")
        print(line, flush=True)

    def kill(self) -> None:
        """End the host as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._wait()

    def watch(self, session: str) -> None:
        """Hand the terminal to the terminal page."""
        self._say_address()
        print("\nYour turn: this is the session. Ctrl-] l shows the list, q there leaves and cleans up.", flush=True)
        page = subprocess.Popen(
            [sys.executable, "-P", "-m", "switchboard.cli.main", "watch", session], env=self.environment
        )
        self.told(page.pid)
        page.wait()

    def _say_address(self) -> None:
        """Print an address of the browser page that works now, if there is a page."""
        asked = subprocess.run(
            [sys.executable, "-P", "-m", "switchboard.cli.main", "url"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        if asked.returncode == 0:
            print(f"\nIn a browser, within two minutes: {asked.stdout.strip()}", flush=True)

    def end(self) -> None:
        """End host, sessions and keeper."""
        if self._process is not None:
            if self._process.poll() is None:
                self._end_host(self._process)
            self._wait()
        # Also of a host that was killed or did not start: its sessions would go on for ever in a folder that is gone.
        end_keeper(self._runtime, KEEPER_SECONDS)

    def _end_host(self, process: subprocess.Popen[str]) -> None:
        with suppress(subprocess.TimeoutExpired):
            told = subprocess.run(
                [sys.executable, "-P", "-m", "switchboard.cli.main", "down", "--sessions"],
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=DOWN_SECONDS,
                check=False,
            )
            if told.returncode == 0:
                process.wait(DOWN_SECONDS)
        if process.poll() is None:  # also one that has not finished starting, which nobody can tell
            process.terminate()
            try:
                process.wait(TERM_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def _wait(self) -> None:
        assert self._process is not None
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None


@dataclass
class _Page:
    """The tour's page: knows the sessions, types as a person would."""

    sessions: dict[int, SessionInfo] = field(default_factory=dict)
    answers: list[messages.Done] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    connection: LocalConnection | None = None

    def message(self, message: HostMessage) -> None:
        if isinstance(message, messages.Sessions):
            self.sessions = {info.handle: info for info in message.sessions if info.handle is not None}
        elif isinstance(message, messages.SessionChanged) and message.session.handle is not None:
            self.sessions[message.session.handle] = message.session
        elif isinstance(message, messages.Done):
            self.answers.append(message)
        self.news.set()

    def output(self, session: int, seq: int, data: bytes) -> None:
        """The tour shows results, not screens."""

    def congested(self, full: bool) -> None:
        """The tour types little."""

    def lost(self, reason: str | None) -> None:
        self.connection = None
        self.news.set()

    async def connect(self, socket: str) -> None:
        self.connection = await connect(socket, self)
        await self.until(lambda: bool(self.sessions) or self.connection is not None, "a connection")
        self.connection.ready()

    async def open(self, project: Path) -> SessionInfo:
        assert self.connection is not None
        self.answers.clear()
        self.connection.send(messages.OpenSession(1, "new", "agent", cwd=str(project), name="Tour"))
        await self.until(lambda: bool(self.answers), "the session")
        done = self.answers[0]
        if done.session is None or done.session.handle is None:
            raise DemoError(f"{done.reason}: {done.detail}")
        self.sessions.setdefault(done.session.handle, done.session)
        return done.session

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for news until the condition holds."""
        try:
            async with asyncio.timeout(SECONDS):
                while not condition():
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise DemoError(f"waited {SECONDS:g} s in vain for {what}") from None

    async def status(self, handle: int, *words: str) -> None:
        await self.until(
            lambda: handle in self.sessions and self.sessions[handle].status in words, f"the agent to be {words[0]}"
        )

    def type(self, handle: int, data: bytes) -> None:
        assert self.connection is not None
        self.connection.type(handle, data)


async def _tour(host: _Host) -> str:
    page = _Page()
    await page.connect(host.socket)
    session = await page.open(host.project)
    handle = session.handle
    assert handle is not None
    await page.status(handle, "idle")
    print(f"A page is connected, and the built-in agent runs as session {session.id}.", flush=True)

    def trigger(**fields: Any) -> str:
        return write_trigger(str(host.triggers), {"sessionId": session.id, **fields})

    first = trigger(command="Hello, what can you do?", wait="idle")
    await _result(host, first, "An idle agent: typed, entered, and the turn it started is the proof.", ok=True)

    await page.status(handle, "idle")
    page.type(handle, b"[slow 2s] Something that takes a while\r")
    await page.status(handle, "busy")
    busy = trigger(command="And now this, please", wait="idle")
    await _result(host, busy, "A busy agent: the trigger waited for the turn to end.", ok=True)

    await page.status(handle, "idle")
    page.type(handle, b"half a sente")
    await page.until(lambda: page.sessions[handle].draft, "the draft")
    draft = trigger(command="Never mixed into your draft", wait="idle", timeout_ms=1500)
    await _result(host, draft, "A half-typed draft: nothing was typed over it.", ok=False)
    page.type(handle, CLEAR)

    await page.status(handle, "idle")
    page.type(handle, b"[ask touch approved] May I?\r")
    await page.status(handle, "waiting")
    dialog = trigger(command="Not an answer to the dialog", timeout_ms=1500)
    await _result(host, dialog, "An open dialog: no key was pressed, so nothing was approved.", ok=False)
    page.type(handle, ESCAPE)

    await page.status(handle, "idle")
    host.kill()
    print("\nThe host was just killed. The session goes on without it; another host adopts it:", flush=True)
    host.start()
    page = _Page()
    await page.connect(host.socket)
    await page.status(handle, "idle")
    after = trigger(command="Still there?", wait="idle")
    await _result(host, after, "The same process under the next host.", ok=True)
    assert page.connection is not None
    await page.connection.leave(SystemClock())
    return session.id


async def _result(host: _Host, trigger_id: str, sentence: str, ok: bool) -> None:
    result = await asyncio.to_thread(wait_result, str(host.triggers), trigger_id, SECONDS, True)
    if result is None:
        raise DemoError(f"no result of {trigger_id} within {SECONDS:g} s")
    print(f"\n{sentence}\n{json.dumps(result, indent=2)}", flush=True)
    if result.get("ok") is not ok:
        raise DemoError("this result is not what this step is there to show")
