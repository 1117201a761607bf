"""The terminal page and the real host together, on real sessions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.support.hosting import RunningHost
from tests.support.screens import Screen

CLI = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from switchboard.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    made = RunningHost(tmp_path).start()
    yield made
    # In order, so that the host sees every session end and the keeper has nothing left to hand over.
    made.cli("down", "--sessions")
    made.clean_up()


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def watch(stack: AsyncExitStack, host: RunningHost, *arguments: str, columns: int = 80, rows: int = 24) -> Screen:
    env = {**host.environment, "PWD": str(host.project)}
    command = [sys.executable, "-c", CLI, "watch", *arguments]
    screen = Screen(command, env, columns=columns, rows=rows, cwd=str(host.project))
    return await stack.enter_async_context(screen)


async def open_shell(screen: Screen) -> None:
    """Open a shell from the empty list; its screen is empty but for the prompt `here>`."""
    await screen.shows("Press n to start a session")
    screen.types(b"nshell\r\r")
    await screen.until(lambda: screen.lines[0] in {"#", "$"}, "a prompt")
    screen.types(b"PS1='here> '; clear\r")
    await screen.until(lambda: screen.lines[0] == "here>", "our prompt")


async def test_a_shell_from_first_to_last(stack: AsyncExitStack, host: RunningHost) -> None:
    screen = await watch(stack, host)
    await open_shell(screen)
    screen.types(b"echo $((6*7))-$(tput cols)x$(tput lines)\r")
    await screen.shows("42-80x24", "here>")
    screen.resize(100, 30)
    screen.types(b"clear; echo $(tput cols)x$(tput lines)\r")
    await screen.shows("100x30")
    screen.types(b"\x1dl")
    await screen.shows("running", "shell", "q leave")
    screen.types(b"R\x15my shell\r")
    await screen.shows("my shell")
    screen.types(b"\r")
    await screen.shows("here>")
    screen.types(b"\x1dx")
    await screen.shows("Stop my shell? [y/N]")
    screen.types(b"y")
    await screen.shows("stopped")
    screen.types(b"q")
    assert await screen.ended() == 0
    assert screen.modes() == screen.modes_before


async def test_a_killed_host_is_waited_for(stack: AsyncExitStack, host: RunningHost) -> None:
    screen = await watch(stack, host)
    await open_shell(screen)
    screen.types(b"for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.3; done; echo do''ne\r")
    await screen.shows("line 2")
    host.kill()
    await screen.shows("waiting for it to come back")
    host.start()
    await screen.shows("connected to the host again", "done")
    shown = [line for line in screen.lines if line.startswith("line ")]
    assert shown == [f"line {n}" for n in range(1, 9)]
    screen.types(b"echo still $((1+1))\r")
    await screen.shows("still 2")


async def test_two_pages_of_different_size(stack: AsyncExitStack, host: RunningHost) -> None:
    large = await watch(stack, host, columns=120, rows=40)
    await open_shell(large)
    small = await watch(stack, host, columns=60, rows=20)
    await small.shows("shell")
    small.types(b"\r")
    await small.shows("here>")
    small.types(b"echo small $(tput cols)x$(tput lines)\r")
    await small.shows("small 60x20")
    await large.shows("small 60x20")
    large.types(b"\recho large $(tput cols)x$(tput lines)\r")
    await large.shows("large 120x40")


async def test_a_flood_does_not_stop_the_page(stack: AsyncExitStack, host: RunningHost) -> None:
    screen = await watch(stack, host)
    await open_shell(screen)
    screen.types(b"yes 'a line of the flood'\r")
    await screen.shows("a line of the flood\na line of the flood")
    screen.read(False)  # the person's terminal is stuck for a while
    screen.types(b"\x03")
    await host_says_nothing_more(screen)
    screen.read(True)
    await screen.shows("here>")
    screen.types(b"\x1dl")
    await screen.shows("q leave")


async def test_a_late_page_answers_no_old_query(stack: AsyncExitStack, host: RunningHost) -> None:
    first = await watch(stack, host)
    await open_shell(first)
    first.types(b"clear; printf '\\033[6n\\033[c\\033]11;?\\007'; echo as''ked\r")
    await first.shows("asked")
    late = await watch(stack, host)
    await late.shows("shell")
    before = len(late.raw)
    late.types(b"\r")
    await late.shows("asked")
    for query in (b"\x1b[6n", b"\x1b[c", b"\x1b]11;?"):
        assert query not in late.raw[before:]


async def host_says_nothing_more(screen: Screen) -> None:
    """The page leaves its processor alone: it has taken what came and waits for the terminal."""

    def used() -> int:
        with open(f"/proc/{screen.pid}/stat") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))

    before = -1
    async with asyncio.timeout(15):
        while used() != before:
            before = used()
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.3)


async def test_an_agent_and_a_trigger(stack: AsyncExitStack, host: RunningHost) -> None:
    screen = await watch(stack, host)
    await screen.shows("Press n to start a session")
    screen.types(b"n\r\r")
    await screen.shows("Enter sends")
    screen.types(b"\x1dl")
    await screen.shows("○ idle")
    (listed,) = [session for session in host.sessions() if session["state"] == "open"]
    host.trigger({"sessionId": listed["id"], "command": "hello from a file", "wait": "idle"}, "greeting")
    await screen.shows("trigger greeting", "done, submitted: confirmed")
    screen.types(b"\r")
    await screen.shows("hello from a file")
    screen.types(b"hello from a hand\r")
    await screen.shows("hello from a hand")
    screen.types(b"\x1dq")
    assert await screen.ended() == 0
    assert screen.modes() == screen.modes_before
    (after,) = [session for session in host.sessions() if session["state"] == "open"]
    assert after["pid"] == listed["pid"], "leaving stops nothing"
