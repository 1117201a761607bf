"""The terminal page in a real terminal, with a host that the test plays on a real Unix socket."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.page_host import PATIENCE, PageHost
from tests.support.screens import Screen

from switchboard.page import messages
from switchboard.page.messages import Attach, Bye, Detach, Focus, OpenSession, Ready, SessionInfo, StopSession

WATCH = """
import asyncio, fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from switchboard.common.system_clock import SystemClock
from switchboard.page.terminal.app import run
path, wanted = sys.argv[1:]
sys.exit(asyncio.run(run(path, wanted or None, stdin_fd=0, stdout_fd=1, env=os.environ, clock=SystemClock())))
"""


def session(handle: int, status: str = "idle", **more: object) -> SessionInfo:
    info = SessionInfo(
        id=f"id-{handle}",
        state="open",
        cli="agent",
        status=status,
        handle=handle,
        name=f"name-{handle}",
        project="/jobs/shop",
        cwd="/jobs/shop",
        pid=1000 + handle,
    )
    return replace(info, **more)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def host(stack: AsyncExitStack, tmp_path: Path) -> PageHost:
    return await stack.enter_async_context(PageHost(str(tmp_path / "host.sock"), [session(1), session(2, "busy")]))


async def watch(
    stack: AsyncExitStack,
    host: PageHost,
    wanted: str = "",
    *,
    columns: int = 80,
    rows: int = 24,
    before: str = "",
    **env: str,
) -> Screen:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "PWD": "/jobs",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SWITCHBOARD_TEST_MARK": os.environ["SWITCHBOARD_TEST_MARK"],
        **env,
    }
    arguments = [sys.executable, "-c", before + WATCH, host.path, wanted]
    return await stack.enter_async_context(Screen(arguments, environment, columns=columns, rows=rows))


async def shown(stack: AsyncExitStack, host: PageHost, output: bytes = b"welcome\r\n$ ") -> Screen:
    """The page with session 1 on the screen."""
    screen = await watch(stack, host, "id-1")
    attach = await host.heard(Attach)
    assert (attach.session, attach.from_seq) == (1, None)
    host.attached(1, seq=0, live=0)
    host.print(1, 0, output)
    await screen.until(lambda: output.split()[-1].decode() in screen.text)
    await host.heard(Ready)
    return screen


async def test_the_list_and_leaving(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await watch(stack, host)
    await screen.shows("Switchboard", "jobs/shop", "○ idle     name-1", "◐ busy     name-2", "q leave")
    await host.heard(Ready)
    screen.types(b"q")
    await host.heard(Bye)
    assert await screen.ended() == 0
    assert screen.modes() == screen.modes_before
    assert screen.raw.endswith(b"\x1b[?1049l\x1b[23;0t")
    assert b"\x1b[?25h" in screen.raw


async def test_keys_in_the_list_reach_no_session(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await watch(stack, host)
    await screen.shows("name-1")
    screen.types(b"ls -la jj\x1b[200~rm -rf /\r\x1b[201~?")
    await screen.shows("nothing typed here reaches a session")
    screen.types(b" q")
    assert await screen.ended() == 0
    assert host.all_typed() == b""
    assert not [m for m in host.heard_so_far if isinstance(m, (Attach, OpenSession, StopSession))]


async def test_a_session_is_passed_through(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await watch(stack, host)
    await screen.shows("name-2")
    screen.types(b"j\r")
    assert (await host.heard(Attach)).session == 2
    assert await host.heard(Focus) == Focus(2, 80, 24)
    await screen.until(lambda: not screen.text.strip(), "a clean screen")
    host.attached(2)
    host.print(2, 0, b"\x1b[2J\x1b[Hcolour \x1b[31mred\x1b[0m $ ")
    await screen.shows("colour red $")
    keys = bytes(b for b in range(256) if b not in (0x1B, 0x1D)) + b"\x1b[A\x1b\x1d\x1d"
    screen.types(keys)
    await host.typed(2, keys[:-1])


async def test_a_long_paste_arrives_whole(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    paste = b"\x1b[200~" + os.urandom(150_000).hex().encode() + b"\x1dl\r\n\t\x1b[201~"
    pasting = asyncio.create_task(screen.pastes(paste), name="paste")
    await host.typed(1, paste)
    await pasting


async def test_a_host_that_takes_nothing_for_a_while(stack: AsyncExitStack, host: PageHost) -> None:
    """What is typed waits in the terminal, not in the page's memory, and nothing of it is lost."""
    screen = await shown(stack, host)
    host.listens.clear()
    typed = os.urandom(3_000_000).hex().encode()
    pasting = asyncio.create_task(screen.pastes(typed), name="paste")
    done, _ = await asyncio.wait([pasting], timeout=1.0)
    assert not done
    assert memory_of(screen.pid) < 60
    host.listens.set()
    await host.typed(1, typed)
    await pasting


async def test_switching_between_sessions_and_the_list(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    screen.types(b"\x1dn")
    assert (await host.heard(Detach)).session == 1
    assert (await host.heard(Attach)).session == 2
    host.attached(2)
    host.print(1, 11, b"LATE OUTPUT OF ONE")
    host.print(2, 0, b"second session")
    await screen.shows("second session")
    assert "welcome" not in screen.text
    assert "LATE" not in screen.text
    screen.types(b"\x1dl")
    assert (await host.heard(Detach)).session == 2
    await screen.shows("name-1", "▸ ◐ busy     name-2")
    screen.types(b"k\rtyped at once")
    assert (await host.heard(Attach)).session == 1
    await host.typed(1, b"typed at once")


async def test_status_changes_are_seen(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await watch(stack, host)
    await screen.shows("○ idle     name-1")
    host.say(messages.SessionChanged(session(1, "waiting", waiting_for="permission prompt")))
    await screen.shows("1 waiting for you", "◆ waiting  name-1 · permission prompt")
    host.say(messages.TriggerActivity("t.json", 1, "done", session_id="id-1", ok=True, submitted="confirmed"))
    await screen.shows("trigger t to name-1: done, submitted: confirmed")
    host.say(messages.SessionGone(2))
    await screen.shows("· closed   name-2")


async def test_opening_and_stopping(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await watch(stack, host)
    await screen.shows("name-1")
    screen.types(b"n")
    await screen.shows("CLI [agent]:")
    screen.types(b"shell\r")
    await screen.shows("Directory [/jobs/shop]:")
    screen.types(b"\x15/tmp\r")
    asked = await host.heard(OpenSession)
    assert asked == OpenSession(asked.request, "shell", "shell", cwd="/tmp", columns=80, rows=24)
    host.say(messages.SessionChanged(session(3)), messages.Done(asked.request, True, session=session(3)))
    assert (await host.heard(Attach)).session == 3
    screen.types(b"\x1dx")
    await screen.shows("Stop name-3? [y/N]")
    screen.types(b"y")
    stop = await host.heard(StopSession)
    assert (stop.session, stop.force) == (3, False)
    host.say(messages.Done(stop.request, False, "still running"))
    await screen.shows("End it by force?")
    screen.types(b"y")
    stop = await host.heard(StopSession)
    assert (stop.session, stop.force) == (3, True)


async def test_the_modes_of_a_session_are_undone(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    host.print(1, 11, b"\x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b[>1u\x1b[?25l\x1b[5;10r\x1b[4 qmodes")
    await screen.shows("modes")
    screen.types(b"\x1dq")
    assert await screen.ended() == 0
    end = bytes(screen.raw[screen.raw.rindex(b"modes") :])
    for undone in (b"\x1b[?1049l", b"\x1b[<1u", b"\x1b[r", b"\x1b[0 q", b"25h"):
        assert undone in end, undone
    off = [number for part in end.split(b"\x1b[?") if b"l" in part for number in part.split(b"l")[0].split(b";")]
    assert {b"1003", b"1006", b"2004", b"1"} <= set(off)
    assert screen.modes() == screen.modes_before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("place", ["list", "session"])
async def test_signals_restore_the_terminal(
    stack: AsyncExitStack, host: PageHost, place: str, number: signal.Signals
) -> None:
    screen = await (shown(stack, host) if place == "session" else watch(stack, host))
    if place == "list":
        await host.heard(Ready)
    screen.signal(number)
    await host.heard(Bye)
    assert await screen.ended() == 128 + number
    assert screen.modes() == screen.modes_before
    assert screen.raw.endswith(b"\x1b[23;0t")


async def test_a_terminal_that_hangs_up(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    screen.hang_up()
    await host.heard(Bye)
    assert await screen.ended() == 128 + signal.SIGHUP


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
async def test_stopped_and_continued(stack: AsyncExitStack, host: PageHost, number: signal.Signals) -> None:
    screen = await shown(stack, host)
    screen.signal(number)
    async with asyncio.timeout(PATIENCE):
        await asyncio.to_thread(os.waitid, os.P_PID, screen.pid, os.WSTOPPED | os.WNOWAIT)
    if number == signal.SIGTSTP:
        assert screen.modes() == screen.modes_before
    termios.tcsetattr(screen.slave, termios.TCSANOW, screen.modes_before)  # as a shell does with a stopped job
    screen.signal(signal.SIGCONT)
    assert await host.heard(Attach) == Attach(1)
    assert screen.modes() != screen.modes_before
    host.attached(1, live=5)
    host.print(1, 0, b"again")
    await screen.shows("again")
    assert "welcome" not in screen.text


async def test_the_size_follows_the_window(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    screen.resize(100, 30)
    assert await host.heard(Focus, lambda said: said.columns == 100) == Focus(1, 100, 30)


async def test_a_size_that_is_free_is_taken_over(stack: AsyncExitStack, host: PageHost) -> None:
    """Of the session that is shown, not of another one."""
    screen = await shown(stack, host)
    host.say(messages.Size(1, 200, 50, owner=False))
    host.say(messages.Size(2, 200, 50, owner=False, free=True))
    host.say(messages.Size(1, 200, 50, owner=False, free=True))
    assert await host.heard(Focus) == Focus(1, 80, 24, free=True)
    host.say(messages.Size(1, 80, 24, owner=True))
    host.print(1, 11, b"\x1b[6n?")
    await screen.shows("?")
    screen.types(b"\x1b[24;80R")
    await host.typed(1, b"\x1b[24;80R")


async def test_the_first_key_takes_the_size(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    host.say(messages.Size(1, 200, 50, owner=False))
    host.print(1, 11, b"wide")
    await screen.shows("wide")
    screen.types(b"\x1b[24;80R\x1b[?62c")  # answers of the terminal: not a person, and not the owner's
    screen.types(b"x")
    assert await host.heard(Focus) == Focus(1, 80, 24)
    await host.typed(1, b"x")
    screen.types(b"\x1b[24;80Rz")  # nothing was asked, so it answers another session
    await host.typed(1, b"z")
    host.print(1, 15, b"\x1b[6n?")
    await screen.shows("wide?")
    screen.types(b"\x1b[24;80Ry")
    await host.typed(1, b"\x1b[24;80Ry")
    assert host.all_typed() == b"xz\x1b[24;80Ry"


@pytest.mark.parametrize("left_behind", [False, True], ids=["in order", "killed"])
async def test_a_host_that_restarts(stack: AsyncExitStack, host: PageHost, left_behind: bool) -> None:
    screen = await shown(stack, host, b"0123456789")
    host.print(1, 10, b"abc\x1b[3")  # a sequence is cut by the end of the host
    await screen.shows("abc")
    await host.sent()
    await host.stop(leave_socket=left_behind)
    await screen.shows("waiting for it to come back")
    screen.types(b"lost")
    await screen.shows("what you type goes nowhere")
    assert b"\x07" in screen.raw
    await host.start()
    assert await host.heard(Attach) == Attach(1, 13)
    host.attached(1, seq=13, live=20)
    host.print(1, 13, b"\x1b[32mdef")
    await screen.shows("0123456789abcdef", "connected to the host again")
    screen.types(b"more")
    await host.typed(1, b"more")
    assert host.all_typed() == b"more"
    assert sum(isinstance(m, Ready) for m in host.heard_so_far) == 2


async def test_a_host_that_restarts_under_the_list(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await watch(stack, host)
    await screen.shows("connected")
    await host.stop()
    await screen.shows("NOT CONNECTED", "name-1")
    screen.types(b"\r")
    await screen.shows("nothing was done")
    host.sessions = [session(5)]
    await host.start()
    await screen.shows("name-5", "connected to the host again")
    assert "name-1" not in screen.text


async def test_a_session_that_runs_again_is_shown_where_it_was(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    host.say(messages.SessionChanged(session(1, "exited", state="exited")))
    await screen.shows("has ended")
    screen.types(b"x")
    await screen.shows("what you type goes nowhere")
    host.say(messages.SessionChanged(session(7, id="id-1")))
    assert await host.heard(Attach) == Attach(7)
    assert await host.heard(Focus) == Focus(7, 80, 24)
    host.attached(7)
    host.print(7, 0, b"resumed $ ")
    await screen.shows("resumed $")
    assert "welcome" not in screen.text
    screen.types(b"more")
    await host.typed(7, b"more")


async def test_a_session_that_does_not_come_back(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    host.sessions = [session(2)]
    await host.stop()
    await host.start()
    await screen.shows("not there any more", "name-2")


async def test_leaving_while_the_host_is_away(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    await host.stop()
    await screen.shows("waiting for it to come back")
    screen.types(b"\x1dq")
    assert await screen.ended() == 0
    assert screen.modes() == screen.modes_before


async def test_a_ping_is_answered(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await watch(stack, host)
    await screen.shows("name-1")
    host.say(messages.Ping(42))
    assert await host.heard(messages.Pong) == messages.Pong(42)


async def test_a_terminal_that_is_stuck_and_recovers(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    screen.read(False)
    seq = 11
    block = b"".join(b"line %06d\r\n" % n for n in range(5000))
    for _ in range(80):  # 5 MB, several times what the page keeps
        host.print(1, seq, block)
        seq += len(block)
        await host.sent()
    host.say(messages.Ping(7))
    await host.heard(messages.Pong)  # all of it was taken, and the page still answers
    assert memory_of(screen.pid) < 80
    screen.read(True)
    attach = await host.heard(Attach)
    assert attach.from_seq is not None
    assert seq - 200_000 < attach.from_seq < seq
    host.attached(1, seq=attach.from_seq, live=seq)
    host.print(1, attach.from_seq, b"\r\nthe end of it $ ")
    await screen.shows("the end of it $")
    assert "line" not in screen.text
    screen.types(b"q")
    await host.typed(1, b"q")


async def test_going_to_the_list_does_not_wait_for_old_output(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    screen.read(False)
    host.print(1, 11, b"x" * 800_000)
    host.say(messages.Ping(7))
    await host.heard(messages.Pong)
    screen.types(b"\x1dl")
    await host.heard(Detach)
    before = len(screen.raw)
    screen.read(True)
    await screen.shows("○ idle     name-1")
    assert len(screen.raw) - before < 200_000
    # Nobody knows what the dropped output would have switched, so the alternate screen is left for certain.
    assert b"\x1b[?1047l\x1b[?1049l" in screen.raw[before:]


async def test_leaving_a_stuck_terminal(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    screen.read(False)
    host.print(1, 11, b"x" * 500_000)
    await host.sent()
    screen.types(b"\x1dq")
    await host.heard(Bye)
    assert await screen.ended() == 0
    assert screen.modes() == screen.modes_before


async def test_the_host_left_something_out(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host, b"old output")
    host.say(messages.Resync(1, 5000, 4990))
    host.print(1, 5000, b"1mhalf\r\nnew output")
    await screen.shows("new output")
    assert "old" not in screen.text
    assert "half" not in screen.text


@pytest.mark.parametrize("columns", [40, 20])
async def test_narrow(stack: AsyncExitStack, host: PageHost, columns: int) -> None:
    screen = await watch(stack, host, columns=columns, rows=10)
    await screen.shows("○ idle", "◐ busy")


async def test_no_color_and_no_unicode(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await watch(stack, host, NO_COLOR="1", LANG="C", LC_ALL="C")
    await screen.shows("o idle     name-1", "* busy     name-2")
    assert screen.raw.isascii()
    assert not any(b"\x1b[%dm" % n in screen.raw for n in (*range(30, 38), *range(90, 98)))


async def test_without_a_host(stack: AsyncExitStack, tmp_path: Path) -> None:
    screen = await watch(stack, PageHost(str(tmp_path / "none.sock")))
    assert await screen.ended() == 1
    assert screen.text.strip() == "switchboard watch: no host is running; start one with: switchboard up"
    assert screen.modes() == screen.modes_before


@pytest.mark.parametrize(("term", "said"), [("dumb", "TERM is 'dumb'"), ("", "TERM is not set")])
async def test_a_terminal_without_a_cursor(stack: AsyncExitStack, host: PageHost, term: str, said: str) -> None:
    screen = await watch(stack, host, TERM=term)
    assert await screen.ended() == 1
    assert said in screen.text.replace("\n", "")
    assert b"\x1b" not in screen.raw


async def test_no_terminal(host: PageHost, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WATCH.replace("fcntl.ioctl(0, termios.TIOCSCTTY, 0)", ""),
        host.path,
        "",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "TERM": "xterm"},
    )
    out, err = await process.communicate()
    assert (process.returncode, out, err) == (1, b"", b"switchboard watch needs a terminal\n")


async def test_another_version_of_the_host(stack: AsyncExitStack, host: PageHost) -> None:
    host.greets = False
    screen = await watch(stack, host)
    await host.heard(messages.Hello)
    host.say(messages.Problem("this host speaks page protocol 2"))
    assert await screen.ended() == 1
    assert "switchboard watch: the host refused this page: this host speaks page protocol 2" in screen.text
    assert screen.modes() == screen.modes_before


async def test_a_host_that_is_full_is_asked_again(stack: AsyncExitStack, host: PageHost) -> None:
    """At the start and later, in the list and in a session; each refusal is told, and none is the end."""
    host.greets = False
    screen = await watch(stack, host, "id-1")
    for _ in range(3):
        await host.heard(messages.Hello)
        host.say(messages.Problem("64 pages are connected; close one", "passing"))
        host.hang_up()
    await screen.shows("does not take this page now: 64 pages are connected; close one")
    host.greets = True
    assert (await host.heard(Attach)).session == 1
    host.attached(1)
    host.print(1, 0, b"welcome")
    await screen.shows("welcome")
    host.say(messages.Problem("more than 16 requests are open", "passing"))
    host.hang_up()
    assert await host.heard(Attach) == Attach(1, 7)
    await screen.shows("connected to the host again")
    screen.types(b"\x1dq")
    assert await screen.ended() == 0


EXPLAIN = """
from switchboard.page.terminal import app
real = app.run
app.run = lambda *given, **named: real(*given, **named, explain=lambda error: f"kill 7, not: {error}")
"""


async def test_a_host_that_lives_and_cannot_be_reached(stack: AsyncExitStack, host: PageHost) -> None:
    """The remedy is told while the page waits; once that has helped, it goes on."""
    screen = await watch(stack, host, before=EXPLAIN)
    await host.heard(Ready)
    await host.stop()
    await screen.shows("kill 7, not: no host is running")
    await host.start()
    await screen.shows("connected to the host again")


async def test_at_the_start_the_remedy_is_told_too(stack: AsyncExitStack, tmp_path: Path) -> None:
    screen = await watch(stack, PageHost(str(tmp_path / "none.sock")), before=EXPLAIN)
    assert await screen.ended() == 1
    assert screen.text.strip().startswith("switchboard watch: kill 7, not: no host is running")


async def test_a_fault_of_the_page_itself_restores_the_terminal(stack: AsyncExitStack, host: PageHost) -> None:
    fault = "from switchboard.page.terminal import model\nmodel.Model.press = None\n"
    screen = await watch(stack, host, before=fault)
    await host.heard(Ready)
    screen.types(b"j")
    await host.heard(Bye)
    assert await screen.ended() == 1
    assert "TypeError" in screen.text  # what becomes of it is the command's part
    assert screen.modes() == screen.modes_before


async def test_a_host_that_talks_nonsense(stack: AsyncExitStack, host: PageHost) -> None:
    screen = await shown(stack, host)
    host.raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert await screen.ended() == 1
    assert "does not understand" in screen.text
    assert "Traceback" not in screen.text
    assert screen.modes() == screen.modes_before


def memory_of(pid: int) -> float:
    """Resident memory in MB."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024


# --- what versioned triggers have it do


async def test_a_session_action_is_answered_and_nothing_moves(stack: AsyncExitStack, host: PageHost) -> None:
    """In the list with a row selected: a session is reattached, one is resumed with the permit, one cannot be."""
    screen = await watch(stack, host)
    await host.heard(Ready)
    await screen.until(lambda: "name-2" in screen.text)
    before = screen.text
    action = messages.SessionAction("p1", "epoch-1", "reattach", "id-9", "id-1", 0, 2**50)
    host.say(action)
    answer = await host.heard(messages.SessionActionResult)
    assert answer == messages.SessionActionResult("p1", "epoch-1", "reattach", True, "id-9", "id-1", 0)

    host.say(messages.SessionAction("p2", "epoch-1", "resume", "id-3", "id-3", None, 2**50, "claude", "/jobs", "/jobs"))
    wanted = await host.heard(OpenSession)
    assert wanted == OpenSession(wanted.request, "resume", session_id="id-3", columns=80, rows=24, permit="p2")
    host.say(messages.Done(wanted.request, False, "session open failed", "no program"))
    answer = await host.heard(messages.SessionActionResult)
    assert (answer.permit, answer.ok, answer.generation, answer.error) == ("p2", False, None, "no program")
    assert screen.text == before

    host.say(messages.SessionAction("p3", "epoch-1", "new", None, "id-3", None, 2**50, "claude", "/jobs", "/jobs", "n"))
    wanted = await host.heard(OpenSession)
    host.say(messages.Done(wanted.request, True, session=session(3, generation=5)))
    answer = await host.heard(messages.SessionActionResult)
    assert answer == messages.SessionActionResult("p3", "epoch-1", "new", True, None, "id-3", 5)
    await screen.until(lambda: "name-3" in screen.text)
    assert not [said for said in host.heard_so_far if isinstance(said, (Attach, Focus))]
    screen.types(b"j\r")
    assert (await host.heard(Attach)).session == 2
