"""A terminal's master descriptor (door): reads into the ring, non-blocking writes, size."""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import struct
import termios
from collections.abc import Callable

from switchboard.sessions.keeper.ring import Ring

READ_BYTES = 4096
"""The kernel hands out no more per read."""

READS_PER_TURN = 16
"""Then other sessions get their turn."""

ALL_BYTES = 512
"""A read of fewer bytes is nearly always all there was: a further one would bring nothing, after the echo of a key."""

OPEN_PEER = 0x5441
"""Linux's TIOCGPTPEER: open the other end of this terminal, whatever its path means in this mount namespace."""


class Pty:
    """One terminal. `on_output(seq, data)` gets what was printed, `on_hangup()` the end of its output.

    The hang-up is not the child's exit: another process may hold the terminal open, or have closed it long before.
    """

    def __init__(
        self, master: int, ring: Ring, on_output: Callable[[int, bytes], None], on_hangup: Callable[[], None]
    ) -> None:
        self._master = master
        self._ring = ring
        self._on_output = on_output
        self._on_hangup = on_hangup
        self._reading = False
        self._on_writable: Callable[[], None] | None = None
        self._closed = False
        os.set_blocking(master, False)

    def start(self) -> None:
        """Begin to read."""
        if not self._reading and not self._closed:
            asyncio.get_running_loop().add_reader(self._master, self._readable)
            self._reading = True

    def _readable(self) -> None:
        self._read()

    def _read(self) -> bool:
        """Read as much as one turn may; return whether there may be more at once."""
        head = self._ring.head
        last = self._fill()
        if self._ring.head > head:
            self._on_output(*self._ring.read(head, self._ring.head - head))
        if last < 0:
            self._stop_reading()
            self._on_hangup()
        return last > 0

    def _fill(self) -> int:
        """Read into the ring; return what the last read brought, as `_take` does."""
        left, count = READS_PER_TURN, 0
        for part in self._ring.claim(READS_PER_TURN * READ_BYTES):
            room = part
            while room and left:
                count = self._take(room)
                if count <= 0:
                    return count
                self._ring.commit(count)
                if count < ALL_BYTES:
                    return count
                room = room[count:]
                left -= 1
        return count

    def _take(self, room: memoryview) -> int:
        """Read once; return how many bytes came, 0: none now, -1: none any more."""
        try:
            return os.readv(self._master, (room,)) or -1
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            return -1  # EIO: every process that had the terminal open is gone

    def drain(self, limit: int) -> None:
        """Read what is there now, `limit` bytes at most: for the last output of a process that has exited."""
        stop = self._ring.head + limit
        while self._reading and self._ring.head < stop and self._read():
            pass

    def write(self, data: bytes | memoryview) -> int:
        """Write what the terminal takes now; return how many bytes that was (0: it is full).

        Raises `OSError` when the terminal is gone.
        """
        if self._closed:
            raise BrokenPipeError("the terminal is closed")
        try:
            return os.write(self._master, data)
        except (BlockingIOError, InterruptedError):
            return 0

    def unread(self) -> bool:
        """Whether the program has still to read some of what was written. False where the system cannot tell.

        Asked by polling the other end: a count of bytes (FIONREAD) would miss those still on their way inside the
        kernel, which a poll moves along first. In line mode an unfinished line counts as read.
        """
        if self._closed:
            return False
        try:
            peer = fcntl.ioctl(self._master, OPEN_PEER, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            poller = select.poll()
            poller.register(peer, select.POLLIN)
            return any(event & select.POLLIN for _, event in poller.poll(0))
        finally:
            os.close(peer)

    def when_writable(self, callback: Callable[[], None] | None) -> None:
        """Call back each time the terminal takes bytes again; None ends that."""
        if callback is self._on_writable or self._closed:
            return
        self._on_writable = callback
        loop = asyncio.get_running_loop()
        if callback is None:
            loop.remove_writer(self._master)
        else:
            loop.add_writer(self._master, callback)

    def resize(self, columns: int, rows: int) -> None:
        """Set the size; the kernel tells the foreground processes."""
        if not self._closed:
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def foreground_group(self) -> int | None:
        """Return the process group that has the terminal, None when there is none."""
        try:
            group = os.tcgetpgrp(self._master)
        except OSError:
            return None
        return group if group > 0 else None

    def _stop_reading(self) -> None:
        if self._reading:
            asyncio.get_running_loop().remove_reader(self._master)
            self._reading = False

    def close(self) -> None:
        """Stop reading and writing. The descriptor is the owner's to close, after this."""
        self._stop_reading()
        self.when_writable(None)
        self._closed = True
