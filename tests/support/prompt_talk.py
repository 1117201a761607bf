"""Conversations with a prompt ledger: events in, what it said as short lines, and where it stands."""

from __future__ import annotations

from typing import Any

from switchboard.prompts import commands, entries, events, fifo_state, ledger
from switchboard.prompts.entries import Content, Lane

NOW = 1_000_000
SESSION = "session-1"


def submit(prompt: str, text: str | None = None) -> events.PromptSubmitted:
    return events.PromptSubmitted(prompt, Content(text if text is not None else f"text of {prompt}"))


def slip(prompt: str) -> events.MidTurnSubmitted:
    return events.MidTurnSubmitted(prompt, Content(f"text of {prompt}"))


def edit(prompt: str, text: str) -> events.EditAsked:
    return events.EditAsked(prompt, Content(text))


def reorder(prompt: str, before: str | None) -> events.ReorderAsked:
    return events.ReorderAsked(prompt, before)


def to_turn(prompt: str) -> events.LaneAsked:
    return events.LaneAsked(prompt, Lane.MID_TURN)


def to_queue(prompt: str) -> events.LaneAsked:
    return events.LaneAsked(prompt, Lane.QUEUE)


def cancel(prompt: str) -> events.CancelAsked:
    return events.CancelAsked(prompt)


def withdraw(prompt: str) -> events.WithdrawAsked:
    return events.WithdrawAsked(prompt)


def resend(prompt: str) -> events.ResendAsked:
    return events.ResendAsked(prompt)


STOP = events.StopAsked()
READY = events.AgentBecameReady()
DEATH = events.AgentEnded("exit code 1")
TIME = events.TimePassed()
HOLD = events.PromotionHeld("cd")
RESUME = events.PromotionResumed("cd")
CLOSE = events.SessionClosed()


def forwarded(owner: str) -> events.CancelForwarded:
    return events.CancelForwarded(owner)


def answer(prompt: str, word: str = "end_turn") -> events.PromptAnswered:
    return events.PromptAnswered(prompt, word)


def fail(prompt: str) -> events.PromptFailed:
    return events.PromptFailed(prompt, "-32603")


def begin(turn: str, session: str = SESSION) -> events.BackgroundTurnRequested:
    return events.BackgroundTurnRequested(session, turn)


def finish(turn: str, session: str = SESSION) -> events.BackgroundTurnEnded:
    return events.BackgroundTurnEnded(session, turn)


def drain(owner: str | None, session: str = SESSION) -> events.DrainRequested:
    return events.DrainRequested(session, owner)


def claim(owner: str | None, session: str = SESSION) -> events.ClaimRequested:
    return events.ClaimRequested(session, owner)


class Talk:
    """A ledger that is spoken to. `when` returns what it said to these events, in short lines."""

    def __init__(self, *before: events.Event, limits: fifo_state.Limits | None = None) -> None:
        self.ledger = ledger.Ledger(SESSION, limits)
        self.now = NOW
        self.when(*before)

    def when(self, *happened: events.Event) -> list[str]:
        return [line for event in happened for line in map(told, self.ledger.receive(event, self.now))]

    def later(self, milliseconds: int) -> Talk:
        self.now += milliseconds
        return self

    @property
    def stands(self) -> str:
        return stands(self.ledger)


def running(*then: events.Event, limits: fifo_state.Limits | None = None) -> Talk:
    """A ledger whose prompt `a` runs, and what happened then."""
    return Talk(READY, submit("a"), *then, limits=limits)


def told(command: commands.Command) -> str:
    """A command as a short line."""
    match command:
        case commands.Announce(notice):
            return _notice(notice)
        case commands.Refuse(reason):
            return f"no: {reason}"
        case commands.SendPrompt(prompt, content):
            return f"send {prompt}: {content.text}"
        case commands.ForwardCancel(owner):
            return f"forward cancel of {owner}"
        case commands.SendRelease(owner):
            return f"release {owner}"
        case commands.AnswerClaim(claimed, queued):
            return f"claim: claimed={claimed} queued={queued}"
        case commands.AnswerDrain(items, queued):
            return f"drain: [{', '.join(item.content.text for item in items)}] queued={queued}"
        case commands.AnswerStartTurn(accepted):
            return f"start turn: {accepted}"


def _notice(notice: Any) -> str:
    match notice:
        case commands.Admitted(entry):
            return f"admitted {entry.id}{' mid-turn' if entry.lane is Lane.MID_TURN else ''}"
        case commands.Edited(entry):
            return f"edited {entry.id}: {entry.content.text}"
        case commands.Reordered(order):
            return f"order {' '.join(order)}"
        case commands.LaneChanged(prompt, lane):
            return f"{prompt} is {lane.value}"
        case commands.Started(prompt):
            return f"started {prompt}"
        case commands.Drained(prompt, owner):
            return f"drained {prompt} into {owner}"
        case commands.Offered(entry):
            return f"offered {entry.id}: {entry.state.value}"
        case commands.Ended(prompt, state, reason, detail):
            return f"ended {prompt}: {state.value} ({reason}){f' {detail}' if detail else ''}"
        case commands.BackgroundStarted(turn):
            return f"started {turn} in the background"
        case commands.BackgroundEnded(turn, state):
            return f"ended {turn} in the background: {state.value}"
    raise AssertionError(notice)


def stands(one: ledger.Ledger) -> str:
    """Where it stands: `phase turn | line | wait`."""
    state = one.fifo
    line = " ".join(f"({e.id})" if e.lane is entries.Lane.MID_TURN else e.id for e in state.line)
    owner = state.turn.owner if state.turn else "-"
    return f"{state.phase.name} {owner} | {line} | {one.claims.wait or '-'}"
