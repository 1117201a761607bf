"""Schedules nobody thought of: FIFO, mid-turn lane and claims against a plain model, a witness, and an agent's side.

Each example is one schedule. The normal suite runs a few hundred; `make test-slow` runs 100,000 and more
(`SWITCHBOARD_SLOW=1`).
"""

from __future__ import annotations

import json
import os
from collections import deque
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests.support.prompt_model import Model, Said
from tests.support.prompt_witness import Witness

from switchboard.common import strict_json
from switchboard.prompts import commands, events
from switchboard.prompts.entries import Content, IllegalEvent, Lane
from switchboard.prompts.fifo_state import CANCEL_GRACE_MS, Phase
from switchboard.prompts.ledger import Ledger

SLOW = os.environ.get("SWITCHBOARD_SLOW") == "1"
PARTS = 4 if SLOW else 1
"""Each test in as many parts, for as many workers; the numbers below are of all parts together."""

SESSION = "s"
FEW = st.integers(0, 7)


def schedules(normal: int, slow: int, steps: int) -> settings:
    return settings(
        max_examples=slow // PARTS if SLOW else normal,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=True,
        derandomize=not SLOW,  # the normal suite is the same every time; the slow one looks further each time
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


def heard(said: tuple[commands.Command, ...]) -> Said:
    """What was said, as the model says it."""
    lines: Said = []
    for command in said:
        match command:
            case commands.Refuse():
                lines.append(("no",))
            case commands.SendPrompt(prompt, content):
                lines.append(("send", prompt, content.text))
            case commands.ForwardCancel(owner):
                lines.append(("forward", owner))
            case commands.SendRelease(owner):
                lines.append(("release", owner))
            case commands.AnswerClaim(claimed, queued):
                lines.append(("claim", claimed, queued))
            case commands.AnswerDrain(items, queued):
                lines.append(("drain", tuple((item.id, item.content.text) for item in items), queued))
            case commands.AnswerStartTurn(accepted):
                lines.append(("turn", accepted))
            case commands.Announce(commands.Ended() as end):
                lines.append(("end", end.prompt, end.state.value))
            case commands.Announce():
                pass
    return lines


class Sessions(RuleBasedStateMachine):
    """A session with its model and its witness: people, an agent without manners, a driver, restarts of the host."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(SESSION)
        self.model = Model()
        self.witness = Witness()
        self.now = 1_000
        self.ids: list[str] = []
        self.edits = 0
        self.turns = 0

    @initialize()
    def an_agent(self) -> None:
        self.tell(events.AgentBecameReady(), "ready")

    def tell(self, event: events.Event, name: str, *args: Any) -> None:
        fifo, claims = self.ledger.fifo, self.ledger.claims
        said = self.ledger.receive(event, self.now)
        assert heard(said) == self.model.hear(name, *args)
        self.witness.hear(event, said)
        assert self.ledger.claims.wait == self.model.wait == self.witness.told_queued
        assert [entry.id for entry in self.ledger.fifo.line] == self.witness.order
        if isinstance(event, events.ClaimRequested):
            assert self.ledger.fifo is fifo, "a claim changes no queue"
            if said != (commands.AnswerClaim(claimed=False, has_queued_prompt=True),):
                assert self.ledger.claims == claims, "no owner's state changes through another's claim"
        if said and isinstance(said[0], commands.Refuse):
            assert len(said) == 1
            assert (self.ledger.fifo, self.ledger.claims) == (fifo, claims), "a refusal changes nothing"

    def some(self, number: int) -> str:
        """Some prompt: what runs, a late one, or an unknown one."""
        if number == 0 and self.ledger.fifo.turn is not None:
            return self.ledger.fifo.turn.owner
        if number == 7 or not self.ids:
            return "unknown"
        return self.ids[-1 - number % len(self.ids)]

    def waiting(self, number: int) -> str:
        """Some prompt that waits, if any does."""
        line = self.ledger.fifo.line or self.ledger.fifo.offers
        return line[number % len(line)].id if line and number < 6 else self.some(number)

    def fresh(self) -> str:
        self.ids.append(f"p{len(self.ids)}")
        return self.ids[-1]

    # --- people

    @rule(number=FEW, into_turn=st.booleans())
    def a_prompt(self, number: int, into_turn: bool) -> None:
        self.submit(self.some(number) if number == 6 else self.fresh(), into_turn)

    @rule(many=st.integers(2, 22), into_turn=st.booleans())
    def a_crowd(self, many: int, into_turn: bool) -> None:
        for _ in range(many):
            self.submit(self.fresh(), into_turn)

    def submit(self, prompt: str, into_turn: bool) -> None:
        content = Content(f"text of {prompt}")
        if into_turn:
            self.tell(events.MidTurnSubmitted(prompt, content), "slip", prompt, content.text)
        else:
            self.tell(events.PromptSubmitted(prompt, content), "submit", prompt, content.text)

    @rule(number=FEW)
    def an_edit(self, number: int) -> None:
        self.edits += 1
        prompt, content = self.waiting(number), Content(f"edit {self.edits}")
        self.tell(events.EditAsked(prompt, content), "edit", prompt, content.text)

    @rule(number=FEW, other=FEW)
    def a_reorder(self, number: int, other: int) -> None:
        prompt, before = self.waiting(number), None if other == 5 else self.waiting(other)
        self.tell(events.ReorderAsked(prompt, before), "reorder", prompt, before)

    @rule(number=FEW, lane=st.sampled_from(Lane))
    def a_change_of_lane(self, number: int, lane: Lane) -> None:
        prompt = self.waiting(number)
        self.tell(events.LaneAsked(prompt, lane), "lane", prompt, "mid" if lane is Lane.MID_TURN else "queue")

    @rule(number=FEW)
    def a_cancel(self, number: int) -> None:
        prompt = self.waiting(number)
        self.tell(events.CancelAsked(prompt), "cancel", prompt, self.now)

    @rule(number=FEW)
    def a_withdrawal(self, number: int) -> None:
        prompt = self.waiting(number)
        self.tell(events.WithdrawAsked(prompt), "withdraw", prompt)

    @rule()
    def everything_that_waits_is_cancelled(self) -> None:
        for entry in self.ledger.fifo.line:
            self.tell(events.CancelAsked(entry.id), "cancel", entry.id, self.now)

    @rule()
    def a_stop(self) -> None:
        self.tell(events.StopAsked(), "stop", self.now)

    @precondition(lambda self: self.ledger.fifo.offers)
    @rule(number=FEW)
    def a_second_sending(self, number: int) -> None:
        offers = self.ledger.fifo.offers
        prompt = self.some(number) if number == 7 else offers[number % len(offers)].id
        self.tell(events.ResendAsked(prompt), "resend", prompt)

    # --- the agent

    @rule(number=FEW, word=st.sampled_from(["end_turn", "end_turn", "max_tokens", "cancelled", "error"]))
    def an_answer(self, number: int, word: str) -> None:
        prompt = self.some(max(0, number - 2))
        event = events.PromptFailed(prompt, "bad") if word == "error" else events.PromptAnswered(prompt, word)
        fifo = self.ledger.fifo
        live = prompt in fifo.live_ids()
        if live and (fifo.turn is None or fifo.turn.owner != prompt or fifo.turn.entry is None):
            self.cannot_be(event)
        else:
            self.tell(event, "answer", prompt, word)

    @rule(number=FEW)
    def a_background_turn(self, number: int) -> None:
        if number < 6:
            self.turns += 1
        turn = self.some(number) if number == 7 else f"t{self.turns}"
        self.tell(events.BackgroundTurnRequested(SESSION, turn), "begin", turn)

    @rule(number=FEW)
    def the_end_of_a_background_turn(self, number: int) -> None:
        turn = self.some(number) if number < 2 else f"t{self.turns - (number == 7)}"
        self.tell(events.BackgroundTurnEnded(SESSION, turn), "finish", turn)

    @rule(number=FEW)
    def a_drain(self, number: int) -> None:
        owner = self.owner(number)
        self.tell(events.DrainRequested(SESSION, owner), "drain", owner)

    @rule(number=FEW)
    def a_claim(self, number: int) -> None:
        owner = self.owner(number)
        self.tell(events.ClaimRequested(SESSION, owner), "claim", owner)

    def owner(self, number: int) -> str | None:
        return None if number == 5 else self.some(0 if number < 4 else number)

    # Steps that have to come together to matter, and seldom would.

    @precondition(lambda self: self.ledger.fifo.phase is Phase.RUNNING)
    @rule(many=st.integers(1, 3), into_turn=st.booleans())
    def the_turn_is_told_to_wait(self, many: int, into_turn: bool) -> None:
        owner = self.some(0)
        for _ in range(many):
            self.submit(self.fresh(), into_turn=False)
        self.tell(events.ClaimRequested(SESSION, owner), "claim", owner)
        for entry in self.ledger.fifo.in_lane(Lane.QUEUE) if into_turn else ():
            self.tell(events.LaneAsked(entry.id, Lane.MID_TURN), "lane", entry.id, "mid")

    @precondition(lambda self: self.ledger.fifo.phase in (Phase.RUNNING, Phase.STOPPING))
    @rule(arrives=st.booleans())
    def the_turn_is_given_up(self, arrives: bool) -> None:
        self.tell(events.StopAsked(), "stop", self.now)
        if arrives and self.ledger.fifo.forwarding:
            self.a_cancel_arrives()
        self.now += CANCEL_GRACE_MS
        self.tell(events.TimePassed(), "time", self.now)

    @rule(number=FEW)
    def a_stranger(self, number: int) -> None:
        fifo, claims = self.ledger.fifo, self.ledger.claims
        for event in (
            events.ClaimRequested("other", self.owner(number)),
            events.DrainRequested("other", self.owner(number)),
            events.BackgroundTurnRequested("other", self.some(number)),
            events.BackgroundTurnEnded("other", self.some(number)),
        ):
            said = self.ledger.receive(event, self.now)
            assert all(line in {("claim", False, False), ("drain", (), False), ("turn", False)} for line in heard(said))
        assert (self.ledger.fifo, self.ledger.claims) == (fifo, claims)

    # --- the driver

    @rule(number=FEW)
    def the_agent_goes_or_comes(self, number: int) -> None:
        phase = self.ledger.fifo.phase
        if phase is Phase.DOWN:
            self.tell(events.AgentBecameReady(), "ready")
        elif number < 3 and phase is not Phase.CLOSED:
            self.tell(events.AgentEnded(), "death")

    @precondition(lambda self: self.ledger.fifo.forwarding)
    @rule()
    def a_cancel_arrives(self) -> None:
        self.tell(events.CancelForwarded(str(self.ledger.fifo.forwarding)), "forwarded")

    @precondition(lambda self: self.ledger.fifo.phase is Phase.STOPPING)
    @rule(passed=st.sampled_from([1, CANCEL_GRACE_MS - 1, CANCEL_GRACE_MS]))
    def time(self, passed: int) -> None:
        self.now += passed
        self.tell(events.TimePassed(), "time", self.now)

    @rule(number=FEW)
    def hold_or_go_on(self, number: int) -> None:
        if self.ledger.fifo.holds:
            self.tell(events.PromotionResumed("cd"), "resume")
        elif number < 2:
            self.tell(events.PromotionHeld("cd"), "hold")

    @rule()
    def what_cannot_be(self) -> None:
        phase = self.ledger.fifo.phase
        if phase is not Phase.DOWN:
            self.cannot_be(events.AgentBecameReady())
        else:
            self.cannot_be(events.AgentEnded())
        if phase is Phase.CLOSED:
            self.cannot_be(events.SessionClosed())
        elif phase is not Phase.DOWN:
            self.cannot_be(events.CancelForwarded("nobody's"))
        self.cannot_be(events.PromotionHeld("cd") if self.ledger.fifo.holds else events.PromotionResumed("cd"))

    def cannot_be(self, event: events.Event) -> None:
        fifo, claims = self.ledger.fifo, self.ledger.claims
        with pytest.raises(IllegalEvent):
            self.ledger.receive(event, self.now)
        assert self.ledger.fifo is fifo
        assert self.ledger.claims is claims

    @precondition(lambda self: self.ledger.fifo.phase is not Phase.CLOSED)
    @rule(number=FEW)
    def the_host_restarts(self, number: int) -> None:
        if number < 5:
            return
        stored = strict_json.parse(json.dumps(self.ledger.snapshot()))
        self.ledger = Ledger(SESSION)
        said = self.ledger.restore(stored)
        assert heard(said) == self.model.hear("restart")
        self.witness.restarted(said)
        if number == 7:
            self.tell(events.AgentBecameReady(), "ready")

    @precondition(lambda self: self.ledger.fifo.phase is not Phase.CLOSED)
    @rule(number=st.integers(0, 15))
    def the_session_closes(self, number: int) -> None:
        if number == 15:
            self.close()

    def close(self) -> None:
        self.tell(events.SessionClosed(), "close")
        self.witness.ended()

    def teardown(self) -> None:
        if self.ledger.fifo.phase is not Phase.CLOSED:
            self.close()


ON_THE_WIRE = commands.SendPrompt | commands.SendRelease | commands.AnswerClaim | commands.AnswerDrain


class AgentSide:
    """The other half of the contract, as a real agent does it: one wait, claims in flight, tombstones.

    An answer is taken off the wire at once and acted on later, so a release can be handled in between.
    """

    def __init__(self) -> None:
        self.owner: str | None = None
        self.wait: str | None = None
        self.suspended: set[str] = set()
        self.in_flight: dict[str, int] = {}
        self.tombstones: set[str] = set()

    def asks(self, owner: str) -> None:
        self.in_flight[owner] = self.in_flight.get(owner, 0) + 1

    def settles(self, owner: str, answer: commands.AnswerClaim) -> None:
        if answer.has_queued_prompt and owner not in self.tombstones and owner == self.owner:
            self.wait = owner
        self.in_flight[owner] -= 1
        if not self.in_flight[owner]:
            del self.in_flight[owner]
            self.tombstones.discard(owner)

    def released(self, owner: str) -> None:
        if owner in self.in_flight:
            self.tombstones.add(owner)
            self.suspended.add(owner)
        if self.wait == owner:
            self.wait = None
            self.suspended.add(owner)

    def prompted(self, prompt: str) -> None:
        self.owner, self.wait = prompt, None

    def gets_user_input(self) -> None:
        self.wait = None


class BothSides(RuleBasedStateMachine):
    """The ledger and an agent with a wire in between, where every frame and every continuation takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(SESSION)
        self.agent = AgentSide()
        self.to_agent: deque[commands.Command] = deque()
        self.to_bridge: deque[events.Event] = deque()
        self.answered: list[tuple[str, commands.AnswerClaim]] = []
        self.asked: deque[str] = deque()
        self.done: set[str] = set()
        self.count = 0
        self.bridge(events.AgentBecameReady())

    def bridge(self, event: events.Event) -> None:
        for command in self.ledger.receive(event, 0):
            if isinstance(command, ON_THE_WIRE):
                self.to_agent.append(command)

    @rule(into_turn=st.booleans())
    def a_prompt(self, into_turn: bool) -> None:
        self.count += 1
        kind = events.MidTurnSubmitted if into_turn else events.PromptSubmitted
        self.bridge(kind(f"p{self.count}", Content(f"text {self.count}")))

    @precondition(lambda self: self.ledger.fifo.line)
    @rule(number=FEW)
    def a_waiting_prompt_is_cancelled(self, number: int) -> None:
        line = self.ledger.fifo.line
        self.bridge(events.CancelAsked(line[number % len(line)].id))

    @precondition(lambda self: self.ledger.fifo.line)
    @rule(number=FEW, lane=st.sampled_from(Lane))
    def a_waiting_prompt_changes_lanes(self, number: int, lane: Lane) -> None:
        line = self.ledger.fifo.line
        self.bridge(events.LaneAsked(line[number % len(line)].id, lane))

    @precondition(lambda self: self.agent.owner and self.agent.owner not in self.done and not self.agent.wait)
    @rule()
    def the_agent_claims(self) -> None:
        owner = str(self.agent.owner)
        self.agent.asks(owner)
        self.to_bridge.append(events.ClaimRequested(SESSION, owner))

    @precondition(lambda self: self.agent.owner and self.agent.owner not in self.done and not self.agent.in_flight)
    @rule()
    def the_agent_drains(self) -> None:
        self.to_bridge.append(events.DrainRequested(SESSION, self.agent.owner))

    @precondition(lambda self: self.agent.owner and self.agent.owner not in self.done and not self.agent.in_flight)
    @rule()
    def the_agent_ends_its_turn(self) -> None:
        owner = str(self.agent.owner)
        self.done.add(owner)
        self.to_bridge.append(events.PromptAnswered(owner, "end_turn"))

    @precondition(lambda self: self.to_bridge)
    @rule()
    def the_bridge_reads(self) -> None:
        event = self.to_bridge.popleft()
        if isinstance(event, events.ClaimRequested):
            self.asked.append(str(event.owner))
        self.bridge(event)

    @precondition(lambda self: self.to_agent)
    @rule()
    def the_agent_reads(self) -> None:
        command = self.to_agent.popleft()
        match command:
            case commands.AnswerClaim():
                self.answered.append((self.asked.popleft(), command))
            case commands.AnswerDrain(items=items) if items:
                self.agent.gets_user_input()
            case commands.SendRelease(owner):
                self.agent.released(owner)
            case commands.SendPrompt(prompt):
                assert not self.agent.in_flight
                self.agent.prompted(prompt)
            case _:
                pass

    @precondition(lambda self: self.answered)
    @rule(number=FEW)
    def the_agent_acts_on_an_answer(self, number: int) -> None:
        owner, answer = self.answered.pop(number % len(self.answered))
        assert not answer.claimed or owner == self.agent.owner, "a continuation of a turn that is over"
        self.agent.settles(owner, answer)

    def teardown(self) -> None:
        while self.to_bridge or self.to_agent or self.answered:
            if self.to_bridge:
                self.the_bridge_reads()
            elif self.to_agent:
                self.the_agent_reads()
            else:
                self.the_agent_acts_on_an_answer(0)
        if self.agent.wait is not None:
            assert self.ledger.fifo.line, "the agent waits for a prompt that does not come"
            assert self.ledger.claims.wait == self.agent.wait
        assert not self.agent.in_flight
        assert not self.agent.tombstones


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_breaks_a_rule_or_differs_from_the_model(part: int) -> None:
    run_state_machine_as_test(Sessions, settings=schedules(300, 100_000, 40))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_wire_is_slow_enough_to_leave_an_agent_waiting_for_nothing(part: int) -> None:
    run_state_machine_as_test(BothSides, settings=schedules(150, 20_000, 30))
