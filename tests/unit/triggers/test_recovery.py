"""What becomes of a request's files: the whole table, and the result of an interrupted action."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from switchboard.delivery.submission import Submitted
from switchboard.triggers.markers import Effect, Marker
from switchboard.triggers.recovery import TABLE, Claim, Found, Stage, Step, decide, found_in, interrupted
from switchboard.triggers.v1_schema import Mode

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
ID = "01234567-89ab-cdef-0123-456789abcdef"
AT = 1_800_000_000_000

CLEAN_UP = (Step.REMOVE_INPUT, Step.REMOVE_MARKER)
ANSWER = (Step.PUBLISH_INTERRUPTED, Step.REMOVE_INPUT, Step.REMOVE_MARKER)
LEAVE = (Step.LEAVE,)
WORK = (Step.WORK,)


def test_every_case_is_in_the_table() -> None:
    assert set(TABLE) == set(itertools.product(Stage, Found, Claim))


@pytest.mark.parametrize(("stage", "claim"), list(itertools.product(Stage, Claim)))
def test_a_result_with_an_outcome_wins_over_everything(stage: Stage, claim: Claim) -> None:
    assert decide(Found.TERMINAL, claim, stage) == CLEAN_UP


@pytest.mark.parametrize("stage", Stage)
def test_then_a_marker_is_answered_in_the_order_of_publication(stage: Stage) -> None:
    assert decide(Found.NOTHING, Claim.MADE, stage) == ANSWER


@pytest.mark.parametrize("stage", Stage)
def test_an_untouched_request_is_worked_on(stage: Stage) -> None:
    assert decide(Found.NOTHING, Claim.NONE, stage) == WORK


@pytest.mark.parametrize(
    ("stage", "found"), list(itertools.product(Stage, [Found.NOTHING, Found.OTHER, Found.UNREADABLE]))
)
def test_a_marker_that_cannot_be_read_now_stops_everything(stage: Stage, found: Found) -> None:
    assert decide(found, Claim.UNREADABLE, stage) == LEAVE


@pytest.mark.parametrize(("stage", "found"), list(itertools.product(Stage, [Found.OTHER, Found.UNREADABLE])))
def test_an_interrupted_action_never_replaces_what_stands_in_its_results_place(stage: Stage, found: Found) -> None:
    assert decide(found, Claim.MADE, stage) == LEAVE


@pytest.mark.parametrize("found", [Found.OTHER, Found.UNREADABLE])
def test_a_legacy_request_may_use_a_versioned_name_again(found: Found) -> None:
    assert decide(found, Claim.NONE) == WORK


def test_a_versioned_one_may_not() -> None:
    assert decide(Found.OTHER, Claim.NONE, Stage.VERSIONED) == CLEAN_UP
    assert decide(Found.UNREADABLE, Claim.NONE, Stage.VERSIONED) == LEAVE


@pytest.mark.parametrize("steps", list(TABLE.values()))
def test_nothing_is_removed_before_it_is_answered(steps: tuple[Step, ...]) -> None:
    order = [Step.PUBLISH_INTERRUPTED, Step.REMOVE_INPUT, Step.REMOVE_MARKER]
    assert steps in (WORK, LEAVE) or [*steps] == [step for step in order if step in steps]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, Found.NOTHING),
        (b'{"outcome":"opened"}\n', Found.TERMINAL),
        (b'{"outcome":"whatever"}', Found.TERMINAL),
        (b'{"ok":false,"error":"invalid JSON: x"}', Found.OTHER),
        (b'{"outcome":null}', Found.OTHER),
        (b"{}", Found.OTHER),
        (b"", Found.UNREADABLE),
        (b'{"outcome":"ope', Found.UNREADABLE),
        (b'["outcome"]', Found.UNREADABLE),
        (b"\xff", Found.UNREADABLE),
        (b"[" * 30_000 + b"]" * 30_000, Found.UNREADABLE),
        (b'{"outcome":"refused","version":' + b"[" * 32_000 + b"]" * 32_000 + b"}", Found.TERMINAL),
    ],
)
def test_what_stands_in_the_place_of_a_result(content: bytes | None, expected: Found) -> None:
    assert found_in(content) is expected


def test_what_would_take_seconds_to_parse_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard.triggers.recovery.parse", lambda _text: pytest.fail("it is parsed"))
    assert found_in(b'{"a":' * 70_000) is Found.UNREADABLE
    assert found_in(b"[" * 70_000) is Found.UNREADABLE


# --- the interrupted result -------------------------------------------------------------------------------------------


def marker(mode: Mode, *effects: Effect, steps: int = 1) -> Marker:
    made = Marker(STEM, mode, ID, AT + 300_000, steps)
    for effect in effects:
        made = made.after(effect)
    return made


PHASES: list[tuple[str, Marker, dict[str, Any]]] = [
    (
        "claimed open",
        marker(Mode.RESUME),
        {"action": "open", "resumed": False, "wrote": False, "submitted": "no", "steps_total": 1},
    ),
    (
        "claimed new",
        marker(Mode.NEW),
        {"action": "open", "created": False, "wrote": False, "submitted": "no", "sessionId": ID},
    ),
    ("claimed stop", marker(Mode.STOP, steps=0), {"action": "stop", "wrote": False, "steps_total": 0}),
    ("spawned", marker(Mode.RESUME, Effect.SPAWNED), {"resumed": True, "wrote": False, "submitted": "no"}),
    ("created", marker(Mode.NEW, Effect.SPAWNED), {"created": True, "wrote": False, "sessionId": ID}),
    (
        "prompt-attempted",
        marker(Mode.NEW, Effect.SPAWNED, Effect.PROMPT_ATTEMPTED),
        {"created": True, "wrote": True, "text_written": False, "enter_written": False, "submitted": "no"},
    ),
    (
        "text-written",
        marker(Mode.RESUME, Effect.PROMPT_ATTEMPTED, Effect.TEXT_WRITTEN),
        {"resumed": False, "wrote": True, "text_written": True, "enter_written": False, "submitted": "no"},
    ),
    (
        "enter-written",
        marker(Mode.RESUME, Effect.PROMPT_ATTEMPTED).after(Effect.ENTER_WRITTEN, enter_at=AT),
        {
            "wrote": True,
            "text_written": True,
            "enter_written": True,
            "submitted": "assumed",
            "enter_at": "2027-01-15T08:00:00.000Z",
        },
    ),
    (
        "note-finished",
        marker(Mode.STOP, Effect.PROMPT_ATTEMPTED, Effect.ENTER_WRITTEN).after(
            Effect.NOTE_FINISHED, Submitted.CONFIRMED
        ),
        {"wrote": True, "submitted": "confirmed", "enter_written": True},
    ),
    ("stop-requested", marker(Mode.STOP, Effect.STOP_REQUESTED, steps=0), {"action": "stop", "wrote": False}),
]


@pytest.mark.parametrize(
    ("state", "expected"), [(state, expected) for _, state, expected in PHASES], ids=[name for name, _, _ in PHASES]
)
def test_an_interrupted_action_says_what_was_recorded(state: Marker, expected: dict[str, Any]) -> None:
    result = interrupted(state)
    wanted = {
        "version": 1,
        "outcome": "refused",
        "ok": False,
        "reason": "interrupted by restart",
        "uncertain": True,
        "sessionId": ID,
        **expected,
    }
    assert {name: result.get(name) for name in wanted} == wanted
    assert result["detail"] == f"recorded before the end: {state.phase}"


def test_a_marker_that_says_nothing() -> None:
    result = interrupted(None)
    assert [result[name] for name in ("version", "action", "sessionId", "steps_total")] == [None, None, None, 0]
    assert (result["reason"], result["uncertain"], result["wrote"]) == ("interrupted by restart", True, False)
    assert not {"resumed", "created"} & set(result)
