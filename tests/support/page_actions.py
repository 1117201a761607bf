"""Versioned actions' side of a page, and the host's side of a start, both played by a test.

`Stage` has a hub with pages over a fake clock, a broker, and open sessions that are values. Its `opener` is the host:
it does what `HostActions` does with a grant, at the pace of the test (`gate` holds it where `held_at` says).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from switchboard.clis.closed_sessions import ClosedSession
from switchboard.common.clock import Instant
from switchboard.delivery.lifecycle import Create, Guards, HostedTarget, PageRefused, Resume, Trouble
from switchboard.delivery.memory import MemoryTerminal
from switchboard.page import messages
from switchboard.page.broker import Grant, PageBroker
from switchboard.page.hub import PageHub
from switchboard.page.messages import Done, Hello, OpenSession, Ready, SessionAction, SessionActionResult, SessionInfo
from tests.support.fake_clock import FakeClock
from tests.support.pages import Doings, Page
from tests.support.sessions import ID, ListLog

OTHER = "0d6f3a52-0000-4000-8000-00000000000b"
RESUME = Resume(ClosedSession(ID, "claude", "/transcripts/x.jsonl", (1, 2), "/srv/project/tree"), "/srv/project")
CREATE = Create(OTHER, "/srv/project", "A name")
LONG = 60_000


class Hosted(MemoryTerminal):
    """An open session."""

    kind: Literal["agent", "shell", "attach"] = "agent"
    publishes = True
    writer: tuple[int, str] | None = None
    processes: frozenset[tuple[int, str]] = frozenset()

    def __init__(self, key: str, generation: int, clock: FakeClock) -> None:
        super().__init__(key, "/srv/project", lambda _data: None, clock)
        self.generation = generation
        self.launched_at = clock.now()


@dataclass
class Watch:
    """What an action saw: `spawned`, in order; `asked`: its guards, in order."""

    prepare: Callable[[], Trouble | None] = lambda: None
    final: Callable[[], Trouble | None] = lambda: None
    spawned: list[HostedTarget] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def guards(self) -> Guards:
        async def prepare() -> Trouble | None:
            self.asked.append("prepare")
            return self.prepare()

        def final() -> Trouble | None:
            self.asked.append("final")
            return self.final()

        return Guards(prepare, final)


class _NoRegistry:
    """A hub that shows no session."""

    def by_handle(self, handle: int) -> None:
        return None


class Stage:
    """See the module."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.open_sessions: dict[str, Hosted] = {}
        numbers = itertools.count(1)
        self.broker = PageBroker(self.clock, self.holds, lambda: f"permit-{next(numbers)}")
        self.doings = Doings()
        self.doings.opener = self.opener
        self.log = ListLog()
        self.hub = PageHub(_NoRegistry(), self.doings, self.clock, self.log, "0", self.broker)  # type: ignore[arg-type]  # what is used of it
        self.pages: list[Page] = []
        self.spawns: list[str] = []
        self.generations = itertools.count(100)
        self.gate = asyncio.Event()
        self.gate.set()
        self.held_at = ""
        self.fault: Exception | None = None
        """What the start ends with, after `final`."""
        self.after: Exception | None = None
        """What it ends with, after the process was made."""
        self.opening = 0

    # --- the host's sessions

    def holds(self, target: HostedTarget, key: str, generation: int) -> bool:
        found = self.open_sessions.get(key)
        return found is not None and found is target and found.alive and found.generation == generation

    def has(self, key: str = ID) -> Hosted:
        """A session opens, by whomever."""
        session = Hosted(key, next(self.generations), self.clock)
        self.open_sessions[key] = session
        self.broker.session_changed()
        return session

    def ends(self, session: Hosted) -> None:
        session.alive = False
        self.broker.session_changed()

    async def opener(self, wanted: OpenSession, grant: Grant) -> Done:
        """The host starts what a grant says."""
        self.opening += 1
        try:
            return await self._open(wanted, grant)
        finally:
            self.opening -= 1

    async def _open(self, wanted: OpenSession, grant: Grant) -> Done:
        key = wanted.session_id or ""
        await self._stop_at("lock")
        if (found := self.open_sessions.get(key)) is not None:
            grant.found(found)
            return self._done(wanted, found)
        if (trouble := await grant.prepare()) is not None:
            raise PageRefused(*trouble)
        await self._stop_at("plan")
        if (trouble := grant.final()) is not None:
            raise PageRefused(*trouble)
        self.spawns.append(key)
        await self._stop_at("spawn")
        if self.fault is not None:
            raise self.fault
        session = self.has(key)
        grant.spawned(session)
        if self.after is not None:
            raise self.after
        return self._done(wanted, session)

    async def _stop_at(self, place: str) -> None:
        if self.held_at == place:
            await self.gate.wait()

    def _done(self, wanted: OpenSession, session: Hosted) -> Done:
        info = SessionInfo(session.key, "open", "claude", "idle", handle=1, generation=session.generation)
        return Done(wanted.request, ok=True, session=info)

    # --- pages

    async def page(self, *, ready: bool = True, kind: str = "browser") -> Page:
        page = Page(self.hub, self.clock, f"epoch-{len(self.pages)}")
        self.pages.append(page)
        page.alive = True
        await page.says(Hello(messages.PROTOCOL, kind))  # type: ignore[arg-type]  # a text of a table
        if ready:
            await page.says(Ready())
        return page

    async def crashes(self, page: Page) -> None:
        """Its connection is gone, without a word."""
        page.broken = OSError("gone")
        page.puts(None)
        await self.clock.settle()

    def asked(self, page: Page) -> SessionAction:
        return page.last(SessionAction)

    async def asks_to_open(self, page: Page, action: SessionAction, **changes: Any) -> None:
        """The page asks for the start that it was asked to ask for."""
        wanted = OpenSession(1, action.mode, session_id=action.tab_key, permit=action.permit)  # type: ignore[arg-type]  # never with a reattach
        await page.says(msgspec.structs.replace(wanted, **changes))

    async def answers(self, page: Page, action: SessionAction, *, ok: bool = True, **changes: Any) -> None:
        """The page says how it ended; without `changes`, as is right."""
        session = self.open_sessions.get(action.tab_key)
        generation = session.generation if ok and session is not None else None
        said = SessionActionResult(
            action.permit, action.epoch, action.mode, ok, action.requested_id, action.tab_key, generation
        )
        await page.says(msgspec.structs.replace(said, **changes))

    # --- actions

    def open(self, what: Resume | Create, watch: Watch, timeout: Instant = LONG) -> asyncio.Task[HostedTarget]:
        work = self.broker.open(what, watch.guards(), watch.spawned.append, self.clock.now() + timeout)
        return asyncio.create_task(work, name="open")

    def reattach(self, requested_id: str, target: HostedTarget, timeout: Instant = LONG) -> asyncio.Task[None]:
        work = self.broker.reattach(requested_id, target, self.clock.now() + timeout)
        return asyncio.create_task(work, name="reattach")

    async def close(self) -> None:
        """Let everything end; nothing may be left of any action."""
        self.gate.set()
        for page in self.pages:
            page.let_go()
            page.puts(None)
        await asyncio.gather(*(page.serving for page in self.pages), return_exceptions=True)
        await self.clock.settle()
        assert self.broker._actions == {}
        assert self.broker._starts == set()
        assert self.opening == 0
        left = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert left == []
