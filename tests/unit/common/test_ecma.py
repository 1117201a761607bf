"""ECMAScript text and number rules; the expected values were printed by a JavaScript engine."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.common import ecma

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates included


@pytest.mark.parametrize(
    ("text", "length"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("abc", 3, id="ascii"),
        pytest.param("é€", 2, id="basic plane"),
        pytest.param("😀", 2, id="an astral character counts twice"),
        pytest.param("\ud83d", 1, id="a lone surrogate counts once"),
        pytest.param("e\u0301", 2, id="combining marks are not joined"),
    ],
)
def test_length_counts_utf16_units(text: str, length: int) -> None:
    assert ecma.utf16_length(text) == length


def test_sort_order_compares_utf16_units() -> None:
    names = ["\uff5e", "😀", "b", "B", "a", "\ud800", ""]
    assert sorted(names, key=ecma.utf16_sort_key) == ["", "B", "a", "b", "\ud800", "😀", "\uff5e"]
    assert sorted(names) != sorted(names, key=ecma.utf16_sort_key)


@pytest.mark.parametrize("space", [*ecma.WHITESPACE], ids=lambda c: f"U+{ord(c):04X}")
def test_trim_takes_every_ecmascript_space(space: str) -> None:
    assert ecma.trim(f"{space}{space}a{space}b{space}") == f"a{space}b"


@pytest.mark.parametrize(
    "other", ["\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u180e", "\u200b", "\0"], ids=lambda c: f"U+{ord(c):04X}"
)
def test_trim_leaves_what_only_others_call_space(other: str) -> None:
    assert ecma.trim(other) == other


def test_there_are_25_spaces() -> None:
    assert len(set(ecma.WHITESPACE)) == len(ecma.WHITESPACE) == 25


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        (1, 1),
        (1.0, 1),
        (1e3, 1000),
        (-0.0, 0),
        (1e300, int(1e300)),
        (1.5, None),
        (True, None),
        (False, None),
        ("1", None),
        (None, None),
        ([1], None),
        ({}, None),
        (math.inf, None),
        (-math.inf, None),
        (math.nan, None),
    ],
    ids=repr,
)
def test_integers(value: object, whole: int | None) -> None:
    assert ecma.is_integer(value) is (whole is not None)
    assert ecma.as_integer(value) == whole
    assert not isinstance(ecma.as_integer(value), float)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        ("", ""),
        ("idle", "idle"),
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (100, "100"),
        (123456.75, "123456.75"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.25e21, "1.25e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (2**53 + 1, "9007199254740992"),
        (10**25, "1e+25"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (-1.5e-7, "-1.5e-7"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
        ({}, "[object Object]"),
        ({"a": 1}, "[object Object]"),
        ([], ""),
        ([None], ""),
        ([None, None], ","),
        ([1, [2, [], "x"], None, {"a": 1}, True], "1,2,,x,,[object Object],true"),
        ([[]], ""),
        ([[], []], ","),
    ],
    ids=repr,
)
def test_string_of_a_value(value: object, text: str) -> None:
    assert ecma.to_string(value) == text


def test_string_of_a_value_of_any_depth() -> None:
    deep: list[object] = ["x"]
    for _ in range(30_000):
        deep = [deep]
    assert ecma.to_string(deep) == "x"


@pytest.mark.parametrize("value", [b"a", (1,), object()], ids=["bytes", "tuple", "object"])
def test_string_of_what_json_does_not_have(value: object) -> None:
    with pytest.raises(TypeError, match="not a JSON value"):
        ecma.to_string(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_from_its_string(number: float) -> None:
    assert ecma.parse_number(ecma.number_to_string(number)) == number


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("null", '"null"'),
        ('a"b\\c/', '"a\\"b\\\\c/"'),
        ("\b\t\n\f\r", '"\\b\\t\\n\\f\\r"'),
        ("\0\x0b\x1b\x1f", '"\\u0000\\u000b\\u001b\\u001f"'),
        ("\x7f\x80\u2028\ufeff", '"\x7f\x80\u2028\ufeff"'),
        ("😀", '"😀"'),
        ("\ud83d", '"\\ud83d"'),
        ("\udc00\ud800", '"\\udc00\\ud800"'),
        ("\ud83d\ude00", '"😀"'),
    ],
    ids=ascii,
)
def test_quoting(text: str, quoted: str) -> None:
    assert ecma.json_quote(text) == quoted


@pytest.mark.parametrize(
    ("text", "formed"),
    [
        ("plain é 😀", "plain é 😀"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud800\ud83d\ude00\udc00", "\ufffd😀\ufffd"),
    ],
    ids=ascii,
)
def test_lone_surrogates_become_replacement_characters(text: str, formed: str) -> None:
    assert ecma.to_well_formed(text) == formed


@given(ANY_TEXT)
def test_any_text_can_be_made_writable(text: str) -> None:
    written = ecma.to_well_formed(text).encode().decode()
    assert ecma.utf16_length(written) == ecma.utf16_length(text)
    ecma.json_quote(text).encode()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", None),
        (" ", None),
        ("abc", None),
        ("-", None),
        ("- 5", None),
        (".5", None),
        ("Infinity", None),
        ("9" * 400, None),
        ("42", 42),
        ("\ufeff\n 42", 42),
        ("42ms", 42),
        ("+7", 7),
        ("-5", -5),
        ("-0", 0),
        ("3.9", 3),
        ("1e3", 1),
        ("0x10", 0),
        ("007", 7),
        ("1_000", 1),
        ("٤٢", None),
        ("9007199254740993", 9007199254740992),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_leading_integer(text: str, number: int | None) -> None:
    assert ecma.parse_int(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 0.0),
        (" \t\ufeff", 0.0),
        ("42", 42.0),
        (" 42\n", 42.0),
        ("+1.5", 1.5),
        ("-1.5e2", -150.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e400", math.inf),
        ("Infinity", math.inf),
        ("+Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("0x1F", 31.0),
        ("0b101", 5.0),
        ("0O17", 15.0),
        ("0x" + "f" * 300, math.inf),
        ("-0x1F", None),
        ("0b2", None),
        ("0x", None),
        (".", None),
        ("1e", None),
        ("12ms", None),
        ("1_000", None),
        ("inf", None),
        ("nan", None),
        ("infinity", None),
        ("٤٢", None),
        ("1 2", None),
        ("1\x85", None),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_whole_number_text(text: str, number: float | None) -> None:
    assert ecma.parse_number(text) == number
