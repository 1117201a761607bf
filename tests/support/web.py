"""The browser page's server as a stranger meets it: raw requests, and a page that a test drives byte by byte."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookies import SimpleCookie

from switchboard.page import messages
from switchboard.page.messages import HostMessage, PageMessage
from switchboard.page.security import SUBPROTOCOL
from tests.support.hosting import DEADLINE, RunningHost

TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9
"""Opcodes of WebSocket frames."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Credential:
    """What a browser has after it exchanged a ticket."""

    name: str
    cookie: str
    key: str

    @property
    def headers(self) -> list[tuple[str, str]]:
        return [
            ("Cookie", f"{self.name}={self.cookie}"),
            ("Sec-WebSocket-Protocol", f"{SUBPROTOCOL}, key.{self.key}"),
        ]


def port_of(host: RunningHost) -> int:
    """The port that a host serves its page on."""
    return int(json.loads((host.data / "web.json").read_text("utf-8"))["port"])


def fresh_ticket(host: RunningHost) -> str:
    """A new ticket, as `switchboard url` gives it."""
    said = host.cli("url")
    assert said.returncode == 0, said.stderr
    return said.stdout.strip().partition("#ticket=")[2]


def head(method: str, path: str, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """Read one answer. A connection that ends without one is status 0."""
    try:
        async with asyncio.timeout(DEADLINE):
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return Answer(0, {}, b"")
    return Answer(int(lines[0].split()[1]), headers, body)


async def ask(port: int, request: bytes, *, address: str = "127.0.0.1") -> Answer:
    """Send bytes on a connection of their own and return the answer."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(request)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        return await read_answer(reader)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def exchange(port: int, ticket: str, name: str = "127.0.0.1") -> Answer:
    """Exchange a ticket as the page does."""
    body = json.dumps({"ticket": ticket}).encode()
    headers = [
        ("Host", f"{name}:{port}"),
        ("Origin", f"http://{name}:{port}"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
    ]
    return await ask(port, head("POST", "/ticket", headers) + body)


def credential_in(answer: Answer) -> Credential:
    """The credential that an exchange gave."""
    assert answer.status == 200, answer
    ((name, morsel),) = SimpleCookie(answer.headers["set-cookie"]).items()
    return Credential(name, morsel.value, json.loads(answer.body)["key"])


async def log_in(host: RunningHost) -> Credential:
    """What a person does: take the address and open it."""
    return credential_in(await exchange(port_of(host), await asyncio.to_thread(fresh_ticket, host)))


def handshake(port: int, extra: Iterable[tuple[str, str]], *, host: str | None = "", origin: str | None = "") -> bytes:
    """A WebSocket handshake. Empty `host` and `origin`: the right ones; None: none."""
    right = f"127.0.0.1:{port}"
    own = [] if host is None else [("Host", host or right)]
    own += [] if origin is None else [("Origin", origin or f"http://{right}")]
    fixed = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", base64.b64encode(os.urandom(16)).decode()),
    ]
    return head("GET", "/ws", [*own, *fixed, *extra])


def frame(opcode: int, body: bytes, *, final: bool = True, length: int | None = None) -> bytes:
    """A frame as browsers send it, masked (with zeros). `length`: what it claims to have."""
    size = len(body) if length is None else length
    first = bytes([(0x80 if final else 0) | opcode])
    if size < 126:
        sized = bytes([0x80 | size])
    elif size < 65536:
        sized = bytes([0x80 | 126]) + struct.pack(">H", size)
    else:
        sized = bytes([0x80 | 127]) + struct.pack(">Q", size)
    return first + sized + b"\0\0\0\0" + body


def unmasked(opcode: int, body: bytes) -> bytes:
    """A whole frame as servers send it, and browsers never do."""
    masked = frame(opcode, body)
    head = len(masked) - len(body) - 4
    return masked[:1] + bytes([masked[1] & 0x7F]) + masked[2:head] + body


def said(message: PageMessage) -> bytes:
    return frame(TEXT, messages.encode(message))


class WebPage:
    """A page's WebSocket. `said` and `output` collect what the host says; `closed` is the code of its end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.said: list[HostMessage] = []
        self.output: dict[int, bytearray] = {}
        self.seqs: list[tuple[int, int]] = []
        self.closed: int | None = None
        self.answers_pings = True
        self.news = asyncio.Event()

    def say(self, message: PageMessage) -> None:
        self.writer.write(said(message))

    def type(self, handle: int, data: bytes) -> None:
        for one in messages.encode_inputs(handle, data):
            self.writer.write(frame(BINARY, one))

    async def receive(self) -> None:
        """Read until the connection ends."""
        try:
            while self.closed is None:
                first, second = await self.reader.readexactly(2)
                size = second & 0x7F
                if size == 126:
                    (size,) = struct.unpack(">H", await self.reader.readexactly(2))
                elif size == 127:
                    (size,) = struct.unpack(">Q", await self.reader.readexactly(8))
                self._take(first & 0x0F, await self.reader.readexactly(size))
                self.news.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.closed = self.closed or 1006
        self.news.set()

    def _take(self, opcode: int, body: bytes) -> None:
        if opcode == CLOSE:
            self.closed = struct.unpack(">H", body[:2])[0] if body else 1005
        elif opcode == BINARY:
            handle, seq, data = messages.decode_output(body)
            self.output.setdefault(handle, bytearray()).extend(data)
            self.seqs.append((seq, len(data)))
        elif opcode == TEXT:
            message = messages.decode_from_host(body)
            self.said.append(message)
            if isinstance(message, messages.Ping) and self.answers_pings:
                self.say(messages.Pong(message.number))

    async def once(self, condition: object, what: str, seconds: float = DEADLINE) -> None:
        """Wait until what came makes `condition` true."""
        assert callable(condition)
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}; heard {self.said[-5:]}") from None

    async def heard(self, kind: type) -> None:
        await self.once(lambda: any(isinstance(message, kind) for message in self.said), kind.__name__)

    async def printed(self, handle: int, text: bytes) -> None:
        await self.once(lambda: text in self.output.get(handle, b""), f"{text!r} in the output")

    async def ended(self, seconds: float = DEADLINE) -> int:
        """Wait for the end; return its code (1006: without a word)."""
        await self.once(lambda: self.closed is not None, "the end of the connection", seconds)
        assert self.closed is not None
        return self.closed


@asynccontextmanager
async def web_page(
    port: int, credential: Credential, *, hello: bool = True, ready: bool = True, reads: bool = True
) -> AsyncIterator[WebPage]:
    """Connect a page. `reads` False: after the handshake nothing is taken from the socket."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=64 * 1024)
    try:
        writer.write(handshake(port, credential.headers))
        answer = await read_answer(reader)
        assert answer.status == 101, answer
        shown = WebPage(reader, writer)
        receiving = asyncio.create_task(shown.receive()) if reads else None
        try:
            if hello:
                shown.say(messages.Hello(messages.PROTOCOL, "browser"))
            if ready and hello:
                shown.say(messages.Ready())
                if reads:
                    await shown.heard(messages.Sessions)
            yield shown
        finally:
            if receiving is not None:
                receiving.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await receiving
    finally:
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
