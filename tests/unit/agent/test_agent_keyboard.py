from __future__ import annotations

import pytest

from switchboard.agent.keyboard import DOUBLE_ESCAPE_MS, TWICE_MS, Deed, Keyboard, Situation

EMPTY, TEXT = Situation(), Situation(box="text")
BUSY, BUSY_TEXT = Situation(busy=True), Situation(box="text", busy=True)
DIALOG = Situation(box="text", busy=True, dialog=True)


@pytest.mark.parametrize(
    ("key", "situation", "deed"),
    [
        ("c-m", TEXT, Deed.SUBMIT),
        ("c-m", BUSY_TEXT, Deed.SUBMIT),
        ("c-m", EMPTY, Deed.NOTHING),
        ("c-m", Situation(box=" \n"), Deed.NOTHING),
        ("c-m", Situation(box="a\\"), Deed.BREAK_LINE),
        ("c-j", TEXT, Deed.NEWLINE),
        ("c-i", TEXT, Deed.COMPLETE),
        ("escape", TEXT, Deed.NOTHING),
        ("escape", BUSY_TEXT, Deed.INTERRUPT),
        ("escape", BUSY, Deed.INTERRUPT),
        ("c-c", TEXT, Deed.CLEAR),
        ("c-c", BUSY_TEXT, Deed.CLEAR),
        ("c-c", BUSY, Deed.INTERRUPT),
        ("c-c", EMPTY, Deed.WARN),
        ("c-d", EMPTY, Deed.LEAVE),
        ("c-d", TEXT, Deed.EDIT),
        ("up", EMPTY, Deed.PREVIOUS),
        ("up", Situation(busy=True, queued=True), Deed.UNQUEUE),
        ("up", Situation(box="x", busy=True, queued=True), Deed.PREVIOUS),
        ("down", EMPTY, Deed.NEXT),
        ("c-l", EMPTY, Deed.REDRAW),
        ("c-w", TEXT, Deed.EDIT),
        ("c-q", TEXT, Deed.NOTHING),
        ("c-m", DIALOG, Deed.CHOOSE),
        ("c-j", DIALOG, Deed.NOTHING),
        ("escape", DIALOG, Deed.CANCEL),
        ("c-c", DIALOG, Deed.CANCEL),
        ("c-d", DIALOG, Deed.NOTHING),
        ("c-w", DIALOG, Deed.NOTHING),
        ("up", DIALOG, Deed.OPTION_UP),
        ("down", DIALOG, Deed.OPTION_DOWN),
    ],
)
def test_keys(key: str, situation: Situation, deed: Deed) -> None:
    assert Keyboard().pressed((key,), situation, 1000)[1] is deed


@pytest.mark.parametrize("key", ["b", "f", "d", "c-h", "delete", "left", "right"])
def test_a_key_with_alt_edits(key: str) -> None:
    assert Keyboard().pressed(("escape", key), BUSY_TEXT, 0)[1] is Deed.EDIT
    assert Keyboard().pressed(("escape", key), DIALOG, 0)[1] is Deed.NOTHING


@pytest.mark.parametrize("key", ["x", "é", ".", "1", "y", "#", "_", "c-y", "c-i", "c-c", "insert", "up"])
def test_any_other_key_with_alt_does_nothing(key: str) -> None:
    """The line editor would insert the character, or a word of an earlier prompt."""
    for situation in (EMPTY, TEXT, BUSY_TEXT, DIALOG):
        assert Keyboard().pressed(("escape", key), situation, 0)[1] is Deed.NOTHING


def test_a_key_with_alt_is_no_half_of_escape_twice() -> None:
    keyboard, _ = Keyboard().pressed(("escape",), TEXT, 0)
    keyboard, _ = keyboard.pressed(("escape", "x"), TEXT, 1)
    assert keyboard.pressed(("escape",), TEXT, 2)[1] is Deed.NOTHING


def deeds(*keys: tuple[str, int], situation: Situation) -> list[Deed]:
    keyboard, seen = Keyboard(), []
    for key, at in keys:
        keyboard, deed = keyboard.pressed((key,), situation, at)
        seen.append(deed)
    return seen


def test_ctrl_c_twice_leaves() -> None:
    assert deeds(("c-c", 0), ("c-c", TWICE_MS), situation=EMPTY) == [Deed.WARN, Deed.LEAVE]
    assert deeds(("c-c", 0), ("c-c", TWICE_MS + 1), situation=EMPTY) == [Deed.WARN, Deed.WARN]
    assert deeds(("c-c", 0), ("c-c", 10), situation=BUSY) == [Deed.INTERRUPT, Deed.LEAVE]


def test_ctrl_c_never_leaves_with_text_in_the_box() -> None:
    assert deeds(("c-c", 0), ("c-c", 10), situation=TEXT) == [Deed.CLEAR, Deed.CLEAR]


def test_escape_twice_clears() -> None:
    assert deeds(("escape", 0), ("escape", DOUBLE_ESCAPE_MS), situation=TEXT) == [Deed.NOTHING, Deed.CLEAR]
    assert deeds(("escape", 0), ("escape", DOUBLE_ESCAPE_MS + 1), situation=TEXT)[-1] is Deed.NOTHING
    assert deeds(("escape", 0), ("c-e", 1), ("escape", 2), situation=TEXT)[-1] is Deed.NOTHING
    assert deeds(("escape", 0), ("escape", 1), situation=EMPTY)[-1] is Deed.NOTHING


def test_an_escape_that_interrupted_does_not_count_towards_clearing() -> None:
    keyboard, _ = Keyboard().pressed(("escape",), BUSY_TEXT, 0)
    assert keyboard.pressed(("escape",), TEXT, 1)[1] is Deed.NOTHING
