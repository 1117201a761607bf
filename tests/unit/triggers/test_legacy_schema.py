"""Rows 7 to 19 of the validation table: order and exact texts."""

from __future__ import annotations

from typing import Any

import pytest

from switchboard.triggers.legacy_schema import LegacyRequest, Refusal, Step, echoed_session_id, session_id_of, validate

S = "any string at all"
CONTROLS = r"command contains forbidden control characters (\r \n \0 \x1b)"


def refusal(body: dict[str, Any]) -> Refusal:
    found = validate(body, S)
    assert isinstance(found, Refusal), found
    return found


def request(body: dict[str, Any]) -> LegacyRequest:
    found = validate(body, S)
    assert isinstance(found, LegacyRequest), found
    return found


# --- rows 7 and 8 -----------------------------------------------------------------------------------------------------


def test_row_7_a_null_body_is_internal() -> None:
    found = session_id_of(None)
    assert isinstance(found, Refusal)
    assert found.error.startswith("internal error: ")
    assert found.internal


@pytest.mark.parametrize(
    "below",
    [
        {},
        {"sessionId": ""},
        {"sessionId": S, "wait": "later"},
        {"sessionId": S, "command": "x"},
        {"sessionId": S, "key": "Escape"},
        {"sessionId": S, "timeout_ms": 0},
        {"sessionId": S, "expectedCwd": None},
    ],
    ids=["row 8, absent", "row 8, empty", "row 9", "row 10", "row 10, key", "row 18", "row 19"],
)
def test_row_7_a_null_step_is_internal_and_comes_before_everything_below(below: dict[str, Any]) -> None:
    found = session_id_of({**below, "chain": [{"command": ""}, None, {"command": "x"}]})
    assert found == Refusal("internal error: step[1] is null, not an object", steps_total=3, internal=True)


def test_row_7_a_null_step_comes_before_the_number_of_steps() -> None:
    found = session_id_of({"sessionId": S, "chain": [None] * 21})
    assert isinstance(found, Refusal)
    assert (found.error, found.steps_total) == ("internal error: step[0] is null, not an object", 21)


def test_row_7_null_elsewhere_is_for_the_rows_below() -> None:
    assert session_id_of({"sessionId": S, "chain": [[None]], "command": None}) == S


@pytest.mark.parametrize(
    ("body", "echo"),
    [
        ({}, None),
        ({"sessionId": ""}, None),
        ({"sessionId": None}, None),
        ({"sessionId": 0}, None),
        ({"sessionId": False}, None),
        ({"sessionId": 5}, 5),
        ({"sessionId": {"a": 1}}, {"a": 1}),
        ([], None),
        ("text", None),
        (12, None),
        (True, None),
    ],
)
def test_row_8_session_id(body: Any, echo: Any) -> None:
    assert session_id_of(body) == Refusal("missing required field: sessionId")
    assert echoed_session_id(body) == echo


def test_row_8_any_other_string_is_a_session_id() -> None:
    assert session_id_of({"sessionId": "no uuid"}) == "no uuid"


# --- row 9 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, '"null"'),
        ("", '""'),
        ("IDLE", '"IDLE"'),
        (True, '"true"'),
        (1.0, '"1"'),
        (["idle"], '"idle"'),
        ({}, '"[object Object]"'),
        ('a"b\n', '"a\\"b\\n"'),
    ],
)
def test_row_9_wait(value: Any, shown: str) -> None:
    assert refusal({"wait": value}) == Refusal(
        "not sent",
        f'wait {shown} is not a value this transport knows: only "idle" and "none", and an absent field means "none"',
    )


@pytest.mark.parametrize(("value", "idle"), [("none", False), ("idle", True)])
def test_row_9_accepted(value: str, idle: bool) -> None:
    assert request({"command": "x", "wait": value}).wait_idle is idle


def test_row_9_comes_before_everything_below() -> None:
    assert refusal({"wait": None, "command": 1, "chain": 1}).error == "not sent"


# --- rows 10 and 11 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{"command": "x", "chain": []}, {"command": None, "chain": None}])
def test_row_10_command_and_chain(body: dict[str, Any]) -> None:
    assert refusal(body) == Refusal("command and chain are mutually exclusive", steps_total=0)


@pytest.mark.parametrize(
    "body", [{"command": "x", "key": "Escape"}, {"chain": [], "key": 1}, {"command": 1, "chain": 1, "key": 1}]
)
def test_row_10_key_involved(body: dict[str, Any]) -> None:
    assert refusal(body) == Refusal("command, chain and key are mutually exclusive", steps_total=0)


def test_row_11_neither() -> None:
    assert refusal({}) == Refusal("missing required field: command or chain", steps_total=0)


# --- rows 12 to 14 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [None, "", 1, [], {}, False])
def test_row_12_command_missing(command: Any) -> None:
    assert refusal({"command": command}) == Refusal("missing required field: command", steps_total=1)


@pytest.mark.parametrize(
    ("command", "fits"),
    [("x" * 4096, True), ("x" * 4097, False), ("😀" * 2048, True), ("😀" * 2048 + "x", False)],
    ids=["4096", "4097", "2048 pairs are 4096 units", "4097 units"],
)
def test_row_13_length(command: str, fits: bool) -> None:
    found = validate({"command": command}, S)
    assert fits if isinstance(found, LegacyRequest) else found == Refusal("command too long (max 4 KB)", steps_total=1)


@pytest.mark.parametrize("control", ["\r", "\n", "\0", "\x1b"])
def test_row_14_controls(control: str) -> None:
    assert refusal({"command": f"a{control}b"}) == Refusal(CONTROLS, steps_total=1)


def test_row_14_length_comes_first() -> None:
    assert refusal({"command": "\r" * 5000}).error == "command too long (max 4 KB)"


@pytest.mark.parametrize("command", ["a\tb", "\x03", "\x7f", "\u2028", "\ud800"])
def test_row_14_other_characters_pass(command: str) -> None:
    assert request({"command": command}).command == command


# --- rows 15 to 17 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chain", [None, [], "x", {}, {"length": 1}, 1])
def test_row_15_chain_empty(chain: Any) -> None:
    assert refusal({"chain": chain}) == Refusal("chain must be a non-empty array", steps_total=0)


def test_row_16_chain_length() -> None:
    assert len(request({"chain": [{"command": "x"}] * 20}).chain) == 20
    assert refusal({"chain": [{"command": "x"}] * 21}) == Refusal("chain too long (max 20 steps)", steps_total=21)


GOOD = {"command": "x"}


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ({}, "step[1]: missing required command string"),
        ({"command": ""}, "step[1]: missing required command string"),
        ("x", "step[1]: missing required command string"),
        ([], "step[1]: missing required command string"),
        (7, "step[1]: missing required command string"),
        ({"command": "x" * 4097}, "step[1]: command too long (max 4 KB)"),
        ({"command": "\n"}, f"step[1]: {CONTROLS}"),
        ({"command": "x", "timeout_ms": None}, "step[1]: invalid step timeout_ms"),
        ({"command": "x", "timeout_ms": 0}, "step[1]: invalid step timeout_ms"),
        ({"command": "x", "timeout_ms": 600_001}, "step[1]: invalid step timeout_ms"),
    ],
)
def test_row_17_steps(step: Any, error: str) -> None:
    assert refusal({"chain": [GOOD, step, {}]}) == Refusal(error, steps_total=3)


def test_row_17_a_step_may_have_its_own_time() -> None:
    body = {"chain": [GOOD, {"command": "y", "timeout_ms": 5}]}
    assert request(body).chain == (Step("x"), Step("y", 5))


# --- row 18 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 0, -1, 600_001, 1.5, True, "1", [], {}, float("inf")])
def test_row_18_timeout(value: Any) -> None:
    assert refusal({"command": "x", "timeout_ms": value}) == Refusal("invalid timeout_ms", steps_total=1)


@pytest.mark.parametrize(("value", "read"), [(1, 1), (600_000, 600_000), (1e3, 1000), (5.0, 5)])
def test_row_18_accepted(value: Any, read: int) -> None:
    assert request({"command": "x", "timeout_ms": value}).timeout_ms == read


def test_row_18_counts_the_steps() -> None:
    assert refusal({"chain": [GOOD, GOOD], "timeout_ms": 0}).steps_total == 2


# --- row 19 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "", 1, [], {}])
def test_row_19_expected_cwd(value: Any) -> None:
    assert refusal({"command": "x", "expectedCwd": value}) == Refusal(
        "not sent", "expectedCwd must be a non-empty string when present", 1
    )


# --- key --------------------------------------------------------------------------------------------------------------


def test_key_escape() -> None:
    assert request({"key": "Escape"}) == LegacyRequest(S, key="Escape")
    assert request({"key": "Escape"}).steps_total == 1


@pytest.mark.parametrize("key", ["escape", "Enter", "", None, 27])
def test_key_unsupported(key: Any) -> None:
    assert refusal({"key": key}) == Refusal("unsupported key", steps_total=1)


def test_unknown_properties_are_ignored() -> None:
    assert request({"command": "x", "focus": True, "note": None}).command == "x"
