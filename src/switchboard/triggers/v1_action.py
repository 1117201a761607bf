"""One versioned request from its checked shape to its result (driver). Publishing it is the caller's part.

Its deadline counts from here on, the wait for the session's turn included. What kind of request it is decides only
which deed is done once that turn has come; `DEEDS` has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from switchboard.common.facts import Typing
from switchboard.delivery.reasons import NOT_SENT
from switchboard.delivery.typable import untypable
from switchboard.triggers.intake import stale
from switchboard.triggers.progress import Step
from switchboard.triggers.results import Result
from switchboard.triggers.v1_open import NewAction, OpenAction
from switchboard.triggers.v1_schema import Mode, Request
from switchboard.triggers.v1_stop import StopAction
from switchboard.triggers.v1_work import Bench, Refused, Work


class Deed(Protocol):
    """What a kind of request does once its session's turn has come."""

    async def run(self) -> Result:
        """Do it, and return the result. Raises `Refused`, which is a result as well."""


DEEDS: Mapping[Mode, Callable[[Work], Deed]] = MappingProxyType(
    {
        Mode.RESUME: OpenAction,
        Mode.NEW: NewAction,
        Mode.STOP: StopAction,
    }
)


class VersionedAction:
    """A request that is being carried out. At any moment it can say truthfully what it has brought about.

    `modified_ns`: when its file was written. `tell` is told of its steps.
    """

    def __init__(
        self, request: Request, stem: str, modified_ns: int, bench: Bench, tell: Callable[[Step], None]
    ) -> None:
        self._work = Work(request, stem, bench, tell)
        self._modified_ns = modified_ns

    async def run(self) -> Result:
        """Wait for the session's turn, carry the request out, and return its result.

        The turn is kept until `release`, so that the result can be published within it.
        """
        work = self._work
        try:
            work.go_on()
            self._is_text()
            work.tell("waiting")
            if work.request.session_id is not None:
                await work.take_turn(work.request.session_id)
            self._still_fresh()
            return await DEEDS[work.request.mode](work).run()
        except Refused as refused:
            return work.refused(refused)

    def release(self) -> None:
        """The request is answered: let the session's next one go on."""
        self._work.held.close()

    def broken_off(self, reason: str) -> Result:
        """The result of a request that was ended from outside."""
        return self._work.broken_off(reason)

    def failed(self, message: str) -> Result:
        """The result of a request that met a fault of ours."""
        return self._work.fault(message)

    def _is_text(self) -> None:
        """The contract's shape allows what is no text to a terminal: Ctrl-C ends a turn, or the CLI.

        A backslash at the end makes a new line of the Enter in every agent CLI, and there are no other targets.
        """
        text = self._work.request.text
        trouble = None if text is None else untypable(text, Typing())
        if trouble is not None:
            raise Refused(trouble, error=NOT_SENT)

    def _still_fresh(self) -> None:
        """The request may have grown too old while it waited."""
        desk = self._work.desk
        refusal = stale(self._modified_ns, desk.clock, desk.settings)
        if refusal is not None:
            raise Refused(refusal.reason or NOT_SENT, error=refusal.error)
