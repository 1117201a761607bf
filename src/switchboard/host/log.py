"""The host's log file (door): bounded, readable by its owner alone."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime

MAX_BYTES = 4 * 1024 * 1024
"""At this size the file becomes `<name>.1`, replacing the one before."""

MAX_REPEATS = 20
"""The same text is written so often, then only counted until another one comes."""


class FileLog:
    """Writes lines to a file, and to standard error what a person at the terminal should see."""

    def __init__(self, path: str, now: Callable[[], int], loud: bool = True) -> None:
        self._path = path
        self._now = now
        self._loud = loud
        self._last = ""
        self._repeats = 0
        self._file = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def info(self, message: str) -> None:
        """Note an ordinary event."""
        self._write("info", message)

    def warning(self, message: str) -> None:
        """Note something a person may want to look at."""
        self._write("warning", message)

    def error(self, message: str) -> None:
        """Note a fault; it is also said on standard error."""
        self._write("error", message)
        if self._loud and self._repeats <= MAX_REPEATS:
            # The terminal in which the host was started may be gone.
            with contextlib.suppress(OSError, ValueError):
                print(f"switchboard: {message}", file=sys.stderr, flush=True)

    def _write(self, level: str, message: str) -> None:
        if message == self._last:
            self._repeats += 1
        else:
            if self._repeats > MAX_REPEATS:
                self._append("info", f"the text before came {self._repeats} times")
            self._last, self._repeats = message, 1
        if self._repeats <= MAX_REPEATS:
            self._append(level, message)

    def _append(self, level: str, message: str) -> None:
        stamp = datetime.fromtimestamp(self._now() / 1000, UTC).isoformat(timespec="milliseconds")
        line = f"{stamp} {level} {message}".replace("\n", " ") + "\n"
        with contextlib.suppress(OSError):  # a full disk must not end the host
            os.write(self._file, line.encode("utf-8", "replace"))
            if os.fstat(self._file).st_size > MAX_BYTES:
                with contextlib.suppress(FileNotFoundError):  # deleted, or no new one could be made the last time
                    os.replace(self._path, f"{self._path}.1")
                full, self._file = self._file, self._open()
                os.close(full)

    def close(self) -> None:
        os.close(self._file)
