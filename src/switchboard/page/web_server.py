"""The server of the browser page (door): aiohttp behind the gatekeeper.

Every request passes `Gatekeeper.judge` before anything else looks at it. A page's WebSocket has no timer of its own:
the hub pings it, and at rest nothing here runs.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import StreamReader, WSCloseCode, WSMsgType, web

from switchboard.common.clock import Clock, sleep_until
from switchboard.common.facts import Log
from switchboard.common.tasks import start
from switchboard.page.byte_frames import binary_head
from switchboard.page.hub import PageHub
from switchboard.page.limits import MAX_PAGES, Bucket
from switchboard.page.messages import MAX_MESSAGE, MessageError
from switchboard.page.security import (
    MAX_BODY,
    SUBPROTOCOL,
    Admitted,
    Asked,
    Gatekeeper,
    Record,
    Refused,
    Route,
    bracketed,
    host_names,
    response_headers,
)
from switchboard.page.web_config import WebConfig
from switchboard.page.web_connection import Connection, Strangers, refusal
from switchboard.page.web_files import RecordFile, read_static

MAX_SOCKETS = MAX_PAGES + 16
"""WebSockets at once. The hub refuses pages above its own limit with a sentence; these are for saying it."""

BACKLOG = 128
"""Connections that the kernel holds until they are accepted, and that are accepted in one go."""

WRITE_BUFFER = 128 * 1024
"""Bytes a page may have waiting before its sender waits; beyond that a slow page reads from the ring later."""

CLOSE_SECONDS = 2.0
"""How long a page may take to answer that its connection closes."""

MESSAGES_PER_SECOND, MESSAGES_BURST = 200.0, 1000.0
"""Messages and runs of keys of one page: a held key repeats 30 times a second, a mouse reports 125 times."""

BYTES_PER_SECOND, BYTES_BURST = 4.0 * 1024 * 1024, 8.0 * 1024 * 1024
"""What a page may send: above what any terminal program reads, so a paste does not wait."""


class WebSocketTransport:
    """A page's WebSocket as the hub sees it: frames in and out, with backpressure both ways, and limits."""

    def __init__(
        self,
        websocket: web.WebSocketResponse,
        connection: asyncio.Transport | None,
        closing: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._websocket = websocket
        self._connection = connection
        self._closing = closing
        self._clock = clock
        now = clock.now()
        self._messages = Bucket.full(MESSAGES_PER_SECOND, MESSAGES_BURST, now)
        self._bytes = Bucket.full(BYTES_PER_SECOND, BYTES_BURST, now)

    async def send_text(self, data: bytes) -> None:
        """Send a JSON message; waits while the page is behind. Raises `OSError` when it is gone."""
        await self._websocket.send_frame(data, WSMsgType.TEXT)

    async def send_binary(self, data: bytes) -> None:
        """Send terminal bytes, likewise."""
        if not self.send_now(data):
            await self._websocket.send_frame(data, WSMsgType.BINARY)

    def send_now(self, data: bytes) -> bool:
        """Send terminal bytes if nothing waits to be sent, and return whether that was so.

        As one write, where the library makes two of a large frame; between two of the library's frames there is always
        room for one of ours, because it writes each whole.
        """
        connection = self._connection
        if connection is None or connection.is_closing() or self._websocket.closed:
            return False
        if connection.get_write_buffer_size():
            return False
        connection.write(binary_head(len(data)) + data)
        return True

    def end(self) -> None:
        """Close the connection once what was sent is out."""
        self._closing()

    async def receive(self) -> tuple[bool, bytes] | None:
        """Return the next frame as (binary, body), None at the end. Raises `MessageError`.

        A page that sends faster than people and programs do is read more slowly: it waits, nobody else does.
        """
        message = await self._websocket.receive()
        if message.type is WSMsgType.TEXT:
            body = str(message.data).encode("utf-8")
        elif message.type is WSMsgType.BINARY:
            body = bytes(message.data)
        elif message.type is WSMsgType.ERROR:
            raise MessageError("not a message of this protocol")
        else:
            return None
        now = self._clock.now()
        wait = max(self._messages.take(1, now), self._bytes.take(len(body), now))
        if wait:
            await sleep_until(self._clock, now + wait)
        return message.type is WSMsgType.BINARY, body


class WebServer:
    """The running server. Made by `web_server`."""

    def __init__(
        self,
        gatekeeper: Gatekeeper,
        url: str,
        static: str,
        hub: PageHub,
        record: RecordFile,
        new_epoch: Callable[[], str],
        clock: Clock,
        log: Log,
    ) -> None:
        self.url = url
        """The address without a ticket."""
        self._gatekeeper = gatekeeper
        self._static = static
        self._hub = hub
        self._record = record
        self._new_epoch = new_epoch
        self._clock = clock
        self._log = log
        self._sockets = 0
        self._group: asyncio.TaskGroup | None = None
        self._tidying: asyncio.Task[None] | None = None

    def fresh_url(self) -> str:
        """Return the address with a new ticket. Never write it to a log."""
        ticket = secrets.token_urlsafe(32)
        self._gatekeeper.issue(ticket, self._clock.now())
        if self._group is not None and (self._tidying is None or self._tidying.done()):
            self._tidying = start(self._group, "tidying up after tickets", self._tidy_up())
        return f"{self.url}#ticket={ticket}"

    async def _tidy_up(self) -> None:
        """Go on until there is no ticket that waits for its browser."""
        while (end := self._gatekeeper.next_end(self._clock.now())) is not None:
            await sleep_until(self._clock, end)
            self._drop_lead()

    def _drop_lead(self) -> None:
        """Remove the file that leads a browser here once its ticket is of no more use."""
        ticket = self._record.lead.ticket()
        if ticket is not None and not self._gatekeeper.waits(ticket, self._clock.now()):
            self._record.lead.remove()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        asked = Asked(
            request.method,
            request.path_qs if request.raw_path.startswith("/") else request.raw_path,
            tuple((name.lower(), value) for name, value in request.headers.items()),
        )
        verdict = self._gatekeeper.judge(asked, self._clock.now())
        if isinstance(verdict, Refused):
            return refusal(verdict)
        if verdict.route is Route.PAGE:
            return await self._page(request, verdict)
        if verdict.route is Route.TICKET:
            return await self._ticket(request, verdict)
        if verdict.route is Route.CHECK:
            # What a browser does not tell its page of a handshake that fails.
            if (full := self._full()) is not None:
                return refusal(full)
            return web.Response(status=204, headers=response_headers(verdict))
        found = read_static(self._static, verdict.path)
        if found is None:
            return refusal(Refused(404, "There is nothing here."))
        kind, body = found
        return web.Response(body=body, headers={**response_headers(verdict), "Content-Type": kind})

    async def _ticket(self, request: web.BaseRequest, admitted: Admitted) -> web.Response:
        try:
            # One byte more than allowed is enough to see that it is too much. The connection's own end bounds the wait.
            body = await _read_at_most(request.content, MAX_BODY + 1)
        except (web.RequestPayloadError, ConnectionError):
            return refusal(Refused(400, "That is no ticket."))
        cookie, key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        types = request.headers.getall("Content-Type", [])
        refused = self._gatekeeper.exchange(types, body, cookie, key, self._clock.now())
        if refused is not None:
            return refusal(refused)
        self._drop_lead()
        if self._tidying is not None and self._gatekeeper.next_end(self._clock.now()) is None:
            self._tidying.cancel()
        try:
            self._record.save(self._gatekeeper.record)
        except OSError as error:
            self._log.warning(f"web.json cannot be written, so pages will not reconnect: {error.strerror}")
        return web.json_response(
            {"key": key},
            headers={**response_headers(admitted), "Set-Cookie": self._gatekeeper.set_cookie(cookie)},
        )

    def _full(self) -> Refused | None:
        """Return why no page may connect now."""
        if self._sockets >= MAX_SOCKETS:
            return Refused(429, f"{MAX_PAGES} pages are connected; close one.")
        return Refused(503, "The host is closing.") if self._group is None else None

    async def _page(self, request: web.BaseRequest, admitted: Admitted) -> web.StreamResponse:
        if (full := self._full()) is not None:
            return refusal(full)
        websocket = web.WebSocketResponse(
            protocols=(SUBPROTOCOL,), compress=False, max_msg_size=MAX_MESSAGE, timeout=CLOSE_SECONDS
        )
        group, protocol = self._group, request.protocol
        assert group is not None
        self._sockets += 1
        try:
            await websocket.prepare(request)
            if isinstance(protocol, Connection):
                protocol.belongs_to_a_page()
            if request.transport is not None:
                request.transport.set_write_buffer_limits(high=WRITE_BUFFER)

            def close() -> None:
                start(group, "page connection closing", _close(websocket))

            transport = WebSocketTransport(websocket, request.transport, close, self._clock)
            await self._hub.serve(transport, transport.receive, self._new_epoch(), os.getpid())
            await _close(websocket)
        finally:
            self._sockets -= 1
            if request.transport is not None:
                request.transport.abort()
        return websocket

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold the tasks of this server."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._record.lead.remove()
            try:
                yield
            finally:
                self._group = None
                if self._tidying is not None:
                    self._tidying.cancel()
                self._record.lead.remove()


async def _close(websocket: web.WebSocketResponse) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await websocket.close(code=WSCloseCode.GOING_AWAY)
    except (OSError, TimeoutError):
        pass  # it is gone, or does not read


async def _read_at_most(content: StreamReader, limit: int) -> bytes:
    body = b""
    while len(body) < limit:
        piece = await content.read(limit - len(body))
        if not piece:
            break
        body += piece
    return body


@asynccontextmanager
async def web_server(
    config: WebConfig, hub: PageHub, record: RecordFile, new_epoch: Callable[[], str], clock: Clock, log: Log
) -> AsyncIterator[WebServer]:
    """Serve the page while entered. Raises `OSError`, also when a port that was asked for cannot be had."""
    known = record.load() or Record(instance=secrets.token_hex(8))
    listener = _listen(config, known.port)
    port = listener.getsockname()[1]
    known = Record(known.instance, port, known.grants)
    record.save(known)
    address = "127.0.0.1" if config.address == "localhost" else config.address
    gatekeeper = Gatekeeper(known, host_names(address, port), config.standing)
    server = WebServer(
        gatekeeper, f"http://{bracketed(address)}:{port}/", config.static, hub, record, new_epoch, clock, log
    )
    loop = asyncio.get_running_loop()
    strangers = Strangers(config.stranger_seconds)
    http = web.Server(server.handle)
    async with server.running():
        accepting = await loop.create_server(
            lambda: Connection(http, strangers, loop, log), sock=listener, backlog=BACKLOG
        )
        try:
            yield server
        finally:
            accepting.close()
            hub.close()
            await http.shutdown(CLOSE_SECONDS)


def _listen(config: WebConfig, remembered: int) -> socket.socket:
    """Bind to the wanted port, else to the one of the last host, else to any."""
    address = "127.0.0.1" if config.address == "localhost" else config.address
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    wanted = [config.port] if config.port else [remembered, 0] if remembered else [0]
    for port in wanted:
        listener = socket.socket(family)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            if port == wanted[-1]:
                raise OSError(error.errno, f"{error.strerror} ({address}, port {port})") from None
        else:
            return listener
    raise AssertionError("not reached")
