"""The composer model, row by row of the legacy composer contract, and over every way of cutting the input."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switchboard.clis.profiles import PROFILES
from switchboard.common.facts import ComposerView
from switchboard.sessions.composer import (
    BURST_MS,
    COMPOSER_RULES,
    ESCAPE_LETTER_MS,
    ESCAPE_MS,
    MAX_HELD,
    Composer,
    ComposerRule,
)

ESC = "\x1b"
START = 1_000
LATER = 5_000


def typed(*pieces: str | bytes, at: int = START, rule: str = "plain") -> Composer:
    composer = Composer(COMPOSER_RULES[rule])
    for piece in pieces:
        composer.feed(piece.encode() if isinstance(piece, str) else piece, at)
    return composer


# Name, keys, code points left, and code points left after "X" is typed and Ctrl+K pressed: shows where the cursor is.
ROWS: list[tuple[str, str, int, int]] = [
    ("printable", "ab c", 4, 5),
    ("printable beyond ASCII counts code points", "é😀漢", 3, 4),
    ("C1 characters are printable", "a\x85\x9b", 3, 4),
    ("CR clears", "ab\r", 0, 1),
    ("LF clears", "ab\n", 0, 1),
    ("Ctrl+U clears", "ab\x15", 0, 1),
    ("Ctrl+C clears", "ab\x03", 0, 1),
    ("Ctrl+U clears on both sides of the cursor", "abc\x01\x1b[C\x15", 0, 1),
    ("text after CR counts", "ab\rcde", 3, 4),
    ("DEL deletes behind", "abc\x7f", 2, 3),
    ("BS deletes behind", "abc\x08\x08", 1, 2),
    ("BS in an empty box", "\x08\x7f", 0, 1),
    ("BS deletes a whole code point", "a😀\x08", 1, 2),
    ("CSI 3~ deletes ahead", "abc\x01\x1b[3~", 2, 1),
    ("CSI 3;5~ deletes ahead", "abc\x01\x1b[3;5~", 2, 1),
    ("CSI 3~ at the end", "abc\x1b[3~", 3, 4),
    ("Ctrl+W deletes a word", "one two\x17", 4, 5),
    ("Ctrl+W deletes whitespace, then the word", "one two \t\x17", 4, 5),
    ("Ctrl+W twice", "one two\x17\x17", 0, 1),
    ("Ctrl+W at the start", "one\x01\x17", 3, 1),
    ("Ctrl+W spares what is ahead", "one two\x1b[D\x1b[D\x17", 6, 5),
    ("ESC DEL deletes a word", "one two\x1b\x7f", 4, 5),
    ("ESC BS deletes a word", "one two\x1b\x08", 4, 5),
    ("Ctrl+K deletes to the end", "abcd\x01\x1b[C\x0b", 1, 2),
    ("Ctrl+K at the end", "abcd\x0b", 4, 5),
    ("Ctrl+A moves to the start", "abc\x01", 3, 1),
    ("CSI H moves to the start", "abc\x1b[H", 3, 1),
    ("SS3 H moves to the start", "abc\x1bOH", 3, 1),
    ("CSI 1~ moves to the start", "abc\x1b[1~", 3, 1),
    ("CSI 7~ moves to the start", "abc\x1b[7~", 3, 1),
    ("Ctrl+E moves to the end", "abc\x01\x05", 3, 4),
    ("CSI F moves to the end", "abc\x01\x1b[F", 3, 4),
    ("SS3 F moves to the end", "abc\x01\x1bOF", 3, 4),
    ("CSI 4~ moves to the end", "abc\x01\x1b[4~", 3, 4),
    ("CSI 8~ moves to the end", "abc\x01\x1b[8~", 3, 4),
    ("CSI D moves left", "a😀c\x1b[D\x1b[D", 3, 2),
    ("CSI C moves right", "a😀c\x01\x1b[C\x1b[C", 3, 3),
    ("SS3 D moves left", "abc\x1bOD", 3, 3),
    ("SS3 C moves right", "abc\x01\x1bOC", 3, 2),
    ("CSI D stops at the start", "a\x1b[D\x1b[D\x1b[D", 1, 1),
    ("CSI 1;5D moves a word left", "one two\x1b[1;5D", 7, 5),
    ("CSI 1;3D twice", "one two \x1b[1;3D\x1b[1;3D", 8, 1),
    ("CSI 1;5C moves a word right", "one two\x01\x1b[1;5C", 7, 4),
    ("CSI 1;2C takes any modifier", "one two\x01\x1b[1;2C\x1b[1;2C", 7, 8),
    ("CSI A recalls history", "\x1b[A", 1, 2),
    ("SS3 A recalls history", "\x1bOA", 1, 2),
    ("CSI 1;5A does not", "\x1b[1;5A", 0, 1),
    ("CSI B does nothing", "\x1b[B\x1bOB", 0, 1),
    ("other CSI does nothing", "ab\x1b[15~\x1b[Z\x1b[1;5P\x1b[5u\x1b[27;2;13~\x1b[?62;4c\x1b[?2026;2$y", 2, 3),
    ("other SS3 does nothing", "ab\x1bOP", 2, 3),
    ("ESC and a character do nothing", "ab\x1bf\x1bé", 2, 3),
    ("plain ESC does nothing", "ab\x1b\x1b", 2, 3),
    ("ESC ESC takes the first one only", "ab\x1b\x1b[D", 2, 2),
    ("Ctrl+V inserts a placeholder", "a\x16", 2, 3),
    ("CSI 13;2u inserts a line break", "a\x1b[13;2u", 2, 3),
    ("the line break is whitespace", "one\x1b[13;2utwo\x17", 4, 5),
    ("CSI 13u does not clear", "ab\x1b[13u", 2, 3),
    ("CSI 97;5u does nothing", "ab\x1b[97;5u", 2, 3),
    ("paste", "\x1b[200~one\rtwo\nthree\x1b[201~", 13, 14),
    ("Enter after a paste clears", "\x1b[200~one\rtwo\x1b[201~\r", 0, 1),
    ("controls in a paste are text", "\x1b[200~a\x03\x15\x7f\x1b[201~", 4, 5),
    ("an ESC in a paste is text", "\x1b[200~a\x1bb\x1b[D\x1b[200~\x1b[201~", 12, 13),
    ("two ESC before the end of a paste", "\x1b[200~a\x1b\x1b[201~", 2, 3),
    ("a paste is inserted at the cursor", "ab\x01\x1b[200~xy\x1b[201~", 4, 3),
    ("an end without a paste", "ab\x1b[201~", 2, 3),
    ("OSC to BEL", "a\x1b]11;rgb:0000/0000/0000\x07", 1, 2),
    ("OSC to ST", "a\x1b]11;rgb:0000/0000/0000\x1b\\", 1, 2),
    ("OSC without an end before a control was typed", "\x1b]ab\x1b[A", 3, 4),
    ("DCS to ST", "a\x1bP>|xterm(390)\x1b\\", 1, 2),
    ("DCS to the next ESC", "a\x1bP1$r0m\x1b[A", 2, 3),
    ("ESC P and no parameter is Alt+P", "a\x1bPbc", 3, 4),
    ("other C0", "a\t\x04\x0c\x0e\x1f\x00", 1, 2),
    ("SGR mouse", "a\x1b[<35;10;20M\x1b[<0;1;1m", 1, 2),
    ("focus", "a\x1b[I\x1b[O", 1, 2),
    ("DECXCPR", "a\x1b[?24;80R\x1b[?24;80;1R", 1, 2),
    ("X10 mouse is typed text", "\x1b[M #!", 3, 4),
    ("a broken CSI was typed", "\x1b[12\rab", 2, 3),
    ("a broken CSI leaves its text", "\x1b[12é", 3, 4),
]
IDS = [row[0] for row in ROWS]


@pytest.mark.parametrize(("keys", "left", "after_kill"), [row[1:] for row in ROWS], ids=IDS)
class TestRows:
    def test_text(self, keys: str, left: int, after_kill: int) -> None:
        composer = typed(keys)
        assert composer.pending == left
        if not keys.endswith(ESC):
            composer.feed(b"X\x0b", START)
            assert composer.pending == after_kill

    def test_every_cut(self, keys: str, left: int, after_kill: int) -> None:
        data = keys.encode()
        for cut in range(len(data) + 1):
            composer = typed(data[:cut], data[cut:])
            assert composer.pending == left, data[:cut]
        assert typed(*(data[index : index + 1] for index in range(len(data)))).pending == left

    def test_every_cut_with_a_restart_between(self, keys: str, left: int, after_kill: int) -> None:
        data = keys.encode()
        for cut in range(len(data) + 1):
            first = typed(data[:cut])
            second = Composer()
            second.restore(json.loads(json.dumps(first.snapshot())))
            assert second.view() == first.view()
            second.feed(data[cut:], START)
            assert second.pending == left, data[:cut]


CLOCK_ROWS = [
    ("printable", "a", True),
    ("CR", "\r", True),
    ("Ctrl+C", "\x03", True),
    ("DEL", "\x7f", True),
    ("CSI 3~", "\x1b[3~", True),
    ("Ctrl+W", "\x17", True),
    ("Ctrl+K", "\x0b", True),
    ("Ctrl+A", "\x01", True),
    ("Home", "\x1b[H", True),
    ("Left", "\x1b[D", True),
    ("word left", "\x1b[1;5D", True),
    ("Up", "\x1b[A", True),
    ("modified Up", "\x1b[1;5A", True),
    ("Down", "\x1b[B", True),
    ("other ESC", "\x1bx", True),
    ("lone ESC", "\x1b", True),
    ("Ctrl+V", "\x16", True),
    ("Shift+Enter", "\x1b[13;2u", True),
    ("Enter as CSI u", "\x1b[13u", True),
    ("paste start", "\x1b[200~", True),
    ("OSC", "\x1b]11;rgb:0/0/0\x07", True),
    ("DCS", "\x1bP1$r0m\x1b\\", True),
    ("Tab", "\t", True),
    ("NUL", "\x00", True),
    ("half a character", b"\xc3", True),
    ("SGR mouse press", "\x1b[<0;10;20M", False),
    ("SGR mouse release", "\x1b[<0;1234567890;20m", False),
    ("focus in", "\x1b[I", False),
    ("focus out", "\x1b[O", False),
    ("DECXCPR", "\x1b[?24;80R", False),
    ("DECXCPR with a page", "\x1b[?2400;8000;1R", False),
    ("several reports", "\x1b[<35;1;1M\x1b[<35;1;2M\x1b[I\x1b[?1;1R", False),
    ("a report and a key", "\x1b[<35;1;1Ma", True),
    ("a key and a report", "a\x1b[I", True),
    ("nothing", "", False),
    ("SGR mouse with two numbers", "\x1b[<0;10M", True),
    ("SGR mouse with four numbers", "\x1b[<0;1;1;1M", True),
    ("SGR mouse with eleven digits", "\x1b[<0;12345678901;1M", True),
    ("SGR mouse with another final", "\x1b[<0;1;1N", True),
    ("focus with a parameter", "\x1b[1I", True),
    ("modified F3", "\x1b[1;2R", True),
    ("DECXCPR with five digits", "\x1b[?12345;1R", True),
    ("DECXCPR with one number", "\x1b[?1R", True),
    ("DECXCPR with four numbers", "\x1b[?1;1;1;1R", True),
    ("X10 mouse", "\x1b[M !!", True),
    ("device attributes", "\x1b[?62;22c", True),
]


@pytest.mark.parametrize(("keys", "moves"), [row[1:] for row in CLOCK_ROWS], ids=[row[0] for row in CLOCK_ROWS])
def test_clock(keys: str | bytes, moves: bool) -> None:
    composer = typed("a\r", keys if isinstance(keys, bytes) else keys.encode(), at=START)
    assert composer.last_input_at == START
    composer = typed("a\r", at=START)
    composer.feed(keys if isinstance(keys, bytes) else keys.encode(), LATER)
    assert composer.last_input_at == (LATER if moves else START)


@pytest.mark.parametrize("report", ["\x1b[<35;10;20M", "\x1b[I", "\x1b[?24;80R"])
def test_a_cut_report_counts_once(report: str) -> None:
    for cut in range(1, len(report)):
        composer = typed(report[:cut], at=START)
        composer.feed(report[cut:].encode(), LATER)
        assert composer.view() == ComposerView(0, START), report[:cut]


def test_before_the_first_keystroke() -> None:
    assert Composer().view() == ComposerView(pending=0, last_input_at=0)


def test_deleting_and_submitting_do_not_reset_the_clock() -> None:
    composer = typed("ab", at=START)
    composer.feed(b"\x7f\x7f", LATER)
    assert composer.view() == ComposerView(0, LATER)
    composer.clear()
    assert composer.last_input_at == LATER


def test_a_lone_escape_joins_what_comes_next() -> None:
    """What comes at once: Escape, then a letter, is Alt with that letter; Escape, then Enter, does not clear."""
    assert typed("ab", ESC, "c").pending == 2
    assert typed("ab", ESC, "cd").pending == 3
    assert typed("ab", ESC, "\r").pending == 2
    assert typed("ab", ESC, ESC, "\r").pending == 2
    assert typed("ab", ESC, "x", "\r").pending == 0


LONE_ESCAPE_ROWS = [
    ("Enter clears", "ab", "\r", 0),
    ("Ctrl+C clears", "ab", "\x03", 0),
    ("Ctrl+U clears", "ab", "\x15", 0),
    ("LF clears", "ab", "\n", 0),
    ("a letter counts", "ab", "c", 3),
    ("DEL deletes one code point", "one two", "\x7f", 6),
    ("the start of a sequence is text", "ab", "[", 3),
    ("and of a string", "ab", "]11;rgb", 9),
    ("what looks like a key is text", "ab", "OK", 4),
    ("the rest of a cut sequence is not", "ab", "[A", 3),
    ("nor that of a cut report", "ab", "[<35;10;20M", 2),
    ("nor that of a cut answer", "ab", "]11;rgb:0000/0000/0000\x07", 2),
    ("a sequence of its own is read", "ab", "\x1b[A", 3),
    ("a report of its own is read", "ab", "\x1b[I", 2),
    ("a paste begins", "ab", "\x1b[200~cd\x1b[201~", 4),
    ("a second Escape", "ab", ESC, 2),
]


@pytest.mark.parametrize(
    ("before", "after", "left"), [row[1:] for row in LONE_ESCAPE_ROWS], ids=[row[0] for row in LONE_ESCAPE_ROWS]
)
class TestLoneEscape:
    """Escape is a key of its own once nothing has followed it for `ESCAPE_MS`."""

    def test_in_time(self, before: str, after: str, left: int) -> None:
        composer = typed(before + ESC)
        composer.feed(after.encode(), START + ESCAPE_MS)
        assert composer.pending == left

    def test_over_a_restart(self, before: str, after: str, left: int) -> None:
        composer = Composer()
        composer.restore(json.loads(json.dumps(typed(before, ESC).snapshot())))
        composer.feed(after.encode(), START + ESCAPE_MS)
        assert composer.pending == left

    def test_after_a_clock_that_was_set_back(self, before: str, after: str, left: int) -> None:
        """How long ago it was typed cannot be told, and a sequence that is cut between two writes is rare."""
        composer = typed(before, ESC)
        composer.feed(after.encode(), START - 1)
        assert composer.pending == left


def test_a_lone_escape_joins_what_comes_within_its_time() -> None:
    for keys, left in (("\r", 2), ("\x03", 2), ("[", 2), ("[A", 3), ("[I", 2)):
        composer = typed("ab", ESC)
        composer.feed(keys.encode(), START + ESCAPE_MS - 1)
        assert composer.pending == left, keys


def test_a_letter_soon_after_a_lone_escape_counts() -> None:
    """Some CLIs wait less for the rest of a sequence; Enter that may be Alt with Enter still clears nothing."""
    for wait, left in ((ESCAPE_LETTER_MS - 1, 2), (ESCAPE_LETTER_MS, 3), (ESCAPE_MS - 1, 3)):
        composer = typed("ab", ESC)
        composer.feed(b"c", START + wait)
        assert composer.pending == left, wait


def test_an_escape_that_is_over_moves_no_clock() -> None:
    composer = typed(ESC)
    composer.feed(b"", START + ESCAPE_MS)
    composer.feed(b"\x1b[I", LATER)
    assert composer.view() == ComposerView(0, START)


def test_escape_twice_and_enter_later() -> None:
    composer = typed("ab", ESC)
    composer.feed(ESC.encode(), START + 20)
    composer.feed(b"\r", START + 20 + ESCAPE_MS - 1)
    assert composer.pending == 2
    composer.feed(b"\r", LATER)
    assert composer.pending == 0


def test_half_a_character_after_a_lone_escape_is_no_alt_key_later() -> None:
    composer = typed(ESC)
    composer.feed(b"\xc3", START + ESCAPE_MS)
    composer.feed(b"\xa9", START + ESCAPE_MS)
    assert composer.pending == 1


def test_only_a_lone_escape_is_over_in_time() -> None:
    """Whatever else is held was sent by a terminal, which was interrupted: the rest of it comes."""
    for held, rest, left in (("\x1b[", "A", 1), ("\x1bO", "A", 1), ("\x1b]0;x", "\x07", 0), ("\x1b[20", "0~a", 1)):
        composer = typed(held)
        composer.feed(rest.encode(), LATER)
        assert composer.pending == left, held
    pasting = typed("\x1b[200~a", ESC)
    pasting.feed(b"[201~", LATER)
    pasting.feed(b"\r", LATER)
    assert pasting.pending == 0


def test_an_endless_escape_becomes_one_placeholder() -> None:
    held = "\x1b]" + "x" * (MAX_HELD - 2)
    assert typed(held).pending == 0
    assert typed(held, "\x07").pending == 0
    assert typed(held + "x").pending == 1
    assert typed(held, "x").pending == 1
    assert typed(held, "x", "yz").pending == 3
    assert typed("\x1b[" + "1" * MAX_HELD).pending == 1
    assert typed("\x1bP1" + "x" * MAX_HELD).pending == 1


def test_a_complete_escape_may_be_longer_than_what_is_held() -> None:
    assert typed("\x1b]52;c;" + "QUJD" * 100 + "\x07").pending == 0


def test_half_a_character_is_input() -> None:
    composer = typed(b"\xe6\xbc")
    assert composer.pending == 1
    composer.feed(b"\xa2", LATER)
    assert composer.pending == 1


def test_invalid_bytes_count_as_replacement_characters() -> None:
    assert typed(b"a\xffb\xed\xa0\x80").pending == 6


KEYS = [row[1] for row in ROWS if not row[1].endswith(ESC)]


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(
    st.lists(st.sampled_from(KEYS) | st.text(max_size=8), max_size=20), st.lists(st.integers(0, 10_000), max_size=30)
)
@settings(max_examples=300, deadline=None)
def test_where_input_is_cut_does_not_matter(keys: list[str], places: list[int]) -> None:
    """Holds while no escape sequence is longer than what is held; `KEYS` and these texts have none."""
    data = "".join(keys).encode("utf-8", "replace")
    whole, pieces = typed(data), typed(*cut(data, places))
    assert pieces.view() == whole.view() or not data


@given(st.binary(max_size=24), st.lists(st.integers(0, 10_000), max_size=10))
@settings(max_examples=500, deadline=None)
def test_any_bytes_at_any_cut(data: bytes, places: list[int]) -> None:
    assert typed(*cut(data, places)).pending == typed(data).pending


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_enter_after_anything_clears_outside_a_paste_and_an_escape(data: bytes) -> None:
    composer = typed(data)
    composer.feed(b"\x1b[201~", START)
    composer.feed(b" \x1b[201~ \r", START)
    assert composer.pending == 0


# Line breaks that do not submit. A piece is what comes in one go.

LONG = "q" * 64
FOUR_LINES = "a\rb\rc\rd"

# Name, rule, the pieces, and code points left. An Enter by itself clears each.
LINE_BREAK_ROWS: list[tuple[str, str, list[str], int]] = [
    ("backslash, Enter", "agent", ["line1\\", "\r"], 6),
    ("backslash and Enter in one piece", "agent", ["line1\\\r"], 6),
    ("backslash, Enter, more text", "agent", ["line1\\", "\r", "line2"], 11),
    ("backslash, Enter, twice", "agent", ["a\\", "\r", "b\\", "\r"], 4),
    ("backslash before the cursor only", "agent", ["a\\b", "\x1b[D", "\r"], 3),
    ("backslash at the end only", "agent", ["ab\\", "\x01", "\r"], 3),
    ("backslash in the middle only", "agent", ["a\\b", "\r"], 0),
    ("backslash, deleted again", "agent", ["ab\\", "\x7f", "\r"], 0),
    ("backslash, reached by deleting", "agent", ["a\\b", "\x7f", "\r"], 2),
    ("backslash at the end of a paste", "agent", ["\x1b[200~C:\\\x1b[201~", "\r"], 3),
    ("the line break is whitespace", "agent", ["one\\", "\r", "two", "\x17"], 4),
    ("backslash, Enter in a shell", "plain", ["echo \\", "\r"], 6),
    ("two backslashes, Enter in a shell", "plain", ["echo C:\\\\", "\r"], 0),
    ("two backslashes, Enter", "agent", ["echo C:\\\\", "\r"], 9),
    ("three backslashes, Enter in a shell", "plain", ["echo \\\\\\", "\r"], 8),
    ("backslash, Tab, Enter", "agent", ["a\\\t", "\r"], 2),
    ("backslash, LF in a shell", "plain", ["echo \\", "\n"], 6),
    ("backslash, Enter in a CLI that guesses by speed", "burst", ["a\\", "\r"], 2),
    ("LF", "agent", ["row1", "\n"], 5),
    ("LF in an empty box", "agent", ["\n"], 1),
    ("LF and text", "agent", ["row1\nrow2"], 9),
    ("LF after a backslash", "agent", ["a\\", "\n"], 3),
    ("LF in a CLI that guesses by speed", "burst", ["row1", "\n"], 5),
    ("LF in a shell", "plain", ["row1", "\n"], 0),
    ("60 characters and Enter in one piece", "agent", ["q" * 60 + "\r"], 0),
    ("61 characters and Enter in one piece", "agent", ["q" * 61 + "\r"], 62),
    ("64 characters and Enter in one piece", "agent", [LONG + "\r"], 65),
    ("and a draft before them", "agent", ["ab", LONG + "\r"], 67),
    ("astral characters count twice", "agent", ["😀" * 31 + "\r"], 32),
    ("Enter within a long piece", "agent", [LONG + "\rab"], 67),
    ("Enter before a long piece", "agent", ["ab", "\r" + LONG], 67),
    ("keys in the piece are no characters", "agent", ["q" * 60 + "\x1b[D" * 9 + "\x01\x1b[<35;10;20M\r"], 0),
    ("pasted between markers, and Enter, in one piece", "agent", [f"\x1b[200~{LONG * 20}\x1b[201~\r"], 0),
    ("the end of a marked paste, and Enter, in one piece", "agent", ["\x1b[200~x", f"{LONG}\x1b[201~\r"], 0),
    ("a marked paste, then a long piece with Enter", "agent", [f"\x1b[200~x\x1b[201~{LONG}\r"], 66),
    ("a long piece, then Enter", "agent", [LONG, "\r"], 0),
    ("64 characters and Enter in a shell", "plain", [LONG + "\r"], 0),
    ("two lines in one piece", "agent", ["a\rb\r"], 4),
    ("two lines in one piece, the last one open", "agent", ["a\rb"], 3),
    ("two lines with CR LF", "agent", ["a\r\nb\r\n"], 6),
    ("four lines in one piece", "agent", [FOUR_LINES], 7),
    ("four lines in one piece in a shell", "plain", [FOUR_LINES], 1),
    ("a line and Enter in one piece", "agent", ["hello\r"], 0),
    ("a line and Enter twice in one piece", "agent", ["hello\r\r"], 0),
    ("Enter and text in one piece", "agent", ["draft", "\rab"], 2),
    ("Alt+Enter within a piece is no line", "agent", ["row1\x1b\rrow2\r"], 0),
    ("Ctrl+C within a piece", "agent", [LONG + "\x03"], 0),
    ("a character and Enter in one piece, by speed", "burst", ["a\r"], 2),
    ("a character, then Enter, by speed", "burst", ["a", "\r"], 0),
    ("a key and Enter in one piece, by speed", "burst", ["a", "\x1b[D\x01\r"], 0),
    ("a marked paste and Enter in one piece, by speed", "burst", ["\x1b[200~a\rb\x1b[201~\r"], 0),
    ("an unmarked paste in pieces", "agent", ["q" * 801, "end\r"], 805),
    ("its lone Enter", "agent", ["q" * 801, "end", "\r"], 0),
    ("an unmarked paste of lines in pieces", "agent", [FOUR_LINES, "e\r", "f\r"], 11),
    ("what is typed after a text that was no paste", "agent", ["q" * 800, "end\r"], 0),
    ("an unmarked paste in pieces in a shell", "plain", ["q" * 801, "end\r"], 0),
]


@pytest.mark.parametrize(
    ("rule", "pieces", "left"), [row[1:] for row in LINE_BREAK_ROWS], ids=[row[0] for row in LINE_BREAK_ROWS]
)
class TestLineBreaks:
    def test_what_is_left(self, rule: str, pieces: list[str], left: int) -> None:
        composer = typed(*pieces, rule=rule)
        assert composer.view() == ComposerView(left, START)

    def test_an_enter_by_itself_clears(self, rule: str, pieces: list[str], left: int) -> None:
        composer = typed(*pieces, rule=rule)
        composer.feed(b"\r", START)
        assert composer.pending == 0

    def test_over_a_restart(self, rule: str, pieces: list[str], left: int) -> None:
        composer = Composer(COMPOSER_RULES[rule])
        composer.restore(json.loads(json.dumps(typed(*pieces, rule=rule).snapshot())))
        assert composer.pending == left
        composer.feed(b"ab\n", LATER)
        assert composer.pending == (0 if rule == "plain" else left + 3)
        composer.feed(b"\r", LATER)
        assert composer.pending == 0


def test_a_paste_without_markers_ends_with_a_pause() -> None:
    for pause, left in ((BURST_MS, 805), (BURST_MS + 1, 0), (-1, 0)):
        composer = typed("q" * 801, rule="agent")
        composer.feed(b"end\r", START + pause)
        assert composer.pending == left, pause


def test_every_piece_of_such_a_paste_makes_it_last() -> None:
    composer = typed("q" * 801, rule="agent")
    composer.feed(b"a\r", START + BURST_MS)
    composer.feed(b"b\r", START + 2 * BURST_MS)
    assert composer.pending == 805
    composer.feed(b"c\r", START + 4 * BURST_MS)
    assert composer.pending == 0


@given(st.lists(st.text("a\\ \r\n\x15\x03\x19\x7f\x1b", max_size=100), max_size=8), st.sampled_from(["agent", "burst"]))
@settings(max_examples=300, deadline=None)
def test_an_enter_by_itself_after_a_letter_always_clears(pieces: list[str], rule: str) -> None:
    composer = typed(*pieces, "xx\x05", rule=rule)
    composer.feed(b"\r", LATER)
    assert composer.pending == 0


@given(st.lists(st.text("a\\ \r\n", max_size=100), max_size=8), st.sampled_from(["agent", "burst"]))
@settings(max_examples=300, deadline=None)
def test_an_agents_box_never_holds_less_than_a_shells_line(pieces: list[str], rule: str) -> None:
    assert typed(*pieces, rule=rule).pending >= typed(*pieces).pending


BRING_BACK_ROWS = [
    ("Ctrl+U, Ctrl+Y", "yank me\x15\x19", 1),
    ("Ctrl+U, Ctrl+_", "undo me\x15\x1f", 1),
    ("Ctrl+C, Ctrl+_", "undo me\x03\x1f", 1),
    ("Ctrl+W, Ctrl+Y", "word\x17\x19", 1),
    ("ESC DEL, Ctrl+Y", "word\x1b\x7f\x19", 1),
    ("Ctrl+K, Ctrl+Y", "word\x01\x0b\x19", 1),
    ("CSI 3~, Ctrl+_", "a\x01\x1b[3~\x1f", 1),
    ("DEL, Ctrl+_", "a\x7f\x1f", 1),
    ("a killed text comes back after Enter, too", "ab\x15c\r\x19", 1),
    ("beside other text", "ab\x15cde\x19", 3),
    ("Ctrl+Y with nothing to bring back", "ab\x19", 2),
    ("Ctrl+_ with nothing to bring back", "ab\x1f", 2),
    ("nothing was deleted", "\x15\x17\x7f\x0b\x19\x1f", 0),
    ("what was submitted is not brought back", "ab\r\x19\x1f", 0),
]


@pytest.mark.parametrize(
    ("keys", "left"), [row[1:] for row in BRING_BACK_ROWS], ids=[row[0] for row in BRING_BACK_ROWS]
)
@pytest.mark.parametrize("rule", COMPOSER_RULES)
def test_what_was_deleted_may_come_back(rule: str, keys: str, left: int) -> None:
    """How much of it is unknown: only what empties the whole box ends such a draft."""
    composer = typed(*keys, rule=rule)
    assert composer.pending == left
    if left == 1:
        composer.feed(b"\x7f\x7f\x01\x0b", START)
        assert composer.pending == 1
    restored = Composer()
    restored.restore(json.loads(json.dumps(typed(*keys[:-1], rule=rule).snapshot())))
    restored.feed(keys[-1].encode(), START)
    assert restored.pending == left
    for clearing in (b"\r", b"\x15", b"\x03"):
        composer = typed(*keys, rule=rule)
        composer.feed(clearing, START)
        assert composer.pending == 0


def test_a_snapshot_that_does_not_say_so_may_have_lost_something() -> None:
    snapshot = typed("ab\r").snapshot()
    del snapshot["deleted"]
    composer = Composer()
    composer.restore(snapshot)
    assert composer.pending == 0
    composer.feed(b"\x19", START)
    assert composer.pending == 1


@pytest.mark.parametrize(
    ("profile", "rule"),
    [
        ("claude", ComposerRule(enter_kept_from=61)),
        ("agent", ComposerRule(enter_kept_from=61)),
        ("attach", ComposerRule(enter_kept_from=61)),
        ("opencode", ComposerRule(enter_kept_from=61)),
        ("codex", ComposerRule(enter_kept_from=1)),
        ("gemini", ComposerRule(enter_kept_from=1)),
        ("shell", ComposerRule(line_feed_submits=True, backslashes_pair=True)),
    ],
)
def test_the_rules_of_the_profiles(profile: str, rule: ComposerRule) -> None:
    assert COMPOSER_RULES[PROFILES[profile].typing.composer_rule] == rule


# Snapshots


def test_a_snapshot_of_a_long_paste_is_small_and_loses_no_count() -> None:
    composer = typed("\x1b[200~" + "word and word\n" * 22_000)
    stored = json.dumps(composer.snapshot())
    assert len(stored) < 8192
    assert "word" not in stored
    restored = Composer()
    restored.restore(json.loads(stored))
    assert restored.view() == composer.view()
    restored.feed(b"\x1b[201~" + b"\x17" * 10_000, LATER)
    assert restored.pending > 0


def test_the_largest_snapshot_is_small() -> None:
    composer = typed("a " * 40_000 + "\x1b[1;5D" * 300, "\x1b]" + "\U0001f600" * (MAX_HELD - 2), b"\xf0\x9f\x98")
    assert len(json.dumps(composer.snapshot())) < 8192
    assert len(json.dumps(composer.snapshot(), ensure_ascii=False).encode()) < 8192


GOOD = typed("ab").snapshot()
GARBAGE: list[object] = [
    None,
    {},
    [],
    "x",
    {**GOOD, "draft": None},
    {**GOOD, "held": 3},
    {**GOOD, "held": "abc"},
    {**GOOD, "held": "\x1b[A"},
    {**GOOD, "held": "\x1b]" + "x" * MAX_HELD},
    {**GOOD, "held": "\x1b]x", "in_paste": True},
    {**GOOD, "undecoded": "zz"},
    {**GOOD, "undecoded": "6162"},
    {**GOOD, "in_paste": 1},
    {**GOOD, "last_input_at": -1},
    {**GOOD, "last_input_at": "now"},
    {key: value for key, value in GOOD.items() if key != "held"},
]


@pytest.mark.parametrize("snapshot", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_counts_as_occupied_until_it_is_cleared(snapshot: object) -> None:
    composer = typed("abc\x1b[200~")
    composer.restore(snapshot)
    assert composer.pending == 1
    composer.feed(b"\x01\x0b\x05\x7f\x7f\x17\x1b[3~", LATER)
    assert composer.pending == 1
    composer.feed(b"\r", LATER)
    assert composer.pending == 0


def test_occupied_until_a_person_clears_it() -> None:
    composer = typed("ab")
    composer.occupy()
    composer.feed(b"\x7f\x7f\x7f", LATER)
    assert composer.pending == 2
    composer.feed(b"\x15", LATER)
    assert composer.pending == 0


def test_cleared_when_its_text_was_seen_submitted() -> None:
    composer = Composer()
    composer.occupy()
    composer.clear()
    assert composer.view() == ComposerView(0, 0)


# Size. The bounds are far above what is measured (0.1 s) and far below what quadratic work takes (minutes).


@pytest.mark.parametrize("bracketed", [True, False])
@pytest.mark.parametrize("size", [1, 64, 4096, 300_000])
def test_a_long_paste_takes_linear_time(bracketed: bool, size: int) -> None:
    data = b"the quick brown fox " * 15_000
    data = b"\x1b[200~" + data + b"\x1b[201~" if bracketed else data
    composer = Composer()
    started = time.process_time()
    for start in range(0, len(data), size):
        composer.feed(data[start : start + size], START)
    assert time.process_time() - started < 20
    assert composer.pending == 300_000


@pytest.mark.parametrize(
    "unit",
    ["\x1b", "\x1b]", "\x1b[", "\x1bP0", "\x1b[1;", "\x1b]é", "\x1b[200~", "\x01\x05", "a\x1b[1;5D", "\\\x17", "a\r"],
)
@pytest.mark.parametrize("rule", COMPOSER_RULES)
def test_hostile_input_takes_linear_time(rule: str, unit: str) -> None:
    data = (unit * (200_000 // len(unit))).encode()
    composer = Composer(COMPOSER_RULES[rule])
    started = time.process_time()
    composer.feed(b"a b\\c " * 4_000 + data + b"\r", START)
    for start in range(0, len(data), 1000):
        composer.feed(data[start : start + 1000], START)
    assert time.process_time() - started < 20
