"""Which requests have written to the host's sessions, in the labels that outlive the host."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from switchboard.delivery.port import Target
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session


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
        return {one.request: one.delivery is None or one.entered for one in labels if one.request is not None}

    def settle(self, request: str) -> None:
        """Forget a request that was left."""
        for session in self._registry:
            if session.label.request == request:
                session.answered()
