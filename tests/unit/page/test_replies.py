"""Replies of terminals to queries, told apart from keys."""

import pytest

from switchboard.page.replies import strip_replies


@pytest.mark.parametrize(
    "reply",
    [
        b"\x1b[?62;c",
        b"\x1b[>0;276;0c",
        b"\x1b[24;80R",
        b"\x1b[1;1R",
        b"\x1b[1;2R",
        b"\x1b[?24;80R",
        b"\x1b[?24;80;1R",
        b"\x1b[0n",
        b"\x1b[?1u",
        b"\x1b[?2004;1$y",
        b"\x1b[8;24;80t",
        b"\x1b[4;600;800t",
        b"\x1b[I",
        b"\x1b[O",
        b"\x1b]11;rgb:0000/0000/0000\x07",
        b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
        b"\x1bP>|xterm(380)\x1b\\",
        b"\x1bP1$r0m\x1b\\",
        b"\x1b_Gi=31;OK\x1b\\",
    ],
)
def test_replies_are_removed_and_keys_around_them_stay(reply: bytes) -> None:
    assert strip_replies(reply) == b""
    assert strip_replies(b"a" + reply + b"b") == b"ab"


@pytest.mark.parametrize(
    "key",
    [
        b"hello\r",
        b"\x1b",
        b"\x1b[A",
        b"\x1bOA",
        b"\x1b[1;5C",
        b"\x1b[3~",
        b"\x1b[13;2u",
        b"\x1b[97;5u",
        b"\x1b[200~pasted\x1b[201~",
        b"\x1b[<0;10;5M",
        b"\x1bb",
        "ü€😀".encode(),
    ],
)
def test_keys_stay(key: bytes) -> None:
    assert strip_replies(key) == key
