"""The host's Unix socket: frames both ways, who is served, what stands on disk, and an end that nobody can hold up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.pages import Doings, a_broker
from tests.support.sessions import SECONDS, House, house, prints, until

from switchboard.common.frames import BINARY, TEXT, FrameReader, encode_frame
from switchboard.page import local_server as module
from switchboard.page import messages
from switchboard.page.hub import PING_MS, PONG_MS, PageHub
from switchboard.page.local_server import WRITE_BUFFER, SocketTransport, local_server
from switchboard.page.messages import (
    Attach,
    Hello,
    HostMessage,
    MessageError,
    Notice,
    Problem,
    Resync,
    Sessions,
    Welcome,
)


class Client:
    """A page at the other end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.heard: list[HostMessage] = []
        self.output = bytearray()
        self.ended = False
        self._frames = FrameReader(64 * 1024 * 1024)

    def says(self, *said: messages.PageMessage) -> None:
        for message in said:
            self.writer.write(encode_frame(TEXT, messages.encode(message)))

    def types(self, handle: int, data: bytes) -> None:
        self.writer.write(encode_frame(BINARY, messages.encode_input(handle, data)))

    async def hears(self, wanted: Callable[[], object]) -> None:
        """Read until something is so."""
        async with asyncio.timeout(SECONDS):
            while not wanted():
                data = await self.reader.read(1 << 16)
                assert data, f"the host has ended the connection; it said {self.heard}"
                self._take(data)

    async def hears_the_end(self) -> None:
        async with asyncio.timeout(SECONDS):
            with contextlib.suppress(ConnectionResetError):
                while data := await self.reader.read(1 << 16):
                    self._take(data)
        self.ended = True

    def _take(self, data: bytes) -> None:
        for kind, body in self._frames.feed(data):
            if kind == BINARY:
                self.output += messages.decode_output(body)[2]
            else:
                self.heard.append(messages.decode_from_host(body))

    def of(self, kind: type) -> list[Any]:
        return [message for message in self.heard if isinstance(message, kind)]


class Rig:
    """A server with a hub behind it. `closing` ends it."""

    def __init__(self, home: House, folder: Path) -> None:
        self.home = home
        self.path = str(folder / "host.sock")
        self.doings = Doings()
        self.hub = PageHub(home.registry, self.doings, home.clock, home.log, "9.9", a_broker(home.clock))
        home.registry.listen(self.hub)
        self.epochs = iter(f"epoch-{number}" for number in range(1000))
        self.clients: list[Client] = []
        self.stack = AsyncExitStack()

    async def start(self) -> None:
        await self.stack.enter_async_context(local_server(self.path, self.hub, self._epoch, self.home.log))

    def _epoch(self) -> str:
        return next(self.epochs)

    async def dial(self) -> Client:
        client = Client(*await asyncio.open_unix_connection(self.path))
        self.clients.append(client)
        return client

    async def page(self) -> Client:
        client = await self.dial()
        client.says(Hello(messages.PROTOCOL, "terminal"))
        await client.hears(lambda: client.of(Sessions))
        return client

    def transport(self, epoch: str) -> Any:
        return self.hub._pages[epoch]._transport

    async def close(self) -> None:
        await self.stack.aclose()

    async def clean_up(self) -> None:
        for client in self.clients:
            client.writer.close()
            with contextlib.suppress(OSError):
                await client.writer.wait_closed()
        await self.close()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as home:
        made = Rig(home, tmp_path)
        await made.start()
        yield made
        await made.clean_up()


def tasks() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("page")]


# --- conversations ------------------------------------------------------------------------------------------------


async def test_a_page_is_served(rig: Rig) -> None:
    page = await rig.page()
    assert page.heard[0] == Welcome(messages.PROTOCOL, "9.9", "epoch-0", os.getpid())
    session = await rig.home.opens("shell")
    page.says(Attach(session.handle))
    page.types(session.handle, b"typed")
    assert await asyncio.to_thread(rig.home.terminal(session).typed, 5) == b"typed"
    await prints(session, rig.home.terminal(session), b"printed")
    await page.hears(lambda: page.output == b"printed")


async def test_every_connection_has_an_epoch_of_its_own(rig: Rig) -> None:
    one, two = await rig.page(), await rig.page()
    assert [page.of(Welcome)[0].epoch for page in (one, two)] == ["epoch-0", "epoch-1"]


async def test_frames_may_come_in_any_pieces(rig: Rig) -> None:
    client = await rig.dial()
    data = encode_frame(TEXT, messages.encode(Hello(messages.PROTOCOL, "terminal")))
    data += encode_frame(TEXT, b'{"type":"ready"}') + encode_frame(TEXT, b'{"type":"list","request":4}')
    for number in range(len(data)):
        client.writer.write(data[number : number + 1])
        await asyncio.sleep(0)
    await client.hears(lambda: client.of(messages.Listing))
    assert client.of(messages.Role)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "not a frame of this protocol"),
        (b"\x7f\xff\xff\xff\x01", "a frame of 2147483647 bytes, over the limit of 262144"),
    ],
    ids=["http", "length"],
)
@pytest.mark.parametrize("greeted", [False, True], ids=["at once", "after hello"])
async def test_what_is_no_frame_is_answered_and_ends_the_connection(
    rig: Rig, data: bytes, problem: str, greeted: bool
) -> None:
    client = await (rig.page() if greeted else rig.dial())
    client.writer.write(data)
    await client.hears_the_end()
    assert client.of(Problem) == [Problem(problem)]
    await until(lambda: tasks() == [], "the end of its tasks")


async def test_a_fault_of_ours_ends_one_connection_and_is_logged(rig: Rig) -> None:
    good = await rig.page()
    rig.doings.fault = RuntimeError("broken")
    bad = await rig.dial()
    bad.says(Hello(messages.PROTOCOL, "terminal"))
    await bad.hears_the_end()
    assert rig.home.log.lines == ["error page connection failed: RuntimeError: broken"]
    rig.hub.broadcast(Notice("info", "the others go on"))
    await good.hears(lambda: good.of(Notice))


async def test_a_page_that_is_gone_is_forgotten(rig: Rig) -> None:
    page = await rig.page()
    page.writer.transport.abort()
    await until(lambda: not rig.hub._pages and tasks() == [], "the end of its tasks")
    assert rig.home.log.lines == []


async def test_another_users_process_is_not_served(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    client = await rig.dial()
    await client.hears_the_end()
    assert client.heard == []
    assert next(rig.epochs) == "epoch-0"


# --- a page that does not read ------------------------------------------------------------------------------------


async def test_a_page_that_does_not_read_costs_little_and_catches_up(rig: Rig) -> None:
    page = await rig.page()
    session = await rig.home.opens("shell")
    terminal = rig.home.terminal(session)
    page.says(Attach(session.handle))
    await page.hears(lambda: page.of(messages.Attached))
    await prints(session, terminal, b"\x1b[?2004h")
    await page.hears(lambda: page.output)
    written = rig.transport("epoch-0")._writer.transport
    for _ in range(200):
        session.ring.append(b"x" * 10_000)
        rig.hub.session_printed(session)
        await asyncio.sleep(0)
    assert session.ring.head > 30 * session.ring.capacity
    assert 0 < written.get_write_buffer_size() <= WRITE_BUFFER + 64 * 1024 + 100
    session.ring.append(b"the end")
    rig.hub.session_printed(session)
    await page.hears(lambda: page.output.endswith(b"the end"))
    resync = page.of(Resync)[-1]
    assert resync.lost > 0
    assert "2004" in resync.modes


async def test_a_page_that_reads_nothing_and_answers_nothing_keeps_no_connection(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.0)
    page = await rig.page()
    written = rig.transport("epoch-0")._writer.transport
    page.reader._transport.pause_reading()  # type: ignore[attr-defined]  # how a stream stops to read
    while written.get_write_buffer_size() <= WRITE_BUFFER:
        rig.hub.broadcast(Notice("info", "x" * 10_000))
        await asyncio.sleep(0)
    await rig.home.clock.advance(PING_MS + PONG_MS)
    await until(lambda: not rig.hub._pages and tasks() == [], "the end of its tasks")
    assert written.get_write_buffer_size() == 0, "what it never read is dropped with the connection"


async def test_sending_waits_for_a_page_that_is_behind_and_fails_for_one_that_is_gone() -> None:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    transport = SocketTransport(reader, writer)
    task = asyncio.create_task(send_without_end(transport), name="sender")
    await until(lambda: writer.transport.get_write_buffer_size() > WRITE_BUFFER, "a full buffer")
    size = writer.transport.get_write_buffer_size()
    for _ in range(10):
        await asyncio.sleep(0)
    assert writer.transport.get_write_buffer_size() == size
    assert not task.done()
    theirs.close()
    with pytest.raises(ConnectionError):
        await task
    with pytest.raises(ConnectionResetError, match="the page is gone"):
        await transport.send_text(b"{}")
    writer.close()


async def send_without_end(transport: SocketTransport) -> None:
    while True:
        await transport.send_binary(b"x" * 10_000)


async def test_sending_at_once_needs_an_open_connection_with_nothing_waiting() -> None:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    transport = SocketTransport(reader, writer)
    assert transport.send_now(b"first")
    assert theirs.recv(100) == encode_frame(BINARY, b"first")
    while transport.send_now(b"x" * 10_000):
        pass
    assert 0 < writer.transport.get_write_buffer_size() <= 20_000, "one frame waits, and no more"
    theirs.close()
    transport.end()
    assert not transport.send_now(b"late")
    with pytest.raises(ConnectionError):
        await writer.wait_closed()


async def test_frames_are_received_one_by_one_until_the_end() -> None:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    transport = SocketTransport(reader, writer)
    theirs.sendall(encode_frame(TEXT, b"one") + encode_frame(BINARY, b"two") + encode_frame(TEXT, b""))
    assert [await transport.receive() for _ in range(3)] == [(False, b"one"), (True, b"two"), (False, b"")]
    await transport.send_text(b"{}")
    await transport.send_binary(b"\0")
    assert theirs.recv(100) == encode_frame(TEXT, b"{}") + encode_frame(BINARY, b"\0")
    theirs.sendall(b"nonsense")
    with pytest.raises(MessageError, match="not a frame"):
        await transport.receive()
    theirs.close()
    assert await transport.receive() is None
    transport.end()
    await writer.wait_closed()


async def test_a_connection_that_was_reset_has_ended() -> None:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    transport = SocketTransport(reader, writer)
    await transport.send_text(b"never read")
    theirs.close()
    assert await transport.receive() is None
    transport.end()


# --- on disk ------------------------------------------------------------------------------------------------------


async def test_the_socket_is_its_owners_alone_and_goes_with_the_server(rig: Rig, tmp_path: Path) -> None:
    assert os.listdir(tmp_path) == ["host.sock"]
    assert os.stat(rig.path).st_mode & 0o777 == 0o600
    await rig.close()
    assert os.listdir(tmp_path) == []


async def test_the_mode_of_other_files_is_as_before(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with house() as home:
            rig = Rig(home, tmp_path)
            await rig.start()
            await rig.clean_up()
    finally:
        after = os.umask(before)
    assert after == 0o027


@pytest.mark.parametrize("name", ["host.sock", "host.sock.new"])
async def test_what_a_killed_host_has_left_is_replaced(tmp_path: Path, name: str) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / name))
    with house() as home:
        rig = Rig(home, tmp_path)
        await rig.start()
        await rig.page()
        await rig.clean_up()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("taken", ["host.sock", "host.sock.new"])
async def test_a_path_that_cannot_be_taken_is_an_error_and_leaves_nothing(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken / "inside").mkdir(parents=True)
    with house() as home:
        rig = Rig(home, tmp_path)
        with pytest.raises(OSError, match=r"Is a directory|Address already in use|Directory not empty"):
            await rig.start()
    assert os.listdir(tmp_path) == [taken]


# --- the end ------------------------------------------------------------------------------------------------------


async def test_pages_read_the_last_words_of_a_closing_host(rig: Rig) -> None:
    page = await rig.page()
    rig.hub.broadcast(Notice("info", "the host is closing"))
    async with asyncio.timeout(1.5):  # less than a page that does not read is given
        closing = asyncio.create_task(rig.close(), name="closing")
        await page.hears_the_end()
        await closing
    assert page.of(Notice) == [Notice("info", "the host is closing")]
    assert tasks() == []


@pytest.mark.parametrize("who", ["says nothing", "reads nothing", "waits for an answer"])
async def test_nobody_holds_up_the_end(rig: Rig, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.0)
    client = await (rig.dial() if who == "says nothing" else rig.page())
    if who == "reads nothing":
        client.reader._transport.pause_reading()  # type: ignore[attr-defined]  # how a stream stops to read
        for _ in range(200):
            rig.hub.broadcast(Notice("info", "x" * 10_000))
            await asyncio.sleep(0)
    elif who == "waits for an answer":
        rig.doings.slow.clear()
        client.says(messages.Rename(1, 1, "x"))
        await until(lambda: rig.doings.asked, "the request")
    else:
        await until(tasks, "the connection")
    async with asyncio.timeout(1.5):  # less than such a connection would be given
        await rig.close()
    assert tasks() == []


async def test_a_fault_of_the_host_goes_through(tmp_path: Path) -> None:
    """What ends the host is not the server's to swallow."""
    with house() as home:
        rig = Rig(home, tmp_path)
        with pytest.raises(BaseExceptionGroup) as failed:
            async with local_server(rig.path, rig.hub, rig._epoch, home.log):
                raise RuntimeError("a fault of the host")
        assert [str(error) for error in failed.value.exceptions] == ["a fault of the host"]
    assert os.listdir(tmp_path) == []


# --- a socket that is deleted -------------------------------------------------------------------------------------


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[tuple[Rig, FakeFolderWatcher]]:
    """A rig whose server watches its own socket."""
    watcher = GuardWatcher()
    with house() as home:
        made = Rig(home, tmp_path)
        await made.stack.enter_async_context(local_server(made.path, made.hub, made._epoch, home.log, watcher))
        yield made, watcher
        await made.clean_up()


class GuardWatcher(FakeFolderWatcher):
    """Of which one name is wanted."""

    def watch(self, path: str, callback: Any, *, suffix: str = "") -> Any:
        assert suffix == "host.sock"
        return super().watch(path, callback)


@pytest.mark.parametrize("how", ["deleted", "anything may have happened"])
async def test_a_deleted_socket_is_made_again_and_pages_stay(
    guarded: tuple[Rig, FakeFolderWatcher], how: str, tmp_path: Path
) -> None:
    rig, watcher = guarded
    before = await rig.page()
    os.unlink(rig.path)
    if how == "deleted":
        watcher.tell(str(tmp_path), "host.sock", "gone", "deleted")
    else:
        watcher.rescan(str(tmp_path))
    await until(lambda: os.path.exists(rig.path), "the socket")
    assert os.stat(rig.path).st_mode & 0o777 == 0o600
    after = await rig.page()
    rig.hub.broadcast(Notice("info", "still here"))
    for client in (before, after):
        await client.hears(lambda client=client: client.of(Notice))
    assert os.listdir(tmp_path) == ["host.sock"]


async def test_a_socket_that_is_there_is_left_alone(guarded: tuple[Rig, FakeFolderWatcher], tmp_path: Path) -> None:
    rig, watcher = guarded
    inode = os.stat(rig.path).st_ino
    watcher.rescan(str(tmp_path))
    watcher.tell(str(tmp_path), "host.sock", "appeared", "moved")
    await rig.page()
    assert os.stat(rig.path).st_ino == inode


async def test_a_socket_that_cannot_be_made_again_is_said(
    guarded: tuple[Rig, FakeFolderWatcher], tmp_path: Path
) -> None:
    rig, watcher = guarded
    os.unlink(rig.path)
    (tmp_path / "host.sock.new").mkdir()
    watcher.tell(str(tmp_path), "host.sock", "gone", "deleted")
    await until(lambda: any("cannot be made again" in line for line in rig.home.log.lines), "the log")
    (tmp_path / "host.sock.new").rmdir()
    watcher.rescan(str(tmp_path))
    await until(lambda: os.path.exists(rig.path), "the socket")


async def test_the_watch_ends_with_the_server(guarded: tuple[Rig, FakeFolderWatcher]) -> None:
    rig, watcher = guarded
    await rig.close()
    assert watcher.watched == []
    assert not os.path.exists(rig.path)


async def test_a_folder_that_cannot_be_watched_is_no_obstacle(tmp_path: Path) -> None:
    watcher = GuardWatcher()
    watcher.refused.add(str(tmp_path))
    with house() as home:
        rig = Rig(home, tmp_path)
        async with local_server(rig.path, rig.hub, rig._epoch, home.log, watcher):
            assert os.path.exists(rig.path)
        assert any("would not be made again" in line for line in home.log.lines)
