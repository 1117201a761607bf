"""The screen, drawn on a pseudo-terminal and read back."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator

import pyte
import pytest

from switchboard.agent.dialogs import permission
from switchboard.agent.screen import REDRAW_S, Screen, key_sequences
from switchboard.agent.view import View

COLUMNS, ROWS = 60, 20


class Rig:
    def __init__(self) -> None:
        self.master, slave = pty.openpty()
        os.set_blocking(self.master, False)
        self.raw = bytearray()
        self.pyte = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.pyte)
        self.stdout = open(slave, "w", encoding="utf-8")  # noqa: SIM115  # closed with the rig
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.screen = Screen(self.stdout, lambda: 0, "xterm-256color")
        self.task = asyncio.create_task(self.screen.run())

    async def until(self, text: str, *, gone: bool = False) -> None:
        """Wait for the terminal to show the text, or to show it no longer."""
        ready = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self.master, ready.set)
        try:
            async with asyncio.timeout(30):
                while (text in self.shown) is gone:
                    await ready.wait()
                    ready.clear()
                    with contextlib.suppress(BlockingIOError):
                        data = os.read(self.master, 65_536)
                        self.raw += data
                        self.stream.feed(data)
        finally:
            loop.remove_reader(self.master)

    @property
    def shown(self) -> str:
        return "\n".join(line.rstrip() for line in self.pyte.display)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    await rig.until("Enter sends")
    yield rig
    rig.screen.leave(0)
    await asyncio.wait({rig.task})
    rig.stdout.close()
    os.close(rig.master)


async def test_the_box(rig: Rig) -> None:
    rig.screen.insert("hello")
    await rig.until("> hello")
    rig.screen.insert("\nworld")
    await rig.until("\n  world")
    rig.screen.edit(("left",))
    rig.screen.edit(("escape", "b"))
    rig.screen.insert("my ")
    await rig.until("\n  my world")
    rig.screen.fill("other")
    await rig.until("> other")
    assert rig.screen.take() == "other"
    await rig.until("> other", gone=True)


async def test_lines_above_the_box(rig: Rig) -> None:
    rig.screen.insert("draft")
    await rig.until("> draft")
    for number in range(30):
        rig.screen.print(f"line {number}\nmore {number}")
    await rig.until("more 29\n" + "\u2500" * COLUMNS + "\n> draft")


async def test_history(rig: Rig) -> None:
    rig.screen.remember("one")
    rig.screen.insert("two")
    rig.screen.take()
    await rig.until("> two", gone=True)
    rig.screen.recall(-1)
    await rig.until("> two")
    rig.screen.recall(-1)
    await rig.until("> one")
    rig.screen.recall(1)
    await rig.until("> two")


async def test_a_dialog_hides_the_box(rig: Rig) -> None:
    rig.screen.insert("draft")
    await rig.until("> draft")
    rig.screen.show(View(working="Working", dialog=permission("touch x")))
    await rig.until("> 1. Yes")
    assert "draft" not in rig.shown
    rig.screen.show(View())
    await rig.until("> draft")


async def test_bracketed_paste_is_never_off_while_lines_are_printed(rig: Rig) -> None:
    rig.screen.print("a line")
    await rig.until("a line")
    assert rig.raw.count(b"\x1b[?2004h") == 1
    assert b"\x1b[?2004l" not in rig.raw
    assert b"\x1b[6n" not in rig.raw


async def test_redrawing_on_an_empty_screen(rig: Rig) -> None:
    rig.screen.print("a line")
    await rig.until("a line")
    rig.screen.redraw(clear=True)
    await rig.until("a line", gone=True)
    await rig.until("Enter sends")


async def test_leaving(rig: Rig) -> None:
    rig.screen.insert("draft")
    await rig.until("> draft")
    rig.screen.leave(3)
    rig.screen.leave(4)
    assert await rig.task == 3
    await rig.until("> draft", gone=True)


def test_the_names_of_keys() -> None:
    names = key_sequences()
    assert names["\r"] == ("c-m",)
    assert names["\x1b[A"] == ("up",)
    assert 0 < REDRAW_S < 0.05
