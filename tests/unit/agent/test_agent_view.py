from __future__ import annotations

import pytest

from switchboard.agent.dialogs import permission
from switchboard.agent.view import HINT, Fragments, View, above_box, footer


def text(fragments: Fragments) -> str:
    return "".join(piece for _, piece in fragments)


def test_at_rest_nothing_stands_above_the_box() -> None:
    assert above_box(View(), 0) == []


def test_work_that_goes_on() -> None:
    view = View(partial="half an", working="Working", since=1000, queued=("next\none", "last"))
    assert text(above_box(view, 3500)).split("\n") == [
        "\u25cf half an",
        "\u2733 Working\u2026 (2s \u00b7 esc to interrupt)",
        "  queued: next one",
        "  queued: last",
    ]


def test_a_dialog_takes_the_place_of_the_work() -> None:
    lines = text(above_box(View(working="Working", dialog=permission("rm\x1b[2Jx").moved(1)), 0)).split("\n")
    assert lines[0] == " Bash command"
    assert lines[1] == "   rm\u241b[2Jx"
    assert lines[3] == "   1. Yes"
    assert lines[4].startswith(" > 2. Yes, and don't ask again")
    assert len(lines) == 6


def test_only_one_option_is_highlighted() -> None:
    chosen = [piece for style, piece in above_box(View(dialog=permission("x")), 0) if style == "class:chosen"]
    assert chosen == [" > 1. Yes"]


@pytest.mark.parametrize(
    ("view", "box", "foot"),
    [
        (View(), "", HINT),
        (View(notice="Press Ctrl-C again to leave"), "", "Press Ctrl-C again to leave"),
        (View(), "/co", "/compact  /cost"),
        (View(), "/comp", "/compact: replace the conversation by a summary"),
        (View(), "/nosuch", HINT),
    ],
)
def test_the_foot(view: View, box: str, foot: str) -> None:
    assert text(footer(view, box)).strip() == foot


def test_the_foot_of_a_dialog_says_what_enter_does() -> None:
    assert "Enter takes the highlighted answer" in text(footer(View(dialog=permission("x")), ""))
