"""A program in a real pseudo-terminal, and an expect-like reader with deadlines.

The child gets a session of its own with the PTY as its controlling terminal. It is started with `posix_spawn`, which is
safe beside the threads of the loopback API (`pty.fork` is not); `env -C` gives it its working directory, since
`posix_spawn` has no such setting.

Every wait pumps: it reads what the program prints (an unread PTY fills up and blocks the program), keeps a screen as a
person would see it, and then asks the caller's predicate. Nothing waits without a deadline, and every deadline that
passes shows the screen.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import pyte

COLUMNS: Final = 120
ROWS: Final = 40

CHUNK: Final = 256
"""Bytes per write. Claude Code takes what it handles at once for a paste if that is over 800 characters, and on a busy
machine it was seen to handle two reads at once: with 512 bytes one prompt of 20 came out as a paste, with 256 none of
120."""

ENTER_GAP_S: Final = 0.05
_LOOK_AGAIN_S: Final = 0.01
"""How often a predicate over files is asked while the program prints nothing."""

T = TypeVar("T")


class DeadlineError(AssertionError):
    """Something did not happen in time; the text carries the screen."""


class _Screen(pyte.Screen):
    """pyte rejects private forms of sequences that it does not know; a terminal ignores them."""

    def select_graphic_rendition(self, *attrs: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attrs)

    def report_device_status(self, mode: int, **_: Any) -> None:
        """Nobody answers queries here; the CLI works unanswered."""


class PtyProgram:
    """A running program. `spawned_at`: wall milliseconds just before it was started."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        launcher = shutil.which("env")
        assert launcher, "coreutils' env is needed"
        self.output = bytearray()
        self.status: int | None = None
        self._timer: threading.Timer | None = None
        self._screen = _Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        # The program's side stays open here: it tells how much of what was written has not been read yet.
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.spawned_at = time.time_ns() // 1_000_000
        self.pid = os.posix_spawn(
            launcher,
            ["env", "-C", str(cwd), *argv],
            dict(env),
            file_actions=[
                # Opening it by path as the leader of a new session makes it the controlling terminal.
                (os.POSIX_SPAWN_OPEN, 0, os.ttyname(self._slave), os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, 0, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
            ],
            setsid=True,
            setsigdef=[signal.SIGPIPE],
        )
        self._exit = os.pidfd_open(self.pid)
        self._readable = select.poll()
        self._readable.register(self._slave, select.POLLIN)
        os.set_blocking(self._master, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what a person sees -------------------------------------------------------------------------------------

    @property
    def screen(self) -> str:
        """The screen's lines, trailing blanks cut."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def title(self) -> str:
        return str(self._screen.title)

    # -- what a person does -------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Write all of it, reading meanwhile so that neither side blocks the other."""
        view = memoryview(data)
        deadline = time.monotonic() + 10
        while view:
            if time.monotonic() > deadline:
                raise DeadlineError(f"the program does not read its terminal\n{self.screen}")
            self._read(_LOOK_AGAIN_S, for_writing=True)
            try:
                view = view[os.write(self._master, view) :]
            except BlockingIOError:
                continue

    def unread(self) -> int:
        """Bytes that were written and that the program has not read yet.

        The kernel brings a write to the reader's side a little later, in a worker: asking whether the side is readable
        makes it do so first (without that, a busy machine shows 0 here and two chunks to the program).
        """
        self._readable.poll(0)
        return int(struct.unpack("i", fcntl.ioctl(self._slave, termios.FIONREAD, bytes(4)))[0])

    def write_taken(self, data: bytes, chunk: int = CHUNK) -> None:
        """Write in chunks, each only once the program has read the one before, and return when it has read all.

        A pause of fixed length is no substitute: a program that stalls for longer reads several chunks at once.
        """
        for start in range(0, len(data), chunk):
            self.write(data[start : start + chunk])
            self.until("the program reads its terminal", lambda: self.unread() == 0)

    def submit(self, text: str) -> int:
        """Type `text` as a delivery does, then Enter as its own write. Returns the wall milliseconds of the Enter."""
        self.write_taken(text.encode())
        self.pause(ENTER_GAP_S)
        return self.enter()

    def enter(self) -> int:
        entered_at = time.time_ns() // 1_000_000
        self.write(b"\r")
        return entered_at

    def pause(self, seconds: float) -> None:
        """Read for that long. For gaps between keystrokes, never to wait for an effect."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._read(left)

    def signal(self, number: int) -> None:
        signal.pidfd_send_signal(self._exit, number)

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """The program does nothing meanwhile, as on a machine that is busy elsewhere."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    def stall(self, seconds: float) -> None:
        """Stop the program now and let it go on after that time, while the caller does something else."""
        self.signal(signal.SIGSTOP)
        self._timer = threading.Timer(seconds, self.signal, [signal.SIGCONT])
        self._timer.start()

    # -- waits --------------------------------------------------------------------------------------------------

    def until(self, what: str, predicate: Callable[[], T | None], seconds: float = 20.0) -> T:
        """The first true value of `predicate`. Raises DeadlineError, also when the program has exited."""
        deadline = time.monotonic() + seconds
        while True:
            if value := predicate():
                return value
            if self.status is not None:
                raise DeadlineError(f"{what}: the program exited with {self.status}\n{self.screen}")
            if time.monotonic() >= deadline:
                raise DeadlineError(f"{what}: not within {seconds} s\n{self.screen}")
            self._read(_LOOK_AGAIN_S)

    def until_screen(self, text: str, seconds: float = 20.0) -> None:
        """Until `text` stands on the screen. Blanks do not count: the CLI draws gaps with cursor movements."""
        wanted = "".join(text.split())
        self.until(f"{text!r} on the screen", lambda: wanted in "".join(self.screen.split()) or None, seconds)

    def wait_exit(self, seconds: float = 10.0) -> int:
        """The exit status as a shell gives it (128 + signal)."""
        deadline = time.monotonic() + seconds
        while self.status is None:
            if time.monotonic() >= deadline:
                raise DeadlineError(f"still running after {seconds} s\n{self.screen}")
            self._read(_LOOK_AGAIN_S)
        return self.status

    def close(self) -> None:
        """End the program by force if it still runs, reap it, give the descriptors back."""
        if self._exit < 0:
            return
        if self.status is None:
            signal.pidfd_send_signal(self._exit, signal.SIGKILL)
            self._reap(block=True)
        if self._timer:
            self._timer.join()
        for descriptor in (self._exit, self._master, self._slave):
            os.close(descriptor)
        self._exit = self._master = self._slave = -1

    # -- the pump -----------------------------------------------------------------------------------------------

    def _read(self, seconds: float, *, for_writing: bool = False) -> None:
        """Take in what is there, waiting at most `seconds` for it (or for room to write)."""
        waiting = [self._master, self._exit] if self.status is None else [self._master]
        readable, _, _ = select.select(waiting, [self._master] if for_writing else [], [], seconds)
        if self._master in readable:
            data = os.read(self._master, 65536)
            self.output += data
            self._stream.feed(data)
        if self._exit in readable:
            self._reap(block=False)

    def _reap(self, *, block: bool) -> None:
        pid, status = os.waitpid(self.pid, 0 if block else os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            self.status = code if code >= 0 else 128 - code
