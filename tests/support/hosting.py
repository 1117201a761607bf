"""A real host in a process of its own, in folders of its own, and a page that tests drive."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from switchboard.common.frames import BINARY, TEXT, FrameReader, encode_frame
from switchboard.common.paths import host_socket
from switchboard.host.instance import read_record, runtime_folder_of
from switchboard.page import messages
from switchboard.page.messages import HostMessage, PageMessage, SessionInfo

DEADLINE = 20.0
"""Seconds that anything in these tests may take. They wait for events; only a failure takes so long."""


class RunningHost:
    """A host with its own data, trigger and agent folders below `root`. Start and stop it as often as needed."""

    launcher: tuple[str, ...] = ()
    """A program, with arguments, that starts the host."""

    options: tuple[str, ...] = ()
    """What else `switchboard up` is told."""

    def __init__(self, root: Path, environment: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.data = root / "data"
        self.triggers = root / "triggers"
        self.project = root / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        (root / "home").mkdir(exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "SWITCHBOARD_DATA_DIR": str(self.data),
            "SWITCHBOARD_TRIGGERS_DIR": str(self.triggers),
            "SWITCHBOARD_AGENT_HOME": str(root / "agent"),
            "CLAUDE_CONFIG_DIR": str(root / "claude"),
            "SWITCHBOARD_TRIGGER_QUIET_MS": "300",
            **(environment or {}),
        }
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> RunningHost:
        """Start the host and return once it says that it is ready."""
        self.process = subprocess.Popen(
            [*self.launcher, sys.executable, "-m", "switchboard.cli.main", "up", "--no-open", *self.options],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if "ready" not in line:
            _, errors = self.process.communicate(timeout=DEADLINE)
            raise AssertionError(f"the host did not start: {line}{errors}")
        return self

    @property
    def socket(self) -> str:
        return host_socket(runtime_folder_of(str(self.data)))

    def cli(self, *arguments: str, timeout: float = DEADLINE, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of `switchboard` and return what it said."""
        return subprocess.run(
            [sys.executable, "-m", "switchboard.cli.main", *arguments],
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def sessions(self) -> list[dict[str, Any]]:
        """What `switchboard ls --json` says."""
        listed = self.cli("ls", "--json")
        assert listed.returncode == 0, listed.stderr
        return list(json.loads(listed.stdout))

    def trigger(self, body: Any, name: str | None = None) -> str:
        """Publish a trigger by renaming it in; return its name without the ending."""
        name = name or str(uuid.uuid4())
        temporary = self.triggers / f".{name}.tmp"
        temporary.write_text(body if isinstance(body, str) else json.dumps(body), "utf-8")
        temporary.rename(self.triggers / f"{name}.json")
        return name

    def result_path(self, name: str) -> Path:
        return self.triggers / "processed" / f"{name}.result.json"

    async def result(self, name: str, seconds: float = DEADLINE) -> dict[str, Any]:
        """Wait for a trigger's result."""
        path = self.result_path(name)
        await until(path.exists, f"result of {name}", seconds)
        return dict(json.loads(path.read_text("utf-8")))

    def kill(self) -> None:
        """End the host as `kill -9` does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(DEADLINE)
        self._close_pipes()

    def terminate(self) -> float:
        """End the host with SIGTERM; return how many seconds it took."""
        assert self.process is not None
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(DEADLINE)
        self._close_pipes()
        return time.monotonic() - begin

    def _close_pipes(self) -> None:
        assert self.process is not None
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.process = None

    def clean_up(self) -> None:
        """End everything: sessions by force, the host, and with it the keeper."""
        if self.process is None and (self.data / "run" / "keeper.sock").exists():
            with contextlib.suppress(AssertionError):
                self.start()
        if self.process is None:
            return
        if self.process.poll() is None:
            with contextlib.suppress(OSError, AssertionError, subprocess.TimeoutExpired, ValueError):
                # A keeper keeps an exit that no host has seen for the next host: wait until this one has.
                while running := [session for session in self.sessions() if session["state"] == "open"]:
                    for session in running:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(session["pid"], signal.SIGKILL)
            self.terminate()
        else:
            self._close_pipes()
        keeper = self.data / "run" / "keeper.sock"
        deadline = time.monotonic() + DEADLINE
        while keeper.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not keeper.exists(), "the keeper did not end"
        assert read_record(str(self.data)) is None


async def until(condition: Callable[[], Any], what: str, seconds: float = DEADLINE) -> Any:
    """Wait for something outside this process that gives no event; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for: {what}")
        await asyncio.sleep(0.01)


class Page:
    """A page's connection. Collects what the host says; `output[handle]` is what a session printed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.said: list[HostMessage] = []
        self.sessions: dict[int, SessionInfo] = {}
        self.closed: list[SessionInfo] = []
        self.output: dict[int, bytearray] = {}
        self.next_seq: dict[int, int] = {}
        self.gaps: list[str] = []
        self.ended = False
        self.news = asyncio.Event()
        self.requests = 0

    def say(self, message: PageMessage) -> None:
        self.writer.write(encode_frame(TEXT, messages.encode(message)))

    def type(self, handle: int, data: bytes) -> None:
        for frame in messages.encode_inputs(handle, data):
            self.writer.write(encode_frame(BINARY, frame))

    async def ask(self, make: Callable[[int], PageMessage]) -> Any:
        """Send a request and return its answer."""
        self.requests += 1
        number = self.requests
        self.say(make(number))
        return await self.heard(
            lambda message: isinstance(message, (messages.Done, messages.Listing)) and message.request == number,
            f"answer to request {number}",
        )

    async def heard(self, wanted: Callable[[HostMessage], bool], what: str) -> Any:
        return await self.once(lambda: next((message for message in self.said if wanted(message)), None), what)

    async def once(self, condition: Callable[[], Any], what: str, seconds: float = DEADLINE) -> Any:
        """Wait until what the host has said makes `condition` true."""
        try:
            async with asyncio.timeout(seconds):
                while not (value := condition()):
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"waited {seconds:g} s in vain for: {what}; heard {self.said[-5:]}") from None
        return value

    async def printed(self, handle: int, text: bytes) -> None:
        await self.once(lambda: text in self.output.get(handle, b""), f"{text!r} in the output")

    async def status(self, handle: int, *words: str) -> SessionInfo:
        found: SessionInfo = await self.once(
            lambda: (info := self.sessions.get(handle)) and info.status in words and info,
            f"status {words}, has {self.sessions.get(handle)}",
        )
        return found

    async def open(self, host: RunningHost, mode: str = "new", profile: str = "agent", **fields: Any) -> int:
        """Open a session in the host's project, show it, and return its handle."""
        fields.setdefault("cwd", str(host.project))
        done = await self.ask(lambda number: messages.OpenSession(number, mode, profile, **fields))  # type: ignore[arg-type]  # texts of a table
        assert done.ok, done
        self.sessions.setdefault(done.session.handle, done.session)
        self.say(messages.Attach(done.session.handle))
        self.say(messages.Focus(done.session.handle, 120, 40))
        return int(done.session.handle)

    async def receive(self) -> None:
        frames = FrameReader(64 * 1024 * 1024)
        while data := await self.reader.read(1 << 18):
            for kind, body in frames.feed(data):
                if kind == BINARY:
                    self._output(*messages.decode_output(body))
                else:
                    self._message(messages.decode_from_host(body))
            self.news.set()
        self.ended = True
        self.news.set()

    def _output(self, handle: int, seq: int, data: bytes) -> None:
        if self.next_seq.get(handle, seq) != seq:
            self.gaps.append(f"session {handle}: byte {self.next_seq[handle]} expected, {seq} came")
        self.next_seq[handle] = seq + len(data)
        self.output.setdefault(handle, bytearray()).extend(data)

    def _message(self, message: HostMessage) -> None:
        self.said.append(message)
        match message:
            case messages.Ping(number=number):
                self.say(messages.Pong(number))
            case messages.Sessions(sessions=listed):
                self.sessions = {info.handle: info for info in listed if info.handle is not None}
                self.closed = [info for info in listed if info.handle is None]
            case messages.SessionChanged(session=info) if info.handle is not None:
                self.sessions[info.handle] = info
            case messages.SessionGone(session=handle):
                self.sessions.pop(handle, None)
            case messages.Attached(session=handle, seq=seq) | messages.Resync(session=handle, seq=seq):
                self.next_seq[handle] = seq
            case _:
                pass


@asynccontextmanager
async def page(host: RunningHost, kind: str = "terminal", ready: bool = True) -> AsyncIterator[Page]:
    """Connect a page to a running host."""
    reader, writer = await asyncio.open_unix_connection(host.socket)
    connected = Page(reader, writer)
    connected.say(messages.Hello(messages.PROTOCOL, kind))  # type: ignore[arg-type]  # a text of a table
    task = asyncio.create_task(connected.receive())
    try:
        if kind != "command":
            await connected.heard(lambda message: isinstance(message, messages.Sessions), "the list of sessions")
        if ready:
            connected.say(messages.Ready())
        yield connected
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await task
