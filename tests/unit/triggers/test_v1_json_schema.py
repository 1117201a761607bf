"""The JSON Schemas say what the checks do, as far as JSON Schema can."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.support.json_schema import fits
from tests.unit.triggers import test_v1_schema as cases

from switchboard.triggers.v1_json_schema import request_schema, result_schema
from switchboard.triggers.v1_results import EVIDENCE, Outcome
from switchboard.triggers.v1_schema import ShapeRefusal, validate

REQUEST: Any = request_schema()
RESULT: Any = result_schema()


def has_wide_text(value: Any) -> bool:
    """Whether a text in it is longer in UTF-16 units than in characters: a schema cannot tell."""
    if isinstance(value, dict):
        return any(has_wide_text(member) for member in value.values())
    return isinstance(value, str) and any(ord(char) > 0xFFFF for char in value)


@pytest.mark.parametrize("body", [cases.RESUME, cases.NEW, cases.STOP], ids=["resume", "new", "stop"])
def test_the_examples_fit(body: Any) -> None:
    assert fits(body, REQUEST)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(body, id=f"{row}-{number}")
        for row, found in cases.FAILURES.items()
        for number, (body, _) in enumerate(found)
        if not has_wide_text(body)
    ],
)
def test_what_the_table_refuses_does_not_fit(body: Any) -> None:
    assert not fits(body, REQUEST)


@given(cases.near | cases.mostly_right)
def test_what_fits_is_valid_and_the_other_way_round(body: Any) -> None:
    valid = not isinstance(validate(body, cases.STEM), ShapeRefusal)
    assert valid == fits(body, REQUEST) or has_wide_text(body)


def test_the_result_schema_names_every_field_of_evidence_and_every_outcome() -> None:
    properties = RESULT["properties"]
    assert set(properties) >= EVIDENCE
    assert properties["outcome"]["enum"] == [outcome.value for outcome in Outcome]


def test_a_success_with_a_reason_does_not_fit() -> None:
    result: dict[str, Any] = {
        "version": 1,
        "action": "open",
        "ok": True,
        "outcome": "opened",
        "reason": None,
        "sessionId": None,
        "submitted": "no",
        "wrote": False,
        "steps_total": 0,
    }
    assert fits(result, RESULT)
    assert not fits({**result, "reason": "session busy"}, RESULT)
    assert not fits({**result, "ok": False}, RESULT)
    assert not fits({**result, "uncertain": False}, RESULT)
    assert not fits({name: value for name, value in result.items() if name != "wrote"}, RESULT)


def test_each_is_made_anew() -> None:
    first: Any = request_schema()
    first.clear()
    assert request_schema()
