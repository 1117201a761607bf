"""What people and triggers may ask of waiting prompts, and when it is too late (pure; part of the FIFO).

Theory of operation. Every request names its prompt by id, because what somebody saw on a page may have moved since. It
is done in one transition, or refused in words and nothing has changed. A prompt whose text, place or lane changes never
leaves the line: there is no moment in which a claim could miss it.
"""

from __future__ import annotations

from dataclasses import replace

from switchboard.prompts import reasons
from switchboard.prompts.commands import Admitted, Edited, Ended, ForwardCancel, LaneChanged, Reordered
from switchboard.prompts.entries import Content, Entry, Lane, State
from switchboard.prompts.events import (
    CancelAsked,
    EditAsked,
    LaneAsked,
    MidTurnSubmitted,
    PersonEvent,
    PromptSubmitted,
    ReorderAsked,
    ResendAsked,
    StopAsked,
    WithdrawAsked,
)
from switchboard.prompts.fifo_state import Draft, FifoState, Phase


class Refused(Exception):
    """It cannot be done. `args[0]` is the reason."""


def ask(draft: Draft, event: PersonEvent, now: int) -> None:
    """Do what was asked; raises `Refused`."""
    if draft.state.closed:
        raise Refused(reasons.CLOSED)
    match event:
        case PromptSubmitted(prompt, content):
            _admit(draft, prompt, content, Lane.QUEUE, now)
        case MidTurnSubmitted(prompt, content):
            running = draft.state.phase is Phase.RUNNING
            _admit(draft, prompt, content, Lane.MID_TURN if running else Lane.QUEUE, now)
        case EditAsked(prompt, content):
            _edit(draft, prompt, content)
        case ReorderAsked(prompt, before):
            _reorder(draft, prompt, before)
        case LaneAsked(prompt, lane):
            _change_lane(draft, prompt, lane)
        case CancelAsked(prompt):
            _cancel(draft, prompt, now)
        case WithdrawAsked(prompt):
            _drop(draft, _waiting(draft.state, prompt, offers=True), reasons.WITHDRAWN)
        case StopAsked():
            if draft.state.turn is None:
                raise Refused(reasons.NOTHING_RUNNING)
            _stop(draft, now)
        case ResendAsked(prompt):
            _resend(draft, prompt)


def _admit(draft: Draft, prompt: str, content: Content, lane: Lane, now: int) -> None:
    _need_content(content)
    if draft.state.knows(prompt):
        raise Refused(reasons.DUPLICATE)
    _need_room(draft.state, lane)
    entry = Entry(prompt, content, now, lane=lane)
    draft.put(line=(*draft.state.line, entry))
    draft.announce(Admitted(entry))


def _edit(draft: Draft, prompt: str, content: Content) -> None:
    entry = _waiting(draft.state, prompt, offers=True)
    _need_content(content)
    if content == entry.content:
        return
    edited = replace(entry, content=content)
    draft.replace_waiting(edited)
    draft.announce(Edited(edited))


def _reorder(draft: Draft, prompt: str, before: str | None) -> None:
    entry = _waiting(draft.state, prompt)
    others = [one for one in draft.state.line if one is not entry]
    if before == prompt:
        return
    place = len(others) if before is None else others.index(_waiting(draft.state, before))
    line = (*others[:place], entry, *others[place:])
    if line != draft.state.line:
        draft.put(line=line)
        draft.announce(Reordered(tuple(one.id for one in line)))


def _change_lane(draft: Draft, prompt: str, lane: Lane) -> None:
    entry = _waiting(draft.state, prompt)
    if entry.lane is lane:
        return
    if lane is Lane.MID_TURN and draft.state.phase is not Phase.RUNNING:
        raise Refused(reasons.NO_TURN)
    _need_room(draft.state, lane)
    draft.replace_waiting(replace(entry, lane=lane))
    draft.announce(LaneChanged(prompt, lane))


def _cancel(draft: Draft, prompt: str, now: int) -> None:
    turn = draft.state.turn
    if turn is not None and turn.owner == prompt:
        _stop(draft, now)
    else:
        _drop(draft, _waiting(draft.state, prompt, offers=True), reasons.CANCELLED)


def _stop(draft: Draft, now: int) -> None:
    turn = draft.state.turn
    assert turn is not None
    if turn.give_up_at is not None:
        raise Refused(reasons.STOPPING)
    draft.put(turn=replace(turn, give_up_at=now + draft.state.limits.cancel_grace_ms), forwarding=turn.owner)
    draft.say(ForwardCancel(turn.owner))


def _drop(draft: Draft, entry: Entry, reason: str) -> None:
    end = entry.become(State.CANCELLED).state
    draft.put(
        line=tuple(one for one in draft.state.line if one is not entry),
        offers=tuple(one for one in draft.state.offers if one is not entry),
    )
    draft.remember(entry.id)
    draft.announce(Ended(entry.id, end, reason))


def _resend(draft: Draft, prompt: str) -> None:
    if any(one.id == prompt for one in draft.state.line):
        raise Refused(reasons.QUEUED)
    entry = _waiting(draft.state, prompt, offers=True)
    _need_room(draft.state, Lane.QUEUE)
    queued = entry.become(State.QUEUED)
    draft.put(
        line=(*draft.state.line, queued),
        offers=tuple(one for one in draft.state.offers if one is not entry),
    )
    draft.announce(Admitted(queued))


def _waiting(state: FifoState, prompt: str, *, offers: bool = False) -> Entry:
    """Return the waiting prompt of that id; what a restart left over only where that makes sense."""
    for entry in state.line:
        if entry.id == prompt:
            return entry
    for entry in state.offers:
        if entry.id == prompt:
            if offers:
                return entry
            raise Refused(reasons.WAITS_FOR_CONSENT)
    if state.turn is not None and (prompt in state.turn.drained or _is_prompt(state, prompt)):
        raise Refused(reasons.STARTED)
    raise Refused(reasons.UNKNOWN)


def _is_prompt(state: FifoState, prompt: str) -> bool:
    return state.turn is not None and state.turn.entry is not None and state.turn.owner == prompt


def _need_content(content: Content) -> None:
    if content.empty:
        raise Refused(reasons.EMPTY)


def _need_room(state: FifoState, lane: Lane) -> None:
    """Leftovers of a turn may put more in the queue than its limit. They were admitted; the next one has to wait."""
    limits = state.limits
    if lane is Lane.QUEUE and len(state.in_lane(lane)) >= limits.waiting:
        raise Refused(reasons.queue_full(limits.waiting))
    if lane is Lane.MID_TURN and len(state.in_lane(lane)) >= limits.mid_turn:
        raise Refused(reasons.mid_turn_full(limits.mid_turn))
