"""`switchboard config`: values are strict, scopes fall through, and what is wrong names what is right."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from switchboard.cli.config import main
from switchboard.clis.launch_settings import SETTINGS


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path / "data"))


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out.rstrip("\n")


def test_set_get_and_unset(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "get", "permissionMode") == "auto"
    assert said(capsys, "set", "permissionMode", "plan") == ""
    assert said(capsys, "get", "permissionMode") == "plan"
    assert json.loads(said(capsys, "get", "permissionMode", "--json")) == {
        "key": "permissionMode",
        "value": "plan",
        "source": "global",
    }
    assert said(capsys, "unset", "permissionMode") == ""
    assert said(capsys, "get", "permissionMode") == "auto"


def test_a_projects_own_value_and_its_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = ("--project", str(tmp_path))
    said(capsys, "set", "chrome", "true")
    assert said(capsys, "get", "chrome", *project) == "true"
    said(capsys, "set", "chrome", "null", *project)
    assert said(capsys, "get", "chrome", *project) == "null"
    assert said(capsys, "get", "chrome") == "true"
    said(capsys, "unset", "chrome", *project)
    assert said(capsys, "get", "chrome", *project) == "true"


def test_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "set", "addDirs", "/a,/b")
    rows = json.loads(said(capsys, "get", "--json"))
    assert [row["key"] for row in rows] == list(SETTINGS)
    assert {"key": "addDirs", "value": "/a,/b", "source": "global"} in rows
    lines = said(capsys, "get").splitlines()
    assert len(lines) == len(SETTINGS)
    assert "global" in next(line for line in lines if line.startswith("addDirs"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["set", "permissionMode", "ask"], "permissionMode cannot be 'ask'; allowed: auto, acceptEdits, plan"),
        (["set", "chrome", "yes"], "chrome cannot be 'yes'; allowed: true, false, null"),
        (["set", "preLaunchCmd", "a;b"], "preLaunchCmd cannot be 'a;b'; allowed: letters, digits, blanks and"),
        (["set", "mcpEmulation", "true"], "is not built"),
        (["set", "nonesuch", "1"], "there is no setting 'nonesuch'; there are: cli, permissionMode"),
        (["get", "nonesuch"], "there is no setting 'nonesuch'"),
        (["unset", "nonesuch"], "there is no setting 'nonesuch'"),
        (["get", "--project", "/no/such/folder"], "/no/such/folder is no directory"),
        (["set", "remoteTriggers", "true", "--project", "/"], "holds everywhere; set it without --project"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_saved(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert text in capsys.readouterr().err
    assert all(row["source"] == "built-in" for row in json.loads(said(capsys, "get", "--json")))


@pytest.mark.parametrize("arguments", [[], ["set", "chrome"], ["unset"], ["unset", "chrome", "--all"]])
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_damaged_settings_are_said_and_can_be_cleared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "set", "chrome", "true")
    connection = sqlite3.connect(tmp_path / "data" / "switchboard.db")
    connection.execute("update setting set value = 'x'")
    connection.commit()
    connection.close()
    assert main(["get"]) == 1
    assert "unset --all" in capsys.readouterr().err
    said(capsys, "unset", "--all")
    assert said(capsys, "get", "chrome") == "false"


def test_the_help_names_every_setting_and_what_it_may_be(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    for setting in SETTINGS.values():
        assert setting.key in out
        assert setting.allowed in out
