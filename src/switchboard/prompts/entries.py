"""One prompt of the queue: its text, where it stands, and which states may follow which (pure).

Theory of operation. A prompt is admitted once and ends once. `MOVES` is the whole of it: an end has no successor, so a
second answer, an error after a cancel or a death after an answer finds nothing to move. `NOT_SENT` is what a restart
makes of a queued prompt: it is shown to a person, who may send it again or let it go, and nothing else can.

A prompt that was slipped into a running turn is `RUNNING` from the moment the agent fetched it, and ends as that turn
does: more than that nobody can know of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from switchboard.common import ecma
from switchboard.common.strict_json import JsonValue


class IllegalEvent(Exception):
    """The driver reported what cannot have happened. Nothing has changed."""


class State(Enum):
    """How far a prompt has come; the values are what pages and history show."""

    NOT_SENT = "not sent"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    ERROR = "error"

    @property
    def final(self) -> bool:
        """Whether nothing can follow."""
        return not MOVES[self]


MOVES: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.NOT_SENT: frozenset({State.QUEUED, State.CANCELLED}),
        State.QUEUED: frozenset({State.RUNNING, State.CANCELLED, State.NOT_SENT}),
        State.RUNNING: frozenset({State.COMPLETED, State.CANCELLED, State.ERROR}),
        State.COMPLETED: frozenset(),
        State.CANCELLED: frozenset(),
        State.ERROR: frozenset(),
    }
)


class Lane(Enum):
    """What a waiting prompt waits for: a turn of its own, or to be fetched by the turn that runs."""

    QUEUE = "queue"
    MID_TURN = "mid-turn"


@dataclass(frozen=True, slots=True)
class Content:
    """What is to be said. `attachments`: further content blocks in the agent's protocol, never looked into."""

    text: str
    attachments: tuple[JsonValue, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to send: blank in the sense of the wire, and nothing attached."""
        return not self.attachments and not ecma.trim(self.text)

    @property
    def blocks(self) -> list[JsonValue]:
        """The content as the protocol's blocks: the text first, if there is any."""
        text: list[JsonValue] = [{"type": "text", "text": self.text}] if self.text else []
        return [*text, *self.attachments]


@dataclass(frozen=True, slots=True)
class Entry:
    """A prompt that has not ended. `admitted_at`: wall milliseconds."""

    id: str
    content: Content
    admitted_at: int
    state: State = State.QUEUED
    lane: Lane = Lane.QUEUE

    def become(self, state: State) -> Entry:
        """Return the entry in that state; raises `IllegalEvent` where the table has no such move."""
        if state not in MOVES[self.state]:
            raise IllegalEvent(f"prompt {self.id} is {self.state.value} and cannot become {state.value}")
        return replace(self, state=state)
