"""What a driver is to do, in the imperative, and what it is to tell pages and history, in the past tense.

An `Answer…` or a `Refuse` answers the very event that brought it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from switchboard.common.strict_json import JsonValue
from switchboard.prompts.entries import Content, Entry, Lane, State

# --- notices ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admitted:
    """It waits. Also said of one that a person sends again after a restart."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Edited:
    """It says something else now."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Reordered:
    """All that waits, first to last."""

    order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaneChanged:
    """It waits for something else now."""

    prompt: str
    lane: Lane


@dataclass(frozen=True, slots=True)
class Started:
    """It has the floor."""

    prompt: str


@dataclass(frozen=True, slots=True)
class Drained:
    """The turn of that owner has fetched it."""

    prompt: str
    owner: str


@dataclass(frozen=True, slots=True)
class Offered:
    """A restart has left it over; a person decides."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Ended:
    """The one end of a prompt. `reason`: a text of ours, or the agent's stop reason; `detail`: for people."""

    prompt: str
    state: State
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BackgroundStarted:
    """A background turn has the floor."""

    turn: str


@dataclass(frozen=True, slots=True)
class BackgroundEnded:
    """The one end of a background turn."""

    turn: str
    state: State


Notice: TypeAlias = (
    Admitted
    | Edited
    | Reordered
    | LaneChanged
    | Started
    | Drained
    | Offered
    | Ended
    | BackgroundStarted
    | BackgroundEnded
)

# --- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Announce:
    """Tell pages and history."""

    notice: Notice


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell whoever asked. Nothing has changed."""

    reason: str


@dataclass(frozen=True, slots=True)
class SendPrompt:
    """Start a turn, with `prompt` as its trusted owner id."""

    prompt: str
    content: Content


@dataclass(frozen=True, slots=True)
class ForwardCancel:
    """Cancel the turn that runs, and report `CancelForwarded(owner)` once nothing of that is on the way."""

    owner: str


@dataclass(frozen=True, slots=True)
class SendRelease:
    """`craft/todoStopGuardQueueReleased` for that owner. Nothing waits for its answer."""

    owner: str


@dataclass(frozen=True, slots=True)
class AnswerClaim:
    """Whether the continuation may be sent now; if not, whether a queued prompt is why."""

    claimed: bool
    has_queued_prompt: bool

    def as_wire(self) -> dict[str, JsonValue]:
        """Return the result object."""
        return {"claimed": self.claimed, "hasQueuedPrompt": self.has_queued_prompt}


@dataclass(frozen=True, slots=True)
class AnswerDrain:
    """What the running turn gets, in order, and whether a prompt is queued (a hint: only a claim decides)."""

    items: tuple[Entry, ...]
    has_queued_prompt: bool

    def as_wire(self) -> dict[str, JsonValue]:
        """Return the result object. `messages` says the same for agents that know no items; those that do ignore it."""
        items: list[JsonValue] = [
            {"messageId": item.id, "displayText": item.content.text, "content": item.content.blocks}
            for item in self.items
        ]
        messages: list[JsonValue] = [item.content.text for item in self.items]
        return {"messages": messages, "items": items, "hasQueuedPrompt": self.has_queued_prompt}


@dataclass(frozen=True, slots=True)
class AnswerStartTurn:
    """Whether the background turn may begin. If not, the agent asks again later."""

    accepted: bool

    def as_wire(self) -> dict[str, JsonValue]:
        """Return the result object."""
        return {"accepted": self.accepted}


Command: TypeAlias = (
    Announce | Refuse | SendPrompt | ForwardCancel | SendRelease | AnswerClaim | AnswerDrain | AnswerStartTurn
)
