"""What is on the person's screen: nothing of ours, the list, or a session (driver of `Tty`).

The list is drawn on the alternate screen. A session is shown on the main one, where it may switch to the alternate
screen and back as it likes, and where its output scrolls into the terminal's own scrollback. Showing sessions on the
alternate screen was rejected: the first editor that closes inside one would throw the page back onto the person's.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from switchboard.page.terminal.look import Look
from switchboard.page.terminal.screen import Picture, notice, paint
from switchboard.page.terminal.tty import Tty
from switchboard.page.terminal.viewing import CLEAR, MAX_WAITING, Viewing

KEEP_TITLE = b"\x1b[22;0t"
RESTORE_TITLE = b"\x1b[23;0t"
"""The window's title is put aside and brought back by the terminal itself (XTWINOPS), where it can."""

OWN_TITLE = b"\x1b]0;Switchboard\x07"

OPEN_LIST = b"\x1b[?1049h\x1b[?2004h" + OWN_TITLE
"""Pastes are marked in the list, so that pasted text is never taken for keys."""

CLOSE_LIST = b"\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l"

BELL = b"\x07"

MAX_PICTURES = 64 * 1024
"""Bytes that may wait before a new picture of the list waits for the terminal instead."""


class Place(Enum):
    NOTHING = "nothing"
    LIST = "list"
    SESSION = "session"


class Display:
    """Owns the screen. `place` is what is on it; `tty` is set before anything is shown."""

    tty: Tty

    def __init__(self, look: Look, viewing: Viewing) -> None:
        self.place = Place.NOTHING
        self.look = look
        self._viewing = viewing
        self._before: Picture | None = None
        self._title_kept = False
        self._scrolled = False

    @property
    def busy(self) -> bool:
        """Whether the terminal has enough to do without a new picture."""
        return self.tty.queued > MAX_PICTURES

    def to_list(self) -> None:
        """Leave whatever is shown and begin the list anew."""
        self._close()
        self._open(OPEN_LIST)
        self.place = Place.LIST

    def to_session(self) -> None:
        """Leave whatever is shown; a clean screen for a session's output."""
        first = not self._scrolled
        self._close()
        _, rows = self.tty.size()
        # What the person had on the screen moves up into the scrollback instead of being erased.
        up = b"\x1b[%d;1H" % rows + b"\r\n" * rows if first else b""
        self._open(up + CLEAR)
        self._scrolled = True
        self.place = Place.SESSION

    def draw(self, make: Callable[[int, int], Picture]) -> None:
        """Put a picture of the list on the screen; only what differs is written."""
        columns, rows = self.tty.size()
        picture = make(columns, rows)
        self.tty.write(paint(picture, self._before, columns, rows, self.look))
        self._before = picture

    def repaint(self) -> None:
        """The screen may show anything: the next picture is written whole."""
        self._before = None

    def output(self, data: bytes) -> None:
        """Write a session's output; a terminal that has too much to take gets none until it has taken it."""
        self.tty.write(data)
        if self.tty.queued > MAX_WAITING:
            self._viewing.skip()

    def tell(self, text: str) -> None:
        """Lay a notice over the session's first row. (In the list, the picture carries it.)"""
        if self.place is Place.SESSION and not self.busy:
            self.tty.write(notice(text, self.tty.size()[0], self.look))

    def bell(self) -> None:
        if not self.busy:
            self.tty.write(BELL)

    def leave(self) -> None:
        """Give the terminal back as it was found."""
        rows = self.tty.size()[1]
        last = self._closing()
        if self._scrolled:
            # Below what the session left, as after any program that wrote to the screen.
            last += b"\x1b[%d;1H\r\n" % rows
        if self._title_kept:
            last += RESTORE_TITLE
        self._title_kept = self._scrolled = False
        self.tty.leave(last)

    def _open(self, data: bytes) -> None:
        if not self._title_kept:
            self._title_kept = True
            data = KEEP_TITLE + data
        self.tty.write(data)

    def _close(self) -> None:
        self.tty.write(self._closing())

    def _closing(self) -> bytes:
        """Return what undoes the place; nothing is on the screen then."""
        place, self.place, self._before = self.place, Place.NOTHING, None
        dropped = self.tty.discard()
        if place is Place.SESSION:
            return self._viewing.restored(dropped=dropped)
        return CLOSE_LIST if place is Place.LIST else b""
