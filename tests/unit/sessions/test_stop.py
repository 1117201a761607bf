"""Stop: who is asked to end, by which signal and when, for each kind of session; only the exit confirms it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import tty
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_clock import START
from tests.support.fake_procfs import FakeProcesses
from tests.support.sessions import Stand, hosted, until

from switchboard.clis.procfs import ProcFs
from switchboard.common.facts import CliStatus
from switchboard.common.system_clock import SystemClock
from switchboard.sessions.keeper_client import ExitReport
from switchboard.sessions.session import Session
from switchboard.sessions.stop import AGAIN_MS, DETACH, INNER_MS, SHELL_AGAIN_MS, StopError, request_stop, stop_session

STARTED, WRITER, GROUP = 4_000_100, 4_000_200, 4_000_300
"""Numbers of no process: the signals of this test go to a list."""

HUP, CONT, KILL = signal.SIGHUP, signal.SIGCONT, signal.SIGKILL
GRACE = 5_000
"""How long a Stop takes at most in these tests, from `START` on."""


class Signals:
    """Notes what would be sent; `gone` targets do not exist, `foreign` ones may not be signalled.

    `on_signal(target, number)` is what the target does about it.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[str, int, int]] = []
        self.gone: set[int] = set()
        self.foreign: set[int] = set()
        self.on_signal: Callable[[int, int], None] = lambda _target, _number: None

    def kill(self, pid: int, number: int) -> None:
        self._send("process", pid, number)

    def killpg(self, group: int, number: int) -> None:
        self._send("group", group, number)

    def _send(self, what: str, target: int, number: int) -> None:
        if target in self.gone:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        if target in self.foreign:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        self.sent.append((what, target, number))
        self.on_signal(target, number)


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Signals:
    made = Signals()
    monkeypatch.setattr(os, "kill", made.kill)
    monkeypatch.setattr(os, "killpg", made.killpg)
    return made


@pytest.fixture
def processes(tmp_path: Path) -> FakeProcesses:
    made = FakeProcesses(tmp_path / "proc")
    made.add(STARTED, start="100")  # as `hosted` says
    return made


def group_is(group: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "foreground_group", lambda _self: group)


def hang_up(what: str, target: int) -> list[tuple[str, int, int]]:
    """As the system does it when a terminal is closed."""
    return [(what, target, HUP), (what, target, CONT)]


def stopping(stand: Stand, processes: FakeProcesses, force: bool = False, grace: int = GRACE) -> Any:
    return stop_session(stand.session, processes.door(), stand.clock, stand.clock.now() + grace, force)


def exits(stand: Stand) -> None:
    stand.session.exited(ExitReport(0, None, stand.clock.now()))


# --- who is asked -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "writer", "group", "force", "sent"),
    [
        ("claude", "alive", GROUP, False, hang_up("process", WRITER)),
        ("claude", "dead", GROUP, False, hang_up("group", GROUP)),
        ("claude", "another", GROUP, False, hang_up("group", GROUP)),
        ("claude", None, GROUP, False, hang_up("group", GROUP)),
        ("claude", None, STARTED, False, hang_up("group", STARTED)),
        ("claude", None, None, False, hang_up("process", STARTED)),
        ("shell", None, GROUP, False, hang_up("group", GROUP)),
        ("shell", None, STARTED, False, hang_up("group", STARTED)),
        ("codex", None, GROUP, False, hang_up("group", GROUP)),
        (
            *("claude", "alive", GROUP, True),
            [("process", WRITER, KILL), ("group", GROUP, KILL), ("process", STARTED, KILL)],
        ),
        ("claude", "dead", GROUP, True, [("group", GROUP, KILL), ("process", STARTED, KILL)]),
        ("shell", None, GROUP, True, [("group", GROUP, KILL), ("process", STARTED, KILL)]),
        ("shell", None, None, True, [("process", STARTED, KILL)]),
        ("attach", None, GROUP, True, [("group", GROUP, KILL), ("process", STARTED, KILL)]),
    ],
    ids=[
        "the writer",
        "a writer that has ended",
        "another process with the writer's number",
        "no writer: the foreground group",
        "no writer: its own group, in the foreground",
        "neither: the process that was started",
        "a shell with a job in its foreground",
        "a shell",
        "a CLI that publishes nothing",
        "force: all three",
        "force without a living writer",
        "force on a shell",
        "force without a group",
        "force on an attached terminal",
    ],
)
async def test_who_is_signalled_first(
    signals: Signals,
    processes: FakeProcesses,
    monkeypatch: pytest.MonkeyPatch,
    profile: str,
    writer: str | None,
    group: int | None,
    force: bool,
    sent: list[tuple[str, int, int]],
) -> None:
    if writer in ("alive", "another"):
        processes.add(WRITER, start="7" if writer == "alive" else "8")
    fields = {} if writer is None else {"writer": (WRITER, "7")}
    with hosted(profile, pid=STARTED, **fields) as stand:
        group_is(group, monkeypatch)
        stand.session.start()
        assert not await stand.clock.run(stopping(stand, processes, force, grace=400))
        assert signals.sent[: len(sent)] == sent
        assert KILL not in {number for _, _, number in signals.sent} or force


@pytest.mark.parametrize(
    ("gone", "force", "sent"),
    [
        ({WRITER}, False, hang_up("group", GROUP)),
        ({WRITER, GROUP}, False, hang_up("process", STARTED)),
        ({WRITER, GROUP, STARTED}, False, []),
        ({WRITER, GROUP}, True, [("process", STARTED, KILL)]),
        ({GROUP}, True, [("process", WRITER, KILL), ("process", STARTED, KILL)]),
        ({STARTED}, True, [("process", WRITER, KILL), ("group", GROUP, KILL)]),
    ],
    ids=["the writer", "writer and group", "everything", "force", "force, the group alone", "force, all but inside"],
)
async def test_who_is_gone_meanwhile_does_not_keep_the_next_one_from_being_asked(
    signals: Signals,
    processes: FakeProcesses,
    monkeypatch: pytest.MonkeyPatch,
    gone: set[int],
    force: bool,
    sent: list[tuple[str, int, int]],
) -> None:
    processes.add(WRITER, start="7")
    signals.gone = gone
    with hosted(pid=STARTED, writer=(WRITER, "7")) as stand:
        group_is(GROUP, monkeypatch)
        assert not await stand.clock.run(stopping(stand, processes, force, grace=100))
        assert signals.sent[:2] == sent[:2]


async def test_an_ended_session_is_left_alone(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its numbers may be somebody else's by now."""
    with hosted(pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        stand.session.start()
        exits(stand)
        for force in (False, True):
            assert await stopping(stand, processes, force)
        assert signals.sent == []


@pytest.mark.parametrize("force", [False, True])
async def test_a_number_that_is_somebody_elses_by_now_is_left_alone(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    """The session's process has exited; the report is on its way."""
    processes.add(STARTED, start="101")
    with hosted(pid=STARTED) as stand:
        group_is(None, monkeypatch)
        stand.clock.call_at(START + 50, lambda: exits(stand))
        assert await stand.clock.run(stopping(stand, processes, force))
        assert signals.sent == []


@pytest.mark.parametrize(
    ("foreign", "writer", "force"),
    [({STARTED, GROUP}, None, False), ({WRITER}, (WRITER, "7"), False), ({STARTED, GROUP, WRITER}, None, True)],
    ids=["the session's process", "the writer", "by force"],
)
async def test_a_signal_that_may_not_be_sent_says_why(
    signals: Signals,
    processes: FakeProcesses,
    monkeypatch: pytest.MonkeyPatch,
    foreign: set[int],
    writer: tuple[int, str] | None,
    force: bool,
) -> None:
    signals.foreign = foreign
    processes.add(WRITER, start="7")
    with hosted(pid=STARTED, writer=writer) as stand:
        group_is(GROUP, monkeypatch)
        with pytest.raises(StopError) as refused:
            await stopping(stand, processes, force)
    assert str(refused.value) == "the session could not be signalled: Operation not permitted"
    assert signals.sent == []


@pytest.mark.parametrize("force", [False, True])
async def test_another_users_program_in_a_shell_does_not_keep_the_shell(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    signals.foreign = {GROUP}
    with hosted("shell", pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        signals.on_signal = lambda _target, _number: exits(stand)
        assert await stopping(stand, processes, force)
        assert signals.sent[0] == ("process", STARTED, KILL if force else HUP)


# --- in which order, and when -------------------------------------------------------------------------------------


class Timeline:
    """When whom a request to end reached, in milliseconds from the start."""

    def __init__(self, stand: Stand, signals: Signals) -> None:
        self.seen: list[tuple[int, int]] = []
        self.reactions: dict[int, Callable[[], None]] = {}
        self._stand = stand
        signals.on_signal = self._signalled

    def _signalled(self, target: int, number: int) -> None:
        if number == HUP:
            self.seen.append((self._stand.clock.now() - START, target))
            self.reactions.get(target, lambda: None)()


async def test_what_runs_in_a_shell_has_its_time_and_the_shell_is_asked_until_it_ends(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosted("shell", pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        timeline = Timeline(stand, signals)
        assert not await stand.clock.run(stopping(stand, processes))
        assert stand.clock.now() == START + GRACE
        assert timeline.seen == [
            (0, GROUP),
            *((INNER_MS + number * SHELL_AGAIN_MS, STARTED) for number in range(7)),
        ]


async def test_a_shell_is_asked_as_soon_as_it_is_alone(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosted("shell", pid=STARTED) as stand:
        stand.session.start()
        group_is(GROUP, monkeypatch)
        timeline = Timeline(stand, signals)
        # The shell takes the terminal back and says so.
        stand.clock.call_at(START + 300, lambda: group_is(STARTED, monkeypatch))
        stand.clock.call_at(START + 300, lambda: stand.session.observed_status(CliStatus("idle", None)))
        timeline.reactions[STARTED] = lambda: exits(stand)
        assert await stand.clock.run(stopping(stand, processes))
        assert timeline.seen == [(0, GROUP), (300, STARTED)]


async def test_a_shell_in_its_start_files_is_asked_again(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs one command after the other in the foreground, and does not listen to the first request."""
    with hosted("shell", pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        timeline = Timeline(stand, signals)
        timeline.reactions[GROUP] = lambda: signals.gone.add(GROUP)
        asked = iter((None, None, lambda: exits(stand)))
        timeline.reactions[STARTED] = lambda: (next(asked) or (lambda: None))()
        assert await stand.clock.run(stopping(stand, processes))
        assert timeline.seen[0] == (0, GROUP)
        assert [target for _, target in timeline.seen] == [GROUP, STARTED, STARTED, STARTED]


async def test_little_time_is_shared(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosted("shell", pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        timeline = Timeline(stand, signals)
        assert not await stand.clock.run(stopping(stand, processes, grace=600))
        assert timeline.seen == [(0, GROUP), (300, STARTED)]


async def test_a_living_writer_is_the_only_one_that_is_ever_asked(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it runs in is a sandbox, perhaps, which would take it down hard."""
    processes.add(WRITER, start="7")
    with hosted(pid=STARTED, writer=(WRITER, "7")) as stand:
        group_is(GROUP, monkeypatch)
        timeline = Timeline(stand, signals)
        assert not await stand.clock.run(stopping(stand, processes))
        assert timeline.seen == [(0, WRITER), (AGAIN_MS, WRITER), (2 * AGAIN_MS, WRITER)]


async def test_what_a_writer_ran_in_is_asked_when_it_stays(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.add(WRITER, start="7")
    with hosted(pid=STARTED, writer=(WRITER, "7")) as stand:
        stand.session.start()
        group_is(STARTED, monkeypatch)
        timeline = Timeline(stand, signals)
        stand.clock.call_at(START + 400, lambda: processes.end(WRITER))
        stand.clock.call_at(START + 400, lambda: stand.session.observed_status(CliStatus("idle", None)))
        timeline.reactions[STARTED] = lambda: exits(stand)
        assert await stand.clock.run(stopping(stand, processes))
        assert timeline.seen == [(0, WRITER), (400, STARTED)]


async def test_news_of_the_session_are_no_reason_to_ask_again(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosted("shell", pid=STARTED) as stand:
        stand.session.start()
        group_is(STARTED, monkeypatch)
        timeline = Timeline(stand, signals)
        for at in range(10, 400, 10):
            stand.clock.call_at(START + at, lambda: stand.session.type(b"x"))
        stand.clock.call_at(START + 450, lambda: exits(stand))
        assert await stand.clock.run(stopping(stand, processes))
        assert timeline.seen == [(0, STARTED)]
        assert stand.clock.now() == START + 450


@pytest.mark.parametrize("force", [False, True])
async def test_only_the_exit_confirms(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    """The terminal has hung up and every process is gone, as far as anybody can see."""
    with hosted("shell", pid=STARTED) as stand:
        stand.session.start()
        group_is(None, monkeypatch)
        signals.on_signal = lambda _target, _number: (processes.end(STARTED), signals.gone.add(STARTED))[1]
        stand.clock.call_at(START + 2_000, lambda: exits(stand))
        assert not await stand.clock.run(stopping(stand, processes, force, grace=1_999))
        assert await stand.clock.run(stopping(stand, processes, force))
        assert stand.clock.now() == START + 2_000


async def test_the_first_request_is_out_before_its_end_is_awaited(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosted("shell", pid=STARTED) as stand:
        group_is(STARTED, monkeypatch)
        timeline = Timeline(stand, signals)
        stop = request_stop(stand.session, processes.door(), stand.clock, START + GRACE)
        assert timeline.seen == [(0, STARTED)]
        stand.clock.call_at(START + 100, lambda: exits(stand))
        assert await stand.clock.run(stop.finished())
        assert timeline.seen == [(0, STARTED)], "it was asked twice for one stop"


async def test_a_first_request_that_may_not_be_sent_is_told_at_once(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals.foreign = {STARTED}
    with hosted("shell", pid=STARTED) as stand:
        group_is(STARTED, monkeypatch)
        with pytest.raises(StopError):
            request_stop(stand.session, processes.door(), stand.clock, START + GRACE)
    assert signals.sent == []


async def test_a_session_that_has_ended_is_not_asked(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosted("shell", pid=STARTED) as stand:
        group_is(STARTED, monkeypatch)
        exits(stand)
        assert await request_stop(stand.session, processes.door(), stand.clock, START + GRACE).finished()
    assert signals.sent == []


async def test_nothing_is_sent_at_or_after_the_deadline(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosted("shell", pid=STARTED) as stand:
        group_is(STARTED, monkeypatch)
        timeline = Timeline(stand, signals)
        assert not await stand.clock.run(stopping(stand, processes, grace=SHELL_AGAIN_MS))
        await stand.clock.advance(10_000)
        assert timeline.seen == [(0, STARTED)]
        assert not await stopping(stand, processes, grace=0)
        assert len(timeline.seen) == 1


@pytest.mark.parametrize(
    ("profile", "group", "writer", "then"),
    [
        ("shell", GROUP, None, [STARTED]),
        ("shell", STARTED, None, []),
        ("agent", GROUP, (WRITER, "7"), []),
        ("attach", GROUP, None, []),
    ],
    ids=["a shell with a job", "a shell that was asked", "a CLI that was asked", "an attached terminal"],
)
async def test_who_does_not_wait_for_the_end_leaves_nothing_half_done(
    signals: Signals,
    processes: FakeProcesses,
    monkeypatch: pytest.MonkeyPatch,
    profile: str,
    group: int,
    writer: tuple[int, str] | None,
    then: list[int],
) -> None:
    processes.add(WRITER, start="7")
    with hosted(profile, pid=STARTED, writer=writer) as stand:
        stand.session.start()
        group_is(group, monkeypatch)
        timeline = Timeline(stand, signals)
        task = asyncio.create_task(stopping(stand, processes))
        await stand.clock.settle()
        before = len(timeline.seen)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [target for _, target in timeline.seen[before:]] == then


async def test_an_attached_terminal_detaches_and_nobody_is_hung_up(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job behind it is not this terminal's to end. A client that was not listening yet is told again."""
    with hosted("attach", pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        stand.session.start()
        assert not await stand.clock.run(stopping(stand, processes, grace=AGAIN_MS + 1))
        assert stand.terminal.typed(2) == DETACH * 2 == b"\x1a\x1a"
        assert {number for _, _, number in signals.sent} == {CONT}


# --- real processes -----------------------------------------------------------------------------------------------


@contextmanager
def running(stand: Stand, program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that leads the session of the stand's terminal and has said that it is ready."""
    script = (
        "import fcntl, os, signal, sys, termios, time\n"
        "os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        "def say(word): os.write(1, word.encode())\n" + program
    )
    slave = stand.terminal.descriptor
    os.set_blocking(slave, True)
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", script], stdin=slave, stdout=slave)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


async def says(stand: Stand, word: bytes) -> None:
    await until(lambda: word in stand.session.ring.read(0, 100_000)[1], f"{word!r}")


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    with hosted("shell") as made:
        tty.setraw(made.terminal.descriptor)
        made.session.start()
        yield made


async def ended(stand: Stand, child: subprocess.Popen[bytes], force: bool = False) -> int:
    """Stop the session and return how its process ended; the test is the keeper, who reports it."""
    session, clock = stand.session, SystemClock()
    stop = asyncio.create_task(stop_session(session, ProcFs(), clock, clock.now() + 20_000, force))
    await until(lambda: child.poll() is not None, "the end of the session's process")
    assert not stop.done(), "nothing but the report confirms it"
    session.exited(ExitReport(None, None, clock.now()))
    assert await stop
    assert child.returncode is not None
    return child.returncode


def take_over(stand: Stand, child: subprocess.Popen[bytes]) -> None:
    """Let the stand's session be this process's."""
    stand.session.holding.pid = child.pid
    stand.session.holding.start = ProcFs().start(child.pid) or ""


async def test_a_hangup_reaches_a_program_that_ignores_sigterm(stand: Stand) -> None:
    program = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('ready'); time.sleep(600)"
    with running(stand, program) as child:
        take_over(stand, child)
        await says(stand, b"ready")
        assert await ended(stand, child) == -signal.SIGHUP


async def test_a_hangup_reaches_a_program_that_was_stopped(stand: Stand) -> None:
    with running(stand, "say('ready'); os.kill(os.getpid(), signal.SIGSTOP); time.sleep(600)") as child:
        take_over(stand, child)
        await says(stand, b"ready")
        assert await ended(stand, child) == -signal.SIGHUP


async def test_the_job_in_the_foreground_ends_before_its_shell_is_asked(stand: Stand) -> None:
    program = (
        "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGHUP, lambda *_: (say('shell'), os._exit(3)))\n"
        "job = os.fork()\n"
        "if job == 0:\n"
        "    os.setpgid(0, 0); os.tcsetpgrp(0, os.getpid())\n"
        "    signal.signal(signal.SIGHUP, lambda *_: (time.sleep(0.3), say('job'), os._exit(0)))\n"
        "    say('ready'); time.sleep(600)\n"
        "os.waitpid(job, 0)\n"
        "time.sleep(600)\n"
    )
    with running(stand, program) as child:
        take_over(stand, child)
        await says(stand, b"ready")
        assert await ended(stand, child) == 3
        assert stand.session.ring.read(0, 1000)[1] == b"readyjobshell"


async def test_a_shell_is_asked_although_its_job_ignores_it(stand: Stand) -> None:
    program = (
        "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
        "job = os.fork()\n"
        "if job == 0:\n"
        "    os.setpgid(0, 0); os.tcsetpgrp(0, os.getpid())\n"
        "    signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "    say('ready'); os.read(0, 1); os._exit(0)\n"
        "time.sleep(600)\n"
    )
    with running(stand, program) as child:
        take_over(stand, child)
        await says(stand, b"ready")
        assert await ended(stand, child) == -signal.SIGHUP


async def test_force_ends_what_ignores_every_request(stand: Stand) -> None:
    with running(stand, "signal.signal(signal.SIGHUP, signal.SIG_IGN); say('ready'); time.sleep(600)") as child:
        take_over(stand, child)
        await says(stand, b"ready")
        assert await ended(stand, child, force=True) == -signal.SIGKILL
