"""A real terminal's master: reading into the ring, writing what fits, its size, and the end of its output."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import select
import subprocess
import sys
import termios
import tty
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest
from tests.support.sessions import Terminal, until

from switchboard.sessions import pty as module
from switchboard.sessions.keeper.ring import Ring, memory_size
from switchboard.sessions.pty import ALL_BYTES, READ_BYTES, READS_PER_TURN, Pty


class Rig:
    """A terminal with a ring, and what was reported."""

    def __init__(self, capacity: int = 64 * 1024) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.ring = Ring(bytearray(memory_size(capacity)), capacity)
        self.output: list[tuple[int, bytes]] = []
        self.hangups = 0
        self.pty = Pty(self.master, self.ring, lambda seq, data: self.output.append((seq, data)), self._hung_up)

    def _hung_up(self) -> None:
        self.hangups += 1

    def print(self, data: bytes) -> None:
        assert os.write(self.slave, data) == len(data)

    async def reads(self, data: bytes) -> None:
        head = self.ring.head + len(data)
        self.print(data)
        await until(lambda: self.ring.head >= head, f"{data!r}")

    def fill(self) -> int:
        """Type until the terminal takes no more."""
        total = 0
        while count := self.pty.write(b"x" * 4096):
            total += count
        return total

    def hang_up(self) -> None:
        os.close(self.slave)
        self.slave = -1

    def close(self) -> None:
        self.pty.close()
        for descriptor in (self.master, self.slave):
            with suppress(OSError):
                os.close(descriptor)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    yield made
    made.close()


def readable(descriptor: int, seconds: float = 20) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


# --- reading ------------------------------------------------------------------------------------------------------


async def test_output_is_reported_with_its_number_and_is_in_the_ring(rig: Rig) -> None:
    rig.pty.start()
    await rig.reads(b"hello")
    await rig.reads(b" world")
    assert b"".join(data for _, data in rig.output) == b"hello world"
    assert rig.output[0][0] == 0
    for seq, data in rig.output:
        assert rig.ring.read(seq, len(data)) == (seq, data)
    assert rig.hangups == 0


async def test_nothing_is_read_before_the_start_and_starting_twice_is_once(rig: Rig) -> None:
    rig.print(b"early")
    assert readable(rig.master)
    await asyncio.sleep(0)
    assert rig.output == []
    rig.pty.start()
    rig.pty.start()
    await until(lambda: rig.output, "the output")
    assert rig.output == [(0, b"early")]


def endless(size: int, sizes: list[int]) -> Callable[[int, tuple[memoryview]], int]:
    """A terminal that gives `size` bytes at each read; `sizes` gets how much room each read had."""

    def read(_descriptor: int, parts: tuple[memoryview]) -> int:
        (part,) = parts
        sizes.append(len(part))
        count = min(size, len(part))
        part[:count] = b"y" * count
        return count

    return read


async def test_one_terminal_reads_so_much_in_a_turn_and_no_more(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(capacity=512 * 1024)
    sizes: list[int] = []
    monkeypatch.setattr(os, "readv", endless(READ_BYTES - 1, sizes))
    rig.pty._readable()
    assert len(sizes) == READS_PER_TURN
    assert min(sizes) >= READ_BYTES
    assert rig.output == [(0, b"y" * (READ_BYTES - 1) * READS_PER_TURN)], "told once, after all of it"
    rig.close()


@pytest.mark.parametrize(("size", "reads"), [(ALL_BYTES - 1, 1), (ALL_BYTES, READS_PER_TURN)])
async def test_after_a_short_read_nothing_more_is_expected(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, size: int, reads: int
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(os, "readv", endless(size, sizes))
    rig.pty._readable()
    assert len(sizes) == reads
    rig.pty._readable()
    assert rig.ring.head == 2 * reads * size


async def test_a_turn_takes_a_quarter_of_a_small_ring_and_all_of_it_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(capacity=4096)
    monkeypatch.setattr(os, "readv", endless(READ_BYTES, []))
    for turn in range(1, 8):
        rig.pty._readable()
        assert rig.ring.head == turn * 1024
    assert rig.output == [(turn * 1024, b"y" * 1024) for turn in range(7)]
    rig.close()


async def test_the_end_of_the_output_comes_after_all_of_it_and_once(rig: Rig) -> None:
    rig.pty.start()
    rig.print(b"last words")
    rig.hang_up()
    await until(lambda: rig.hangups, "the end")
    assert b"".join(data for _, data in rig.output) == b"last words"
    for _ in range(5):
        await asyncio.sleep(0)
    assert rig.hangups == 1
    assert not asyncio.get_running_loop().remove_reader(rig.master)


async def test_draining_reads_what_is_there_now(rig: Rig) -> None:
    rig.pty.start()
    rig.print(b"not read yet")
    assert readable(rig.master)
    rig.pty.drain(1000)
    assert rig.output == [(0, b"not read yet")]
    rig.pty.drain(1000)
    assert len(rig.output) == 1


async def test_draining_reads_up_to_its_limit(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.pty.start()
    monkeypatch.setattr(os, "readv", endless(1000, []))
    rig.pty.drain(5000)
    assert 5000 <= rig.ring.head <= 5000 + 1000 * READS_PER_TURN


async def test_draining_a_terminal_that_hangs_up_ends(rig: Rig) -> None:
    rig.pty.start()
    rig.print(b"last")
    assert readable(rig.master)
    rig.hang_up()
    rig.pty.drain(10**9)
    assert (rig.output, rig.hangups) == ([(0, b"last")], 1)


async def test_a_terminal_that_is_not_read_is_not_drained(rig: Rig) -> None:
    """The keeper, or the next host, reads it."""
    rig.print(b"theirs")
    assert readable(rig.master)
    rig.pty.drain(1000)
    rig.pty.start()
    rig.pty.close()
    rig.pty.drain(1000)
    assert rig.output == []
    rig.pty.start()
    assert not asyncio.get_running_loop().remove_reader(rig.master), "a closed terminal is not read again"


# --- writing ------------------------------------------------------------------------------------------------------


async def test_what_is_written_reaches_the_program(rig: Rig) -> None:
    assert rig.pty.write(b"typed") == 5
    assert rig.pty.write(memoryview(b"xtail")[1:]) == 4
    assert Terminal(rig.slave).typed(9) == b"typedtail"


async def test_a_full_terminal_takes_nothing_and_does_not_block(rig: Rig) -> None:
    assert rig.fill() > 1000  # it comes to an end: a write that finds no room returns 0


async def test_room_is_told_until_nobody_asks_any_more(rig: Rig) -> None:
    rig.fill()
    told = 0

    def writable() -> None:
        nonlocal told
        told += 1

    rig.pty.when_writable(writable)
    os.set_blocking(rig.slave, False)
    assert readable(rig.slave)
    with suppress(BlockingIOError):
        while os.read(rig.slave, 65536):
            pass
    await until(lambda: told, "room")
    rig.pty.when_writable(None)
    before = told
    for _ in range(5):
        await asyncio.sleep(0)
    assert told == before


async def test_a_closed_terminal_takes_nothing(rig: Rig) -> None:
    rig.fill()
    rig.pty.when_writable(lambda: None)
    rig.pty.close()
    with pytest.raises(BrokenPipeError):
        rig.pty.write(b"x")
    assert not asyncio.get_running_loop().remove_writer(rig.master)
    rig.pty.when_writable(lambda: None)
    assert not asyncio.get_running_loop().remove_writer(rig.master)
    os.fstat(rig.master)  # the descriptor is its owner's to close
    rig.pty.close()


# --- what the program has read ------------------------------------------------------------------------------------


async def test_what_was_written_is_unread_until_the_program_reads_it(rig: Rig) -> None:
    assert not rig.pty.unread()
    rig.pty.write(b"hello")
    # Asking moves what is still on its way inside the kernel along, so there is no moment at which it says no.
    assert rig.pty.unread()
    assert Terminal(rig.slave).typed(2) == b"he"
    assert rig.pty.unread()
    assert Terminal(rig.slave).typed(3) == b"llo"
    assert not rig.pty.unread()


async def test_a_line_without_its_end_counts_as_read(rig: Rig) -> None:
    mode = termios.tcgetattr(rig.slave)
    mode[3] |= termios.ICANON
    termios.tcsetattr(rig.slave, termios.TCSANOW, mode)
    rig.pty.write(b"half a line")
    assert not rig.pty.unread()
    rig.pty.write(b"\n")
    assert rig.pty.unread()


async def test_asking_leaves_no_descriptor(rig: Rig) -> None:
    rig.pty.write(b"x")
    before = os.listdir("/proc/self/fd")
    for _ in range(10):
        rig.pty.unread()
    assert os.listdir("/proc/self/fd") == before


async def test_where_the_system_cannot_tell_all_counts_as_read(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.pty.write(b"x")
    monkeypatch.setattr(module, "OPEN_PEER", 0xFFFF)
    assert not rig.pty.unread()


async def test_a_closed_terminal_has_nothing_unread(rig: Rig) -> None:
    rig.pty.write(b"x")
    rig.pty.close()
    assert not rig.pty.unread()


# --- size and foreground ------------------------------------------------------------------------------------------


async def test_the_size_is_the_programs(rig: Rig) -> None:
    rig.pty.resize(77, 33)
    assert tuple(os.get_terminal_size(rig.slave)) == (77, 33)
    rig.pty.close()
    rig.pty.resize(10, 10)
    assert tuple(os.get_terminal_size(rig.slave)) == (77, 33)


async def test_the_group_in_the_foreground(rig: Rig) -> None:
    assert rig.pty.foreground_group() is None, "no process has this terminal"
    script = "import fcntl, os, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.write(1, b'!'); input()"
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", script], stdin=rig.slave, stdout=rig.slave)
    try:
        assert readable(rig.master)
        assert rig.pty.foreground_group() == child.pid
    finally:
        child.kill()
        child.wait()


async def test_a_terminal_that_cannot_be_asked_has_no_foreground(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int) -> int:
        raise OSError(errno.ENOTTY, "not a terminal")

    monkeypatch.setattr(os, "tcgetpgrp", refuse)
    assert rig.pty.foreground_group() is None


async def test_the_master_never_blocks(rig: Rig) -> None:
    assert fcntl.fcntl(rig.master, fcntl.F_GETFL) & os.O_NONBLOCK
