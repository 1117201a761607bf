"""Reporting what the watcher does: a log that may fail without harm, and that never says the same twice (driver)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from switchboard.common.facts import Log

REMEMBERED = 4096
"""So many different notices are remembered as said; then the oldest are forgotten."""


class Silent:
    """A log that keeps nothing."""

    def info(self, message: str) -> None:
        """Say nothing."""

    warning = error = info


class Reporter:
    """Passes on to a log. What the log raises is dropped: reporting must not change what happens to a request."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._said: dict[str, None] = {}

    def info(self, message: str) -> None:
        with suppress(Exception):
            self._log.info(f"triggers: {message}")

    def warning(self, message: str) -> None:
        with suppress(Exception):
            self._log.warning(f"triggers: {message}")

    def error(self, message: str) -> None:
        with suppress(Exception):
            self._log.error(f"triggers: {message}")

    def once(self, message: str) -> None:
        """Warn, unless the very same was said before."""
        if message in self._said:
            return
        if len(self._said) >= REMEMBERED:
            del self._said[next(iter(self._said))]
        self._said[message] = None
        self.warning(message)


class Problems:
    """What stands in the way at the moment, by topic. `tell` hears of each change; what it raises is dropped."""

    def __init__(self, tell: Callable[[str | None], None]) -> None:
        self._tell = tell
        self._texts: dict[str, str] = {}

    def set(self, topic: str, text: str | None) -> None:
        """State or withdraw (None) a problem."""
        before = self.text
        if text is None:
            self._texts.pop(topic, None)
        else:
            self._texts[topic] = text
        if self.text != before:
            with suppress(Exception):
                self._tell(self.text)

    @property
    def text(self) -> str | None:
        """All of them, with their remedies; None while all is well."""
        return "; ".join(self._texts.values()) or None
