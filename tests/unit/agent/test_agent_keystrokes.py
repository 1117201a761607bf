"""What a terminal sends, split in every way, gives the same keys; the sizes of single reads mean what was measured."""

from __future__ import annotations

import pytest

from switchboard.agent.keystrokes import (
    BURST_MS,
    HOLD_LIMIT,
    Key,
    Keystrokes,
    Paste,
    Stroke,
    Text,
    is_long,
)
from switchboard.agent.screen import key_sequences

SEQUENCES = key_sequences()
ENTER, NEWLINE, ESCAPE = Key(("c-m",)), Key(("c-j",)), Key(("escape",))


def read(*chunks: str, gap: int = 1000) -> list[Stroke]:
    keys = Keystrokes(SEQUENCES)
    strokes: list[Stroke] = []
    for number, chunk in enumerate(chunks):
        strokes += keys.read(chunk, number * gap)
    return strokes


def joined(strokes: list[Stroke]) -> list[Stroke]:
    """Neighbouring texts as one: where a text was cut says nothing."""
    together: list[Stroke] = []
    for stroke in strokes:
        if together and isinstance(stroke, Text) and isinstance(together[-1], Text):
            together[-1] = Text(together[-1].text + stroke.text)
        else:
            together.append(stroke)
    return together


@pytest.mark.parametrize(
    ("sent", "strokes"),
    [
        ("abc", [Text("abc")]),
        ("\u00e9\U0001f600", [Text("\u00e9\U0001f600")]),
        ("\r", [ENTER]),
        ("\n", [NEWLINE]),
        ("hi\r", [Text("hi"), ENTER]),
        ("\t", [Key(("c-i",))]),
        ("\x03", [Key(("c-c",))]),
        ("\x7f", [Key(("c-h",))]),
        ("\x1b[A", [Key(("up",))]),
        ("\x1bOA", [Key(("up",))]),
        ("\x1b[3~", [Key(("delete",))]),
        ("\x1b[1;5D", [Key(("c-left",))]),
        ("\x1bb", [Key(("escape", "b"))]),
        ("\x1b\x7f", [Key(("escape", "c-h"))]),
        ("\x1b\r", [NEWLINE]),
        ("\x1b\n", [NEWLINE]),
        ("\x1b[13;2u", [NEWLINE]),
        ("\x1b[27;2;13~", [NEWLINE]),
        ("\x1b[200~two\r\nlines\r\x1b[201~", [Paste("two\nlines\n")]),
        ("\x1b[200~a \x1b[31m b\x1b[201~c", [Paste("a \x1b[31m b"), Text("c")]),
        ("\x1b[200~\x1b[201~", [Paste("")]),
        ("a\x1b[Ib\x1b[Oc", [Text("a"), Text("b"), Text("c")]),
        ("\x1b[<0;12;3M\x1b[<0;12;3m", []),
        ("\x1b[?12;40R\x1b[12;40R\x1b[?62;1;4c", []),
        ("\x1b]11;rgb:0000/0000/0000\x07x", [Text("x")]),
        ("\x1b]11;rgb:0000/0000/0000\x1b\\x", [Text("x")]),
        ("\x1bP>|term 1.0\x1b\\x", [Text("x")]),
        ("\x1b[[A", [Key(("f1",))]),
    ],
)
def test_sequences_in_one_piece_and_in_every_split(sent: str, strokes: list[Stroke]) -> None:
    assert read(sent) == strokes
    for cut in range(1, len(sent)):
        assert joined(read(sent[:cut], sent[cut:])) == joined(strokes), sent[:cut]
    assert joined(read(*sent)) == joined(strokes)


def test_a_lone_escape_is_a_key_once_nothing_follows() -> None:
    keys = Keystrokes(SEQUENCES)
    assert keys.read("\x1b", 0) == []
    assert keys.held
    assert keys.flush() == [ESCAPE]
    assert not keys.held
    assert keys.flush() == []


def test_two_escapes_at_once() -> None:
    keys = Keystrokes(SEQUENCES)
    assert [*keys.read("\x1b\x1b", 0), *keys.flush()] == [ESCAPE, ESCAPE]


def test_an_unfinished_answer_is_dropped() -> None:
    keys = Keystrokes(SEQUENCES)
    assert keys.read("a\x1b]11;rgb", 0) == [Text("a")]
    assert keys.flush() == []
    assert keys.read("b", 1000) == [Text("b")]


def test_a_sequence_without_end_is_not_kept_for_ever() -> None:
    keys = Keystrokes(SEQUENCES)
    assert keys.read("\x1b]" + "x" * HOLD_LIMIT, 0) == []
    assert not keys.held


def test_a_paste_may_take_its_time() -> None:
    keys = Keystrokes(SEQUENCES)
    assert keys.read("\x1b[200~abc\x1b[2", 0) == []
    assert keys.flush() == []
    assert keys.read("01~", 1000) == [Paste("abc")]


# --- what the size of a read means ----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 60, 63])
def test_short_text_and_enter_in_one_read_submit(length: int) -> None:
    assert read("x" * length + "\r") == [Text("x" * length), ENTER]


@pytest.mark.parametrize("length", [64, 700])
def test_longer_text_and_enter_in_one_read_leave_a_line_break(length: int) -> None:
    assert read("x" * length + "\r") == [Text("x" * length), NEWLINE]


def test_length_is_counted_in_utf16_units() -> None:
    assert read("\U0001f600" * 32 + "\r")[-1] == NEWLINE
    assert read("\U0001f600" * 31 + "\r")[-1] == ENTER


@pytest.mark.parametrize("length", [64, 700, 800])
def test_enter_as_its_own_write_always_submits(length: int) -> None:
    assert read("x" * length, "\r", gap=50) == [Text("x" * length), ENTER]


@pytest.mark.parametrize(
    "text", ["x" * 801, "a\rb\rc\rd", "a\nb\nc\nd", "a\tb" * 300], ids=["long", "cr", "lf", "tabs"]
)
def test_one_write_too_long_is_a_paste(text: str) -> None:
    assert read(text) == [Paste(text.replace("\r", "\n"))]


@pytest.mark.parametrize(
    "text", ["x" * 800, "a\rb\rc", "a\rb\rc\r", "\x7f" * 900], ids=["800", "3 lines", "3 Enters", "keys"]
)
def test_what_is_not_too_long(text: str) -> None:
    assert not any(isinstance(stroke, Paste) for stroke in read(text))


def test_a_paste_in_several_reads_is_one() -> None:
    strokes = read("x" * 1900, "y" * 1900, "z" * 10, "\r", gap=1)
    assert strokes == [
        Paste("x" * 1900),
        Paste("y" * 1900, continues=True),
        Paste("z" * 10, continues=True),
        ENTER,
    ]


def test_after_a_pause_a_paste_is_over() -> None:
    assert read("x" * 900, "y", gap=BURST_MS + 1) == [Paste("x" * 900), Text("y")]


def test_paced_chunks_are_no_paste_even_when_two_arrive_as_one() -> None:
    text = "x" * 4096
    assert joined(read(text[:512], text[512:1536], text[1536:], "\r", gap=5)) == [Text(text), ENTER]


@pytest.mark.parametrize(
    ("text", "long"),
    [("x" * 800, False), ("x" * 801, True), ("a\nb\nc", False), ("a\nb\nc\nd", True)],
)
def test_which_pastes_get_a_placeholder(text: str, long: bool) -> None:
    assert is_long(text) is long
