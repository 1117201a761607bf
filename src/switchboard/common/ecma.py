"""ECMAScript's notions of text and number, for a wire contract that was written in them.

Trigger files are specified in terms of a JavaScript implementation: a length counts UTF-16 code units, blank text is
what `trim` empties, an integer is what `Number.isInteger` accepts, and a refused value is echoed as `String(value)`
shows it. Python's `len`, `strip`, `isinstance(True, int)` and `repr` all differ, so the rules live here, in one place.
Values are those `strict_json.parse` returns: None, bool, int, float, str, list and dict.
"""

from __future__ import annotations

import math
import re
from json.encoder import encode_basestring
from typing import TypeGuard

# WhiteSpace and LineTerminator of ECMA-262: tab, VT, FF, byte-order mark, every "space separator", LF, CR, LS, PS.
# Python's own `strip()` also takes U+001C..U+001F and U+0085, and leaves U+FEFF.
WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

MAX_SAFE_INTEGER = 2**53
"""Up to here every whole number has its own double; JavaScript rounds what lies beyond."""

_LARGEST_PLAIN_EXPONENT = 21  # Number::toString switches to the exponent form at 1e21 ...
_SMALLEST_PLAIN_EXPONENT = -6  # ... and below 1e-6.

_SURROGATE = re.compile("[\ud800-\udfff]")
_LEADING_INTEGER = re.compile(r"([+-]?)([0-9]+)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_INFINITE = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}


def utf16_length(text: str) -> int:
    """Return `text.length` as JavaScript counts it: characters beyond U+FFFF count twice."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_sort_key(text: str) -> bytes:
    """Return a key that orders texts by UTF-16 code units, as JavaScript's `<` and default `sort` do.

    It differs from Python's order where an emoji (its first unit is U+D83C or so) meets U+E000..U+FFFF.
    """
    return text.encode("utf-16-be", "surrogatepass")


def trim(text: str) -> str:
    """Return `text.trim()`. Text is "whitespace-only" when this is empty."""
    return text.strip(WHITESPACE)


def to_well_formed(text: str) -> str:
    """Return the text with each lone surrogate as U+FFFD, so that it can be written as UTF-8."""
    if _SURROGATE.search(text) is None:
        return text
    return _SURROGATE.sub("\ufffd", _join_surrogates(text))


def is_integer(value: object) -> TypeGuard[int | float]:
    """Tell whether `Number.isInteger(value)`: 1, 1.0 and 1e3 are; True, "1" and infinity are not."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def as_integer(value: object) -> int | None:
    """Return the value as an int when `is_integer` accepts it, else None."""
    return int(value) if is_integer(value) else None


def to_string(value: object) -> str:
    """Return `String(value)` of a parsed JSON value: arrays joined by commas, objects as `[object Object]`.

    Any nesting depth is fine. Raises TypeError for a value that JSON does not have.
    """
    if not isinstance(value, list):
        return _leaf_to_string(value)
    # Joining nested arrays with one separator gives the flat list of their leaves; an empty array, and a null inside
    # an array, are empty leaves.
    leaves: list[str] = []
    rest: list[object] = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, list) and item:
            rest.extend(reversed(item))
        elif item is None or isinstance(item, list):
            leaves.append("")
        else:
            leaves.append(_leaf_to_string(item))
    return ",".join(leaves)


def number_to_string(value: float) -> str:
    """Return `String(value)` of a number: 1.0 is `1`, 1e21 is `1e+21`, 1e-7 is `1e-7`, -0 is `0`."""
    if isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER:
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    digits, point = _shortest_digits(abs(number))
    return sign + _place_point(digits, point)


def json_quote(text: str) -> str:
    """Return `JSON.stringify(text)`: quoted, controls escaped, lone surrogates as `\\udxxx` escapes."""
    quoted = encode_basestring(text)
    if _SURROGATE.search(quoted) is None:
        return quoted
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", _join_surrogates(quoted))


def parse_int(text: str) -> int | None:
    """Return `parseInt(text, 10)`: blanks, a sign and leading digits count, the rest is ignored.

    None stands for NaN, and for a number too large to be finite.
    """
    found = _LEADING_INTEGER.match(text.lstrip(WHITESPACE))
    if found is None:
        return None
    magnitude = float(found[2])
    if math.isinf(magnitude):
        return None
    return -int(magnitude) if found[1] == "-" else int(magnitude)


def parse_number(text: str) -> float | None:
    """Return `Number(text)`: the whole text must be a number, blank text is 0. None stands for NaN."""
    bare = trim(text)
    if not bare:
        return 0.0
    if bare in _INFINITE:
        return _INFINITE[bare]
    if _DECIMAL.fullmatch(bare):
        return float(bare)
    if _RADIX.fullmatch(bare):
        return _int_to_double(int(bare, 0))
    return None


def _leaf_to_string(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_to_string(value)
    if isinstance(value, dict):
        return "[object Object]"
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def _join_surrogates(text: str) -> str:
    """Make one character of a high surrogate that is directly followed by a low one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _int_to_double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shortest_digits(number: float) -> tuple[str, int]:
    """Return the shortest digits that read back as `number`, and where the decimal point stands among them."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    point = len(whole) - leading_zeros + int(exponent or 0)
    return digits.rstrip("0"), point


def _place_point(digits: str, point: int) -> str:
    """Write digits the way Number::toString does for its five ranges."""
    if len(digits) <= point <= _LARGEST_PLAIN_EXPONENT:
        return digits.ljust(point, "0")
    if 0 < point <= _LARGEST_PLAIN_EXPONENT:
        return f"{digits[:point]}.{digits[point:]}"
    if _SMALLEST_PLAIN_EXPONENT < point <= 0:
        return f"0.{'0' * -point}{digits}"
    exponent = f"e{point - 1:+d}"
    return f"{digits[0]}.{digits[1:]}{exponent}" if len(digits) > 1 else digits + exponent
