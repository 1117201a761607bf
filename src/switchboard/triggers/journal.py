"""What has to be known of requests beyond the process that carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from switchboard.delivery.port import Target


class Unanswered(Exception):
    """A request ends without its result: it could not be published before this process ends."""


class Journal(Protocol):
    """Remembers which requests have written to a session and have no result yet, also when this process is killed.

    Sessions outlive a host, and so do request files. Without this memory the next host would carry out once more what
    stands in a session's composer already, or was submitted. Requests go by their file names.
    """

    def working(self, target: Target, request: str) -> AbstractContextManager[None]:
        """While entered, what is written to the target is written for that request. It is left once that is answered.

        Remembered from the first byte on: what was not begun is the next start's. Left by `Unanswered`, it stays so.
        """

    def left(self) -> Mapping[str, bool]:
        """The requests that an earlier process left so, and for each whether an Enter had been written."""

    def settle(self, request: str) -> None:
        """One of those is answered, or its file is gone."""


class NoJournal:
    """For terminals that end with the process: nothing is left."""

    def working(self, target: Target, request: str) -> AbstractContextManager[None]:
        return nullcontext()

    def left(self) -> Mapping[str, bool]:
        return {}

    def settle(self, request: str) -> None:
        """Nothing is left."""
