"""The database: what is kept, how an old one is brought up to date, and that trouble is never an empty answer."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from switchboard.store.records import LaunchRecord, ProjectRecord, WorkingSetEntry
from switchboard.store.sqlite import GLOBAL, KEEP_LAUNCHES_MS, VERSION, Store, StoreError, project_scope

NOW = 1_800_000_000_000
ID = "0d6f3a52-0000-4000-8000-00000000000a"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "switchboard.db")


def launch(**fields: object) -> LaunchRecord:
    given: dict[str, object] = {"session_id": ID, "generation": 1, "profile": "claude", "cwd": "/p", "launched_at": NOW}
    return LaunchRecord(**(given | fields))  # type: ignore[arg-type] # the fields of one test


def raw(path: str, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


# --- opening and versions -------------------------------------------------------------------------------------------


def test_a_new_database_is_private_and_of_this_version(path: str) -> None:
    Store(path, NOW).close()
    assert os.stat(path).st_mode & 0o777 == 0o600
    connection = sqlite3.connect(path)
    assert connection.execute("pragma user_version").fetchone() == (VERSION,)
    assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    connection.close()


def test_version_1_is_brought_up_to_date_and_keeps_what_it_has(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(files("switchboard.store").joinpath("sql", "schema.sql").read_text("utf-8"))
    connection.execute("insert into session_meta values (?, 'kept')", (ID,))
    connection.execute(
        "insert into launch (session_id, generation, profile, cwd, launched_at, pid, start, boot_id) "
        "values (?, 7, 'claude', '/p', ?, 12, '99', 'b')",
        (ID, NOW),
    )
    connection.commit()
    connection.close()
    for _ in range(2):
        store = Store(path, NOW)
        assert store.names() == {ID: "kept"}
        [record] = store.launches_of_process(12, "99")
        assert (record.generation, record.boot_id, record.init_start, record.ended_at) == (7, "b", None, None)
        store.close()


def test_a_database_of_a_later_version_is_refused_untouched(path: str) -> None:
    Store(path, NOW).close()
    raw(path, f"pragma user_version = {VERSION + 1}")
    with pytest.raises(StoreError, match="made by a newer Switchboard"):
        Store(path, NOW)
    connection = sqlite3.connect(path)
    assert connection.execute("pragma user_version").fetchone() == (VERSION + 1,)
    connection.close()


def test_a_migration_that_fails_leaves_the_database_as_it_was(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(files("switchboard.store").joinpath("sql", "schema.sql").read_text("utf-8"))
    connection.execute("create table remote_session (in_the_way text)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="cannot be used"):
        Store(path, NOW)
    connection = sqlite3.connect(path)
    tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    connection.close()
    assert "setting" not in tables


def test_several_processes_may_open_an_old_database_at_once(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(files("switchboard.store").joinpath("sql", "schema.sql").read_text("utf-8"))
    connection.close()
    code = f"from switchboard.store.sqlite import Store; Store({path!r}, {NOW}).close()"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(6)]
    assert [process.wait(60) for process in running] == [0] * 6


@pytest.mark.parametrize(
    "content", [b"no database, and long enough to be read as one" * 100, b"SQLite format 3\0" + b"x" * 500]
)
def test_a_file_that_is_none_is_an_error_that_says_what_to_do(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)
    with pytest.raises(StoreError, match="move the file away"):
        Store(path, NOW)


def test_a_folder_in_its_place_is_an_error(path: str) -> None:
    os.mkdir(path)
    with pytest.raises(StoreError, match="cannot be used"):
        Store(path, NOW)


# --- launches -------------------------------------------------------------------------------------------------------


def test_a_launch_is_found_by_its_process_and_its_end_is_noted(path: str) -> None:
    store = Store(path, NOW)
    record = launch(pid=12, start="99", boot_id="b", pid_namespace="pid:[1]", init_start="5")
    store.record_launch(record)
    assert store.launches_of_process(12, "99") == [record]
    assert store.launches_of_process(12, "98") == []
    assert store.launches_of_process(13, "99") == []
    store.process_ended(12, "99", "another boot", NOW + 5)
    assert store.launches_of_process(12, "99")[0].ended_at is None
    store.process_ended(12, "99", "b", NOW + 5)
    store.process_ended(12, "99", "b", NOW + 9)
    assert store.launches_of_process(12, "99")[0].ended_at == NOW + 5
    store.close()


def test_a_writer_behind_a_shell_is_found_and_the_end_of_the_shell_is_not_its_own(path: str) -> None:
    store = Store(path, NOW)
    store.record_launch(launch(pid=12, start="99", boot_id="b", pid_namespace="pid:[1]"))
    store.launch_writer(12, "99", "b", (20, "150"))
    store.process_ended(12, "99", "b", NOW + 5)
    [shell] = store.launches_of_process(12, "99")
    [writer] = store.launches_of_process(20, "150")
    assert (shell.ended_at, writer.ended_at) == (NOW + 5, None)
    assert (writer.pid, writer.start, writer.boot_id, writer.pid_namespace) == (20, "150", "b", "pid:[1]")
    store.close()


def test_a_launch_without_a_shell_is_found_once(path: str) -> None:
    store = Store(path, NOW)
    store.record_launch(launch(pid=12, start="99", boot_id="b"))
    store.launch_writer(12, "99", "b", (12, "99"))
    assert len(store.launches_of_process(12, "99")) == 1
    store.close()


def test_old_ended_launches_are_forgotten_and_others_are_not(path: str) -> None:
    store = Store(path, NOW)
    store.record_launch(launch(generation=1, pid=1, start="1", ended_at=NOW))
    store.record_launch(launch(generation=2, pid=2, start="2"))
    store.close()
    store = Store(path, NOW + KEEP_LAUNCHES_MS + 1)
    assert store.launches_of_process(1, "1") == []
    assert len(store.launches_of_process(2, "2")) == 1
    store.close()


@pytest.mark.parametrize(
    ("do", "known"),
    [
        (lambda store: None, False),
        (lambda store: store.set_name(ID, "x"), True),
        (lambda store: store.record_launch(launch()), True),
        (lambda store: store.save_working_set([WorkingSetEntry(ID, "claude", "/p")]), True),
    ],
    ids=["nothing", "named", "launched", "left open"],
)
def test_which_sessions_are_known(path: str, do: object, known: bool) -> None:
    store = Store(path, NOW)
    do(store)  # type: ignore[operator] # one of the lambdas above
    assert store.knows_session(ID.upper()) is known
    store.close()


# --- the rest -------------------------------------------------------------------------------------------------------


def test_the_working_set_is_replaced_as_a_whole_and_keeps_its_order(path: str) -> None:
    store = Store(path, NOW)
    entries = [WorkingSetEntry("b", "claude", "/p"), WorkingSetEntry("a", "agent", "/q", active=True)]
    store.save_working_set([WorkingSetEntry("z", "claude", "/p")])
    store.save_working_set(entries)
    assert store.working_set() == entries
    with pytest.raises(StoreError):
        store.save_working_set([WorkingSetEntry("a", "claude", "/p"), WorkingSetEntry("a", "claude", "/p")])
    assert store.working_set() == entries
    store.close()


def test_remote_sessions_are_found_in_either_case(path: str) -> None:
    store = Store(path, NOW)
    assert store.remote_hosts(ID) == []
    store.add_remote_session(ID.upper(), "far")
    store.add_remote_session(ID, "away")
    assert store.remote_hosts(ID) == ["away", "far"]
    store.close()


def test_projects_are_marked(path: str) -> None:
    store = Store(path, NOW)
    store.add_project("/a", NOW)
    store.add_project("/a", NOW + 1)
    store.archive_project("/b", NOW)
    store.hide_project("/c", NOW, "delete")
    store.hide_project("/d", NOW, None)
    store.hide_project("/e", NOW, "archive")
    store.add_project("/e", NOW + 3)
    store.archive_project("/b", None)
    assert store.projects() == [
        ProjectRecord("/a", added_at=NOW),
        ProjectRecord("/b"),
        ProjectRecord("/c", hidden_at=NOW, hidden_kind="delete"),
        ProjectRecord("/d", hidden_at=NOW),
        ProjectRecord("/e", added_at=NOW + 3),
    ]
    store.close()


def test_a_project_of_another_machine_is_not_one_of_this(path: str) -> None:
    Store(path, NOW).close()
    raw(path, f"insert into project (host, path, hidden_at) values ('far', '/a', {NOW})")
    store = Store(path, NOW)
    assert store.projects() == []
    store.close()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param("insert into project (path, hidden_at, hidden_kind) values ('/a', 1, 'eaten')", id="unknown kind"),
        pytest.param("drop table project", id="no table"),
    ],
)
def test_damaged_marks_are_an_error_and_not_an_empty_list(path: str, damage: str) -> None:
    Store(path, NOW).close()
    raw(path, damage)
    store = Store(path, NOW)
    with pytest.raises(StoreError):
        store.projects()
    store.close()


def test_settings_are_kept_by_scope(path: str) -> None:
    store = Store(path, NOW)
    store.change_settings(GLOBAL, lambda stored: stored | {"chrome": True})
    store.change_settings(project_scope("/p"), lambda stored: stored | {"chrome": None})
    store.change_settings(GLOBAL, lambda stored: stored | {"worktree": False})
    assert store.settings(GLOBAL, project_scope("/p"), project_scope("/q")) == [
        {"chrome": True, "worktree": False},
        {"chrome": None},
        {},
    ]
    store.close()


@pytest.mark.parametrize("value", ["", "[]", "null", "{", '{"a":', "[" * 100_000])
def test_damaged_settings_are_an_error_until_they_are_cleared(path: str, value: str) -> None:
    Store(path, NOW).close()
    connection = sqlite3.connect(path)
    connection.execute("insert into setting values ('global', ?)", (value,))
    connection.commit()
    connection.close()
    store = Store(path, NOW)
    with pytest.raises(StoreError, match="unset --all"):
        store.settings(GLOBAL)
    with pytest.raises(StoreError, match="unset --all"):
        store.change_settings(GLOBAL, lambda stored: stored)
    store.clear_settings(GLOBAL)
    assert store.settings(GLOBAL) == [{}]
    store.close()


def test_two_writers_lose_nothing(path: str) -> None:
    """Each adds its own keys to the same settings, through connections of two processes."""
    Store(path, NOW).close()
    code = (
        "import sys; from switchboard.store.sqlite import Store\n"
        f"store = Store({path!r}, {NOW})\n"
        "for n in range(50): store.change_settings('global', lambda s: s | {sys.argv[1] + str(n): n})\n"
        "store.close()"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "ab"]
    assert [process.wait(60) for process in running] == [0, 0]
    store = Store(path, NOW)
    assert len(store.settings(GLOBAL)[0]) == 100
    store.close()


def test_a_reader_is_not_held_up_by_a_writer(path: str) -> None:
    store = Store(path, NOW)
    store.change_settings(GLOBAL, lambda _stored: {"chrome": True})
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    other.execute("update setting set value = '{}'")
    assert store.settings(GLOBAL) == [{"chrome": True}]
    other.execute("commit")
    assert store.settings(GLOBAL) == [{}]
    other.close()
    store.close()
