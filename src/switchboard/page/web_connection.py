"""One connection to the page's server, before and while it is a page's (door).

A connection that is no page's yet lives so many seconds and no longer, whatever it sends. Of these there are
`MAX_STRANGERS` at most, and a newcomer pushes out the oldest, so that who opens connections and holds them keeps nobody
out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

from aiohttp import web
from aiohttp.http_websocket import WebSocketReader
from aiohttp.web_protocol import RequestHandler

from switchboard.common.facts import Log
from switchboard.page.masks import MaskGuard
from switchboard.page.security import Refused, response_headers

MAX_STRANGERS = 128
"""Connections that are no page's, at once. A browser opens six."""

NO_FRAME = b"\x83\x80"
"""A head with an opcode that does not exist: the library answers it as an unmasked one has to be, with 1002."""

_silent = logging.getLogger("switchboard.web")
"""What strangers send is nothing to fill a log with; faults of ours go to the host's log."""
_silent.addHandler(logging.NullHandler())
_silent.propagate = False


def refusal(refused: Refused) -> web.Response:
    """Return the answer to a request that is not served; the connection ends with it."""
    headers = {**response_headers(None), "Content-Type": "text/plain; charset=utf-8", "Connection": "close"}
    if refused.allow is not None:
        headers["Allow"] = refused.allow
    response = web.Response(status=refused.status, body=f"{refused.text}\n".encode(), headers=headers)
    # What follows a refused head is not read as a further request.
    response.force_close()
    return response


class Strangers:
    """Connections that are no page's yet, oldest first. `seconds`: how long each may last."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.connections: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        self.connections[connection] = None
        if len(self.connections) > MAX_STRANGERS:
            next(iter(self.connections)).abort()


class Unmasking:
    """The library's reader of frames, behind the guard that it lacks."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._guard = MaskGuard()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        admitted, breached = self._guard.admit(data)
        answer: tuple[bool, bytes] = self._reader.feed_data(admitted + NO_FRAME if breached else admitted)
        return answer

    def feed_eof(self) -> None:
        self._reader.feed_eof()


class Connection(RequestHandler):
    """One connection, with its end set when it begins."""

    __slots__ = ("_end", "_log", "_strangers")

    def __init__(self, server: web.Server, strangers: Strangers, loop: asyncio.AbstractEventLoop, log: Log) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=strangers.seconds,
            access_log=None,  # type: ignore[arg-type]  # the library takes None as "no log"
            logger=_silent,
            lingering_time=1.0,
            max_line_size=4096,
            max_headers=96,
            auto_decompress=False,
        )
        self._strangers = strangers
        self._log = log
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._end = asyncio.get_running_loop().call_later(self._strangers.seconds, self.abort)
        self._strangers.add(self)

    def set_parser(self, parser: WebSocketReader, data_received_cb: Callable[[], None] | None = None) -> None:
        """The connection is upgraded: from here on come frames, the first of them perhaps with the handshake."""
        super().set_parser(cast("WebSocketReader", Unmasking(parser)), data_received_cb)

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer what is no HTTP, and our own faults; without repeating anything of either."""
        if status >= 500:
            self._log.error(f"page request failed: {type(exc).__name__}: {exc}")
            return refusal(Refused(status, "Something is wrong on this side; the host's log says what."))
        return refusal(Refused(status, "That is no request."))

    def belongs_to_a_page(self) -> None:
        """From now on the hub watches over it."""
        self._strangers.connections.pop(self, None)
        if self._end is not None:
            self._end.cancel()
            self._end = None

    def abort(self) -> None:
        """End the connection now."""
        self.belongs_to_a_page()
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.belongs_to_a_page()
        super().connection_lost(exc)
