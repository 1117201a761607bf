"""Reads descriptor files (door): a folder's names, one file's bytes, and one complete pass over a folder."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass
from itertools import islice

from switchboard.clis.descriptors import (
    Descriptor,
    DescriptorUnreadable,
    claimed_sessions,
    is_descriptor_name,
    parse_descriptor,
    pid_of_name,
)

MAX_BYTES = 65_536
"""A descriptor is about 500 bytes; a larger file is none."""

MAX_FILES = 1_000
"""One pass looks at no more files."""

MAX_NAMES = 20_000
"""A listing of names stops there: killed CLIs leave their files, but not so many."""

_TORN_READS = 3
"""An in-place rewrite takes microseconds: a torn file is read again at once, so often at most."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class DescriptorScan:
    """Everything that one pass over a folder found, nothing filtered out.

    `found`: file name and descriptor in order of the number. `unreadable`: why the pass cannot count as complete
    (`cannot read <path>`), None when it can. A folder that does not exist is complete and empty.
    """

    found: tuple[tuple[str, Descriptor], ...]
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class RawFile:
    """One file as it lies in the folder, nothing filtered out.

    `descriptor`: None when it describes no process; `claims`: the ids of sessions that it names all the same.
    `torn`: it is no JSON, so a write may be under way; it was last written at `modified_at` (wall milliseconds).
    `problem`: why it cannot be read, None when it can.
    """

    path: str
    descriptor: Descriptor | None = None
    claims: frozenset[str] = frozenset()
    torn: bool = False
    modified_at: int = 0
    problem: str | None = None

    def concerns(self, session_id: str) -> bool:
        """Tell whether it names that session (an id in lower case)."""
        return session_id in (self.claims if self.descriptor is None else self.descriptor.keys)


def read_raw(folder: str, name: str) -> RawFile | None:
    """Return what that file holds at this moment, None when there is no such file. Never raises."""
    path = f"{folder}/{name}"
    try:
        data, modified = _contents(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return RawFile(path, problem=error.strerror or str(error))
    modified_at = modified // 1_000_000
    try:
        descriptor = parse_descriptor(data)
    except DescriptorUnreadable:
        return RawFile(path, torn=True, modified_at=modified_at)
    claims = claimed_sessions(data) if descriptor is None else frozenset[str]()
    return RawFile(path, descriptor, claims, modified_at=modified_at)


def descriptor_names(folder: str) -> list[str]:
    """Return the names of the folder's descriptors in order of their number, at most `MAX_NAMES`. Raises OSError."""
    with os.scandir(folder) as entries:
        names = list(islice((entry.name for entry in entries if is_descriptor_name(entry.name)), MAX_NAMES))
    return sorted(names, key=lambda name: (pid_of_name(name), name))


def few_names(folder: str, limit: int) -> list[str] | None:
    """Return the names of all that lies in a folder, None when that is more than `limit`. Raises OSError.

    For folders that others can fill as they like.
    """
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, limit + 1)]
    return names if len(names) <= limit else None


def read_descriptor(folder: str, name: str) -> Descriptor | None:
    """Return the descriptor in that file, as it is at this moment; None when the file describes no session.

    Raises `FileNotFoundError` when there is none, `DescriptorUnreadable` when it is half-written, other `OSError` when
    it is no regular file, too large or not permitted.
    """
    data, _ = _contents(f"{folder}/{name}")
    return parse_descriptor(data)


def _contents(path: str) -> tuple[bytes, int]:
    """Return a file's bytes and when it was last written before they had been read, in nanoseconds."""
    file = os.open(path, _FLAGS)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        data = os.read(file, MAX_BYTES + 1)
        modified = os.fstat(file).st_mtime_ns
    finally:
        os.close(file)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, "too large for a descriptor", path)
    return data, modified


def scan_descriptors(folder: str) -> DescriptorScan:
    """Read every descriptor of the folder now."""
    try:
        names = descriptor_names(folder)
    except FileNotFoundError:
        return DescriptorScan(())
    except OSError:
        return DescriptorScan((), f"cannot read {folder}")
    unreadable = None if len(names) <= MAX_FILES else f"cannot read {folder}"
    found: list[tuple[str, Descriptor]] = []
    for name in names[:MAX_FILES]:
        try:
            descriptor = _read_settled(folder, name)
        except FileNotFoundError:
            continue
        except (OSError, DescriptorUnreadable):
            unreadable = unreadable or f"cannot read {folder}/{name}"
            continue
        if descriptor is not None:
            found.append((name, descriptor))
    return DescriptorScan(tuple(found), unreadable)


def _read_settled(folder: str, name: str) -> Descriptor | None:
    for _ in range(_TORN_READS - 1):
        with contextlib.suppress(DescriptorUnreadable):
            return read_descriptor(folder, name)
    return read_descriptor(folder, name)
