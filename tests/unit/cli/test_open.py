"""`switchboard open`: the request that is written, the wait for its result, words and exit code."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.trigger_folder import REQUEST, TriggerFolder

from switchboard.cli.open import PHASES, main
from switchboard.triggers.markers import CLAIMED, EFFECTS
from switchboard.triggers.v1_schema import Mode, OpenResume, validate

SESSION = "01234567-89AB-cdef-0123-456789abcdef"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriggerFolder:
    return TriggerFolder(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ((), {}),
        (("--prompt", "Go on"), {"prompt": "Go on"}),
        (("--prompt=--help",), {"prompt": "--help"}),
        (("--prompt", ""), {"prompt": ""}),
        (("--timeout", "1.5"), {"timeout_ms": 1500}),
        (("--expected-cwd", "/srv/x/../y"), {"expectedCwd": "/srv/y"}),
        (("--prompt", "x", "--timeout", "600"), {"prompt": "x", "timeout_ms": 600_000}),
    ],
    ids=["alone", "a prompt", "a prompt like an option", "no text", "timeout", "directory", "both"],
)
def test_what_is_asked(folder: TriggerFolder, arguments: tuple[str, ...], fields: dict[str, Any]) -> None:
    assert main([SESSION, *arguments]) == 0
    assert folder.request() == {"version": 1, "action": "open", "sessionId": SESSION, **fields}


def test_the_request_is_a_versioned_one(folder: TriggerFolder) -> None:
    main([SESSION, "--prompt", "x", "--timeout", "5", "--expected-cwd", "/srv"])
    assert validate(folder.request(), REQUEST) == OpenResume(SESSION.lower(), "x", 5000, "/srv")


def test_a_prompt_from_standard_input(folder: TriggerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Go on\n"))
    assert main([SESSION, "--prompt", "-"]) == 0
    assert folder.request()["prompt"] == "Go on"


def test_a_directory_given_from_here_is_sent_whole(
    folder: TriggerFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main([SESSION, "--expected-cwd", "sub/"])
    assert folder.request()["expectedCwd"] == f"{tmp_path}/sub"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("a-name",),
        (f" {SESSION}",),
        (SESSION[:-1],),
        (SESSION, "text"),
        (SESSION, "--before", "x"),
        (SESSION, "--timeout", "601"),
        (SESSION, "--timeout", "0"),
        (SESSION, "--expected-cwd", ""),
        (SESSION, "--bound", "soon"),
    ],
    ids=" ".join,
)
def test_wrong_usage_writes_nothing(folder: TriggerFolder, arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert folder.requests() == []


def test_who_gives_a_name_is_told_where_ids_are(folder: TriggerFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["a-name"])
    assert "'a-name' is no session's id; `switchboard ls` prints them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("result", "code", "said"),
    [
        ({"ok": True, "outcome": "opened", "reason": None, "resumed": True, "wrote": True}, 0, ""),
        (
            {"ok": False, "outcome": "not-found", "reason": "session not found", "wrote": False},
            1,
            "not found: session not found. No session has this id",
        ),
        (
            {"ok": False, "outcome": "refused", "reason": "session live elsewhere", "wrote": False, "detail": "p 7"},
            1,
            "refused: session live elsewhere (p 7). Another program has it open",
        ),
        (
            {
                "ok": False,
                "outcome": "refused",
                "reason": "session action timed out",
                "wrote": True,
                "uncertain": True,
            },
            3,
            "uncertain: session action timed out. The time allowed",
        ),
        ({"ok": False, "outcome": "refused", "reason": "session exited during wait", "wrote": True}, 3, "refused: "),
    ],
    ids=["opened", "not found", "refused", "uncertain", "partly written"],
)
def test_result_words_and_exit_code(
    folder: TriggerFolder, result: dict[str, object], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.answers(result)
    assert main([SESSION]) == code
    printed = capsys.readouterr()
    assert json.loads(printed.out) == result
    assert printed.err.startswith(f"switchboard open: {said}" if said else "")
    assert printed.err.count("\n") == (1 if said else 0)


def test_quiet_prints_the_result_alone(folder: TriggerFolder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.answers({"ok": False, "reason": "session busy", "wrote": False})
    assert main([SESSION, "--quiet"]) == 1
    assert capsys.readouterr().err == ""


def test_without_a_result_the_request_stays_and_what_that_means_is_said(
    folder: TriggerFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.answers_nothing()
    assert main([SESSION, "--bound", "0.001"]) == 4
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        f"switchboard open: no result within 0.001 s. The request {REQUEST} stays and may still be carried out: see "
        f"`switchboard result {REQUEST}` ({folder.result}), or delete {folder.path}/{REQUEST}.json. Whether it was "
        "done is not known by then: look at the session, and do not ask again under a new name. Is a host running "
        "(`switchboard doctor`)?\n"
    )
    assert folder.request()["sessionId"] == SESSION


def test_not_waiting_prints_the_requests_id(folder: TriggerFolder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.answers_nothing()
    assert main([SESSION, "--no-wait"]) == 0
    assert capsys.readouterr().out == f"{REQUEST}\n"


def test_progress_has_words_for_what_an_open_can_come_to() -> None:
    moves = EFFECTS[Mode.RESUME]
    assert set(PHASES) <= {CLAIMED, *(effect.value for after in moves.values() for effect in after)}
