"""Write web/src/messages.ts from the one schema of what page and host say: `python tools/generate_messages.py`.

What the host sends has every field; of what the page sends, fields with a default may be left out. The result is
committed, so that the page can be read and built without Python; a test fails when it and the schema drift apart.
Beside it the page's tests get every reason that a versioned request can end with: the page explains each.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any, get_args

import msgspec.json

from switchboard.page import messages
from switchboard.triggers.v1_reasons import catalogue

REASONS = Path(__file__).parents[1] / "web" / "tests" / "reasons.json"
TARGET = Path(__file__).parents[1] / "web" / "src" / "messages.ts"

HEAD = """\
// Generated from src/switchboard/page/messages.py by tools/generate_messages.py. Do not edit.
"""

CONSTANTS = ("PROTOCOL", "MAX_MESSAGE", "MAX_INPUT")
WIDTH = 118


def generate() -> str:
    """Return the text of messages.ts."""
    parts = [HEAD, "".join(f"export const {name} = {getattr(messages, name)};\n" for name in CONSTANTS)]
    parts.append(_limits())
    done: set[str] = set()
    for name, union, sent in (
        ("HostMessage", messages.HostMessage, False),
        ("PageMessage", messages.PageMessage, True),
    ):
        members = get_args(union)
        _, components = msgspec.json.schema_components(members)
        for title, schema in components.items():
            if title not in done:
                done.add(title)
                parts.append(_interface(title, schema, may_leave_out=sent))
        parts.append(f"export type {name} =\n" + "\n".join(f"  | {member.__name__}" for member in members) + ";\n")
    return "\n".join(parts)


def _limits() -> str:
    """Return the longest text of each field that a page may send, in code points."""
    _, components = msgspec.json.schema_components(get_args(messages.PageMessage))
    lines = ["/** The longest text, in code points, of each field of what the page sends. */\n"]
    lines.append("export const LIMITS: Record<string, Record<string, number>> = {\n")
    for schema in components.values():
        fields = schema["properties"]
        longest = {name: _longest(field) for name, field in fields.items()}
        texts = ", ".join(f"{name}: {most}" for name, most in longest.items() if most is not None)
        if texts:
            lines.append(f"  {fields['type']['enum'][0]}: {{ {texts} }},\n")
    return "".join([*lines, "};\n"])


def _longest(schema: dict[str, Any]) -> int | None:
    found = [one["maxLength"] for one in schema.get("anyOf", [schema]) if "maxLength" in one]
    return found[0] if found else None


def _interface(title: str, schema: dict[str, Any], *, may_leave_out: bool) -> str:
    required = set(schema.get("required", ()))
    lines = [_comment(schema.get("description", "")), f"export interface {title} {{\n"]
    for name, field in schema["properties"].items():
        mark = "?" if may_leave_out and name not in required else ""
        lines.append(f"  {name}{mark}: {_type(field)};\n")
    return "".join([*lines, "}\n"])


def _comment(text: str) -> str:
    paragraphs = [textwrap.fill(" ".join(part.split()), WIDTH) for part in text.split("\n\n") if part.strip()]
    inside = "\n\n".join(paragraphs).splitlines()
    if len(inside) <= 1:
        return f"/** {''.join(inside)} */\n" if inside else ""
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in inside) + " */\n"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    kind = schema["type"]
    if kind == "array":
        return f"{_type(schema['items'])}[]"
    return {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}[
        str(kind)
    ]


def reasons() -> str:
    """Return the text of reasons.json: each reason by its name, with `<…>` where a value goes."""
    return json.dumps(dict(catalogue()), indent=2) + "\n"


def main() -> int:
    """Write the files; with `--check`, only say whether they are as they should be."""
    wanted = {TARGET: generate(), REASONS: reasons()}
    if "--check" in sys.argv[1:]:
        return 0 if all(path.read_text("utf-8") == text for path, text in wanted.items()) else 1
    for path, text in wanted.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
