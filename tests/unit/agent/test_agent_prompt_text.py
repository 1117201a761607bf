from __future__ import annotations

import pytest

from switchboard.agent.prompt_text import (
    expand_pastes,
    normalise,
    placeholder,
    printable,
    shorten,
    without_pastes,
)


@pytest.mark.parametrize(
    ("typed", "recorded"),
    [
        ("plain", "plain"),
        ("trailing  ", "trailing"),
        ("  leading", "  leading"),
        ("two\nlines\n", "two\nlines"),
        ("cafe\u0301", "caf\u00e9"),
        ("   ", ""),
    ],
)
def test_the_record_of_what_is_typed(typed: str, recorded: str) -> None:
    assert normalise(typed) == recorded


def test_placeholders() -> None:
    assert placeholder(1, "a" * 900) == "[Pasted text #1]"
    assert placeholder(2, "a\nb\nc\nd") == "[Pasted text #2 +3 lines]"


def test_pastes_are_recorded_wrapped() -> None:
    box = "see [Pasted text #1 +1 lines] and [Pasted text #2]"
    assert expand_pastes(box, ("a\nb", "c")) == (
        'see <pasted_content id="1">\na\nb\n</pasted_content> and <pasted_content id="2">\nc\n</pasted_content>'
    )


@pytest.mark.parametrize(
    "box", ["[Pasted text #2]", "[Pasted text #0]", "[Pasted text #1 +9 lines]", "[Pasted text #1"]
)
def test_what_stands_for_no_paste_is_text(box: str) -> None:
    assert expand_pastes(box, ("one line",)) == box


def test_pasted_text_is_set_aside() -> None:
    assert without_pastes('a <pasted_content id="1">\n[ask x]\nmore\n</pasted_content> b') == "a  b"


def test_nothing_printed_is_obeyed() -> None:
    assert printable("a\x1b[31mb\x07\tc\r\nd\u009b") == "a\u241b[31mb\ufffd    c\nd\ufffd"


def test_shortening() -> None:
    assert shorten("a\n b", 10) == "a b"
    assert shorten("abcdef", 4) == "abc\u2026"
