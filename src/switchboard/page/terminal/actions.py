"""What versioned triggers have this page do: have a session's row, and say so (pure).

Nothing of it shows in another way than the row itself: nothing is selected, shown, asked or told, whether it goes well
or not. The activity of triggers tells what became of the request.
"""

from __future__ import annotations

from switchboard.page.messages import (
    Done,
    ListSessions,
    OpenSession,
    PageMessage,
    SessionAction,
    SessionActionResult,
    SessionInfo,
)
from switchboard.page.terminal.catalog import Catalog
from switchboard.page.terminal.errands import Errands

NOT_HERE = "session not in the list"


class SessionActions:
    """Those that are not answered. `errands` gives the numbers of requests."""

    def __init__(self, errands: Errands) -> None:
        self._errands = errands
        self._opening: dict[int, SessionAction] = {}
        self._missing: dict[int, SessionAction] = {}
        """Sessions to reattach that the list did not have, by the request for a new list."""

    def lost(self) -> None:
        """The host has gone, and with it what it asked for."""
        self._opening.clear()
        self._missing.clear()

    def asked(self, action: SessionAction, catalog: Catalog) -> list[PageMessage]:
        """Return what to say to an action."""
        number = self._errands.next()
        if action.mode != "reattach":
            self._opening[number] = action
            return [OpenSession(number, action.mode, session_id=action.tab_key, permit=action.permit)]
        found = _listed(action, catalog)
        if found is not None:
            return [_result(action, found)]
        self._missing[number] = action
        return [ListSessions(number)]

    def opened(self, done: Done) -> list[PageMessage] | None:
        """Return what to say once the host has answered a start; None when that is about something else."""
        action = self._opening.pop(done.request, None)
        if action is None:
            return None
        session = done.session if done.ok else None
        return [_result(action, session, done.reason or "nothing was opened", done.detail)]

    def changed(self, catalog: Catalog) -> list[PageMessage]:
        """Return what to say when the list has changed: sessions that were missing may be there."""
        said: list[PageMessage] = []
        for number, action in list(self._missing.items()):
            found = _listed(action, catalog)
            if found is not None:
                del self._missing[number]
                said.append(_result(action, found))
        return said

    def looked(self, number: int, catalog: Catalog) -> list[PageMessage] | None:
        """Return what to say to the list that was asked for; None when that was for something else."""
        if number not in self._missing:
            return None
        said = self.changed(catalog)
        action = self._missing.pop(number, None)
        return said if action is None else [*said, _result(action, None, NOT_HERE)]


def _listed(action: SessionAction, catalog: Catalog) -> SessionInfo | None:
    for session in catalog.sessions:
        if session.id == action.tab_key and session.generation == action.generation and session.state == "open":
            return session
    return None


def _result(
    action: SessionAction, session: SessionInfo | None, reason: str | None = None, error: str | None = None
) -> SessionActionResult:
    return SessionActionResult(
        action.permit,
        action.epoch,
        action.mode,
        session is not None,
        action.requested_id,
        action.tab_key,
        session.generation if session is not None else None,
        None if session is not None else reason,
        None if session is not None or error is None else error[:4096],
    )
