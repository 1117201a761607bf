"""Versioned requests from the folder to their results (driver).

A versioned name is looked up before anything else is done with it, and answered under the rules of its files: a result
that is there is never replaced, and a request and its marker go away only after the result.
"""

from __future__ import annotations

import asyncio
from functools import partial

from switchboard.delivery.desk import Desk
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.action_files import ActionFiles, Fate
from switchboard.triggers.admission import REQUEST_SUFFIX, Admission
from switchboard.triggers.fifo import SessionFifo
from switchboard.triggers.intake import Body
from switchboard.triggers.lifecycle_port import Lifecycle
from switchboard.triggers.limiter import Limiter
from switchboard.triggers.outlet import Outlet
from switchboard.triggers.progress import Teller
from switchboard.triggers.results import Result
from switchboard.triggers.say import Reporter
from switchboard.triggers.spool import Spool
from switchboard.triggers.v1_action import VersionedAction
from switchboard.triggers.v1_results import failed, shape_refused
from switchboard.triggers.v1_schema import ShapeRefusal, subject_of, validate
from switchboard.triggers.v1_work import Bench


class VersionedHandler:
    """Answers versioned requests. Without a `house` nothing can be opened or stopped, and they are told so."""

    def __init__(
        self,
        house: Lifecycle | None,
        spool: Spool,
        admission: Admission,
        desk: Desk,
        fifo: SessionFifo,
        teller: Teller,
        say: Reporter,
        outlet: Outlet,
    ) -> None:
        self._files = ActionFiles(spool, desk.clock, say, outlet.opened_again, outlet.leave, teller.done)
        self._interrupted: set[str] | None = None
        self._admission = admission
        self._teller = teller
        self._say = say
        limiter = Limiter(desk.clock.now())
        self._bench = None if house is None else Bench(house, desk, fifo, spool, say, limiter)

    def interrupted_names(self) -> set[str]:
        """The file names of the actions that an earlier host had begun, and nobody has looked at since.

        Some have no file any more. The first call is the one that looks, before this host has begun any of its own.
        """
        if self._interrupted is None:
            self._interrupted = {f"{stem}{REQUEST_SUFFIX}" for stem in self._files.interrupted_names()}
        return self._interrupted

    async def is_open(self, name: str) -> bool:
        """Whether a request is to be worked on. One that was done or begun before is answered, and is not."""
        if self._interrupted is not None:
            self._interrupted.discard(name)
        fate = await self._files.look_up(_stem(name))
        self._settled(name, fate)
        return fate is Fate.WORK

    async def handle(self, name: str, body: Body) -> None:
        """See a request through whose body is no legacy one."""
        stem = _stem(name)
        fate = await self._files.admit(stem)
        if fate is not Fate.WORK:
            self._teller.forget(stem)
            self._settled(name, fate)
            return
        request = validate(body.value, stem)
        if isinstance(request, ShapeRefusal):
            await self._answer(name, shape_refused(request))
        elif self._bench is None:
            detail = "this watcher has no sessions that it could open or stop"
            await self._answer(name, failed(subject_of(request), reasons.NO_WINDOW, detail=detail))
        else:
            tell = partial(self._teller.step, stem)
            action = VersionedAction(request, stem, body.modified_ns, self._bench, tell)
            try:
                await self._answer(name, await self._carry_out(name, action))
            finally:
                action.release()

    async def _carry_out(self, name: str, action: VersionedAction) -> Result:
        try:
            return await action.run()
        except asyncio.CancelledError:
            result = action.broken_off(reasons.CLOSING)
            self._settled(name, self._files.settle_at_once(_stem(name), result))
            self._report(name, result)
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with us, the caller gets a result
            return action.failed(f"{type(error).__name__}: {error}")

    async def _answer(self, name: str, result: Result) -> None:
        self._settled(name, await self._files.settle(_stem(name), result))
        self._report(name, result)

    def _settled(self, name: str, fate: Fate) -> None:
        if fate is Fate.RETAIN:
            self._admission.retain(name)

    def _report(self, name: str, result: Result) -> None:
        if result["ok"]:
            self._say.info(f"{name!r}: {result['outcome']}, submitted: {result['submitted']}")
        else:
            self._say.warning(f"{name!r}: {result['outcome']}: {result['reason']}")
        self._teller.done(_stem(name), result)


def _stem(name: str) -> str:
    return name.removesuffix(REQUEST_SUFFIX)
