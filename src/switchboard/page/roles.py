"""Which page holds the renderer role (pure).

The first page that reports ready holds it; when it goes, the page that has been ready longest takes over. Pages are
known by their epoch, which is new for every connection.
"""

from __future__ import annotations


class Roles:
    """The ready pages, in the order in which they became ready."""

    def __init__(self) -> None:
        self._ready: list[str] = []

    @property
    def renderer(self) -> str | None:
        """The epoch of the page that holds the role."""
        return self._ready[0] if self._ready else None

    def ready(self, epoch: str) -> None:
        """A page has reported ready; once is enough."""
        if epoch not in self._ready:
            self._ready.append(epoch)

    def gone(self, epoch: str) -> None:
        """A page has left, or is counted as gone because it does not answer."""
        if epoch in self._ready:
            self._ready.remove(epoch)
