"""What terminal sequences mean: the events that output can say, and how a complete sequence is read.

Only what a host has a use for: titles and other OSC, modes, resets, bells, and every question that a terminal answers
by itself (its answer would be typed into the session, so a replay must not ask again).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MAX_PAYLOAD: Final = 4096
"""Bytes of a string's payload that are kept; what follows is dropped up to the string's end. Titles and states are far
shorter, and a clipboard or an image is nobody's business here."""


@dataclass(frozen=True, slots=True)
class Osc:
    """An operating system command: `number` (None: it does not begin with one) and the text after its semicolon."""

    number: int | None
    payload: str


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """Modes set or reset. `private`: DEC private modes (`CSI ? n h`), else ANSI modes. Keypad mode is private 66."""

    modes: tuple[int, ...]
    private: bool
    on: bool


@dataclass(frozen=True, slots=True)
class KeyboardPushed:
    """Kitty keyboard flags pushed on the stack."""

    flags: int


@dataclass(frozen=True, slots=True)
class KeyboardPopped:
    """Entries taken from the stack of kitty keyboard flags."""

    count: int


@dataclass(frozen=True, slots=True)
class KeyboardSet:
    """The current kitty keyboard flags changed. `how`: 1 set to exactly these, 2 add these, 3 take these away."""

    flags: int
    how: int


@dataclass(frozen=True, slots=True)
class ModifyOtherKeys:
    """Xterm's modifyOtherKeys level."""

    level: int


@dataclass(frozen=True, slots=True)
class CursorStyled:
    """The cursor's shape (DECSCUSR); 0 is the terminal's own."""

    style: int


@dataclass(frozen=True, slots=True)
class Query:
    """Something that a terminal answers on its own, in its ESC form; a long string is cut."""

    raw: bytes


@dataclass(frozen=True, slots=True)
class Bell:
    """BEL outside a string. Several in a row ring once."""


@dataclass(frozen=True, slots=True)
class TerminalReset:
    """Full reset (RIS) or, when `soft`, DECSTR."""

    soft: bool


TerminalEvent = (
    Osc
    | ModeChanged
    | KeyboardPushed
    | KeyboardPopped
    | KeyboardSet
    | ModifyOtherKeys
    | CursorStyled
    | Query
    | Bell
    | TerminalReset
)


_CONTROL_PARTS = re.compile(rb"([<-?]?)([0-9;:]*)([ -/]*)([@-~])")

_ALWAYS_ASK: Final = frozenset(
    marker.encode()
    for marker in (
        "c",  # DA1
        ">c",  # DA2
        "=c",  # DA3
        "n",  # DSR, cursor position
        "?n",  # DEC DSR: extended cursor position, colour scheme, ...
        ">q",  # XTVERSION
        "> q",  # kitty: multiple cursors
        "?u",  # kitty keyboard flags
        "$p",  # DECRQM
        "?$p",  # DECRQM
        "x",  # DECREQTPARM
        "*y",  # DECRQCRA
        "$w",  # DECRQPSR
        "$u",  # DECRQTSR
        "&u",  # DECRQUPSS
        '"v',  # DECRQDE
        "'|",  # DECRQLP
        "#R",  # XTREPORTCOLORS
        "?S",  # XTSMGRAPHICS
        "?m",  # XTQMODKEYS
        "?g",  # XTQFMTKEYS
    )
)
"""Control sequences, as private marker, intermediates and final, that terminals answer whatever the parameters."""

_WINDOW_REPORTS: Final = frozenset({11, 13, 14, 15, 16, 18, 19, 20, 21})
"""First parameters of `CSI t` that ask for a report."""

_MAX_NUMBER = 999_999_999
_MAX_PARAMETERS = 32


def _numbers(parameters: bytes) -> tuple[int, ...]:
    """The first parameters, as many as terminals read, without their sub-parameters; a missing one is 0."""
    texts = parameters.split(b";", _MAX_PARAMETERS)[:_MAX_PARAMETERS]
    return tuple(_number(text.partition(b":")[0]) for text in texts)


def _number(text: bytes) -> int:
    return int(text) if 0 < len(text) <= 9 else _MAX_NUMBER if text else 0


def _modify_other_keys(numbers: tuple[int, ...]) -> TerminalEvent | None:
    if numbers == (0,):
        return ModifyOtherKeys(0)  # without parameters: every key resource back to its default
    return ModifyOtherKeys(numbers[1] if len(numbers) > 1 else 0) if numbers[0] == 4 else None


_MEANINGS: Final[dict[bytes, Callable[[tuple[int, ...]], TerminalEvent | None]]] = {
    b"h": lambda numbers: ModeChanged(numbers, private=False, on=True),
    b"l": lambda numbers: ModeChanged(numbers, private=False, on=False),
    b"?h": lambda numbers: ModeChanged(numbers, private=True, on=True),
    b"?l": lambda numbers: ModeChanged(numbers, private=True, on=False),
    b">u": lambda numbers: KeyboardPushed(numbers[0]),
    b"<u": lambda numbers: KeyboardPopped(numbers[0] or 1),
    b"=u": lambda numbers: KeyboardSet(numbers[0], (numbers[1] if len(numbers) > 1 else 0) or 1),
    b">m": _modify_other_keys,
    b">n": lambda numbers: ModifyOtherKeys(0) if numbers[0] == 4 else None,
    b" q": lambda numbers: CursorStyled(numbers[0]),
    b"!p": lambda _numbers: TerminalReset(soft=True),
}


def read_control(sequence: bytes) -> TerminalEvent | None:
    """Read a complete control sequence without its introducer. None: of no interest."""
    # A few dozen sequences make up nearly all of a stream; long ones would only fill the cache.
    return _read_short_control(sequence) if len(sequence) <= 32 else _read_control(sequence)


def _read_control(sequence: bytes) -> TerminalEvent | None:
    parts = _CONTROL_PARTS.fullmatch(sequence)
    if parts is None:
        return None
    marker, parameters, intermediates, final = parts.groups()
    shape = marker + intermediates + final
    if shape in _ALWAYS_ASK or (shape == b"t" and _numbers(parameters)[0] in _WINDOW_REPORTS):
        return Query(b"\x1b[" + sequence)
    meaning = _MEANINGS.get(shape)
    return meaning(_numbers(parameters)) if meaning else None


_read_short_control = lru_cache(maxsize=512)(_read_control)

_ESCAPES: Final[dict[int, TerminalEvent]] = {
    ord("Z"): Query(b"\x1bZ"),  # DECID
    ord("c"): TerminalReset(soft=False),
    ord("="): ModeChanged((66,), private=True, on=True),
    ord(">"): ModeChanged((66,), private=True, on=False),
}


def read_escape(letter: int) -> TerminalEvent | None:
    """Read an escape sequence of ESC and one byte. None: of no interest."""
    return _ESCAPES.get(letter)


_TEXT_OSC: Final = frozenset({0, 1, 2, 7, 8, 9, 66, 133, 633, 777})
"""Titles, directories, links, notifications, sized text, prompt marks: a question mark in them is text."""

_ASKING_OSC: Final = frozenset({60, 61})  # xterm: which operations are allowed
_ASKING_ITERM = (b"ReportCellSize", b"ReportVariable", b"RequestUpload", b"Capabilities")


def read_string(kept: bytes) -> TerminalEvent | None:
    """Read a string without its end: two-byte introducer and payload, of which `MAX_PAYLOAD` bytes count.

    A longer one need not be given whole, only more than that. None: of no interest.
    """
    kind, payload = kept[:2], kept[2 : 2 + MAX_PAYLOAD]
    cut = len(kept) > 2 + MAX_PAYLOAD
    if kind == b"\x1b]":
        digits, _, rest = payload.partition(b";")
        number = int(digits) if digits.isdigit() and len(digits) <= 9 else None
        if not _osc_asks(number, rest):
            text = rest if number is not None else payload
            # A character that the cut has broken is dropped; broken ones elsewhere read as U+FFFD.
            return Osc(number, text.decode("utf-8", "replace").removesuffix("\ufffd" if cut else ""))
    elif not _other_string_asks(kind, payload):
        return None
    return Query(kind + payload + b"\x1b\\")


def _osc_asks(number: int | None, rest: bytes) -> bool:
    if number is None or number in _TEXT_OSC:
        return False
    if number in _ASKING_OSC:
        return True
    if number == 1337:
        return rest.startswith(_ASKING_ITERM)
    if number == 5522 and b"type=read" in rest:
        return True
    return any(part.startswith(b"?") or part.endswith(b"=?") for part in rest.split(b";"))


def _other_string_asks(kind: bytes, payload: bytes) -> bool:
    if kind == b"\x1bP":  # DECRQSS, XTGETTCAP, kitty's remote control
        return payload.startswith((b"$q", b"+q", b"@kitty-"))
    if kind == b"\x1b_" and payload.startswith(b"G"):
        # Kitty graphics commands that name an image are answered unless they ask for silence.
        fields = payload[1:].partition(b";")[0].split(b",")
        return b"q=2" not in fields and any(field.startswith((b"a=q", b"i=", b"I=")) for field in fields)
    return False
