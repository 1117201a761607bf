"""A database on a full disk: the remedy is room, not another database."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from switchboard.store.full_disk import ROOM_BYTES, is_full
from switchboard.store.sqlite import Store, StoreError


def sqlite_error(code: int | None) -> sqlite3.Error:
    error = sqlite3.OperationalError("a fault")
    if code is not None:
        error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "free", "expected"),
    [
        (OSError(errno.ENOSPC, "full"), 1 << 30, True),
        (OSError(errno.EDQUOT, "over quota"), 1 << 30, True),
        (OSError(errno.EACCES, "no"), 0, False),
        (sqlite_error(sqlite3.SQLITE_FULL), 1 << 30, True),
        (sqlite_error(sqlite3.SQLITE_IOERR | 19 << 8), ROOM_BYTES - 1, True),
        (sqlite_error(sqlite3.SQLITE_IOERR), ROOM_BYTES, False),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN), 0, True),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN), 1 << 30, False),
        (sqlite_error(sqlite3.SQLITE_CORRUPT), 0, False),
        (sqlite_error(None), 0, False),
    ],
)
def test_which_errors_mean_a_full_disk(
    error: Exception, free: int, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = list(os.statvfs(tmp_path))
    fields[1], fields[2], fields[4] = 1, 1 << 40, free
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result(fields))
    assert is_full(str(tmp_path / "x.db"), error) is expected


def test_a_disk_that_cannot_be_asked_is_not_full(tmp_path: Path) -> None:
    assert is_full(str(tmp_path / "gone" / "x.db"), sqlite_error(sqlite3.SQLITE_IOERR)) is False


def test_a_full_disk_is_named_and_the_database_not_to_be_moved_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(StoreError) as refused:
        Store(str(tmp_path / "x.db"), 0)
    assert "its disk is full" in str(refused.value)
    assert "make room" in str(refused.value)
    assert "move" not in str(refused.value)
