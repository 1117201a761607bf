"""The terminal this process runs in (door): its mode, what is typed into it, and how it is left behind."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import termios
import threading
import time
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable

READ_BYTES = 65_536
SLOW_BYTES = 64

_LFLAG, _IFLAG, _CC = 3, 0, 6
_LEAVE = b"\x1b[?2004l\x1b[?25h\x1b[0m\x1b]0;\x07"

OnRead = Callable[[str, int], None]


class Terminal:
    """The controlling terminal, to read from and to write to: raw from `enter` to `leave`.

    It stays raw all the time between. Line editors usually go back to cooked mode to print, and an Enter that arrives
    just then turns into a line feed.
    """

    def __init__(self, fd: int, out: int) -> None:
        self._fd = fd
        self._out = out
        self._before = termios.tcgetattr(fd)

    def enter(self) -> None:
        """Hand every key through, unchanged and without echo; output is processed as before."""
        attributes = termios.tcgetattr(self._fd)
        attributes[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        attributes[_IFLAG] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        attributes[_CC][termios.VMIN] = 1
        attributes[_CC][termios.VTIME] = 0
        termios.tcsetattr(self._fd, termios.TCSANOW, attributes)

    def leave(self) -> None:
        """Put everything back as it was. Never blocks (nobody may be reading any more) and never raises."""
        with contextlib.suppress(OSError, termios.error):
            os.set_blocking(self._out, False)
            try:
                os.write(self._out, _LEAVE)
            finally:
                os.set_blocking(self._out, True)
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(self._fd, termios.TCSANOW, self._before)


class TerminalReader:
    """Reads the terminal on a thread of its own and hands each read to the event loop, with the time it came.

    A thread, because the sizes of single reads matter (see `keystrokes`): a loop that is drawing would find two writes
    of the sender as one read. It sleeps in the kernel while nothing is typed.

    `slow_ms`: how long it pauses after each read, which is then a small one; 0: as usual. Asked anew for each read.
    """

    def __init__(self, fd: int, now: Callable[[], int], slow_ms: Callable[[], int] = lambda: 0) -> None:
        self._fd = fd
        self._now = now
        self._slow_ms = slow_ms
        self._lock = threading.Lock()
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._loop: AbstractEventLoop | None = None
        self._on_read: OnRead | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def start(self) -> None:
        """Begin to read; what comes before `attach` is kept."""
        threading.Thread(target=self._run, name="terminal-reader", daemon=True).start()

    def attach(self, loop: AbstractEventLoop, on_read: OnRead) -> None:
        """Call `on_read(text, at)` on the loop for each read. An empty text: the terminal is gone."""
        with self._lock:
            self._loop, self._on_read = loop, on_read
        loop.call_soon(self._deliver)

    def _run(self) -> None:
        while True:
            slow_ms = 0
            try:
                # How much to read is asked when there is something: the answer may change while nothing is typed.
                select.select([self._fd], [], [])
                slow_ms = self._slow_ms()
                data = os.read(self._fd, SLOW_BYTES if slow_ms else READ_BYTES)
            except OSError:
                data = b""
            with self._lock:
                self._waiting.append((data, self._now()))
                loop = self._loop
            if loop is not None:
                try:
                    loop.call_soon_threadsafe(self._deliver)
                except RuntimeError:
                    return  # the loop has ended, and the process is about to
            if not data:
                return
            if slow_ms:
                time.sleep(slow_ms / 1000)  # a fault to try the product with: this thread does nothing but read

    def _deliver(self) -> None:
        assert self._on_read is not None
        while self._waiting:
            data, at = self._waiting.popleft()
            text = self._decoder.decode(data)
            if text or not data:
                self._on_read(text, at)
