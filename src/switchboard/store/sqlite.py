"""The host's database (door). Small and synchronous: every statement here takes well under a millisecond.

The host and commands use it at the same time, each through its own connection: the write-ahead log lets readers go on
while one writes, and a writer waits for another one up to `BUSY_MS`.

What cannot be read is an error (`StoreError`), never an empty answer: a caller that asks whether a project is hidden
must not take a broken table for "no".
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from switchboard.store.full_disk import is_full
from switchboard.store.records import HIDDEN_KINDS, HiddenKind, LaunchRecord, ProjectRecord, WorkingSetEntry

VERSION = 2
"""Of the tables. `sql/schema.sql` makes version 1, `sql/schema_<n>.sql` turns version n - 1 into n."""

KEEP_LAUNCHES_MS = 90 * 24 * 3600 * 1000
"""Ended launches older than this are forgotten."""

BUSY_MS = 250
"""How long a statement waits for another program that writes: the whole host waits with it."""

START_BUSY_MS = 5_000
"""The same at the start, when nothing else waits."""

GLOBAL = "global"
"""The scope of settings that hold everywhere."""


class StoreError(Exception):
    """The database cannot be used. The text says what to do."""


def project_scope(path: str) -> str:
    """Return the scope of the settings of one project; `path` normalised."""
    return f"project:{path}"


class Store:
    """Names, launches, settings, projects: in `<data directory>/switchboard.db`, readable by its owner alone."""

    def __init__(self, path: str, now: int) -> None:
        """Open or create the database and bring it up to this version. Raises `StoreError`."""
        self._path = path
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(path, timeout=START_BUSY_MS / 1000, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._error(error) from error
        try:
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            with self._transaction():
                self._migrate()
                self._run("forget_old_launches", before=now - KEEP_LAUNCHES_MS)
            self.names()  # a table of another layout shows now, and not when a page asks
            self._connection.execute(f"pragma busy_timeout = {BUSY_MS}")
        except (sqlite3.Error, StoreError) as error:
            self._connection.close()
            raise error if isinstance(error, StoreError) else self._error(error) from error

    def close(self) -> None:
        self._connection.close()

    # --- sessions ---

    def names(self) -> dict[str, str]:
        """Return every display name by session id."""
        return dict(self._run("names"))

    def set_name(self, session_id: str, name: str | None) -> None:
        """Set or clear a session's display name."""
        self._run("set_name", session_id=session_id, name=name)

    def knows_session(self, session_id: str) -> bool:
        """Tell whether the session was ever named, launched or left open here."""
        return bool(self._run("knows_session", session_id=session_id.lower())[0][0])

    def record_launch(self, record: LaunchRecord) -> None:
        """Remember a start."""
        self._run("record_launch", **asdict(record))

    def launch_ended(self, generation: int, pid: int, ended_at: int) -> None:
        """The process of that start was reaped. The session may have another id by now."""
        self._run("launch_ended", generation=generation, pid=pid, ended_at=ended_at)

    def process_ended(self, pid: int, start: str, boot_id: str, ended_at: int) -> None:
        """The process that was launched as `pid`, `start` in that boot was reaped."""
        self._run("process_ended", pid=pid, start=start, boot_id=boot_id, ended_at=ended_at)

    def launch_writer(self, pid: int, start: str, boot_id: str, writer: tuple[int, str]) -> None:
        """The conversation of that launch is owned by the process `writer` (number, start): a shell stands between."""
        values = {"writer_pid": writer[0], "writer_start": writer[1]}
        self._run("launch_writer", pid=pid, start=start, boot_id=boot_id, **values)

    def launches_of_process(self, pid: int, start: str) -> list[LaunchRecord]:
        """Return the starts whose process had that number and start identity, in whatever boot and namespace.

        A process that owned the conversation behind a shell is returned as if it had been launched; its exit is not
        the one that was seen, so `ended_at` is None then.
        """
        return [LaunchRecord(*row) for row in self._run("launches_of_process", pid=pid, start=start)]

    def working_set(self) -> list[WorkingSetEntry]:
        """Return the sessions that were open, in the order of the page."""
        rows = self._run("working_set")
        return [WorkingSetEntry(session, profile, project, bool(active)) for session, profile, project, active in rows]

    def save_working_set(self, entries: Sequence[WorkingSetEntry]) -> None:
        """Replace it as a whole."""
        with self._transaction():
            self._run("clear_working_set")
            for position, entry in enumerate(entries):
                self._run("add_to_working_set", position=position, **asdict(entry))

    def remote_hosts(self, session_id: str) -> list[str]:
        """Return the other machines that list this session. None does as yet: nothing connects to another machine."""
        return [host for (host,) in self._run("remote_hosts", session_id=session_id.lower())]

    def add_remote_session(self, session_id: str, host: str) -> None:
        """Note that another machine lists this session."""
        self._run("add_remote_session", session_id=session_id.lower(), host=host)

    # --- settings ---

    def settings(self, *scopes: str) -> list[dict[str, Any]]:
        """Return the settings of each scope as they are stored, all of one moment; empty where there are none."""
        with self._transaction("deferred"):
            return [self._settings(scope) for scope in scopes]

    def change_settings(self, scope: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        """Replace the settings of a scope by what `change` makes of them. Nothing is lost to another writer."""
        with self._transaction():
            self._run("set_setting", scope=scope, value=json.dumps(change(self._settings(scope))))

    def clear_settings(self, scope: str) -> None:
        """Remove all settings of a scope, damaged ones too."""
        self._run("set_setting", scope=scope, value="{}")

    def _settings(self, scope: str) -> dict[str, Any]:
        rows = self._run("setting", scope=scope)
        if not rows:
            return {}
        try:
            value = json.loads(rows[0][0])
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise StoreError(
                f"the settings of {scope} in {self._path} are damaged (no JSON object); "
                "`switchboard config unset --all` removes them"
            )
        return value

    # --- projects ---

    def projects(self) -> list[ProjectRecord]:
        """Return what is recorded of the projects of this machine, in order of their paths, all of one moment."""
        found = []
        for path, added_at, hidden_at, kind, archived_at in self._run("projects"):
            if kind is not None and kind not in HIDDEN_KINDS:
                raise StoreError(
                    f"{self._path} says that {path} is hidden as {kind!r}, which means nothing here; "
                    "hide it again with `switchboard project hide`, or add it"
                )
            found.append(ProjectRecord(path, added_at, hidden_at, kind, archived_at))
        return found

    def add_project(self, path: str, at: int) -> None:
        """Have a project on the list, hidden no longer."""
        self._run("add_project", path=path, at=at)

    def hide_project(self, path: str, at: int, kind: HiddenKind | None) -> None:
        """Take a project off every list; nothing of it is touched on disk."""
        self._run("hide_project", path=path, at=at, kind=kind)

    def archive_project(self, path: str, at: int | None) -> None:
        """Put a project's sessions away, or (None) back."""
        self._run("archive_project", path=path, at=at)

    # --- the connection ---

    def _run(self, name: str, /, **values: object) -> list[Any]:
        try:
            return self._connection.execute(_sql(name), values).fetchall()
        except sqlite3.Error as error:
            raise self._error(error) from error

    @contextmanager
    def _transaction(self, kind: str = "immediate") -> Iterator[None]:
        """All or nothing. `immediate` takes the right to write at once, so that what is read stays true."""
        try:
            self._connection.execute(f"begin {kind}")
        except sqlite3.Error as error:
            raise self._error(error) from error
        try:
            yield
            self._connection.execute("commit")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            if isinstance(error, sqlite3.Error):
                raise self._error(error) from error
            raise

    def _migrate(self) -> None:
        """Inside the transaction, so that two processes that open an old database do it once."""
        (version,) = self._connection.execute("pragma user_version").fetchone()
        if version > VERSION:
            raise StoreError(
                f"the database {self._path} was made by a newer Switchboard (version {version} of its tables, "
                f"{VERSION} is known here): use that one, or another data directory (SWITCHBOARD_DATA_DIR)"
            )
        for number in range(version + 1, VERSION + 1):
            for statement in _statements("schema" if number == 1 else f"schema_{number}"):
                self._connection.execute(statement)
        self._connection.execute(f"pragma user_version = {VERSION}")

    def _error(self, error: Exception) -> StoreError:
        if is_full(self._path, error):
            return StoreError(
                f"the database {self._path} cannot be used: its disk is full. "
                "Sessions are not affected; make room there"
            )
        return StoreError(
            f"the database {self._path} cannot be used: {error}. Sessions are not affected; move the file away to "
            "start with a new one (it holds names, settings and the list of projects)"
        )


@cache
def _sql(name: str) -> str:
    return files("switchboard.store").joinpath("sql", f"{name}.sql").read_text("utf-8")


def _statements(name: str) -> Iterator[str]:
    """Split a file into its statements: the function that runs several of them ends the transaction first."""
    statement = ""
    for line in _sql(name).splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


__all__ = ["GLOBAL", "LaunchRecord", "Store", "StoreError", "project_scope"]
