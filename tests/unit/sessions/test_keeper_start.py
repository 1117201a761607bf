"""Reaching, starting and ending a keeper: what is said when that fails, and what can be done about it."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from switchboard.sessions import keeper_start as module
from switchboard.sessions.keeper.folder import lock_owner
from switchboard.sessions.keeper_client import KeeperClient
from switchboard.sessions.keeper_start import KeeperError, dial, end_keeper, is_stopped, start_keeper

HOLDER = (
    "import fcntl, os, sys, time; lock = os.open(sys.argv[1] + '/keeper.lock', os.O_RDWR | os.O_CREAT);"
    "fcntl.flock(lock, fcntl.LOCK_EX); os.write(lock, b'%d\\n' % os.getpid()); print('held', flush=True);"
    "{end}; time.sleep(600)"
)


def hold(folder: Path, end: str = "pass") -> subprocess.Popen[str]:
    """A process that holds the folder's lock as a keeper does."""
    holder = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", HOLDER.format(end=end), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with hold(tmp_path) as process:
        yield process
        process.kill()


def stop(process: subprocess.Popen[str]) -> None:
    """Stop a process of ours, and return once it has stopped."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


# --- starting one -------------------------------------------------------------------------------------------------


async def test_a_keeper_that_does_not_start_says_where_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROGRAM", "import sys; sys.stderr.write('broken'); sys.exit(3)")
    client = KeeperClient(lambda _handle, _report: None, lambda: None)
    with pytest.raises(KeeperError, match=r"did not start; see .*/keeper\.log"):
        await client.connect(str(tmp_path))
    assert (tmp_path / "keeper.log").read_text() == "broken"
    assert (tmp_path / "keeper.log").stat().st_mode & 0o777 == 0o600


async def test_a_keeper_that_says_nothing_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROGRAM", "import time; time.sleep(600)")
    monkeypatch.setattr(module, "START_SECONDS", 0.0)
    with pytest.raises(KeeperError, match="did not start; see"):
        await start_keeper(str(tmp_path))


async def test_a_keeper_says_itself_why_it_does_not_start(tmp_path: Path) -> None:
    """Its log may be on the same full disk."""
    (tmp_path / "keeper.sock").mkdir()
    (tmp_path / "keeper.sock" / "x").touch()
    with pytest.raises(KeeperError, match=r"did not start: .*/keeper\.sock: (Is a directory|Operation not permitted)"):
        await start_keeper(str(tmp_path))


async def test_a_lock_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "keeper.lock").mkdir()
    with pytest.raises(KeeperError, match=r"did not start: .*/keeper\.lock: Is a directory"):
        await start_keeper(str(tmp_path))


async def test_a_log_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "keeper.log").mkdir()
    with pytest.raises(KeeperError, match=r"cannot write .*/keeper\.log: Is a directory"):
        await start_keeper(str(tmp_path))


async def test_a_python_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(KeeperError, match=r"could not be started: .*No such file"):
        await start_keeper(str(tmp_path))


async def test_one_that_another_host_has_just_started_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROGRAM", "pass")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "keeper.sock"))
        listener.listen(1)
        await start_keeper(str(tmp_path))


# --- one that does not answer -------------------------------------------------------------------------------------


def test_a_keeper_that_takes_no_connection_holds_nobody_up(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "keeper.sock"))
        listener.listen(0)
        first = dial(str(tmp_path))
        assert first is not None
        with pytest.raises(KeeperError, match=r"does not answer; see .*/keeper\.log$"):
            dial(str(tmp_path))
        first.close()


def test_where_nobody_listens_there_is_none(tmp_path: Path) -> None:
    assert dial(str(tmp_path)) is None
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "keeper.sock"))
    assert dial(str(tmp_path)) is None


def test_what_helps_a_stopped_one(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    log = f"see {tmp_path}/keeper.log"
    assert not is_stopped(holder.pid)
    assert module.what_helps(str(tmp_path)) == f"{log}; its process is {holder.pid}"
    stop(holder)
    assert is_stopped(holder.pid)
    assert module.what_helps(str(tmp_path)) == (
        f"its process {holder.pid} is stopped: `kill -CONT {holder.pid}` lets it go on"
    )
    holder.kill()
    holder.wait()
    assert not is_stopped(holder.pid)
    assert module.what_helps(str(tmp_path)) == log


# --- ending one ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stopped", [False, True], ids=["one that runs", "one that is stopped"])
def test_a_keeper_is_ended(tmp_path: Path, holder: subprocess.Popen[str], stopped: bool) -> None:
    if stopped:
        stop(holder)
    end_keeper(str(tmp_path), 20.0)
    assert holder.wait() == -signal.SIGTERM


def test_one_that_does_not_end_is_killed(tmp_path: Path) -> None:
    with hold(tmp_path, "import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True)") as deaf:
        assert deaf.stdout is not None
        assert deaf.stdout.readline() == "deaf\n"
        end_keeper(str(tmp_path), 0.0)
        assert deaf.wait() == -signal.SIGKILL


def test_nobody_else_is_ended(tmp_path: Path) -> None:
    """A lock that nobody holds names a process that may be anybody by now."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as other:
        (tmp_path / "keeper.lock").write_text(f"{other.pid}\n")
        end_keeper(str(tmp_path), 0.0)
        assert other.stdin is not None
        other.stdin.write(b"\n")
        other.stdin.close()
        assert other.wait() == 0
    end_keeper(str(tmp_path / "none"), 0.0)


def test_a_lock_without_a_number_names_nobody(tmp_path: Path) -> None:
    lock = os.open(tmp_path / "keeper.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert lock_owner(str(tmp_path)) is None
    os.write(lock, b"4242\n")
    assert lock_owner(str(tmp_path)) == 4242
    os.close(lock)
    assert lock_owner(str(tmp_path)) is None
