"""Permission to write to a terminal: shared by the gate that asks for it and the delivery that gives it."""

from __future__ import annotations

from collections.abc import Callable

from switchboard.common.facts import Facts

EXITED = "session exited during wait"
NOT_READING = "the CLI does not read its input; what was typed is left there and Enter was not pressed"

Check = Callable[[Facts], str | None]
"""Evaluated immediately before a real write: None permits it, a text is the reason of the refusal."""


class WriteRefused(Exception):
    """A write was not made because its check, or the gate's own (target replaced, gone), said no.

    `reason` is the exact text for the result. `partial`: a part of this write had already reached the terminal.
    """

    def __init__(self, reason: str, partial: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.partial = partial
