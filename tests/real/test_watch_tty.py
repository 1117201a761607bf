"""The door to the person's terminal, over a real one."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from switchboard.page.terminal.tty import NotATerminal, Tty, window_size

PATIENCE = 15.0


class Person:
    """The other end of the terminal."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.typed: list[bytes] = []
        self.drained = 0
        self._changed = asyncio.Event()
        self.tty = Tty(self.slave, self.slave, self._on_input, self._on_drained)

    def _on_input(self, data: bytes) -> None:
        self.typed.append(data)
        self._changed.set()

    def _on_drained(self) -> None:
        self.drained += 1
        self._changed.set()

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    async def sees(self, length: int) -> bytes:
        """Read that much of what was written."""
        seen = b""
        async with asyncio.timeout(PATIENCE):
            while len(seen) < length:
                seen += await asyncio.to_thread(os.read, self.master, 65536)
        return seen

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        self.tty.leave(b"")
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
async def person() -> AsyncIterator[Person]:
    person = Person()
    yield person
    person.close()


async def test_raw_and_back(person: Person) -> None:
    person.tty.enter()
    raw = termios.tcgetattr(person.slave)
    assert not raw[3] & (termios.ECHO | termios.ICANON | termios.ISIG)
    assert not raw[0] & termios.IXON
    person.tty.leave(b"goodbye")
    assert termios.tcgetattr(person.slave) == person.before
    assert await person.sees(7) == b"goodbye"


async def test_what_is_typed_arrives(person: Person) -> None:
    person.tty.enter()
    os.write(person.master, b"\x03\x04\x11\x13\x1a\r")
    await person.until(lambda: b"".join(person.typed) == b"\x03\x04\x11\x13\x1a\r")


async def test_nothing_is_read_while_it_is_not_wanted(person: Person) -> None:
    person.tty.enter()
    person.tty.read(False)
    os.write(person.master, b"a")
    await asyncio.sleep(0)
    assert person.typed == []
    person.tty.read(True)
    await person.until(lambda: person.typed == [b"a"])


async def test_a_terminal_that_takes_nothing_does_not_block(person: Person) -> None:
    person.tty.enter()
    data = os.urandom(300_000).replace(b"\n", b"x").replace(b"\r", b"x")
    person.tty.write(data)
    assert person.tty.queued > 200_000
    assert person.drained == 0
    assert await person.sees(len(data)) == data
    await person.until(lambda: person.tty.queued == 0 and person.drained)


async def test_what_waits_can_be_dropped(person: Person) -> None:
    person.tty.enter()
    assert not person.tty.discard()
    person.tty.write(b"x" * 300_000)
    assert person.tty.discard()
    person.tty.write(b"END")
    seen = b""
    while not seen.endswith(b"END"):
        seen += await person.sees(1)
    assert len(seen) < 100_000
    assert seen.lstrip(b"x") == b"\x18\x1b\\END"


async def test_leaving_does_not_wait_for_a_stuck_terminal(person: Person) -> None:
    person.tty.enter()
    person.tty.write(b"x" * 300_000)
    person.tty.leave(b"goodbye")
    assert termios.tcgetattr(person.slave) == person.before


async def test_leaving_twice_is_harmless(person: Person) -> None:
    person.tty.leave(b"never entered")
    person.tty.enter()
    person.tty.leave(b"1")
    person.tty.leave(b"2")
    assert await person.sees(1) == b"1"


async def test_the_given_descriptor_still_blocks_while_the_page_runs(person: Person) -> None:
    """A shell shares it, and its own output would fail."""
    person.tty.enter()
    assert os.get_blocking(person.slave)


async def test_a_terminal_that_cannot_be_opened_anew(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(fd: int) -> str:
        raise OSError("not yours")

    monkeypatch.setattr(os, "ttyname", refused)
    person.tty.enter()
    person.tty.write(b"x" * 300_000)
    assert person.tty.queued > 200_000
    person.tty.discard()
    person.tty.leave(b"")
    assert os.get_blocking(person.slave)


async def test_hanging_up(person: Person) -> None:
    person.tty.enter()
    os.close(person.master)
    person.master = -1
    await person.until(lambda: person.typed == [b""])
    person.tty.write(b"nobody sees it")
    person.tty.leave(b"nor this")


@pytest.mark.parametrize(
    ("window", "size"),
    [((132, 50), (132, 50)), ((0, 0), (80, 24)), ((1, 1), (2, 1)), ((4000, 3000), (1000, 1000)), ((80, 0), (80, 24))],
)
async def test_size(person: Person, window: tuple[int, int], size: tuple[int, int]) -> None:
    person.resize(*window)
    assert person.tty.size() == size


def test_the_size_of_no_terminal(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        assert window_size(file.fileno()) == (80, 24)


@pytest.mark.parametrize("which", ["stdin", "stdout"])
def test_no_terminal(tmp_path: Path, which: str) -> None:
    master, slave = pty.openpty()
    with (tmp_path / "file").open("w") as file:
        stdin, stdout = (file.fileno(), slave) if which == "stdin" else (slave, file.fileno())
        with pytest.raises(NotATerminal):
            Tty(stdin, stdout, lambda _: None, lambda: None)
    os.close(master)
    os.close(slave)
