"""One page's connection: what it may say when, what it is sent (driver over a transport).

What is sent is bounded whatever the page does: list changes are coalesced per session, notices are a short queue, and
terminal output is read from the session's ring at the page's own pace. A page that falls behind the ring is told where
the output goes on (`resync`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from switchboard.page import messages
from switchboard.page.messages import HostMessage
from switchboard.page.pulse import Pulse
from switchboard.page.session_info import session_info
from switchboard.sessions.input_run import InputRun
from switchboard.sessions.replay import Quieting
from switchboard.sessions.session import Session

MAX_QUEUED = 500
"""Messages waiting for a page; the oldest notices and activities go first. A page that far behind is not reading."""

OUTPUT_BYTES = 64 * 1024
"""Largest output frame."""


class Transport(Protocol):
    """How frames reach a page: the local socket, or a WebSocket."""

    async def send_text(self, data: bytes) -> None:
        """Send a JSON message and wait until there is room for more. Raises `OSError` when the page is gone."""

    async def send_binary(self, data: bytes) -> None:
        """Send terminal bytes, likewise."""

    def send_now(self, data: bytes) -> bool:
        """Send terminal bytes at once. False: nothing was sent, because others wait already or the page is gone."""

    def end(self) -> None:
        """Close the connection; receiving from it ends."""


@dataclass
class Stream:
    """One session shown by one page. `position`: the next byte to send; bytes before `live` are replay."""

    session: Session
    position: int
    live: int
    columns: int | None = None
    rows: int | None = None


class PageConnection:
    """A page from `hello` to its end. Made by the hub."""

    def __init__(self, transport: Transport, epoch: str, kind: str) -> None:
        self.epoch = epoch
        self.kind = kind
        self.streams: dict[int, Stream] = {}
        self.typed: dict[int, InputRun] = {}
        self.left = False
        self.pulse = Pulse(self.post)
        self._transport = transport
        self._queue: deque[HostMessage] = deque()
        self._changed: dict[int, Session] = {}
        self._wake = asyncio.Event()
        self._closing = False
        self._idle = False
        """Everything that was queued is sent, and the sender waits."""

    def post(self, message: HostMessage) -> None:
        """Queue a message."""
        if len(self._queue) >= MAX_QUEUED:
            self._make_room()
        self._queue.append(message)
        self._wake.set()

    def _make_room(self) -> None:
        for index, message in enumerate(self._queue):
            if isinstance(message, (messages.Notice, messages.TriggerActivity)):
                del self._queue[index]
                return
        self._queue.popleft()

    def session_changed(self, session: Session) -> None:
        """The list entry of a session has changed; many changes before the next send are one."""
        self._changed[session.handle] = session
        self._wake.set()

    def session_removed(self, session: Session) -> None:
        """A session has left the list."""
        self._changed.pop(session.handle, None)
        self.streams.pop(session.handle, None)
        self.typed.pop(session.handle, None)
        self.post(messages.SessionGone(session.handle))

    def session_printed(self, session: Session) -> None:
        """There is output to send, if this page shows the session."""
        stream = self.streams.get(session.handle)
        if stream is not None and not self._send_at_once(stream):
            self._wake.set()

    def _send_at_once(self, stream: Stream) -> bool:
        """Send what was printed within the turn in which it was read, when that is all there is to send.

        The sender's own turn would come next in the loop, which is late for the echo of a key (measured: a tenth).
        """
        ring = stream.session.ring
        size = ring.head - stream.position
        if not self._idle or self._wake.is_set() or stream.position < stream.live or size > OUTPUT_BYTES:
            return False
        start, data = ring.read(stream.position, size)
        frame = messages.encode_output(stream.session.handle, start, data)
        if start != stream.position or not self._transport.send_now(frame):
            return False
        stream.position += size
        return True

    def attach(self, session: Session, from_seq: int | None, owner: bool, free: bool = False) -> None:
        """Start to send a session's output. `free`: no page has decided the session's size yet."""
        ring = session.ring
        asked = ring.tail if from_seq is None else min(from_seq, ring.head)
        start = max(asked, ring.tail)
        before = self.streams.get(session.handle)
        size = (before.columns, before.rows) if before is not None else (None, None)
        self.streams[session.handle] = Stream(session, start, ring.head, *size)
        self.post(
            messages.Attached(
                session=session.handle,
                seq=start,
                live_seq=ring.head,
                lost=start - asked,
                columns=session.label.columns,
                rows=session.label.rows,
                owner=owner,
                free=free,
                modes=_modes(session) if start > 0 and (from_seq is None or start > asked) else "",
            )
        )

    def close(self) -> None:
        """Send what is queued, then end `run`."""
        self._closing = True
        self._wake.set()

    async def run(self) -> None:
        """Send until closed, then end the connection. Raises `OSError` when the page is gone."""
        while not (self._closing and not self._queue):
            self._idle = not self._queue and not self._changed
            await self._wake.wait()
            self._idle = False
            self._wake.clear()
            await self._send_all()
        self._transport.end()

    async def _send_all(self) -> None:
        while True:
            if self._queue:
                await self._transport.send_text(messages.encode(self._queue.popleft()))
            elif self._changed:
                _, session = self._changed.popitem()
                await self._transport.send_text(messages.encode(messages.SessionChanged(session_info(session))))
            elif not await self._send_output():
                return

    async def _send_output(self) -> bool:
        """Send one stretch of each stream that has some; return whether anything was sent."""
        sent = False
        for handle, stream in list(self.streams.items()):
            if self.streams.get(handle) is not stream:
                continue  # gone while others were sent, and its ring may be, too
            ring = stream.session.ring
            if stream.position >= ring.head:
                continue
            sent = True
            replay = stream.position < stream.live
            limit = stream.live - stream.position if replay else OUTPUT_BYTES
            start, data = ring.read(stream.position, limit)
            if start > stream.position:
                self.post(
                    messages.Resync(stream.session.handle, start, start - stream.position, _modes(stream.session))
                )
                stream.position = start
                continue
            stream.position = start + len(data)
            if replay:
                data = await _quieted(data)
            for offset in range(0, len(data), OUTPUT_BYTES):
                piece = data[offset : offset + OUTPUT_BYTES]
                frame = messages.encode_output(stream.session.handle, start + offset, piece)
                await self._transport.send_binary(frame)
        return sent


async def _quieted(replay: bytes) -> bytes:
    """Filter a replay whole, because a query may lie across any cut. The ring bounds it, and others go on meanwhile."""
    quieting = Quieting(replay)
    for _ in iter(quieting.step, False):
        await asyncio.sleep(0)
    return quieting.data


def _modes(session: Session) -> str:
    return session.screen.modes.restore().decode("latin-1")
