"""How long a request that does not parse is read again (pure).

Theory of operation. A request should be renamed into the folder when it is complete, but some writers make it in
place. A body that does not parse is read again after 50 ms, whatever it is. After that only a file that somebody is
still writing is worth waiting for, 5 s from the first look at the most: one whose writer has it open, or one that
changed within the last second (a shell that appends line by line opens and closes it each time). A file that arrived
by a rename or as a link was complete then, and is given up after the 50 ms.

Whether a writer has the file open is known from folder events: it was written to and not closed since. A link is told
from a file made in place by its further link or, when that is gone already, by having content nobody was seen writing.
"""

from __future__ import annotations

from dataclasses import dataclass

RETRY_MS = 50
STILL_WARM_MS = 1_000
PATIENCE_MS = 5_000


@dataclass(slots=True)
class Arrival:
    """What the folder events have told of one file. `tells_all`: the watcher reports each write and close."""

    tells_all: bool = False
    created: bool = False
    moved: bool = False
    written: bool = False
    open: bool = False

    def note(self, how: str) -> None:
        """Take the `how` of an event of this name."""
        if how == "moved":
            self.moved, self.open = True, False
        elif how == "created":
            self.created, self.moved, self.open = True, False, False
        elif how == "written":
            self.written = self.open = True
        elif how == "closed":
            self.open = False


@dataclass(slots=True)
class Patience:
    """Follows one file from its first look that did not parse."""

    first_look: int
    linked: bool
    """The first look saw more than one link."""

    def next_look(self, now: int, modified_at: int, size: int, arrival: Arrival) -> int | None:
        """When to read again at the latest (earlier if the file is seen to change); None: it is given up."""
        retry_at = self.first_look + RETRY_MS
        if now < retry_at:
            return retry_at
        give_up_at = self.first_look + PATIENCE_MS
        if now >= give_up_at or self._arrived_complete(size, arrival):
            return None
        if arrival.open or (arrival.tells_all and arrival.created and not size):
            return give_up_at
        cold_at = modified_at + STILL_WARM_MS
        return min(cold_at, give_up_at) if now < cold_at else None

    def _arrived_complete(self, size: int, arrival: Arrival) -> bool:
        if arrival.moved or self.linked:
            return True
        return arrival.tells_all and arrival.created and size > 0 and not arrival.written
