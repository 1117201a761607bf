"""States of a prompt: every pair of them."""

from __future__ import annotations

import pytest

from switchboard.prompts.entries import MOVES, Content, Entry, IllegalEvent, State

LEGAL = {
    ("not sent", "queued"),
    ("not sent", "cancelled"),
    ("queued", "running"),
    ("queued", "cancelled"),
    ("queued", "not sent"),
    ("running", "completed"),
    ("running", "cancelled"),
    ("running", "error"),
}


@pytest.mark.parametrize("before", State, ids=lambda state: state.value)
@pytest.mark.parametrize("after", State, ids=lambda state: state.value)
def test_moves(before: State, after: State) -> None:
    entry = Entry("a", Content("x"), 0, before)
    if (before.value, after.value) in LEGAL:
        assert entry.become(after).state is after
    else:
        with pytest.raises(IllegalEvent):
            entry.become(after)
    assert entry.state is before


def test_nothing_follows_an_end() -> None:
    assert {state.value for state in State if state.final} == {"completed", "cancelled", "error"}
    assert set(MOVES) == set(State)


@pytest.mark.parametrize(
    ("content", "empty"),
    [
        (Content(""), True),
        (Content(" \n\ufeff"), True),
        (Content("x"), False),
        (Content("\x1f"), False),
        (Content("", ({"type": "image"},)), False),
    ],
)
def test_blank_is_blank_on_the_wire_and_an_attachment_is_something(content: Content, empty: bool) -> None:
    assert content.empty is empty


def test_blocks_are_the_text_and_then_what_is_attached() -> None:
    image = {"type": "image", "data": "x"}
    assert Content("hi", (image,)).blocks == [{"type": "text", "text": "hi"}, image]
    assert Content("", (image,)).blocks == [image]
