"""The keeper's loop, turned by hand: what it answers, whose terminals it reads when, and when it ends."""

from __future__ import annotations

import base64
import mmap
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import tty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.sessions import NOBODY, Terminal

import switchboard
from switchboard.common.frames import FrameReader
from switchboard.sessions.keeper import process as module
from switchboard.sessions.keeper import protocol
from switchboard.sessions.keeper.child import make_memory, start_identity
from switchboard.sessions.keeper.process import EXITED_SECONDS, FIRST_HOST_SECONDS, Held, Keeper
from switchboard.sessions.keeper.ring import Ring

PATH = {"PATH": os.environ["PATH"]}
CAPACITY = 4096
HELLO = {"type": "hello", "protocol": 1}


class Host:
    """A host's end of the socket."""

    def __init__(self, played: Played) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(played.path)
        self.socket.setblocking(False)
        self.ended = False
        self.descriptors: list[int] = []
        self._played = played
        self._frames = FrameReader(protocol.MAX_FRAME)
        self._heard: list[protocol.Message] = []

    def says(self, *messages: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        data = b"".join(protocol.encode(message) for message in messages)
        socket.send_fds(self.socket, [data], list(fds))

    def hears(self) -> protocol.Message:
        """The next message; the keeper's loop turns until it has come."""
        while not self._heard:
            assert not self.ended, "the keeper has ended the connection"
            self._played.turn()
            self._receive()
        return self._heard.pop(0)

    def is_dropped(self) -> bool:
        """Let the loop turn, and tell whether the keeper has ended the connection without another word."""
        for _ in range(5):
            self._played.turn()
            self._receive()
        assert self._heard == []
        return self.ended

    def _receive(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 16)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data, descriptors = b"", []
        self.ended = self.ended or not data
        self.descriptors += descriptors
        self._heard += [protocol.decode(frame) for frame in self._frames.feed(data)]

    def take(self) -> tuple[int, int]:
        """The descriptors that came with a session: (terminal, memory). The test closes them."""
        master, memory = self.descriptors[:2]
        del self.descriptors[:2]
        self._played.ours += [master, memory]
        return master, memory

    def leave(self) -> None:
        self.socket.close()


class Played:
    """A keeper whose loop turns when the test says so."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "keeper.sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.keeper = Keeper(self.listener, str(folder))
        self.hosts: list[Host] = []
        self.ours: list[int] = []
        self.pids: list[int] = []

    def turn(self) -> None:
        """One turn of the loop, without waiting."""
        for key, _ in self.keeper._selector.select(0):
            key.data()

    def dial(self) -> Host:
        host = Host(self)
        self.hosts.append(host)
        return host

    def connect(self, sessions: int = 0) -> Host:
        """A host that was welcomed."""
        host = self.dial()
        host.says(HELLO)
        assert host.hears() == {"type": "welcome", "protocol": 1, "pid": os.getpid(), "sessions": sessions}
        return host

    def spawn(self, host: Host, command: str = "sleep 600", **fields: Any) -> protocol.Message:
        """Have a shell command started; return the answer."""
        asked = {"argv": ["sh", "-c", command], "cwd": "/", "env": PATH, "columns": 80, "rows": 24, "capacity": 4096}
        host.says({"type": "spawn", "request": 5, "label": encoded(b"label"), **asked, **fields})
        answer = host.hears()
        if answer["type"] == "spawned":
            self.pids.append(answer["pid"])
        return answer

    def ends(self, pid: int) -> None:
        """Wait until a child has ended, and tell the keeper as SIGCHLD does."""
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self.keeper._wake.send(b"\0")
        self.turn()

    def held(self, handle: int = 1) -> Held:
        return self.keeper._sessions[handle]

    def close(self) -> None:
        for host in self.hosts:
            host.leave()
            self.ours += host.descriptors
        for held in self.keeper._sessions.values():
            held.close()
        if self.keeper._host is not None:
            self.keeper._host.socket.close()
        for key in list(self.keeper._selector.get_map().values()):
            if isinstance(key.fileobj, int) and key.fileobj not in {h.master for h in self.keeper._sessions.values()}:
                os.close(key.fileobj)  # a pidfd
        self.keeper._selector.close()
        for end in (self.keeper._woken, self.keeper._wake, self.listener):
            end.close()
        for descriptor in self.ours:
            os.close(descriptor)
        for pid in self.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    made = Played(tmp_path)
    yield made
    made.close()


def readable(descriptor: int) -> None:
    assert select.select([descriptor], [], [], 20)[0]


class Mapped:
    """A ring, as a host maps it."""

    def __init__(self, memory: int) -> None:
        self._mapping = mmap.mmap(memory, 0)
        self.ring = Ring(self._mapping)

    def __enter__(self) -> Ring:
        return self.ring

    def __exit__(self, *_: object) -> None:
        self.ring.release()
        self._mapping.close()


# --- hosts --------------------------------------------------------------------------------------------------------


def test_a_host_is_welcomed(played: Played) -> None:
    played.connect()
    assert played.keeper._host is not None


@pytest.mark.parametrize(
    "first",
    [{"type": "spawn"}, {"type": "forget", "handle": 1}, {"type": "welcome"}],
    ids=["spawn", "forget", "welcome"],
)
def test_who_does_not_introduce_itself_is_dropped(played: Played, first: dict[str, Any]) -> None:
    host = played.dial()
    host.says(first)
    assert host.is_dropped()
    assert played.keeper._host is None


def test_an_unknown_protocol_is_refused_and_what_comes_with_it_is_not_carried_out(
    played: Played, capfd: pytest.CaptureFixture[str]
) -> None:
    host = played.connect()
    played.spawn(host)
    host.leave()
    played.turn()
    later = played.dial()
    later.says({"type": "hello", "protocol": 2}, {"type": "forget", "handle": 1}, {"type": "spawn", "request": 1})
    assert later.hears() == {"type": "refused", "reason": "this keeper speaks protocol 1"}
    assert later.is_dropped()
    assert played.connect(1).hears()["handle"] == 1
    assert capfd.readouterr().err == ""


def test_a_second_host_is_refused_and_the_first_one_stays(played: Played) -> None:
    host = played.connect()
    second = played.dial()
    assert second.hears() == {"type": "refused", "reason": "another host is connected"}
    assert second.is_dropped()
    assert played.spawn(host)["type"] == "spawned"


@pytest.mark.parametrize("order", ["as they come", "the end first", "the newcomer first"])
def test_a_host_that_was_killed_makes_way_for_the_next(
    played: Played, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end and its successor can be noticed in one turn, in any order."""
    host = played.connect()
    played.spawn(host)
    host.leave()
    successor = played.dial()
    successor.says(HELLO)
    if order != "as they come":
        in_order(played, monkeypatch, newcomer_first=order == "the newcomer first")
    assert successor.hears()["type"] == "welcome"
    assert successor.hears()["type"] == "session"
    successor.take()
    assert not successor.is_dropped()
    assert played.spawn(successor)["type"] == "spawned"


def in_order(played: Played, monkeypatch: pytest.MonkeyPatch, newcomer_first: bool) -> None:
    """Let one turn find things in this order, whatever the system says."""
    found = played.keeper._selector.select

    def ordered(timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return sorted(found(timeout), key=lambda one: (one[0].fileobj is played.listener) != newcomer_first)

    monkeypatch.setattr(played.keeper._selector, "select", ordered)


def test_another_users_process_is_not_listened_to(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    host = played.dial()
    assert host.is_dropped()
    assert played.keeper._host is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x00\x00\x00\x05\x01nope!", "not a message of the keeper's protocol"),
        (b"\x7f\xff\xff\xff\x01", "over the limit"),
        (protocol.encode({"type": "something-else"}), "unknown message something-else"),
        (protocol.encode({"type": "forget"}), "'handle'"),
        (protocol.encode({"type": "forget", "handle": "x"}), "invalid literal"),
        (protocol.encode({"type": "adopt", "handle": 1, "pid": 1, "start": "", "started_at": 0}), "two descriptors"),
    ],
    ids=["no JSON", "length", "unknown", "lacks a field", "no number", "adopt without descriptors"],
)
def test_nonsense_costs_the_host_its_connection_and_no_session(
    played: Played, data: bytes, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    host = played.connect()
    spawned = played.spawn(host)
    host.take()
    host.socket.sendall(data)
    assert host.is_dropped()
    said = capfd.readouterr().err
    assert said.startswith("keeper: dropped the host: ")
    assert text in said
    successor = played.connect(1)
    assert successor.hears()["pid"] == spawned["pid"]


def test_descriptors_that_came_with_nonsense_are_closed(played: Played) -> None:
    host = played.connect()
    before = set(os.listdir("/proc/self/fd"))
    socket.send_fds(host.socket, [b"\x00\x00\x00\x05\x01nope!"], [0, 0])
    for _ in range(3):
        played.turn()
    assert set(os.listdir("/proc/self/fd")) < before


def test_a_ring_that_a_host_has_spoiled_costs_no_other_session(
    played: Played, capfd: pytest.CaptureFixture[str]
) -> None:
    host = played.connect()
    played.spawn(host)
    played.spawn(host, "echo hello; sleep 600")
    _, memory = host.take()
    with mmap.mmap(memory, 0) as mapping:
        mapping[:16] = bytes(16)
    host.leave()
    readable(played.held(2).master)
    for _ in range(3):
        played.turn()
    assert capfd.readouterr().err == "keeper: session 1 is not read: this memory holds no ring of a known layout\n"
    assert played.held(2).map().read(0, 100)[1] == b"hello\r\n"
    assert played.connect(2).hears()["handle"] == 1


def test_a_host_that_does_not_read_is_given_up(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    host = played.connect()
    monkeypatch.setattr(module, "SEND_SECONDS", 0.0)
    assert played.keeper._host is not None
    for _ in range(1000):
        played.keeper._host.send({"type": "exited", "text": "x" * 10_000})
    for _ in range(3):
        played.turn()
    assert played.keeper._host is None
    host.leave()


# --- sessions -----------------------------------------------------------------------------------------------------


def test_a_program_is_started_and_handed_over(played: Played) -> None:
    host = played.connect()
    answer = played.spawn(host, "read x; echo got $x; read y", columns=91, rows=17, label=encoded(b"the label"))
    master, memory = host.take()
    assert answer == {
        "type": "spawned",
        "request": 5,
        "handle": 1,
        "pid": answer["pid"],
        "start": start_identity(answer["pid"]),
        "started_at": answer["started_at"],
        "exit": None,
        "fds": 2,
    }
    assert tuple(os.get_terminal_size(master)) == (91, 17)
    os.write(master, b"word\n")
    text = b""
    while b"got word" not in text:
        readable(master)
        text += os.read(master, 1000)
    with Mapped(memory) as ring:
        assert (ring.load_label(), ring.capacity, ring.head) == (b"the label", CAPACITY, 0)
    assert played.spawn(host)["handle"] == 2


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"argv": ["no-such-program"]}, "could not run no-such-program: no such program"),
        ({"cwd": "/no/such"}, "could not enter the directory /no/such: No such file or directory"),
        ({"capacity": 5000}, "capacity must be a power of two and at least 4096"),
        ({"capacity": "x"}, "invalid literal for int() with base 10: 'x'"),
        ({"label": encoded(b"x" * 70_000)}, "a label of 70000 bytes, over the limit of 65504"),
        ({"env": 5}, "'int' object is not iterable"),
        ({"deadline": 1}, "too late: the session keeper came to it only after its time had passed"),
        ({"deadline": "x"}, "'>=' not supported between instances of 'int' and 'str'"),
    ],
    ids=["program", "directory", "capacity", "no number", "label", "environment", "too late", "no instant"],
)
def test_what_cannot_be_started_is_refused_and_leaves_nothing(
    played: Played, fields: dict[str, Any], reason: str
) -> None:
    host = played.connect()
    before = set(os.listdir("/proc/self/fd"))
    assert played.spawn(host, **fields) == {"type": "failed", "request": 5, "reason": reason}
    assert set(os.listdir("/proc/self/fd")) == before
    assert played.keeper._sessions == {}


@pytest.mark.parametrize("deadline", [None, 2**60])
def test_what_is_in_time_is_started(played: Played, deadline: int | None) -> None:
    """An older host says nothing of a deadline."""
    assert played.spawn(played.connect(), deadline=deadline)["type"] == "spawned"


@pytest.mark.parametrize(
    ("command", "code", "number"),
    [("exit 0", 0, None), ("exit 3", 3, None), ("kill -9 $$", None, 9), ("kill -15 $$", None, 15)],
)
def test_an_exit_is_reported(played: Played, command: str, code: int | None, number: int | None) -> None:
    host = played.connect()
    pid = played.spawn(host, command)["pid"]
    played.ends(pid)
    report = host.hears()
    assert report.pop("at") > 1_600_000_000_000
    assert report == {"type": "exited", "handle": 1, "code": code, "signal": number}


def test_an_exit_that_was_not_noticed_yet_is_in_the_hand_over(played: Played) -> None:
    host = played.connect()
    pid = played.spawn(host, "exit 9")["pid"]
    host.leave()
    played.turn()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    successor = played.dial()
    successor.says(HELLO)
    said = [successor.hears() for _ in range(3)]
    assert [message["type"] for message in said] == ["exited", "welcome", "session"]
    assert said[2]["exit"]["code"] == 9


def test_children_that_end_together_are_all_reported(played: Played) -> None:
    host = played.connect()
    pids = [played.spawn(host, f"exit {number}")["pid"] for number in range(5)]
    for pid in pids:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    played.ends(pids[0])
    assert sorted(host.hears()["code"] for _ in pids) == [0, 1, 2, 3, 4]


def test_forgetting_closes_the_terminal(played: Played) -> None:
    host = played.connect()
    pid = played.spawn(host)["pid"]
    host.says({"type": "forget", "handle": 1}, {"type": "forget", "handle": 77})
    for _ in range(3):
        played.turn()
    assert played.keeper._sessions == {}
    master, memory = host.take()
    for descriptor in (master, memory):
        os.close(descriptor)
        played.ours.remove(descriptor)
    # Our copy was the last one: the program is hung up.
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGHUP


# --- who reads the terminals --------------------------------------------------------------------------------------


def test_while_a_host_is_there_the_keeper_reads_nothing(played: Played) -> None:
    host = played.connect()
    played.spawn(host, "echo hello; sleep 600")
    master, memory = host.take()
    readable(master)
    played.turn()
    with Mapped(memory) as ring:
        assert ring.head == 0
    assert Terminal(master).typed(7) == b"hello\r\n"


def test_without_a_host_the_keeper_reads_on_where_it_stopped(played: Played) -> None:
    host = played.connect()
    pid = played.spawn(host, "read x; echo got $x; exit 7")["pid"]
    master, memory = host.take()
    tty.setraw(master)
    with Mapped(memory) as ring:
        ring.append(b"read by the host, ")
        ring.store_label(b"stored by the host")
        torn = ring.claim(100)
        torn[0][:5] = b"torn "
        for part in torn:
            part.release()
    host.leave()
    played.turn()
    os.write(master, b"word\n")
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    for _ in range(5):
        played.turn()
    played.ends(pid)
    successor = played.connect(1)
    session = successor.hears()
    assert (session["handle"], session["exit"]["code"]) == (1, 7)
    with Mapped(successor.take()[1]) as ring:
        assert ring.read(0, 1000)[1] == b"read by the host, torn got word\n"
        assert ring.load_label() == b"stored by the host"
    assert played.held().ring is None, "while a host reads, the keeper's memory stays small"


def test_a_terminal_that_has_hung_up_is_not_looked_at_any_more(played: Played) -> None:
    host = played.connect()
    pid = played.spawn(host, "echo last words")["pid"]
    host.leave()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    for _ in range(5):
        played.turn()
    assert not played.held().watched
    assert played.held().map().read(0, 100)[1] == b"last words\r\n"


def test_output_found_in_the_turn_in_which_a_host_takes_over_is_left_to_it(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two readers of one terminal would write over each other in the ring."""
    host = played.connect()
    played.spawn(host, "read x; echo $x; sleep 600")
    master, _ = host.take()
    host.leave()
    played.turn()
    successor = played.dial()
    played.turn()
    successor.says(HELLO)
    in_order(played, monkeypatch, newcomer_first=True)
    drain = next(key for key in played.keeper._selector.get_map().values() if key.fileobj == played.held().master)
    os.write(master, b"word\n")
    readable(master)
    assert played.keeper._host is not None
    played.keeper._host.receive()
    drain.data()  # what the same turn had found
    assert successor.hears()["type"] == "welcome"
    successor.hears()
    with Mapped(successor.take()[1]) as ring:
        assert ring.head == 0


def test_no_child_blocks_without_a_host(played: Played) -> None:
    host = played.connect()
    pid = played.spawn(host, "head -c 300000 /dev/zero | tr '\\0' x; echo end")["pid"]
    host.leave()
    pidfd = os.pidfd_open(pid)
    while not select.select([pidfd], [], [], 0)[0]:
        played.turn()
    os.close(pidfd)
    for _ in range(50):
        played.turn()
    ring = played.held().map()
    assert ring.read(ring.head - 5, 5)[1] == b"end\r\n"
    assert ring.head == 300_005


# --- sessions of a keeper that died -------------------------------------------------------------------------------


def orphan(played: Played) -> tuple[subprocess.Popen[bytes], tuple[int, int]]:
    """A process that is not the keeper's child, with a terminal and a ring."""
    master, slave = os.openpty()
    memory = make_memory(CAPACITY, "/tmp")
    with mmap.mmap(memory, 0) as mapping:
        ring = Ring(mapping, CAPACITY)
        ring.store_label(b"kept")
        ring.release()
    child = subprocess.Popen(["sleep", "600"], stdin=slave, stdout=slave)
    os.close(slave)
    played.ours += [master, memory]
    return child, (master, memory)


def adopt(handle: int, pid: int, start: str) -> dict[str, Any]:
    return {"type": "adopt", "handle": handle, "pid": pid, "start": start, "started_at": 9, "fds": 2}


def test_a_session_of_a_dead_keeper_is_taken_over(played: Played) -> None:
    child, descriptors = orphan(played)
    host = played.connect()
    host.says(adopt(8, child.pid, start_identity(child.pid)), fds=descriptors)
    for _ in range(3):
        played.turn()
    assert (played.held(8).pid, played.held(8).ours, played.held(8).started_at) == (child.pid, False, 9)
    assert played.spawn(host)["handle"] == 9
    child.kill()
    child.wait()
    report = host.hears()
    assert (report["handle"], report["code"], report["signal"]) == (8, None, None)
    host.leave()
    played.turn()
    successor = played.connect(2)
    assert successor.hears()["exit"] == {"code": None, "signal": None, "at": report["at"]}


@pytest.mark.parametrize("case", ["no process", "another process with its number"])
def test_a_session_whose_process_has_ended_meanwhile_has_ended(played: Played, case: str) -> None:
    child, descriptors = orphan(played)
    host = played.connect()
    host.says(adopt(8, NOBODY if case == "no process" else child.pid, "1"), fds=descriptors)
    report = host.hears()
    child.kill()
    child.wait()
    assert (report["type"], report["handle"], report["code"], report["signal"]) == ("exited", 8, None, None)


def test_a_forgotten_one_says_nothing_when_it_ends(played: Played) -> None:
    child, descriptors = orphan(played)
    host = played.connect()
    host.says(adopt(8, child.pid, start_identity(child.pid)), {"type": "forget", "handle": 8}, fds=descriptors)
    for _ in range(3):
        played.turn()
    child.kill()
    child.wait()
    assert not host.is_dropped()


# --- the end ------------------------------------------------------------------------------------------------------


@pytest.fixture
def signals() -> Iterator[None]:
    """What the keeper does to the signals of its process is undone."""
    numbers = (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    signal.set_wakeup_fd(-1)
    for number, handler in before.items():
        signal.signal(number, handler)


class Watch:
    """A clock for `time.monotonic`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now, time_ns=lambda: 5_000_000))


def test_how_long_it_waits_for_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    played = Played(tmp_path)
    keeper = played.keeper

    def ends_in() -> float | None:
        keeper._set_end()
        return None if keeper._end_by is None else keeper._end_by - watch.now

    assert ends_in() == FIRST_HOST_SECONDS
    watch.now += 10
    assert ends_in() == FIRST_HOST_SECONDS - 10
    host = played.connect()
    assert ends_in() is None
    pid = played.spawn(host)["pid"]
    host.leave()
    played.turn()
    assert ends_in() is None, "a session runs"
    os.kill(pid, signal.SIGKILL)
    played.ends(pid)
    assert ends_in() == EXITED_SECONDS
    watch.now += 20
    assert ends_in() == EXITED_SECONDS - 20
    successor = played.connect(1)
    assert ends_in() is None
    successor.says({"type": "forget", "handle": 1})
    successor.hears()
    played.turn()
    successor.leave()
    played.turn()
    assert ends_in() == 0, "nothing is held and nobody is there"
    played.close()


def test_it_ends_when_its_time_is_over(played: Played, signals: None) -> None:
    played.keeper._end_by = 0.0
    played.keeper.run()
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        assert signal.getsignal(ignored) == signal.SIG_IGN


def test_sigterm_ends_it_and_hangs_up_every_session(played: Played, signals: None) -> None:
    host = played.connect()
    pid = played.spawn(host)["pid"]
    host.leave()
    played.turn()
    master = played.held().master
    played.keeper._stopping = True
    played.keeper.run()
    played.keeper._selector.unregister(master)
    assert signal.getsignal(signal.SIGTERM) == played.keeper._on_terminate
    played.keeper._stopping = False
    played.keeper._on_terminate()
    assert played.keeper._stopping
    for descriptor in host.take():
        os.close(descriptor)
        played.ours.remove(descriptor)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGHUP
    played.keeper._sessions.clear()


# --- the process --------------------------------------------------------------------------------------------------

PROGRAM = (
    "import sys, signal; sys.path.insert(0, sys.argv[1]);"
    "alarm = signal.alarm; signal.alarm = lambda s: signal.setitimer(signal.ITIMER_REAL, s / 100);"
    "from switchboard.sessions.keeper.process import main; sys.exit(main(sys.argv[2]))"
)


def start(folder: Path) -> subprocess.Popen[bytes]:
    source = str(Path(switchboard.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PROGRAM, source, str(folder)], stdout=subprocess.PIPE, cwd="/"
    )


def greet(folder: Path) -> tuple[socket.socket, protocol.Message]:
    """Connect as a host; return the connection and the welcome."""
    host = socket.socket(socket.AF_UNIX)
    host.connect(str(folder / "keeper.sock"))
    host.sendall(protocol.encode(HELLO))
    return host, protocol.decode(FrameReader(protocol.MAX_FRAME).feed(host.recv(1000))[0])


def test_the_process_says_when_it_listens_and_leaves_nothing(tmp_path: Path) -> None:
    with start(tmp_path) as keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == b"ready\n"
        path = tmp_path / "keeper.sock"
        assert path.stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "keeper.lock").read_text() == f"{keeper.pid}\n"
        host, welcome = greet(tmp_path)
        assert welcome["pid"] == keeper.pid
        host.close()
        assert keeper.wait(20) == 0
        assert not path.exists()


def test_a_socket_that_was_left_behind_is_replaced_and_sigterm_is_an_orderly_end(tmp_path: Path) -> None:
    (tmp_path / "keeper.sock").write_text("left behind")
    with start(tmp_path) as keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == b"ready\n"
        host, _ = greet(tmp_path)
        keeper.terminate()
        assert keeper.wait(20) == 0
        assert not (tmp_path / "keeper.sock").exists()
        host.close()


def test_a_second_one_for_the_folder_gives_way(tmp_path: Path) -> None:
    with start(tmp_path) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"ready\n"
        with start(tmp_path) as second:
            assert second.stdout is not None
            assert second.stdout.read() == b""
            assert second.wait(20) == -signal.SIGALRM
        assert (tmp_path / "keeper.lock").read_text() == f"{first.pid}\n"
        host, welcome = greet(tmp_path)
        assert welcome["pid"] == first.pid
        host.close()
        assert first.wait(20) == 0
