"""A session's prompts over a restart of the host (pure).

Theory of operation. What waited was never sent, and is offered to a person as such; nothing is sent by itself, because
days may have passed and the agent's session may have gone on without us. What had started may have been sent or not:
it ends as interrupted, and is never offered, since sending it could be the second time. Waits and background turns are
the old agent process's and go with it.
"""

from __future__ import annotations

from dataclasses import replace

from switchboard.common.strict_json import JsonValue
from switchboard.prompts import reasons
from switchboard.prompts.commands import Command, Ended, Offered
from switchboard.prompts.entries import Content, Entry, IllegalEvent, Lane, State
from switchboard.prompts.fifo_state import Draft, FifoState

VERSION = 1


class BadSnapshot(ValueError):
    """It is not one of ours, or of a later version."""


def snapshot(state: FifoState) -> dict[str, JsonValue]:
    """Return what a later host has to know of it."""
    turn = state.turn
    started = () if turn is None else turn.drained if turn.entry is None else (turn.owner, *turn.drained)
    return {
        "version": VERSION,
        "started": list(started),
        "waiting": [_entry(entry) for entry in (*state.offers, *state.line)],
        "ended": list(state.ended),
    }


def restore(state: FifoState, stored: JsonValue) -> tuple[FifoState, tuple[Command, ...]]:
    """Return the state with what was stored, and what to announce. `state` must be new."""
    if state != FifoState(state.limits):
        raise IllegalEvent("a session that has begun cannot be restored")
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        raise BadSnapshot(f"no snapshot of version {VERSION}")
    started, ended = _ids(stored, "started"), _ids(stored, "ended")
    waiting = stored.get("waiting")
    if not isinstance(waiting, list):
        raise BadSnapshot("waiting: no list")
    offers = tuple(_offer(one) for one in waiting)
    ids = [*started, *(offer.id for offer in offers), *ended]
    if len(set(ids)) != len(ids):
        raise BadSnapshot("an id stands in it twice")
    draft = Draft(replace(state, offers=offers, ended=ended))
    for one in started:
        draft.announce(Ended(one, State.ERROR, reasons.RESTARTED))
    draft.remember(*started)
    for offer in offers:
        draft.announce(Offered(offer))
    return draft.state, tuple(draft.said)


def _entry(entry: Entry) -> JsonValue:
    return {
        "id": entry.id,
        "text": entry.content.text,
        "attachments": list(entry.content.attachments),
        "admitted_at": entry.admitted_at,
    }


def _offer(stored: JsonValue) -> Entry:
    if not isinstance(stored, dict):
        raise BadSnapshot("waiting: no object")
    match stored:
        case {"id": str(prompt), "text": str(text), "attachments": list(attachments), "admitted_at": int(at)}:
            return Entry(prompt, Content(text, tuple(attachments)), at, State.NOT_SENT, Lane.QUEUE)
        case _:
            raise BadSnapshot("waiting: not a prompt")


def _ids(stored: dict[str, JsonValue], name: str) -> tuple[str, ...]:
    found = stored.get(name)
    if not isinstance(found, list):
        raise BadSnapshot(f"{name}: no list")
    ids = tuple(one for one in found if isinstance(one, str))
    if len(ids) != len(found):
        raise BadSnapshot(f"{name}: not all are ids")
    return ids
