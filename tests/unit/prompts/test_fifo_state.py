"""The state's own questions, and the draft of a transition."""

from __future__ import annotations

from switchboard.prompts.commands import Announce, SendRelease, Started
from switchboard.prompts.entries import Content, Entry, Lane
from switchboard.prompts.fifo_state import REMEMBERED_ENDS, Draft, FifoState, Turn

B = Entry("b", Content("b"), 1)
M = Entry("m", Content("m"), 2, lane=Lane.MID_TURN)
LEFT = Entry("l", Content("l"), 3)
FULL = FifoState(
    line=(M, B), turn=Turn("a", None, ("d",)), stragglers=frozenset({"s"}), offers=(LEFT,), ended=("e",), ready=True
)


def test_lanes_keep_the_order_of_the_line() -> None:
    assert FULL.in_lane(Lane.QUEUE) == (B,)
    assert FULL.in_lane(Lane.MID_TURN) == (M,)
    assert FULL.has_queued_prompt
    assert not FifoState(line=(M,)).has_queued_prompt


def test_what_lives_and_what_is_known() -> None:
    assert list(FULL.live_ids()) == ["a", "d", "m", "b", "l"]
    assert all(FULL.knows(prompt) for prompt in ("a", "d", "m", "b", "l", "s", "e"))
    assert not FULL.knows("x")


def test_a_draft_leaves_the_state_it_began_with_alone() -> None:
    draft = Draft(FULL)
    draft.put(line=())
    draft.remember("x", "y")
    draft.announce(Started("a"))
    draft.say(SendRelease("a"))
    assert FULL.line == (M, B)
    assert draft.state.ended == ("e", "x", "y")
    assert draft.said == [Announce(Started("a")), SendRelease("a")]


def test_a_draft_replaces_an_entry_where_it_stands() -> None:
    draft = Draft(FULL)
    other = Entry("m", Content("other"), 2)
    draft.replace_waiting(other)
    assert draft.state.line == (other, B)
    draft.replace_waiting(Entry("l", Content("other"), 3))
    assert draft.state.offers[0].content.text == "other"


def test_only_the_newest_ends_are_remembered() -> None:
    draft = Draft(FifoState())
    draft.remember(*map(str, range(REMEMBERED_ENDS + 1)))
    assert draft.state.ended[0] == "1"
