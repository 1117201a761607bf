"""The folder of requests and results (door).

Everything is done at once, on the caller's thread: files are small, and a worker thread could still rename or remove
something after its caller was cancelled. A request is opened without following a link and without waiting (a pipe
would), and judged by the descriptor that is read, not by its name, which may mean another file a moment later. What
cannot be opened is judged by `lstat`. Results and markers are written beside their place and then put into it, so that
a reader never meets half of one. A rename replaces what is there, and a marker changes places with the one before;
where nothing may be replaced, a second name is linked instead, which fails when the name is taken.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar, cast

MAX_REQUEST_BYTES = 64 * 1024
MAX_RESULT_BYTES = 1024 * 1024
"""More than any result can be: it echoes a request at most."""
MAX_MARKER_BYTES = 8 * 1024
"""More than any marker can be, and little enough to be parsed in no time whatever it is."""
RESULT_SUFFIX = ".result.json"
MARKER_SUFFIX = ".action.json"
BESIDE_SUFFIX = ".tmp"

T = TypeVar("T")

Identity = tuple[int, int]
"""Device and inode: what is written to a file in place is still that file."""

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NO_FILE = frozenset({errno.ELOOP, errno.ENXIO})
"""What opening says of a link and of a socket."""
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What linking says where the file system has no links."""
_AT_FDCWD, _RENAME_NOREPLACE, _RENAME_EXCHANGE = -100, 1, 2  # linux/fcntl.h, linux/fs.h
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

    def has(self, name: str) -> bool:
        """Whether anything stands under that name in the request folder, as far as that can be seen."""
        return os.path.lexists(f"{self.folder}/{name}")

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

    # --- versioned requests: nothing is ever replaced, and an action that was begun has a marker ---------------------

    def publish_new(self, stem: str, data: bytes) -> None:
        """Put a result in its place. Raises FileExistsError when something is there, else OSError; then nothing is."""
        self._retry_in_new_folder(self._link_new, f"{stem}{RESULT_SUFFIX}", data)

    def create_marker(self, stem: str, data: bytes) -> None:
        """Put a marker in its place. Raises FileExistsError when there is one, else OSError; then there is none."""
        self._retry_in_new_folder(self._link_new, f"{stem}{MARKER_SUFFIX}", data)

    def update_marker(self, stem: str, data: bytes) -> None:
        """Replace a marker. Raises OSError, and then the one before still stands."""
        place = f"{self.results}/{stem}{MARKER_SUFFIX}"
        beside = self._write_beside(place, data)
        if _exchange(beside, place):
            with suppress(OSError):
                os.unlink(beside)  # what cannot be removed goes with the leftovers
        else:
            os.rename(beside, place)

    def remove_marker(self, stem: str) -> None:
        """Remove a marker; one that is gone already is as good. Raises OSError."""
        self._remove_published(f"{stem}{MARKER_SUFFIX}")

    def remove_leftovers(self, stem: str) -> None:
        """Remove what a killed host may have left beside a request's result and marker. Raises OSError."""
        self._remove_published(f"{stem}{RESULT_SUFFIX}{BESIDE_SUFFIX}")
        self._remove_published(f"{stem}{MARKER_SUFFIX}{BESIDE_SUFFIX}")

    def read_result(self, stem: str) -> bytes | None:
        """What stands in the place of a result; None: nothing, empty: no regular file. Raises OSError."""
        return self._read_published(f"{stem}{RESULT_SUFFIX}", MAX_RESULT_BYTES)

    def read_marker(self, stem: str) -> bytes | None:
        """What stands in the place of a marker; None: nothing, empty: no regular file. Raises OSError."""
        return self._read_published(f"{stem}{MARKER_SUFFIX}", MAX_MARKER_BYTES)

    def has_marker(self, stem: str) -> bool:
        """Whether anything stands in the place of a marker, as far as that can be seen."""
        return os.path.lexists(f"{self.results}/{stem}{MARKER_SUFFIX}")

    def marker_stems(self) -> Iterator[str]:
        """The names that have a marker, in directory order. Raises OSError; a missing folder has none."""
        try:
            entries = os.scandir(self.results)
        except FileNotFoundError:
            return
        with entries:
            for entry in entries:
                if entry.name.endswith(MARKER_SUFFIX):
                    yield entry.name[: -len(MARKER_SUFFIX)]

    def _read_published(self, name: str, limit: int) -> bytes | None:
        try:
            descriptor = os.open(f"{self.results}/{name}", _READ_FLAGS)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in _NO_FILE:
                return b""
            raise
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b""
            return os.read(descriptor, limit)
        finally:
            os.close(descriptor)

    def _remove_published(self, name: str) -> None:
        try:
            os.unlink(f"{self.results}/{name}")
        except FileNotFoundError:
            return

    def _retry_in_new_folder(self, put: Callable[[str, bytes], None], name: str, data: bytes) -> None:
        try:
            put(name, data)
        except FileNotFoundError:
            os.makedirs(self.results, exist_ok=True)
            put(name, data)

    def _link_new(self, name: str, data: bytes) -> None:
        place = f"{self.results}/{name}"
        beside = self._write_beside(place, data)
        try:
            os.link(beside, place, follow_symlinks=False)
        except OSError as error:
            if error.errno in _NO_LINKS and _rename_to_new(beside, place):
                return
            with suppress(OSError):
                os.unlink(beside)
            raise
        with suppress(OSError):
            # What cannot be removed is a second name of what was published, and is removed with the leftovers.
            os.unlink(beside)

    def _rename_over(self, name: str, data: bytes) -> None:
        place = f"{self.results}/{name}"
        os.rename(self._write_beside(place, data), place)

    def _publish(self, stem: str, data: bytes) -> None:
        self._rename_over(f"{stem}{RESULT_SUFFIX}", data)

    def _write_beside(self, place: str, data: bytes) -> str:
        """Write a file next to where it will stand; return its path. Raises OSError, and then there is none."""
        beside = f"{place}{BESIDE_SUFFIX}"
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
        except OSError:
            # On a full disk, half a file would stand in the way of whole ones.
            with suppress(OSError):
                os.unlink(beside)
            raise
        finally:
            os.close(descriptor)
        return beside


def _look(status: os.stat_result) -> Look:
    return Look(stat.S_ISREG(status.st_mode), status.st_size, status.st_mtime_ns, status.st_nlink)


def _exchange(beside: str, place: str) -> bool:
    """Let two files change places in one step; False where that cannot be done, or no regular file is in place.

    As safe as a rename over the other one. But that is answered by ext4 with a write to the disk, for the sake of what
    is to survive a loss of power, and from then on each removal with another one: milliseconds in which a host stands
    still. A marker is not for that.
    """
    try:
        return stat.S_ISREG(os.lstat(place).st_mode) and _renameat2(beside, place, _RENAME_EXCHANGE) is None
    except OSError:
        return False


def _rename_to_new(source: str, place: str) -> bool:
    """Rename where nothing may be replaced, on a file system without hard links; False where that is unknown too.

    Raises FileExistsError.
    """
    failure = _renameat2(source, place, _RENAME_NOREPLACE)
    if failure == errno.EEXIST:
        os.unlink(source)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place)
    return failure is None


def _renameat2(source: str, place: str, flag: int) -> int | None:
    """Rename in a way that Python has no name for: None, or the system's number for what is wrong."""
    rename = _system_renameat2()
    if rename is None:
        return errno.ENOSYS
    import ctypes

    failed = rename(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(place), flag)
    return ctypes.get_errno() if failed else None


@functools.cache
def _system_renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    import ctypes

    try:
        return cast("Callable[[int, bytes, int, bytes, int], int]", ctypes.CDLL(None, use_errno=True).renameat2)
    except AttributeError:
        return None
