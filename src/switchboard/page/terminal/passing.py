"""What goes through to the session while one is shown, and the prefix that does not (pure).

Every byte goes to the session as it is, except the prefix key Ctrl-] and the one key after it. A CLI may have switched
the terminal to another keyboard encoding, so the prefix is recognised in those too. Pasted text goes through whole: a
prefix inside it is text.

Beside keys, a terminal sends things by itself: answers to queries, reports of the mouse moving, of losing focus. They
are told apart, because only the page whose size is in force may answer a session, and an answer that comes late must
not be typed into the next session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from switchboard.page.terminal.keys import Kind, Piece, Splitter

PREFIX = b"\x1d"
"""Ctrl-], as telnet has it: no shell, editor or agent CLI measured uses it for everyday work."""


class Who(Enum):
    """Whose doing input is: a person's, or the terminal's own, unasked (`REPORT`) or asked by a query (`ANSWER`)."""

    PERSON = "person"
    REPORT = "report"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Passed:
    """Bytes for the session."""

    data: bytes
    who: Who = Who.PERSON


@dataclass(frozen=True, slots=True)
class Command:
    """The key after the prefix; empty for one that has no name."""

    key: str


_ENCODED_KEY = re.compile(
    # CSI code[:shifted[:base]] [; modifiers[:event] [; text]] u, and CSI 27 ; modifiers ; code ~
    rb"\x1b\[(?:(?P<code>\d+)(?::\d*)*(?:;(?P<mods>\d*)(?::(?P<event>\d+))?(?:;[\d:]*)?)?u|27;(?P<mods2>\d+);(?P<code2>\d+)~)\Z"
)
_SHIFT, _CTRL = 1, 4
_LOCKS = 64 | 128
"""Caps lock and num lock: they do not make another key of it."""

_RELEASE = 3
_FUNCTIONAL = range(57344, 63744)
"""Codes of keys without a character in that encoding, the modifier keys themselves among them."""

_ANSWER = re.compile(
    rb"\x1b\[(?:"
    rb"[?>=<][0-9;:]*[cRnuy]"  # device attributes, cursor position (DEC form), status, keyboard flags
    rb"|[?]?[0-9;]*\$y"  # mode reports
    rb"|[0-9;]*[tnxc]"  # window, status and parameter reports
    rb")\Z"
)
_REPORT = re.compile(
    rb"\x1b\[(?:"
    rb"O"  # focus has left
    rb"|\?997;[0-9]+n"  # the colour scheme has changed (mode 2031)
    rb"|48;[0-9;]+t"  # the size has changed (mode 2048)
    rb")\Z"
)
_POSITION = re.compile(rb"\x1b\[(\d+);(\d+)R\Z")
_MOUSE = re.compile(rb"\x1b\[<(\d+);\d+;\d+[Mm]\Z")
_MOTION = 32


class Passing:
    """Reads input while a session is shown."""

    def __init__(self) -> None:
        self._splitter = Splitter(eager_escape=True)
        self._armed = False

    @property
    def held(self) -> bool:
        """Whether a part of a sequence waits for its rest; call `flush` when it does not come."""
        return self._splitter.held

    def feed(self, data: bytes) -> list[Passed | Command]:
        """Return what was read, in order, with neighbouring bytes of one kind joined."""
        return self._read(self._splitter.feed(data))

    def flush(self) -> list[Passed | Command]:
        """Nothing more came."""
        return self._read(self._splitter.flush())

    def _read(self, pieces: list[Piece]) -> list[Passed | Command]:
        out: list[Passed | Command] = []
        for piece in pieces:
            if self._armed:
                self._second(piece, out)
            elif _is_prefix(piece):
                self._armed = not _is_release(piece)
            else:
                _pass(piece.data, _who(piece), out)
        return out

    def _second(self, piece: Piece, out: list[Passed | Command]) -> None:
        # The prefix key coming up again, Shift going down, the mouse moving: not the key that was meant.
        if (who := _who(piece)) is not Who.PERSON:
            _pass(piece.data, who, out)
            return
        if _is_release(piece) or _is_bare_modifier(piece):
            return
        self._armed = False
        if _is_prefix(piece):
            _pass(piece.data, Who.PERSON, out)
        elif piece.kind is Kind.TEXT:
            text = piece.data.decode("utf-8", "replace")
            out.append(Command(text[0]))
            _pass(piece.data[len(text[0].encode()) :], Who.PERSON, out)
        else:
            out.append(Command(_character(piece)))


def _pass(data: bytes, who: Who, out: list[Passed | Command]) -> None:
    if not data:
        return
    last = out[-1] if out else None
    if isinstance(last, Passed) and last.who is who:
        out[-1] = Passed(last.data + data, who)
    else:
        out.append(Passed(data, who))


def _encoded(piece: Piece) -> tuple[int, int, int] | None:
    """Return (code, modifier bits, event) of an encoded key."""
    match = _ENCODED_KEY.match(piece.data) if piece.kind is Kind.CSI else None
    if match is None:
        return None
    code = int(match["code"] or match["code2"])
    return code, int(match["mods"] or match["mods2"] or 1) - 1, int(match["event"] or 1)


def _is_prefix(piece: Piece) -> bool:
    if piece.kind is Kind.CONTROL:
        return piece.data == PREFIX
    key = _encoded(piece)
    return key is not None and key[0] == ord("]") and key[1] & ~_LOCKS == _CTRL


def _is_release(piece: Piece) -> bool:
    key = _encoded(piece)
    return key is not None and key[2] == _RELEASE


def _is_bare_modifier(piece: Piece) -> bool:
    key = _encoded(piece)
    return key is not None and key[0] in _FUNCTIONAL


def _character(piece: Piece) -> str:
    key = _encoded(piece)
    if key is None or key[1] & ~(_LOCKS | _SHIFT) or key[0] > 0x10FFFF:
        return ""
    character = chr(key[0])
    # The shifted question mark arrives as a slash with Shift on many keyboards.
    return {"/": "?"}.get(character, character.upper()) if key[1] & _SHIFT else character


def _who(piece: Piece) -> Who:
    if piece.kind is Kind.STRING:
        return Who.ANSWER
    if piece.kind is not Kind.CSI:
        return Who.PERSON
    if mouse := _MOUSE.match(piece.data):
        return Who.REPORT if int(mouse[1]) & _MOTION else Who.PERSON
    if position := _POSITION.match(piece.data):
        # A cursor position in row 1, columns 2 to 8, reads the same as F3 with a modifier: a key is never dropped.
        key = position[1] == b"1" and b"2" <= position[2] <= b"8" and len(position[2]) == 1
        return Who.PERSON if key else Who.ANSWER
    if _REPORT.match(piece.data):
        return Who.REPORT
    return Who.ANSWER if _ANSWER.match(piece.data) else Who.PERSON
