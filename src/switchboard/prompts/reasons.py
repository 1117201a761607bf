"""Every text that the prompt machines give a person or a caller, in one place.

Two kinds: why a request was refused, and why a prompt ended. Callers may compare them by equality. A refusal says what
to do next; in each, nothing has changed.
"""

from __future__ import annotations

from types import MappingProxyType

# --- refusals --------------------------------------------------------------------------------------------------------

EMPTY = "the prompt is empty; nothing was queued"
DUPLICATE = "a prompt with this id was admitted before; it was not queued again"
UNKNOWN = "there is no such prompt here any more"
STARTED = "the prompt has started already"
QUEUED = "the prompt is queued already"
WAITS_FOR_CONSENT = "the prompt was left over by a restart; send it again first, or discard it"
NO_TURN = "no turn is running that could take a message; the prompt stays in the queue"
STOPPING = "the turn is being stopped already"
NOTHING_RUNNING = "nothing is running"
CLOSED = "the session is closed"


def queue_full(limit: int) -> str:
    """As many prompts wait as may."""
    return f"the queue is full (max {limit} waiting prompts); cancel one, or wait until one starts"


def mid_turn_full(limit: int) -> str:
    """As many messages wait for the running turn as may."""
    return f"too many messages wait for the running turn (max {limit}); cancel one, or wait until the agent takes some"


# --- ends ------------------------------------------------------------------------------------------------------------

CANCELLED = "cancelled"
"""Somebody asked for it."""
WITHDRAWN = "not sent"
"""Taken back before it started."""
CANCELLED_BY_AGENT = "cancelled by the agent"
CANCEL_UNANSWERED = "cancelled; the agent did not answer and may still be working on it"
AGENT_ERROR = "the agent reported an error"
AGENT_ENDED = "the agent ended during the turn"
BACKGROUND_TURN_ENDED = "the background turn ended"
"""Said of messages that a background turn had fetched."""
SESSION_CLOSED = "the session was closed"
RESTARTED = "interrupted by restart"
"""It had started when an earlier host went; whether anything came of it is not known."""


def catalogue() -> MappingProxyType[str, str]:
    """Return every text by its name here, with `<limit>` where a number goes."""
    texts = {name: thing for name, thing in globals().items() if name.isupper() and isinstance(thing, str)}
    for function in (queue_full, mid_turn_full):
        texts[function.__name__] = function(0).replace("max 0", "max <limit>")
    return MappingProxyType(texts)
