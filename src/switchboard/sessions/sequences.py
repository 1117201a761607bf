"""What a session's output says beside its text: an incremental reader of terminal sequences.

Theory of operation. Output arrives in pieces that may be cut anywhere, at tens of megabytes a second, and nearly all of
it is of no interest here (text, colours, cursor movement). One regular expression finds the few sequences that are, so
the rest is passed over in C; Python runs once per find. A sequence that is cut by the end of a piece is kept until the
next one: a control sequence as its bytes, a string (OSC, DCS, APC, PM, SOS) as its first `MAX_PAYLOAD` bytes, so that
memory is bounded whatever comes. Every way of cutting a stream gives the same events.

Sequences end where terminals end them: a string at ST (or BEL, for OSC), at CAN or SUB (which cancel it), and at any
other ESC, which starts the next sequence. A string ended by another ESC reports nothing, except that a query is
reported, because some terminals answer it then too. Introducers are read as ESC with a letter and as their C1
characters in UTF-8; the lone bytes 0x80-0x9f mean nothing in UTF-8.
"""

from __future__ import annotations

import re
from typing import Final

from switchboard.sessions.vocabulary import (
    MAX_PAYLOAD,
    Bell,
    CursorStyled,
    KeyboardPopped,
    KeyboardPushed,
    KeyboardSet,
    ModeChanged,
    ModifyOtherKeys,
    Osc,
    Query,
    TerminalEvent,
    TerminalReset,
    read_control,
    read_escape,
    read_string,
)

__all__ = [
    "MAX_CONTROL",
    "Bell",
    "CursorStyled",
    "KeyboardPopped",
    "KeyboardPushed",
    "KeyboardSet",
    "Located",
    "ModeChanged",
    "ModifyOtherKeys",
    "Osc",
    "Query",
    "SequenceReader",
    "TerminalEvent",
    "TerminalReset",
]

MAX_CONTROL: Final = 4096
"""Bytes of a control sequence; a longer one says nothing."""


Located = tuple[int, int, TerminalEvent]
"""An event and the bytes it stands for: from one place up to another, counted from the reader's first byte."""

# Where something of interest may begin. Each pattern starts with one byte that is searched for at the speed of memory;
# an alternation, or a set of first bytes, would be tried at every byte of the text (measured: 17 instead of 300 MB/s on
# a drawing agent). So it names what to pass over: control sequences of digits whose final says nothing to us, and
# two-byte escapes, each in a look-ahead of its own because a choice inside one costs a fifth more. The possessive
# repeat keeps a colour from being tried at every shorter length. The group is a control sequence without its
# introducer, when all of it is there.
_ESCAPE = re.compile(rb"\x1b(?!\[[0-9;:]*+[@-bd-gi-kmo-su-wy-~])(?![^][P_^XcZ=>])(?:\[([ -?]*+[@-~]))?")
_C1 = re.compile(rb"\xc2(?:[\x90\x98\x9a\x9b\x9d-\x9f]|\Z)")

# A large piece in which every sequence is one to pass over, such as a coloured listing, is known for that without being
# searched (measured: 770 instead of 310 MB/s). Parameters are taken out and finals that say nothing made equal: then
# each ESC has to begin the same three bytes. An ESC before a digit is of no interest either, so what comes together by
# that deceives nobody.
_LARGE = 2048
_EVENTFUL_PIECES = 16  # after one that did not go so: what draws whole screens says something in each
_PARAMETERS = b"0123456789;:"
_PLAIN_CONTROL = b"\x1b[m"
_MADE_EQUAL = bytes(
    byte if byte in b"\x1b[" else ord("m") if re.match(rb"[@-bd-gi-kmo-su-wy-~]", bytes((byte,))) else ord("x")
    for byte in range(256)
)

_BELLS = re.compile(rb"\x07+")
_CONTROL = re.compile(rb"[ -?]*+([@-~])?")
_OSC_END = re.compile(rb"[\x07\x18\x1a\x1b\xc2](?:(?<!\xc2)|\x9c)")
_STRING_END = re.compile(rb"[\x18\x1a\x1b\xc2](?:(?<!\xc2)|\x9c)")

_BEL, _ENQ, _CAN, _SUB, _ESC, _HALF_C1 = 0x07, 0x05, 0x18, 0x1A, 0x1B, 0xC2
_STRINGS = b"]P_^X"
_RING = Bell()


class SequenceReader:
    """Reads one session's output."""

    __slots__ = ("_belled", "_eventful", "_held", "_offset", "_open", "_skipping", "_start")

    def __init__(self) -> None:
        self._offset = 0  # bytes fed so far
        self._held = b""  # bytes at the end that cannot be judged yet
        self._open: bytearray | None = None  # introducer and kept payload of a string that has not ended
        self._skipping = False  # inside a control sequence that is too long to say anything
        self._start = 0  # where the open string or the skipped sequence began
        self._belled = False  # the last byte was a bell
        self._eventful = 0  # how many large pieces are searched without a try to avoid it

    @property
    def undecided(self) -> int:
        """How many of the bytes fed last belong to a sequence that has not ended: 0 between sequences.

        A reader that starts over must be fed these again.
        """
        if self._open is not None or self._skipping:
            return self._offset - self._start
        return len(self._held)

    def feed(self, data: bytes) -> list[TerminalEvent]:
        """Take the next output, cut anywhere; return what it says, in order."""
        return [event for _, _, event in self.locate(data)]

    def locate(self, data: bytes) -> list[Located]:
        """`feed`, with the place of each event. An event's first bytes may have come with an earlier piece."""
        found: list[Located] = []
        if not data:
            return found
        base = self._offset - len(self._held)
        self._offset += len(data)
        if self._held:
            data = self._held + data
            self._held = b""
        position = 0
        if self._skipping:
            position = self._skip(data)
        elif self._open is not None:
            position = self._string(data, 0, base, found)
        belled, self._belled = self._belled, False
        if not position and belled and data[0] == _BEL:
            # These bells go on a row that has rung already.
            position = len(data) - len(data.lstrip(b"\x07"))
            self._belled = position == len(data)
        if not self._held and position < len(data):
            self._scan(data, position, base, found)
        return found

    def _scan(self, data: bytes, position: int, base: int, found: list[Located]) -> None:
        size = len(data)
        # Where the next one is; the size where there is none. For text alone this is all that is done.
        calm = self._calm_until(data, position)
        escape = -1 if calm < size else size
        c1 = -1 if data.find(_HALF_C1, position) >= 0 else size
        bell = data.find(_BEL, position) % (size + 1)  # -1, not found, becomes the size
        enquiry = data.find(_ENQ, position) % (size + 1)
        control = None
        while position < size:
            if escape < position:
                match = _ESCAPE.search(data, max(position, calm))
                escape, control = (match.start(), match[1]) if match else (size, None)
            if c1 < position:
                match = _C1.search(data, position)
                c1 = match.start() if match else size
            if bell < position:
                bell = data.find(_BEL, position) % (size + 1)
            if enquiry < position:
                enquiry = data.find(_ENQ, position) % (size + 1)
            start = min(escape, c1, bell, enquiry)
            if control is not None and start == escape and len(control) < MAX_CONTROL - 2:
                # Nearly all that is found comes this way; `_sequence` would come to the same, more slowly.
                position = start + 2 + len(control)
                event = read_control(control)
                if event is not None:
                    found.append((base + start, base + position, event))
            else:
                position = self._sequence(data, start, base, found) if start < size else size

    def _calm_until(self, data: bytes, position: int) -> int:
        """Return from where on this piece has to be searched for escapes."""
        last = data.rfind(_ESC, position)
        if last < 0:
            return len(data)
        if position or len(data) < _LARGE:
            return position
        if self._eventful:
            self._eventful -= 1
            return position
        # Without the last one, which the end of the piece often cuts.
        made_equal = data[:last].translate(_MADE_EQUAL, _PARAMETERS)
        if made_equal.count(_PLAIN_CONTROL) == made_equal.count(_ESC):
            return last
        self._eventful = _EVENTFUL_PIECES
        return position

    def _sequence(self, data: bytes, start: int, base: int, found: list[Located]) -> int:
        """Read what begins at `start`. Returns where reading goes on."""
        first = data[start]
        if first == _BEL:
            bells = _BELLS.match(data, start)
            end = bells.end() if bells else start + 1
            found.append((base + start, base + end, _RING))
            self._belled = end == len(data)
            return end
        if first == _ENQ:
            found.append((base + start, base + start + 1, Query(b"\x05")))
            return start + 1
        if start + 1 == len(data):
            self._held = data[start:]
            return len(data)
        letter = data[start + 1] - (0 if first == _ESC else 0x40)
        if letter in _STRINGS:
            self._start = base + start
            self._open = bytearray((_ESC, letter))
            return self._string(data, start + 2, base, found)
        if letter == ord("["):
            return self._control(data, start, base, found)
        event = read_escape(letter)
        if event is not None:
            found.append((base + start, base + start + 2, event))
        return start + 2

    def _control(self, data: bytes, start: int, base: int, found: list[Located]) -> int:
        """Read a control sequence. Returns where reading goes on."""
        control = _CONTROL.match(data, start + 2)
        assert control is not None
        end = control.end()
        whole = control.lastindex is not None
        if end - start > MAX_CONTROL:
            self._skipping = not whole and end == len(data)
            self._start = base + start
        elif whole:
            event = read_control(data[start + 2 : end])
            if event is not None:
                found.append((base + start, base + end, event))
        elif end == len(data):
            self._held = data[start:]
        return end

    def _skip(self, data: bytes) -> int:
        """Pass over the rest of an overlong control sequence. Returns where reading goes on."""
        control = _CONTROL.match(data)
        assert control is not None
        self._skipping = control.lastindex is None and control.end() == len(data)
        return control.end()

    def _string(self, data: bytes, position: int, base: int, found: list[Located]) -> int:
        """Read the open string's payload from `position` on. Returns where reading goes on."""
        assert self._open is not None
        end = (_OSC_END if self._open[1] == ord("]") else _STRING_END).search(data, position)
        stop = end.start() if end else len(data)
        half = len(data) - 1
        if (end is None and half >= position and data[half] == _HALF_C1) or (stop == half and data[stop] == _ESC):
            # Half of an ST, perhaps: the next piece tells.
            self._held = data[half:]
            end, stop = None, half
        room = MAX_PAYLOAD + 2 + 1 - len(self._open)  # one byte more than is used tells that something was cut
        if room > 0:
            self._open += data[position : min(stop, position + room)]
        if end is None:
            return len(data)
        kept, self._open = bytes(self._open), None
        if data[stop] in (_CAN, _SUB):
            return stop + 1
        ended = data[stop] != _ESC or data[stop + 1] == ord("\\")
        position = stop + (2 if end.group() == b"\xc2\x9c" else 1)
        if data[stop] == _ESC:
            position = stop + 2 if ended else stop
        event = read_string(kept)
        if event is not None and (ended or isinstance(event, Query)):
            found.append((self._start, base + position, event))
        return position
