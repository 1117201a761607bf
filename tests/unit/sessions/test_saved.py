"""From the database's rows to the values of other rooms; trouble arrives as trouble."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from switchboard.clis.launch_settings import InvalidSetting
from switchboard.clis.liveness import EvidenceUnavailable, LaunchEvidence, Vantage
from switchboard.clis.project_snapshot import MarksUnavailable
from switchboard.clis.projects import ProjectMark
from switchboard.sessions.saved import (
    launch_record,
    project_marks,
    recorded_launches,
    remote_triggers,
    saved_launch_defaults,
)
from switchboard.store.sqlite import GLOBAL, Store, project_scope

NOW = 1_800_000_000_000
VANTAGE = Vantage("m", "boot", "pid:[1]", "5", unfiltered=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(str(tmp_path / "db"), NOW)
    yield made
    made.close()


def break_table(tmp_path: Path, name: str) -> None:
    connection = sqlite3.connect(tmp_path / "db")
    connection.execute(f"alter table {name} rename to gone")
    connection.close()


def test_launches_as_evidence(store: Store, tmp_path: Path) -> None:
    store.record_launch(launch_record("ABC", 1, "claude", "/p", NOW, (12, "99"), VANTAGE))
    look = recorded_launches(store)
    assert look(12, "99") == [LaunchEvidence("abc", 12, "99", "boot", "pid:[1]", "5", ended=False)]
    store.process_ended(12, "99", "boot", NOW)
    assert look(12, "99")[0].ended
    break_table(tmp_path, "launch")
    with pytest.raises(EvidenceUnavailable):
        look(12, "99")


def test_marks_of_projects(store: Store, tmp_path: Path) -> None:
    store.hide_project("/p", NOW, "delete")
    marks = project_marks(store)
    assert marks() == [ProjectMark("/p", hidden_at=NOW, hidden_kind="delete")]
    break_table(tmp_path, "project")
    with pytest.raises(MarksUnavailable):
        marks()


def test_settings_of_a_project(store: Store) -> None:
    store.change_settings(GLOBAL, lambda _stored: {"chrome": True, "remoteTriggers": True})
    store.change_settings(project_scope("/p"), lambda _stored: {"chrome": None, "permissionMode": "plan"})
    assert saved_launch_defaults(store, "/p/").chrome is False
    assert saved_launch_defaults(store, "/p/").permission_mode == "plan"
    assert saved_launch_defaults(store, "/q").chrome is True
    assert remote_triggers(store) is True
    store.change_settings(GLOBAL, lambda _stored: {"chrome": "yes"})
    with pytest.raises(InvalidSetting):
        saved_launch_defaults(store, "/q")
    assert remote_triggers(store) is False
