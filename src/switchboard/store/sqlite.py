"""The host's database (door). Small and synchronous: every statement here takes well under a millisecond."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import asdict, dataclass
from importlib.resources import files

from switchboard.store.full_disk import is_full

KEEP_LAUNCHES_MS = 90 * 24 * 3600 * 1000
"""Ended launches older than this are forgotten."""

BUSY_MS = 250
"""How long a statement waits for another program that writes: the whole host waits with it."""

START_BUSY_MS = 5_000
"""The same at the start, when nothing else waits."""


class StoreError(Exception):
    """The database cannot be used. The text says what to do."""


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One start of a session, as later proof of what became of its process. Times in wall milliseconds."""

    session_id: str
    generation: int
    profile: str
    cwd: str
    launched_at: int
    pid: int | None = None
    start: str | None = None
    boot_id: str | None = None
    pid_namespace: str | None = None


class Store:
    """Names and launches, in `<data directory>/switchboard.db`, readable by its owner alone."""

    def __init__(self, path: str, now: int) -> None:
        """Open or create the database. Raises `StoreError`."""
        self._path = path
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(path, timeout=START_BUSY_MS / 1000, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            self._prepare(now)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, now: int) -> None:
        try:
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            self._connection.executescript(_sql("schema"))
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        self._run("forget_old_launches", before=now - KEEP_LAUNCHES_MS)
        self.names()  # a table of another layout shows now, and not when a page asks
        self._connection.execute(f"pragma busy_timeout = {BUSY_MS}")

    # Each of these raises `StoreError`: a disk can be full, a file can be damaged at any time.

    def names(self) -> dict[str, str]:
        """Return every display name by session id."""
        return dict(self._run("names"))

    def set_name(self, session_id: str, name: str | None) -> None:
        """Set or clear a session's display name."""
        self._run("set_name", session_id=session_id, name=name)

    def record_launch(self, record: LaunchRecord) -> None:
        """Remember a start."""
        self._run("record_launch", **asdict(record))

    def launch_ended(self, generation: int, pid: int, ended_at: int) -> None:
        """The process of that start was reaped. The session may have another id by now."""
        self._run("launch_ended", generation=generation, pid=pid, ended_at=ended_at)

    def close(self) -> None:
        self._connection.close()

    def _run(self, name: str, /, **values: object) -> list[tuple[str, str]]:
        try:
            return self._connection.execute(_sql(name), values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> StoreError:
        if is_full(self._path, error):
            return StoreError(
                f"the database {self._path} cannot be used: its disk is full. "
                "Sessions are not affected; make room there"
            )
        return StoreError(
            f"the database {self._path} cannot be used: {error}. Sessions are not affected; move the file away to "
            "start with a new one (it holds display names only)"
        )


def _sql(name: str) -> str:
    return files("switchboard.store").joinpath("sql", f"{name}.sql").read_text("utf-8")
