"""Frames on a stream: any cut gives the same frames, limits hold."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.common.frames import BINARY, TEXT, FrameError, FrameReader, encode_frame


@given(
    frames=st.lists(st.tuples(st.sampled_from([TEXT, BINARY]), st.binary(max_size=50))),
    cuts=st.lists(st.integers(1, 20)),
)
def test_any_cut_gives_the_same_frames(frames: list[tuple[int, bytes]], cuts: list[int]) -> None:
    stream = b"".join(encode_frame(kind, body) for kind, body in frames)
    reader = FrameReader(100)
    found: list[tuple[int, bytes]] = []
    for cut in cuts:
        found += reader.feed(stream[:cut])
        stream = stream[cut:]
    found += reader.feed(stream)
    assert found == frames


def test_a_frame_over_the_limit_is_refused_before_it_has_come() -> None:
    with pytest.raises(FrameError, match="over the limit of 100"):
        FrameReader(100).feed(struct.pack(">IB", 101, TEXT))


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\n", b"\0\0\0\0\0", b"\0\0\0\1\3x"])
def test_what_is_no_frame_is_refused(start: bytes) -> None:
    with pytest.raises(FrameError):
        FrameReader(100).feed(start)
