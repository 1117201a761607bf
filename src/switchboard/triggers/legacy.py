"""One legacy request from its body to its result (driver). It returns the result; publishing is the caller's part."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import partial

from switchboard.common.strict_json import JsonValue
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk
from switchboard.delivery.port import Target, Terminals
from switchboard.delivery.record import Halt, StepRecord
from switchboard.delivery.submission import Submitted
from switchboard.delivery.typable import untypable
from switchboard.triggers.fifo import SessionFifo, Ticket
from switchboard.triggers.journal import Unanswered
from switchboard.triggers.legacy_chain import ChainDelivery
from switchboard.triggers.legacy_schema import (
    LegacyRequest,
    Refusal,
    echoed_session_id,
    session_id_of,
    validate,
)
from switchboard.triggers.legacy_single import SingleDelivery
from switchboard.triggers.progress import Step
from switchboard.triggers.results import Result, envelope, refused, written
from switchboard.triggers.target_guard import find_target
from switchboard.triggers.telling import TellingTarget


class LegacyAction:
    """A request that is being carried out. At any moment it can say truthfully what has gone out."""

    def __init__(
        self,
        body: JsonValue,
        terminals: Terminals,
        fifo: SessionFifo,
        desk: Desk,
        working: Callable[[Target], AbstractContextManager[None]] = lambda _target: nullcontext(),
        tell: Callable[[Step], None] = lambda _step: None,
    ) -> None:
        self._body = body
        self._terminals = terminals
        self._fifo = fifo
        self._desk = desk
        self._working = working
        self._tell = tell
        self._held = ExitStack()
        self._session_id: str | None = None
        self._steps_total = 0
        self._ticket: Ticket | None = None
        self._record = StepRecord()
        self._chain: ChainDelivery | None = None

    async def run(self) -> Result:
        """Wait for the session's turn, carry the request out, and return its result.

        The turn is kept until `release`, so that the result can be published within it.
        """
        session_id = session_id_of(self._body)
        if isinstance(session_id, Refusal):
            echo = echoed_session_id(self._body)
            # Of a request that cannot be taken apart, a session is echoed only where one could be read.
            readable = not session_id.internal or (isinstance(echo, str) and echo)
            return as_result(session_id, {"sessionId": echo} if readable else {})
        self._session_id = session_id
        self._tell("waiting")
        try:
            self._ticket = await self._fifo.acquire(session_id)
        except Halt as halt:
            return self.broken_off(halt.reason)
        request = validate(self._body, session_id)
        if isinstance(request, Refusal):
            return as_result(request, {"sessionId": session_id})
        self._steps_total = request.steps_total
        return await self._deliver(request)

    def release(self, *, answered: bool = True) -> None:
        """The request is over: let the session's next one go on.

        Not `answered`: what it has written is left on record, for the next process to answer.
        """
        if answered:
            self._held.close()
        else:
            with suppress(Unanswered):
                self._held.__exit__(Unanswered, Unanswered(), None)
        if self._ticket is not None:
            self._ticket.release()

    def broken_off(self, reason: str | None) -> Result:
        """The result of a request that was ended from outside."""
        record = self._last_record()
        wrote = record.wrote or (self._chain is not None and self._chain.wrote)
        return self._incomplete(reasons.INTERRUPTED if wrote else reasons.NOT_SENT, reason)

    def failed(self, message: str) -> Result:
        """The result of a request that met a fault of ours."""
        result = self._incomplete(reasons.internal_error(message), None)
        result["internal"] = True
        return result

    async def _deliver(self, request: LegacyRequest) -> Result:
        if self._desk.stop.requested:
            return self.broken_off(reasons.CLOSING)
        target = find_target(self._terminals, request)
        if isinstance(target, dict):
            return target
        self._held.enter_context(self._working(target))
        target = TellingTarget(target, partial(self._tell, "writing"))
        if request.chain:
            self._chain = ChainDelivery(request, self._terminals, target, self._desk)
        refusal = next((why for text in request.texts if (why := untypable(text, target.typing))), None)
        if refusal is not None:
            return self.broken_off(refusal)
        if self._chain is not None:
            return await self._chain.run()
        return await SingleDelivery(request, target, self._desk, self._record).run()

    def _last_record(self) -> StepRecord:
        return self._record if self._chain is None else self._chain.record

    def _incomplete(self, error: str, reason: str | None) -> Result:
        if self._chain is not None:
            return self._chain.cut_off(error, reason)
        result = envelope(False, self._record.submitted, self._steps_total, error, reason)
        if self._session_id is not None:
            result["sessionId"] = self._session_id
        result.update(written(self._record))
        return result


def as_result(refusal: Refusal, fields: Result) -> Result:
    """The result of a request that was refused for what it is; `fields` are echoed."""
    return refused(refusal.error, refusal.reason, refusal.steps_total, fields, internal=refusal.internal)


def interrupted(body: JsonValue, *, enter_written: bool) -> Result:
    """The result of a request that an earlier host had begun to write when it was killed."""
    session_id = session_id_of(body)
    request = session_id if isinstance(session_id, Refusal) else validate(body, session_id)
    fields: Result = {}
    if isinstance(request, LegacyRequest):
        fields["sessionId"] = request.session_id
        if request.chain:
            fields["partial"] = True
        else:
            fields |= {"command": request.command} if request.key is None else {"key": request.key}
            enter_written = enter_written and request.key is None
    rank = Submitted.ASSUMED if enter_written else Submitted.NO
    result = envelope(False, rank, request.steps_total, reasons.INTERRUPTED, reasons.RESTARTED)
    return result | fields | written(StepRecord(wrote=True, text_written=enter_written, enter_written=enter_written))
