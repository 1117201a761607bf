"""What there is to know about a session's prompts at one moment (pure values; `fifo` moves them).

`line` has all that waits, in the order in which it would start. Prompts of the mid-turn lane stand in the same line:
when the turn that could have fetched them ends, they are ordinary prompts where they stand, ahead of nobody they were
behind. The floor is one value, `turn`, so two turns of ours at once cannot be written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from switchboard.common.clock import FOREVER, Instant
from switchboard.prompts.commands import Announce, Command, Notice
from switchboard.prompts.entries import Entry, Lane

MAX_WAITING = 20
"""Prompts that may wait for a turn of their own. The reference daemon has 5, too few for somebody who plans ahead."""

MAX_MID_TURN = 20
"""Messages that may wait for the running turn, as in the reference daemon."""

CANCEL_GRACE_MS = 5_000
"""How long a cancelled turn may take to say that it has ended. Well over what a real agent needs (its own cancel is
answered at once), and short enough for somebody who waits for the next prompt."""

REMEMBERED_ENDS = 1_000
"""Ended prompts whose ids are still known, so that a request that is sent again does not start a second turn."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may wait, and how long (`cancel_grace_ms`, milliseconds)."""

    waiting: int = MAX_WAITING
    mid_turn: int = MAX_MID_TURN
    cancel_grace_ms: int = CANCEL_GRACE_MS


class Phase(Enum):
    """Where the floor stands. `CLEARING`: nothing runs, but a cancel on its way would hit what starts now."""

    DOWN = auto()
    IDLE = auto()
    RUNNING = auto()
    STOPPING = auto()
    CLEARING = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn that has the floor.

    `owner`: the prompt's id, or the background turn's. `entry`: the prompt; None for a background turn. `drained`: ids
    of the messages it fetched, which end with it. `give_up_at`: set once it is being stopped; then it counts as ended.
    """

    owner: str
    entry: Entry | None
    drained: tuple[str, ...] = ()
    give_up_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class FifoState:
    """The line and the floor.

    `forwarding`: the turn whose cancel is on its way. `stragglers`: turns that were given up without an answer; the
    agent may still work on them. `offers`: what a restart left over. `ended`: ids, oldest first. `holds`: who keeps
    prompts from starting.
    """

    limits: Limits = field(default_factory=Limits)
    line: tuple[Entry, ...] = ()
    turn: Turn | None = None
    forwarding: str | None = None
    stragglers: frozenset[str] = frozenset()
    offers: tuple[Entry, ...] = ()
    ended: tuple[str, ...] = ()
    holds: frozenset[str] = frozenset()
    ready: bool = False
    closed: bool = False

    @property
    def phase(self) -> Phase:
        """Where the floor stands."""
        if self.closed:
            return Phase.CLOSED
        if not self.ready:
            return Phase.DOWN
        if self.turn is not None:
            return Phase.RUNNING if self.turn.give_up_at is None else Phase.STOPPING
        return Phase.IDLE if self.forwarding is None else Phase.CLEARING

    @property
    def deadline(self) -> Instant:
        """When time alone changes something; `FOREVER` if never."""
        return FOREVER if self.turn is None or self.turn.give_up_at is None else self.turn.give_up_at

    @property
    def has_queued_prompt(self) -> bool:
        """Whether an admitted prompt waits for a turn of its own."""
        return any(entry.lane is Lane.QUEUE for entry in self.line)

    def in_lane(self, lane: Lane) -> tuple[Entry, ...]:
        """Return what waits there, in order."""
        return tuple(entry for entry in self.line if entry.lane is lane)

    def live_ids(self) -> Iterator[str]:
        """Yield the id of everything that has not ended, the turn's owner first."""
        if self.turn is not None:
            yield self.turn.owner
            yield from self.turn.drained
        yield from (entry.id for entry in (*self.line, *self.offers))

    def knows(self, prompt: str) -> bool:
        """Whether this id was used, as far as it is remembered."""
        return prompt in self.ended or prompt in self.stragglers or prompt in self.live_ids()


class Draft:
    """A transition in the making: the state so far, and what has been said. It is dropped whole if anything raises."""

    def __init__(self, state: FifoState) -> None:
        self.state = state
        self.said: list[Command] = []

    def put(self, **changes: Any) -> None:
        """Change fields of the state."""
        self.state = replace(self.state, **changes)

    def replace_waiting(self, entry: Entry) -> None:
        """Put `entry` where the waiting or left over one with its id stands."""
        self.put(
            line=tuple(entry if one.id == entry.id else one for one in self.state.line),
            offers=tuple(entry if one.id == entry.id else one for one in self.state.offers),
        )

    def say(self, command: Command) -> None:
        """Add a command."""
        self.said.append(command)

    def announce(self, notice: Notice) -> None:
        """Tell pages and history."""
        self.said.append(Announce(notice))

    def remember(self, *ids: str) -> None:
        """They have ended."""
        self.put(ended=(*self.state.ended, *ids)[-REMEMBERED_ENDS:])
