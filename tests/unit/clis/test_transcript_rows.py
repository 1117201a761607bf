"""Single rows and windows of rows."""

from __future__ import annotations

import pytest

from switchboard.clis.transcript_rows import (
    is_sidechain,
    message_of,
    parse_row,
    prompt_text,
    rows_backwards,
    rows_of,
    stamp_of,
    text_of,
)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("1970-01-01T00:00:00.000Z", 0),
        ("2026-09-21T14:13:20.123Z", 1_790_000_000_123),
        ("2026-09-21T16:13:20.123+02:00", 1_790_000_000_123),
        ("2026-09-21T14:13:20.123999Z", 1_790_000_000_123),
        ("1969-12-31T23:59:59.9995Z", -1),
        ("2026-09-21T14:13:20", None),
        ("2026-13-21T14:13:20Z", None),
        ("", None),
        ("now", None),
        ("2" * 100_000, None),
        (1_790_000_000_123, None),
        (None, None),
    ],
)
def test_stamp(stamp: object, expected: int | None) -> None:
    assert stamp_of({"timestamp": stamp}) == expected


def test_rows_skip_what_is_none() -> None:
    window = b'{"a":1}\nbad\n\n[1]\n{"a":2}\n{"a":3'
    assert list(rows_of(window)) == [{"a": 1}, {"a": 2}]
    assert list(rows_of(b"")) == []


def test_backwards_leaves_out_the_cut_first_line_even_if_it_reads_as_a_row() -> None:
    assert list(rows_backwards(b'{"a":1}\n{"a":2}\nbad\n{"a":3}\n')) == [{"a": 3}, {"a": 2}]
    assert list(rows_backwards(b'{"a":1}')) == []


@pytest.mark.parametrize("line", [b"", b"null", b"1", b"[", b"[" * 50_000, b'{"a":' * 50_000, b"\xff", b"9" * 9_000])
def test_no_row(line: bytes) -> None:
    assert parse_row(line) is None


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"type": "user", "message": {"content": "hi"}}, "hi"),
        ({"type": "user", "isMeta": True, "message": {"content": "hi"}}, None),
        ({"type": "user", "message": {"content": [{"type": "tool_result"}]}}, None),
        ({"type": "user", "message": "hi"}, None),
        ({"type": "user"}, None),
        ({"type": "assistant", "message": {"content": "hi"}}, None),
    ],
)
def test_prompt_text(row: dict[str, object], text: str | None) -> None:
    assert prompt_text(row) == text


def test_fields_of_another_type_say_nothing() -> None:
    assert text_of({"x": 5}, "x") is None
    assert text_of({"x": ""}, "x") is None
    assert message_of({"message": []}) == {}
    assert not is_sidechain({"isSidechain": "true"})
    assert is_sidechain({"isSidechain": True})
