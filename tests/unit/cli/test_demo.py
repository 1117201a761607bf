"""`switchboard demo`: what it starts and clears away, whatever happens, and the page that takes the tour."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.page_host import PageHost

from switchboard.cli import demo as module
from switchboard.cli.demo import DemoError, _Host, _Page, _result, main
from switchboard.cli.triggers import TriggerFolderError
from switchboard.common.system_clock import SystemClock
from switchboard.page.local_client import HostUnavailable
from switchboard.page.messages import Done, OpenSession, Ready, SessionChanged, SessionInfo, Sessions

INFO = SessionInfo("the-id", "open", "agent", "starting", handle=3)


@pytest.fixture(autouse=True)
def _signals_are_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in module.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


# --- the command --------------------------------------------------------------------------------------------------


class Tour:
    """The command with a host that is none, and a tour that does what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.fault: BaseException | None = None
        self.folder: Path | None = None
        self.terminal = False
        monkeypatch.setattr(_Host, "start", lambda host: self._note("start", host))
        monkeypatch.setattr(_Host, "end", lambda host: self._note("end", host))
        monkeypatch.setattr(_Host, "watch", lambda host, session: self._note(f"watch {session}", host))
        monkeypatch.setattr(module, "_tour", self._tour)
        monkeypatch.setattr(module, "Guard", lambda folder, *_: Path(folder).is_dir() and self)
        self.dismissed = 0
        for stream in (sys.stdin, sys.stdout):
            monkeypatch.setattr(stream, "isatty", lambda: self.terminal, raising=False)

    def _note(self, what: str, host: _Host) -> None:
        assert host.project.is_dir()
        self.folder = host.folder
        self.done.append(what)

    def started(self, _pid: int) -> None:
        """Nothing is, here."""

    def dismiss(self) -> None:
        assert self.folder is not None
        assert not self.folder.exists(), "until then there is something to guard"
        self.dismissed += 1

    async def _tour(self, _host: _Host) -> str:
        self.done.append("tour")
        if self.fault is not None:
            raise self.fault
        return "the-id"


@pytest.fixture
def tour(monkeypatch: pytest.MonkeyPatch) -> Tour:
    return Tour(monkeypatch)


@pytest.mark.parametrize(
    ("terminal", "arguments", "done"),
    [
        (False, [], ["start", "tour", "end"]),
        (True, [], ["start", "tour", "watch the-id", "end"]),
        (True, ["--no-watch"], ["start", "tour", "end"]),
    ],
    ids=["in a script", "on a terminal", "on a terminal, without staying"],
)
def test_the_order_of_things(tour: Tour, terminal: bool, arguments: list[str], done: list[str]) -> None:
    tour.terminal = terminal
    assert main(arguments) == 0
    assert (tour.done, tour.dismissed) == (done, 1)
    assert tour.folder is not None
    assert not tour.folder.exists()


@pytest.mark.parametrize(
    "fault",
    [
        DemoError("waited 30 s in vain for the draft"),
        HostUnavailable("no host is running"),
        TriggerFolderError("the trigger folder x does not exist"),
        OSError("no processes left"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_tour_that_fails_says_why_and_leaves_nothing(
    tour: Tour, fault: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    tour.fault, tour.terminal = fault, True
    assert main([]) == 1
    assert capsys.readouterr().err == f"switchboard demo: {fault}\n"
    assert (tour.done, tour.dismissed) == (["start", "tour", "end"], 1)
    assert tour.folder is not None
    assert not tour.folder.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_tour_and_leaves_nothing(
    tour: Tour, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def signalled(_host: _Host) -> str:
        os.kill(os.getpid(), number)
        for _ in range(100):
            await asyncio.sleep(0)
        return "not reached"

    monkeypatch.setattr(module, "_tour", signalled)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 128 + number
    assert (tour.done, tour.dismissed) == (["start", "end"], 1)
    assert tour.folder is not None
    assert not tour.folder.exists()


def test_ctrl_c_says_that_it_cleans_up_and_a_second_one_does_not_end_that(
    tour: Tour, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def interrupted(_host: _Host) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):
            await asyncio.sleep(0)
        return "not reached"

    def slow_end(host: _Host) -> None:
        for number in module.SIGNALS:
            os.kill(os.getpid(), number)
        tour._note("end", host)

    monkeypatch.setattr(module, "_tour", interrupted)
    monkeypatch.setattr(_Host, "end", slow_end)
    before = [signal.getsignal(number) for number in module.SIGNALS]
    with pytest.raises(KeyboardInterrupt):
        main([])
    assert tour.done == ["start", "end"]
    assert tour.folder is not None
    assert not tour.folder.exists()
    assert capsys.readouterr().err == "\nswitchboard demo: cleaning up, a moment ...\n"
    assert [signal.getsignal(number) for number in module.SIGNALS] == before


def test_the_last_cleaning_up_is_not_interrupted_either(tour: Tour, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted_end(host: _Host) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        tour._note("end", host)

    monkeypatch.setattr(_Host, "end", interrupted_end)
    assert main([]) == 0
    assert tour.folder is not None
    assert not tour.folder.exists()


# --- the tour's host ----------------------------------------------------------------------------------------------

PROGRAM = """#!/bin/sh
echo "$@" >> "$SWITCHBOARD_DATA_DIR.log"
case "$4" in
    up) echo $UP; [ "$UP" = "Switchboard is ready" ] && exec sleep 600 ;;
    url) [ -n "$URL" ] && echo "$URL" ;;
    down) [ -n "$DOWN" ] && kill $(cat "$SWITCHBOARD_DATA_DIR.pid") ;;
esac
"""


class Machine:
    """A host of the tour, whose `python -P -m switchboard.cli.main` is a small script."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = root / "python"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        monkeypatch.setenv("PATH", os.defpath)
        monkeypatch.setenv("UP", "Switchboard is ready")
        self.root = root
        self.host = _Host(root)

    def ran(self) -> list[str]:
        """The subcommands that were run, with their arguments."""
        return [line.removeprefix("-P -m switchboard.cli.main ") for line in self.log.read_text().splitlines()]

    @property
    def log(self) -> Path:
        return self.root / "data.log"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_everything_it_writes_is_below_one_folder(machine: Machine) -> None:
    environment = machine.host.environment
    for name in ("DATA_DIR", "TRIGGERS_DIR", "AGENT_HOME"):
        assert environment[f"SWITCHBOARD_{name}"].startswith(f"{machine.root}/")
    assert environment["CLAUDE_CONFIG_DIR"].startswith(f"{machine.root}/")
    assert environment["PATH"] == os.defpath


def test_the_host_is_started_and_ended_with_its_sessions(
    machine: Machine, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.host.environment["DOWN"] = "1"
    machine.host.start()
    process = machine.host._process
    assert process is not None
    assert os.getsid(process.pid) == process.pid, "Ctrl-C is for the tour"
    (machine.root / "data.pid").write_text(str(process.pid))
    machine.host.end()
    machine.host.end()
    assert machine.ran() == ["up --no-open", "down --sessions"]
    assert process.returncode == -signal.SIGTERM
    assert capfd.readouterr().out == "Switchboard is ready\n"


def test_a_host_that_does_not_end_by_itself_is_ended(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.host.start()
    process = machine.host._process
    assert process is not None
    wait = process.wait
    monkeypatch.setattr(process, "wait", lambda timeout=None: wait(None if timeout is None else 0.001))
    machine.host.end()
    assert machine.ran() == ["up --no-open", "down --sessions"]
    assert process.returncode == -signal.SIGTERM


def test_a_host_that_cannot_be_told_is_ended_at_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has not finished starting: waiting for it to end by itself would be in vain."""
    (machine.root / "python").write_text(PROGRAM.replace("down) ", "down) exit 1; "))
    machine.host.start()
    process = machine.host._process
    assert process is not None
    waits: list[float | None] = []
    wait = process.wait
    monkeypatch.setattr(process, "wait", lambda timeout=None: (waits.append(timeout), wait(timeout))[1])
    machine.host.end()
    assert waits == [module.TERM_SECONDS, None]
    assert process.returncode == -signal.SIGTERM


def test_a_host_that_ignores_everything_is_killed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.root / "python").write_text(
        PROGRAM.replace("down) ", "down) exit 1; ").replace("exec sleep 600", "trap '' TERM && sleep 600")
    )
    machine.host.start()
    process = machine.host._process
    assert process is not None
    monkeypatch.setattr(module, "TERM_SECONDS", 0.2)
    os.killpg(process.pid, 0)  # its shell and what that started are a group of their own
    machine.host.end()
    assert process.returncode == -signal.SIGKILL
    os.killpg(process.pid, signal.SIGKILL)


def test_a_host_that_does_not_start_is_said(machine: Machine) -> None:
    machine.host.environment["UP"] = "nothing"
    with pytest.raises(DemoError, match="the host did not start: nothing"):
        machine.host.start()
    assert machine.host._process is not None
    machine.host._process.wait(20)
    machine.host.end()
    assert machine.ran() == ["up --no-open"], "there is nothing to stop"


@pytest.mark.parametrize("case", ["killed", "never ready", "ended as it should"])
def test_the_keeper_goes_with_the_tour_whatever_became_of_its_host(
    machine: Machine, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keeper that is left holds the agent for ever, in a folder that is gone."""
    ended: list[tuple[str, float]] = []
    if case == "killed":
        machine.host.start()
        machine.host.kill()
    elif case == "never ready":
        machine.host.environment["UP"] = "nothing"
        with pytest.raises(DemoError):
            machine.host.start()
    else:
        machine.host.environment["DOWN"] = "1"
        machine.host.start()
        assert machine.host._process is not None
        (machine.root / "data.pid").write_text(str(machine.host._process.pid))
    monkeypatch.setattr(module, "end_keeper", lambda folder, seconds: ended.append((folder, seconds)))
    machine.host.end()
    assert ended == [(os.path.dirname(machine.host.socket), module.KEEPER_SECONDS)]
    assert machine.host._process is None


def test_what_goes_on_when_the_tour_is_killed_is_told(machine: Machine) -> None:
    told: list[int] = []
    machine.host.told = told.append
    machine.host.start()
    assert machine.host._process is not None
    assert told == [machine.host._process.pid]
    machine.host.kill()
    machine.host.watch("the-id")
    assert len(told) == 2


def test_a_killed_host_is_waited_for_and_another_one_can_start(machine: Machine) -> None:
    machine.host.start()
    process = machine.host._process
    assert process is not None
    machine.host.kill()
    assert process.returncode == -signal.SIGKILL
    machine.host.start()
    machine.host.kill()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/#ticket", ""], ids=["a browser page", "none"])
def test_the_terminal_is_handed_to_the_page(machine: Machine, url: str, capfd: pytest.CaptureFixture[str]) -> None:
    machine.host.environment["URL"] = url
    machine.host.watch("the-id")
    assert machine.ran() == ["url", "watch the-id"]
    said = capfd.readouterr().out
    assert ("In a browser, within two minutes: http://127.0.0.1:1/#ticket" in said) is bool(url)
    assert "Your turn" in said


# --- the tour's page ----------------------------------------------------------------------------------------------


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[PageHost]:
    async with PageHost(str(tmp_path / "host.sock"), [INFO]) as made:
        yield made


async def connected(host: PageHost) -> _Page:
    page = _Page()
    await page.connect(host.path)
    await host.heard(Ready)
    return page


async def leave(page: _Page) -> None:
    assert page.connection is not None
    await page.connection.leave(SystemClock())


async def test_the_page_knows_the_sessions_and_their_changes(host: PageHost) -> None:
    page = await connected(host)
    await page.status(3, "starting")
    host.say(SessionChanged(SessionInfo("the-id", "open", "agent", "idle", handle=3)))
    await page.status(3, "busy", "idle")
    host.say(Sessions([]))
    await page.until(lambda: not page.sessions, "an empty list")
    await leave(page)


async def test_the_page_opens_a_session_and_types_into_it(host: PageHost) -> None:
    page = await connected(host)
    opening = asyncio.create_task(page.open(Path("/srv/project")), name="opening")
    asked = await host.heard(OpenSession)
    assert (asked.mode, asked.profile, asked.cwd, asked.name) == ("new", "agent", "/srv/project", "Tour")
    host.say(Done(1, ok=True, session=INFO))
    assert await opening == INFO
    assert page.sessions[3] == INFO
    page.type(3, b"hello\r")
    await host.typed(3, b"hello\r")
    await leave(page)


async def test_a_session_that_is_refused_is_said(host: PageHost) -> None:
    page = await connected(host)
    opening = asyncio.create_task(page.open(Path("/srv/project")), name="opening")
    await host.heard(OpenSession)
    host.say(Done(1, ok=False, reason="session open failed", detail="no such program"))
    with pytest.raises(DemoError, match="session open failed: no such program"):
        await opening
    await leave(page)


async def test_a_host_that_goes_is_noticed(host: PageHost) -> None:
    page = await connected(host)
    await host.stop()
    await page.until(lambda: page.connection is None, "the end")


async def test_what_does_not_happen_is_said(host: PageHost, monkeypatch: pytest.MonkeyPatch) -> None:
    page = await connected(host)
    monkeypatch.setattr(module, "SECONDS", 0.0)
    with pytest.raises(DemoError, match="waited 0 s in vain for the agent to be idle"):
        await page.status(3, "idle")
    await leave(page)


@pytest.mark.parametrize(
    ("result", "expected", "text"),
    [
        ({"ok": True}, True, None),
        ({"ok": False}, False, None),
        ({"ok": False}, True, "not what this step is there to show"),
        ({"ok": True}, False, "not what this step is there to show"),
        ({}, False, "not what this step is there to show"),
        (None, True, "no result of an-id within 30 s"),
    ],
    ids=["delivered", "refused", "refused instead", "delivered instead", "neither", "none"],
)
async def test_a_result_is_shown_and_must_be_the_expected_one(
    machine: Machine,
    result: Any,
    expected: bool,
    text: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(module, "wait_result", lambda *_: result)
    if text is None:
        await _result(machine.host, "an-id", "A sentence.", ok=expected)
    else:
        with pytest.raises(DemoError, match=text):
            await _result(machine.host, "an-id", "A sentence.", ok=expected)
    if result is not None:
        assert "A sentence.\n{" in capsys.readouterr().out
