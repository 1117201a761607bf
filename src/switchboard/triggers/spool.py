"""The folder of requests and results (door).

Everything is done at once, on the caller's thread: files are small, and a worker thread could still rename or remove
something after its caller was cancelled. A request is opened without following a link and without waiting (a pipe
would), and judged by the descriptor that is read, not by its name, which may mean another file a moment later. What
cannot be opened is judged by `lstat`. Results are written beside their place and
renamed into it, so that a reader never meets half of one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar

MAX_REQUEST_BYTES = 64 * 1024

T = TypeVar("T")

Identity = tuple[int, int]
"""Device and inode: what is written to a file in place is still that file."""

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Look(NamedTuple):
    """A directory entry as it is now. `modified_ns`: its mtime in nanoseconds. `links`: names of the same file."""

    regular: bool
    size: int
    modified_ns: int
    links: int


class SpoolError(OSError):
    """The folder cannot be used. The message names the remedy."""


class Spool:
    """One folder of requests with its `processed` folder of results."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        self.results = os.path.join(self.folder, "processed")

    def prepare(self) -> None:
        """Make both folders where they are missing. Raises `SpoolError` when they cannot be had or written."""
        for folder in (self.folder, self.results):
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError as error:
                raise SpoolError(
                    f"the triggers folder {folder} cannot be made ({error.strerror}): make it by hand, or set "
                    "SWITCHBOARD_TRIGGERS_DIR to a folder that can be"
                ) from error
            if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                raise SpoolError(
                    f"the triggers folder {folder} cannot be read and written: change its owner or mode, or set "
                    "SWITCHBOARD_TRIGGERS_DIR to another folder"
                )

    def names(self) -> Iterator[str]:
        """The entries of the request folder in directory order; none when the folder is missing. Raises OSError."""
        try:
            entries = os.scandir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        with entries:
            for entry in entries:
                yield entry.name

    def look(self, name: str) -> Look:
        """Inspect a request without following a link. Raises OSError."""
        return _look(os.lstat(f"{self.folder}/{name}"))

    def read(self, name: str, judge: Callable[[Look], T | None]) -> tuple[Look, T | bytes]:
        """Open a request, have what was opened judged, and read it (one byte more than is allowed at most).

        What `judge` returns is returned in place of the content, which is not read then. Raises OSError: also for a
        link, which is never followed.
        """
        descriptor = os.open(f"{self.folder}/{name}", _READ_FLAGS)
        try:
            look = _look(os.fstat(descriptor))
            verdict = judge(look)
            return look, os.read(descriptor, MAX_REQUEST_BYTES + 1) if verdict is None else verdict
        finally:
            os.close(descriptor)

    def publish(self, stem: str, data: bytes) -> None:
        """Put a result in its place, over an older one. Raises OSError, and then no half result is visible."""
        try:
            try:
                self._publish(stem, data)
            except FileNotFoundError:
                # The folder was removed or replaced while we ran.
                os.makedirs(self.results, exist_ok=True)
                self._publish(stem, data)
        except OSError:
            # On a full disk, half a result would stand in the way of whole ones.
            with suppress(OSError):
                os.unlink(f"{self.results}/{stem}.result.json.tmp")
            raise

    def identity(self, name: str) -> Identity | None:
        """Return what tells the file of that name from one that takes its place, None when there is none to be seen."""
        try:
            status = os.lstat(f"{self.folder}/{name}")
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def remove(self, name: str, identity: Identity | None = None) -> bool:
        """Remove a request; one that is gone already is as good. Raises OSError.

        With an `identity`, only that file: False when another one stands there by now, which is left alone.
        """
        try:
            if identity is not None and self.identity(name) not in (identity, None):
                return False
            os.unlink(f"{self.folder}/{name}")
        except FileNotFoundError:
            pass
        return True

    def _publish(self, stem: str, data: bytes) -> None:
        result = f"{self.results}/{stem}.result.json"
        beside = f"{result}.tmp"
        try:
            descriptor = os.open(beside, _WRITE_FLAGS, 0o666)
        except FileExistsError:
            # Left by a killed host, or put there: never write through it.
            os.unlink(beside)
            descriptor = os.open(beside, _WRITE_FLAGS, 0o666)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)
        os.rename(beside, result)


def _look(status: os.stat_result) -> Look:
    return Look(stat.S_ISREG(status.st_mode), status.st_size, status.st_mtime_ns, status.st_nlink)
