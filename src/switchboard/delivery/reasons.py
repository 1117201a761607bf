"""Every text that a trigger's result can carry in `error` or `reason`, in one place.

Callers compare these by equality, so a text is part of the contract: it changes only together with the trigger
reference, and a test holds the two lists equal. `error` names the kind of failure; what is particular to one case
stands in `reason`. Both say what is true of the terminal at that moment, above all whether anything was written.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from switchboard.common.writing import NOT_READING as NOT_READING  # the gate says it, and it ends up in a reason

# --- errors: compared by equality ------------------------------------------------------------------------------------

NOT_SENT = "not sent"
"""Not one byte was written."""
CHAIN_TIMEOUT = "chain timeout"
"""A chain ran out of time after at least one of its steps was written."""
NOT_CONFIRMED = "step not confirmed"
"""Something was written; that it was submitted, or had its effect, could not be proven."""
INTERRUPTED = "interrupted"
"""Something was written, then the delivery was ended for a reason that is not its own."""
EXITED = "session exited during wait"
NOT_RUNNING = "target process not running"
NOT_FOUND = "session not found"
BACKGROUND = "background session, not attached here"

NOT_REGULAR = "trigger must be a regular file"
TOO_LARGE = "trigger too large (max 64 KB)"
NO_SESSION_ID = "missing required field: sessionId"
COMMAND_AND_CHAIN = "command and chain are mutually exclusive"
COMMAND_CHAIN_KEY = "command, chain and key are mutually exclusive"
NO_PAYLOAD = "missing required field: command or chain"
NO_COMMAND = "missing required field: command"
COMMAND_TOO_LONG = "command too long (max 4 KB)"
COMMAND_CONTROLS = "command contains forbidden control characters (\\r \\n \\0 \\x1b)"
UNSUPPORTED_KEY = "unsupported key"
CHAIN_EMPTY = "chain must be a non-empty array"
CHAIN_TOO_LONG = "chain too long (max 20 steps)"
BAD_TIMEOUT = "invalid timeout_ms"


def not_inspected(message: str) -> str:
    """`error`: the system would not say what the request file is."""
    return f"trigger could not be inspected: {message}"


def invalid_json(message: str) -> str:
    """`error`: the request file could not be read, or is not JSON."""
    return f"invalid JSON: {message}"


def internal_error(message: str) -> str:
    """`error`: the request could not be taken apart, or there is a fault of ours."""
    return f"internal error: {message}"


def write_failed(message: str) -> str:
    """`error`: the system refused a write to the terminal; whether a part of it went out is not known."""
    return f"pty write failed: {message}"


def step_no_command(index: str) -> str:
    """`error`: a chain step has no command text."""
    return f"step[{index}]: missing required command string"


def step_too_long(index: str) -> str:
    """`error`: a chain step's command is over the limit."""
    return f"step[{index}]: command too long (max 4 KB)"


def step_controls(index: str) -> str:
    """`error`: a chain step's command holds a control character that would submit or escape."""
    return f"step[{index}]: {COMMAND_CONTROLS}"


def step_bad_timeout(index: str) -> str:
    """`error`: a chain step's own time limit is out of range."""
    return f"step[{index}]: invalid step timeout_ms"


# --- reasons: why nothing was written ---------------------------------------------------------------------------------

EXPECTED_CWD_SHAPE = "expectedCwd must be a non-empty string when present"
CWD_UNKNOWN = "this session's cwd could not be determined; refusing rather than risk targeting the wrong session"
CWD_DIFFERS = "expectedCwd does not match this session's actual cwd"
CLOSING = "Switchboard is closing."
RESTARTED = "interrupted by restart"
"""An earlier host was killed after it had written something; whether more came of it is not known."""
TARGET_CHANGED = "session target changed"
WRITER_CHANGED = "session writer changed"

KEYS_IN_TEXT = "the text contains control characters, which a terminal takes as keys; nothing was written"
BACKSLASH_AT_END = (
    "the text ends in a backslash, which makes Enter a line break instead of submitting it; nothing was written"
)
EXITED_BEFORE_IDLE = "the session exited while waiting for it to go idle; nothing was written"
IDLE_TIMEOUT = "timeout waiting for idle; nothing was written"
CHAIN_IDLE_TIMEOUT = "timed out waiting for the session to go idle; nothing was written"
DEADLINE_PASSED = "the step deadline passed before it could be written; nothing was written"
DIALOG_OPEN = "the CLI reports a dialog open (waiting); nothing was written into it"
STARTING = (
    "the CLI has not reported its state since it was started (it may be showing a trust, login or theme dialog); "
    "nothing was written"
)
OUTLIVED = "the CLI of this session has ended, and what it was started through still has the terminal"
"""It is a shell, as a rule, and would carry out what is meant for the CLI."""
STILL_BUSY = "the CLI still reported a turn running (busy) at the deadline; nothing was written"
IDLE_TOO_BRIEF = (
    "the CLI was idle only briefly before the deadline; it never held long enough to settle; nothing was written"
)
NEVER_IDLE = "the CLI never reported idle before the deadline; nothing was written"
COMPOSER_UNSEEN = "the composer of this session cannot be observed, and doubt resolves to busy"


def stale(age_ms: str, limit_ms: str) -> str:
    """The request file is too old: what it asks for may no longer mean the session its writer saw."""
    return (
        f"trigger is {age_ms}ms old, older than the {limit_ms}ms staleness limit; refused rather than act on a request "
        "that may no longer target the intended session state"
    )


def unknown_wait(quoted: str) -> str:
    """`wait` has a value that means nothing; `quoted` is that value as text, in JSON quotes."""
    return (
        f'wait {quoted} is not a value this transport knows: only "idle" and "none", and an absent field means "none"'
    )


def composer_pending(count: str) -> str:
    """Somebody's unsubmitted text is in the composer. `count` is in code points, whatever the wording says."""
    return f"{count} byte(s) of input are sitting unsubmitted in the composer"


def composer_recent(ago_ms: str, quiet_ms: str) -> str:
    """The composer is empty, but somebody typed a moment ago."""
    return f"the last keystroke landed {ago_ms} ms ago, inside the {quiet_ms} ms quiet window"


# --- reasons: something was written -----------------------------------------------------------------------------------

BARE_ENTER_UNSAFE = "the CLI reports a dialog open or a turn running, a bare Enter could answer it"
NOT_COMPACTED = "compaction was not observed in the session transcript before the step deadline; nothing more was typed"
EXITED_BEFORE_COMPACTION = "the session exited before compaction was observed; the command was written"
DIALOG_DURING_TURN = "the CLI reports a dialog open (waiting) while the turn was awaited; the step had been written"
DIALOG_BEFORE_ENTER = (
    "a dialog opened (waiting) after the text was written and before its Enter; the Enter was withheld and the text "
    "is left in the composer"
)
TOO_LATE = "the time for it had passed"
TYPED_SINCE = "somebody typed after the dialog had closed"


def enter_withheld(why: str) -> str:
    """The text is in the composer, its Enter was not pressed for a reason other than a dialog."""
    return f"the text was written but its Enter was withheld ({why}); the text is left in the composer"


def text_cut_short(why: str) -> str:
    """A part of the text is in the composer, the rest was not written."""
    return f"only a part of the text was written ({why}); that part is left in the composer and nothing more was typed"


def step_recovery_withheld(index: str, why: str) -> str:
    """A chain step was typed, showed no sign of being submitted, and a second Enter would not have been safe."""
    return (
        f"chain step {index} was typed but its submission was not confirmed and the recovery Enter was withheld "
        f"({why}); nothing more was typed"
    )


def step_no_own_entry(index: str, seconds: str) -> str:
    """A chain step went into a busy CLI and did not even appear in the transcript."""
    return (
        f"chain step {index}: the step was written while the CLI reported busy; the CLI did not react and the "
        f"transcript did not show the step within {seconds} s of its Enter; nothing more was typed"
    )


def step_pending_timeout(index: str) -> str:
    """A chain step went into a busy CLI and nothing confirmed it in time."""
    return (
        f"chain step {index}: the step was written while the CLI reported busy; neither the CLI nor the transcript "
        "(the step's own entry, then a closed turn) confirmed it before the step deadline; nothing more was typed"
    )


def of_step(index: str, reason: str) -> str:
    """A reason that concerns one step of a chain."""
    return f"chain step {index}: {reason}"


# --- remote sessions --------------------------------------------------------------------------------------------------

REMOTE_CHAIN = "a chain cannot be sent to a remote session through the messaging socket; nothing was written"


REMOTE = "remote sessions are not supported; nothing was written"


def remote_ambiguous(hosts: str) -> str:
    """More than one machine lists the session."""
    return f"the session id is listed by more than one host ({hosts}); nothing was written"


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


_PARAMETRISED = frozenset(
    {
        *("not_inspected", "invalid_json", "internal_error", "write_failed"),
        *("step_no_command", "step_too_long", "step_controls", "step_bad_timeout"),
        *("stale", "unknown_wait", "composer_pending", "composer_recent"),
        *("enter_withheld", "text_cut_short", "step_recovery_withheld", "step_no_own_entry", "step_pending_timeout"),
        *("of_step", "remote_ambiguous"),
    }
)
