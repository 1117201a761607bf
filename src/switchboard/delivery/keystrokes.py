"""A prompt as the bytes that are typed for it."""

from __future__ import annotations

from switchboard.common.ecma import to_well_formed
from switchboard.common.facts import Typing

ENTER = b"\r"
ESCAPE = b"\x1b"
PASTE_START = b"\x1b[200~"
PASTE_END = b"\x1b[201~"


def typed(text: str) -> bytes:
    """Return the bytes of a text; a lone surrogate is typed as U+FFFD."""
    return to_well_formed(text).encode()


def chunks(text: str, typing: Typing) -> tuple[bytes, ...]:
    """Cut a text into the writes that type it, none of them longer than the profile allows.

    No character is cut apart, so that a program that decodes each read by itself sees whole ones; the marks of a
    bracketed paste are writes of their own when they do not fit.
    """
    data = typed(text)
    limit = max(1, typing.chunk_bytes)
    pieces = [data] if len(data) <= limit else _cut(data, limit)
    if not typing.bracketed_paste:
        return tuple(pieces)
    if len(pieces) == 1 and len(data) + len(PASTE_START) + len(PASTE_END) <= limit:
        return (PASTE_START + data + PASTE_END,)
    return (PASTE_START, *pieces, PASTE_END)


def _cut(data: bytes, limit: int) -> list[bytes]:
    pieces = []
    start = 0
    while start < len(data):
        end = min(start + limit, len(data))
        while end < len(data) and end > start and _continues(data[end]):
            end -= 1
        if end == start:  # the limit is smaller than this one character
            end = start + 1
            while end < len(data) and _continues(data[end]):
                end += 1
        pieces.append(data[start:end])
        start = end
    return pieces


def _continues(byte: int) -> bool:
    """Whether a UTF-8 byte is not the first of its character."""
    return byte & 0xC0 == 0x80
