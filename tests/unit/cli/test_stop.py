"""`switchboard stop`: the request that is written, and what is said of its result."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.trigger_folder import REQUEST, TriggerFolder

from switchboard.cli.stop import PHASES, main
from switchboard.triggers.markers import CLAIMED, EFFECTS
from switchboard.triggers.v1_schema import Mode, Stop, validate

SESSION = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriggerFolder:
    return TriggerFolder(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ((), {}),
        (("--before", "Save a note"), {"before": "Save a note"}),
        (("--before", ""), {"before": ""}),
        (("--timeout", "0.0004"), {"timeout_ms": 1}),
        (("--expected-cwd", "/srv"), {"expectedCwd": "/srv"}),
    ],
    ids=["alone", "a last prompt", "no text", "timeout", "directory"],
)
def test_what_is_asked(folder: TriggerFolder, arguments: tuple[str, ...], fields: dict[str, Any]) -> None:
    assert main([SESSION, *arguments]) == 0
    assert folder.request() == {"version": 1, "action": "stop", "sessionId": SESSION, **fields}


def test_the_request_is_a_versioned_one(folder: TriggerFolder) -> None:
    main([SESSION, "--before", "x", "--timeout", "5", "--expected-cwd", "/srv"])
    assert validate(folder.request(), REQUEST) == Stop(SESSION, "x", 5000, "/srv")


def test_a_last_prompt_from_standard_input(folder: TriggerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Save a note\n"))
    assert main([SESSION, "--before", "-"]) == 0
    assert folder.request()["before"] == "Save a note"


@pytest.mark.parametrize(
    "arguments",
    [(), ("a-name",), (SESSION, "text"), (SESSION, "--prompt", "x"), (SESSION, "--timeout", "601")],
    ids=" ".join,
)
def test_wrong_usage_writes_nothing(folder: TriggerFolder, arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert folder.requests() == []


@pytest.mark.parametrize(
    ("result", "code", "said"),
    [
        ({"ok": True, "outcome": "closed", "reason": None, "wrote": False}, 0, ""),
        (
            {"ok": False, "outcome": "refused", "reason": "session busy", "wrote": False},
            1,
            "refused: session busy. A turn is running: wait for it, or say with --before what is to be done last.\n",
        ),
        (
            {"ok": False, "outcome": "not-found", "reason": "session not open here", "wrote": False},
            1,
            "not found: session not open here. It is closed already; there is nothing to stop.\n",
        ),
        (
            {
                "ok": False,
                "outcome": "refused",
                "reason": "session stop not confirmed",
                "wrote": False,
                "uncertain": True,
            },
            3,
            "uncertain: session stop not confirmed. It was asked to end and may still do so",
        ),
        (
            {
                "ok": False,
                "outcome": "refused",
                "reason": "note step not finished",
                "wrote": True,
                "delivery": {"submitted": "no", "wrote": True, "error": "interrupted", "reason": "a dialog opened"},
            },
            3,
            "refused: note step not finished (a dialog opened). The session goes on running",
        ),
    ],
    ids=["closed", "busy", "not open", "not confirmed", "note not finished"],
)
def test_result_words_and_exit_code(
    folder: TriggerFolder, result: dict[str, object], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.answers(result)
    assert main([SESSION]) == code
    printed = capsys.readouterr()
    assert json.loads(printed.out) == result
    assert printed.err.startswith(f"switchboard stop: {said}" if said else "")
    assert printed.err.count("\n") == (1 if said else 0)


def test_progress_has_words_for_what_a_stop_can_come_to() -> None:
    moves = EFFECTS[Mode.STOP]
    assert set(PHASES) <= {CLAIMED, *(effect.value for after in moves.values() for effect in after)}
