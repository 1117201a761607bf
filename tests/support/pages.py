"""Pages without a socket: what the host sends them is a list, what they say is a queue.

`Wire` is a page's transport. While it is held nothing gets through, as with a page that does not read. `Page` talks to
a hub over one. `Doings` stands for the host behind the hub.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

from switchboard.common.clock import Clock
from switchboard.page import messages
from switchboard.page.broker import Grant, Opener, PageBroker
from switchboard.page.hub import PageHub
from switchboard.page.messages import Done, HostMessage, MessageError, PageMessage, SessionInfo
from tests.support.fake_clock import FakeClock

M = TypeVar("M")


class Wire:
    """Frames as the page would read them: messages, and (handle, seq, bytes) for output."""

    def __init__(self) -> None:
        self.sent: list[HostMessage | tuple[int, int, bytes]] = []
        self.ended = False
        self.broken: OSError | None = None
        self.waiting = 0
        self._room = asyncio.Event()
        self._room.set()

    def hold(self) -> None:
        """The page reads nothing from here on."""
        self._room.clear()

    def let_go(self) -> None:
        """It reads again."""
        self._room.set()

    async def send_text(self, data: bytes) -> None:
        await self._pass()
        self.sent.append(messages.decode_from_host(data))

    async def send_binary(self, data: bytes) -> None:
        await self._pass()
        self.sent.append(messages.decode_output(data))

    def send_now(self, data: bytes) -> bool:
        if not self._room.is_set() or self.waiting or self.broken is not None:
            return False
        self.sent.append(messages.decode_output(data))
        return True

    async def _pass(self) -> None:
        self.waiting += 1
        try:
            await self._room.wait()
        finally:
            self.waiting -= 1
        if self.broken is not None:
            raise self.broken

    def end(self) -> None:
        self.ended = True

    # --- what was sent

    def messages(self, kind: type[M]) -> list[M]:
        return [said for said in self.sent if isinstance(said, kind)]

    def output(self, handle: int) -> list[tuple[int, bytes]]:
        return [(said[1], said[2]) for said in self.sent if isinstance(said, tuple) and said[0] == handle]

    def text(self, handle: int) -> bytes:
        return b"".join(data for _, data in self.output(handle))


class Page(Wire):
    """A page of a hub. `serving` is the task of its connection. `alive`: it answers pings by itself."""

    def __init__(self, hub: PageHub, clock: FakeClock, epoch: str) -> None:
        super().__init__()
        self.epoch = epoch
        self.alive = False
        self._clock = clock
        self._frames: asyncio.Queue[tuple[bool, bytes] | Exception | None] = asyncio.Queue()
        self.serving = asyncio.create_task(hub.serve(self, self._incoming, epoch, 4242), name=f"page {epoch}")

    async def send_text(self, data: bytes) -> None:
        await super().send_text(data)
        message = messages.decode_from_host(data)
        if self.alive and isinstance(message, messages.Ping):
            self.puts((False, messages.encode(messages.Pong(message.number))))

    async def _incoming(self) -> tuple[bool, bytes] | None:
        frame = await self._frames.get()
        if isinstance(frame, Exception):
            raise frame
        return frame

    def end(self) -> None:
        super().end()
        self._frames.put_nowait(None)

    def puts(self, *frames: tuple[bool, bytes] | Exception | None) -> None:
        """Frames as they are; None is the end of the connection, an exception a fault of it."""
        for frame in frames:
            self._frames.put_nowait(frame)

    async def says(self, *said: PageMessage) -> None:
        """Say this, and let the host react."""
        self.puts(*((False, messages.encode(message)) for message in said))
        await self._clock.settle()

    async def types(self, handle: int, data: bytes) -> None:
        self.puts((True, messages.encode_input(handle, data)))
        await self._clock.settle()

    async def goes(self) -> None:
        """The connection ends."""
        self.puts(None)
        await self._clock.settle()

    def last(self, kind: type[M]) -> M:
        return self.messages(kind)[-1]


class Doings:
    """What pages ask of the host, as a test answers it. While `slow` is clear, an answer waits."""

    def __init__(self) -> None:
        self.asked: list[PageMessage] = []
        self.cancelled: list[PageMessage] = []
        self.sessions: Callable[[], list[SessionInfo]] = list
        self.fault: Exception | None = None
        self.listings: list[int] = []
        self.slow = asyncio.Event()
        self.slow.set()
        self.opener: Opener = _opens_nothing

    async def open(self, wanted: messages.OpenSession, grant: Grant | None = None) -> Done:
        if grant is not None:
            return await self.opener(wanted, grant)
        return await self._do(wanted)

    async def stop(self, wanted: messages.StopSession) -> Done:
        return await self._do(wanted)

    async def rename(self, wanted: messages.Rename) -> Done:
        return await self._do(wanted)

    async def shutdown(self, wanted: messages.Shutdown) -> Done:
        return await self._do(wanted)

    async def address(self, wanted: messages.Address) -> messages.AddressIs | Done:
        return await self._do(wanted)

    async def listing(self, closed: int) -> list[SessionInfo]:
        self.listings.append(closed)
        await self.slow.wait()
        if self.fault is not None:
            raise self.fault
        return self.sessions()

    async def _do(self, wanted: Any) -> Done:
        self.asked.append(wanted)
        try:
            await self.slow.wait()
        except asyncio.CancelledError:
            self.cancelled.append(wanted)
            raise
        if self.fault is not None:
            raise self.fault
        return Done(wanted.request, ok=True, detail=type(wanted).__name__)


async def _opens_nothing(wanted: messages.OpenSession, grant: Grant) -> Done:
    raise AssertionError(f"nobody was to be asked for {wanted}")


def a_broker(clock: Clock) -> PageBroker:
    """A broker of which a test wants nothing."""
    numbers = itertools.count(1)
    return PageBroker(clock, lambda _target, _key, _generation: False, lambda: f"permit-{next(numbers)}")


__all__ = ["Doings", "MessageError", "Page", "Wire", "a_broker"]
