"""What can happen to a session's prompts. Frozen values in the past tense; `ledger` says what follows from each.

Three sources, three manners. What people ask may come too late: it is refused in words. What the agent sends may be
anything: it is answered, or ignored when late or doubled. What the driver reports has to be true: what cannot be,
raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from switchboard.prompts.entries import Content, Lane

# --- people, triggers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PromptSubmitted:
    """A prompt for a turn of its own. `prompt`: the caller's id for it, never used before."""

    prompt: str
    content: Content


@dataclass(frozen=True, slots=True)
class MidTurnSubmitted:
    """A message for the turn that runs; an ordinary prompt if none does, or it is being stopped."""

    prompt: str
    content: Content


@dataclass(frozen=True, slots=True)
class EditAsked:
    """Say this instead. Only while it waits."""

    prompt: str
    content: Content


@dataclass(frozen=True, slots=True)
class ReorderAsked:
    """Move it in front of another one; `before` None: to the end. Not by number: a late request would hit another."""

    prompt: str
    before: str | None


@dataclass(frozen=True, slots=True)
class LaneAsked:
    """Let it be fetched by the running turn, or let it wait for one of its own after all."""

    prompt: str
    lane: Lane


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """End it: a waiting one is dropped, a running one is stopped, one left over by a restart is let go."""

    prompt: str


@dataclass(frozen=True, slots=True)
class WithdrawAsked:
    """Take it back if it has not started. A delivery that ran out of time asks this, and must not stop a turn."""

    prompt: str


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Stop whatever runs, a background turn included. Nothing that waits is touched."""


@dataclass(frozen=True, slots=True)
class ResendAsked:
    """A person wants a prompt sent that a restart had left over. It goes to the end of the queue."""

    prompt: str


# --- the driver ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentBecameReady:
    """The agent's process runs and has the session loaded."""


@dataclass(frozen=True, slots=True)
class AgentEnded:
    """Its process is gone. `detail`: what is known of why, for people."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class CancelForwarded:
    """The cancel of that turn has reached the agent, or was given up: nothing of it is on the way any more."""

    owner: str


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The clock was looked at. Too early is harmless."""


@dataclass(frozen=True, slots=True)
class PromotionHeld:
    """No prompt may start, as while the session is moved to another directory. `why` names the holder."""

    why: str


@dataclass(frozen=True, slots=True)
class PromotionResumed:
    """That holder lets go."""

    why: str


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """For good. A host that only restarts takes a snapshot instead."""


# --- the agent -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PromptAnswered:
    """The turn's result. `stop_reason`: the agent's word."""

    prompt: str
    stop_reason: str


@dataclass(frozen=True, slots=True)
class PromptFailed:
    """An error in the place of a result. `detail`: the agent's words."""

    prompt: str
    detail: str


@dataclass(frozen=True, slots=True)
class BackgroundTurnRequested:
    """The agent wants to work by itself."""

    session: str
    turn: str


@dataclass(frozen=True, slots=True)
class BackgroundTurnEnded:
    """It has done so."""

    session: str
    turn: str


@dataclass(frozen=True, slots=True)
class DrainRequested:
    """`craft/drainMidTurnQueue`. `owner`: the prompt or turn that asks, None when it names none."""

    session: str
    owner: str | None


@dataclass(frozen=True, slots=True)
class ClaimRequested:
    """`craft/claimTodoStopGuardContinuation`. `owner`: as above."""

    session: str
    owner: str | None


PersonEvent: TypeAlias = (
    PromptSubmitted
    | MidTurnSubmitted
    | EditAsked
    | ReorderAsked
    | LaneAsked
    | CancelAsked
    | WithdrawAsked
    | StopAsked
    | ResendAsked
)
DriverEvent: TypeAlias = (
    AgentBecameReady | AgentEnded | CancelForwarded | TimePassed | PromotionHeld | PromotionResumed | SessionClosed
)
AnswerEvent: TypeAlias = PromptAnswered | PromptFailed
AskingEvent: TypeAlias = BackgroundTurnRequested | BackgroundTurnEnded | DrainRequested | ClaimRequested
Event: TypeAlias = PersonEvent | DriverEvent | AnswerEvent | AskingEvent
