"""Stop: who is asked to end, by which signal, for each kind of session; and waiting for the exit."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tty
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.fake_clock import START
from tests.support.fake_procfs import FakeProcesses
from tests.support.sessions import Stand, hosted, until

from switchboard.clis.procfs import ProcFs
from switchboard.sessions.keeper_client import ExitReport
from switchboard.sessions.session import Session
from switchboard.sessions.stop import DETACH, StopError, request_stop, wait_exit

STARTED, WRITER, GROUP = 4_000_100, 4_000_200, 4_000_300
"""Numbers of no process: the signals of this test go to a list."""

HUP, KILL = signal.SIGHUP, signal.SIGKILL


class Signals:
    """Notes what would be sent; `gone` targets do not exist, `foreign` ones may not be signalled."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int, int]] = []
        self.gone: set[int] = set()
        self.foreign: set[int] = set()

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


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Signals:
    made = Signals()
    monkeypatch.setattr(os, "kill", made.kill)
    monkeypatch.setattr(os, "killpg", made.killpg)
    return made


@pytest.fixture
def processes(tmp_path: Path) -> FakeProcesses:
    return FakeProcesses(tmp_path / "proc")


def group_is(group: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "foreground_group", lambda _self: group)


# --- who is asked -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "writer", "group", "force", "sent"),
    [
        ("claude", "alive", GROUP, False, [("process", WRITER, HUP)]),
        ("claude", "dead", GROUP, False, [("group", GROUP, HUP)]),
        ("claude", "another", GROUP, False, [("group", GROUP, HUP)]),
        ("claude", None, GROUP, False, [("group", GROUP, HUP)]),
        ("claude", None, None, False, [("process", STARTED, HUP)]),
        ("shell", None, GROUP, False, [("group", GROUP, HUP)]),
        ("codex", None, GROUP, False, [("group", GROUP, HUP)]),
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
        "neither: the process that was started",
        "a shell",
        "a CLI that publishes nothing",
        "force: all three",
        "force without a living writer",
        "force on a shell",
        "force without a group",
        "force on an attached terminal",
    ],
)
async def test_who_is_signalled(
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
        request_stop(stand.session, processes.door(), force)
        assert signals.sent == sent


@pytest.mark.parametrize(
    ("gone", "force", "sent"),
    [
        ({WRITER}, False, [("group", GROUP, HUP)]),
        ({WRITER, GROUP}, False, [("process", STARTED, HUP)]),
        ({WRITER, GROUP, STARTED}, False, []),
        ({WRITER, GROUP}, True, [("process", STARTED, KILL)]),
        ({GROUP}, True, [("process", WRITER, KILL), ("process", STARTED, KILL)]),
    ],
    ids=["the writer", "writer and group", "everything", "force", "force, the group alone"],
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
        request_stop(stand.session, processes.door(), force)
        assert signals.sent == sent


async def test_an_ended_session_is_left_alone(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its numbers may be somebody else's by now."""
    with hosted(pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        stand.session.start()
        stand.session.exited(ExitReport(0, None, START))
        for force in (False, True):
            request_stop(stand.session, processes.door(), force)
        assert signals.sent == []


async def test_a_signal_that_may_not_be_sent_says_why(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals.foreign = {GROUP}
    with hosted(pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        with pytest.raises(StopError) as refused:
            request_stop(stand.session, processes.door())
    assert str(refused.value) == "the session could not be signalled: Operation not permitted"


async def test_an_attached_terminal_detaches_and_nobody_is_signalled(
    signals: Signals, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job behind it is not this terminal's to end."""
    with hosted("attach", pid=STARTED) as stand:
        group_is(GROUP, monkeypatch)
        stand.session.start()
        request_stop(stand.session, processes.door())
        assert stand.terminal.typed(1) == DETACH == b"\x1a"
        assert signals.sent == []


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


async def test_a_hangup_reaches_a_program_that_ignores_sigterm(stand: Stand) -> None:
    program = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('ready'); time.sleep(600)"
    with running(stand, program) as child:
        stand.session.holding.pid = child.pid
        await says(stand, b"ready")
        request_stop(stand.session, ProcFs())
        assert child.wait(20) == -signal.SIGHUP


async def test_the_job_in_the_foreground_is_asked_and_its_shell_is_not(stand: Stand) -> None:
    program = (
        "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGHUP, lambda *_: say('shell'))\n"
        "read, write = os.pipe()\n"
        "job = os.fork()\n"
        "if job == 0:\n"
        "    os.setpgid(0, 0); os.tcsetpgrp(0, os.getpid())\n"
        "    signal.signal(signal.SIGHUP, lambda *_: (say('job'), os._exit(0)))\n"
        "    say('ready'); time.sleep(600)\n"
        "os.waitpid(job, 0); say('over'); time.sleep(600)\n"
    )
    with running(stand, program) as child:
        stand.session.holding.pid = child.pid
        await says(stand, b"ready")
        request_stop(stand.session, ProcFs())
        await says(stand, b"over")
        assert stand.session.ring.read(0, 1000)[1] == b"readyjobover"


async def test_force_ends_what_ignores_every_request(stand: Stand) -> None:
    with running(stand, "signal.signal(signal.SIGHUP, signal.SIG_IGN); say('ready'); time.sleep(600)") as child:
        stand.session.holding.pid = child.pid
        await says(stand, b"ready")
        request_stop(stand.session, ProcFs(), force=True)
        assert child.wait(20) == -signal.SIGKILL


# --- waiting ------------------------------------------------------------------------------------------------------


async def test_an_exit_is_waited_for() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.clock.call_at(START + 400, lambda: stand.session.observed_status(None))
        stand.clock.call_at(START + 700, lambda: stand.session.exited(ExitReport(0, None, START + 700)))
        assert await stand.clock.run(wait_exit(stand.session, stand.clock, START + 5000))
        assert stand.clock.now() == START + 700
        assert await wait_exit(stand.session, stand.clock, START)


async def test_waiting_ends_at_the_deadline() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.clock.call_at(START + 400, lambda: stand.session.type(b"news that is no exit"))
        assert not await stand.clock.run(wait_exit(stand.session, stand.clock, START + 5000))
        assert stand.clock.now() == START + 5000
