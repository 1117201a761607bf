"""The marker of an action that was begun (pure): what a next host may know of it.

Theory of operation. A marker is written before the page is asked for anything, before a byte is typed and before a stop
is initiated. From then on the action belongs to this host: whoever finds the marker without a result answers
`interrupted by restart` and repeats nothing. What the action brings about is recorded as it goes; `EFFECTS` has the
legal order for each kind of request, and anything else is an error that changes nothing.

Two kinds of record. `PROMPT_ATTEMPTED` is written *before* its deed, so a recovered `wrote: false` is certain and
`wrote: true` means that a byte may be out, which is what `wrote` always means. The others are written *after* theirs
and say what was seen; between the deed and its record there is a gap, which is why every recovered result is uncertain.

The marker does not hold the text. It is no protection against a loss of power: nothing is flushed to the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

import msgspec

from switchboard.common.ecma import as_integer
from switchboard.common.strict_json import JsonSyntaxError, JsonValue, decode_utf8, parse
from switchboard.delivery.submission import Submitted
from switchboard.triggers.v1_schema import VERSION, Mode, Subject, is_request_id

LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999: what can still be written as a date."""


class Effect(Enum):
    """What an action brought about; the value is the phase that a marker names."""

    SPAWNED = "spawned"
    """A process was started for this request, seen."""
    PROMPT_ATTEMPTED = "prompt-attempted"
    """The first byte of the text is about to be written."""
    TEXT_WRITTEN = "text-written"
    ENTER_WRITTEN = "enter-written"
    NOTE_FINISHED = "note-finished"
    """The turn of the text before a stop has ended, proven."""
    STOP_REQUESTED = "stop-requested"
    """The signal was sent."""


CLAIMED = "claimed"
"""The phase of a marker without any effect: the page may have been asked, nothing else is known."""

_TYPING: Mapping[Effect | None, frozenset[Effect]] = MappingProxyType(
    {
        Effect.PROMPT_ATTEMPTED: frozenset({Effect.TEXT_WRITTEN, Effect.ENTER_WRITTEN}),
        Effect.TEXT_WRITTEN: frozenset({Effect.ENTER_WRITTEN}),
    }
)
"""A record may be left out where its deed and the next one are one call."""

EFFECTS: Mapping[Mode, Mapping[Effect | None, frozenset[Effect]]] = MappingProxyType(
    {
        Mode.RESUME: {
            None: frozenset({Effect.SPAWNED, Effect.PROMPT_ATTEMPTED}),
            Effect.SPAWNED: frozenset({Effect.PROMPT_ATTEMPTED}),
            **_TYPING,
        },
        Mode.NEW: {
            None: frozenset({Effect.SPAWNED}),
            Effect.SPAWNED: frozenset({Effect.PROMPT_ATTEMPTED}),
            **_TYPING,
        },
        Mode.STOP: {
            None: frozenset({Effect.PROMPT_ATTEMPTED, Effect.STOP_REQUESTED}),
            **_TYPING,
            Effect.ENTER_WRITTEN: frozenset({Effect.NOTE_FINISHED}),
            Effect.NOTE_FINISHED: frozenset({Effect.STOP_REQUESTED}),
        },
    }
)
"""For each kind of request, what may be recorded after what; None is a marker without effects."""


class IllegalEffect(ValueError):
    """An effect was recorded out of order. Our own mistake."""


@dataclass(frozen=True, slots=True)
class Marker:
    """One action under way. `request`: its file name without `.json`. `session_id`: the target, or the reserved id.

    `deadline`: the action's, a wall instant. `enter_at`: wall time of the Enter, where that is known.
    """

    request: str
    mode: Mode
    session_id: str | None
    deadline: int
    steps_total: int
    effects: tuple[Effect, ...] = ()
    submitted: Submitted = Submitted.NO
    enter_at: int | None = None

    @property
    def phase(self) -> str:
        return self.effects[-1].value if self.effects else CLAIMED

    @property
    def subject(self) -> Subject:
        """What a result says of the request."""
        return Subject(VERSION, self.mode.action, self.mode, self.session_id, self.steps_total)

    def after(self, effect: Effect, submitted: Submitted = Submitted.NO, enter_at: int | None = None) -> Marker:
        """The marker with one more effect. `submitted`: how sure the submission is by now; it never falls.

        Raises `IllegalEffect` for an effect that cannot follow.
        """
        last = self.effects[-1] if self.effects else None
        if effect not in EFFECTS[self.mode].get(last, frozenset()) or not self._fits(effect):
            raise IllegalEffect(f"{effect.value} cannot follow {self.phase} in a request to {self.mode.value}")
        floor = Submitted.ASSUMED if effect is Effect.ENTER_WRITTEN else Submitted.NO
        return replace(
            self,
            effects=(*self.effects, effect),
            submitted=max(self.submitted, submitted, floor),
            enter_at=self.enter_at if enter_at is None else enter_at,
        )

    def _fits(self, effect: Effect) -> bool:
        """Without a text nothing is typed; with one, a stop comes only after it."""
        if effect is Effect.PROMPT_ATTEMPTED:
            return self.steps_total > 0
        if effect is Effect.STOP_REQUESTED and self.steps_total:
            return Effect.NOTE_FINISHED in self.effects
        return True


class _Wire(msgspec.Struct):
    """A marker as it is written."""

    version: int
    action: str
    mode: str
    request: str
    sessionId: str | None  # noqa: N815 -- the contract's spelling
    deadline: int
    steps_total: int
    phase: str
    effects: list[str]
    submitted: str
    enter_at: int | None


def encode_marker(marker: Marker) -> bytes:
    """Return a marker as it is written: one JSON object and a newline."""
    wire = _Wire(
        version=VERSION,
        action=marker.mode.action,
        mode=marker.mode.value,
        request=marker.request,
        sessionId=marker.session_id,
        deadline=marker.deadline,
        steps_total=marker.steps_total,
        phase=marker.phase,
        effects=[effect.value for effect in marker.effects],
        submitted=marker.submitted.wire,
        enter_at=marker.enter_at,
    )
    return msgspec.json.encode(wire) + b"\n"


def decode_marker(data: bytes, stem: str) -> Marker | None:
    """Read the marker of the request `stem`; None for anything that this version would not have written.

    A marker that cannot be read still is one: its action is not repeated, only nothing is known of it.
    """
    try:
        value = parse(decode_utf8(data))
    except JsonSyntaxError:
        return None
    if not isinstance(value, dict) or value.get("request") != stem or not is_request_id(stem):
        return None
    try:
        return _read(value, stem)
    except (KeyError, ValueError, TypeError):
        return None


def _read(value: dict[str, JsonValue], stem: str) -> Marker:
    session_id, effects, enter_at = value["sessionId"], value["effects"], value["enter_at"]
    if not isinstance(effects, list):
        raise TypeError("effects")
    marker = Marker(
        stem,
        Mode(_word(value["mode"])),
        None if session_id is None else _session_id(session_id),
        _whole(value["deadline"]),
        _whole(value["steps_total"], up_to=1),
    )
    submitted = Submitted[_word(value["submitted"]).upper()]
    for effect in effects:
        marker = marker.after(Effect(_word(effect)))
    return replace(
        marker,
        submitted=max(marker.submitted, submitted) if marker.effects else Submitted.NO,
        enter_at=None if enter_at is None else _whole(enter_at, up_to=LATEST),
    )


def _word(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value


def _session_id(value: JsonValue) -> str:
    if not is_request_id(_word(value)):
        raise ValueError("sessionId")
    return _word(value)


def _whole(value: JsonValue, up_to: int | None = None) -> int:
    number = as_integer(value)
    if number is None or (up_to is not None and not 0 <= number <= up_to):
        raise ValueError("whole number")
    return number
