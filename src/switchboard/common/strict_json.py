"""JSON exactly as `JSON.parse` reads it, and as files and terminals can take it back.

Python's `json` accepts NaN and Infinity, keeps whole numbers that a double cannot hold, refuses a 5,000-digit number,
and gives up at some nesting depth; a request file may be anything that fits in its size limit. The C parser of the
standard library does the work wherever its answer is the same; documents nested too deeply for it take an iterative
way through the same rules. Values nest as deeply as the text does, so compare them with `equal` and write them with
`dump`: `==` and `json.dumps` recurse.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import TypeAlias, cast

from switchboard.common.ecma import MAX_SAFE_INTEGER, number_to_string, to_well_formed

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""A parsed value. A whole number is an int while a double holds it exactly, else the double that is nearest."""

_SPACE = re.compile(r"[ \t\n\r]*")
_EXACT_DIGITS = 15  # every number of so many digits is below MAX_SAFE_INTEGER


class JsonSyntaxError(ValueError):
    """The text is not JSON. The message says what was expected and where, and quotes none of the text."""


def decode_utf8(data: bytes) -> str:
    """Return the text of `data`; invalid bytes read as U+FFFD.

    A byte-order mark stays, so that `parse` refuses it as `JSON.parse` does.
    """
    return data.decode("utf-8", "replace")


def parse(text: str) -> JsonValue:
    """Return the value of a JSON text. Duplicate keys: the last one wins. Lone surrogates in strings are kept.

    Raises `JsonSyntaxError` where `JSON.parse` throws, and nowhere else.
    """
    try:
        return cast("JsonValue", _DECODER.decode(text))
    except RecursionError:
        return _parse_deep(text)
    except json.JSONDecodeError as error:
        raise _syntax_error(error.msg, text, error.pos) from None


def dump(value: JsonValue) -> bytes:
    """Return compact JSON as UTF-8, without a newline at the end.

    Numbers are written as JavaScript prints them (1.0 is `1`, infinity is `null`), lone surrogates as U+FFFD. Any
    depth is fine. Raises TypeError for a value or key that JSON does not have.
    """
    pieces: list[str] = []
    unfinished: list[tuple[Iterator[tuple[str, JsonValue]], str]] = []
    lead, item = "", value
    while True:
        pieces.append(lead)
        if isinstance(item, dict):
            pieces.append("{")
            unfinished.append((_members(item), "}"))
        elif isinstance(item, list):
            pieces.append("[")
            unfinished.append((_elements(item), "]"))
        else:
            pieces.append(_scalar_text(item))
        while unfinished:
            following = next(unfinished[-1][0], None)
            if following is not None:
                lead, item = following
                break
            pieces.append(unfinished.pop()[1])
        else:
            return to_well_formed("".join(pieces)).encode()


def equal(left: JsonValue, right: JsonValue) -> bool:
    """Tell whether two values are the same JSON: 1 equals 1.0 but not true; the order of keys does not matter."""
    rest: list[tuple[JsonValue, JsonValue]] = [(left, right)]
    while rest:
        one, other = rest.pop()
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            rest.extend(zip(one, other, strict=True))
        elif isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            rest.extend((member, other[key]) for key, member in one.items())
        elif isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif isinstance(one, list | dict) or isinstance(other, list | dict) or one != other:
            return False
    return True


def _whole(digits: str) -> int | float:
    """Read a number without fraction or exponent the way a double holds it."""
    if len(digits) <= _EXACT_DIGITS:
        return int(digits)
    number = float(digits)  # takes any number of digits, where int() refuses more than 4,300
    return int(number) if abs(number) <= MAX_SAFE_INTEGER else number


def _refuse_constant(name: str) -> JsonValue:
    raise JsonSyntaxError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_whole, parse_constant=_refuse_constant)


def _syntax_error(expected: str, text: str, position: int) -> JsonSyntaxError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return JsonSyntaxError(f"{expected} at line {line} column {column}")


def _parse_deep(text: str) -> JsonValue:
    """Parse with a stack of our own: each turn of the outer loop reads what begins a value, the inner one ends it."""
    unfinished: list[list[JsonValue] | dict[str, JsonValue]] = []
    keys: list[str] = []  # for each unfinished object, the key whose value is being read
    at = _skip(text, 0)
    while True:
        value: JsonValue
        opening = text[at : at + 1]
        if opening in ("[", "{"):
            at = _skip(text, at + 1)
            container: list[JsonValue] | dict[str, JsonValue] = [] if opening == "[" else {}
            if text[at : at + 1] != ("]" if opening == "[" else "}"):
                unfinished.append(container)
                if opening == "{":
                    at = _read_key(text, at, keys)
                continue
            value = container
            at += 1
        else:
            value, at = _read_scalar(text, at)
        while unfinished:
            at = _skip(text, at)
            ended, at = _place(text, at, value, unfinished[-1], keys)
            if not ended:
                break
            value = unfinished.pop()
        else:
            at = _skip(text, at)
            if at != len(text):
                raise _syntax_error("Extra data", text, at)
            return value


def _place(
    text: str, at: int, value: JsonValue, container: list[JsonValue] | dict[str, JsonValue], keys: list[str]
) -> tuple[bool, int]:
    """Put a finished value into its container; return whether that ends too, and where reading goes on."""
    if isinstance(container, list):
        container.append(value)
    else:
        container[keys.pop()] = value
    mark = text[at : at + 1]
    if mark == ("]" if isinstance(container, list) else "}"):
        return True, at + 1
    if mark != ",":
        raise _syntax_error("Expecting ',' delimiter", text, at)
    at = _skip(text, at + 1)
    return False, at if isinstance(container, list) else _read_key(text, at, keys)


def _read_key(text: str, at: int, keys: list[str]) -> int:
    """Read `"key":`, remember the key, and return where its value begins."""
    if text[at : at + 1] != '"':
        raise _syntax_error("Expecting property name enclosed in double quotes", text, at)
    key, at = _read_scalar(text, at)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise _syntax_error("Expecting ':' delimiter", text, at)
    keys.append(cast("str", key))
    return _skip(text, at + 1)


def _read_scalar(text: str, at: int) -> tuple[JsonValue, int]:
    """Read a value that is neither object nor array, which the C parser does without recursion."""
    try:
        return cast("tuple[JsonValue, int]", _DECODER.raw_decode(text, at))
    except json.JSONDecodeError as error:
        raise _syntax_error(error.msg, text, error.pos) from None


def _skip(text: str, at: int) -> int:
    return cast("re.Match[str]", _SPACE.match(text, at)).end()


def _members(value: dict[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    comma = ""
    for key, member in value.items():
        if not isinstance(key, str):
            raise TypeError(f"not a JSON key: {type(key).__name__}")
        yield f"{comma}{encode_basestring(key)}:", member
        comma = ","


def _elements(value: list[JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    comma = ""
    for element in value:
        yield comma, element
        comma = ","


def _scalar_text(value: JsonValue) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_to_string(value) if math.isfinite(value) else "null"
    raise TypeError(f"not a JSON value: {type(value).__name__}")
