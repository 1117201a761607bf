"""The shape of a legacy request (the legacy trigger contract): the checks in their order, the first failure wins.

The contract was written in JavaScript, so "absent" means that the property is not there: an explicit null is present,
and wrong. Unknown properties are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from switchboard.common.ecma import as_integer, json_quote, to_string, utf16_length
from switchboard.common.strict_json import JsonValue
from switchboard.delivery import reasons

MAX_COMMAND_LENGTH = 4096  # UTF-16 code units
MAX_STEPS = 20
MAX_TIMEOUT_MS = 600_000
KEYS = frozenset({"Escape"})

_FORBIDDEN = re.compile(r"[\r\n\x00\x1b]")


@dataclass(frozen=True, slots=True)
class Step:
    """One text of a chain; `timeout_ms` limits it beside the chain's own time."""

    command: str
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LegacyRequest:
    """A request whose shape is right. Exactly one of `command`, `chain` and `key` is there."""

    session_id: str
    command: str | None = None
    chain: tuple[Step, ...] = ()
    key: str | None = None
    wait_idle: bool = False
    timeout_ms: int | None = None
    expected_cwd: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that is to be typed."""
        return tuple(step.command for step in self.chain) or ((self.command,) if self.command is not None else ())

    @property
    def steps_total(self) -> int:
        return len(self.chain) or 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is refused for its shape. `internal`: it could not even be taken apart."""

    error: str
    reason: str | None = None
    steps_total: int = 0
    internal: bool = False


class _Absent:
    """Stands for a property that is not there."""


_ABSENT = _Absent()
_Field: TypeAlias = "JsonValue | _Absent"


def session_id_of(body: JsonValue) -> str | Refusal:
    """Return the session that a request names: all that is looked at before the session's queue is joined.

    A request, or a chain's step, that is null cannot be taken apart, and that comes before everything else.
    """
    if body is None:
        return Refusal(reasons.internal_error("the request is null, not an object"), internal=True)
    chain = _field(body, "chain")
    if isinstance(chain, list) and None in chain:
        index = next(index for index, step in enumerate(chain) if step is None)
        return Refusal(
            reasons.internal_error(f"step[{index}] is null, not an object"), steps_total=len(chain), internal=True
        )
    session_id = _field(body, "sessionId")
    if not isinstance(session_id, str) or not session_id:
        return Refusal(reasons.NO_SESSION_ID)
    return session_id


def echoed_session_id(body: JsonValue) -> JsonValue:
    """What a refusal for the lack of a session id shows in its place: the value that was there, null for none."""
    value = _field(body, "sessionId")
    return value if not isinstance(value, _Absent) and value else None


def validate(body: JsonValue, session_id: str) -> LegacyRequest | Refusal:
    """Check everything else, in order: wait, payload, time limit, expected directory."""
    wait = _field(body, "wait")
    if not isinstance(wait, _Absent) and wait not in ("none", "idle"):
        return Refusal(reasons.NOT_SENT, reasons.unknown_wait(json_quote(to_string(wait))))
    payload = _payload(body)
    if isinstance(payload, Refusal):
        return payload
    command, chain, key = payload
    steps_total = len(chain) or 1
    timeout = _timeout(_field(body, "timeout_ms"))
    if timeout is _INVALID:
        return Refusal(reasons.BAD_TIMEOUT, steps_total=steps_total)
    cwd = _field(body, "expectedCwd")
    if not isinstance(cwd, _Absent) and not (isinstance(cwd, str) and cwd):
        return Refusal(reasons.NOT_SENT, reasons.EXPECTED_CWD_SHAPE, steps_total)
    expected_cwd = cwd if isinstance(cwd, str) else None
    return LegacyRequest(session_id, command, chain, key, wait == "idle", timeout, expected_cwd)


_Payload = tuple[str | None, tuple[Step, ...], str | None]
_INVALID = -1
"""A time limit that is refused; valid ones are positive."""


def _payload(body: JsonValue) -> _Payload | Refusal:
    command, chain, key = _field(body, "command"), _field(body, "chain"), _field(body, "key")
    present = (command is not _ABSENT) + (chain is not _ABSENT) + (key is not _ABSENT)
    if present > 1:
        error = reasons.COMMAND_AND_CHAIN if isinstance(key, _Absent) else reasons.COMMAND_CHAIN_KEY
        return Refusal(error)
    if not present:
        return Refusal(reasons.NO_PAYLOAD)
    if not isinstance(command, _Absent):
        return _command(command)
    if not isinstance(chain, _Absent):
        return _chain(chain)
    if not isinstance(key, str) or key not in KEYS:
        return Refusal(reasons.UNSUPPORTED_KEY, steps_total=1)
    return None, (), key


def _command(command: JsonValue) -> _Payload | Refusal:
    if not isinstance(command, str) or not command:
        return Refusal(reasons.NO_COMMAND, steps_total=1)
    if utf16_length(command) > MAX_COMMAND_LENGTH:
        return Refusal(reasons.COMMAND_TOO_LONG, steps_total=1)
    if _FORBIDDEN.search(command):
        return Refusal(reasons.COMMAND_CONTROLS, steps_total=1)
    return command, (), None


def _chain(chain: JsonValue) -> _Payload | Refusal:
    if not isinstance(chain, list) or not chain:
        return Refusal(reasons.CHAIN_EMPTY)
    total = len(chain)
    if total > MAX_STEPS:
        return Refusal(reasons.CHAIN_TOO_LONG, steps_total=total)
    steps = []
    for index, element in enumerate(chain):
        step = _step(str(index), element)
        if not isinstance(step, Step):
            return Refusal(step, steps_total=total)
        steps.append(step)
    return None, tuple(steps), None


def _step(index: str, element: JsonValue) -> Step | str:
    """One step, or the `error` that refuses it."""
    command = _field(element, "command")
    if not isinstance(command, str) or not command:
        return reasons.step_no_command(index)
    if utf16_length(command) > MAX_COMMAND_LENGTH:
        return reasons.step_too_long(index)
    if _FORBIDDEN.search(command):
        return reasons.step_controls(index)
    timeout = _timeout(_field(element, "timeout_ms"))
    return reasons.step_bad_timeout(index) if timeout is _INVALID else Step(command, timeout)


def _timeout(value: _Field) -> int | None:
    if isinstance(value, _Absent):
        return None
    number = as_integer(value)
    return number if number is not None and 0 < number <= MAX_TIMEOUT_MS else _INVALID


def _field(body: JsonValue, name: str) -> _Field:
    """A property as destructuring reads it: of an object its own, of any other value none."""
    return body.get(name, _ABSENT) if isinstance(body, dict) else _ABSENT
