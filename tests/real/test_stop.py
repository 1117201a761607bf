"""Stop on real sessions, through a real host: one Stop ends the session, and says so when its process has exited."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosting import Page, RunningHost, page, until

from switchboard.host.actions import STOP_MS
from switchboard.page import messages


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    made = RunningHost(tmp_path, {"SHELL": "/bin/bash"}).start()
    yield made
    made.clean_up()


async def stop(shown: Page, handle: int, force: bool = False) -> tuple[Any, float]:
    """Stop a session; return the answer, and how many seconds it took."""
    begin = time.monotonic()
    done = await shown.ask(lambda number: messages.StopSession(number, handle, force))
    return done, time.monotonic() - begin


def exists(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def pid_in(shown: Page, handle: int, mark: bytes) -> int:
    """The number that the program printed after `mark`."""
    _, _, rest = bytes(shown.output[handle]).rpartition(mark)
    return int(rest.partition(b".")[0])


async def run(host: RunningHost, shown: Page, body: str, *, prefix: str = "") -> tuple[int, int]:
    """A shell with this Python program in its foreground; returns the session's handle and the program's number."""
    handle = await shown.open(host, "shell")
    program = host.root / "program.py"
    program.write_text(
        "import os, signal, sys, termios, time, tty\n"
        "def ready(): print(f'PID={os.getpid()}.', end='', flush=True)\n" + body
    )
    shown.type(handle, f"{prefix}python3 -I -S {program}\r".encode())
    said = re.compile(rb"PID=[0-9]+\.")
    await shown.once(lambda: said.search(shown.output.get(handle, b"")), "the program's number")
    return handle, pid_in(shown, handle, b"PID=")


async def test_a_shell_with_a_command_in_its_foreground(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host, "shell")
        shell = shown.sessions[handle].pid
        assert shell is not None
        shown.type(handle, b"sh -c 'echo PID=$$.; exec sleep 1000'\r")
        await shown.printed(handle, b".\r\n")
        done, seconds = await stop(shown, handle)
        assert done.ok, done
        assert done.session.state == "exited"
        assert seconds < 1.4, "what ends at once is not waited for"
        assert not exists(shell)
        assert not exists(pid_in(shown, handle, b"PID="))


async def test_an_idle_shell(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host, "shell")
        shown.type(handle, b"echo rea''dy\r")
        await shown.printed(handle, b"ready\r\n")
        done, seconds = await stop(shown, handle)
        assert done.ok, done
        assert seconds < 1.4


async def test_what_a_shell_does_at_its_end_is_done(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host, "shell")
        shown.type(handle, b"trap 'sleep 0.2; echo saved > saved' EXIT; echo rea''dy\r")
        await shown.printed(handle, b"ready\r\n")
        done, _ = await stop(shown, handle)
        assert done.ok, done
        assert (host.project / "saved").read_text() == "saved\n"


async def test_shells_in_a_shell(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host, "shell")
        shown.type(handle, b"bash\r")
        shown.type(handle, b"dash\r")
        shown.type(handle, b"echo rea''dy $$; sleep 1000\r")
        await shown.printed(handle, b"ready")
        done, _ = await stop(shown, handle)
        assert done.ok, done


RAW = """
tty.setraw(0)
def end(*_):
    time.sleep({takes})
    print("SAVED", end="", flush=True)
    sys.exit(0)
signal.signal(signal.SIGHUP, end)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ready()
while True:
    os.read(0, 100)
"""


async def test_a_full_screen_program_has_time_to_save(host: RunningHost) -> None:
    """What runs in the shell ends first, in its own time: its terminal is there until it has."""
    async with page(host) as shown:
        handle, program = await run(host, shown, RAW.format(takes=0.7))
        done, _ = await stop(shown, handle)
        assert done.ok, done
        await shown.printed(handle, b"SAVED")
        assert not exists(program)


async def test_a_program_that_ignores_every_request_does_not_keep_its_shell(host: RunningHost) -> None:
    body = "for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\ntty.setraw(0)\nready()\nos.read(0, 1)\n"
    async with page(host) as shown:
        handle, _ = await run(host, shown, body)
        shell = shown.sessions[handle].pid
        assert shell is not None
        done, _ = await stop(shown, handle)
        assert done.ok, done
        assert not exists(shell)


async def test_a_stopped_job_in_the_foreground(host: RunningHost) -> None:
    """A program that somebody has stopped hears the request, too."""
    async with page(host) as shown:
        handle, program = await run(host, shown, "ready()\nos.kill(0, signal.SIGSTOP)\n", prefix="exec ")
        await until(lambda: "(stopped)" in Path(f"/proc/{program}/status").read_text(), "the program to be stopped")
        done, _ = await stop(shown, handle)
        assert done.ok, done


async def test_a_session_whose_own_process_ignores_it_is_ended_by_force_only(host: RunningHost) -> None:
    async with page(host) as shown:
        handle, program = await run(
            host, shown, "signal.signal(1, signal.SIG_IGN)\nready()\ntime.sleep(600)", prefix="exec "
        )
        done, seconds = await stop(shown, handle)
        assert (done.ok, done.reason) == (False, "session stop not confirmed")
        assert seconds > STOP_MS / 1000 - 0.5
        assert exists(program)
        done, _ = await stop(shown, handle, force=True)
        assert done.ok, done
        assert not exists(program)


PROFILE = """
for i in 1 2 3 4 5 6 7 8; do python3 -I -S -c pass; done
"""


@pytest.mark.parametrize("delay", [0, 2, 5, 10, 20, 60])
async def test_a_shell_that_was_just_opened(host: RunningHost, delay: int) -> None:
    """Its start files run commands in the foreground, and it may not be listening yet."""
    (host.root / "home" / ".bash_profile").write_text(PROFILE)
    async with page(host) as shown:
        for _ in range(3):
            handle = await shown.open(host, "shell")
            await asyncio.sleep(delay / 1000)
            done, seconds = await stop(shown, handle)
            assert done.ok, done
            assert seconds < 4


@pytest.mark.parametrize("delay", [0, 5, 20, 300])
async def test_an_agent_that_was_just_opened(host: RunningHost, delay: int) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        await asyncio.sleep(delay / 1000)
        done, seconds = await stop(shown, handle)
        assert done.ok, done
        assert seconds < 4
        folder = host.root / "agent" / "sessions"
        assert not folder.exists() or not list(folder.glob("*.json"))


@pytest.mark.parametrize("how", ["stop", "down"])
async def test_an_agent_in_its_turn_ends_cleanly(host: RunningHost, how: str) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        info = await shown.status(handle, "idle")
        assert info.pid is not None
        descriptor = host.root / "agent" / "sessions" / f"{info.pid}.json"
        shown.type(handle, b"[stream] [slow 60s] a long answer\r")
        await shown.status(handle, "busy")
        assert descriptor.exists()
        if how == "stop":
            done, _ = await stop(shown, handle)
            assert done.ok, done
        else:
            ended = await asyncio.to_thread(host.cli, "down", "--sessions")
            assert ended.returncode == 0, ended.stderr
        assert not exists(info.pid)
        assert not descriptor.exists()


async def test_an_agent_typed_into_a_shell_ends_cleanly_before_its_shell(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host, "shell")
        folder = host.root / "agent" / "sessions"
        shown.type(handle, f"{sys.executable} -m switchboard.cli.main agent\r".encode())
        await until(lambda: folder.exists() and list(folder.glob("*.json")), "the agent's descriptor")
        done, _ = await stop(shown, handle)
        assert done.ok, done
        assert not list(folder.glob("*.json"))


async def test_down_with_sessions_ends_all_of_them_at_once(host: RunningHost) -> None:
    async with page(host) as shown:
        handles = [await shown.open(host, "shell") for _ in range(3)]
        pids = [shown.sessions[handle].pid or 0 for handle in handles]
        for handle in handles[:2]:
            shown.type(handle, b"echo rea''dy; sleep 1000\r")
            await shown.printed(handle, b"ready")
        ended = await asyncio.to_thread(host.cli, "down", "--sessions")
        assert ended.returncode == 0, ended.stderr
        assert not any(exists(pid) for pid in pids)


async def test_who_leaves_right_after_asking_has_asked(host: RunningHost) -> None:
    """The shell is not left behind half ended because the page did not wait."""
    async with page(host) as shown:
        handle, program = await run(
            host, shown, "signal.signal(1, lambda *_: (time.sleep(0.5), sys.exit()))\nready()\ntime.sleep(600)"
        )
        shell = shown.sessions[handle].pid
        assert shell is not None
        shown.say(messages.StopSession(99, handle))
        await shown.writer.drain()
    await until(lambda: not exists(shell), "the end of the shell")
    await until(lambda: not exists(program), "the end of its program")
