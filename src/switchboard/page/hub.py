"""All pages of the host: who is connected, who holds the renderer role, who decides a session's size (driver)."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

from switchboard.common.clock import Clock, Instant, sleep_until
from switchboard.common.facts import Log
from switchboard.page import messages, reasons
from switchboard.page.broker import Grant, PageBroker
from switchboard.page.connection import PageConnection, Transport
from switchboard.page.limits import too_many
from switchboard.page.messages import MessageError
from switchboard.page.pulse import first_or_others
from switchboard.page.replies import strip_replies
from switchboard.page.roles import Roles
from switchboard.page.sizes import Sizes
from switchboard.sessions.input_run import InputRun
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session

PING_MS = 20_000
PONG_MS = 10_000
"""A page that does not answer within this loses the connection: a frozen one must not hold the renderer role."""

LEAD_MS = 3_000
"""A page that is about to be asked for something and does not answer within this is passed over for one that does."""

RECENT = 100
"""Trigger steps that a new page is told of."""

MAX_REQUESTS = 16
"""Requests of one page under way at once."""

TURN_FRAMES = 32
"""Frames of one page that are taken in one turn of the loop: each may be a keystroke, at some 50 microseconds."""

FLUSH_SECONDS = 2.0
"""How long a page that has ended may take to read its last messages."""

REFUSED = {
    "all": "The session does not read its input; what you typed was not taken.",
    "rest": "The session does not read its input; only the beginning of what you pasted was taken.",
}


class Actions(Protocol):
    """What pages can ask of the host. Each answers with `done`, refusals included.

    `open` with a grant is a versioned action's: see `Grant` and `Opener` for what it must and may do.
    """

    async def open(self, wanted: messages.OpenSession, grant: Grant | None = None) -> messages.Done: ...
    async def stop(self, wanted: messages.StopSession) -> messages.Done: ...
    async def rename(self, wanted: messages.Rename) -> messages.Done: ...
    async def listing(self, closed: int) -> list[messages.SessionInfo]: ...
    async def shutdown(self, wanted: messages.Shutdown) -> messages.Done: ...
    async def address(self, wanted: messages.Address) -> messages.AddressIs | messages.Done: ...


class TooManyRequests(MessageError):
    """A page asks for more than is answered at once."""


class PageHub:
    """Pages and the sessions they look at. A listener of the registry."""

    def __init__(
        self, registry: Registry, actions: Actions, clock: Clock, log: Log, version: str, broker: PageBroker
    ) -> None:
        self._registry = registry
        self._actions = actions
        self._clock = clock
        self._log = log
        self._version = version
        self._broker = broker
        self._pages: dict[str, PageConnection] = {}
        self._closing = False
        self._roles = Roles()
        self._sizes = Sizes()
        self._recent: deque[messages.TriggerActivity] = deque(maxlen=RECENT)
        self._standing: messages.Notice | None = None
        broker.look = self.look

    # --- listener of the registry ---

    def session_changed(self, session: Session) -> None:
        self._broker.session_changed()
        for page in self._shown():
            page.session_changed(session)

    def session_printed(self, session: Session) -> None:
        for page in self._pages.values():
            page.session_printed(session)

    def session_removed(self, session: Session) -> None:
        self._sizes.session_gone(session.handle)
        for page in self._shown():
            page.session_removed(session)

    def broadcast(self, message: messages.HostMessage) -> None:
        """Tell every page (not commands)."""
        for page in self._shown():
            page.post(message)

    def trigger(self, activity: messages.TriggerActivity) -> None:
        """Tell every page of a trigger's step; pages that come later are told of the last ones."""
        self._recent.append(activity)
        self.broadcast(activity)

    def stand(self, problem: str | None) -> None:
        """Tell every page what stands in the way of triggers, and pages that come later too; None: no longer."""
        self._standing = None if problem is None else messages.Notice("error", problem)
        self.broadcast(self._standing or messages.Notice("info", "Nothing stands in the way of triggers any more."))

    def close(self) -> None:
        """The host is going: no further page is served, and the connected ones end once they have read all."""
        self._closing = True
        self._broker.close()
        for page in self._pages.values():
            page.close()

    def _shown(self) -> list[PageConnection]:
        return [page for page in self._pages.values() if page.kind != "command"]

    # --- connections ---

    async def serve(self, transport: Transport, incoming: Incoming, epoch: str, pid: int) -> None:
        """Serve one connection until it ends. `incoming` gives its frames; `epoch` must be new.

        Never raises for what the page does: nonsense is answered with `problem` and the end of the connection.
        """
        try:
            await self._serve(transport, incoming, epoch, pid)
        except* OSError:
            pass  # the page is gone, or does not answer or read

    async def _serve(self, transport: Transport, incoming: Incoming, epoch: str, pid: int) -> None:
        page: PageConnection | None = None
        try:
            hello = await self._hello(transport, incoming)
            if hello is None:
                return
            page = PageConnection(transport, epoch, hello.kind)
            self._pages[epoch] = page
            page.post(messages.Welcome(messages.PROTOCOL, self._version, epoch, pid))
            if hello.kind != "command":
                self._broker.page_connected(epoch, page.post)
                page.post(messages.Sessions(await self._actions.listing(50)))
                for activity in self._recent:
                    page.post(activity)
                if self._standing is not None:
                    page.post(self._standing)
            await self._converse(page, incoming)
        finally:
            if page is not None:
                self._forget(page)

    async def _hello(self, transport: Transport, incoming: Incoming) -> messages.Hello | None:
        problem, kind = "the first message must be hello", messages.FINAL
        try:
            async with asyncio.timeout(PONG_MS / 1000):
                frame = await incoming()
            if frame is None:
                return None
            message = messages.decode_from_page(frame[1]) if not frame[0] else None
            if isinstance(message, messages.Hello):
                if message.protocol != messages.PROTOCOL:
                    problem = reasons.other_protocol(messages.PROTOCOL, message.protocol)
                elif self._closing:
                    problem, kind = "the host is closing", messages.PASSING
                elif full := too_many(message.kind, (page.kind for page in self._pages.values())):
                    problem, kind = full, messages.PASSING
                else:
                    return message
        except TimeoutError:
            problem, kind = "no hello came", messages.PASSING
        except MessageError as error:
            problem = str(error)
        await transport.send_text(messages.encode(messages.Problem(problem, kind)))
        return None

    async def _converse(self, page: PageConnection, incoming: Incoming) -> None:
        """Send, ping and receive until one of them ends; a page that goes takes its open requests with it."""
        async with asyncio.TaskGroup() as group:
            sender = group.create_task(page.run(), name=f"page {page.epoch} sender")
            pinger = group.create_task(self._ping(page), name=f"page {page.epoch} ping")
            requests: set[asyncio.Task[None]] = set()
            await self._receive(page, incoming, group, requests)
            self._forget(page)
            for task in (pinger, *requests):
                task.cancel()
            page.close()
            async with asyncio.timeout(FLUSH_SECONDS):
                await sender

    async def _receive(
        self,
        page: PageConnection,
        incoming: Incoming,
        group: asyncio.TaskGroup,
        requests: set[asyncio.Task[None]],
    ) -> None:
        for number in itertools.count(1):
            if number % TURN_FRAMES == 0:
                await asyncio.sleep(0)  # frames that have come already are given without a wait
            try:
                frame = await incoming()
                if frame is None:
                    return
                binary, body = frame
                if binary:
                    self._input(page, body)
                else:
                    self._message(page, messages.decode_from_page(body), group, requests)
            except MessageError as error:
                kind = messages.PASSING if isinstance(error, TooManyRequests) else messages.FINAL
                page.post(messages.Problem(str(error), kind))
                return
            if page.left:
                return

    async def _ping(self, page: PageConnection) -> None:
        while True:
            await sleep_until(self._clock, self._clock.now() + PING_MS)
            number = page.pulse.ask()
            await sleep_until(self._clock, self._clock.now() + PONG_MS)
            if not page.pulse.beats(number):
                self._log.warning("a page does not answer; it is disconnected")
                raise TimeoutError("the page does not answer")

    async def look(self, deadline: Instant) -> None:
        """Have the renderer role with a page that answers; return then. A page alone is not asked: it has to do."""
        ready = self._roles.in_order
        if len(ready) < 2:
            return
        until = min(deadline, self._clock.now() + LEAD_MS)
        answers = await first_or_others([self._pages[epoch].pulse for epoch in ready], self._clock, until)
        if not answers[0]:
            before = self._roles.renderer
            self._roles.answered(tuple(itertools.compress(ready, answers)))
            self._announce_role(before)

    def _forget(self, page: PageConnection) -> None:
        if self._pages.pop(page.epoch, None) is None:
            return
        before = self._roles.renderer
        self._roles.gone(page.epoch)
        if page.kind != "command":
            self._broker.page_ended(page.epoch, on_purpose=page.left)
        for handle, run in page.typed.items():
            if (session := self._registry.by_handle(handle)) is not None:
                session.left(run)
        for handle in self._sizes.page_gone(page.epoch):
            self._announce_free(handle)
        self._announce_role(before)

    def _announce_free(self, handle: int) -> None:
        """No page's size is in force: one that shows the session may take it over, and answer its programs."""
        if (session := self._registry.by_handle(handle)) is None:
            return
        for page in self._shown():
            if handle in page.streams:
                page.post(messages.Size(handle, session.label.columns, session.label.rows, owner=False, free=True))

    def _announce_role(self, before: str | None) -> None:
        now = self._roles.renderer
        if now != before:
            self._broker.role_moved(now)
            for epoch in self._pages.keys() & {before, now}:
                self._pages[epoch].post(messages.Role(epoch == now))

    # --- what a page says ---

    def _message(
        self,
        page: PageConnection,
        message: messages.PageMessage,
        group: asyncio.TaskGroup,
        requests: set[asyncio.Task[None]],
    ) -> None:
        match message:
            case messages.Ready():
                before = self._roles.renderer
                if page.kind != "command":
                    self._roles.ready(page.epoch)
                    self._broker.page_ready(page.epoch)
                self._announce_role(before)
            case messages.Bye():
                page.left = True
            case messages.Pong(number=number):
                page.pulse.answer(number)
            case messages.Confirm(number=number):
                page.post(messages.Confirmed(number))
            case messages.Attach(session=handle, from_seq=seq):
                if (session := self._session(page, handle)) is not None:
                    owner = self._sizes.owner(handle)
                    page.attach(session, seq, owner == page.epoch, free=owner is None)
            case messages.Detach(session=handle):
                page.streams.pop(handle, None)
            case messages.Focus():
                self._focus(page, message)
            case messages.SessionActionResult():
                self._broker.answered(page.epoch, message)
            case messages.Hello():
                raise MessageError("hello was said already")
            case _:
                if len(requests) >= MAX_REQUESTS:
                    raise TooManyRequests(f"more than {MAX_REQUESTS} requests are open")
                task = group.create_task(self._request(page, message), name=f"page {page.epoch} request")
                requests.add(task)
                task.add_done_callback(requests.discard)

    def _session(self, page: PageConnection, handle: int) -> Session | None:
        session = self._registry.by_handle(handle)
        if session is None:
            page.post(messages.SessionGone(handle))
        return session

    async def _request(
        self,
        page: PageConnection,
        message: messages.OpenSession
        | messages.StopSession
        | messages.Rename
        | messages.ListSessions
        | messages.Shutdown
        | messages.Address,
    ) -> None:
        answer: messages.HostMessage
        try:
            match message:
                case messages.OpenSession(permit=None):
                    answer = await self._actions.open(message)
                case messages.OpenSession():
                    answer = await self._broker.start(page.epoch, message, self._actions.open)
                case messages.StopSession():
                    answer = await self._actions.stop(message)
                case messages.Rename():
                    answer = await self._actions.rename(message)
                case messages.ListSessions(request=request, closed=closed):
                    answer = messages.Listing(request, await self._actions.listing(closed))
                case messages.Shutdown():
                    answer = await self._actions.shutdown(message)
                case messages.Address():
                    answer = await self._actions.address(message)
        except Exception as error:  # noqa: BLE001 - a request's fault is its answer, and harms no other
            self._log.error(f"request failed: {type(error).__name__}: {error}")
            answer = messages.Done(message.request, ok=False, reason=reasons.INTERNAL, detail=str(error))
        page.post(answer)

    # --- size and keystrokes ---

    def _focus(self, page: PageConnection, message: messages.Focus) -> None:
        session = self._session(page, message.session)
        if session is None:
            return
        if (stream := page.streams.get(session.handle)) is not None:
            stream.columns, stream.rows = message.columns, message.rows
        if self._sizes.claim(session.handle, page.epoch, free=message.free, before=message.before):
            self._own(page, session, message.columns, message.rows)
        else:
            page.post(messages.Size(session.handle, session.label.columns, session.label.rows, owner=False))
        if not message.free:
            session.seen()

    def _own(self, page: PageConnection, session: Session, columns: int, rows: int) -> None:
        session.resize(columns, rows)
        for other in self._shown():
            if session.handle in other.streams:
                other.post(messages.Size(session.handle, columns, rows, owner=other is page))

    def _input(self, page: PageConnection, frame: bytes) -> None:
        handle, data = messages.decode_input(frame)
        session = self._registry.by_handle(handle)
        if session is None or session.exit is not None:
            page.post(messages.Notice("warning", "That session has ended; nothing was typed."))
            return
        more = len(data) == messages.MAX_INPUT
        if self._sizes.owner(handle) != page.epoch:
            data = strip_replies(data)
            stream = page.streams.get(handle)
            if data and stream is not None and stream.columns and stream.rows:
                self._sizes.claim(handle, page.epoch)
                self._own(page, session, stream.columns, stream.rows)
        run = page.typed.setdefault(handle, InputRun())
        if not session.type(data, run, more=more) and run.refusal is not None:
            page.post(messages.Notice("warning", REFUSED[run.refusal]))


Incoming = Callable[[], Awaitable[tuple[bool, bytes] | None]]
"""Gives the next frame of a page: (binary, body); None at the end of the connection.
Raises `MessageError` for what is no frame."""
