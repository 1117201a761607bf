"""Output that is shown a second time: nothing in it may be answered again.

A page that joins a session is given what was printed before. Its terminal would answer every query in there, and the
answers would be typed into the session. So queries are taken out of a replay.

A replay is filtered whole. A sequence that is cut by its end is left alone: what follows is live, and so is a query
that ends there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from switchboard.sessions.sequences import Located, SequenceReader
from switchboard.sessions.vocabulary import Bell, Osc, Query, TerminalEvent

STEP_BYTES: Final = 4096
"""Bytes that one step filters: a few milliseconds where every second byte means something."""

_ONCE_OSC: Final = frozenset({52, 99, 777})
"""Clipboard and notifications; OSC 9 is judged by its text."""


def strip_queries(data: bytes) -> bytes:
    """Return a replay without the bytes of what a terminal would answer."""
    kept = []
    position = 0
    for start, end, _ in _places(data, _asks):
        kept.append(data[position:start])
        position = end
    return b"".join((*kept, data[position:])) if kept else data


def blank_queries(data: bytes) -> bytes:
    """Return a replay of the same length, with NUL, which terminals ignore, for each byte of a query.

    For receivers that count bytes, because a byte's number is its place in the session's output.
    """
    return _blank(data, _places(data, _asks))


def quiet(data: bytes) -> bytes:
    """`blank_queries`, and the same for what must not happen a second time.

    That is bells, notifications (OSC 9, 99, 777) and clipboard writes (OSC 52). Progress reports (OSC 9;4) stay.
    """
    quieting = Quieting(data)
    while quieting.step():
        pass
    return quieting.data


class Quieting:
    """`quiet` in steps, for a loop that has other things to do: a ring of nothing but bells takes long.

    `data` is the replay, quiet as far as `step` has come.
    """

    __slots__ = ("_at", "_blanked", "_data", "_reader")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._blanked: bytearray | None = None
        self._reader = SequenceReader()

    @property
    def data(self) -> bytes:
        return self._data if self._blanked is None else bytes(self._blanked)

    def step(self, size: int = STEP_BYTES) -> bool:
        """Filter so many bytes more; return whether any are left."""
        end = min(self._at + size, len(self._data))
        if self._data[end - 1 : end] == b"\x07":
            # A row of bells is one event of the piece that it begins in.
            rest = self._data[end:]
            end = len(self._data) - len(rest.lstrip(b"\x07"))
        for start, stop, event in self._reader.locate(self._data[self._at : end]):
            if _asks(event) or _happens_once(event):
                if self._blanked is None:
                    self._blanked = bytearray(self._data)
                self._blanked[start:stop] = bytes(stop - start)
        self._at = end
        return end < len(self._data)


def _places(data: bytes, wanted: Callable[[TerminalEvent], bool]) -> list[Located]:
    return [place for place in SequenceReader().locate(data) if wanted(place[2])]


def _blank(data: bytes, places: list[Located]) -> bytes:
    if not places:
        return data
    blanked = bytearray(data)
    for start, end, _ in places:
        blanked[start:end] = bytes(end - start)
    return bytes(blanked)


def _asks(event: TerminalEvent) -> bool:
    return isinstance(event, Query)


def _happens_once(event: TerminalEvent) -> bool:
    match event:
        case Bell():
            return True
        case Osc(9, payload):
            return payload.partition(";")[0] != "4"
        case Osc(number):
            return number in _ONCE_OSC
    return False
