"""One host per data directory (door): the directory itself, its lock, and `host.json`."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import tempfile
from dataclasses import asdict, dataclass, replace

from switchboard.common.paths import runtime_folder


class StartError(Exception):
    """The host cannot start. The text names the remedy."""


@dataclass(frozen=True, slots=True)
class HostRecord:
    """What `host.json` says while a host runs. `url` never carries a ticket. `problem`: what is in triggers' way."""

    pid: int
    url: str
    started_at: int
    version: str
    problem: str | None = None


def own_folder(path: str, what: str, private: bool) -> None:
    """Make sure that `path` is a folder of ours that nobody else can write to, or even enter (`private`).

    Created when missing. The mode of an existing folder is never changed: it may be there for something else.
    Raises `StartError`.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.stat(path)
        if found.st_uid != os.geteuid():
            raise StartError(f"{what} {path} belongs to another user; choose one of your own")
        if found.st_mode & (0o077 if private else 0o022):
            mode = "700" if private else "go-w"
            raise StartError(f"{what} {path} is open to other users; run `chmod {mode} {path}`, or choose another one")
        if not os.access(path, os.W_OK | os.X_OK):
            raise StartError(f"{what} {path} is not writable; make it so, or choose another one")
    except (FileExistsError, NotADirectoryError):
        raise StartError(f"{what} {path} is not a folder; move it away or choose another one") from None
    except OSError as error:
        remedy = no_room(error)
        raise StartError(f"{what} {path} cannot be used: {error.strerror}{remedy and f'; {remedy}'}") from error


def runtime_folder_of(data_dir: str) -> str:
    """Return where the sockets of a data directory are."""
    return runtime_folder(data_dir, os.geteuid(), os.path.realpath(tempfile.gettempdir()))


class Instance:
    """Holds the data directory's lock while entered."""

    def __init__(self, data_dir: str) -> None:
        self.data_dir = data_dir
        self.runtime = runtime_folder_of(data_dir)
        self._lock: int | None = None
        self._record: HostRecord | None = None
        self._problem: str | None = None

    def acquire(self) -> None:
        """Take the lock. Raises `StartError`, naming the other host when there is one."""
        own_folder(self.data_dir, "the data directory (SWITCHBOARD_DATA_DIR)", private=False)
        if not self.runtime.startswith(self.data_dir + "/"):
            own_folder(os.path.dirname(self.runtime), "the folder for sockets", private=True)
        own_folder(self.runtime, "the folder for sockets", private=True)
        path = os.path.join(self.data_dir, "host.lock")
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            remedy = no_room(error) or "move it away"
            raise StartError(f"the lock {path} cannot be opened: {error.strerror}; {remedy}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            record = read_record(self.data_dir)
            who = f" (process {record.pid})" if record else ""
            raise StartError(
                f"a host is running already for {self.data_dir}{who}: use it with `switchboard watch`, end it with "
                "`switchboard down`, or start another one with another SWITCHBOARD_DATA_DIR"
            ) from None
        except OSError as error:
            os.close(lock)
            raise StartError(
                f"{self.data_dir} cannot be locked: {error.strerror}; choose a folder on a disk of this machine"
            ) from error
        self._lock = lock

    def publish(self, record: HostRecord) -> None:
        """Write `host.json`, for its owner alone. Raises `StartError`."""
        self._record = record
        self._write(replace(record, problem=self._problem))

    def state(self, problem: str | None) -> None:
        """Have `host.json` say what stands in the way of triggers (None: nothing), if that can be written."""
        self._problem = problem
        if self._record is not None and self._lock is not None:
            with contextlib.suppress(StartError):
                self._write(replace(self._record, problem=problem))

    def _write(self, record: HostRecord) -> None:
        path = os.path.join(self.data_dir, "host.json")
        temporary = f"{path}.tmp"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({name: value for name, value in asdict(record).items() if value is not None}, file)
                file.write("\n")
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise StartError(
                f"{path} cannot be written: {error.strerror}; make room, or move away what is there"
            ) from error

    def release(self) -> None:
        """Remove `host.json` and let the lock go."""
        if self._lock is not None:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.data_dir, "host.json"))
            os.close(self._lock)
            self._lock = None


def living_host(data_dir: str) -> int | None:
    """Return the process id of the host that runs, whether or not it can be reached; None when there is none.

    The lock is asked only where `host.json` names a process that lives: asking takes it for a moment, and a host that
    starts would find it taken.
    """
    record = read_record(data_dir)
    if record is None:
        return None
    try:
        os.kill(record.pid, 0)
        lock = os.open(os.path.join(data_dir, "host.lock"), os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, OverflowError):
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return record.pid
    except OSError:
        return None
    finally:
        os.close(lock)
    return None


def no_room(error: OSError) -> str:
    """Return what to do where a disk has no room; nothing for other errors."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return ""
    return "make room on the disk of the data directory (SWITCHBOARD_DATA_DIR)"


def read_record(data_dir: str) -> HostRecord | None:
    """Return what the running host has published, None when there is none or it cannot be read."""
    try:
        with open(os.path.join(data_dir, "host.json"), encoding="utf-8") as file:
            fields = json.load(file)
        problem = fields.get("problem")
        return HostRecord(
            int(fields["pid"]),
            str(fields["url"]),
            int(fields["started_at"]),
            str(fields["version"]),
            None if problem is None else str(problem),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
