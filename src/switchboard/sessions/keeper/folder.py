"""The folder in which a keeper lives (door): its lock, and that a folder made for sockets alone goes with it.

The sockets of a data directory that lies deep are in a short folder among the system's temporary files. The keeper is
the last to leave it, so the keeper removes it; the next one may be on its way in at that very moment.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import signal
import socket

LOCK_SECONDS = 3

_SHORT_NAME = re.compile(r"[0-9a-f]{16}")


def is_short(folder: str) -> bool:
    """Return whether it is a folder as `common.paths.runtime_folder` names those that hold sockets and no more.

    Told by its name: that module computes names from hashes, and what it needs for that is not worth the memory here.
    """
    parent, name = os.path.split(folder)
    return os.path.basename(parent) == f"switchboard-{os.geteuid()}" and bool(_SHORT_NAME.fullmatch(name))


def make_again(folder: str) -> None:
    """Make a short folder that the keeper before us has just removed; leave others alone. Raises `OSError`."""
    if not is_short(folder):
        return
    for path in (os.path.dirname(folder), folder):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        found = os.lstat(path)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise OSError(errno.EPERM, "it is open to other users", path)


def take_lock(folder: str) -> int:
    """Return the descriptor of the folder's lock once it is ours. Raises `OSError`.

    A keeper that was just killed still holds it for a moment. One that lives never lets it go, and then the alarm ends
    us: whoever started us finds that one instead.
    """
    path = os.path.join(folder, "keeper.lock")
    signal.alarm(LOCK_SECONDS)
    while True:
        make_again(folder)
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            if is_short(folder):
                continue  # removed between the two calls
            raise
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is(lock, path):
            break
        os.close(lock)  # its keeper has removed it at its end: what we hold locks nobody out
    signal.alarm(0)
    with contextlib.suppress(OSError):  # on a full disk; nobody depends on it
        os.ftruncate(lock, 0)
        os.write(lock, b"%d\n" % os.getpid())
    return lock


def listen(folder: str) -> socket.socket:
    """Return the socket on which hosts are awaited. Raises `OSError`."""
    path = os.path.join(folder, "keeper.sock")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    previous = os.umask(0o177)
    try:
        listener.bind(path)
        listener.listen(8)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(previous)
    return listener


def clear(folder: str) -> None:
    """Remove the socket, and a short folder unless there is something to read in it.

    For who holds its lock, at the very end.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "keeper.sock"))
    if not is_short(folder):
        return
    with contextlib.suppress(OSError):
        log = os.path.join(folder, "keeper.log")
        if os.path.exists(log):
            if os.path.getsize(log):
                return
            os.unlink(log)
        os.unlink(os.path.join(folder, "keeper.lock"))
        os.rmdir(folder)
        os.rmdir(os.path.dirname(folder))


def lock_owner(folder: str) -> int | None:
    """Return the process id of the keeper that lives in the folder, None when there is none or it has not said."""
    try:
        lock = os.open(os.path.join(folder, "keeper.lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(lock, 32).strip()
        return int(text) if text.isdigit() else None
    except OSError:
        return None
    finally:
        os.close(lock)
    return None


def _is(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False
