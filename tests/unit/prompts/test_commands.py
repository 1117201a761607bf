"""Answers as they stand on the wire."""

from __future__ import annotations

import json

import pytest

from switchboard.prompts.commands import AnswerClaim, AnswerDrain, AnswerStartTurn
from switchboard.prompts.entries import Content, Entry


@pytest.mark.parametrize(("claimed", "queued"), [(True, False), (False, True), (False, False)])
def test_a_claim_is_answered_with_two_booleans(claimed: bool, queued: bool) -> None:
    assert AnswerClaim(claimed, queued).as_wire() == {"claimed": claimed, "hasQueuedPrompt": queued}


@pytest.mark.parametrize("queued", [True, False])
def test_an_empty_drain_still_says_whether_a_prompt_is_queued(queued: bool) -> None:
    assert AnswerDrain((), queued).as_wire() == {"messages": [], "items": [], "hasQueuedPrompt": queued}


def test_drained_items_are_whole_and_in_order() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    items = (Entry("m", Content("one"), 1), Entry("n", Content("two", (image,)), 2))
    wire = AnswerDrain(items, has_queued_prompt=False).as_wire()
    assert wire["messages"] == ["one", "two"]
    assert wire["items"] == [
        {"messageId": "m", "displayText": "one", "content": [{"type": "text", "text": "one"}]},
        {"messageId": "n", "displayText": "two", "content": [{"type": "text", "text": "two"}, image]},
    ]
    assert json.loads(json.dumps(wire)) == wire


@pytest.mark.parametrize("accepted", [True, False])
def test_a_background_turn_is_answered_with_one(accepted: bool) -> None:
    assert AnswerStartTurn(accepted).as_wire() == {"accepted": accepted}
