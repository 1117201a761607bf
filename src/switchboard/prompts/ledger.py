"""One session's prompts: FIFO, mid-turn lane and claims as one machine (pure).

Theory of operation. `receive` works out the FIFO's next state, then what it means for the wait, and takes both over in
the end. Whatever raises on the way leaves the ledger as it was. An agent that names another session is told "no" and
reaches neither of the two.
"""

from __future__ import annotations

from switchboard.common.clock import Instant
from switchboard.common.strict_json import JsonValue
from switchboard.prompts import claims, fifo, snapshots
from switchboard.prompts.claims import Claims
from switchboard.prompts.commands import AnswerDrain, AnswerStartTurn, Command
from switchboard.prompts.events import (
    AgentEnded,
    AskingEvent,
    BackgroundTurnEnded,
    BackgroundTurnRequested,
    ClaimRequested,
    DrainRequested,
    Event,
)
from switchboard.prompts.fifo_state import FifoState, Limits


class Ledger:
    """The one value a driver holds for a session. `fifo` and `claims` are there to be read."""

    def __init__(self, session: str, limits: Limits | None = None) -> None:
        self.session = session
        self.fifo = FifoState(limits or Limits())
        self.claims = Claims()

    @property
    def deadline(self) -> Instant:
        """When `TimePassed` is due; `FOREVER` if nothing waits for time."""
        return self.fifo.deadline

    def receive(self, event: Event, now: int) -> tuple[Command, ...]:
        """Take in what happened at `now`, wall milliseconds; return what is to be done, in order.

        Raises `IllegalEvent` for what the driver cannot have seen; then nothing has changed.
        """
        if isinstance(event, AskingEvent) and event.session.lower() != self.session.lower():
            return _to_a_stranger(event)
        if isinstance(event, ClaimRequested):
            self.claims, answer = self.claims.answer(self.fifo, event.owner)
            return (answer,)
        state, said = fifo.after(self.fifo, event, now)
        # The agent's waits die with it, and nobody is left to be released.
        before = Claims() if isinstance(event, AgentEnded) else self.claims
        after, released = before.follow(said, state)
        self.fifo, self.claims = state, after
        return (*said, *released)

    def snapshot(self) -> dict[str, JsonValue]:
        """Return what a later host has to know, as JSON."""
        return snapshots.snapshot(self.fifo)

    def restore(self, stored: JsonValue) -> tuple[Command, ...]:
        """Begin with what an earlier host left; only before anything was received. Nothing is sent by this.

        Raises `IllegalEvent` when it is too late, `BadSnapshot` for what is not one; then nothing has changed.
        """
        self.fifo, said = snapshots.restore(self.fifo, stored)
        return said


def _to_a_stranger(event: AskingEvent) -> tuple[Command, ...]:
    match event:
        case ClaimRequested():
            return (claims.FAILED_CLOSED,)
        case DrainRequested():
            return (AnswerDrain((), has_queued_prompt=False),)
        case BackgroundTurnRequested():
            return (AnswerStartTurn(accepted=False),)
        case BackgroundTurnEnded():
            return ()
