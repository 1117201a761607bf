"""A prompt as bytes: chunks, characters, paste marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.common.ecma import to_well_formed
from switchboard.common.facts import Typing
from switchboard.delivery.keystrokes import chunks


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("hello", 512, (b"hello",)),
        ("abcdef", 2, (b"ab", b"cd", b"ef")),
        ("aéb", 2, (b"a", "é".encode(), b"b")),
        ("😀😀", 5, ("😀".encode(), "😀".encode())),
        ("😀", 1, ("😀".encode(),)),
        ("a\ud800b", 512, ("a\ufffdb".encode(),)),
    ],
)
def test_chunks(text: str, size: int, expected: tuple[bytes, ...]) -> None:
    assert chunks(text, Typing(chunk_bytes=size)) == expected


@given(st.text(min_size=1), st.integers(0, 40))
def test_every_chunk_is_whole_text_within_the_limit_and_nothing_is_lost(text: str, size: int) -> None:
    pieces = chunks(text, Typing(chunk_bytes=size))
    assert b"".join(pieces).decode() == to_well_formed(text)
    for piece in pieces:
        assert piece
        assert len(piece) <= max(size, 4) or len(piece.decode()) == 1


def test_a_short_paste_is_one_write() -> None:
    assert chunks("hi", Typing(bracketed_paste=True)) == (b"\x1b[200~hi\x1b[201~",)


def test_a_long_paste_keeps_its_marks_whole() -> None:
    pieces = chunks("abcdefgh", Typing(chunk_bytes=8, bracketed_paste=True))
    assert pieces == (b"\x1b[200~", b"abcdefgh", b"\x1b[201~")


def test_4096_characters_never_exceed_the_chunk_size_of_the_profile() -> None:
    pieces = chunks("é" * 4096, Typing())
    assert max(map(len, pieces)) <= 512
    assert b"".join(pieces) == ("é" * 4096).encode()
