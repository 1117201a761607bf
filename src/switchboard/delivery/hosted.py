"""The host's sessions as the terminals that delivery writes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from switchboard.delivery.port import Target
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session


class HostedTerminals:
    """`switchboard.delivery.port.Terminals` over the registry.

    `background_job` tells whether a live background process owns a session that is not open here.
    """

    def __init__(self, registry: Registry, background_job: Callable[[str], str | None]) -> None:
        self._registry = registry
        self._background_job = background_job

    def find(self, session_id: str) -> Session | None:
        """Return the open session of that id, or of one that had that id before."""
        return self._registry.find(session_id)

    def lock_key(self, session_id: str) -> str:
        """Return the key of the session's queue: its terminal's number, or the id where nothing is open."""
        session = self._registry.find(session_id)
        return session_id.lower() if session is None else f"#{session.handle}"

    def background_job(self, session_id: str) -> str | None:
        """Return the job id when a background process owns the session."""
        return self._background_job(session_id)


class HostedJournal:
    """`switchboard.triggers.journal.Journal` in the labels of the sessions, which the keeper holds."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def working(self, target: Target, request: str) -> AbstractContextManager[None]:
        """While entered, the session's label names the request from the first byte on."""
        assert isinstance(target, Session)
        return target.working_for(request)

    def left(self) -> Mapping[str, bool]:
        """Return the requests in the labels of adopted sessions; True: no text of theirs lacks its Enter."""
        labels = [session.label for session in self._registry]
        return {label.request: label.delivery is None for label in labels if label.request is not None}

    def settle(self, request: str) -> None:
        """Forget a request that was left."""
        for session in self._registry:
            if session.label.request == request:
                session.answered()
