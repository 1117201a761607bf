"""A page's connection, and waiting for the host to come back, over a real Unix socket."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.support.page_host import PATIENCE, PageHost

from switchboard.common.folder_watch import FolderEvent, Rescan
from switchboard.common.system_clock import SystemClock
from switchboard.page import messages
from switchboard.page.local_client import HostUnavailable
from switchboard.page.local_connection import HIGH_WATER, LocalConnection, connect, connect_when_back
from switchboard.page.messages import MAX_INPUT, Bye, Hello, HostMessage, Pong, Ready, Rename


class Heard:
    """Keeps what a connection tells."""

    def __init__(self) -> None:
        self.messages: list[HostMessage] = []
        self.outputs: list[tuple[int, int, bytes]] = []
        self.congestion: list[bool] = []
        self.endings: list[str | None] = []
        self._changed = asyncio.Event()

    def message(self, message: HostMessage) -> None:
        self.messages.append(message)
        self._changed.set()

    def output(self, session: int, seq: int, data: bytes) -> None:
        self.outputs.append((session, seq, data))
        self._changed.set()

    def congested(self, full: bool) -> None:
        self.congestion.append(full)
        self._changed.set()

    def lost(self, reason: str | None) -> None:
        self.endings.append(reason)
        self._changed.set()

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[PageHost]:
    async with PageHost(str(tmp_path / "host.sock")) as host:
        yield host


@pytest.fixture
async def heard() -> Heard:
    return Heard()


@pytest.fixture
async def page(host: PageHost, heard: Heard) -> AsyncIterator[LocalConnection]:
    connection = await connect(host.path, heard, version="0.1")
    await heard.until(lambda: len(heard.messages) == 2)
    yield connection
    await connection.leave(SystemClock())


async def test_hello_comes_first(host: PageHost, page: LocalConnection) -> None:
    assert host.heard_so_far[0] == Hello(messages.PROTOCOL, "terminal", "0.1")


async def test_what_the_host_says_arrives_in_order(host: PageHost, page: LocalConnection, heard: Heard) -> None:
    host.say(messages.Role(True))
    host.print(3, 7, b"abc")
    host.say(messages.SessionGone(3))
    await heard.until(lambda: len(heard.messages) == 4)
    assert heard.messages[2:] == [messages.Role(True), messages.SessionGone(3)]
    assert heard.outputs == [(3, 7, b"abc")]


async def test_pings_are_answered_and_not_passed_on(host: PageHost, page: LocalConnection, heard: Heard) -> None:
    host.say(messages.Ping(5))
    assert await host.heard(Pong) == Pong(5)
    assert len(heard.messages) == 2


async def test_ready_is_said_once(host: PageHost, page: LocalConnection) -> None:
    page.ready()
    page.ready()
    page.send(Rename(1, 1, "x"))
    await host.heard(Rename)
    assert host.heard_so_far.count(Ready()) == 1


async def test_long_input_is_cut_into_frames(host: PageHost, page: LocalConnection) -> None:
    typed = os.urandom(3 * MAX_INPUT + 5)
    page.type(9, typed)
    await host.typed(9, typed)
    assert [len(m[1]) for m in host.heard_so_far if isinstance(m, tuple)] == [MAX_INPUT] * 3 + [5]


async def test_leaving_says_bye(host: PageHost, heard: Heard) -> None:
    connection = await connect(host.path, heard)
    await connection.leave(SystemClock())
    await host.heard(Bye)
    await host.page_gone.wait()
    connection.send(Rename(1, 1, "too late"))
    connection.type(1, b"too late")
    await connection.leave(SystemClock())


async def test_the_host_goes(host: PageHost, page: LocalConnection, heard: Heard) -> None:
    await host.stop()
    await heard.until(lambda: heard.endings)
    assert heard.endings == [None]
    page.type(1, b"too late")


@pytest.mark.parametrize(
    "data", [b"\xff" * 10, b"\x00\x00\x00\x02\x01{}", b"\x00\x00\x00\x01\x02x", b"\xff\xff\xff\xff\x01"]
)
async def test_nonsense_ends_it(host: PageHost, page: LocalConnection, heard: Heard, data: bytes) -> None:
    host.raw(data)
    await heard.until(lambda: heard.endings)
    (reason,) = heard.endings
    assert reason is not None
    assert "does not understand" in reason


async def test_a_host_that_does_not_read(tmp_path: Path, heard: Heard) -> None:
    path = str(tmp_path / "deaf.sock")
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(path)
        deaf.listen()
        connection = await connect(path, heard)
        connection.type(1, b"x" * 4 * HIGH_WATER)
        assert heard.congestion == [True]
        # Leaving does not wait for it longer than it must.
        async with asyncio.timeout(PATIENCE):
            await connection.leave(SystemClock())


async def test_no_host(tmp_path: Path, heard: Heard) -> None:
    with pytest.raises(HostUnavailable, match="switchboard up"):
        await connect(str(tmp_path / "host.sock"), heard)


# --- coming back


class Folder:
    """A folder watcher that tells what the test tells it."""

    def __init__(self) -> None:
        self.watched: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.open = 0

    def watch(self, path: str, callback: Callable[[FolderEvent | Rescan], None]) -> Folder:
        self.tell = callback
        self.open += 1
        self.watched.set_result(path)
        return self

    def close(self) -> None:
        self.open -= 1

    async def aclose(self) -> None:
        """Nothing is held."""


class Instant(SystemClock):
    """Every wait is over in the next turn; counted."""

    waits = 0

    def now(self) -> int:
        return 0

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.Handle:
        self.waits += 1
        return asyncio.get_running_loop().call_soon(callback)


def appeared(name: str = "host.sock") -> FolderEvent:
    return FolderEvent(name, "appeared", "created")


async def test_back_at_once_when_the_host_is_there(host: PageHost, heard: Heard) -> None:
    folder, clock = Folder(), Instant()
    connection = await connect_when_back(host.path, heard, watcher=folder, clock=clock)
    assert clock.waits == 0
    assert folder.open == 0
    assert folder.watched.result() == os.path.dirname(host.path)
    await connection.leave(SystemClock())


async def settled() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


async def test_at_rest_nothing_is_tried(tmp_path: Path, heard: Heard) -> None:
    folder, clock = Folder(), Instant()
    path = str(tmp_path / "host.sock")
    waiting = asyncio.create_task(connect_when_back(path, heard, watcher=folder, clock=clock), name="wait")
    await settled()
    tried = clock.waits
    folder.tell(appeared("other.file"))
    await settled()
    assert clock.waits == tried, "another file is no reason to try"
    folder.tell(Rescan())
    await settled()
    assert clock.waits > tried
    waiting.cancel()
    await asyncio.wait([waiting])
    assert folder.open == 0


async def test_before_each_wait_it_is_told_why(tmp_path: Path, heard: Heard) -> None:
    folder, missed = Folder(), []  # type: tuple[Folder, list[str]]
    path = str(tmp_path / "host.sock")
    work = connect_when_back(
        path, heard, watcher=folder, clock=Instant(), missed=lambda error: missed.append(str(error))
    )
    waiting = asyncio.create_task(work, name="wait")
    await settled()
    assert missed == ["no host is running; start one with: switchboard up"]
    folder.tell(Rescan())
    await settled()
    assert len(missed) == 2
    waiting.cancel()
    await asyncio.wait([waiting])


async def test_back_when_the_socket_appears(tmp_path: Path, heard: Heard) -> None:
    folder = Folder()
    host = PageHost(str(tmp_path / "host.sock"))
    waiting = asyncio.create_task(
        connect_when_back(host.path, heard, watcher=folder, clock=Instant()), name="wait for the host"
    )
    await settled()
    async with host:
        folder.tell(appeared())
        async with asyncio.timeout(PATIENCE):
            connection = await waiting
        await host.heard(Hello)
        await connection.leave(SystemClock())


async def test_back_although_the_socket_has_a_name_before_it_listens(tmp_path: Path, heard: Heard) -> None:
    folder = Folder()
    path = str(tmp_path / "host.sock")

    class Listening(Instant):
        """Begins to listen while the page waits for another attempt."""

        def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.Handle:
            if self.waits == 3:
                early.listen()
            return super().call_at(when, callback)

    with socket.socket(socket.AF_UNIX) as early:
        early.bind(path)
        async with asyncio.timeout(PATIENCE):
            connection = await connect_when_back(path, heard, watcher=folder, clock=Listening())
        await connection.leave(SystemClock())
