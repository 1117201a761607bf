"""Cuts a session's output where a terminal stands between two sequences (pure).

The page writes something of its own between pieces of a session's output: a notice, the list. In the middle of a
sequence or of a character that would garble both. So the unfinished end of what has come is kept back, which no
person can see, and written once its rest is there. What is kept back counts as not shown: after a lost connection the
output is asked for again from its first byte.
"""

from __future__ import annotations

import re

MAX_KEPT = 64 * 1024
"""Largest unfinished sequence kept back, in bytes. A longer one (an inline picture) is written as it comes."""

_SEARCH = 4096
"""How far into output that begins anywhere a good place to begin is looked for, in bytes."""

_WHOLE = re.compile(
    rb"(?:[^\x1b]++"
    rb"|\x1b\[[0-?]*+[ -/]*+[@-~]"
    rb"|\x1b\][^\x07\x1b\x18\x1a]*+(?:[\x07\x18\x1a]|\x1b\\)"
    rb"|\x1b[PX^_][^\x1b\x18\x1a]*+(?:[\x18\x1a]|\x1b\\)"
    rb"|\x1b[ -/]++[0-~]"
    rb"|\x1b[0-OQ-WYZ\\`-~]"
    rb")*+"
)
_UNFINISHED = re.compile(
    rb"\x1b(?:\[[0-?]*+[ -/]*+|\][^\x07\x1b\x18\x1a]*+\x1b?|[PX^_][^\x1b\x18\x1a]*+\x1b?|[ -/]*+)\Z"
)
_STRING_END = re.compile(rb"[\x07\x18\x1a]|\x1b\\")


class Cutter:
    """Holds at most `MAX_KEPT` bytes."""

    def __init__(self) -> None:
        self._kept = b""
        self._in_string = False
        self._skipping = 0

    @property
    def kept(self) -> int:
        """How many bytes are kept back."""
        return len(self._kept)

    def restart(self, *, anywhere: bool = False) -> None:
        """Forget what is kept back. `anywhere`: what comes next begins at any byte, so look for a good one."""
        self._kept = b""
        self._in_string = False
        self._skipping = _SEARCH if anywhere else 0

    def feed(self, data: bytes) -> bytes:
        """Take output as it comes; return what can be written now."""
        if self._skipping:
            data = self._skip(data)
        data, self._kept = self._kept + data, b""
        end = self._end(data)
        if len(data) - end > MAX_KEPT:
            self._in_string = True
            end = len(data)
        self._kept = data[end:]
        return data[:end]

    def _skip(self, data: bytes) -> bytes:
        start = next((i for i, byte in enumerate(data[: self._skipping]) if byte in b"\x1b\n"), None)
        if start is not None or len(data) >= self._skipping:
            self._skipping = 0
            return data[start or 0 :]
        self._skipping -= len(data)
        return b""

    def _end(self, data: bytes) -> int:
        """Return where the last whole sequence or character ends."""
        at = 0
        if self._in_string:
            closing = _STRING_END.search(data)
            if closing is None:
                # All of it is inside; an ESC at the end may be the first half of the terminator.
                return len(data) - data.endswith(b"\x1b")
            self._in_string = False
            at = closing.end()
        while True:
            match = _WHOLE.match(data, at)
            assert match is not None, "the pattern matches the empty string"
            at = match.end()
            if at == len(data):
                return at - _unfinished_character(data)
            if _UNFINISHED.match(data, at):
                return at
            at += 1  # an ESC that begins nothing: the terminal drops it, too


def _unfinished_character(data: bytes) -> int:
    """Return how many bytes at the end belong to a UTF-8 character whose rest is missing."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4 if byte < 0xF8 else 1
            return back if back < length else 0
        if byte < 0x80:
            return 0
    return 0
