"""Unmasked frames are found wherever they begin, and nothing of them is read."""

from __future__ import annotations

import pytest
from tests.support.web import BINARY, PING, TEXT, frame, unmasked

from switchboard.page.masks import MaskGuard

GOOD = {
    "empty": frame(TEXT, b""),
    "short": frame(TEXT, b"hello"),
    "of 125": frame(BINARY, b"x" * 125),
    "of 126": frame(BINARY, b"x" * 126),
    "of 65535": frame(BINARY, b"x" * 65535),
    "of 65536": frame(BINARY, b"x" * 65536),
    "control": frame(PING, b""),
    "in parts": frame(TEXT, b"one", final=False) + frame(0, b"two"),
    # Its body is full of what would be an unmasked head.
    "misleading": frame(BINARY, b"\x82\x05" * 40),
}


def read(guard: MaskGuard, pieces: list[bytes]) -> tuple[bytes, bool]:
    answers = [guard.admit(piece) for piece in pieces]
    return b"".join(admitted for admitted, _ in answers), any(breached for _, breached in answers)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("data", GOOD.values(), ids=GOOD)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000_000])
def test_masked_frames_pass_whole(data: bytes, size: int) -> None:
    assert read(MaskGuard(), cut(data * 2, size)) == (data * 2, False)


@pytest.mark.parametrize("data", [b"", *GOOD.values()], ids=["nothing", *GOOD])
@pytest.mark.parametrize("length", [0, 5, 126, 70_000])
@pytest.mark.parametrize("size", [1, 2, 3, 1_000_000])
def test_an_unmasked_frame_ends_it_where_it_begins(data: bytes, length: int, size: int) -> None:
    guard = MaskGuard()
    assert read(guard, cut(data + unmasked(BINARY, b"e" * length), size)) == (data, True)
    assert guard.admit(frame(TEXT, b"later")) == (b"", True)


def test_a_head_is_held_until_it_is_judged() -> None:
    guard = MaskGuard()
    head = frame(BINARY, b"x" * 70_000)[:10]
    assert [guard.admit(bytes([byte]))[0] for byte in head] == [b""] * 9 + [head]


def test_the_largest_length_is_only_a_number() -> None:
    guard = MaskGuard()
    assert guard.admit(b"\x82\xff" + b"\xff" * 8) == (b"\x82\xff" + b"\xff" * 8, False)
    assert guard.admit(b"x" * 1000) == (b"x" * 1000, False)
