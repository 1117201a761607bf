"""What a terminal sends, cut into pieces, and the keys of the list (pure).

A read may end anywhere, so what may still become a longer sequence is held. The caller asks `held` after each feed and,
when nothing more comes for `HOLD_MS`, calls `flush`: then a held ESC was the Escape key, and a held `ESC [` was Alt+[.

Pasted text (between the paste marks) is never cut, whatever it contains: it is nobody's key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

HOLD_MS = 50
"""How long the rest of a sequence may take, in milliseconds: a terminal sends one in a single write, a slow line may
split it, and a person does not notice the wait after Escape in a list."""

MAX_HELD = 64 * 1024
"""Largest unfinished sequence; a longer one is let go as it is (a clipboard answer may be long, a key never is)."""


class Kind(Enum):
    TEXT = "text"
    CONTROL = "control"
    CSI = "csi"
    SS3 = "ss3"
    STRING = "string"
    ALT = "alt"
    PASTE_MARK = "paste mark"
    PASTE = "paste"


@dataclass(frozen=True, slots=True)
class Piece:
    """`data` as it was read; the pieces of a stream together are the stream."""

    kind: Kind
    data: bytes


_PASTE_START = b"\x1b[200~"
_PASTE_END = b"\x1b[201~"

_PIECE = re.compile(
    rb"(?P<text>[^\x00-\x1f\x7f]+)"
    rb"|(?P<csi>\x1b\[[0-?]*[ -/]*[@-~])"
    rb"|(?P<ss3>\x1bO[0-?]*[@-~])"
    # Answers of the terminal: OSC ends with BEL or ST, the others with ST.
    rb"|(?P<string>\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\)"
    rb"|(?P<open>\x1b\[[0-?]*[ -/]*\Z|\x1bO[0-?]*\Z|\x1b\][^\x07\x1b]*\x1b?\Z|\x1b[PX^_][^\x1b]*\x1b?\Z|\x1b\Z)"
    rb"|(?P<alt>\x1b[^\x1b])"
    rb"|(?P<control>[\x00-\x1f\x7f])"
)

_KINDS = {kind.value: kind for kind in (Kind.TEXT, Kind.CSI, Kind.SS3, Kind.STRING, Kind.ALT, Kind.CONTROL)}


class Splitter:
    """Cuts input into pieces. `eager_escape`: an ESC that ends a read is let go at once instead of held."""

    def __init__(self, *, eager_escape: bool = False) -> None:
        self._eager_escape = eager_escape
        self._held = b""
        self._pasting = False

    @property
    def held(self) -> bool:
        """Whether something waits for its rest. (The end of a paste may take as long as it likes.)"""
        return bool(self._held) and not self._pasting

    def feed(self, data: bytes) -> list[Piece]:
        """Take what was read; return the pieces it completes."""
        data, self._held = self._held + data, b""
        pieces: list[Piece] = []
        at = 0
        while at < len(data):
            at = self._paste(data, at, pieces) if self._pasting else self._piece(data, at, pieces)
        return pieces

    def flush(self) -> list[Piece]:
        """Nothing more came: return what was held as it is."""
        if not self.held:
            return []
        data, self._held = self._held, b""
        if data == b"\x1b":
            return [Piece(Kind.CONTROL, data)]
        # An introducer on its own is Alt with that character; with more behind it, a sequence that was cut off.
        return [Piece(Kind.ALT if len(data) == 2 else Kind.STRING, data)]

    def _piece(self, data: bytes, at: int, pieces: list[Piece]) -> int:
        match = _PIECE.match(data, at)
        assert match is not None, "the alternatives cover every byte"
        name, part = match.lastgroup or "", match.group()
        if name == "open":
            if part == b"\x1b" and self._eager_escape:
                pieces.append(Piece(Kind.CONTROL, part))
            elif len(part) > MAX_HELD:
                pieces.append(Piece(Kind.STRING, part))
            else:
                self._held = part
        elif part == _PASTE_START:
            self._pasting = True
            pieces.append(Piece(Kind.PASTE_MARK, part))
        else:
            pieces.append(Piece(_KINDS[name], part))
        return match.end()

    def _paste(self, data: bytes, at: int, pieces: list[Piece]) -> int:
        end = data.find(_PASTE_END, at)
        stop = end if end >= 0 else len(data) - _overlap(data[at:], _PASTE_END)
        if stop > at:
            pieces.append(Piece(Kind.PASTE, data[at:stop]))
        if end >= 0:
            self._pasting = False
            pieces.append(Piece(Kind.PASTE_MARK, _PASTE_END))
            return end + len(_PASTE_END)
        self._held = data[stop:]
        return len(data)


def _overlap(data: bytes, mark: bytes) -> int:
    """Return how many bytes at the end of `data` may be the start of `mark`."""
    return next((n for n in range(min(len(mark) - 1, len(data)), 0, -1) if data.endswith(mark[:n])), 0)


# --- keys of the list ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """A key by name (`up`, `enter`, `escape`, …), or `text`/`paste` with what was typed. `raw`: as it was read."""

    name: str
    text: str = ""
    raw: bytes = field(default=b"", compare=False)


_CONTROLS: Mapping[bytes, str] = {
    b"\r": "enter",
    b"\n": "enter",
    b"\x1b": "escape",
    b"\x7f": "backspace",
    b"\x08": "backspace",
    b"\x03": "ctrl-c",
    b"\x04": "ctrl-d",
    b"\x0c": "ctrl-l",
    b"\x0e": "down",
    b"\x10": "up",
    b"\x15": "ctrl-u",
    b"\x17": "ctrl-w",
}

_FINALS: Mapping[bytes, str] = {
    b"A": "up",
    b"B": "down",
    b"C": "right",
    b"D": "left",
    b"H": "home",
    b"F": "end",
    b"M": "enter",  # SS3 M is the keypad's Enter
}

_TILDES: Mapping[bytes, str] = {
    b"1": "home",
    b"7": "home",
    b"4": "end",
    b"8": "end",
    b"3": "delete",
    b"5": "pageup",
    b"6": "pagedown",
}


class ListKeys:
    """Reads the keys a person presses in the list. What a terminal answers by itself is no key."""

    def __init__(self) -> None:
        self._splitter = Splitter()
        self._paste = bytearray()

    @property
    def held(self) -> bool:
        return self._splitter.held

    def feed(self, data: bytes) -> list[Key]:
        """Return the keys in what was read."""
        return self._keys(self._splitter.feed(data))

    def flush(self) -> list[Key]:
        """Nothing more came."""
        return self._keys(self._splitter.flush())

    def _keys(self, pieces: list[Piece]) -> list[Key]:
        keys: list[Key] = []
        for piece in pieces:
            if piece.kind is Kind.PASTE:
                # More than a line editor can use is dropped here, so that a huge paste is never held.
                self._paste += piece.data[: max(0, 8192 - len(self._paste))]
            elif piece.data == _PASTE_END and piece.kind is Kind.PASTE_MARK:
                keys.append(Key("paste", self._paste.decode("utf-8", "replace"), _pasted(self._paste)))
                self._paste.clear()
            elif piece.kind is Kind.TEXT:
                keys += [Key("text", c, c.encode()) for c in piece.data.decode("utf-8", "replace")]
            elif (name := _name(piece)) is not None:
                keys.append(Key(name, raw=piece.data))
        return keys


def _pasted(text: bytearray) -> bytes:
    return _PASTE_START + bytes(text) + _PASTE_END


def _name(piece: Piece) -> str | None:
    if piece.kind is Kind.CONTROL:
        return _CONTROLS.get(piece.data)
    if piece.kind is Kind.SS3:
        return _FINALS.get(piece.data[-1:])
    if piece.kind is Kind.CSI:
        final, parameters = piece.data[-1:], piece.data[2:-1]
        if final == b"~":
            return _TILDES.get(parameters.partition(b";")[0])
        if final != b"M" and not parameters[:1] > b"9":
            return _FINALS.get(final)
    return None
