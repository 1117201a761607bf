"""A ready page: `switchboard watch` in a terminal that somebody reads and nobody types into.

Versioned triggers open sessions through a page, so there has to be one. Nobody looks at this one again once it has
drawn its list: its terminal is read by a thread, because a program whose terminal fills up does nothing more.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from tests.real_cli.terminal import PtyProgram

_WATCH: Final = [sys.executable, "-m", "switchboard.cli.main", "watch"]
_LOOK_UP_S: Final = 0.05


class TerminalPage:
    """The page. Leaving the context ends it by force. `first`: what is on it once it has drawn its list."""

    def __init__(self, environment: Mapping[str, str], cwd: Path, *, first: str = "Press n to start a session") -> None:
        self._first = first
        self._environment = environment
        self._cwd = cwd
        self._leaving = threading.Event()
        self._reader = threading.Thread(target=self._read, name="terminal-page")

    def __enter__(self) -> Self:
        self._program = PtyProgram(_WATCH, self._cwd, self._environment)
        try:
            self._program.until_screen(self._first)
        except BaseException:
            self._program.close()
            raise
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._reader.join()
        self._program.close()

    def _read(self) -> None:
        while not self._leaving.is_set():
            self._program.pause(_LOOK_UP_S)
