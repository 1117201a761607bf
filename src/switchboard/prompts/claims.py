"""Who may continue a turn by itself, and who was told to wait (pure).

Theory of operation (the continuation ownership of the todo stop guard). The agent wants to append a continuation to its
turn and asks first. The owner is what the bridge gave the turn: the id of the prompt, or of the background turn that it
accepted. The agent's own ids for its turns are none. Two questions, in this order:

1. Whose claim is it? The owner's, if that very turn has the floor, is not being stopped, and no other turn of ours may
   still be at work in the agent. A claim without an owner counts as one only where no prompt or turn of ours lives.
2. Does an admitted prompt wait?

`_VERDICTS` has all answers. A claim that is not its owner's fails closed: it is told neither "yes" nor "queued", and
nothing changes for anyone. An owner who is told "queued" has a *wait*. A prompt that starts ends it silently: the
agent sees the prompt. When instead the last one that could have started is dropped, that owner, and only it, is sent a
release. A message that reaches the turn itself ends the wait silently as well: to the agent it is user input.

The order of admission and claim is the order in which the ledger receives them: a prompt that was admitted first is
seen here, one that comes later stands in the queue behind the continuation. Nothing is awaited in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType

from switchboard.prompts.commands import Announce, AnswerClaim, Command, Drained, SendRelease, Started
from switchboard.prompts.fifo_state import FifoState, Phase


class Standing(Enum):
    """What a claimant is to the session."""

    OWNER = auto()
    """Its turn has the floor, alone and undisturbed."""
    UNRIVALLED = auto()
    """It names no owner, and nothing of ours lives that it could overtake."""
    NOBODY = auto()
    """Missing, replaced, stopped, or not alone."""


CLAIMED = AnswerClaim(claimed=True, has_queued_prompt=False)
QUEUED = AnswerClaim(claimed=False, has_queued_prompt=True)
FAILED_CLOSED = AnswerClaim(claimed=False, has_queued_prompt=False)

_VERDICTS: Mapping[tuple[Standing, bool], AnswerClaim] = MappingProxyType(
    {
        # (who claims, whether a prompt is queued)
        (Standing.OWNER, False): CLAIMED,
        (Standing.OWNER, True): QUEUED,
        (Standing.UNRIVALLED, False): CLAIMED,
        # Cannot be: what is queued lives. Were it so, an answer "queued" could be bound to nobody.
        (Standing.UNRIVALLED, True): FAILED_CLOSED,
        (Standing.NOBODY, False): FAILED_CLOSED,
        (Standing.NOBODY, True): FAILED_CLOSED,
    }
)


@dataclass(frozen=True, slots=True)
class Claims:
    """`wait`: the owner that was last told that prompts are queued; None when that is over."""

    wait: str | None = None

    def answer(self, state: FifoState, owner: str | None) -> tuple[Claims, AnswerClaim]:
        """Return the verdict on a claim, and the claims with its wait. Only "queued" changes anything."""
        verdict = _VERDICTS[standing(state, owner), state.has_queued_prompt]
        return (Claims(owner) if verdict is QUEUED else self), verdict

    def follow(self, said: Iterable[Command], state: FifoState) -> tuple[Claims, tuple[SendRelease, ...]]:
        """Return the claims after a transition of the FIFO: what it announced, and the state it led to."""
        if self.wait is None:
            return self, ()
        notices = [command.notice for command in said if isinstance(command, Announce)]
        if any(isinstance(notice, Started) for notice in notices):
            return Claims(), ()
        if state.line:  # a message for the running turn may yet be a prompt: the wait is not in vain
            return self, ()
        if any(isinstance(notice, Drained) for notice in notices):
            return Claims(), ()
        return Claims(), (SendRelease(self.wait),)


def standing(state: FifoState, owner: str | None) -> Standing:
    """Return what somebody who names that owner is, before any look at the queue."""
    if owner is None:
        alone = state.phase is Phase.IDLE and not state.line and not state.stragglers
        return Standing.UNRIVALLED if alone else Standing.NOBODY
    turn = state.turn
    owns = state.phase is Phase.RUNNING and turn is not None and turn.owner == owner and not state.stragglers
    return Standing.OWNER if owns else Standing.NOBODY


def answer_without_queue(session: str, owner: str | None, sessions: Collection[str]) -> AnswerClaim:
    """Answer a claim where there is no queue: a one-shot or embedded run, which cannot be overtaken.

    `session`: the one in the request. `owner`: the run that this handler answers for; None for a fallback handler,
    which answers for nobody. `sessions`: those the run has.
    """
    known = session.lower() in {one.lower() for one in sessions}
    return CLAIMED if owner and known else FAILED_CLOSED
