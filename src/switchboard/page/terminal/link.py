"""The connection as a person sees it, and the words for its end (pure)."""

from __future__ import annotations

from dataclasses import dataclass

GONE = "the host has gone; its sessions go on, and this page waits for it to come back"
GONE_BRIEFLY = "the host has gone; waiting for it to come back"
IN_DOUBT = " (what you asked last was not answered: check whether it was done)"


@dataclass(frozen=True, slots=True)
class Link:
    """One connection. `listed`: the host has sent its list on it. `refused`: why the host does not serve it now."""

    connected: bool = False
    listed: bool = False
    renderer: bool = False
    version: str = ""
    refused: str = ""

    def lost(self) -> tuple[str, str]:
        """Return what to say of its end: in the list, and over a session."""
        if self.refused:
            text = f"the host does not take this page now: {self.refused}; trying again"
            return text, text
        return GONE, GONE_BRIEFLY
