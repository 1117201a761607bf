"""Telling a full disk from other faults of a database (door)."""

from __future__ import annotations

import errno
import os
import sqlite3

ROOM_BYTES = 64 * 1024
"""A disk with less counts as full: the log beside the database, with its index, takes about that."""


def is_full(path: str, error: Exception) -> bool:
    """Whether an error of the database at `path` comes from a full disk.

    SQLite has several words for that. Where they can mean something else as well, the disk is asked.
    """
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None or code & 0xFF not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return code == sqlite3.SQLITE_FULL
    try:
        found = os.statvfs(os.path.dirname(path))
    except OSError:
        return False
    return found.f_blocks > 0 and found.f_bavail * found.f_frsize < ROOM_BYTES
