"""The prompt FIFO of one session (pure).

Theory of operation. Prompts are admitted to the end of the line and start from its front, one at a time. A prompt
starts in the same transition in which the floor becomes free for it, so there is no gap in which something later could.
The floor is free when the agent is there, no turn runs, and no cancel is on its way: a cancel that is still in a pipe
would hit whatever starts next.

Each prompt that was admitted ends once, in words of its own, whatever the agent does:

- an answer ends the running prompt; any further one, or an error after it, finds nothing and means nothing;
- a cancelled prompt ends with whatever the agent says, truthfully: a turn that had finished before the cancel reached
  it is completed, an error is what cancelling looks like from outside. Silence ends it when the grace is over; it is
  a straggler then, which still counts as a competitor in claims until the agent lets go of it;
- the agent's death ends the running prompt. What waits goes on waiting, and starts when the agent is back;
- closing the session ends everything.

An agent that is merely slow is never given up: only somebody's cancel starts a clock.

A background turn takes the floor like a prompt does, but only when nothing waits for it; it never ends a prompt.

`_ACCEPTS` says in which phase the driver may report what; the rest raises. The agent is never an error of the driver's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from switchboard.prompts import mid_turn, people, reasons
from switchboard.prompts.commands import (
    AnswerStartTurn,
    BackgroundEnded,
    BackgroundStarted,
    Command,
    Ended,
    ForwardCancel,
    Refuse,
    SendPrompt,
    Started,
)
from switchboard.prompts.entries import MOVES, IllegalEvent, State
from switchboard.prompts.events import (
    AgentBecameReady,
    AgentEnded,
    AnswerEvent,
    BackgroundTurnEnded,
    BackgroundTurnRequested,
    CancelForwarded,
    DrainRequested,
    DriverEvent,
    PersonEvent,
    PromotionHeld,
    PromotionResumed,
    PromptAnswered,
    PromptFailed,
    SessionClosed,
    TimePassed,
)
from switchboard.prompts.fifo_state import Draft, FifoState, Phase, Turn

FifoEvent = PersonEvent | DriverEvent | AnswerEvent | BackgroundTurnRequested | BackgroundTurnEnded | DrainRequested

_ALWAYS = frozenset(Phase)
_UP = frozenset({Phase.IDLE, Phase.RUNNING, Phase.STOPPING, Phase.CLEARING})

_ACCEPTS: Mapping[type[DriverEvent], frozenset[Phase]] = MappingProxyType(
    {
        AgentBecameReady: frozenset({Phase.DOWN}),
        # Closing ends the process too, and a cancel that was on its way then ends on its own.
        AgentEnded: _UP | {Phase.CLOSED},
        CancelForwarded: frozenset({Phase.STOPPING, Phase.CLEARING, Phase.DOWN, Phase.CLOSED}),
        TimePassed: _ALWAYS,
        PromotionHeld: _ALWAYS,
        PromotionResumed: _ALWAYS,
        SessionClosed: _ALWAYS - {Phase.CLOSED},
    }
)

CANCELLED_BY_AGENT_WORD = "cancelled"
"""The stop reason with which the protocol says that a turn was cancelled."""


def after(state: FifoState, event: FifoEvent, now: int) -> tuple[FifoState, tuple[Command, ...]]:
    """Return what follows from the event, and what is to be done. Raises `IllegalEvent`."""
    draft = Draft(state)
    if isinstance(event, PersonEvent):
        try:
            people.ask(draft, event, now)
        except people.Refused as refused:
            return state, (Refuse(str(refused)),)
    elif isinstance(event, DriverEvent):
        _report(draft, event, now)
    elif isinstance(event, AnswerEvent):
        _answer(draft, event)
    elif isinstance(event, BackgroundTurnRequested):
        _begin_background(draft, event.turn)
    elif isinstance(event, BackgroundTurnEnded):
        _end_background(draft, event.turn)
    else:
        mid_turn.drain(draft, event.owner)
    _promote(draft)
    return draft.state, tuple(draft.said)


def _promote(draft: Draft) -> None:
    """Give the floor to the first of the line, if it is free. No mid-turn lane is left when no turn runs."""
    state = draft.state
    if state.phase is not Phase.IDLE or state.holds or not state.line:
        return
    entry = state.line[0].become(State.RUNNING)
    draft.put(line=state.line[1:], turn=Turn(entry.id, entry))
    draft.announce(Started(entry.id))
    draft.say(SendPrompt(entry.id, entry.content))


def _end_turn(draft: Draft, end: State, reason: str, detail: str = "") -> None:
    """End the running turn and what it had fetched; what it had not is queued."""
    turn = draft.state.turn
    assert turn is not None
    assert end in MOVES[State.RUNNING]
    ids = turn.drained
    if turn.entry is None:
        draft.announce(BackgroundEnded(turn.owner, end))
    else:
        ids = (turn.owner, *ids)
    for one in ids:
        draft.announce(Ended(one, end, reason, detail))
    draft.put(turn=None)
    draft.remember(*ids)
    mid_turn.leave_to_queue(draft)


# --- the driver ------------------------------------------------------------------------------------------------------


def _report(draft: Draft, event: DriverEvent, now: int) -> None:
    phase = draft.state.phase
    if phase not in _ACCEPTS[type(event)]:
        raise IllegalEvent(f"{type(event).__name__} while the floor is {phase.name}")
    match event:
        case AgentBecameReady():
            draft.put(ready=True)
        case AgentEnded(detail):
            _agent_ended(draft, detail)
        case CancelForwarded(owner):
            _cancel_forwarded(draft, owner)
        case TimePassed():
            _time_passed(draft, now)
        case PromotionHeld(why):
            if why in draft.state.holds:
                raise IllegalEvent(f"held for {why} already")
            draft.put(holds=draft.state.holds | {why})
        case PromotionResumed(why):
            if why not in draft.state.holds:
                raise IllegalEvent(f"not held for {why}")
            draft.put(holds=draft.state.holds - {why})
        case SessionClosed():
            _close(draft)


def _agent_ended(draft: Draft, detail: str) -> None:
    turn = draft.state.turn
    if turn is not None and turn.give_up_at is not None:
        _end_turn(draft, State.CANCELLED, reasons.CANCELLED)
    elif turn is not None:
        _end_turn(draft, State.ERROR, reasons.AGENT_ENDED, detail)
    draft.put(ready=False, forwarding=None, stragglers=frozenset())


def _cancel_forwarded(draft: Draft, owner: str) -> None:
    if draft.state.phase in (Phase.DOWN, Phase.CLOSED):
        return
    if draft.state.forwarding != owner:
        raise IllegalEvent(f"no cancel of {owner} is on its way")
    draft.put(forwarding=None)


def _time_passed(draft: Draft, now: int) -> None:
    turn = draft.state.turn
    if turn is None or now < draft.state.deadline:
        return
    _end_turn(draft, State.CANCELLED, reasons.CANCEL_UNANSWERED)
    draft.put(stragglers=draft.state.stragglers | {turn.owner})


def _close(draft: Draft) -> None:
    state = draft.state
    if state.phase is Phase.RUNNING and state.turn is not None:
        draft.say(ForwardCancel(state.turn.owner))
    if state.turn is not None:
        _end_turn(draft, State.CANCELLED, reasons.SESSION_CLOSED)
    left = (*draft.state.line, *draft.state.offers)
    for entry in left:
        draft.announce(Ended(entry.id, entry.become(State.CANCELLED).state, reasons.SESSION_CLOSED))
    draft.remember(*(entry.id for entry in left))
    draft.put(line=(), offers=(), forwarding=None, stragglers=frozenset(), closed=True)


# --- the agent -------------------------------------------------------------------------------------------------------


def _answer(draft: Draft, event: AnswerEvent) -> None:
    """An answer to a prompt that has ended is late or doubled, and means nothing but that it is over."""
    turn = draft.state.turn
    if turn is None or turn.entry is None or turn.owner != event.prompt:
        if event.prompt in draft.state.live_ids():
            raise IllegalEvent(f"{type(event).__name__} for {event.prompt}, which was not sent as a prompt")
        draft.put(stragglers=draft.state.stragglers - {event.prompt})
        return
    _end_turn(draft, *_end(event, stopping=turn.give_up_at is not None))


def _end(event: AnswerEvent, *, stopping: bool) -> tuple[State, str, str]:
    match event:
        case PromptFailed() if stopping:
            return State.CANCELLED, reasons.CANCELLED, ""
        case PromptFailed(detail=detail):
            return State.ERROR, reasons.AGENT_ERROR, detail
        case PromptAnswered(stop_reason=word) if word == CANCELLED_BY_AGENT_WORD:
            return State.CANCELLED, reasons.CANCELLED if stopping else reasons.CANCELLED_BY_AGENT, ""
        case PromptAnswered(stop_reason=word):
            return State.COMPLETED, word, ""


def _begin_background(draft: Draft, turn: str) -> None:
    """Accepted only on a free floor with nothing waiting, and never under the name of a prompt."""
    state = draft.state
    running = state.turn
    if state.phase is Phase.RUNNING and running is not None and running.entry is None and running.owner == turn:
        draft.say(AnswerStartTurn(accepted=True))  # asked again: the answer did not arrive
        return
    accepted = state.phase is Phase.IDLE and not state.line and not state.holds and bool(turn)
    accepted = accepted and not state.knows(turn)
    draft.say(AnswerStartTurn(accepted))
    if accepted:
        draft.put(turn=Turn(turn, None))
        draft.announce(BackgroundStarted(turn))


def _end_background(draft: Draft, turn: str) -> None:
    running = draft.state.turn
    if running is None or running.entry is not None or running.owner != turn:
        draft.put(stragglers=draft.state.stragglers - {turn})
        return
    if running.give_up_at is not None:
        _end_turn(draft, State.CANCELLED, reasons.CANCELLED)
    else:
        _end_turn(draft, State.COMPLETED, reasons.BACKGROUND_TURN_ENDED)
