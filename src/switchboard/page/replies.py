"""What a terminal answers to queries (pure): only the page that owns a session's size may answer."""

from __future__ import annotations

import re

_REPLY = re.compile(
    rb"""
      \x1b\[ \? [0-9;]* \$ y                              # mode reports
    | \x1b\[ [?>=]? [0-9;:]+ [cnRu]                       # device attributes, status, cursor position, keyboard flags
    | \x1b\[ [0-9;]+ t                                    # window reports
    | \x1b\[ [IO]                                         # focus reports
    | \x1bP [^\x1b\x07]* \x1b\\                           # DECRQSS, XTGETTCAP, XTVERSION
    | \x1b\] [0-9]+ ; [^\x1b\x07]* (?: \x07 | \x1b\\ )    # colours, clipboard
    | \x1b_ [^\x1b\x07]* \x1b\\                           # APC (graphics)
    """,
    re.VERBOSE,
)

# `CSI 13;2 u` is a person's modified Enter: a reply to the keyboard query has a question mark. `CSI 1;2 R` is a
# modified F3, or a cursor in the first row; a key that is lost in a page which does not decide the size costs less than
# a false answer typed into the session.
_KEY = re.compile(rb"\x1b\[ [0-9;:]* u", re.VERBOSE)


def strip_replies(data: bytes) -> bytes:
    """Return the keystrokes in `data` without the replies of a terminal to queries."""
    if b"\x1b" not in data:
        return data
    return _REPLY.sub(lambda match: match[0] if _KEY.fullmatch(match[0]) else b"", data)
