"""Every `reason` with which the host answers a page's or a command's request, in one place (pure).

`done` carries `reason`, which names the kind of refusal and is compared by equality, and `detail`, which says what is
particular to one case. The texts are part of the protocol: a page decides by them what to offer a person, so a text
changes only together with the pages and with docs/user-guide.md, and tests hold all three equal.
"""

from __future__ import annotations

from types import MappingProxyType

UNKNOWN_CLI = "unknown CLI"
MISSING_ID = "missing session id"
LIVE_ELSEWHERE = "session live elsewhere"
"""The one refusal that a person may overrule: another process has the conversation open."""
CANNOT_RESUME = "session cannot be resumed"
"""This CLI continues no session by its id; a new one in its place would be somebody else's conversation."""
NO_TRANSCRIPT = "no readable transcript"
NOT_ABSOLUTE = "project must be an absolute path"
NO_DIRECTORY = "project directory does not exist"
OPEN_FAILED = "session open failed"
"""The program is not there, or did not start."""
NOT_FOUND = "session not found"
STOP_FAILED = "session stop failed"
"""The session was not even asked to end."""
STOP_NOT_CONFIRMED = "session stop not confirmed"
"""It was asked to end and still runs."""
NAME_NOT_STORED = "name not stored"
"""The session has its new name until it ends."""
NO_BROWSER_PAGE = "no browser page"
INTERNAL = "internal error"
"""A fault of ours."""


def other_protocol(ours: int, theirs: int) -> str:
    """Return why a page that speaks another protocol is not served, and what helps."""
    if theirs < ours:
        remedy = "you are older than the host: load the page anew, or use the host's version of Switchboard"
    else:
        remedy = "use the same version of Switchboard for both (restart the host after an upgrade)"
    return f"this host speaks page protocol {ours}, you speak {theirs}: {remedy}"


def catalogue() -> MappingProxyType[str, str]:
    """Return every text by its name here."""
    return MappingProxyType({name: text for name, text in globals().items() if name.isupper()})
