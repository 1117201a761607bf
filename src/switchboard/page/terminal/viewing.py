"""One session on the screen: which output belongs to it, and up to where it is shown (pure).

Theory of operation. Output is written as it comes, cut between sequences (`cutter`). The position is the number of the
first byte not written yet; after a lost connection output is asked for from there, so nothing is missing and nothing
comes twice. A replay counts like the stream itself: the host puts bytes that terminals ignore where it took something
out.

Every `attach` gets one `attached`. Output that arrives between the two belongs to an earlier attachment of the same
session and is dropped.

A terminal that takes output more slowly than it comes makes this page skip: output is counted and its modes are noted,
and nothing is kept. Once the terminal has taken what was written, the page clears it and asks for the last stretch.
"""

from __future__ import annotations

from switchboard.page.messages import Attach, Attached, Detach, Focus, PageMessage, Resync, Size
from switchboard.page.terminal.cutter import Cutter
from switchboard.sessions.modes import TerminalModes
from switchboard.sessions.sequences import Query, SequenceReader

MAX_WAITING = 1024 * 1024
"""Bytes that may wait for the terminal before output is skipped: twice a whole replay."""

TAIL = 128 * 1024
"""What is asked for again after skipping, in bytes: several screens of dense output, and far below `MAX_WAITING`."""

CLEAR = b"\x1b[0m\x1b[r\x1b[?6l\x1b[H\x1b[2J"
"""Attributes, scroll region and origin as new, cursor home, screen empty. The scrollback is the person's."""

DRAW = b"\x1b[?2026l"
"""End of a synchronised update: a terminal in the middle of one shows nothing new."""

MAIN_SCREEN = b"\x1b[?1047l\x1b[?1049l"
"""Back from the alternate screen, when the output that would tell was dropped."""


class _Modes:
    """The modes of a session and of the terminal that shows it. `now`: after all output that has come. `written`: what
    the terminal is in. `queried`: whether output that was written asked the terminal something."""

    def __init__(self) -> None:
        self.now = self.written = TerminalModes()
        self.queried = False
        self._reader = SequenceReader()

    def feed(self, data: bytes, *, written: bool) -> None:
        for event in self._reader.feed(data):
            self.now = self.now.after(event)
            self.queried |= written and isinstance(event, Query)
        if written:
            self.written = self.now

    def restart(self) -> None:
        """The output begins again."""
        self.now, self._reader = TerminalModes(), SequenceReader()

    def left(self) -> TerminalModes:
        """The terminal is put back; return what it was in."""
        written, self.written = self.written, TerminalModes()
        return written


class Viewing:
    """The shown session. Methods return bytes for the terminal or messages for the host.

    `owner`: this terminal's size is in force, so it may answer queries. `skipping`: see above.
    """

    def __init__(self) -> None:
        self.handle: int | None = None
        self.owner = False
        self.skipping = False
        self._awaited: dict[int, int] = {}
        self._asked: int | None = None
        self._position: int | None = None
        self._clear = False
        self._cutter = Cutter()
        self._modes = _Modes()

    @property
    def queried(self) -> bool:
        """Whether the session has asked the terminal something since it is shown. Before that, an answer can only be to
        another session's question."""
        return self._modes.queried

    # --- which session

    def show(self, handle: int, columns: int, rows: int) -> list[PageMessage]:
        """Show a session from the start of what the host still has; its size becomes this terminal's."""
        messages: list[PageMessage] = [] if self.handle in {None, handle} else [Detach(self.handle or 0)]
        self.handle = handle
        self.owner = self.skipping = self._clear = self._modes.queried = False
        self._start(None)
        return [*messages, self._attach(), Focus(handle, columns, rows)]

    def hide(self) -> list[PageMessage]:
        """Show none."""
        messages: list[PageMessage] = [] if self.handle is None else [Detach(self.handle)]
        self.handle = None
        self.owner = self.skipping = False
        return messages

    def lost(self) -> None:
        """The connection is gone, and every attachment with it."""
        self._awaited.clear()
        self.owner = False

    def again(self, columns: int, rows: int) -> list[PageMessage]:
        """The connection is back: go on where the screen stands, or anew where that is not known."""
        self._awaited.clear()  # what was asked while nobody listened is not answered
        if self.handle is None:
            return []
        if self.skipping or self._position is None:
            self.skipping = False
            self._anew(None)
        else:
            self._start(self._position)
        return [self._attach(), *self.freed(columns, rows)]

    # --- what the host says

    def attached(self, said: Attached) -> tuple[bytes, list[PageMessage]]:
        """The host begins to send. Return what to write first, and what to say when this cannot be shown."""
        left = self._awaited.get(said.session, 0) - 1
        self._awaited[said.session] = max(0, left)
        if said.session != self.handle or left > 0:
            return b"", []
        self.owner = said.owner
        if self._asked is not None and said.seq < self._asked:
            # Fewer bytes than were shown already: this is another stream under the same handle.
            self._anew(None)
            return b"", [self._attach()]
        told = self._asked is None or said.lost > 0
        if told and self._asked is not None:
            self._clear = True
            self._modes.restart()
        modes = said.modes.encode("latin-1", "ignore") if told else b""
        self._position = said.seq
        self._cutter.restart(anywhere=bool(said.seq) and (told or self._clear))
        first, self._clear = (self._cleared(told) if self._clear else b""), False
        self._modes.feed(modes, written=True)
        return first + modes, []

    def output(self, handle: int, seq: int, data: bytes) -> bytes:
        """Return what to write of a stretch of output."""
        if handle != self.handle or self._awaited.get(handle):
            return b""
        ready = self._cutter.feed(data)
        self._modes.feed(data, written=not self.skipping)
        self._position = seq + len(data) - self._cutter.kept
        return b"" if self.skipping else ready

    def resync(self, said: Resync) -> bytes:
        """The host has left something out: begin again on a clean screen."""
        if said.session != self.handle or self._awaited.get(said.session):
            return b""
        self._cutter.restart(anywhere=True)
        self._position = said.seq
        modes = said.modes.encode("latin-1", "ignore")
        self._modes.restart()
        first = b"" if self.skipping else self.restored() + CLEAR
        self._modes.feed(modes, written=not self.skipping)
        return first and first + modes

    def sized(self, said: Size) -> None:
        """Some page's size is in force now."""
        if said.session == self.handle:
            self.owner = said.owner

    # --- a terminal that is too slow

    def skip(self) -> None:
        """Write nothing until `recover`."""
        self.skipping = True

    def recover(self) -> list[PageMessage]:
        """The terminal has taken everything: show the end of what was printed meanwhile."""
        if self.handle is None or not self.skipping:
            return []
        self.skipping = False
        self._anew(None if self._position is None else max(0, self._position - TAIL))
        return [self._attach()]

    # --- the person

    def typed(self, columns: int, rows: int) -> list[PageMessage]:
        """A person uses this session here: its size and its answers are this terminal's from now on."""
        if self.handle is None or self.owner:
            return []
        self.owner = True
        return [Focus(self.handle, columns, rows)]

    def freed(self, columns: int, rows: int) -> list[PageMessage]:
        """No page's size may be in force: ask for this terminal's to be, unless another page's is by then."""
        return [] if self.handle is None else [Focus(self.handle, columns, rows, free=True)]

    # --- the terminal

    def restored(self, *, dropped: bool = False) -> bytes:
        """Return what undoes all that the shown session has switched on. `dropped`: not all output was written."""
        written = self._modes.left()
        return DRAW + written.leave() + (self._modes.now.leave() + MAIN_SCREEN if dropped else b"")

    # --- parts

    def _attach(self) -> Attach:
        assert self.handle is not None
        self._awaited[self.handle] = self._awaited.get(self.handle, 0) + 1
        return Attach(self.handle, self._asked)

    def _start(self, asked: int | None) -> None:
        self._asked = self._position = asked
        self._cutter.restart()
        if asked is None:
            self._modes.restart()

    def _anew(self, asked: int | None) -> None:
        self._start(asked)
        self._clear = True

    def _cleared(self, told: bool) -> bytes:
        """Return what makes a clean screen. `told`: in no modes, because the host or its replay says which; else in
        those that this page has followed."""
        clean = self.restored() + CLEAR
        if told:
            return clean
        self._modes.written = self._modes.now
        return clean + self._modes.now.restore()
