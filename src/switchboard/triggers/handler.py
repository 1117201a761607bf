"""One request from its file to its result (driver): taken in, carried out, answered, removed.

Nothing that happens here may stop the watcher: a fault of ours becomes a result that says so, and whatever ends a
request from outside still leaves a truthful one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from functools import partial

from switchboard.common.strict_json import JsonSyntaxError, JsonValue, decode_utf8, parse
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk
from switchboard.delivery.port import Terminals
from switchboard.triggers.admission import Admission
from switchboard.triggers.fifo import SessionFifo
from switchboard.triggers.intake import Intake, Skipped
from switchboard.triggers.journal import Journal, NoJournal
from switchboard.triggers.legacy import LegacyAction, as_result, interrupted
from switchboard.triggers.legacy_schema import Refusal
from switchboard.triggers.lifecycle_port import Lifecycle
from switchboard.triggers.outlet import Outlet
from switchboard.triggers.progress import Observer, Teller
from switchboard.triggers.publisher import Publisher
from switchboard.triggers.results import Result, refused
from switchboard.triggers.say import Reporter
from switchboard.triggers.spool import Identity, Spool
from switchboard.triggers.v1_handler import VersionedHandler
from switchboard.triggers.v1_schema import Family, family


class RequestHandler:
    """Carries out requests, each session's one after another.

    `house`: what versioned requests need; without it they are refused. Its sessions are the `terminals`.
    """

    def __init__(
        self,
        terminals: Terminals,
        spool: Spool,
        admission: Admission,
        desk: Desk,
        say: Reporter,
        outlet: Outlet,
        observe: Observer | None = None,
        journal: Journal | None = None,
        house: Lifecycle | None = None,
    ) -> None:
        self._terminals = terminals
        self._spool = spool
        self._admission = admission
        self._desk = desk
        self._say = say
        self._publisher = Publisher(spool, desk, outlet)
        self._fifo = SessionFifo(terminals.lock_key)
        self._teller = Teller(observe)
        self._versioned = VersionedHandler(house, spool, admission, desk, self._fifo, self._teller, say, outlet)
        self.renewed: set[str] = set()
        """Names under which another request has come since the last one was answered; the watcher takes them up."""
        self._journal = journal or NoJournal()
        self._left = dict(self._journal.left())

    def close(self) -> None:
        """Requests that wait for their session's turn are answered now."""
        self._fifo.close()

    def interrupted_names(self) -> set[str]:
        """The names whose actions an earlier host had begun, whether or not their files are still there."""
        return self._versioned.interrupted_names()

    def settle_all_but(self, names: Container[str]) -> None:
        """Of what an earlier process left behind, only these are still there: a new file of a name is a new request."""
        for name in [name for name in self._left if name not in names]:
            del self._left[name]
            self._journal.settle(name)

    async def handle(self, name: str, intake: Intake) -> None:
        """See one request through."""
        if not await self._versioned.is_open(name):
            return
        if name in self._left:
            await self._answer(name, interrupted(self._body(name), enter_written=self._left.pop(name)))
            if name not in self._left:
                self._journal.settle(name)
            return
        try:
            taken = await intake.take()
        except Skipped as skipped:
            if skipped.notice is not None:
                self._say.once(f"{name!r} is left alone: {skipped.notice}")
            return
        except Exception as error:  # noqa: BLE001 - whatever is wrong with us, the caller gets a result
            await self._answer(name, refused(reasons.internal_error(_told(error)), internal=True))
            return
        if isinstance(taken, Refusal):
            await self._answer(name, as_result(taken, {}))
            return
        self._teller.received(_stem(name), taken.value)
        if family(taken.value) is not Family.LEGACY:
            await self._versioned.handle(name, taken)
            return
        working = partial(self._journal.working, request=name)
        tell = partial(self._teller.step, _stem(name))
        action = LegacyAction(taken.value, self._terminals, self._fifo, self._desk, working, tell)
        try:
            await self._answer(name, await self._carry_out(name, action))
        finally:
            action.release(answered=name not in self._left)

    def _body(self, name: str) -> JsonValue:
        """What a request that was begun before says; None where that cannot be read any more."""
        try:
            _, data = self._spool.read(name, lambda look: None if look.regular else b"")
            return parse(decode_utf8(data))
        except (OSError, JsonSyntaxError):
            return None

    async def _carry_out(self, name: str, action: LegacyAction) -> Result:
        try:
            return await action.run()
        except asyncio.CancelledError:
            self._answer_at_once(name, action.broken_off(reasons.CLOSING))
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with us, the caller gets a result
            return action.failed(_told(error))

    async def _answer(self, name: str, result: Result) -> None:
        """Publish the result, then remove the request: then also without a result, for it must not be done twice."""
        answered = self._spool.identity(name)
        try:
            failure = await self._publisher.publish(_stem(name), result)
        except asyncio.CancelledError:
            self._answer_at_once(name, result)
            raise
        self._end(name, answered, result, failure)

    def _answer_at_once(self, name: str, result: Result) -> None:
        answered = self._spool.identity(name)
        failure = self._publisher.publish_at_once(_stem(name), result)
        self._end(name, answered, result, failure)

    def _end(self, name: str, answered: Identity | None, result: Result, failure: OSError | None) -> None:
        """Remove the request, or leave it where this process can answer nobody any more and a later one can."""
        forgotten = isinstance(self._journal, NoJournal) and result["wrote"] is not False
        if failure is not None and not forgotten and self._publisher.gives_up():
            self._left[name] = result.get("enter_written") is True
            self._say.error(f"{name!r}: its result could not be published ({failure}); the next start answers it")
            return
        self._remove(name, answered)
        self._publisher.request_removed(_stem(name), result, failure)
        self._report(name, result, failure)

    def _report(self, name: str, result: Result, failure: OSError | None) -> None:
        if result["ok"]:
            self._say.info(f"{name!r}: delivered, submitted: {result['submitted']}")
        else:
            self._say.warning(f"{name!r}: {result['error']}")
        self._teller.done(_stem(name), result)
        if failure is not None:
            self._say.error(
                f"{name!r}: its result could not be published ({failure}); it is kept, and the request not done again"
            )

    def _remove(self, name: str, answered: Identity | None) -> None:
        """Remove the answered file, at once: who has seen the result may use the name for a new request."""
        try:
            if not self._spool.remove(name, answered):
                self.renewed.add(name)
        except OSError as error:
            self._admission.retain(name)
            self._say.error(f"{name!r} cannot be removed ({error}); it is not carried out again while this host runs")


def _stem(name: str) -> str:
    return name[: -len(".json")]


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
