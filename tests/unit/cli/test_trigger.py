"""`switchboard trigger schema`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from switchboard.cli.main import main


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["trigger", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_schema_prints_both(capsys: pytest.CaptureFixture[str]) -> None:
    both = printed(capsys, "schema")
    assert list(both) == ["request", "result"]
    assert [one["type"] for one in both["request"]["$defs"].values()][:3] == ["object"] * 3


@pytest.mark.parametrize(("part", "title"), [("request", "request"), ("result", "Result")])
def test_schema_prints_one_ready_for_a_validator(capsys: pytest.CaptureFixture[str], part: str, title: str) -> None:
    schema = printed(capsys, "schema", part)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert title in schema["title"]


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["schema", "nonsense"]])
def test_anything_else_is_a_usage_error(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["trigger", *arguments])
    assert ended.value.code == 2
    assert "usage: switchboard trigger" in capsys.readouterr().err
