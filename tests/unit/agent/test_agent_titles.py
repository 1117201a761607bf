from __future__ import annotations

from switchboard.agent import titles


def test_titles() -> None:
    assert titles.idle_title("a-1f") == "\x1b]0;\u2733 a-1f\x07"
    assert titles.busy_title("a", 0) == "\x1b]0;\u25d0 a\x07"
    assert titles.busy_title("a", 1) == "\x1b]0;\u25d1 a\x07"
    assert titles.busy_title("a", 2) == titles.busy_title("a", 0)


def test_progress() -> None:
    assert titles.progress(True) == "\x1b]9;4;3;\x07"
    assert titles.progress(False) == "\x1b]9;4;0;\x07"


def test_a_name_cannot_end_the_sequence() -> None:
    assert titles.idle_title("a\x07b\x1b\\\u009cc") == "\x1b]0;\u2733 ab\\c\x07"
    assert titles.notification("needs\x07 you") == "\x1b]9;needs you\x07"
