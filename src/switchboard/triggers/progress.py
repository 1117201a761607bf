"""What becomes of a request, for those who watch (pure)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from switchboard.common.strict_json import JsonValue
from switchboard.triggers.results import Result


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of one request. `name`: its file name without the ending. Prompts are not part of it.

    `ok`, `submitted`, `error` and `reason` are those of the result, None before.
    """

    name: str
    step: Literal["received", "done"]
    action: str = ""
    session_id: str | None = None
    ok: bool | None = None
    submitted: str | None = None
    error: str | None = None
    reason: str | None = None


Observer = Callable[[Progress], None]
"""Told of each step. What it raises is dropped: watching must not change what happens to a request."""


def received(name: str, body: JsonValue) -> Progress:
    """The step of a request whose body could be read."""
    fields = body if isinstance(body, dict) else {}
    action = next((kind for kind in ("command", "chain", "key") if kind in fields), "")
    session_id = fields.get("sessionId")
    return Progress(name, "received", action, session_id if isinstance(session_id, str) else None)


def done(name: str, result: Result, begun: Progress | None) -> Progress:
    """The step of a request that has its result."""
    return Progress(
        name,
        "done",
        "" if begun is None else begun.action,
        _text(result.get("sessionId")) or (None if begun is None else begun.session_id),
        result.get("ok") is True,
        _text(result.get("submitted")),
        _text(result.get("error")),
        _text(result.get("reason")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
