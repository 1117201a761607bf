"""Reaching, starting and ending the keeper of a folder (door)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

from switchboard.sessions.keeper.folder import lock_owner, make_again

START_SECONDS = 10.0
"""A keeper that is not ready by then is reported as not startable."""

_SOURCE = str(Path(__file__).resolve().parents[2])
# Forked once more, so that the keeper is nobody's child: the host that started it must not have to reap it.
_PROGRAM = (
    "import os, sys; os.fork() and os._exit(0); sys.path.insert(0, sys.argv.pop(1));"
    "from switchboard.sessions.keeper.process import main; sys.exit(main(sys.argv[1]))"
)


class KeeperError(Exception):
    """The keeper cannot be started or reached, or it refused. The text says why and what to do."""


class KeeperGoneError(KeeperError):
    """The keeper went away; another attempt starts a new one."""


def dial(folder: str) -> socket.socket | None:
    """Return a connection to the keeper of `folder`, None when none listens there.

    Raises `KeeperError` for one that takes no connections: to wait for it here would hold up every session.
    """
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    try:
        connection.connect(f"{folder}/keeper.sock")
    except BlockingIOError:
        connection.close()
        raise KeeperError(f"the session keeper does not answer; {what_helps(folder)}") from None
    except OSError:
        connection.close()
        return None
    return connection


def what_helps(folder: str) -> str:
    """Return what a person can do about a keeper that does not answer."""
    pid = lock_owner(folder)
    if pid is not None and is_stopped(pid):
        return f"its process {pid} is stopped: `kill -CONT {pid}` lets it go on"
    return f"see {folder}/keeper.log" + (f"; its process is {pid}" if pid is not None else "")


def is_stopped(pid: int) -> bool:
    """Return whether a process was stopped by a signal, as far as the system says."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, IndexError):
        return False


async def start_keeper(folder: str) -> None:
    """Start a keeper for `folder` and return once it accepts connections. Raises `KeeperError`."""
    try:
        make_again(folder)
        log = os.open(f"{folder}/keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise KeeperError(f"the session keeper cannot write {folder}/keeper.log: {error.strerror}") from error
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    try:
        process = subprocess.Popen(  # noqa: ASYNC220 - a short fork and exec; its readiness is awaited below
            [sys.executable, "-I", "-S", "-c", _PROGRAM, _SOURCE, folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env=environment,
        )
    except OSError as error:
        raise KeeperError(f"the session keeper could not be started: {error}") from error
    finally:
        os.close(log)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            said = (await _read_line(process.stdout.fileno())).strip()
    except TimeoutError:
        process.kill()
        said = b""
    finally:
        process.stdout.close()
        process.wait()
    if said == b"ready":
        return
    if said.startswith(b"failed "):
        reason = said.removeprefix(b"failed ").decode("utf-8", "replace")
        raise KeeperError(f"the session keeper did not start: {reason}")
    # Another host may have started one at the same moment.
    connection = dial(folder)
    if connection is None:
        raise KeeperError(f"the session keeper did not start; see {folder}/keeper.log")
    connection.close()


def end_keeper(folder: str, seconds: float) -> None:
    """End the keeper of a folder, and with it every session that it holds, and wait so long for its end."""
    pid = lock_owner(folder)
    if pid is None:
        return
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(process, signal.SIGTERM)
            signal.pidfd_send_signal(process, signal.SIGCONT)
            if not select.select([process], [], [], seconds)[0]:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)


async def _read_line(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)
    done: asyncio.Future[bytes] = loop.create_future()

    def readable() -> None:
        if not done.done():
            done.set_result(os.read(descriptor, 4096))

    loop.add_reader(descriptor, readable)
    try:
        return await done
    finally:
        loop.remove_reader(descriptor)
