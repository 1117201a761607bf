"""Which characters of a text are keys to a terminal, and no text (pure)."""

from __future__ import annotations

import re

_KEYS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


def acts_as_key(text: str) -> bool:
    """Whether a text holds a control character other than the tab: C0, DEL or C1.

    Typed, they interrupt, quit, stop or delete (Ctrl+C, Ctrl+D, Ctrl+Z, DEL), or begin a sequence. The tab is text: old
    requests have it, Claude Code drops it, and in a bracketed paste it stays what it is. A shell completes at it.
    """
    return _KEYS.search(text) is not None
