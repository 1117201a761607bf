"""The keeper as a real process: children, exits, hand-over, and what survives a killed host."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from switchboard.common.paths import runtime_folder
from switchboard.sessions import keeper_client
from switchboard.sessions.keeper_client import ExitReport, Holding, KeeperClient, KeeperError
from switchboard.sessions.keeper_start import end_keeper

ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


class Host:
    """A host's end of the keeper, with what it was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.exits: dict[int, asyncio.Future[ExitReport]] = {}
        self.lost = asyncio.Event()
        self.client = KeeperClient(lambda handle, report: self.exit_of(handle).set_result(report), self.lost.set)
        self.holdings: list[Holding] = []

    def exit_of(self, handle: int) -> asyncio.Future[ExitReport]:
        return self.exits.setdefault(handle, asyncio.get_running_loop().create_future())

    async def connect(self) -> list[Holding]:
        found = await self.client.connect(str(self.folder))
        self.holdings += found
        return found

    async def spawn(self, *argv: str, cwd: str = "/", label: bytes = b"label") -> Holding:
        holding = await self.client.spawn(argv, cwd, ENVIRONMENT, 80, 24, label, 2**60)
        self.holdings.append(holding)
        return holding

    def leave(self) -> None:
        """Go as a killed host goes: every descriptor is closed, nothing is said."""
        self.client.close()
        for holding in self.holdings:
            holding.close()
        self.holdings = []

    def forget_all(self) -> None:
        for holding in self.holdings:
            self.client.forget(holding.handle)
        self.leave()


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    made = Host(tmp_path)
    await made.connect()
    yield made
    if made.client.connected:
        made.forget_all()
    await ended(tmp_path)


async def ended(folder: Path) -> None:
    """Wait until the keeper of a folder has ended: it removes its socket last."""
    for _ in range(500):
        if not (folder / "keeper.sock").exists():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the keeper did not end")


async def readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    loop.add_reader(descriptor, event.set)
    try:
        async with asyncio.timeout(10):
            await event.wait()
    finally:
        loop.remove_reader(descriptor)


async def output(holding: Holding, until: bytes) -> bytes:
    """Read the terminal into the ring, as the host does, until the text has been seen."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(holding.master, readable.set)
    try:
        while until not in holding.ring.read(0, holding.ring.capacity)[1]:
            async with asyncio.timeout(10):
                await readable.wait()
            readable.clear()
            try:
                holding.ring.commit(os.readv(holding.master, holding.ring.claim(16384)))
            except BlockingIOError:
                continue
    finally:
        loop.remove_reader(holding.master)
    return holding.ring.read(0, holding.ring.capacity)[1]


async def test_a_child_leads_its_own_session_on_its_terminal(host: Host) -> None:
    script = (
        "import os, signal, sys;"
        "print('TTY', os.ttyname(0) == os.ttyname(1), os.getsid(0) == os.getpid(), os.tcgetpgrp(0) == os.getpgrp());"
        "print('PIPE', signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN, signal.pthread_sigmask(0, []));"
        "print('CWD', os.getcwd(), os.get_terminal_size(), os.environ.get('LANG'), 'HOME' in os.environ);"
        "print('FDS', sorted(os.listdir('/proc/self/fd')))"
    )
    holding = await host.spawn(sys.executable, "-I", "-S", "-c", script, cwd="/tmp")
    text = (await output(holding, b"FDS")).decode()
    text = (await output(holding, b"]\r\n")).decode()
    assert "TTY True True True" in text
    # Python itself ignores SIGPIPE at start when it finds it at its default; the mask shows what was inherited.
    assert "set()" in text
    assert "CWD /tmp os.terminal_size(columns=80, lines=24) C.UTF-8 False" in text
    assert "FDS ['0', '1', '2', '3']" in text


async def test_sigpipe_ends_a_writer_whose_reader_is_gone(host: Host) -> None:
    holding = await host.spawn("sh", "-c", "yes | head -1; echo done-$?")
    assert b"done-0" in await output(holding, b"done-0")


@pytest.mark.parametrize(
    ("command", "code", "number"),
    [("exit 0", 0, None), ("exit 3", 3, None), ("kill -9 $$", None, 9), ("kill -15 $$", None, 15)],
)
async def test_exits_are_reaped_with_status_and_signal(host: Host, command: str, code: int, number: int) -> None:
    holding = await host.spawn("sh", "-c", command)
    async with asyncio.timeout(10):
        report = await host.exit_of(holding.handle)
    assert (report.code, report.signal) == (code, number)


@pytest.mark.parametrize(
    ("argv", "cwd", "reason"),
    [
        (["no-such-program-x"], "/", "could not run no-such-program-x: no such program"),
        (["/dev/null"], "/", "could not run /dev/null: Permission denied"),
        (["true"], "/no/such/folder", "could not enter the directory /no/such/folder: No such file or directory"),
    ],
)
async def test_a_start_that_fails_is_refused_with_its_reason(
    host: Host, argv: list[str], cwd: str, reason: str
) -> None:
    with pytest.raises(KeeperError, match="could not") as refused:
        await host.spawn(*argv, cwd=cwd)
    assert str(refused.value) == reason
    assert await host.spawn("true")


async def test_a_killed_host_loses_no_byte_and_no_label(host: Host, tmp_path: Path) -> None:
    holding = await host.spawn("sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done; sleep 60")
    await output(holding, b"line 20\r\n")
    holding.ring.store_label("später".encode())
    # Read, and die before the commit.
    await readable(holding.master)
    assert os.readv(holding.master, holding.ring.claim(16384)) > 0
    pid, start, first_tail = holding.pid, holding.start, holding.ring.tail
    host.leave()
    successor = Host(tmp_path)
    (adopted,) = await successor.connect()
    try:
        assert (adopted.pid, adopted.start, adopted.exit) == (pid, start, None)
        assert adopted.ring.load_label() == "später".encode()
        text = await output(adopted, b"line 3000\r\n")
        expected = b"".join(b"line %d\r\n" % number for number in range(1, 3001))
        assert first_tail == 0
        assert text == expected
    finally:
        successor.forget_all()


async def test_without_a_host_no_child_blocks_and_exits_are_kept(host: Host, tmp_path: Path) -> None:
    holding = await host.spawn("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo end; exit 7")
    pidfd = os.pidfd_open(holding.pid)
    host.leave()
    await readable(pidfd)
    os.close(pidfd)
    successor = Host(tmp_path)
    try:
        (adopted,) = await successor.connect()
        async with asyncio.timeout(20):
            report = adopted.exit or await successor.exit_of(adopted.handle)
        assert report.code == 7
        # What the keeper had not read yet is still in the terminal.
        assert (await output(adopted, b"end\r\n")).endswith(b"xend\r\n")
        assert adopted.ring.head <= 3_000_000 + 10
    finally:
        successor.forget_all()


async def test_a_second_host_is_refused(host: Host, tmp_path: Path) -> None:
    second = Host(tmp_path)
    with pytest.raises(KeeperError, match="another host is connected"):
        await second.connect()
    assert await host.spawn("true")


async def test_a_keeper_without_sessions_and_host_ends_itself(tmp_path: Path) -> None:
    made = Host(tmp_path)
    await made.connect()
    made.leave()
    await ended(tmp_path)


async def test_a_killed_keeper_is_noticed_and_its_sessions_can_be_given_to_another(host: Host, tmp_path: Path) -> None:
    holding = await host.spawn("sh", "-c", "read x; echo got $x; exit 5")
    assert host.client.pid is not None
    os.kill(host.client.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        await host.lost.wait()
    with pytest.raises(KeeperError, match="keeper is gone"):
        await host.spawn("true")
    successor = Host(tmp_path)
    assert await successor.connect() == []
    successor.client.adopt(holding)
    os.write(holding.master, b"word\n")
    assert b"got word" in await output(holding, b"got word")
    async with asyncio.timeout(10):
        report = await successor.exit_of(holding.handle)
    assert (report.code, report.signal) == (None, None)
    successor.client.forget(holding.handle)
    holding.close()
    host.holdings = []
    successor.leave()


async def test_forgetting_hangs_up_the_child(host: Host) -> None:
    holding = await host.spawn("sleep", "1000")
    pidfd = os.pidfd_open(holding.pid)
    gone = asyncio.Event()
    asyncio.get_running_loop().add_reader(pidfd, gone.set)
    host.client.forget(holding.handle)
    holding.close()
    host.holdings.remove(holding)
    async with asyncio.timeout(10):
        await gone.wait()
    asyncio.get_running_loop().remove_reader(pidfd)
    os.close(pidfd)


async def test_nonsense_ends_the_connection_and_harms_no_session(host: Host, tmp_path: Path) -> None:
    holding = await host.spawn("sh", "-c", "read x; echo got $x")
    assert host.client._socket is not None
    host.client._socket.send(b"\x00\x00\x00\x05\x01nope!")
    async with asyncio.timeout(10):
        await host.lost.wait()
    host.leave()
    successor = Host(tmp_path)
    (adopted,) = await successor.connect()
    os.write(adopted.master, b"word\n")
    assert b"got word" in await output(adopted, b"got word")
    assert adopted.handle == holding.handle
    successor.forget_all()


async def test_a_thousand_sessions_leave_no_descriptor(host: Host) -> None:
    assert host.client.pid is not None
    before = (len(os.listdir("/proc/self/fd")), len(os.listdir(f"/proc/{host.client.pid}/fd")))
    for _ in range(1000):
        holding = await host.spawn("true")
        host.client.forget(holding.handle)
        holding.close()
        host.holdings.remove(holding)
    await host.spawn("true")
    after = (len(os.listdir("/proc/self/fd")), len(os.listdir(f"/proc/{host.client.pid}/fd")))
    # One session is open now: its master and its memory; the host has mapped the memory too.
    assert after == (before[0] + 3, before[1] + 2)


async def test_a_stopped_keeper_is_given_up_with_what_helps(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = host.client.pid
    assert pid is not None
    monkeypatch.setattr(keeper_client, "SPAWN_SECONDS", 0.1)
    monkeypatch.setattr(keeper_client, "START_SECONDS", 0.1)
    os.kill(pid, signal.SIGSTOP)
    try:
        remedy = f"its process {pid} is stopped: `kill -CONT {pid}` lets it go on"
        with pytest.raises(KeeperError) as refused:
            await host.spawn("true")
        assert str(refused.value) == f"the session keeper has not started it within 0.1 s; {remedy}"
        with pytest.raises(KeeperError) as refused:
            await Host(tmp_path).connect()
        assert str(refused.value) == f"the session keeper did not answer within 0.1 s; {remedy}"
    finally:
        os.kill(pid, signal.SIGCONT)
    monkeypatch.setattr(keeper_client, "SPAWN_SECONDS", 20.0)
    # What it was asked for is started now, and ended again because nobody waits for it.
    holding = await host.spawn("sh", "-c", "echo again")
    assert b"again" in await output(holding, b"again")


async def test_a_short_folder_goes_with_its_keeper_and_comes_with_the_next() -> None:
    # Not in the test's own folder, whose name can be too long for a socket.
    with tempfile.TemporaryDirectory() as root:
        folder = Path(runtime_folder("/deep" * 40, os.geteuid(), root))
        folder.parent.mkdir(mode=0o700)
        folder.mkdir(mode=0o700)
        for _ in range(3):
            made = Host(folder)
            await made.connect()
            pidfd = os.pidfd_open(made.client.pid or 0)
            made.leave()
            await readable(pidfd)
            os.close(pidfd)
            assert os.listdir(root) == []


async def test_a_keeper_that_is_ended_takes_its_sessions_with_it(host: Host, tmp_path: Path) -> None:
    holding = await host.spawn("sleep", "1000")
    pidfd = os.pidfd_open(holding.pid)
    host.leave()
    await asyncio.to_thread(end_keeper, str(tmp_path), 20.0)
    await readable(pidfd)
    os.close(pidfd)
    assert not (tmp_path / "keeper.sock").exists()
