"""What one page types into one session when that does not read fast enough (pure).

A page's input comes in frames, and a paste is many of them. Once one is refused the rest of its run is refused too, so
that what arrives is a beginning of what was sent and never has a hole. A run is a bracketed paste up to its end marker;
else it goes on for as long as frames say that more of the same follows, or come without a pause. A bracketed paste
whose beginning has arrived gets its end marker all the same: without it the program would take what is typed later for
pasted text.
"""

from __future__ import annotations

from typing import Final, Literal

from switchboard.common.clock import Instant

PASTE_START: Final = b"\x1b[200~"
PASTE_END: Final = b"\x1b[201~"

PAUSE_MS: Final = 1000
"""What comes so long after the frame before is another key, or another paste. The pieces of one follow each other by
milliseconds."""

TELL_AGAIN_MS: Final = 3000
"""Who types on without a pause is told again after so long."""

Refusal = Literal["all", "rest"]
"""Nothing of what was sent, or only its beginning, was taken."""


class InputRun:
    """One page's input of one session. `refusal`: what a person must be told of the last frame, None: nothing."""

    __slots__ = ("_before", "_last", "_more", "_open", "_pasting", "_refusing", "_told", "refusal")

    def __init__(self) -> None:
        self.refusal: Refusal | None = None
        self._pasting = False
        """The page is within a bracketed paste."""
        self._open = False
        """The program is."""
        self._before = b""
        """The last bytes that came, because a marker may be cut."""
        self._more = False
        self._refusing = False
        self._last: Instant = 0
        self._told: Instant = 0

    def take(self, data: bytes, room: int, now: Instant, *, more: bool = False) -> bytes:
        """Return what to write of a frame. `room`: bytes that may wait; an end marker is owed also beyond it.

        `more`: the next frame belongs to this one. `now`: wall milliseconds.
        """
        self.refusal = None
        # Of a clock that was set back nobody knows how far.
        paused = not 0 <= now - self._last < PAUSE_MS
        self._last = now
        continued, self._more = self._more, more
        if self._refusing and self._pasting:
            end = self._follow(data, stop=True)
            if self._pasting:
                return b""
            data = data[end:]
            if not data:
                self._refusing = False
                return b""
        elif self._refusing and (continued or not paused):
            self._follow(data)
            if not continued and not 0 <= now - self._told < TELL_AGAIN_MS:
                self._tell("all", now)
            return b""
        self._refusing = False
        within = self._open or continued
        self._follow(data)
        if len(data) <= room:
            self._open = self._pasting
            return data
        self._refusing = True
        self._tell("rest" if within else "all", now)
        return self.leave()

    def leave(self) -> bytes:
        """Return what is still owed to the program when nothing more of this run will come."""
        owed, self._open = PASTE_END if self._open else b"", False
        return owed

    def _tell(self, refusal: Refusal, now: Instant) -> None:
        self.refusal, self._told = refusal, now

    def _follow(self, data: bytes, *, stop: bool = False) -> int:
        """Follow the markers in what came; `stop`: up to the first end. Return where in `data` that was."""
        text = self._before + data
        position = 0
        while True:
            marker = PASTE_END if self._pasting else PASTE_START
            found = text.find(marker, position)
            if found < 0:
                break
            position = found + len(marker)
            self._pasting = not self._pasting
            if stop and not self._pasting:
                # What follows is looked at as input of its own.
                text = text[:position]
                break
        start = max(position, len(text) - len(PASTE_END) + 1)
        end = len(text) - len(self._before)
        self._before = text[start:]
        return end
