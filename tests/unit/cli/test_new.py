"""`switchboard new`: the request that is written, and what is said of its result."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.trigger_folder import REQUEST, TriggerFolder

from switchboard.cli.new import PHASES, main
from switchboard.triggers.markers import CLAIMED, EFFECTS
from switchboard.triggers.v1_schema import Mode, OpenNew, validate

SESSION = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriggerFolder:
    return TriggerFolder(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (
            ("--project", "/srv/x", "--name", "Follow-up", "Look into it"),
            {"new": {"project": "/srv/x", "name": "Follow-up"}, "prompt": "Look into it"},
        ),
        (
            ("Look", "--name", " ü ", "--project", "/srv/x/", "--timeout", "2"),
            {"new": {"project": "/srv/x", "name": " ü "}, "prompt": "Look", "timeout_ms": 2000},
        ),
        (
            ("--project", "/srv/x", "--name", "n", "--", "--help"),
            {"new": {"project": "/srv/x", "name": "n"}, "prompt": "--help"},
        ),
    ],
    ids=["whole", "any order", "a prompt like an option"],
)
def test_what_is_asked(folder: TriggerFolder, arguments: tuple[str, ...], body: dict[str, Any]) -> None:
    assert main(arguments) == 0
    assert folder.request() == {"version": 1, "action": "open", **body}


def test_the_request_is_a_versioned_one(folder: TriggerFolder) -> None:
    main(["--project", "/srv/x", "--name", " n ", "p"])
    assert validate(folder.request(), REQUEST) == OpenNew("/srv/x", "n", "p")


@pytest.mark.parametrize(("given", "sent"), [(".", ""), ("sub/", "/sub"), ("./a/../b", "/b")])
def test_a_project_given_from_here_is_sent_whole(
    folder: TriggerFolder, tmp_path: Path, given: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--project", given, "--name", "n", "p"]) == 0
    assert folder.request()["new"]["project"] == f"{tmp_path}{sent}"


def test_a_prompt_from_standard_input(folder: TriggerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Look\n"))
    assert main(["--project", "/srv", "--name", "n", "-"]) == 0
    assert folder.request()["prompt"] == "Look"


def test_a_standard_input_that_makes_no_request_is_a_usage_error(
    folder: TriggerFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("x" * 65_537))
    assert main(["--project", "/srv", "--name", "n", "-"]) == 2
    assert capsys.readouterr().err.startswith("switchboard new: standard input is too large")
    assert folder.requests() == []


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("p",),
        ("p", "--project", "/srv"),
        ("p", "--name", "n"),
        ("--project", "/srv", "--name", "n"),
        ("p", "--project", "", "--name", "n"),
        ("p", "q", "--project", "/srv", "--name", "n"),
        ("p", "--project", "/srv", "--name", "n", "--expected-cwd", "/srv"),
        ("p", "--project", "/srv", "--name", "n", "--timeout", "nan"),
    ],
    ids=" ".join,
)
def test_wrong_usage_writes_nothing(folder: TriggerFolder, arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert folder.requests() == []


def test_a_session_that_was_started_without_its_prompt_is_named(
    folder: TriggerFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    result = {
        "ok": False,
        "outcome": "refused",
        "reason": "session readiness unavailable",
        "sessionId": SESSION,
        "created": True,
        "wrote": False,
    }
    folder.answers(result)
    assert main(["--project", "/srv", "--name", "n", "p"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out) == result
    assert printed.err.startswith("switchboard new: refused: session readiness unavailable. The prompt was not typed")
    assert printed.err.endswith(f" The session {SESSION} was started and stays open.\n")


def test_progress_has_words_for_what_a_start_can_come_to() -> None:
    moves = EFFECTS[Mode.NEW]
    assert set(PHASES) <= {CLAIMED, *(effect.value for after in moves.values() for effect in after)}
