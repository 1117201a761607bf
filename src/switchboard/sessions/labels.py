"""What the host remembers of a session in the keeper's hands (pure).

A label is written before the host acts on it, so a killed host's successor knows at least as much as happened. It is
read by later versions: unknown fields are ignored, missing ones have defaults, and a label that cannot be read at all
yields a session whose composer counts as occupied.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import UnionType
from typing import Any

import msgspec

VERSION = 1
MAX_DELIVERY_BYTES = 16 * 1024
"""A prompt has at most 4,096 UTF-16 units: 12 KiB of UTF-8, and a paste's markers."""


@dataclass(slots=True, kw_only=True)
class InTheBox:
    """What a delivery had typed, since `delivery_at` (wall milliseconds), and may stand in the box; None: nothing.

    `entered`: its Enter was written as well; `at_rest`: into a CLI that was at rest, so that what it does next is the
    effect. As long as there is such a text, the label's `composer` is the model without it.
    """

    delivery: bytes | None = None
    delivery_at: int = 0
    entered: bool = False
    at_rest: bool = False


@dataclass(slots=True)
class Label(InTheBox):
    """One session. `key`: the CLI's session id now; `past`: the ids it had. `launched_at`: wall milliseconds.

    `writer`: (process id, start identity) of the CLI that owns the conversation, once its descriptor has shown it.
    `modes`: bytes that bring a fresh terminal to the modes as they stood after byte `modes_seq`. `request`: the one on
    whose behalf something was written last, until it is answered. `opened_by`: "trigger", or None when a person opened
    it. `sandbox`: it was started in a sandbox; `descriptors`: the folder of this one start's descriptors, None when its
    CLI writes into the shared one.
    """

    key: str
    profile: str
    cwd: str
    generation: int
    launched_at: int
    launch: str = "new"
    project: str | None = None
    name: str | None = None
    past: list[str] = field(default_factory=list)
    columns: int = 120
    rows: int = 40
    sandbox: bool = False
    writer: tuple[int, str] | None = None
    composer: dict[str, Any] | None = None
    title: str = ""
    busy: bool = False
    modes: bytes = b""
    modes_seq: int = 0
    request: str | None = None
    opened_by: str | None = None
    descriptors: str | None = None


_OPTIONAL: Mapping[str, type | UnionType] = {
    "launch": str,
    "project": str | None,
    "name": str | None,
    "past": list,
    "columns": int,
    "rows": int,
    "sandbox": bool,
    "title": str,
    "busy": bool,
    "modes_seq": int,
    "delivery_at": int,
    "entered": bool,
    "at_rest": bool,
    "request": str | None,
    "opened_by": str | None,
    "descriptors": str | None,
}


_FIELDS = tuple(each.name for each in fields(Label))


def encode_label(label: Label) -> bytes:
    """Return the label's bytes, well below the keeper's limit."""
    # Written at every keystroke, before it goes on: `asdict` would copy what lies inside first, at twenty times the
    # cost, and the standard library's encoder takes as long as all the rest of the keystroke's way.
    values = {name: getattr(label, name) for name in _FIELDS} | {"v": VERSION}
    values["modes"] = base64.b64encode(label.modes[:4096]).decode("ascii")
    if label.delivery is not None:
        values["delivery"] = base64.b64encode(label.delivery[:MAX_DELIVERY_BYTES]).decode("ascii")
    try:
        return msgspec.json.encode(values)
    except UnicodeEncodeError:
        # A directory's name that is no UTF-8 stands here with lone surrogates, and JSON's escapes can say them.
        return json.dumps(values, separators=(",", ":")).encode("ascii")


def decode_label(data: bytes) -> Label | None:
    """Return the label, or None when these bytes are none."""
    try:
        fields = json.loads(data)
        label = Label(
            key=_text(fields["key"]),
            profile=_text(fields["profile"]),
            cwd=_text(fields["cwd"]),
            generation=int(fields["generation"]),
            launched_at=int(fields["launched_at"]),
        )
        for name, kind in _OPTIONAL.items():
            if name in fields:
                setattr(label, name, _checked(fields[name], kind))
        label.past = [_text(key) for key in label.past]
        label.composer = fields.get("composer")
        writer = fields.get("writer")
        label.writer = (int(writer[0]), _text(writer[1])) if writer else None
        label.modes = base64.b64decode(fields.get("modes", ""))
        delivery = fields.get("delivery")
        label.delivery = None if delivery is None else base64.b64decode(delivery)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
    return label


def _checked(value: Any, kind: type | UnionType) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"not {kind}")
    return value


def _text(value: Any) -> str:
    return str(_checked(value, str))
