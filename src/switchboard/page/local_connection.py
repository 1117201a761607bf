"""A page's connection to the host over its Unix socket (door).

Everything that arrives is handed on in the order of the wire, in the loop turn it arrived in. A ping is answered here
at once, so that a page that is busy drawing still proves that it is alive.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol

from switchboard.common.clock import Clock, sleep_until
from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan
from switchboard.common.frames import BINARY, TEXT, FrameError, FrameReader, encode_frame
from switchboard.page.local_client import MAX_HOST_FRAME, HostUnavailable, refuse_stranger, unavailable
from switchboard.page.messages import (
    PROTOCOL,
    Bye,
    Hello,
    HostMessage,
    MessageError,
    PageMessage,
    Ping,
    Pong,
    Ready,
    decode_from_host,
    decode_output,
    encode,
    encode_inputs,
)

HIGH_WATER = 1024 * 1024
"""Bytes that may wait for a host that does not read; above, `Listener.congested` asks to stop typing."""

LEAVE_MS = 300
"""How long a leaving page waits for its last message to go out before it drops the connection."""

RETRIES_MS = (0, 5, 10, 20, 40, 80, 160, 320, 640)
"""Pauses between attempts after the socket appeared. A socket has a name before it listens, and nothing tells when it
does; after these attempts the folder has to change again. The alternative, a host that renames a listening socket into
place, needs the first attempt only."""


class Listener(Protocol):
    """What a connection tells its page. Called on the loop, never after `lost`."""

    def message(self, message: HostMessage) -> None:
        """The host said this (pings excepted: they are answered already)."""

    def output(self, session: int, seq: int, data: bytes) -> None:
        """A session printed this."""

    def congested(self, full: bool) -> None:
        """The host does not take what this page sends (true), or does again (false)."""

    def lost(self, reason: str | None) -> None:
        """The connection has ended; `reason` is set when what the host sent could not be understood."""


class LocalConnection(asyncio.Protocol):
    """One connection. `send` and `type` are harmless after it has ended."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._reader = FrameReader(MAX_HOST_FRAME)
        self._transport: asyncio.Transport | None = None
        self._is_ready = False
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def send(self, message: PageMessage) -> None:
        """Send one message."""
        self._write(TEXT, encode(message))

    def ready(self) -> None:
        """Report that the page has drawn its first list; said once, however often it is called."""
        if not self._is_ready:
            self._is_ready = True
            self.send(Ready())

    def type(self, session: int, data: bytes) -> None:
        """Send keystrokes, in as many frames as the schema asks for."""
        for frame in encode_inputs(session, data):
            self._write(BINARY, frame)

    async def leave(self, clock: Clock) -> None:
        """Say that this page goes on purpose, and end the connection; returns once it has ended."""
        self.send(Bye())
        transport = self._transport
        if transport is None:
            return
        transport.close()
        timer = clock.call_at(clock.now() + LEAVE_MS, transport.abort)
        try:
            await self._ended
        finally:
            timer.cancel()

    # --- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=HIGH_WATER)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for kind, body in self._reader.feed(data):
                if kind == BINARY:
                    self._listener.output(*decode_output(body))
                    continue
                message = decode_from_host(body)
                if isinstance(message, Ping):
                    self.send(Pong(message.number))
                else:
                    self._listener.message(message)
        except (FrameError, MessageError) as error:
            self._end(f"the host sent something that this version does not understand: {error}")

    def pause_writing(self) -> None:
        self._listener.congested(True)

    def resume_writing(self) -> None:
        self._listener.congested(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(None)
        if not self._ended.done():
            self._ended.set_result(None)

    def _end(self, reason: str | None) -> None:
        listener, self._listener = self._listener, _Nobody()
        listener.lost(reason)
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def _write(self, kind: int, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encode_frame(kind, body))


class _Nobody:
    def message(self, message: HostMessage) -> None:
        """Too late."""

    def output(self, session: int, seq: int, data: bytes) -> None:
        """Too late."""

    def congested(self, full: bool) -> None:
        """Too late."""

    def lost(self, reason: str | None) -> None:
        """Known already."""


async def connect(socket_path: str, listener: Listener, *, version: str = "") -> LocalConnection:
    """Connect and say hello as a terminal page. Raises `HostUnavailable`."""
    loop = asyncio.get_running_loop()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await loop.sock_connect(connection, socket_path)
        refuse_stranger(connection, socket_path)
        _, protocol = await loop.create_unix_connection(lambda: LocalConnection(listener), sock=connection)
    except HostUnavailable:
        connection.close()
        raise
    except OSError as error:
        connection.close()
        raise unavailable(socket_path, error) from None
    except BaseException:
        connection.close()
        raise
    protocol.send(Hello(PROTOCOL, "terminal", version))
    return protocol


async def connect_when_back(
    socket_path: str,
    listener: Listener,
    *,
    watcher: FolderWatcher,
    clock: Clock,
    version: str = "",
    missed: Callable[[HostUnavailable], None] = lambda _error: None,
) -> LocalConnection:
    """Wait for a host to listen at `socket_path` again and connect to it.

    Waits for the socket's folder to change, for as long as it takes: with no change, nothing runs. `missed` is called
    before each such wait, with what went wrong last.
    """
    folder, _, name = socket_path.rpartition("/")
    changed = asyncio.Event()

    def on_event(event: FolderEvent | Rescan) -> None:
        if isinstance(event, Rescan) or event.name == name:
            changed.set()

    # Watched before the first attempt: a host that comes between the two is seen by one of them.
    watch = watcher.watch(folder, on_event)
    try:
        while True:
            for pause in RETRIES_MS:
                changed.clear()
                if pause:
                    await sleep_until(clock, clock.now() + pause)
                try:
                    return await connect(socket_path, listener, version=version)
                except HostUnavailable as error:
                    last = error
            missed(last)
            await changed.wait()
    finally:
        watch.close()
