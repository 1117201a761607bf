"""Terminal bytes between page and host: binary frames (pure). The messages beside them: `page.messages`."""

from __future__ import annotations

import struct

MAX_INPUT = 64 * 1024
"""Largest run of terminal input in one binary frame, in bytes. A frame that is full says that the next one goes on with
the same, a paste of many frames: when one of them is refused the others are."""


class MessageError(ValueError):
    """A frame that is no message of this schema. The text says what is wrong, without quoting the frame."""


_INPUT = struct.Struct(">BI")
_OUTPUT = struct.Struct(">BIQ")
_INPUT_KIND = 1
_OUTPUT_KIND = 2


def binary_head(size: int) -> bytes:
    """Return what stands before a binary message of `size` bytes from a server on a WebSocket (RFC 6455, 5.2)."""
    if size < 126:
        return bytes((0x82, size))
    return struct.pack(">BBH", 0x82, 126, size) if size < 65536 else struct.pack(">BBQ", 0x82, 127, size)


def encode_input(session: int, data: bytes) -> bytes:
    """Return a binary frame with keystrokes for a session."""
    return _INPUT.pack(_INPUT_KIND, session) + data


def encode_inputs(session: int, data: bytes) -> list[bytes]:
    """Return the frames for keystrokes of any length. Only frames that are followed by another are full."""
    frames, at = [], 0
    while at < len(data):
        piece = data[at : at + MAX_INPUT]
        if len(piece) == MAX_INPUT and at + MAX_INPUT == len(data):
            piece = piece[:-1]
        frames.append(encode_input(session, piece))
        at += len(piece)
    return frames


def decode_input(frame: bytes) -> tuple[int, bytes]:
    """Return (session handle, bytes typed). Raises `MessageError`."""
    if len(frame) < _INPUT.size or frame[0] != _INPUT_KIND:
        raise MessageError("not a terminal-input frame")
    if len(frame) > _INPUT.size + MAX_INPUT:
        raise MessageError(f"terminal input of more than {MAX_INPUT} bytes in one frame")
    _, session = _INPUT.unpack_from(frame)
    return session, frame[_INPUT.size :]


def encode_output(session: int, seq: int, data: bytes | memoryview) -> bytes:
    """Return a binary frame with output; `seq` numbers its first byte since the session began."""
    return _OUTPUT.pack(_OUTPUT_KIND, session, seq) + data


def decode_output(frame: bytes) -> tuple[int, int, bytes]:
    """Return (session handle, number of the first byte, bytes printed). Raises `MessageError`."""
    if len(frame) < _OUTPUT.size or frame[0] != _OUTPUT_KIND:
        raise MessageError("not a terminal-output frame")
    _, session, seq = _OUTPUT.unpack_from(frame)
    return session, seq, frame[_OUTPUT.size :]
