"""Standard output and error of commands (door): whatever they can show, and wherever they lead."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from typing import Any


class Nowhere(io.TextIOBase):
    """A stream that holds nothing and takes everything. `number` is its descriptor."""

    encoding = "utf-8"

    def __init__(self, number: int) -> None:
        self._number = number

    def write(self, text: str) -> int:
        """Forget a text."""
        return len(text)

    def read(self, _size: int | None = -1) -> str:
        """Return nothing: the end."""
        return ""

    def fileno(self) -> int:
        """Return the number of the descriptor."""
        return self._number


class Forgiving(io.FileIO):
    """A descriptor that takes everything: what cannot be written is lost, and no fault of who writes it."""

    def write(self, data: Any) -> int:
        """Write what can be written."""
        size = memoryview(data).nbytes
        try:
            written = super().write(data)
        except OSError:
            return size
        return size if written is None else written


def prepare() -> None:
    """Make the three standard streams usable, whatever the command was started with.

    Standard error never fails: what is said there must not change what a command does, nor its exit code.

    A closed one becomes one that leads nowhere: its number must not be taken by the next file that is opened, and
    `print` must not put errors among the output. A character that an encoding lacks is printed as its escape.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, Nowhere(number))
    if isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr is sys.__stderr__:
        encoding, errors = sys.stderr.encoding, sys.stderr.errors
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(Forgiving(2, "w", closefd=False)), encoding, errors, line_buffering=True
        )
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        sys.stdout.reconfigure(errors="backslashreplace")


def discard() -> None:
    """Give standard output up: what is left in its buffer must not fail once more when the interpreter ends."""
    sys.stdout = Nowhere(1)


def can_show(text: str) -> bool:
    """Return whether standard output has these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def say(command: str, text: str) -> bool:
    """Print a text now, and return whether that went well; what went wrong is said on standard error.

    For commands whose exit code says what happened elsewhere: it must be the same whether or not anybody could read.
    """
    try:
        print(text, flush=True)
    except (OSError, ValueError, AttributeError) as error:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            print(f"switchboard {command}: the result could not be printed: {error}", file=sys.stderr)
        discard()
        return False
    return True


def json_text(value: Any) -> str:
    """Return a value as JSON that standard output can show: an escape of its own would be none of JSON's.

    On one line where it is nested too deeply to be laid out.
    """
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    try:
        return json.dumps(value, indent=2, ensure_ascii=encoding != "utf8")
    except RecursionError:
        from switchboard.common.strict_json import dump  # for such a value alone

        text = dump(value).decode("utf-8")
        return text if encoding == "utf8" else "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
