"""The database under trouble: what is on disk at once, and files that cannot be used."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from switchboard.store.sqlite import BUSY_MS, KEEP_LAUNCHES_MS, START_BUSY_MS, LaunchRecord, Store, StoreError

NOW = 1_800_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "switchboard.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    made = Store(str(path), NOW)
    yield made
    made.close()


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What somebody else reads in the file."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def launch(session_id: str = "id", generation: int = 1, launched_at: int = NOW, pid: int | None = 10) -> LaunchRecord:
    return LaunchRecord(session_id, generation, "claude", "/srv", launched_at, pid, "start", "boot", "pid:[1]")


LAUNCH_COLUMNS = "session_id, generation, profile, cwd, launched_at, pid, start, boot_id, pid_namespace, ended_at"


# --- names --------------------------------------------------------------------------------------------------------


def test_names_are_kept_changed_and_cleared(path: Path, store: Store) -> None:
    assert store.names() == {}
    store.set_name("one", "a name")
    store.set_name("two", "ü '; drop table session_meta; --")
    assert store.names() == {"one": "a name", "two": "ü '; drop table session_meta; --"}
    store.set_name("one", "another")
    store.set_name("two", None)
    assert store.names() == {"one": "another"}
    later = Store(str(path), NOW)
    assert later.names() == {"one": "another"}
    later.close()


def test_what_was_said_is_on_disk_at_once(path: Path, store: Store) -> None:
    store.set_name("one", "a name")
    assert rows(path, "select session_id, name from session_meta") == [("one", "a name")]


# --- launches -----------------------------------------------------------------------------------------------------


def test_a_start_and_its_end_are_recorded(path: Path, store: Store) -> None:
    store.record_launch(launch("one", 1, pid=10))
    store.record_launch(launch("one", 2, pid=11))
    store.launch_ended(1, 10, NOW + 5)
    assert rows(path, f"select {LAUNCH_COLUMNS} from launch order by generation") == [
        ("one", 1, "claude", "/srv", NOW, 10, "start", "boot", "pid:[1]", NOW + 5),
        ("one", 2, "claude", "/srv", NOW, 11, "start", "boot", "pid:[1]", None),
    ]


@pytest.mark.parametrize(("generation", "pid"), [(1, 99), (2, 10), (9, 9)])
def test_an_end_is_that_of_its_own_start(path: Path, store: Store, generation: int, pid: int) -> None:
    """Whatever id the session has by then: a generation and a process have one start."""
    store.record_launch(launch("one", 1, pid=10))
    store.launch_ended(generation, pid, NOW)
    assert rows(path, "select ended_at from launch") == [(None,)]


def test_what_is_not_known_of_a_process_is_left_open(path: Path, store: Store) -> None:
    store.record_launch(LaunchRecord("one", 1, "claude", "/srv", NOW))
    assert rows(path, "select pid, start, boot_id, pid_namespace, ended_at from launch") == [(None,) * 5]


def test_a_start_that_is_recorded_again_is_one(path: Path, store: Store) -> None:
    store.record_launch(launch(pid=10))
    store.record_launch(launch(pid=11))
    assert rows(path, "select pid from launch") == [(11,)]


def test_ended_starts_are_forgotten_after_three_months(path: Path, store: Store) -> None:
    old = NOW - KEEP_LAUNCHES_MS
    for generation, (at, ended) in enumerate([(old - 1, True), (old, True), (old - 1, False)], 1):
        store.record_launch(launch(generation=generation, launched_at=at, pid=generation))
        if ended:
            store.launch_ended(generation, generation, NOW)
    Store(str(path), NOW).close()
    assert rows(path, "select generation from launch order by generation") == [(2,), (3,)]


# --- other programs ------------------------------------------------------------------------------------------------


def test_another_program_that_writes_holds_up_a_statement_for_a_moment_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.store.sqlite.BUSY_MS", 1)
    store = Store(str(path), NOW)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    begin = time.monotonic()
    with pytest.raises(StoreError, match="locked"):
        store.set_name("one", "a name")
    assert time.monotonic() - begin < START_BUSY_MS / 2000
    assert store.names() == {}
    other.execute("rollback")
    store.set_name("one", "a name")
    assert store.names() == {"one": "a name"}
    other.close()
    store.close()


def test_a_start_waits_longer_for_another_program(path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    connect = sqlite3.connect

    def note(database: str, **options: Any) -> sqlite3.Connection:
        waits.append(options["timeout"])
        return connect(database, **options)

    monkeypatch.setattr(sqlite3, "connect", note)
    later = Store(str(path), NOW)
    assert waits == [START_BUSY_MS / 1000]
    assert BUSY_MS <= 250
    assert later._connection.execute("pragma busy_timeout").fetchall() == [(BUSY_MS,)]
    later.close()


# --- the file -----------------------------------------------------------------------------------------------------


def test_its_files_are_their_owners_alone(path: Path, store: Store) -> None:
    store.set_name("one", "a name")
    found = sorted(path.parent.iterdir())
    assert [file.name for file in found] == ["switchboard.db", "switchboard.db-shm", "switchboard.db-wal"]
    assert {file.stat().st_mode & 0o777 for file in found} == {0o600}


def test_closing_leaves_one_file(path: Path) -> None:
    made = Store(str(path), NOW)
    made.set_name("one", "a name")
    made.close()
    assert [file.name for file in path.parent.iterdir()] == ["switchboard.db"]


def damaged(path: Path) -> None:
    path.write_bytes(b"this is no database, and long enough to be looked at" * 100)


def cut(path: Path) -> None:
    made = Store(str(path), NOW)
    for number in range(2000):
        made.set_name(str(number), "x" * 100)
    made.close()
    path.write_bytes(path.read_bytes()[:8192] + b"\xff" * 60_000)


def a_folder(path: Path) -> None:
    path.mkdir()


def another_layout(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table session_meta (id text, title text)")
    connection.close()


def another_launch_layout(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table launch (id text, at integer)")
    connection.close()


def no_folder(path: Path) -> None:
    path.parent.rmdir()


def a_loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (damaged, "file is not a database"),
        (cut, "malformed|not a database"),
        (a_folder, "Is a directory"),
        (another_layout, "no such column: session_id"),
        (another_launch_layout, "no such column"),
        (no_folder, "No such file or directory"),
        (a_loop, "Too many levels of symbolic links"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_file_that_cannot_be_used_is_said_with_its_remedy(path: Path, spoil: Any, what: str) -> None:
    spoil(path)
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(StoreError, match=what) as refused:
        Store(str(path), NOW)
    text = str(refused.value)
    assert text.startswith(f"the database {path} cannot be used: ")
    assert text.endswith(
        "Sessions are not affected; move the file away to start with a new one (it holds names, settings and the list "
        "of projects)"
    )
    assert set(os.listdir("/proc/self/fd")) == before
    path.parent.mkdir(exist_ok=True)


def test_a_file_that_may_only_be_read_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that was mounted read-only: modes do not keep the superuser from writing."""
    Store(str(path), NOW).close()
    connect = sqlite3.connect

    def read_only(database: str, **options: Any) -> sqlite3.Connection:
        return connect(f"file:{database}?mode=ro", uri=True, **options)

    monkeypatch.setattr(sqlite3, "connect", read_only)
    with pytest.raises(StoreError, match="readonly database"):
        Store(str(path), NOW)


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.names(),
        lambda store: store.set_name("a", "b"),
        lambda store: store.record_launch(launch()),
        lambda store: store.launch_ended(1, 10, NOW),
    ],
    ids=["names", "set_name", "record_launch", "launch_ended"],
)
def test_a_fault_that_comes_later_is_said_in_the_same_way(path: Path, store: Store, act: Any) -> None:
    connection = sqlite3.connect(path)
    connection.execute("drop table session_meta")
    connection.execute("drop table launch")
    connection.close()
    with pytest.raises(StoreError, match="no such table") as refused:
        act(store)
    assert str(refused.value).startswith(f"the database {path} cannot be used: ")
