"""The trigger watcher (driver): a folder of requests becomes a folder of results.

The order that loses nothing: the folder is watched first, then listed; events and listings feed the same admission. A
request is read, carried out and answered by one task; its result is published before the request is removed, and a
request that cannot be removed is remembered, so that nothing is done twice. What could not be told of singly (an
overflow, a folder that was replaced) is listed again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Container, Mapping
from types import TracebackType
from typing import Self

from switchboard.common.clock import Clock
from switchboard.common.facts import Log
from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan
from switchboard.common.settings import TriggerSettings
from switchboard.common.system_clock import SystemClock
from switchboard.delivery.desk import Desk
from switchboard.delivery.port import Terminals
from switchboard.triggers.admission import Admission, Offer, is_request_name
from switchboard.triggers.entrance import Entrance
from switchboard.triggers.handler import RequestHandler
from switchboard.triggers.intake import Intake
from switchboard.triggers.journal import Journal
from switchboard.triggers.lifecycle_port import Lifecycle
from switchboard.triggers.outlet import Outlet
from switchboard.triggers.partial import Arrival
from switchboard.triggers.progress import Observer
from switchboard.triggers.say import Problems, Reporter, Silent
from switchboard.triggers.spool import Spool

CLOSE_GRACE_S = 2.0
"""So long may deliveries take to end by themselves when the watcher closes: waits end at once, a text that is out gets
its Enter. A host has 5 s in all for its end, and may give less."""


class TriggerWatcher:
    """Watches one folder and delivers its requests to the sessions of `terminals`.

    `folder`: default is what the environment says. `env`: read at each use, default the process's own. `watcher`: a
    folder watcher to share; without one, the system's best is opened and closed with this object. `journal`: for
    terminals that outlive this process. `on_problem`: told of each change of `problem`. `house`: what versioned
    requests need, around the same terminals; without it they are refused.
    Used as `async with TriggerWatcher(...)`, or with `start` and `close`. Belongs to one event loop.
    """

    def __init__(
        self,
        terminals: Terminals,
        folder: str | os.PathLike[str] | None = None,
        *,
        clock: Clock | None = None,
        env: Mapping[str, str] | None = None,
        log: Log | None = None,
        watcher: FolderWatcher | None = None,
        observe: Observer | None = None,
        journal: Journal | None = None,
        on_problem: Callable[[str | None], None] | None = None,
        house: Lifecycle | None = None,
    ) -> None:
        settings = TriggerSettings(os.environ if env is None else env)
        self._desk = Desk(SystemClock() if clock is None else clock, settings)
        self._spool = Spool(settings.triggers_dir if folder is None else os.fspath(folder))
        self._say = Reporter(Silent() if log is None else log)
        self._admission = Admission()
        self._problems = Problems(on_problem or (lambda _problem: None))
        self._outlet = Outlet(self._spool, self._desk, self._say, self._scan, self._problems)
        self._handler = RequestHandler(
            terminals, self._spool, self._admission, self._desk, self._say, self._outlet, observe, journal, house
        )
        self._entrance = Entrance(self._spool, self._desk.clock, self._say, self._problems, watcher)
        self._intakes: dict[str, Intake] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def problem(self) -> str | None:
        """Why nothing is watched, no result can be published or a request is left alone, and the remedy.

        None while all is well. Changes while the watcher runs.
        """
        return self._problems.text

    @property
    def folder(self) -> str:
        """The absolute path of the folder of requests."""
        return self._spool.folder

    def start(self) -> None:
        """Begin, or once the folder can be used: until then the log and `problem` say what is in the way."""
        self._entrance.open(self._on_event, self._opened)

    def _opened(self) -> None:
        found = self._scan()
        if found is not None:
            # Also what cannot be begun yet (results cannot be published) is what was left.
            self._handler.settle_all_but(found)

    async def close(self, grace_s: float | None = None) -> None:
        """End: nothing new is begun, what waits to be written is answered, a text that is out gets its Enter.

        What has not ended after `grace_s` seconds (default `CLOSE_GRACE_S`) is cancelled, and answered so. Requests
        that were not begun stay in the folder, for the next start. Harmless when repeated.
        """
        self._entrance.close()
        self._admission.close()
        self._desk.stop.request()
        self._handler.close()
        self._outlet.stop()
        for intake in self._intakes.values():
            intake.wake()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_GRACE_S if grace_s is None else grace_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._outlet.close()
        await self._entrance.aclose()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _on_event(self, event: FolderEvent | Rescan) -> None:
        if isinstance(event, Rescan):
            self._scan()
            return
        intake = self._intakes.get(event.name)
        if event.kind == "gone":
            self._outlet.gone(event.name)
        if intake is not None:
            if event.how == "moved" and event.kind == "appeared" and intake.is_replaced():
                self._say.warning(
                    f"{event.name!r} was replaced before it was answered: only one of these is carried out"
                )
            intake.note(event)
        elif event.kind == "appeared" and is_request_name(event.name):
            arrival = Arrival(tells_all=self._entrance.tells_all)
            arrival.note(event.how)
            self._offer(event.name, arrival)

    def _scan(self) -> Container[str] | None:
        """List the folder: at the start, and whenever events may have been lost. Returns the requests in it."""
        try:
            found = dict.fromkeys(name for name in self._spool.names() if is_request_name(name))
        except OSError as error:
            self._say.once(f"the folder {self._spool.folder} cannot be listed: {error.strerror}")
            return None
        self._outlet.only(found)
        for name in (*found, *(self._handler.interrupted_names() - found.keys())):
            if name not in self._intakes:
                self._offer(name, Arrival())
        return found

    def _offer(self, name: str, arrival: Arrival) -> None:
        if not self._outlet.takes(name) or (self._outlet.blocked and not self._outlet.is_open()):
            return
        offer = self._admission.offer(name)
        if offer is Offer.SKIP:
            return
        self._intakes[name] = Intake(self._spool, name, arrival, self._desk)
        if offer is Offer.BEGIN:
            self._begin(name)

    def _begin(self, name: str) -> None:
        task = asyncio.get_running_loop().create_task(self._work(name), name=f"trigger {name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, name: str) -> None:
        try:
            # Asked again for one that has waited. It stays in its folder, which is listed when the outlet opens.
            if self._outlet.is_open():
                await self._handler.handle(name, self._intakes[name])
        finally:
            del self._intakes[name]
            following = self._admission.finished(name)
            if following is not None:
                self._begin(following)
            if name in self._handler.renewed:
                self._handler.renewed.remove(name)
                self._offer(name, Arrival())
