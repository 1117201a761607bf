"""`JSON.parse` in Python: what is refused, what is accepted, and what may never crash."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.common import strict_json
from switchboard.common.strict_json import JsonSyntaxError, JsonValue, decode_utf8, dump, equal, parse

SIZE_LIMIT = 65_536  # bytes of a request file

TEXTS = st.text(st.characters(exclude_categories=()), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)

# Both ways through the rules answer alike; the second is taken when a document nests too deeply for the first.
BOTH = pytest.mark.parametrize("read", [parse, strict_json._parse_deep], ids=["C parser", "iterative parser"])
Read = Callable[[str], JsonValue]

REFUSED = {
    "nothing": "",
    "blank": " \n",
    "NaN": "NaN",
    "Infinity": "[Infinity]",
    "negative Infinity": '{"a":-Infinity}',
    "byte-order mark": "\ufeff{}",
    "trailing text": "{} x",
    "second document": "{}{}",
    "trailing comma in array": "[1,]",
    "trailing comma in object": '{"a":1,}',
    "leading comma": "[,1]",
    "missing comma": "[1 2]",
    "missing colon": '{"a" 1}',
    "missing value": '{"a":}',
    "missing key": "{:1}",
    "unquoted key": "{a:1}",
    "number as key": "{1:1}",
    "single quotes": "['a']",
    "leading zero": "[01]",
    "negative leading zero": "-01",
    "plus sign": "+1",
    "bare point": ".5",
    "point without fraction": "1.",
    "exponent without digits": "1e",
    "lone minus": "-",
    "hexadecimal": "0x10",
    "other digits": "١",
    "newline in string": '"a\nb"',
    "NUL in string": '"\0"',
    "tab in key": '{"\t":1}',
    "unknown escape": r'"\x41"',
    "short unicode escape": r'"\u12"',
    "spaced unicode escape": r'"\u 123"',
    "open string": '"abc',
    "open escape": '"abc\\',
    "open array": "[1",
    "open object": '{"a":1',
    "open after comma": '{"a":1,',
    "wrong closer": '[{"a":1]}',
    "closer alone": "]",
    "comment": "[1] // x",
    "vertical tab": "\v1",
    "no-break space": "\u00a01",
    "half a literal": "tru",
    "capital literal": "True",
    "undefined": "undefined",
}

ACCEPTED: dict[str, tuple[str, JsonValue]] = {
    "null": ("null", None),
    "literals": (" [true,false , null]\r\n", [True, False, None]),
    "empty array": ("[ ]", []),
    "empty object": ("{\t}", {}),
    "nested empties": ('[[],{},[[]],{"a":{}}]', [[], {}, [[]], {"a": {}}]),
    "duplicate keys: last wins": ('{"a":1,"b":2,"a":[3]}', {"a": [3], "b": 2}),
    "empty key": ('{"":0}', {"": 0}),
    "escapes": (r'"\"\\\/\b\f\n\r\t\u0041"', '"\\/\b\f\n\r\tA'),
    "escaped NUL": (r'"\u0000"', "\0"),
    "surrogate pair": (r'"\ud83d\ude00"', "😀"),
    "lone surrogates": (r'"\ude00\ud83d"', "\ude00\ud83d"),
    "lone before a pair": (r'"\ud83d\ud83d\ude00"', "\ud83d😀"),
    "separators and DEL raw": ('"\u2028\u2029\x7f"', "\u2028\u2029\x7f"),
    "negative zero": ("-0", 0),
    "integral float": ("[1.0,1e3]", [1.0, 1000.0]),
    "largest exact integer": ("9007199254740992", 2**53),
    "integer beyond a double": ("9007199254740993", 2.0**53),
    "thirty digits": ("1" * 30, 1.111111111111111e29),
    "five thousand digits": ("9" * 5000, math.inf),
    "negative five thousand digits": ("-" + "9" * 5000, -math.inf),
    "overflowing exponent": ("-1e999", -math.inf),
    "underflowing exponent": ("1e-999", 0.0),
}


@BOTH
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_refused(read: Read, text: str) -> None:
    with pytest.raises(JsonSyntaxError):
        read(text)


@BOTH
@pytest.mark.parametrize(("text", "value"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(read: Read, text: str, value: JsonValue) -> None:
    assert equal(read(text), value)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_refused_inside_deep_nesting(text: str) -> None:
    with pytest.raises(JsonSyntaxError):
        parse("[" * 20_000 + "0," + text + "]" * 20_000)


def test_keys_keep_the_place_of_their_first_mention() -> None:
    value = parse('{"a":1,"b":2,"a":3}')
    assert isinstance(value, dict)
    assert list(value) == ["a", "b"]


def test_whole_numbers_are_ints_while_a_double_holds_them() -> None:
    value = parse("[9007199254740992,9007199254740993,1.0,-0]")
    assert isinstance(value, list)
    assert [type(number) for number in value] == [int, int, float, int]
    assert isinstance(parse("9007199254740994"), float)


def test_an_error_tells_the_place_and_none_of_the_text() -> None:
    with pytest.raises(JsonSyntaxError, match="at line 2 column 5") as caught:
        parse('{"secret":\n    hunter2}')
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ('{"":', "}"), ('[{"a":', "}]"), (" [ ", " ] ")],
    ids=["arrays", "objects", "both", "spaced"],
)
def test_any_depth_that_fits_in_a_request(opening: str, closing: str) -> None:
    depth = (SIZE_LIMIT - 1) // len(opening + closing)
    text = opening * depth + "1" + closing * depth
    value = parse(text)
    assert equal(value, parse(text))
    assert not equal(value, parse(text.replace("1", "2")))
    assert dump(value) == text.replace(" ", "").encode()


@given(VALUES)
def test_what_is_written_reads_back(value: JsonValue) -> None:
    text = dump(value).decode()
    once = parse(text)
    assert dump(once).decode() == text
    assert equal(strict_json._parse_deep(text), once)


@given(st.text(max_size=12) | st.text('[]{}",:\\u0129eE+-. \ntfnal', max_size=12))
def test_both_parsers_agree_on_any_text(text: str) -> None:
    answers: list[JsonValue] = []
    for read in (parse, strict_json._parse_deep):
        try:
            answers.append(["read", read(text)])
        except JsonSyntaxError:
            answers.append(["refused"])
    assert equal(answers[0], answers[1])


@given(VALUES)
def test_python_reads_what_is_written(value: JsonValue) -> None:
    json.loads(dump(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"ok": True, "n": 1.0, "x": [None, False, "é😀"]}, '{"ok":true,"n":1,"x":[null,false,"é😀"]}'),
        ({"a": {}, "b": [], "c": [[], {}]}, '{"a":{},"b":[],"c":[[],{}]}'),
        ([1e21, 1e-7, 0.5, -0.0], "[1e+21,1e-7,0.5,0]"),
        ([math.inf, -math.inf, math.nan], "[null,null,null]"),
        ("\ud83d|\ud83d\ude00", '"\ufffd|😀"'),
        ({"\udc00": "\0\n"}, '{"\ufffd":"\\u0000\\n"}'),
        (12345678901234567890, "12345678901234567890"),
        (None, "null"),
    ],
    ids=ascii,
)
def test_written_form(value: JsonValue, text: str) -> None:
    assert dump(value) == text.encode()


@pytest.mark.parametrize("value", [{1: 2}, {"a": b""}, [(1,)], {None: 1}], ids=repr)
def test_only_json_is_written(value: JsonValue) -> None:
    with pytest.raises(TypeError, match="not a JSON"):
        dump(value)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'"\xc3\xa9"', '"é"'),
        (b"\xff", "\ufffd"),
        (b"\xc3", "\ufffd"),
        (b"\xf0\x9f\x98x", "\ufffdx"),
        (b"\xe0\x80\x80", "\ufffd" * 3),
        (b"\xed\xa0\x80", "\ufffd" * 3),
        (b"\xef\xbb\xbf{}", "\ufeff{}"),
    ],
    ids=ascii,
)
def test_invalid_bytes_read_as_replacement_characters(data: bytes, text: str) -> None:
    assert decode_utf8(data) == text


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ("1", 1, False),
        ([1], [1, 2], False),
        ([], {}, False),
        ([1], 1, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": [{"b": None}]}, {"a": [{"b": None}]}, True),
        ({"a": [{"b": None}]}, {"a": [{"b": 0}]}, False),
    ],
    ids=repr,
)
def test_equality(left: JsonValue, right: JsonValue, same: bool) -> None:
    assert equal(left, right) is same
    assert equal(right, left) is same
