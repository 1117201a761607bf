"""Names show and do nothing else."""

from __future__ import annotations

import pytest

from switchboard.common.names import one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Fix the tests", "Fix the tests"),
        ("", ""),
        ("  a   b  ", "a b"),
        ("one\r\ntwo\tthree", "one two three"),
        ("\x1b[31mred\x1b[m", "[31mred [m"),
        ("\x1b]0;title\x07", "]0;title"),
        ("a\x00b\x7fc\x9bd", "a b c d"),
        ("user\u202egnp.exe", "user gnp.exe"),
        ("\u2066x\u2069", "x"),
        ("a\u200bb\ufeffc", "a b c"),
        ("a\u2028b\u2029c", "a b c"),
        ("a\ud800b", "a b"),
        ("a\ue000b", "a b"),
        ("\u00a0wide\u3000blanks", "wide blanks"),
        ("你好 Größe", "你好 Größe"),
        ("👩\u200d👻 ❤\ufe0f", "👩\u200d👻 ❤\ufe0f"),
        ("\U0001fae9", "\U0001fae9"),
        ("\x00\x1b\u202e", ""),
    ],
    ids=[
        "plain",
        "empty",
        "blanks",
        "lines",
        "colours",
        "a title",
        "NUL, DEL and C1",
        "direction",
        "isolates",
        "zero width",
        "separators",
        "half a character",
        "private",
        "other blanks",
        "other scripts",
        "emoji",
        "a character newer than the table",
        "nothing to see",
    ],
)
def test_a_name_is_one_line_that_only_shows(text: str, shown: str) -> None:
    assert one_line(text) == shown
    assert one_line(shown) == shown
