"""The terminal and the thread that reads it, on a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import termios
from collections.abc import Iterator

import pytest
from tests.support.sessions import Terminal as End

from switchboard.agent.tty import Terminal, TerminalReader

SECONDS = 30


class Pair:
    """Both ends; the reader's thread ends when the master is closed."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.reads: asyncio.Queue[tuple[str, int]] = asyncio.Queue()

    def send(self, data: bytes) -> None:
        os.write(self.master, data)

    async def read(self) -> tuple[str, int]:
        return await asyncio.wait_for(self.reads.get(), SECONDS)

    async def attach(self, reader: TerminalReader) -> None:
        reader.attach(asyncio.get_running_loop(), lambda text, at: self.reads.put_nowait((text, at)))

    async def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1
        assert (await self.read())[0] == ""


@pytest.fixture
def pair() -> Iterator[Pair]:
    pair = Pair()
    yield pair
    for fd in (pair.master, pair.slave):
        if fd >= 0:
            os.close(fd)


def test_raw_and_back(pair: Pair) -> None:
    before = termios.tcgetattr(pair.slave)
    terminal = Terminal(pair.slave, pair.slave)
    terminal.enter()
    raw = termios.tcgetattr(pair.slave)
    assert not raw[3] & (termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
    assert not raw[0] & (termios.ICRNL | termios.IXON)
    assert raw[1] == before[1]
    pair.send(b"\r\x03")
    assert End(pair.slave).typed(2) == b"\r\x03"
    terminal.leave()
    assert termios.tcgetattr(pair.slave) == before
    farewell = b"\x1b[?2004l\x1b[?25h\x1b[0m\x1b]0;\x07"
    assert End(pair.master).typed(len(farewell)) == farewell


def test_leaving_never_blocks(pair: Pair) -> None:
    terminal = Terminal(pair.slave, pair.slave)
    terminal.enter()
    os.set_blocking(pair.slave, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pair.slave, b"x" * 4096)
    terminal.leave()
    assert os.get_blocking(pair.slave)


def test_leaving_a_terminal_that_is_gone(pair: Pair) -> None:
    terminal = Terminal(pair.slave, pair.slave)
    terminal.enter()
    os.close(pair.master)
    pair.master = -1
    terminal.leave()


async def test_each_read_is_handed_over_with_its_time(pair: Pair) -> None:
    Terminal(pair.slave, pair.slave).enter()
    times = iter(range(10))
    reader = TerminalReader(pair.slave, lambda: next(times))
    reader.start()
    await pair.attach(reader)
    for number, text in enumerate(("one", "two", "\u00e9")):
        pair.send(text.encode())
        assert await pair.read() == (text, number)
    await pair.hang_up()


async def test_what_came_before_anybody_listened_is_kept(pair: Pair) -> None:
    Terminal(pair.slave, pair.slave).enter()
    reader = TerminalReader(pair.slave, lambda: 7)
    pair.send(b"early")
    reader.start()
    await pair.attach(reader)
    assert await pair.read() == ("early", 7)
    await pair.hang_up()


async def test_a_character_that_is_cut_is_put_together(pair: Pair) -> None:
    Terminal(pair.slave, pair.slave).enter()
    reader = TerminalReader(pair.slave, lambda: 0)
    reader.start()
    await pair.attach(reader)
    pair.send(b"a\xe2\x82")
    assert (await pair.read())[0] == "a"
    pair.send(b"\xac\xff")
    assert (await pair.read())[0] == "\u20ac\ufffd"
    await pair.hang_up()


async def test_reading_slowly(pair: Pair) -> None:
    Terminal(pair.slave, pair.slave).enter()
    reader = TerminalReader(pair.slave, lambda: 0, lambda: 1)
    pair.send(b"x" * 200)
    reader.start()
    await pair.attach(reader)
    assert [len((await pair.read())[0]) for _ in range(4)] == [64, 64, 64, 8]
    await pair.hang_up()


async def test_reading_slowly_from_now_on_and_no_longer(pair: Pair) -> None:
    """The very next read is a small one, although the reader was waiting for it already."""
    Terminal(pair.slave, pair.slave).enter()
    slow = [0]
    reader = TerminalReader(pair.slave, lambda: 0, lambda: slow[0])
    reader.start()
    await pair.attach(reader)
    for ms, sizes in ((0, [200]), (1, [64, 64, 64, 8]), (0, [200])):
        slow[0] = ms
        pair.send(b"x" * 200)
        assert [len((await pair.read())[0]) for _ in sizes] == sizes
    await pair.hang_up()
