"""A program in a real terminal, and a person who looks at its screen (an emulator) and types."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import pyte

PATIENCE = 15.0
"""Seconds; a passing test never waits as long."""


class Screen:
    """Runs `arguments` in a terminal of its own. `raw` is everything it printed.

    `reads`: whether the person's terminal takes what is printed; false stands for one that is stuck.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        *,
        columns: int = 80,
        rows: int = 24,
        cwd: str | None = None,
    ) -> None:
        self.raw = bytearray()
        self._emulator = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._emulator)
        self._changed = asyncio.Event()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._arguments = arguments
        self._env = env
        self._cwd = cwd
        self._reading = False

    async def __aenter__(self) -> Self:
        self.master, slave = pty.openpty()
        self.resize(self._emulator.columns, self._emulator.lines)
        self.modes_before = termios.tcgetattr(slave)
        self.slave = slave  # held, so that the terminal and its modes outlive the program
        self._process = subprocess.Popen(
            self._arguments,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=self._env,
            cwd=self._cwd,
            start_new_session=True,
        )
        os.set_blocking(self.master, False)
        self.read(True)
        handle = os.pidfd_open(self._process.pid)
        asyncio.get_running_loop().add_reader(handle, self._reap, handle)
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._ended.done():
            self._process.kill()
            await self.ended()
        self.read(False)
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._emulator.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def cursor(self) -> Any:
        return self._emulator.cursor

    def modes(self) -> list[Any]:
        """The line discipline's modes now."""
        return termios.tcgetattr(self.slave)

    def types(self, data: bytes) -> None:
        assert os.write(self.master, data) == len(data)

    async def pastes(self, data: bytes) -> None:
        """Type more than a terminal takes at once."""
        loop = asyncio.get_running_loop()
        left = memoryview(data)
        while left:
            room = asyncio.Event()
            loop.add_writer(self.master, room.set)
            try:
                await room.wait()
                left = left[os.write(self.master, left) :]
            except BlockingIOError:
                continue
            finally:
                loop.remove_writer(self.master)

    def read(self, wanted: bool) -> None:
        if wanted is self._reading:
            return
        self._reading = wanted
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_reader(self.master, self._readable)
        else:
            loop.remove_reader(self.master)

    def resize(self, columns: int, rows: int) -> None:
        self._emulator.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """The person's terminal goes away."""
        self.read(False)
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    async def until(self, true: Callable[[], Any], what: str = "") -> None:
        """Wait until something holds, looking again after each output."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not true():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{what or 'it'} did not come about; the screen:\n{self.text}") from None

    async def shows(self, *texts: str) -> None:
        """Wait until all of these are on the screen."""
        await self.until(lambda: all(text in self.text for text in texts), f"{texts!r} on the screen")

    async def ended(self) -> int:
        """Wait for the program's end; return its exit code (negative: the signal)."""
        async with asyncio.timeout(PATIENCE):
            return await asyncio.shield(self._ended)

    def _readable(self) -> None:
        try:
            data = os.read(self.master, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.read(False)
            return
        self.raw += data
        self._stream.feed(data)
        self._changed.set()

    def _reap(self, handle: int) -> None:
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)
        code = self._process.wait()
        while self._reading and self._readable_now():
            self._readable()
        self._ended.set_result(code)
        self._changed.set()

    def _readable_now(self) -> bool:
        return bool(select.select([self.master], [], [], 0)[0])
