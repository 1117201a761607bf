"""`switchboard result`: the exit code says the same as `switchboard send` would have said."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.cli.test_send import NoReader

from switchboard.cli.result import main
from switchboard.common import strict_json


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "triggers"
    (made / "processed").mkdir(parents=True)
    monkeypatch.setenv("SWITCHBOARD_TRIGGERS_DIR", str(made))
    return made


@pytest.mark.parametrize("name", ["an-id", "an-id.json"])
@pytest.mark.parametrize(
    ("result", "code"), [({"ok": True}, 0), ({"ok": False, "wrote": False}, 1), ({"ok": False, "wrote": True}, 3)]
)
def test_a_result_is_printed(
    folder: Path, name: str, result: dict[str, object], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "processed" / "an-id.result.json").write_text(json.dumps(result))
    assert main([name]) == code
    assert json.loads(capsys.readouterr().out) == result


def test_without_a_result(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["an-id"]) == 4
    text = "switchboard result: there is no result of an-id"
    assert capsys.readouterr().err == f"{text} and no request of that name in {folder}\n"
    (folder / "an-id.json").write_text("{}")
    assert main(["an-id"]) == 4
    assert capsys.readouterr().err == f"{text} yet; its request is still there\n"


def test_no_result_has_a_name_that_no_file_can_have() -> None:
    assert main(["x" * 300]) == 4


DEEP = "[" * 30_000 + "]" * 30_000
READABLE = "[" * 500 + "]" * 500
"""The standard library reads it, and does not lay it out."""


@pytest.mark.parametrize("nested", [DEEP, READABLE], ids=["very deeply", "deeply"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize(
    ("start", "code"),
    [('"ok":false,"wrote":false', 1), ('"ok":false,"wrote":true', 3), ('"ok":true', 0)],
    ids=["refused", "written", "done"],
)
def test_a_result_that_is_nested_deeply_is_a_result(
    folder: Path, start: str, code: int, encoding: str, nested: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal names a part of its request as it was, however deeply that is nested."""
    text = f'{{{start},"sessionId":{nested},"name":"\u00fc\U0001f600"}}'
    (folder / "processed" / "an-id.result.json").write_text(text, "utf-8")
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["an-id"]) == code
    told = strict_json.parse(stream.buffer.getvalue().decode(encoding))  # type: ignore[attr-defined]  # bytes in memory
    assert strict_json.equal(told, strict_json.parse(text))


def test_a_shallow_result_costs_no_import(folder: Path) -> None:
    (folder / "processed" / "an-id.result.json").write_text('{"ok":true}')
    program = (
        "import sys; from switchboard.cli.result import main; main(['an-id']); "
        "sys.exit('switchboard.common.strict_json' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    "content", ["{", "", "5", DEEP, DEEP[:-1]], ids=["open", "empty", "number", "deep", "deep and open"]
)
def test_a_damaged_result_is_uncertain(folder: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "processed" / "an-id.result.json"
    path.write_text(content)
    assert main(["an-id"]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"switchboard result: the result {path} is damaged (")
    assert printed.err.endswith("look at the session before you send it again\n")


def test_a_result_that_nobody_may_read_is_uncertain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "processed" / "an-id.result.json").mkdir()
    assert main(["an-id"]) == 3
    assert "cannot be read: Is a directory" in capsys.readouterr().err


def test_without_a_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """1 would say that nothing was written."""
    for name in ("SWITCHBOARD_TRIGGERS_DIR", "HOME"):
        monkeypatch.delenv(name)
    assert main(["an-id"]) == 3
    assert capsys.readouterr().err.startswith("switchboard result: HOME is not set")


@pytest.mark.parametrize("name", ["", ".json", "a/b", "../x"])
def test_an_id_that_is_none(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name])
    assert ended.value.code == 2
    assert "the id is a request's file name, without a folder" in capsys.readouterr().err


@pytest.mark.parametrize("output", [NoReader(), None], ids=["nobody reads", "no output at all"])
def test_the_exit_code_needs_no_reader(folder: Path, output: object, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "processed" / "an-id.result.json").write_text('{"ok":false,"wrote":true}')
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["an-id"]) == 3
    monkeypatch.undo()
