"""What this page has asked the host and not heard of yet, and the words for how it ended (pure)."""

from __future__ import annotations

from switchboard.page.messages import Done, ListSessions, OpenSession, Rename, SessionInfo, StopSession
from switchboard.page.terminal.catalog import label_of
from switchboard.page.terminal.text import last_segments, plain

Errand = OpenSession | StopSession | Rename | ListSessions


class Errands:
    """Requests on their way, by number. A number is never used twice."""

    def __init__(self) -> None:
        self._waiting: dict[int, Errand] = {}
        self._numbers = 0

    def next(self) -> int:
        """Return the number of the next request."""
        self._numbers += 1
        return self._numbers

    def sent(self, errand: Errand) -> None:
        """A request goes to the host."""
        self._waiting[errand.request] = errand

    def answered(self, number: int) -> Errand | None:
        """Return what an answer is about; None when it is not this page's, or is answered already."""
        return self._waiting.pop(number, None)

    def lost(self) -> bool:
        """The host has gone: forget everything. Return whether something may or may not have been done."""
        unsure = any(not isinstance(errand, ListSessions) for errand in self._waiting.values())
        self._waiting.clear()
        return unsure


def on_the_way(errand: Errand) -> str:
    """Return what to show while the host works on it."""
    match errand:
        case OpenSession(mode="resume"):
            return "resuming …"
        case OpenSession(cwd=cwd):
            return f"opening in {plain(last_segments(cwd or ''))} …"
        case StopSession():
            return "stopping …"
        case _:
            return ""


def why(done: Done) -> str:
    """Return the host's reason for not doing something."""
    detail = f" ({plain(done.detail)})" if done.detail else ""
    return plain(done.reason or "the host gave no reason") + detail


def ending(session: SessionInfo) -> str:
    """Return how a session's process ended."""
    name, ended = label_of(session), session.exit
    if ended is not None and ended.signal is not None:
        return f"{name} was ended by signal {ended.signal}"
    if ended is not None and ended.code is not None:
        return f"{name} has ended with exit code {ended.code}"
    return f"{name} has ended"
