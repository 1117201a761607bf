"""Pastes into a program that reads slowly or not at all: what arrives is a beginning or everything, and is over."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.hosting import DEADLINE, RunningHost, page, until
from tests.support.web import log_in, port_of, web_page

from switchboard.page import messages
from switchboard.sessions.gate import MAX_QUEUED
from switchboard.sessions.input_run import PASTE_END, PASTE_START, PAUSE_MS

READER = """
import os, sys, time, tty
pause = float(sys.argv[1])
tty.setraw(0)
with open("pid.new", "w") as file:
    file.write(str(os.getpid()))
os.rename("pid.new", "pid")
with open("got", "wb") as got:
    while True:
        data = os.read(0, 65536)
        got.write(data)
        got.flush()
        if data.endswith(b"\\x04"):
            break
        time.sleep(pause)
os.rename("got", "all")
"""
"""Keeps what it reads, and ends with Ctrl-D."""

PAUSES = {"quick": 0.0, "slow": 0.004, "stopped": 0.0}
"""A terminal gives 4 KiB at most at once: the slow one takes a megabyte in a second."""

MEGABYTE = 1024 * 1024


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    made = RunningHost(tmp_path).start()
    yield made
    made.clean_up()


@pytest.mark.parametrize("bracketed", [True, False], ids=["bracketed", "plain"])
@pytest.mark.parametrize("size", [MEGABYTE // 2, 2 * MEGABYTE, 8 * MEGABYTE], ids=["half", "two", "eight"])
@pytest.mark.parametrize("reader", PAUSES)
async def test_a_paste_arrives_without_a_hole(host: RunningHost, reader: str, size: int, bracketed: bool) -> None:
    text = b"".join(b"%07d " % number for number in range(size // 8))
    pasted = PASTE_START + text + PASTE_END if bracketed else text
    (host.project / "reader.py").write_text(READER, "utf-8")
    async with page(host) as other, web_page(port_of(host), await log_in(host)) as shown:
        handle = await other.open(host, "shell")
        shown.say(messages.Attach(handle))
        shown.say(messages.Focus(handle, 80, 24))
        shown.type(handle, f"exec {sys.executable} reader.py {PAUSES[reader]}\r".encode())
        await until((host.project / "pid").exists, "the reader")
        if reader == "stopped":
            os.kill(int((host.project / "pid").read_text("utf-8")), signal.SIGSTOP)
        shown.type(handle, pasted)
        shown.say(messages.Confirm(1))
        await shown.heard(messages.Confirmed)
        if reader == "stopped":
            os.kill(int((host.project / "pid").read_text("utf-8")), signal.SIGCONT)
        await drained(host.project / "got")
        await asyncio.sleep(PAUSE_MS / 1000)
        other.type(handle, b"\x04")
        await until((host.project / "all").exists, "the end of the reader")
        got = (host.project / "all").read_bytes().removesuffix(b"\x04")
        told = [message.text for message in shown.said if isinstance(message, messages.Notice)]
    if bracketed:
        assert (got[: len(PASTE_START)], got[-len(PASTE_END) :]) == (PASTE_START, PASTE_END)
        got = got[len(PASTE_START) : -len(PASTE_END)]
    assert text.startswith(got)
    if size < MAX_QUEUED:
        assert got == text
    if reader == "stopped" and size > MAX_QUEUED:
        assert len(got) > MAX_QUEUED // 2
        assert len(got) < size
    rest = "The session does not read its input; only the beginning of what you pasted was taken."
    assert told == ([] if got == text else [rest])
    host.cli("down", "--sessions")


async def drained(file: Path) -> None:
    """Wait until nothing more comes."""
    async with asyncio.timeout(DEADLINE):
        size = -1
        while size != (size := file.stat().st_size):
            await asyncio.sleep(0.3)


async def test_a_page_that_goes_within_a_paste_leaves_no_program_in_it(host: RunningHost) -> None:
    (host.project / "reader.py").write_text(READER, "utf-8")
    async with page(host) as other:
        handle = await other.open(host, "shell")
        other.type(handle, f"exec {sys.executable} reader.py 0\r".encode())
        await until((host.project / "pid").exists, "the reader")
        async with page(host) as goes:
            goes.type(handle, PASTE_START + b"half a paste")
            goes.say(messages.Confirm(1))
            await goes.heard(lambda said: isinstance(said, messages.Confirmed), "that it was taken")
        await until(lambda: (host.project / "got").read_bytes().endswith(PASTE_END), "the end of the paste")
        other.type(handle, b"\x04")
        await until((host.project / "all").exists, "the end of the reader")
    assert (host.project / "all").read_bytes() == PASTE_START + b"half a paste" + PASTE_END + b"\x04"
    host.cli("down", "--sessions")
