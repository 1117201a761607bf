"""Whose size each session has (pure).

The page in which somebody last typed or chose a session decides. When it goes, the session is nobody's, and every page
that shows it may have it: the first to say so gets it, so that the program sees one new size and not one after another.
Sessions are known by their handle, pages by their epoch.
"""

from __future__ import annotations


class Sizes:
    """The pages whose sizes are in force."""

    def __init__(self) -> None:
        self._owners: dict[int, str] = {}

    def owner(self, handle: int) -> str | None:
        """Return the page whose size a session has; None: no page's."""
        return self._owners.get(handle)

    def claim(self, handle: int, epoch: str, *, free: bool = False) -> bool:
        """A page wants its size in force; `free`: only if no other page's is. Return whether it now is."""
        if free and self._owners.get(handle, epoch) != epoch:
            return False
        self._owners[handle] = epoch
        return True

    def page_gone(self, epoch: str) -> list[int]:
        """Return the sessions whose size is nobody's any more."""
        freed = [handle for handle, owner in self._owners.items() if owner == epoch]
        for handle in freed:
            del self._owners[handle]
        return freed

    def session_gone(self, handle: int) -> None:
        """A session has left the list."""
        self._owners.pop(handle, None)
