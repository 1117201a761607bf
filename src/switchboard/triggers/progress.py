"""What becomes of a request, for those who watch (pure)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from switchboard.common.strict_json import JsonValue
from switchboard.triggers.results import Result

Step: TypeAlias = Literal["received", "waiting", "opening", "writing", "stopping", "done"]
"""How far a request is. Only versioned ones open and stop.

`waiting`: for the session's turn, and for the session. `writing`: the first byte goes out. `stopping`: the session was
asked to end.
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of one request. `name`: its file name without the ending. Prompts are not part of it.

    `action`: what is asked for (`command`, `chain`, `key`, `open`, `new`, `stop`), empty where that is not known.
    `ok` and what follows it are those of the result, None and False before.
    """

    name: str
    step: Step
    action: str = ""
    session_id: str | None = None
    ok: bool | None = None
    submitted: str | None = None
    error: str | None = None
    reason: str | None = None
    outcome: str | None = None
    uncertain: bool = False
    detail: str | None = None


Observer = Callable[[Progress], None]
"""Told of each step. What it raises is dropped: watching must not change what happens to a request."""


def received(name: str, body: JsonValue) -> Progress:
    """The step of a request whose body could be read."""
    fields = body if isinstance(body, dict) else {}
    session_id = fields.get("sessionId")
    return Progress(name, "received", _action(fields), session_id if isinstance(session_id, str) else None)


def _action(fields: dict[str, JsonValue]) -> str:
    action = fields.get("action")
    if action in ("open", "stop"):
        return "new" if action == "open" and "new" in fields else str(action)
    if "version" in fields or "action" in fields:
        return ""
    return next((kind for kind in ("command", "chain", "key") if kind in fields), "")


def _answered(result: Result) -> str:
    """What a result shows to have been asked for, which a new session's shows in a field of its own."""
    action = _action(result)
    return "new" if action == "open" and "created" in result else action


def done(name: str, result: Result, begun: Progress | None) -> Progress:
    """The step of a request that has its result. `begun`: None for one that an earlier host had taken up."""
    return Progress(
        name,
        "done",
        _answered(result) if begun is None else begun.action,
        _text(result.get("sessionId")) or (None if begun is None else begun.session_id),
        result.get("ok") is True,
        _text(result.get("submitted")),
        _text(result.get("error")),
        _text(result.get("reason")),
        _text(result.get("outcome")),
        result.get("uncertain") is True,
        _text(result.get("detail")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Teller:
    """Tells an observer, if there is one, and remembers what each request under way was."""

    def __init__(self, observe: Observer | None) -> None:
        self._observe = observe
        self._begun: dict[str, Progress] = {}

    def received(self, name: str, body: JsonValue) -> None:
        """The body of a request could be read."""
        if self._observe is not None:
            begun = self._begun[name] = received(name, body)
            self._tell(begun)

    def step(self, name: str, step: Step) -> None:
        """A request has come so far; the same step again is nothing new."""
        begun = self._begun.get(name)
        if begun is not None and begun.step != step:
            begun = self._begun[name] = replace(begun, step=step)
            self._tell(begun)

    def done(self, name: str, result: Result) -> None:
        """A request has its result."""
        if self._observe is not None:
            self._tell(done(name, result, self._begun.pop(name, None)))

    def forget(self, name: str) -> None:
        """A request ends without a result of its own."""
        self._begun.pop(name, None)

    def _tell(self, progress: Progress) -> None:
        if self._observe is not None:
            with suppress(Exception):
                self._observe(progress)
