"""The host's Unix socket for terminal pages and commands (door)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from switchboard.common.facts import Log
from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan
from switchboard.common.frames import BINARY, TEXT, FrameError, FrameReader, encode_frame
from switchboard.common.peers import peer_is_us
from switchboard.common.tasks import supervise
from switchboard.page.hub import FLUSH_SECONDS, PageHub
from switchboard.page.messages import MAX_MESSAGE, MessageError

WRITE_BUFFER = 128 * 1024
"""Bytes a connection may have waiting before its sender waits; beyond that a slow page reads from the ring later."""


class SocketTransport:
    """One connection: frames in and out, with backpressure both ways."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = FrameReader(MAX_MESSAGE)
        self._ready: list[tuple[int, bytes]] = []
        writer.transport.set_write_buffer_limits(high=WRITE_BUFFER)

    async def send_text(self, data: bytes) -> None:
        """Send a JSON message; waits while the page is behind. Raises `OSError` when it is gone."""
        await self._send(TEXT, data)

    async def send_binary(self, data: bytes) -> None:
        """Send terminal bytes, likewise."""
        await self._send(BINARY, data)

    def send_now(self, data: bytes) -> bool:
        """Send terminal bytes if nothing waits to be sent, and return whether that was so."""
        if self._writer.is_closing() or self._writer.transport.get_write_buffer_size():
            return False
        self._writer.write(encode_frame(BINARY, data))
        return True

    def end(self) -> None:
        """Close the connection once what was sent is out."""
        self._writer.close()

    async def _send(self, kind: int, data: bytes) -> None:
        if self._writer.is_closing():
            raise ConnectionResetError("the page is gone")
        self._writer.write(encode_frame(kind, data))
        await self._writer.drain()

    async def receive(self) -> tuple[bool, bytes] | None:
        """Return the next frame as (binary, body), None at the end. Raises `MessageError`."""
        while not self._ready:
            try:
                data = await self._reader.read(64 * 1024)
                if not data:
                    return None
                self._ready = self._frames.feed(data)[::-1]
            except FrameError as error:
                raise MessageError(str(error)) from None
            except ConnectionError:
                return None
        kind, body = self._ready.pop()
        return kind == BINARY, body


def _listen(path: str) -> socket.socket:
    """Return a socket that listens at `path`, for its owner alone, in place of what was there. Raises `OSError`."""
    # Renamed into place once it listens: whoever sees the name can connect.
    unready = f"{path}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(unready)
    listener = socket.socket(socket.AF_UNIX)
    try:
        previous = os.umask(0o177)
        try:
            listener.bind(unready)
        finally:
            os.umask(previous)
        listener.setblocking(False)
        listener.listen()
        os.rename(unready, path)
    except BaseException:
        listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unready)
        raise
    return listener


class _Door:
    """The listening socket at a path, made anew when its file is gone: who deletes it has locked everybody out."""

    def __init__(
        self, path: str, accepted: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], log: Log
    ) -> None:
        self._path = path
        self._accepted = accepted
        self._log = log
        self._server: asyncio.Server | None = None
        self._closed = False

    async def open(self, listener: socket.socket) -> None:
        """Accept connections from now on."""
        before = self._server
        self._server = await asyncio.start_unix_server(self._accepted, sock=listener)
        if before is not None:
            before.close()  # its connections go on
        if self._closed:
            self.close()

    async def open_again(self) -> None:
        """Listen if nobody can find the socket any more; the log tells of it."""
        if self._closed or os.path.lexists(self._path):
            return
        try:
            await self.open(_listen(self._path))
        except OSError as error:
            self._log.error(f"the socket {self._path} was deleted and cannot be made again: {error.strerror or error}")
        else:
            self._log.warning(f"the socket {self._path} was deleted and is made again")

    def close(self) -> None:
        self._closed = True
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)


@asynccontextmanager
async def local_server(
    path: str, hub: PageHub, new_epoch: Callable[[], str], log: Log, watcher: FolderWatcher | None = None
) -> AsyncIterator[None]:
    """Serve pages and commands on a Unix socket at `path` while entered. Only processes of our own user are served.

    The socket is readable and writable by its owner alone, in a folder that is private already. A socket left by a
    killed host is replaced: who holds the data directory's lock owns the path. `watcher`: tells when the socket's file
    is deleted, so that it can be made again. Raises `OSError`.
    """
    listener = _listen(path)
    connections: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            peer = writer.get_extra_info("socket")
            try:
                if peer is not None and peer_is_us(peer):
                    transport = SocketTransport(reader, writer)
                    await hub.serve(transport, transport.receive, new_epoch(), os.getpid())
                writer.close()
                async with asyncio.timeout(FLUSH_SECONDS):
                    await writer.wait_closed()
            except OSError:
                pass  # it is gone, or does not read what was sent last
            finally:
                writer.transport.abort()

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = supervise(group, "page connection", lambda: serve(reader, writer), log)
            connections.add(task)
            task.add_done_callback(connections.discard)

        door = _Door(path, accepted, log)
        await door.open(listener)

        def happened(event: FolderEvent | Rescan) -> None:
            if isinstance(event, Rescan) or event.kind == "gone":
                supervise(group, "new socket", door.open_again, log)

        try:
            folder, name = os.path.split(path)
            watch = None if watcher is None else watcher.watch(folder, happened, suffix=name)
        except OSError as error:
            watch = None
            log.warning(f"the socket {path} would not be made again if it were deleted: {error.strerror or error}")
        try:
            yield
        finally:
            if watch is not None:
                watch.close()
            door.close()
            hub.close()
            if connections:
                # Who says nothing, or reads nothing, must not keep the host from ending.
                _, late = await asyncio.wait(connections, timeout=FLUSH_SECONDS)
                for task in late:
                    task.cancel()
