"""Which texts a terminal would not take as text (pure)."""

from __future__ import annotations

import re

from switchboard.common.facts import Typing
from switchboard.delivery import reasons

_KEYS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_BACKSLASHES = re.compile(r"(\\+)\t*\Z")  # Claude Code drops tabs, so what stands before them meets the Enter


def untypable(text: str, typing: Typing) -> str | None:
    """Return why this text cannot be typed and entered in such a CLI, None when it can. Asked before the first byte."""
    if acts_as_key(text):
        return reasons.KEYS_IN_TEXT
    return reasons.BACKSLASH_AT_END if breaks_line(text, pairs=typing.backslashes_pair) else None


def acts_as_key(text: str) -> bool:
    """Whether a text holds a control character other than the tab: C0, DEL or C1.

    Typed, they interrupt, quit, stop or delete (Ctrl+C, Ctrl+D, Ctrl+Z, DEL), or begin a sequence. The tab is text: old
    requests have it, Claude Code drops it, and in a bracketed paste it stays what it is. A shell completes at it.
    """
    return _KEYS.search(text) is not None


def breaks_line(text: str, *, pairs: bool) -> bool:
    """Whether Enter behind this text makes a line break of the backslash at its end, and submits nothing.

    Claude Code looks at the last character alone, whatever stands before it (measured with one to three backslashes).
    `pairs`: two of them are a quoted one and leave Enter as it is, as in a shell.
    """
    found = _BACKSLASHES.search(text)
    return found is not None and (not pairs or len(found[1]) % 2 == 1)
