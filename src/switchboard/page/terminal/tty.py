"""The person's terminal: its modes, its size, bytes in and out (door).

Output never blocks: what the terminal does not take waits here and goes out when it does. The output descriptor is
opened anew where possible, because O_NONBLOCK belongs to the open file, which a shell shares with everything it starts:
set on the given descriptor, it would make the shell's own output fail. Restoring is bounded, too: a terminal that takes
nothing (Ctrl-S, a stalled line) must not keep the page from leaving.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import termios
import time
import tty
from collections.abc import Callable

READ_BYTES = 64 * 1024

WRITE_BYTES = 16 * 1024
"""Offered to the terminal at once; it takes about 4 KB where it is slow, and what it leaves is offered again."""

RESTORE_SECONDS = 0.5
"""How long the last bytes (the terminal's modes back as they were) may take to be accepted."""

_FALLBACK_SIZE = (80, 24)
"""What a terminal is taken for that does not know its own size (some serial lines)."""

_LIMITS = ((2, 1000), (1, 1000))
"""Smallest and largest columns and rows that the schema carries."""


class NotATerminal(Exception):
    """Standard input or output is no terminal."""


def window_size(fd: int) -> tuple[int, int]:
    """Return (columns, rows) of a terminal."""
    try:
        found = tuple(termios.tcgetwinsize(fd))[::-1]
    except (OSError, termios.error):
        found = (0, 0)
    if not all(found):
        found = _FALLBACK_SIZE
    (least_columns, most_columns), (least_rows, most_rows) = _LIMITS
    columns, rows = found
    return min(max(columns, least_columns), most_columns), min(max(rows, least_rows), most_rows)


class Tty:
    """A terminal in raw mode between `enter` and `leave`.

    `on_input(data)`: what was typed; empty when the terminal has hung up. `on_drained()`: everything is out that had to
    wait. Both are called by the event loop, never from within a method of this class.
    """

    def __init__(
        self, stdin_fd: int, stdout_fd: int, on_input: Callable[[bytes], None], on_drained: Callable[[], None]
    ) -> None:
        if not (os.isatty(stdin_fd) and os.isatty(stdout_fd)):
            raise NotATerminal
        self._stdin = stdin_fd
        self._given = stdout_fd
        self._out = stdout_fd
        self._on_input = on_input
        self._on_drained = on_drained
        self._queue = bytearray()
        self._saved: list[int | list[bytes | int]] | None = None
        self._reading = False
        self._writing = False
        self._dead = False

    @property
    def queued(self) -> int:
        """Bytes that the terminal has not taken yet."""
        return len(self._queue)

    def size(self) -> tuple[int, int]:
        """Return (columns, rows)."""
        return window_size(self._given)

    def enter(self) -> None:
        """Put the terminal into raw mode and begin to read it."""
        self._saved = termios.tcgetattr(self._stdin)
        tty.setraw(self._stdin, termios.TCSANOW)
        self._out = self._open_output()
        os.set_blocking(self._out, False)
        self.read(True)

    def again(self) -> None:
        """Put the terminal into raw mode once more: while this process was stopped, a shell used it."""
        if self._saved is not None:
            tty.setraw(self._stdin, termios.TCSANOW)

    def read(self, wanted: bool) -> None:
        """Begin or cease to read what is typed; meanwhile the system holds it."""
        if wanted is self._reading or (wanted and self._dead):
            return
        self._reading = wanted
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_reader(self._stdin, self._readable)
        else:
            loop.remove_reader(self._stdin)

    def write(self, data: bytes) -> None:
        """Write, now or as soon as the terminal takes it."""
        if self._dead or not data:
            return
        self._queue += data
        if not self._writing:
            self._watch_output(self._write_some() and bool(self._queue))

    def discard(self) -> bool:
        """Drop what waits, because something else replaces it; return whether there was anything.

        A sequence may have been cut, so one that is open is ended.
        """
        if not self._queue:
            return False
        self._queue[:] = b"\x18\x1b\\"
        return True

    def leave(self, last: bytes) -> None:
        """Write what puts the screen back, restore the modes that `enter` found, and let go of everything.

        Never raises and never waits longer than `RESTORE_SECONDS`.
        """
        if self._saved is None:
            return
        self.read(False)
        self._watch_output(False)
        self._queue += b"" if self._dead else last
        self._flush(time.monotonic() + RESTORE_SECONDS)
        with contextlib.suppress(OSError, termios.error):
            # Answers of the terminal still on their way would land at the shell's prompt. Not TCSAFLUSH: it waits
            # for output to be taken, which may be never.
            termios.tcflush(self._stdin, termios.TCIFLUSH)
            termios.tcsetattr(self._stdin, termios.TCSANOW, self._saved)
        self._saved = None
        with contextlib.suppress(OSError):
            if self._out == self._given:
                os.set_blocking(self._out, True)
            else:
                os.close(self._out)
        self._out = self._given

    def _open_output(self) -> int:
        try:
            return os.open(os.ttyname(self._given), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            # Another user's terminal (su) or one from outside a container: use the given descriptor after all.
            return self._given

    def _flush(self, until: float) -> None:
        poller = select.poll()
        poller.register(self._out, select.POLLOUT)
        while self._queue:
            left = until - time.monotonic()
            if left <= 0 or not poller.poll(left * 1000) or not self._write_some():
                return

    def _readable(self) -> None:
        try:
            data = os.read(self._stdin, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._dead = True
            self.read(False)
        self._on_input(data)

    def _writable(self) -> None:
        alive = self._write_some()
        self._watch_output(alive and bool(self._queue))
        if not self._queue:
            self._on_drained()

    def _write_some(self) -> bool:
        """Write what the terminal takes; return false when it is gone."""
        try:
            while self._queue:
                del self._queue[: os.write(self._out, self._queue[:WRITE_BYTES])]
        except BlockingIOError:
            return True
        except OSError:
            self._dead = True
            self._queue.clear()
            return False
        return True

    def _watch_output(self, wanted: bool) -> None:
        if wanted is self._writing:
            return
        self._writing = wanted
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_writer(self._out, self._writable)
        else:
            loop.remove_writer(self._out)
