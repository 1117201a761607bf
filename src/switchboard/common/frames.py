"""Frames on a stream socket: a four-byte length, one byte of kind, the body.

The kinds are `TEXT` (a JSON message) and `BINARY` (terminal bytes), as a WebSocket has them.
"""

from __future__ import annotations

import struct

TEXT = 1
BINARY = 2
_HEADER = struct.Struct(">IB")


class FrameError(ValueError):
    """The peer sent something that is no frame, or one above the limit. The connection cannot go on."""


def encode_frame(kind: int, body: bytes) -> bytes:
    """Return the frame of `body`."""
    return _HEADER.pack(len(body), kind) + body


class FrameReader:
    """Cuts a stream into frames. Holds at most one unfinished frame, of at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Take bytes as they come; return the frames they complete. Raises `FrameError`."""
        buffer = self._buffer
        buffer += data
        frames: list[tuple[int, bytes]] = []
        at = 0
        while len(buffer) - at >= _HEADER.size:
            length, kind = _HEADER.unpack_from(buffer, at)
            if kind not in (TEXT, BINARY):
                raise FrameError("not a frame of this protocol")
            if length > self._limit:
                raise FrameError(f"a frame of {length} bytes, over the limit of {self._limit}")
            end = at + _HEADER.size + length
            if len(buffer) < end:
                break
            frames.append((kind, bytes(buffer[at + _HEADER.size : end])))
            at = end
        if at:
            del buffer[:at]
        return frames
