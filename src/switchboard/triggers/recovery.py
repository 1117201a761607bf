"""What becomes of a request's files before it is worked on (pure): the order in which results and markers count.

A request of a versioned name is looked up first. A result with an `outcome` wins over everything: its action is done,
and what else lies there is left over. Then a marker without a result: an action was interrupted, it is answered and not
repeated, whether or not its request is still there, and however old it is. Only then the request itself counts.

A result without an `outcome` is a legacy one. It does not stand in the way of a legacy request of the same name, which
replaces it as it always did. A versioned request never replaces anything: the result that is there is the first of that
name, so it stays, and the request is taken for a repetition. Where something stands that is no result at all, nothing
could be answered, so nothing is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from switchboard.common.strict_json import JsonSyntaxError, decode_utf8, parse
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.markers import Effect, Marker
from switchboard.triggers.results import Result, iso_time
from switchboard.triggers.v1_results import Effects, Evidence, failed
from switchboard.triggers.v1_schema import Subject


class Found(Enum):
    """What stands in the place of a result."""

    NOTHING = "nothing"
    TERMINAL = "terminal result"
    """A result of a versioned request: it has an `outcome`."""
    OTHER = "other result"
    """An object without `outcome`: of a legacy request, or of a file that could not be taken for any."""
    UNREADABLE = "unreadable"
    """No object, no regular file, or nothing that could be read."""


class Claim(Enum):
    """Whether a marker is there. One that is garbage is there."""

    NONE = "none"
    MADE = "made"
    UNREADABLE = "unreadable"
    """The system would not say; it may be readable at the next start."""


class Stage(Enum):
    """How much is known of the request."""

    NAMED = "named"
    """Its name only."""
    VERSIONED = "versioned"
    """Its body was read, and is no legacy one."""


class Step(Enum):
    """What is to be done with the files, in the order given."""

    PUBLISH_INTERRUPTED = "publish the interrupted result"
    REMOVE_INPUT = "remove the request"
    REMOVE_MARKER = "remove the marker"
    LEAVE = "leave everything, and do not take it again while this host runs"
    WORK = "take the request"


_CLEAN_UP = (Step.REMOVE_INPUT, Step.REMOVE_MARKER)
_ANSWER = (Step.PUBLISH_INTERRUPTED, *_CLEAN_UP)
_LEAVE = (Step.LEAVE,)
_WORK = (Step.WORK,)

TABLE: Mapping[tuple[Stage, Found, Claim], tuple[Step, ...]] = MappingProxyType(
    {
        (Stage.NAMED, Found.TERMINAL, Claim.NONE): _CLEAN_UP,
        (Stage.NAMED, Found.TERMINAL, Claim.MADE): _CLEAN_UP,
        (Stage.NAMED, Found.TERMINAL, Claim.UNREADABLE): _CLEAN_UP,
        (Stage.NAMED, Found.NOTHING, Claim.NONE): _WORK,
        (Stage.NAMED, Found.NOTHING, Claim.MADE): _ANSWER,
        (Stage.NAMED, Found.NOTHING, Claim.UNREADABLE): _LEAVE,
        (Stage.NAMED, Found.OTHER, Claim.NONE): _WORK,
        (Stage.NAMED, Found.OTHER, Claim.MADE): _LEAVE,
        (Stage.NAMED, Found.OTHER, Claim.UNREADABLE): _LEAVE,
        (Stage.NAMED, Found.UNREADABLE, Claim.NONE): _WORK,
        (Stage.NAMED, Found.UNREADABLE, Claim.MADE): _LEAVE,
        (Stage.NAMED, Found.UNREADABLE, Claim.UNREADABLE): _LEAVE,
        (Stage.VERSIONED, Found.TERMINAL, Claim.NONE): _CLEAN_UP,
        (Stage.VERSIONED, Found.TERMINAL, Claim.MADE): _CLEAN_UP,
        (Stage.VERSIONED, Found.TERMINAL, Claim.UNREADABLE): _CLEAN_UP,
        (Stage.VERSIONED, Found.NOTHING, Claim.NONE): _WORK,
        (Stage.VERSIONED, Found.NOTHING, Claim.MADE): _ANSWER,
        (Stage.VERSIONED, Found.NOTHING, Claim.UNREADABLE): _LEAVE,
        (Stage.VERSIONED, Found.OTHER, Claim.NONE): _CLEAN_UP,
        (Stage.VERSIONED, Found.OTHER, Claim.MADE): _LEAVE,
        (Stage.VERSIONED, Found.OTHER, Claim.UNREADABLE): _LEAVE,
        (Stage.VERSIONED, Found.UNREADABLE, Claim.NONE): _LEAVE,
        (Stage.VERSIONED, Found.UNREADABLE, Claim.MADE): _LEAVE,
        (Stage.VERSIONED, Found.UNREADABLE, Claim.UNREADABLE): _LEAVE,
    }
)
"""Every case, spelt out."""


def decide(found: Found, claim: Claim, stage: Stage = Stage.NAMED) -> tuple[Step, ...]:
    """Return what to do with the files of a versioned name. Removing what is not there is harmless."""
    return TABLE[stage, found, claim]


MAX_BRACKETS = 64 * 1024 + 16
"""More than any result has: it echoes a request of 64 KiB at most, and has a few of its own."""


def found_in(content: bytes | None) -> Found:
    """Judge what was read in the place of a result; None: there is nothing."""
    if content is None:
        return Found.NOTHING
    if content.count(b"[") + content.count(b"{") > MAX_BRACKETS:
        # Parsing it could take seconds, for which everything else would stand still.
        return Found.UNREADABLE
    try:
        value = parse(decode_utf8(content))
    except JsonSyntaxError:
        return Found.UNREADABLE
    if not isinstance(value, dict):
        return Found.UNREADABLE
    return Found.TERMINAL if isinstance(value.get("outcome"), str) else Found.OTHER


def interrupted(marker: Marker | None) -> Result:
    """The result of an action that a host did not bring to its end; None: its marker says nothing that can be read.

    True is only what the marker recorded. A `false` beside it means "not confirmed", `wrote` excepted.
    """
    if marker is None:
        return failed(Subject(), reasons.INTERRUPTED, detail="the marker of the action could not be read")
    recorded = marker.effects
    typed = Evidence()
    if Effect.PROMPT_ATTEMPTED in recorded:
        enter = Effect.ENTER_WRITTEN in recorded
        text = enter or Effect.TEXT_WRITTEN in recorded
        fields: Result = {"text_written": text, "enter_written": enter}
        if marker.enter_at is not None:
            fields["enter_at"] = iso_time(marker.enter_at)
        typed = Evidence(marker.submitted, True, text, enter, fields=fields)
    effects = Effects(marker.session_id, Effect.SPAWNED in recorded, typed)
    return failed(marker.subject, reasons.INTERRUPTED, effects, detail=f"recorded before the end: {marker.phase}")
