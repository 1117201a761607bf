"""`switchboard send`: the request that is written, the wait for its result, and the exit code."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from switchboard.cli import send as module
from switchboard.cli.send import MARGIN_SECONDS, main

ID = "0d6f3a52-0000-4000-8000-00000000000a"


class Rig:
    """A trigger folder. The next request's id is `ID`; `results` is what a host would answer."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "triggers"
        (self.folder / "processed").mkdir(parents=True)

    def answers(self, result: object) -> None:
        (self.folder / "processed" / f"{ID}.result.json").write_text(json.dumps(result))

    def requests(self) -> list[Any]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]

    def request(self) -> Any:
        (found,) = self.requests()
        return found


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    made = Rig(tmp_path)
    monkeypatch.setenv("SWITCHBOARD_TRIGGERS_DIR", str(made.folder))
    monkeypatch.setattr(uuid, "uuid4", lambda: ID)
    made.answers({"ok": True})
    return made


def usage(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


# --- the request --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (("hello",), {"command": "hello"}),
        (("/compact", "--wait", "idle"), {"command": "/compact", "wait": "idle"}),
        (("x", "--wait", "none", "--timeout", "1.5"), {"command": "x", "wait": "none", "timeout_ms": 1500}),
        (("x", "--timeout", "0.0004"), {"command": "x", "timeout_ms": 1}),
        (("x", "--timeout", "600"), {"command": "x", "timeout_ms": 600_000}),
        (("x", "--expected-cwd", "/srv"), {"command": "x", "expectedCwd": "/srv"}),
        (("--key", "Escape"), {"key": "Escape"}),
        (("--", "--key"), {"command": "--key"}),
        (("",), {"command": ""}),
    ],
    ids=[
        "text",
        "wait",
        "timeout",
        "short timeout",
        "long timeout",
        "directory",
        "key",
        "text like an option",
        "no text at all",
    ],
)
def test_what_is_asked(rig: Rig, arguments: tuple[str, ...], body: dict[str, Any]) -> None:
    assert main(["session-1", *arguments]) == 0
    assert rig.request() == {"sessionId": "session-1", **body}


@pytest.mark.parametrize(
    ("given", "text"),
    [("one\n", "one"), ("one\ntwo\n\n", "one\ntwo"), ("", ""), (" x ", " x ")],
    ids=["a line", "lines", "nothing", "blanks"],
)
def test_a_text_from_standard_input(rig: Rig, given: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    assert main(["s", "-"]) == 0
    assert rig.request() == {"sessionId": "s", "command": text}


@pytest.mark.parametrize(
    "content",
    [["one", {"command": "two", "timeout_ms": 5}], {"chain": ["one", {"command": "two", "timeout_ms": 5}]}],
    ids=["the steps", "a request"],
)
def test_a_chain_from_a_file(rig: Rig, tmp_path: Path, content: object) -> None:
    (tmp_path / "chain").write_text(json.dumps(content))
    assert main(["s", "--chain", str(tmp_path / "chain")]) == 0
    assert rig.request() == {"sessionId": "s", "chain": [{"command": "one"}, {"command": "two", "timeout_ms": 5}]}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", " is no JSON: Expecting property name"),
        (b"", " is no JSON: Expecting value"),
        (b"[NaN]", " is no JSON: NaN is no JSON number"),
        (b"[" * 60_000, " is no JSON: maximum recursion"),
        (b"5", " must hold a JSON array of steps"),
        (b"{}", " must hold a JSON array of steps"),
        (b'{"chain":"x"}', " must hold a JSON array of steps"),
        (b"\xff", " is no JSON: 'utf-8' codec can't decode byte"),
        (b" " * 65_537, " is too large: a request has 64 KiB at most"),
        (None, ": No such file or directory"),
    ],
    ids=["no JSON", "nothing", "NaN", "deep", "a number", "an object", "a text", "no text", "large", "no file"],
)
def test_a_chain_that_is_none(
    rig: Rig, tmp_path: Path, content: bytes | None, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "chain").write_bytes(content)
    assert main(["s", "--chain", str(tmp_path / "chain")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"switchboard send: {tmp_path}/chain{text}")
    assert rig.requests() == []


def test_a_folder_is_no_chain(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["s", "--chain", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"switchboard send: {tmp_path}: Is a directory\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (io.TextIOWrapper(io.BytesIO(b"\xff"), "utf-8"), "standard input is no text: 'utf-8' codec can't decode"),
        (io.StringIO("x" * 65_537), "standard input is too large: a request has 64 KiB at most"),
    ],
    ids=["no text", "too large"],
)
def test_a_standard_input_that_makes_no_request(
    rig: Rig, given: object, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", given)
    assert main(["s", "-"]) == 2
    assert capsys.readouterr().err.startswith(f"switchboard send: {said}")
    assert rig.requests() == []


@pytest.mark.parametrize(("given", "sent"), [(".", ""), ("sub/", "/sub"), ("./a/../b", "/b")])
def test_a_directory_given_from_here_is_sent_whole(
    rig: Rig, tmp_path: Path, given: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host compares texts: `.` would be no session's directory."""
    monkeypatch.chdir(tmp_path)
    assert main(["s", "x", "--expected-cwd", given]) == 0
    assert rig.request()["expectedCwd"] == f"{tmp_path}{sent}"


def test_a_directory_that_has_gone_is_a_usage_error(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone() -> str:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "getcwd", gone)
    assert main(["s", "x", "--expected-cwd", "."]) == 2
    assert capsys.readouterr().err == "switchboard send: No such file or directory\n"
    assert rig.requests() == []


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("s",),
        ("s", "x", "--key", "Escape"),
        ("s", "x", "--chain", "f"),
        ("s", "--key", "Escape", "--chain", "f"),
        ("s", "--key", "Enter"),
        ("s", "x", "--wait", "busy"),
        ("s", "x", "--timeout", "0"),
        ("s", "x", "--timeout", "-1"),
        ("s", "x", "--timeout", "600.001"),
        ("s", "x", "--timeout", "601"),
        ("s", "x", "--expected-cwd", ""),
        ("s", "x", "--timeout", "nan"),
        ("s", "x", "--timeout", "inf"),
        ("s", "x", "--bound", "soon"),
        ("s", "x", "y"),
    ],
    ids=" ".join,
)
def test_wrong_usage_writes_nothing(rig: Rig, arguments: tuple[str, ...]) -> None:
    assert usage(*arguments) == 2
    assert rig.requests() == []


def test_a_number_that_is_none_is_quoted(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    usage("s", "x", "--bound", "soon")
    assert "'soon' is no number of seconds above 0" in capsys.readouterr().err


# --- the result ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"ok": True, "submitted": "confirmed"}, 0),
        ({"ok": False, "wrote": False}, 1),
        ({"ok": False, "wrote": True}, 3),
        ({"ok": False, "wrote": False, "uncertain": True}, 3),
    ],
    ids=["delivered", "refused", "partly written", "uncertain"],
)
def test_the_exit_code_and_the_printed_result(
    rig: Rig, result: dict[str, object], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rig.answers(result)
    assert main(["s", "x"]) == code
    printed = capsys.readouterr()
    assert json.loads(printed.out) == result
    assert printed.err == ""


def test_the_request_is_written_before_it_is_waited_for(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def wait(folder: str, trigger_id: str, seconds: float, quiet: bool) -> dict[str, Any]:
        seen.append((folder, trigger_id, rig.request()["command"], quiet))
        return {"ok": True}

    monkeypatch.setattr(module, "wait_result", wait)
    main(["s", "x"])
    main(["s", "x", "--quiet"])
    assert seen == [(str(rig.folder), ID, "x", False), (str(rig.folder), ID, "x", True)]


@pytest.mark.parametrize(
    ("arguments", "variable", "seconds"),
    [
        ((), None, 300 + MARGIN_SECONDS),
        ((), "60000", 60 + MARGIN_SECONDS),
        (("--timeout", "5"), "60000", 5 + MARGIN_SECONDS),
        (("--timeout", "5", "--bound", "0.5"), None, 0.5),
        (("--bound", "7"), "60000", 7),
    ],
    ids=["default", "the host's default", "the request's own", "a bound", "a bound alone"],
)
def test_how_long_it_waits(
    rig: Rig,
    arguments: tuple[str, ...],
    variable: str | None,
    seconds: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(module, "wait_result", lambda _f, _i, seconds, _q: waited.append(seconds) or {"ok": True})
    if variable is not None:
        monkeypatch.setenv("SWITCHBOARD_TRIGGER_IDLE_TIMEOUT_MS", variable)
    main(["s", "x", *arguments])
    assert waited == [seconds]


def test_without_a_result_the_request_stays_and_is_said_to(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    os.unlink(rig.folder / "processed" / f"{ID}.result.json")
    assert main(["s", "x", "--bound", "0.001"]) == 4
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        f"switchboard send: no result within 0.001 s. {stays(rig)}. Is a host running (`switchboard doctor`)?\n"
    )
    assert rig.request()["command"] == "x"


def test_while_results_have_no_folder_the_request_stays_and_nothing_is_uncertain(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(rig.folder / "processed")
    (rig.folder / "processed").write_text("")
    assert main(["s", "x", "--bound", "0.001"]) == 4
    assert capsys.readouterr().err == (
        f"switchboard send: no result within 0.001 s. {stays(rig)}. {rig.folder}/processed is no folder, so no result "
        "can be published: move it away, then a host goes on by itself\n"
    )
    assert rig.request()["command"] == "x"


def stays(rig: Rig) -> str:
    return (
        f"The request {ID} stays and may still be carried out: see `switchboard result {ID}` "
        f"({rig.folder}/processed/{ID}.result.json), or delete {rig.folder}/{ID}.json"
    )


def test_who_stops_waiting_is_told_that_the_request_stays(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "wait_result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main(["s", "x"])
    assert capsys.readouterr().err == f"switchboard send: not waited for any longer. {stays(rig)}\n"
    assert rig.request()["command"] == "x"


def test_not_waiting_prints_the_requests_id(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    rig.answers({"ok": False, "wrote": True})
    assert main(["s", "x", "--no-wait"]) == 0
    assert capsys.readouterr().out == f"{ID}\n"
    assert rig.request()["command"] == "x"


@pytest.mark.parametrize(("encoding", "text"), [("utf-8", "ü"), ("UTF8", "ü"), ("ascii", "\\u00fc")])
def test_a_result_is_printed_as_the_output_can_take_it(
    rig: Rig, encoding: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.answers({"ok": True, "reason": "ü"})
    printed = io.BytesIO()
    output = io.TextIOWrapper(printed, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["s", "x"]) == 0
    output.flush()
    assert f'"reason": "{text}"' in printed.getvalue().decode(encoding)
    monkeypatch.undo()


class NoReader(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("output", [NoReader(), None], ids=["nobody reads", "no output at all"])
def test_a_result_that_cannot_be_printed_still_gives_its_exit_code(
    rig: Rig, output: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script that sends again because of the wrong code would do a thing twice."""
    rig.answers({"ok": False, "wrote": True})
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["s", "x"]) == 3
    monkeypatch.undo()
    assert ("could not be printed: [Errno 32] Broken pipe" in capsys.readouterr().err) is (output is not None)


@pytest.mark.parametrize("output", [NoReader(), None], ids=["nobody reads", "no output at all"])
def test_an_id_that_cannot_be_printed_is_said_to_be_a_request_all_the_same(
    rig: Rig, output: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", output)
    code = main(["s", "x", "--no-wait"])
    monkeypatch.undo()
    assert code == (4 if output else 0)
    assert (stays(rig) in capsys.readouterr().err) is bool(output)


def test_without_a_trigger_folder(
    rig: Rig, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWITCHBOARD_TRIGGERS_DIR", str(rig.folder / "none"))
    assert main(["s", "x"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"switchboard send: the trigger folder {rig.folder}/none does not exist; start a host")


def test_a_result_that_cannot_be_read(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    (rig.folder / "processed" / f"{ID}.result.json").write_text("{")
    assert main(["s", "x"]) == 3, "something may have been typed"
    said = capsys.readouterr().err
    assert said.startswith(
        f"switchboard send: the result {rig.folder}/processed/{ID}.result.json is damaged (Expecting"
    )


def test_without_a_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("HOME")
    assert main(["s", "x"]) == 1
    assert capsys.readouterr().err.startswith("switchboard send: HOME is not set")
