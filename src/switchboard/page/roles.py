"""Which page holds the renderer role (pure).

The first page that reports ready holds it; when it goes, or is found not to answer while another one does, the page
that has been ready longest takes over. Pages are known by their epoch, which is new for every connection.
"""

from __future__ import annotations

from collections.abc import Collection


class Roles:
    """The ready pages, in the order in which they became ready."""

    def __init__(self) -> None:
        self._ready: list[str] = []

    @property
    def renderer(self) -> str | None:
        """The epoch of the page that holds the role."""
        return self._ready[0] if self._ready else None

    @property
    def in_order(self) -> tuple[str, ...]:
        """The epochs of the ready pages, as they take over from each other."""
        return tuple(self._ready)

    def answered(self, epochs: Collection[str]) -> None:
        """Of the ready pages these have just answered: they come before those that have not."""
        self._ready.sort(key=lambda epoch: epoch not in epochs)

    def ready(self, epoch: str) -> None:
        """A page has reported ready; once is enough."""
        if epoch not in self._ready:
            self._ready.append(epoch)

    def gone(self, epoch: str) -> None:
        """A page has left, or is counted as gone because it does not answer."""
        if epoch in self._ready:
            self._ready.remove(epoch)
