"""Messages that are slipped into a running turn (pure).

Theory of operation. They wait in the mid-turn lane of the line until the agent asks. A drain belongs to whoever asks:
only the turn that has the floor gets any, so a turn that was replaced cannot take what was meant for its successor. A
turn that is being stopped gets none either, because it would not act on them. What nobody fetched when the turn ends
becomes ordinary prompts where it stands in the line. A message is in the line or was handed out, never both: the drain
takes it out in the same transition that answers with it.

The answer always says whether a prompt is queued. An agent that misses that word stops trusting the whole answer.
"""

from __future__ import annotations

from dataclasses import replace

from switchboard.prompts.commands import AnswerDrain, Drained, LaneChanged
from switchboard.prompts.entries import Lane, State
from switchboard.prompts.fifo_state import Draft, FifoState, Phase

MAX_BATCH = 10
"""Items of one answer: the reference agent uses no more of them, and what it does not use would be lost."""


def drain(draft: Draft, owner: str | None) -> None:
    """Answer a drain of that owner; None: the agent names none, which is then the turn that runs."""
    state = draft.state
    turn = state.turn
    if turn is None or state.phase is not Phase.RUNNING or not _is_running(state, owner):
        draft.say(AnswerDrain((), _hint(state, owner)))
        return
    items = state.in_lane(Lane.MID_TURN)[:MAX_BATCH]
    ids = tuple(item.id for item in items)
    draft.put(
        line=tuple(entry for entry in state.line if entry.id not in ids),
        turn=replace(turn, drained=(*turn.drained, *ids)),
    )
    draft.say(AnswerDrain(tuple(item.become(State.RUNNING) for item in items), _hint(state, owner)))
    for one in ids:
        draft.announce(Drained(one, turn.owner))


def leave_to_queue(draft: Draft) -> None:
    """The turn is over: what it did not fetch are ordinary prompts, where they stand."""
    left = draft.state.in_lane(Lane.MID_TURN)
    if not left:
        return
    draft.put(line=tuple(replace(entry, lane=Lane.QUEUE) for entry in draft.state.line))
    for entry in left:
        draft.announce(LaneChanged(entry.id, Lane.QUEUE))


def _is_running(state: FifoState, owner: str | None) -> bool:
    if owner is None:  # which of two turns asks cannot be told while an abandoned one may still work
        return not state.stragglers
    return state.turn is not None and state.turn.owner == owner


def _hint(state: FifoState, owner: str | None) -> bool:
    """Who has no turn here is not told of a queue: its claim would fail, and it could not wait for anything."""
    asks = state.ready and (owner is None or (state.turn is not None and state.turn.owner == owner))
    return asks and state.has_queued_prompt
