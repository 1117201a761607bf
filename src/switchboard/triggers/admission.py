"""Which request files are worked on, and when: at most eight at a time, none twice (the legacy trigger contract).

Names come from folder events and from listings, so the same name can be offered any number of times. A name under way
or waiting is not taken again; a name that could not be removed after it was handled is *retained*: it is never taken
again by this process, because acting twice is worse than leaving a file behind.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

MAX_IN_FLIGHT = 8
REQUEST_SUFFIX = ".json"


class Offer(Enum):
    """What becomes of an offered name."""

    BEGIN = "begin"
    WAIT = "wait"
    SKIP = "skip"


class Admission:
    """The names under way, waiting and retained."""

    def __init__(self, limit: int = MAX_IN_FLIGHT) -> None:
        self._limit = limit
        self._in_flight: set[str] = set()
        self._queue: deque[str] = deque()
        self._queued: set[str] = set()
        self._retained: set[str] = set()
        self._open = True

    def offer(self, name: str) -> Offer:
        """Take a name, unless it is taken already or must never be again."""
        if not self._open or name in self._in_flight or name in self._queued or name in self._retained:
            return Offer.SKIP
        if len(self._in_flight) < self._limit:
            self._in_flight.add(name)
            return Offer.BEGIN
        self._queue.append(name)
        self._queued.add(name)
        return Offer.WAIT

    def finished(self, name: str) -> str | None:
        """A name is done. Returns the name to begin with in its place, if one waits."""
        self._in_flight.discard(name)
        while self._queue:
            following = self._queue.popleft()
            self._queued.discard(following)
            if following not in self._retained:
                self._in_flight.add(following)
                return following
        return None

    def retain(self, name: str) -> None:
        """Never take this name again."""
        self._retained.add(name)

    def close(self) -> None:
        """Take nothing more; what waited stays where it is, for the next start."""
        self._open = False
        self._queue.clear()
        self._queued.clear()


def is_request_name(name: str) -> bool:
    """Whether a directory entry can be a request: `.json` at its end, and no path."""
    return name.endswith(REQUEST_SUFFIX) and "/" not in name
