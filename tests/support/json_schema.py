"""As much of JSON Schema as our own schemas use: tells whether a value fits. An unknown keyword is an error.

A checker from outside would be one more package for two small schemas; that it knows every keyword in them is tested.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from switchboard.common.ecma import WHITESPACE, is_integer
from switchboard.common.strict_json import equal

ANNOTATIONS = frozenset({"$schema", "$defs", "title", "description", "then", "else"})
TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def fits(value: Any, schema: Any, root: Any = None) -> bool:
    """Whether `value` is valid against `schema`."""
    root = schema if root is None else root
    return all(
        RULES[keyword](value, rule, schema, root) for keyword, rule in schema.items() if keyword not in ANNOTATIONS
    )


def _properties(value: Any, rule: Any, schema: Any, root: Any) -> bool:
    return not isinstance(value, dict) or all(
        fits(value[name], one, root) for name, one in rule.items() if name in value
    )


def _no_others(value: Any, rule: Any, schema: Any, root: Any) -> bool:
    assert rule is False
    return not isinstance(value, dict) or set(value) <= set(schema["properties"])


def _of_text(holds: Callable[[str, Any], bool]) -> Rule:
    return lambda value, rule, schema, root: not isinstance(value, str) or holds(value, rule)


def _of_number(holds: Callable[[Any, Any], bool]) -> Rule:
    return lambda value, rule, schema, root: not is_integer(value) or holds(value, rule)


Rule = Callable[[Any, Any, Any, Any], bool]

RULES: dict[str, Rule] = {
    "$ref": lambda value, rule, schema, root: fits(value, root["$defs"][rule.removeprefix("#/$defs/")], root),
    "type": lambda value, rule, schema, root: any(
        TYPES[name](value) for name in ([rule] if isinstance(rule, str) else rule)
    ),
    "const": lambda value, rule, schema, root: equal(value, rule),
    "enum": lambda value, rule, schema, root: any(equal(value, one) for one in rule),
    "oneOf": lambda value, rule, schema, root: sum(fits(value, one, root) for one in rule) == 1,
    "not": lambda value, rule, schema, root: not fits(value, rule, root),
    "if": lambda value, rule, schema, root: fits(value, schema["then" if fits(value, rule, root) else "else"], root),
    "required": lambda value, rule, schema, root: not isinstance(value, dict) or set(rule) <= set(value),
    "properties": _properties,
    "additionalProperties": _no_others,
    "pattern": _of_text(lambda text, pattern: re.search(_ecmascript(pattern), text) is not None),
    "minLength": _of_text(lambda text, length: len(text) >= length),
    "maxLength": _of_text(lambda text, length: len(text) <= length),
    "minimum": _of_number(lambda number, limit: bool(number >= limit)),
    "maximum": _of_number(lambda number, limit: bool(number <= limit)),
}
"""For each keyword: value, what the keyword says, the schema it stands in, the whole schema."""


def _ecmascript(pattern: str) -> str:
    """What ECMAScript means by it: `\\S` is what `trim` leaves, and `$` the very end."""
    return pattern.replace(r"\S", f"[^{WHITESPACE}]").replace("$", r"\Z")
