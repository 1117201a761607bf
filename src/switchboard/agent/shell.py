"""Shell commands (door): each in a process group of its own, without input, its output kept within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass

OUTPUT_BYTES = 64 * 1024
"""So much of a command's output is kept; the rest is read and dropped."""

DRAIN_S = 0.2
"""How long output is waited for after the command ended: something it left behind may hold the pipe for ever."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a command. `code`: its exit code, negative when a signal ended it."""

    stdout: str
    stderr: str
    code: int

    @property
    def text(self) -> str:
        """Its output as one text, with a word about a failure."""
        parts = [part.rstrip("\n") for part in (self.stdout, self.stderr) if part.strip()]
        return "\n".join([*parts, f"(exit code {self.code})"] if self.code else parts)


class Command(asyncio.SubprocessProtocol):
    """A command that runs: what it has printed, and whether it has ended."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.printed = {1: bytearray(), 2: bytearray()}
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep the beginning of the output."""
        kept = self.printed[fd]
        kept += data[: OUTPUT_BYTES - len(kept)]

    def process_exited(self) -> None:
        """The process is gone; what it printed may still be on its way."""
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more comes."""
        if not self.drained.done():
            self.drained.set_result(None)

    def text(self, fd: int) -> str:
        """What was printed on one of the two streams."""
        return self.printed[fd].decode("utf-8", "replace")


class Shell:
    """Runs commands in one directory."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._running: dict[Command, asyncio.SubprocessTransport] = {}

    async def run(self, command: str) -> Outcome:
        """Run a command to its end. Cancelling ends it. Raises OSError when it cannot be started."""
        running = await self._spawn(command, PIPE)
        code = await self.wait_for(running)
        return Outcome(running.text(1), running.text(2), code)

    async def start(self, command: str) -> Command:
        """Start a command in the background; `wait_for` tells when it is over. Raises OSError."""
        return await self._spawn(command, DEVNULL)

    async def wait_for(self, command: Command) -> int:
        """Return the exit code of a command once it has ended. Cancelling ends it."""
        transport = self._running[command]
        try:
            await asyncio.shield(command.exited)
            await asyncio.wait({command.drained}, timeout=DRAIN_S)
        finally:
            self._end(transport)
            del self._running[command]
            transport.close()
            await command.exited
        code = transport.get_returncode()
        return 0 if code is None else code

    async def _spawn(self, command: str, output: int) -> Command:
        transport, protocol = await asyncio.get_running_loop().subprocess_exec(
            Command,
            "/bin/sh",
            "-c",
            command,
            cwd=self._cwd,
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        self._running[protocol] = transport
        return protocol

    def _end(self, transport: asyncio.SubprocessTransport) -> None:
        if transport.get_returncode() is None:
            with contextlib.suppress(OSError):
                os.killpg(transport.get_pid(), signal.SIGTERM)


def end_children() -> None:
    """End every child of this process, at once: it is about to go, and nothing of it stays. Safe in a signal handler.

    The kernel is asked rather than a list of ours: a command that is just being started would not be on it yet.
    """
    for pid in _children():
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)  # each of ours leads a process group


def _children() -> list[int]:
    """This process's children; none where the system does not list them."""
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return []
    found = []
    for thread in threads:
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
            found += [int(pid) for pid in file.read().split()]
    return found
