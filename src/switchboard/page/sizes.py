"""Whose size each session has (pure).

The page in which somebody last typed or chose a session decides. When it goes, the session is nobody's, and every page
that shows it may have it: the first to say so gets it, so that the program sees one new size and not one after another.
A page that had it, and only lost its connection, has it back from a page that came first and was not used since: else
the order in which pages come back to a new host would decide.
Sessions are known by their handle, pages by their epoch.
"""

from __future__ import annotations

_FREE, _BEFORE, _USED = range(3)
"""How well a page's claim is founded: nobody had the size, it had it before, somebody is using it."""


class Sizes:
    """The pages whose sizes are in force."""

    def __init__(self) -> None:
        self._owners: dict[int, tuple[str, int]] = {}

    def owner(self, handle: int) -> str | None:
        """Return the page whose size a session has; None: no page's."""
        return self._owners.get(handle, (None, _FREE))[0]

    def claim(self, handle: int, epoch: str, *, free: bool = False, before: bool = False) -> bool:
        """A page wants its size in force; return whether it now is.

        `free`: only if no other page's is; `before`: it had it, so only if no other page is in use, nor had it as well.
        """
        claim = _USED if not free else _BEFORE if before else _FREE
        owner, held = self._owners.get(handle, (epoch, _FREE))
        if owner != epoch and claim <= held and claim != _USED:
            return False
        self._owners[handle] = epoch, max(claim, held) if owner == epoch else claim
        return True

    def page_gone(self, epoch: str) -> list[int]:
        """Return the sessions whose size is nobody's any more."""
        freed = [handle for handle, (owner, _) in self._owners.items() if owner == epoch]
        for handle in freed:
            del self._owners[handle]
        return freed

    def session_gone(self, handle: int) -> None:
        """A session has left the list."""
        self._owners.pop(handle, None)
