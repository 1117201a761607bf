"""Every `reason` of a versioned request, in one place.

Callers compare these by equality, so a text is part of the contract. `catalogue` has the contract's own; `of_delivery`
names those of `delivery.reasons` (what could not be typed, and why) that a versioned result carries unchanged. What is
dynamic (a message of the system or of the parser) stands in `error` or `detail`, not here.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from switchboard.delivery import lifecycle
from switchboard.delivery import reasons as delivery

# --- the shape of a request, in the order of the checks ---------------------------------------------------------------

NO_OBJECT = "trigger must be an object"
BAD_VERSION = "unsupported version"
BAD_ACTION = "unsupported action"
BAD_FILE_NAME = "trigger filename must be a lowercase UUID"
ONE_TARGET = "open requires exactly one of sessionId or new"
NO_SESSION_ID = delivery.NO_SESSION_ID
BAD_SESSION_ID = "sessionId must be a UUID"
NEW_SHAPE = "new must be an object"
PROJECT_PATH = "new.project must be an absolute path"
NAME_EMPTY = "new.name must be a non-empty string"
NAME_TOO_LONG = "new.name too long (max 256 characters)"
NAME_CONTROLS = "new.name contains control characters"
BAD_TIMEOUT = delivery.BAD_TIMEOUT
EXPECTED_CWD_SHAPE = delivery.EXPECTED_CWD_SHAPE


def unsupported_field(path: str) -> str:
    """A property that this kind of request does not have; `path` is dotted."""
    return f"unsupported field: {path}"


def text_empty(field: str) -> str:
    """The text to type is missing where it is required, is no text, or is blank. `field`: `prompt` or `before`."""
    return f"{field} must be a non-empty string"


def text_too_long(field: str) -> str:
    """The text to type has more than 4096 UTF-16 units."""
    return f"{field} too long (max 4 KB)"


def text_controls(field: str) -> str:
    """The text to type has a character that would submit it early or act as a key."""
    return f"{field} contains forbidden control characters (\\r \\n \\0 \\x1b)"


# --- the whole action -------------------------------------------------------------------------------------------------

TIMED_OUT = lifecycle.ACTION_TIMED_OUT
CLOSING = delivery.CLOSING
MARKER_NOT_SAVED = "action state could not be saved"
INTERRUPTED = delivery.RESTARTED
FAULT = "internal error"
"""A fault of ours; `error` has its message."""

# --- which session, which project -------------------------------------------------------------------------------------

NOT_FOUND = delivery.NOT_FOUND
"""Outcome `not-found`: nothing here, closed or open, has this id."""
NOT_OPEN = "session not open here"
"""Outcome `not-found`: the session is known, closed, and a stop opens nothing."""
REMOTE = "remote sessions are not supported"
LIVE_ELSEWHERE = "session live elsewhere"
BACKGROUND = "background session is not supported"
SCHEDULED = "scheduled session is not supported"
PLAIN_TERMINAL = "plain terminal sessions are not supported"
LIVENESS_UNAVAILABLE = "session liveness unavailable"
NO_TRANSCRIPT = "no readable transcript"
AMBIGUOUS_TRANSCRIPT = "ambiguous session transcript"
CWD_UNAVAILABLE = "session cwd unavailable"
UNKNOWN_PROJECT = "unknown project"
ARCHIVED = "project is archived"
NO_DIRECTORY = "project directory does not exist"
PROJECTS_UNAVAILABLE = "project lookup unavailable"
CWD_UNKNOWN = delivery.CWD_UNKNOWN
CWD_DIFFERS = delivery.CWD_DIFFERS
NOT_RUNNING = delivery.NOT_RUNNING
"""An open session's process, or its CLI, has ended."""
EXITED = delivery.EXITED
"""Its process ended while its text was to be delivered: also that of a session which never came up."""
TARGET_CHANGED = delivery.TARGET_CHANGED
WRITER_CHANGED = delivery.WRITER_CHANGED

# --- opening ----------------------------------------------------------------------------------------------------------

RATE_LIMITED = "new session rate limit exceeded"
NO_WINDOW = lifecycle.NO_WINDOW
NOT_READY = lifecycle.NOT_READY
PAGE_GONE = lifecycle.PAGE_GONE
PAGE_TIMED_OUT = lifecycle.PAGE_TIMED_OUT
OPEN_FAILED = lifecycle.OPEN_FAILED
NAME_NOT_SAVED = lifecycle.NAME_NOT_SAVED
READINESS_UNAVAILABLE = "session readiness unavailable"

# --- stopping ---------------------------------------------------------------------------------------------------------

BUSY = "session busy"
DIALOG = "session waiting on a dialog"
SHELL = "session running a shell command"
STATE_UNAVAILABLE = "session state unavailable"
UNSUBMITTED = "session has unsubmitted input"
COMPOSER_UNAVAILABLE = "session composer unavailable"
NOT_QUIET = "session input not quiet"
NOTE_NOT_FINISHED = "note step not finished"
STOP_FAILED = "session stop failed"
STOP_NOT_CONFIRMED = "session stop not confirmed"

# --- what a reason means for the result -------------------------------------------------------------------------------

NOT_FOUND_REASONS = frozenset({NOT_FOUND, NOT_OPEN})
"""They have the outcome `not-found`; every other reason is a refusal."""

ALWAYS_UNCERTAIN = frozenset({INTERRUPTED, STOP_NOT_CONFIRMED})
"""The action may have taken effect, whatever else is known."""

MAYBE_UNCERTAIN = ALWAYS_UNCERTAIN | frozenset(
    {TIMED_OUT, NOTE_NOT_FINISHED, PAGE_GONE, PAGE_TIMED_OUT, CLOSING, WRITER_CHANGED, TARGET_CHANGED, FAULT}
)
"""Ends from outside, at which something may be under way. With any other reason nothing is uncertain."""


def catalogue() -> MappingProxyType[str, str]:
    """Return every text by its name here, with `<parameter>` where a value goes. The trigger reference lists them."""
    texts: dict[str, str] = {}
    for name, thing in globals().items():
        if name.isupper() and isinstance(thing, str):
            texts[name] = thing
        elif name in _PARAMETRISED:
            function: Callable[..., str] = thing
            parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
            texts[name] = function(*(f"<{parameter}>" for parameter in parameters))
    return MappingProxyType(texts)


def of_delivery() -> MappingProxyType[str, str]:
    """Return delivery's own texts that a versioned result can end with, by their names there, as `catalogue` does."""
    texts = delivery.catalogue()
    return MappingProxyType({name: texts[name] for name in _OF_DELIVERY})


_OF_DELIVERY = (
    # Nothing was typed.
    *("stale", "KEYS_IN_TEXT", "BACKSLASH_AT_END", "EXITED_BEFORE_IDLE", "IDLE_TIMEOUT", "DEADLINE_PASSED"),
    *("DIALOG_OPEN", "STARTING", "STILL_BUSY", "IDLE_TOO_BRIEF", "NEVER_IDLE"),
    *("COMPOSER_UNSEEN", "composer_pending", "composer_recent"),
    # Something was.
    *("write_failed", "DIALOG_BEFORE_ENTER", "enter_withheld", "text_cut_short", "EXITED_BEFORE_COMPACTION"),
)
_PARAMETRISED = frozenset({"unsupported_field", "text_empty", "text_too_long", "text_controls"})
