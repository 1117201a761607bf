"""`switchboard project`, with a database and transcripts of its own, and no host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from switchboard.cli.project import main
from switchboard.clis.project_folders import folder_name
from switchboard.store.sqlite import Store


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("SWITCHBOARD_AGENT_HOME", str(tmp_path / "agent"))


def record(tmp_path: Path, cwd: Path) -> None:
    folder = tmp_path / "claude" / "projects" / folder_name(str(cwd))
    folder.mkdir(parents=True)
    (folder / "x.jsonl").write_text(json.dumps({"type": "user", "cwd": str(cwd)}) + "\n")


def listed(capsys: pytest.CaptureFixture[str], *options: str) -> list[tuple[str, str]]:
    capsys.readouterr()
    assert main(["list", "--json", *options]) == 0
    return [(row["path"], row["state"]) for row in json.loads(capsys.readouterr().out)]


def test_from_transcripts_and_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen, mine = tmp_path / "seen", tmp_path / "mine"
    mine.mkdir()
    assert main(["list"]) == 0
    assert "No projects yet" in capsys.readouterr().out
    record(tmp_path, seen)
    assert main(["add", str(mine)]) == 0
    assert listed(capsys) == [(str(mine), "shown"), (str(seen), "shown")]
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"shown     {mine}",
        f"shown     {seen}  (the directory is missing)",
    ]


def test_hide_archive_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "p"
    project.mkdir()
    record(tmp_path, project)
    assert main(["archive", str(project)]) == 0
    assert listed(capsys) == [(str(project), "archived")]
    assert main(["unarchive", f"{project}/"]) == 0
    assert listed(capsys) == [(str(project), "shown")]
    assert main(["hide", str(project), "--kind", "delete", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["state"], row["hidden_kind"], row["exists"]) == ("hidden", "delete", True)
    assert listed(capsys) == []
    assert listed(capsys, "--all") == [(str(project), "hidden")]
    assert main(["add", str(project)]) == 0
    assert listed(capsys) == [(str(project), "shown")]


def test_a_project_is_what_links_lead_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    assert main(["add", "link"]) == 0
    assert listed(capsys) == [(str(tmp_path / "real"), "shown")]
    assert main(["hide", "link"]) == 0
    assert listed(capsys) == []


@pytest.mark.parametrize("action", ["hide", "archive", "unarchive"])
def test_what_is_no_project_is_said(action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([action, str(tmp_path / "p")]) == 1
    assert "is no known project; `switchboard project list --all`" in capsys.readouterr().err


def test_what_is_no_directory_is_not_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", str(tmp_path / "p")]) == 1
    assert "is no directory" in capsys.readouterr().err
    assert listed(capsys, "--all") == []


def test_a_database_that_cannot_be_used_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "switchboard.db").write_bytes(b"no database " * 1000)
    assert main(["list"]) == 1
    assert "cannot be used" in capsys.readouterr().err


def test_it_works_beside_another_user_of_the_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    host = Store(str(tmp_path / "data" / "switchboard.db"), 1_800_000_000_000)
    try:
        assert main(["add", str(tmp_path)]) == 0
        assert [mark.path for mark in host.projects()] == [str(tmp_path)]
        host.hide_project(str(tmp_path), 1, None)
        assert listed(capsys) == []
    finally:
        host.close()


@pytest.mark.parametrize("arguments", [[], ["nonesuch"], ["add"], ["hide", "/p", "--kind", "x"]])
def test_usage_errors(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
