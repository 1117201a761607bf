"""The host's side of the page protocol on a real Unix socket, played by a test.

It says what the test tells it to say and keeps what pages say, in order. A test waits for a message with `heard`, which
fails after `PATIENCE` seconds and names what came instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Self, TypeVar

from switchboard.common.frames import BINARY, TEXT, FrameReader, encode_frame
from switchboard.page import messages
from switchboard.page.messages import HostMessage, PageMessage, SessionInfo

PATIENCE = 15.0
"""Seconds; generous, because the machine may be busy. A passing test never waits as long."""

M = TypeVar("M")


class PageHost:
    """A host at `path`. Serves one page at a time; the next one replaces it.

    `greets`: answers `hello` by itself. While `listens` is clear, nothing is read.
    """

    def __init__(self, path: str, sessions: list[SessionInfo] | None = None) -> None:
        self.path = path
        self.sessions = sessions or []
        self.heard_so_far: list[PageMessage | tuple[int, bytes]] = []
        self.pages = 0
        self.page_gone = asyncio.Event()
        self.greets = True
        self.listens = asyncio.Event()
        self.listens.set()
        self._taken = 0
        self._changed = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, also again after `stop`."""
        if os.path.exists(self.path):
            os.unlink(self.path)
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def stop(self, *, leave_socket: bool = False) -> None:
        """Go away; `leave_socket`: as a killed host does."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in tuple(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)
        if not leave_socket and os.path.exists(self.path):
            os.unlink(self.path)

    # --- saying

    def say(self, *said: HostMessage) -> None:
        for message in said:
            self._write(TEXT, messages.encode(message))

    def print(self, handle: int, seq: int, data: bytes) -> None:
        """A session's output."""
        for at in range(0, max(len(data), 1), 64 * 1024):
            self._write(BINARY, messages.encode_output(handle, seq + at, data[at : at + 64 * 1024]))

    def raw(self, data: bytes) -> None:
        """Bytes that are no frame."""
        assert self._writer is not None
        self._writer.write(data)

    async def sent(self) -> None:
        """Wait until the page has taken what was said, as far as the socket tells."""
        assert self._writer is not None
        await self._writer.drain()

    def attached(
        self, handle: int, *, seq: int = 0, live: int | None = None, lost: int = 0, owner: bool = True
    ) -> None:
        """Answer an attach."""
        self.say(messages.Attached(handle, seq, seq if live is None else live, lost, 80, 24, owner))

    def hang_up(self) -> None:
        """End the page's connection, once what was said is out."""
        assert self._writer is not None
        self._writer.close()

    # --- hearing

    async def heard(self, kind: type[M], when: Callable[[M], bool] = lambda _: True) -> M:
        """Return the next message of a kind; other messages before it are passed over."""
        async with asyncio.timeout(PATIENCE):
            while True:
                while self._taken < len(self.heard_so_far):
                    message = self.heard_so_far[self._taken]
                    self._taken += 1
                    if isinstance(message, kind) and when(message):
                        return message
                self._changed.clear()
                await self._changed.wait()

    async def typed(self, handle: int, data: bytes) -> None:
        """Wait until exactly these keystrokes have come for a session, in however many frames."""
        got = b""
        while got != data:
            to, part = await self.heard(tuple)
            got += part
            assert (to, got) == (handle, data[: len(got)])

    def all_typed(self) -> bytes:
        return b"".join(message[1] for message in self.heard_so_far if isinstance(message, tuple))

    # --- the connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self.pages += 1
        self.page_gone.clear()
        self._writer = writer
        frames = FrameReader(messages.MAX_MESSAGE)
        try:
            while await self.listens.wait() and (data := await reader.read(65536)):
                for kind, body in frames.feed(data):
                    self._take(kind, body)
        except ConnectionError:
            pass
        finally:
            self._serving.discard(task)
            self.page_gone.set()
            writer.close()

    def _take(self, kind: int, body: bytes) -> None:
        message = messages.decode_input(body) if kind == BINARY else messages.decode_from_page(body)
        self.heard_so_far.append(message)
        self._changed.set()
        if isinstance(message, messages.Hello) and self.greets:
            self.say(messages.Welcome(messages.PROTOCOL, "0.1", f"epoch-{self.pages}", os.getpid()))
            self.say(messages.Sessions(self.sessions))

    def _write(self, kind: int, body: bytes) -> None:
        assert self._writer is not None
        self._writer.write(encode_frame(kind, body))
