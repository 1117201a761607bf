"""What one terminal's output says, fed in pieces: the readers' own tables are in their tests."""

from __future__ import annotations

import pytest

from switchboard.sessions.activity import TITLE_RULES
from switchboard.sessions.screen import Screen

TITLE = "\x1b]0;⠋ busy\x07".encode()
PASTE = b"\x1b[?2004h"


def screen(rule: str = "claude") -> Screen:
    return Screen(TITLE_RULES[rule])


@pytest.mark.parametrize(
    ("data", "changed"),
    [
        (b"plain text\r\n", (False, False)),
        (TITLE, (True, False)),
        (PASTE, (False, True)),
        (TITLE + PASTE, (True, True)),
        (PASTE + b"\x1b[?2004l", (False, False)),
        (b"\x1b[31m", (False, False)),
        (b"", (False, False)),
    ],
    ids=["text", "a title", "a mode", "both", "a mode on and off", "colour", "nothing"],
)
def test_what_has_changed(data: bytes, changed: tuple[bool, bool]) -> None:
    assert screen().feed(data) == changed


def test_the_state_is_the_same_however_the_output_is_cut() -> None:
    data = b"x" + TITLE + b"\x1b[?1049h" + PASTE + b"\x1b]9;needs your approval\x07" + b"y"
    whole = screen()
    whole.feed(data)
    assert whole.activity.busy
    assert whole.activity.attention
    assert whole.modes.bracketed_paste
    for cut in range(len(data)):
        cut_screen = screen()
        cut_screen.feed(data[:cut])
        cut_screen.feed(data[cut:])
        assert (cut_screen.activity, cut_screen.modes) == (whole.activity, whole.modes), cut


def test_saying_the_same_again_is_no_change() -> None:
    one = screen()
    assert one.feed(TITLE + PASTE) == (True, True)
    assert one.feed(TITLE + PASTE) == (False, False)


def test_the_rule_is_the_one_of_the_cli() -> None:
    codex, plain = screen("codex"), screen("plain")
    for one in (codex, plain):
        one.feed(b"\x1b]0;[ ! ] allow?\x07")
    assert codex.activity.busy
    assert not plain.activity.busy


def test_how_much_belongs_to_a_sequence_that_is_not_finished() -> None:
    one = screen()
    one.feed(b"text\x1b[?20")
    assert one.undecided == 5
    one.feed(b"04h")
    assert one.undecided == 0
    assert one.modes.bracketed_paste
