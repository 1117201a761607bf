"""Reporting what the watcher does: a log that may fail without harm, and that never says the same twice (driver)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


class LeftAlone:
    """The requests that stay where they are, by file name: the first is named to people, the others are counted.

    `is_there`: whether anything of a request is left. It is asked when there is an occasion: nothing tells when what it
    had in the folder of results is moved away.
    """

    def __init__(self, problems: Problems, is_there: Callable[[str], bool]) -> None:
        self._problems = problems
        self._is_there = is_there
        self._why: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._why))

    def __contains__(self, name: str) -> bool:
        return name in self._why

    def add(self, name: str, why: str) -> None:
        """That one is left alone; `why` says what is wrong with it, and what helps."""
        self._why[name] = why
        self.look()

    def look(self, name: str | None = None) -> None:
        """Forget that one, and the one that is named to people, if nothing of them is there any more."""
        if not self._why:
            return
        if name in self._why and not self._is_there(name):
            del self._why[name]
        while (first := next(iter(self._why), None)) is not None and not self._is_there(first):
            del self._why[first]
        if first is None:
            self._problems.set("left", None)
            return
        others = f" (and {len(self._why) - 1} more)" if len(self._why) > 1 else ""
        self._problems.set("left", f"trigger {first!r}{others} is left alone: {self._why[first]}")
