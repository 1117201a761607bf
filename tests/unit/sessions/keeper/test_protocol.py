"""The keeper's messages on the wire. Version 1 is frozen: a later host must understand an older keeper."""

from __future__ import annotations

import pytest

from switchboard.common.frames import BINARY, TEXT, FrameError, FrameReader, encode_frame
from switchboard.sessions.keeper.protocol import MAX_FRAME, PROTOCOL, decode, encode


def test_the_version() -> None:
    assert PROTOCOL == 1


def test_a_message_on_the_wire() -> None:
    assert encode({"type": "forget", "handle": 3}) == b'\x00\x00\x00\x1c\x01{"type":"forget","handle":3}'


@pytest.mark.parametrize(
    "message",
    [
        {"type": "hello", "protocol": 1},
        {"type": "spawn", "env": {"A": "ü\n\0", "B": "\udcff"}, "argv": ["x", ""]},
        {"type": "session", "exit": None, "nested": {"code": 3}},
    ],
    ids=["plain", "texts of an environment", "nested"],
)
def test_a_message_comes_back_as_it_was(message: dict[str, object]) -> None:
    ((kind, body),) = FrameReader(MAX_FRAME).feed(encode(message))
    assert kind == TEXT
    assert decode((kind, body)) == message


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (BINARY, b'{"type":"hello"}'),
        (TEXT, b""),
        (TEXT, b"nonsense"),
        (TEXT, b"[]"),
        (TEXT, b"null"),
        (TEXT, b"{}"),
        (TEXT, b'{"type":1}'),
        (TEXT, b"\xff\xfe"),
        (TEXT, b"[" * 100_000),
    ],
    ids=["binary", "empty", "no JSON", "a list", "null", "no type", "a number as type", "no text", "deep"],
)
def test_what_is_no_message(kind: int, body: bytes) -> None:
    with pytest.raises(FrameError, match="not a message of the keeper's protocol"):
        decode((kind, body))


def test_the_largest_frame_holds_the_largest_environment() -> None:
    """Linux gives a program at most a quarter of its stack limit for arguments and environment: 2 MiB."""
    ((_, body),) = FrameReader(MAX_FRAME).feed(encode({"type": "spawn", "env": {"A": "x" * 2 * 1024 * 1024}}))
    assert len(body) < MAX_FRAME
    with pytest.raises(FrameError, match="over the limit"):
        FrameReader(MAX_FRAME).feed(encode_frame(TEXT, b"x" * (MAX_FRAME + 1)))
