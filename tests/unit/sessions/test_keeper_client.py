"""The host's end of the keeper, against a keeper that says what a test says; and the fake that other tests use."""

from __future__ import annotations

import asyncio
import base64
import mmap
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.sessions import HandKeeper, until

from switchboard.common.frames import FrameReader
from switchboard.sessions import keeper_client as module
from switchboard.sessions.keeper import protocol
from switchboard.sessions.keeper.child import make_memory
from switchboard.sessions.keeper.ring import Ring
from switchboard.sessions.keeper_client import (
    RING_BYTES,
    ExitReport,
    Holding,
    KeeperClient,
    KeeperError,
    KeeperGoneError,
)

ENVIRONMENT = {"PATH": os.environ["PATH"]}
CAPACITY = 4096


class ScriptedKeeper:
    """The other end of the socket. Everything it does happens at once: the kernel holds what is not read yet."""

    def __init__(self, folder: Path) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "keeper.sock"))
        self.listener.listen(8)
        self.listener.setblocking(False)
        self.connection: socket.socket | None = None
        self._frames = FrameReader(protocol.MAX_FRAME)
        self._heard: list[protocol.Message] = []
        self._given: list[int] = []
        self.received: list[int] = []

    async def accept(self) -> None:
        """Take the host's next connection."""
        if self.connection is not None:
            self.connection.close()
        async with asyncio.timeout(20):
            self.connection, _ = await asyncio.get_running_loop().sock_accept(self.listener)
        self.connection.settimeout(20)
        self._frames = FrameReader(protocol.MAX_FRAME)

    def hears(self) -> protocol.Message:
        """The next message of the host."""
        assert self.connection is not None
        while not self._heard:
            data, descriptors, _, _ = socket.recv_fds(self.connection, 65536, 16)
            assert data, "the host has gone"
            self.received += descriptors
            self._heard += [protocol.decode(frame) for frame in self._frames.feed(data)]
        return self._heard.pop(0)

    def says(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        assert self.connection is not None
        socket.send_fds(self.connection, [protocol.encode(message)], list(descriptors))

    def welcomes(self, sessions: int = 0) -> None:
        assert self.hears() == {"type": "hello", "protocol": 1}
        self.says({"type": "welcome", "protocol": 1, "pid": 4242, "sessions": sessions})

    def hands_over(self, kind: str = "session", handle: int = 7, label: bytes = b"kept", **fields: Any) -> None:
        """A session, with descriptors of its own."""
        master, slave = os.openpty()
        memory = make_memory(CAPACITY, "/tmp")
        with mmap.mmap(memory, 0) as mapping:
            ring = Ring(mapping, CAPACITY)
            ring.store_label(label)
            ring.append(b"output")
            ring.release()
        message = {"type": kind, "handle": handle, "pid": 55, "start": "66", "started_at": 77, "exit": None, "fds": 2}
        self.says({**message, **fields}, (master, memory))
        for descriptor in (master, memory):
            os.close(descriptor)
        self._given.append(slave)  # the session's program goes on

    def goes(self) -> None:
        assert self.connection is not None
        self.connection.close()
        self.connection = None

    def close(self) -> None:
        for descriptor in (*self._given, *self.received):
            os.close(descriptor)
        if self.connection is not None:
            self.connection.close()
        self.listener.close()


class Rig:
    """A client of a scripted keeper."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.keeper = ScriptedKeeper(folder)
        self.exits: list[tuple[int, ExitReport]] = []
        self.lost = 0
        self.client = KeeperClient(lambda handle, report: self.exits.append((handle, report)), self._lost)
        self.holdings: list[Holding] = []

    def _lost(self) -> None:
        self.lost += 1

    def connecting(self) -> asyncio.Task[list[Holding]]:
        return asyncio.create_task(self.client.connect(self.folder), name="connecting")

    def spawning(self, label: bytes = b"label") -> asyncio.Task[Holding]:
        spawn = self.client.spawn(("prog", "x"), "/srv", {"A": "1"}, 100, 30, label, 4_000_000)
        return asyncio.create_task(spawn, name="spawning")

    async def connect(self, sessions: int = 0) -> list[Holding]:
        task = self.connecting()
        await self.keeper.accept()
        self.keeper.welcomes(sessions)
        for number in range(sessions):
            self.keeper.hands_over(handle=number + 1)
        found = await task
        self.holdings += found
        return found

    def close(self) -> None:
        self.client.close()
        for holding in self.holdings:
            holding.close()
        self.keeper.close()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    yield made
    made.close()


# --- the hand-over ------------------------------------------------------------------------------------------------


async def test_what_the_keeper_holds_is_taken_over(rig: Rig) -> None:
    task = rig.connecting()
    await rig.keeper.accept()
    rig.keeper.welcomes(2)
    rig.keeper.hands_over(handle=7)
    await asyncio.sleep(0)
    assert not task.done()
    rig.keeper.hands_over(handle=9, exit={"code": 3, "signal": None, "at": 88})
    one, two = rig.holdings = await task
    assert (one.handle, one.pid, one.start, one.started_at, one.exit) == (7, 55, "66", 77, None)
    assert (two.handle, two.exit) == (9, ExitReport(3, None, 88))
    assert one.ring.load_label() == b"kept"
    assert one.ring.read(0, 100) == (0, b"output")
    assert os.isatty(one.master)
    assert not os.get_inheritable(one.master)
    assert not os.get_inheritable(one.memory)
    assert rig.client.connected
    assert rig.client.pid == 4242


async def test_a_keeper_that_holds_nothing(rig: Rig) -> None:
    assert await rig.connect() == []
    assert rig.client.connected


async def test_what_a_killed_reader_left_behind_is_counted_in(rig: Rig, tmp_path: Path) -> None:
    memory = make_memory(CAPACITY, str(tmp_path))
    with mmap.mmap(memory, 0) as mapping:
        ring = Ring(mapping, CAPACITY)
        ring.claim(100)[0][:4] = b"torn"
        ring.release()
    task = rig.connecting()
    await rig.keeper.accept()
    rig.keeper.welcomes(1)
    master, slave = os.openpty()
    session = {"type": "session", "handle": 1, "pid": 1, "start": "", "started_at": 0, "exit": None, "fds": 2}
    rig.keeper.says(session, (master, memory))
    for descriptor in (master, slave, memory):
        os.close(descriptor)
    rig.holdings = await task
    assert rig.holdings[0].ring.read(0, 100)[1] == b"torn"


async def test_a_keeper_that_refuses_is_not_lost(rig: Rig) -> None:
    task = rig.connecting()
    await rig.keeper.accept()
    rig.keeper.says({"type": "refused", "reason": "another host is connected"})
    with pytest.raises(KeeperError, match="the session keeper refused: another host is connected"):
        await task
    assert (rig.client.connected, rig.lost) == (False, 0)


async def test_a_refusal_that_came_before_we_could_say_anything_is_read(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    dial = module.dial

    def dial_and_be_refused(folder: str) -> socket.socket | None:
        connection = dial(folder)
        rig.keeper.connection, _ = rig.keeper.listener.accept()
        rig.keeper.says({"type": "refused", "reason": "another host is connected"})
        rig.keeper.goes()
        return connection

    monkeypatch.setattr(module, "dial", dial_and_be_refused)
    with pytest.raises(KeeperError, match="another host is connected"):
        await rig.client.connect(rig.folder)


async def test_a_keeper_that_goes_while_it_hands_over_is_tried_again(rig: Rig) -> None:
    task = rig.connecting()
    await rig.keeper.accept()
    rig.keeper.welcomes(2)
    rig.keeper.hands_over(handle=1)
    assert rig.keeper.connection is not None
    rig.keeper.connection.sendall(b"\0\0")  # half a frame
    rig.keeper.goes()
    await rig.keeper.accept()  # the next attempt
    await until(lambda: rig.client.connected, "the next attempt")
    rig.keeper.welcomes(1)
    rig.keeper.hands_over(handle=5)
    rig.holdings = await task
    assert [holding.handle for holding in rig.holdings] == [5]
    assert rig.lost == 0


async def test_a_keeper_that_goes_each_time_is_given_up(rig: Rig) -> None:
    task = rig.connecting()
    for _ in range(module.CONNECT_ATTEMPTS):
        await asyncio.sleep(0)
        await rig.keeper.accept()
        rig.keeper.goes()
    with pytest.raises(KeeperError, match=r"cannot be reached; see .*/keeper\.log"):
        await task


async def test_a_silent_keeper_is_given_up_and_the_next_attempt_starts_afresh(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.0)
    task = rig.connecting()
    await rig.keeper.accept()
    with pytest.raises(KeeperError, match=r"did not answer within 0 s; see .*/keeper\.log"):
        await task
    assert (rig.client.connected, rig.lost) == (False, 0)
    monkeypatch.setattr(module, "START_SECONDS", 20.0)
    assert [holding.handle for holding in await rig.connect(1)] == [1]


@pytest.mark.parametrize("complete", [False, True], ids=["half handed over", "handed over at that moment"])
async def test_who_gives_up_connecting_leaves_nothing_open(rig: Rig, complete: bool) -> None:
    before = set(os.listdir("/proc/self/fd"))
    task = rig.connecting()
    await rig.keeper.accept()
    rig.keeper.welcomes(1 if complete else 2)
    rig.keeper.hands_over(handle=1)
    if complete:
        await until(lambda: rig.client._handed_over is not None and rig.client._handed_over.done(), "the hand-over")
    else:
        await until(lambda: rig.client._holdings, "the first session")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not rig.client.connected
    rig.keeper.goes()
    slaves = {str(descriptor) for descriptor in rig.keeper._given}
    assert set(os.listdir("/proc/self/fd")) - before - slaves == set()
    assert [holding.handle for holding in await rig.connect(1)] == [1]


async def test_another_users_keeper_is_not_talked_to(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    with pytest.raises(KeeperError, match=r"keeper\.sock belongs to another user's process; remove it"):
        await rig.client.connect(rig.folder)
    assert not rig.client.connected


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x00\x00\x05\x07nope!",
        b"\x00\x00\x00\x05\x01nope!",
        b"\x00\x00\x00\x02\x01{}",
        b"\xff\xff\xff\xff\x01",
        protocol.encode({"type": "welcome"}),
        protocol.encode({"type": "exited", "handle": 1}),
        protocol.encode({"type": "spawned", "request": 1, "fds": 2}),
    ],
    ids=["kind", "no JSON", "no type", "length", "lacks a field", "exit without status", "no descriptors"],
)
async def test_nonsense_ends_the_connection(rig: Rig, data: bytes) -> None:
    await rig.connect()
    assert rig.keeper.connection is not None
    rig.keeper.connection.sendall(data)
    await until(lambda: rig.lost, "the end")
    assert not rig.client.connected


async def test_messages_of_a_later_keeper_are_ignored(rig: Rig) -> None:
    await rig.connect()
    rig.keeper.says({"type": "something-new", "x": 1})
    rig.keeper.says({"type": "exited", "handle": 1, "code": 0, "signal": None, "at": 5})
    await until(lambda: rig.exits, "the exit")
    assert rig.lost == 0


# --- sessions -----------------------------------------------------------------------------------------------------


async def test_a_session_is_asked_for_and_handed_over(rig: Rig) -> None:
    await rig.connect()
    task = rig.spawning(b"\0label\xff")
    await asyncio.sleep(0)
    asked = rig.keeper.hears()
    assert base64.b64decode(asked.pop("label")) == b"\0label\xff"
    assert asked == {
        "type": "spawn",
        "request": 1,
        "argv": ["prog", "x"],
        "cwd": "/srv",
        "env": {"A": "1"},
        "columns": 100,
        "rows": 30,
        "capacity": RING_BYTES,
        "deadline": 4_000_000,
    }
    rig.keeper.hands_over("spawned", request=1)
    holding = await task
    rig.holdings.append(holding)
    assert (holding.handle, holding.pid, holding.ring.load_label()) == (7, 55, b"kept")


async def test_answers_find_their_requests_in_any_order(rig: Rig) -> None:
    await rig.connect()
    tasks = [rig.spawning(), rig.spawning(), rig.spawning()]
    await asyncio.sleep(0)
    assert [rig.keeper.hears()["request"] for _ in tasks] == [1, 2, 3]
    rig.keeper.hands_over("spawned", handle=30, request=3)
    rig.keeper.says({"type": "failed", "request": 1, "reason": "could not run prog: no such program"})
    rig.keeper.hands_over("spawned", handle=20, request=2)
    with pytest.raises(KeeperError, match=r"^could not run prog: no such program$"):
        await tasks[0]
    rig.holdings += [await tasks[1], await tasks[2]]
    assert [holding.handle for holding in rig.holdings] == [20, 30]


@pytest.mark.parametrize("when", ["before the answer", "with the answer"])
async def test_a_session_that_nobody_waits_for_any_more_is_given_up(rig: Rig, when: str) -> None:
    await rig.connect()
    task = rig.spawning()
    await asyncio.sleep(0)
    rig.keeper.hears()
    before = set(os.listdir("/proc/self/fd"))
    if when == "before the answer":
        task.cancel()
        await asyncio.sleep(0)
        rig.keeper.hands_over("spawned", handle=8, request=1)
    else:
        rig.keeper.hands_over("spawned", handle=8, request=1)
        (answer,) = rig.client._requests.values()
        await until(answer.done, "the answer")
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert rig.keeper.hears() == {"type": "forget", "handle": 8}
    assert set(os.listdir("/proc/self/fd")) - before == {str(descriptor) for descriptor in rig.keeper._given}


@pytest.mark.parametrize("late", ["an answer", "a refusal"])
async def test_a_keeper_that_starts_nothing_is_not_waited_for_without_end(
    rig: Rig, late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.connect()
    monkeypatch.setattr(module, "SPAWN_SECONDS", 0.0)
    task = rig.spawning()
    with pytest.raises(KeeperError, match=r"has not started it within 0 s; see .*/keeper\.log"):
        await task
    assert rig.client.connected
    assert rig.client._requests == {}
    rig.keeper.hears()
    before = set(os.listdir("/proc/self/fd"))
    if late == "a refusal":
        rig.keeper.says({"type": "failed", "request": 1, "reason": "x"})
    else:
        rig.keeper.hands_over("spawned", handle=8, request=1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert rig.keeper.hears() == {"type": "forget", "handle": 8}
    assert set(os.listdir("/proc/self/fd")) - before == {str(descriptor) for descriptor in rig.keeper._given}
    monkeypatch.setattr(module, "SPAWN_SECONDS", 20.0)
    next_one = rig.spawning()
    await asyncio.sleep(0)
    assert rig.keeper.hears()["request"] == 2
    rig.keeper.hands_over("spawned", handle=9, request=2)
    rig.holdings.append(await next_one)


async def test_a_refusal_that_nobody_waits_for_is_nothing(rig: Rig) -> None:
    await rig.connect()
    rig.keeper.says({"type": "failed", "request": 99, "reason": "x"})
    rig.keeper.says({"type": "exited", "handle": 1, "code": None, "signal": 9, "at": 5})
    await until(lambda: rig.exits, "the exit")
    assert rig.exits == [(1, ExitReport(None, 9, 5))]


async def test_a_session_is_forgotten(rig: Rig) -> None:
    await rig.connect()
    rig.client.forget(3)
    assert rig.keeper.hears() == {"type": "forget", "handle": 3}
    assert rig.client._socket is not None
    assert not rig.client._socket.getblocking(), "reading must not wait"


async def test_a_session_is_given_to_the_keeper_with_its_descriptors(rig: Rig) -> None:
    (holding,) = await rig.connect(1)
    rig.client.adopt(holding)
    assert rig.keeper.hears() == {
        "type": "adopt",
        "handle": 1,
        "pid": 55,
        "start": "66",
        "started_at": 77,
        "fds": 2,
    }
    master, memory = rig.keeper.received
    assert os.isatty(master)
    assert os.fstat(memory).st_ino == os.fstat(holding.memory).st_ino


async def test_a_message_larger_than_the_sockets_buffer_goes_out_whole(rig: Rig) -> None:
    await rig.connect()
    reading = asyncio.create_task(asyncio.to_thread(rig.keeper.hears), name="keeper")
    task = asyncio.create_task(
        rig.client.spawn(("prog",), "/", {"BIG": "x" * 2_000_000}, 80, 24, b"", 2**60), name="spawning"
    )
    asked = await reading
    assert len(asked["env"]["BIG"]) == 2_000_000
    rig.keeper.says({"type": "failed", "request": 1, "reason": "no"})
    with pytest.raises(KeeperError, match=r"^no$"):
        await task


async def test_closing_a_holding_lets_go_of_all_of_it(rig: Rig) -> None:
    await rig.connect()
    task = rig.spawning()
    await asyncio.sleep(0)
    rig.keeper.hears()
    before = set(os.listdir("/proc/self/fd"))
    rig.keeper.hands_over("spawned", request=1)
    holding = await task
    holding.close()
    assert holding.mapping.closed
    assert set(os.listdir("/proc/self/fd")) - before == {str(descriptor) for descriptor in rig.keeper._given}


# --- the end of the connection ------------------------------------------------------------------------------------


async def test_a_lost_keeper_fails_what_waits_and_is_said_once(rig: Rig) -> None:
    await rig.connect()
    task = rig.spawning()
    await asyncio.sleep(0)
    rig.keeper.hears()
    rig.keeper.goes()
    with pytest.raises(KeeperGoneError, match="the session keeper has gone; try again"):
        await task
    assert (rig.client.connected, rig.lost) == (False, 1)
    with pytest.raises(KeeperGoneError, match="is gone"):
        await rig.client.spawn(("x",), "/", {}, 80, 24, b"", 2**60)
    rig.client.forget(1)


async def test_what_it_said_before_it_went_is_heard(rig: Rig) -> None:
    await rig.connect()
    rig.keeper.says({"type": "exited", "handle": 1, "code": 4, "signal": None, "at": 5})
    rig.keeper.goes()
    with pytest.raises(KeeperGoneError):
        await rig.client.spawn(("x",), "/", {}, 80, 24, b"", 2**60)
    await until(lambda: rig.lost, "the end")
    assert rig.exits == [(1, ExitReport(4, None, 5))]


async def test_leaving_is_no_loss(rig: Rig) -> None:
    await rig.connect()
    rig.client.close()
    rig.client.close()
    assert (rig.client.connected, rig.lost) == (False, 0)
    assert rig.keeper.connection is not None
    assert rig.keeper.connection.recv(10) == b""


# --- the fake that other tests use, and the real thing ------------------------------------------------------------


class Subject:
    """A client with a keeper behind it: the real one, or the one that is moved by hand."""

    def __init__(self, real: bool, folder: Path) -> None:
        self.exits: dict[int, ExitReport] = {}
        self.lost = 0
        self.real = real
        self.folder = folder
        make = KeeperClient if real else HandKeeper
        self.client: Any = make(self.exits.__setitem__, self._lost)
        self.holdings: list[Holding] = []

    def _lost(self) -> None:
        self.lost += 1

    async def connect(self) -> list[Holding]:
        found: list[Holding] = await self.client.connect(str(self.folder))
        self.holdings += found
        return found

    async def spawn(self, command: str = "read x", deadline: int = 2**60) -> Holding:
        if not self.real and command == "no-such-program":
            self.client.refusal = "could not run no-such-program: no such program"
        argv = ("sh", "-c", command) if command != "no-such-program" else (command,)
        holding: Holding = await self.client.spawn(argv, "/", ENVIRONMENT, 91, 17, b"a label", deadline)
        self.holdings.append(holding)
        return holding

    def end(self, holding: Holding) -> None:
        """Let the session's program end with 7."""
        if self.real:
            os.write(holding.master, b"word\n")
        else:
            self.client.exits(holding.handle, 7)

    def lose(self) -> None:
        if self.real:
            os.kill(self.client.pid, signal.SIGKILL)
        else:
            self.client.dies()

    def close(self) -> None:
        for holding in self.holdings:
            self.client.forget(holding.handle)
            holding.close()
        self.client.close()
        if not self.real:
            self.client.clean_up()


@pytest.fixture(params=[True, False], ids=["the keeper", "the fake"])
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    made = Subject(request.param, tmp_path)
    yield made
    made.close()
    await until(lambda: not (tmp_path / "keeper.sock").exists(), "the keeper's end")


async def test_a_first_connection_finds_nothing(subject: Subject) -> None:
    assert not subject.client.connected
    assert await subject.connect() == []
    assert subject.client.connected


async def test_a_session_has_terminal_ring_and_label(subject: Subject) -> None:
    await subject.connect()
    one, two = await subject.spawn(), await subject.spawn()
    assert one.handle != two.handle
    assert one.pid != two.pid
    assert one.exit is None
    assert one.ring.load_label() == b"a label"
    assert one.ring.head == 0
    assert tuple(os.get_terminal_size(one.master)) == (91, 17)


async def test_a_program_that_does_not_start(subject: Subject) -> None:
    await subject.connect()
    with pytest.raises(KeeperError, match=r"^could not run no-such-program: no such program$"):
        await subject.spawn("no-such-program")


async def test_an_exit_is_reported(subject: Subject) -> None:
    await subject.connect()
    holding = await subject.spawn("read x; exit 7")
    subject.end(holding)
    await until(lambda: subject.exits, "the exit")
    assert list(subject.exits) == [holding.handle]
    assert (subject.exits[holding.handle].code, subject.exits[holding.handle].signal) == (7, None)


async def test_without_a_keeper_nothing_starts_and_nothing_is_adopted(subject: Subject) -> None:
    with pytest.raises(KeeperGoneError, match="new sessions cannot be opened until it is back"):
        await subject.spawn()
    await subject.connect()
    holding = await subject.spawn()
    subject.lose()
    await until(lambda: subject.lost, "the loss")
    assert (subject.lost, subject.client.connected) == (1, False)
    with pytest.raises(KeeperGoneError):
        subject.client.adopt(holding)
    subject.client.forget(holding.handle)
    assert await subject.connect() == []
    subject.client.adopt(holding)
    assert subject.client.connected
    assert (await subject.spawn()).handle > holding.handle or not subject.real


async def test_closing_is_no_loss(subject: Subject) -> None:
    await subject.connect()
    subject.client.close()
    assert (subject.client.connected, subject.lost) == (False, 0)


@pytest.fixture(autouse=True)
def _no_keeper_is_left_listening(tmp_path: Path) -> Iterator[None]:
    yield
    (tmp_path / "keeper.sock").unlink(missing_ok=True)
