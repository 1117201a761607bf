"""The modes as they stand: what changes them, and what brings a terminal into them and out of them."""

from __future__ import annotations

import itertools

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.recorded_streams import AGENT_LEAVES, AGENT_START, EDITOR, STREAMS

from switchboard.sessions.modes import MAX_KEYBOARD_STACK, TerminalModes
from switchboard.sessions.sequences import SequenceReader
from switchboard.sessions.vocabulary import Bell, Osc, Query, TerminalEvent

FRESH = TerminalModes()


def after(*pieces: bytes, start: TerminalModes = FRESH) -> TerminalModes:
    reader = SequenceReader()
    modes = start
    for piece in pieces:
        for event in reader.feed(piece):
            modes = modes.after(event)
    return modes


ROWS: list[tuple[str, bytes, dict[str, object]]] = [
    ("nothing", b"text\x1b[31m", {}),
    ("application cursor keys", b"\x1b[?1h", {"private": {1, 7, 25}}),
    ("bracketed paste", b"\x1b[?2004h", {"private": {7, 25, 2004}}),
    ("bracketed paste off again", b"\x1b[?2004h\x1b[?2004l", {}),
    ("hidden cursor", b"\x1b[?25l", {"private": {7}}),
    ("no wrap", b"\x1b[?7l", {"private": {25}}),
    ("focus reports", b"\x1b[?1004h", {"private": {7, 25, 1004}}),
    ("colour scheme reports", b"\x1b[?2031h", {"private": {7, 25, 2031}}),
    ("several at once", b"\x1b[?1004;2004h", {"private": {7, 25, 1004, 2004}}),
    ("keypad", b"\x1b=", {"private": {7, 25, 66}}),
    ("keypad off", b"\x1b=\x1b>", {}),
    ("insert", b"\x1b[4h", {"ansi": {4}}),
    ("insert off", b"\x1b[4h\x1b[4l", {}),
    ("ANSI modes are no private modes", b"\x1b[25l\x1b[?4h", {}),
    ("unknown modes", b"\x1b[?31337h\x1b[99h", {}),
    ("synchronised output is not kept", b"\x1b[?2026h", {}),
    ("mouse", b"\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h", {"mouse": 1003, "mouse_encoding": 1006}),
    ("mouse off by any of its modes", b"\x1b[?1003h\x1b[?1000l", {}),
    ("mouse encoding off", b"\x1b[?1003h\x1b[?1006h\x1b[?1006l", {"mouse": 1003}),
    ("alternate screen", b"\x1b[?1049h", {"alternate": 1049}),
    ("old alternate screen", b"\x1b[?47h", {"alternate": 47}),
    ("alternate screen left", b"\x1b[?1049h\x1b[?1049l", {}),
    ("alternate screen left by another mode", b"\x1b[?1049h\x1b[?1047l", {}),
    (
        "alternate screen entered twice",
        b"\x1b[?1049h\x1b[>1u\x1b[?47h",
        {"alternate": 1049, "alternate_keyboard": (0, 1)},
    ),
    ("keyboard pushed", b"\x1b[>1u\x1b[>5u", {"keyboard": (0, 1, 5)}),
    ("keyboard popped", b"\x1b[>1u\x1b[>5u\x1b[<u", {"keyboard": (0, 1)}),
    ("keyboard popped too far", b"\x1b[>1u\x1b[<9u", {}),
    ("keyboard set", b"\x1b[=5u", {"keyboard": (5,)}),
    ("keyboard set on the stack", b"\x1b[>1u\x1b[=4;2u", {"keyboard": (0, 5)}),
    ("keyboard flags taken away", b"\x1b[>7u\x1b[=2;3u", {"keyboard": (0, 5)}),
    ("keyboard set in an unknown way", b"\x1b[>7u\x1b[=2;9u", {"keyboard": (0, 7)}),
    (
        "keyboard of the other screen",
        b"\x1b[>1u\x1b[?1049h\x1b[>2u",
        {"keyboard": (0, 1), "alternate": 1049, "alternate_keyboard": (0, 2)},
    ),
    ("keyboard of the own screen again", b"\x1b[>1u\x1b[?1049h\x1b[>2u\x1b[?1049l", {"keyboard": (0, 1)}),
    ("modifyOtherKeys", b"\x1b[>4;2m", {"modify_other_keys": 2}),
    ("modifyOtherKeys off", b"\x1b[>4;2m\x1b[>4m", {}),
    ("cursor style", b"\x1b[3 q", {"cursor_style": 3}),
    ("full reset", AGENT_START + b"\x1bc", {}),
    (
        "soft reset",
        b"\x1b[?1;6;2004h\x1b[?7;25l\x1b[4h\x1b=\x1b[3 q\x1b[?1003h\x1b[!p",
        {"private": {7, 25, 2004}, "mouse": 1003},
    ),
]


@pytest.mark.parametrize(("output", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_rows(output: bytes, expected: dict[str, object]) -> None:
    modes = after(output)
    assert {name: getattr(modes, name) for name in TerminalModes.__slots__} == {
        name: expected.get(name, getattr(FRESH, name)) for name in TerminalModes.__slots__
    }


@pytest.mark.parametrize(("output", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_restoring_a_fresh_terminal(output: bytes, expected: dict[str, object]) -> None:
    modes = after(output)
    assert after(modes.restore()) == modes


@pytest.mark.parametrize(("output", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_leaving(output: bytes, expected: dict[str, object]) -> None:
    modes = after(output)
    assert after(modes.leave(), start=modes) == FRESH


def test_a_fresh_terminal_needs_nothing() -> None:
    assert FRESH.restore() == b""


def test_an_agent_from_start_to_end() -> None:
    modes = after(AGENT_START)
    assert modes.bracketed_paste
    assert modes.focus_reports
    assert (modes.alternate, modes.mouse, modes.mouse_encoding) == (1049, 1003, 1006)
    assert modes.alternate_keyboard == (0, 1)
    assert after(AGENT_LEAVES, start=modes) == FRESH
    assert not FRESH.bracketed_paste
    assert not FRESH.focus_reports


def test_equal_modes_while_nothing_changes() -> None:
    modes = after(AGENT_START)
    events: list[TerminalEvent] = [Bell(), Osc(0, "x"), Query(b"\x05"), *SequenceReader().feed(b"\x1b[?25h\x1b[?1003h")]
    for event in events:
        assert modes.after(event) == modes


def test_a_replay_after_restoring_ends_in_the_modes_as_they_stand() -> None:
    """The text of a replay is any end of what was printed; flags and screen come out right (stacks may be deeper)."""
    data = AGENT_START + EDITOR + AGENT_START + AGENT_LEAVES + AGENT_START
    final = after(data)
    for start in range(0, len(data), 7):
        modes = after(data[start:], start=after(final.restore()))
        assert (modes.private, modes.ansi, modes.mouse, modes.alternate) == (
            final.private,
            final.ansi,
            final.mouse,
            final.alternate,
        )


def test_leaving_is_safe_where_nothing_is_known() -> None:
    """It turns mouse, pastes and focus reports off, shows the cursor, and leaves screen and keyboard alone."""
    out = FRESH.leave()
    for mode in (b"1000", b"1003", b"1006", b"2004", b"1004", b"2031"):
        assert mode in out
    assert b"\x1b[?7;25h" in out
    assert b"1049" not in out
    assert b"u" not in out
    assert b"c" not in out


@pytest.mark.parametrize("cut", [b"\x1b", b"\x1b[?25", b"\x1b]0;title", b"\x1bPq#0"])
def test_leaving_in_the_middle_of_a_sequence(cut: bytes) -> None:
    assert after(AGENT_START, cut, after(AGENT_START).leave()) == FRESH


def test_leaving_shows_the_own_screen_again() -> None:
    screen = pyte.HistoryScreen(40, 5)
    stream = pyte.ByteStream(screen)
    stream.feed(b"before\r\n" + FRESH.leave() + b"after")
    assert [line.rstrip() for line in screen.display[:2]] == ["before", "after"]


def test_restored_modes_reach_a_terminal() -> None:
    screen = pyte.Screen(40, 5)
    pyte.ByteStream(screen).feed(after(b"\x1b[?25l\x1b[?7l\x1b[4h").restore())
    assert screen.cursor.hidden
    assert pyte.modes.DECAWM not in screen.mode
    assert pyte.modes.IRM in screen.mode


SEQUENCES = [row[1] for row in ROWS] + [
    b"\x1b[=3u",
    b"\x1b[?9h",
    b"\x1b[?1015h",
    b"\x1b[20h",
    b"\x1b[<2u",
    b"\x1b[>99999u",
]


@given(st.lists(st.sampled_from(SEQUENCES), max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_modes_can_be_restored_and_left(sequences: list[bytes]) -> None:
    modes = after(*sequences)
    assert after(modes.restore()) == modes
    assert after(modes.leave(), start=modes) == FRESH
    assert len(modes.restore()) < 1024


@pytest.mark.parametrize("name", STREAMS)
def test_restoring_after_every_piece_of_a_stream(name: str) -> None:
    data, _ = STREAMS[name]
    for length in range(0, len(data), 3):
        modes = after(data[:length])
        assert after(modes.restore()) == modes


def test_the_keyboard_stack_is_bounded() -> None:
    modes = after(*itertools.repeat(b"\x1b[>3u", 1000))
    assert modes.keyboard == (3,) * MAX_KEYBOARD_STACK
    assert after(modes.leave(), start=modes) == FRESH
