"""Starting a child on a new terminal (door of the keeper, which has one thread and may fork)."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import signal
import struct
import termios
import time

from switchboard.sessions.keeper.ring import Ring, memory_size


class SpawnError(Exception):
    """The child was not started. The text says which step failed and why."""


def set_size(terminal: int, columns: int, rows: int) -> None:
    """Set a terminal's size in character cells."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def make_memory(capacity: int, folder: str) -> int:
    """Return the descriptor of fresh shared memory for a ring. Where there is no memfd, an unlinked private file."""
    if hasattr(os, "memfd_create"):
        memory = os.memfd_create("switchboard-ring", os.MFD_CLOEXEC)
    else:
        path = os.path.join(folder, f"ring-{os.getpid()}-{os.urandom(8).hex()}")
        memory = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.unlink(path)
    os.ftruncate(memory, memory_size(capacity))
    return memory


def make_ring(capacity: int, folder: str, label: bytes) -> int:
    """Return the descriptor of the memory of a new ring with its first label. Raises `ValueError` or `OSError`."""
    memory = make_memory(capacity, folder)
    try:
        with mmap.mmap(memory, 0) as mapping:
            ring = Ring(mapping, capacity)
            try:
                ring.store_label(label)
            finally:
                ring.release()  # else the memory could not be unmapped
    except BaseException:
        os.close(memory)
        raise
    return memory


def spawn(
    argv: list[str], cwd: str, env: dict[str, str], columns: int, rows: int, deadline: int | None = None
) -> tuple[int, int]:
    """Fork and execute `argv` on a new terminal; return (process id, master descriptor).

    The child leads its own session with the terminal as controlling terminal, works in `cwd`, has exactly `env`, and
    default signal dispositions (Python ignores SIGPIPE, and its children would inherit that). Raises `SpawnError` when
    a step fails, the execution included, and at `deadline` (wall milliseconds) or later; nothing is left behind then.
    """
    master, slave = os.openpty()
    report_read, report_write = os.pipe()
    try:
        os.set_blocking(master, False)
        set_size(slave, columns, rows)
        _in_time(deadline)  # nothing comes between it and the fork
        pid = os.fork()
        if pid == 0:
            _become(argv, cwd, env, slave, report_write)
    except BaseException:
        os.close(master)
        os.close(report_read)
        raise
    finally:
        os.close(slave)
        os.close(report_write)
    with open(report_read, "rb") as report:
        failure = report.read()
    if failure:
        os.waitpid(pid, 0)
        os.close(master)
        raise SpawnError(failure.decode("utf-8", "replace"))
    return pid, master


def _in_time(deadline: int | None) -> None:
    """Raise `SpawnError` once the deadline has come: we may have been stopped since we were asked."""
    if deadline is not None and time.time_ns() // 1_000_000 >= deadline:
        raise SpawnError("too late: the session keeper came to it only after its time had passed")


def _become(argv: list[str], cwd: str, env: dict[str, str], slave: int, report: int) -> None:
    """Turn the forked child into the program. Never returns."""
    step = "start"
    try:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for target in (0, 1, 2):
            os.dup2(slave, target)
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        step = f"enter the directory {cwd}"
        os.chdir(cwd)
        step = f"run {argv[0]}"
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        text = os.strerror(error.errno) if error.errno else str(error)
        if step.startswith("run") and error.errno == errno.ENOENT:
            text = "no such program"
        os.write(report, f"could not {step}: {text}".encode("utf-8", "replace"))
    except BaseException as error:  # noqa: BLE001 - the report is the only way out of a forked child
        os.write(report, f"could not {step}: {error}".encode("utf-8", "replace"))
    finally:
        os._exit(127)


def start_identity(pid: int) -> str:
    """Return field 22 of the process's stat file, or an empty text where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[19].decode("ascii")
    except (OSError, IndexError, UnicodeDecodeError):
        return ""
