"""What becomes of one text, and why a delivery can end early: values that drivers fill and results are made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from switchboard.delivery.reactions import Mode
from switchboard.delivery.submission import Submitted


class Trouble(Enum):
    """Why a delivery ended before it was complete. Whether anything was written stands in the `StepRecord`."""

    EXITED = "exited"
    NOT_RUNNING = "not running"
    COMPOSER = "composer"
    NOT_READY = "not ready"
    DEADLINE = "deadline"
    REFUSED = "refused"
    """The terminal's own gate said no: another session stands there now."""
    FAILED = "failed"
    """The system refused a write; `reason` is its message."""
    LEFT_IN_COMPOSER = "left in composer"
    """The text, or a part of it, is written and its Enter is not."""
    CLOSING = "closing"


class Halt(Exception):
    """A delivery ends here. `reason`: the exact text for the result, if there is one. `dialog`: its name, if known."""

    def __init__(self, trouble: Trouble, reason: str | None = None, dialog: str | None = None) -> None:
        super().__init__(trouble.value)
        self.trouble = trouble
        self.reason = reason
        self.dialog = dialog


@dataclass(slots=True)
class StepRecord:
    """What has become of one text. Filled while it is delivered, and true at any moment, also after a failure.

    `wrote`: at least one byte went out, or may have. `enter_at`: wall time of the first Enter. `retries`: recovery
    Enters. `waited_ms`: time spent in waits. `activity`: the session did something after the Enter. `withheld`: why no
    recovery Enter was pressed.
    """

    mode: Mode | None = None
    submitted: Submitted = Submitted.NO
    wrote: bool = False
    text_written: bool = False
    enter_written: bool = False
    enter_at: int | None = None
    retries: int = 0
    waited_ms: int = 0
    ready_source: str | None = None
    confirm_source: str | None = None
    activity: bool = False
    withheld: str | None = None
