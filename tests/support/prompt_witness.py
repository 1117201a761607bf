"""What may never be heard from a prompt ledger, judged from events and commands alone.

The witness knows no state of the machines. It keeps what people were told (who waits, in which order, with what text)
and holds every command against that. Each rule is named after the sentence of the contract it comes from.
"""

from __future__ import annotations

from switchboard.prompts import commands, events
from switchboard.prompts.entries import Lane


class Witness:
    """Hears everything a session hears and says. A broken rule is an AssertionError."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.lanes: dict[str, Lane] = {}
        self.texts: dict[str, str] = {}
        self.said_to_agent: set[str] = set()
        self.ends: dict[str, str] = {}
        self.offered: set[str] = set()
        self.owner: str | None = None
        self.cancel_on_way: str | None = None
        self.given_up: set[str] = set()
        self.told_queued: str | None = None
        self.held = False

    @property
    def queued(self) -> list[str]:
        return [prompt for prompt in self.order if self.lanes[prompt] is Lane.QUEUE]

    def hear(self, event: events.Event, said: tuple[commands.Command, ...]) -> None:
        match event:
            case events.AgentEnded():
                self.told_queued, self.cancel_on_way, self.given_up = None, None, set()
            case events.CancelForwarded():
                self.cancel_on_way = None
            case events.PromotionHeld():
                self.held = True
            case events.PromotionResumed():
                self.held = False
            case events.PromptAnswered(prompt=name) | events.PromptFailed(prompt=name):
                self.given_up.discard(name)
            case events.BackgroundTurnEnded(turn=name):
                self.given_up.discard(name)
            case _:
                pass
        for command in said:
            self._command(event, command)
        self.nobody_waits_for_a_prompt_that_does_not_come()

    def restarted(self, said: tuple[commands.Command, ...]) -> None:
        """A new host took over: everything that was live is ended or offered, and nothing else is said."""
        live = {prompt for prompt in self.texts if prompt not in self.ends}
        never_sent = live - self.said_to_agent
        self.order, self.lanes, self.owner, self.told_queued = [], {}, None, None
        self.cancel_on_way, self.given_up, self.held = None, set(), False
        fresh: set[str] = set()
        for command in said:
            assert isinstance(command, commands.Announce), "prompts that survive a restart are never sent by themselves"
            match command.notice:
                case commands.Offered(entry):
                    assert entry.content.text == self.texts[entry.id], "no text is lost"
                    fresh.add(entry.id)
                case commands.Ended() as end:
                    assert end.prompt in self.said_to_agent
                    self.one_terminal_event_per_prompt(end)
        assert fresh == never_sent, "what was never sent is offered again, and only that"
        self.offered = fresh

    def ended(self) -> None:
        """The session is over."""
        assert set(self.ends) == set(self.texts), "every admitted prompt has its terminal event"
        for prompt, state in self.ends.items():
            if state != "cancelled":
                assert prompt in self.said_to_agent, f"{prompt} {state}, and was never said"

    # --- the rules

    def _command(self, event: events.Event, command: commands.Command) -> None:
        match command:
            case commands.SendPrompt():
                self.no_admitted_prompt_is_overtaken(command)
                self.a_cancel_is_forwarded_before_the_next_prompt_starts()
                self.no_text_is_lost_or_sent_twice(command.prompt, command.content.text)
                self.promotion_clears_the_wait(command.prompt)
            case commands.AnswerDrain():
                self.a_drain_gives_what_waited_for_that_turn(event, command)
            case commands.AnswerClaim():
                self.a_claim_is_the_owners_and_behind_what_was_admitted(event, command)
            case commands.SendRelease():
                self.a_release_is_for_the_one_that_waits_in_vain(command)
            case commands.ForwardCancel(owner):
                assert owner == self.owner or isinstance(event, events.SessionClosed)
                self.cancel_on_way = owner
            case commands.Announce(notice):
                self._notice(event, notice)
            case _:
                assert isinstance(command, commands.Refuse | commands.AnswerStartTurn)

    def no_admitted_prompt_is_overtaken(self, sent: commands.SendPrompt) -> None:
        assert self.queued == self.order, "messages for a turn wait although none runs"
        assert self.order[0] == sent.prompt
        assert self.owner is None, "two turns at once"
        assert not self.held

    def a_cancel_is_forwarded_before_the_next_prompt_starts(self) -> None:
        assert self.cancel_on_way is None

    def no_text_is_lost_or_sent_twice(self, prompt: str, text: str) -> None:
        assert prompt not in self.said_to_agent, "sent twice"
        assert prompt not in self.ends, "sent after its end"
        assert text == self.texts[prompt], "not what was last asked for"
        self.said_to_agent.add(prompt)
        self.order.remove(prompt)

    def promotion_clears_the_wait(self, prompt: str) -> None:
        self.owner, self.told_queued = prompt, None

    def a_drain_gives_what_waited_for_that_turn(self, event: events.Event, drained: commands.AnswerDrain) -> None:
        assert isinstance(event, events.DrainRequested)
        assert isinstance(drained.has_queued_prompt, bool)
        assert isinstance(drained.as_wire()["hasQueuedPrompt"], bool)
        assert not drained.has_queued_prompt or self.queued
        ids = [item.id for item in drained.items]
        assert len(ids) <= 10
        assert ids == [prompt for prompt in self.order if prompt in ids], "out of order"
        assert not ids or self.owner is not None
        assert not ids or event.owner in (None, self.owner), "another turn's messages"
        for item in drained.items:
            assert self.lanes[item.id] is Lane.MID_TURN
            self.no_text_is_lost_or_sent_twice(item.id, item.content.text)
        if ids and not self.order:
            self.told_queued = None  # to the agent it is user input, which ends its waiting

    def a_claim_is_the_owners_and_behind_what_was_admitted(
        self, event: events.Event, answer: commands.AnswerClaim
    ) -> None:
        assert isinstance(event, events.ClaimRequested)
        if answer.claimed:
            assert not answer.has_queued_prompt
            assert not self.queued, "an admitted prompt is overtaken"
        if answer.has_queued_prompt:
            assert self.queued
            self.told_queued = event.owner
            assert event.owner is not None
        if answer.claimed or answer.has_queued_prompt:
            assert event.owner == self.owner, "not the turn that runs"
            assert self.cancel_on_way is None, "aborted"
            assert not self.given_up, "a competitor"

    def a_release_is_for_the_one_that_waits_in_vain(self, release: commands.SendRelease) -> None:
        assert release.owner == self.told_queued
        assert not self.order
        self.told_queued = None

    def nobody_waits_for_a_prompt_that_does_not_come(self) -> None:
        assert self.told_queued is None or self.order

    def a_background_turn_overtakes_nothing(self, event: events.Event, turn: str) -> None:
        assert isinstance(event, events.BackgroundTurnRequested)
        assert event.turn == turn
        assert self.owner is None, "two turns at once"
        assert not self.order, "an admitted prompt is overtaken"
        assert turn not in self.texts, "under a prompt's name"
        self.owner = turn

    def one_terminal_event_per_prompt(self, end: commands.Ended) -> None:
        assert end.prompt in self.texts
        assert end.prompt not in self.ends, "ended twice"
        assert end.state.final
        self.ends[end.prompt] = end.state.value

    # --- what people are told

    def _notice(self, event: events.Event, notice: commands.Notice) -> None:
        match notice:
            case commands.Admitted(entry):
                assert entry.id not in self.order
                assert entry.id not in self.ends
                assert (entry.id in self.texts) == (entry.id in self.offered)
                self.offered.discard(entry.id)
                self.order.append(entry.id)
                self.lanes[entry.id], self.texts[entry.id] = entry.lane, entry.content.text
                same = [one for one in self.order if self.lanes[one] is entry.lane]
                assert len(same) <= 20, "the queue is bounded"
            case commands.Edited(entry):
                assert entry.id in self.order or entry.id in self.offered
                self.texts[entry.id] = entry.content.text
            case commands.Reordered(order):
                assert isinstance(event, events.ReorderAsked), "only people reorder"
                assert sorted(order) == sorted(self.order), "the entry never leaves the live set"
                self.order = list(order)
            case commands.LaneChanged(prompt, lane):
                assert prompt in self.order, "the entry never leaves the live set"
                self.lanes[prompt] = lane
            case commands.Started(prompt):
                assert prompt in self.order
            case commands.Drained(prompt, owner):
                assert prompt in self.said_to_agent
                assert owner == self.owner
            case commands.Ended():
                self._ended(event, notice)
            case commands.BackgroundStarted(turn):
                self.a_background_turn_overtakes_nothing(event, turn)
            case commands.BackgroundEnded(turn):
                assert turn == self.owner
                self._floor_is_free(event, turn)
            case _:
                raise AssertionError(f"{notice} outside a restart")

    def _ended(self, event: events.Event, end: commands.Ended) -> None:
        self.one_terminal_event_per_prompt(end)
        if end.prompt in self.order:
            self.order.remove(end.prompt)
        self.offered.discard(end.prompt)
        if end.prompt == self.owner:
            self._floor_is_free(event, end.prompt)

    def _floor_is_free(self, event: events.Event, owner: str) -> None:
        self.owner = None
        if isinstance(event, events.TimePassed):
            self.given_up.add(owner)
