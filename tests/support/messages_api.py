"""A loopback Anthropic Messages API: enough of the wire for a real coding-agent CLI to hold a conversation offline.

It knows three things to say without being told: a plain sentence, a summary (when the CLI compacts a conversation), and
a token count. Everything else is scripted by the test: `api.answer("needle", Reply(...))` decides what is said to the
next requests whose newest prompt contains the needle. A reply can be text, a tool call, or either of them held back
until the test lets it go (`Gate`), so "the model is slow" needs no guess about time. Any other takes a quarter of a
second.

Side requests of a CLI (a title, a quota probe, a topic check) carry no tools; they are answered with the plain sentence
and never consume a script. Standard library only; one thread per connection, all joined by `close()`.
"""

from __future__ import annotations

import http.server
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Self

PLAIN: Final = "Understood."
SUMMARY: Final = "<analysis>Short talk.</analysis><summary>The conversation so far was a short test.</summary>"

_SUMMARY_REQUEST: Final = "create a detailed summary of"
"""Stands in the prompt with which Claude Code (2.1.197 and 2.1.332) asks for a compaction."""

THINKING_S: Final = 0.25
"""No model answers at once, and a turn that ends within some 10 ms may never show as busy in a CLI's descriptor."""

_LONGEST_HOLD_S: Final = 60.0
"""A held reply goes out after this even if the test forgot its gate: no thread may outlive a test run."""


class Gate:
    """Holds replies back until `open()`; `reached` is set as soon as one reply waits at it."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()

    def open(self) -> None:
        self._opened.set()

    def pass_through(self, seconds: float) -> None:
        self.reached.set()
        self._opened.wait(seconds)


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model asks for, for example `ToolCall("Bash", {"command": "touch x"})`."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer of the model: `text`, then `tool` if given. `gate`: not a word of it before the gate opens."""

    text: str = PLAIN
    tool: ToolCall | None = None
    gate: Gate | None = None


@dataclass(frozen=True)
class Recorded:
    """A request as it arrived. `at`: wall milliseconds. `prompt`: the newest thing the person (or a tool) said."""

    method: str
    path: str
    body: dict[str, Any]
    at: int

    @property
    def is_turn(self) -> bool:
        """Whether it asks for a step of the conversation (side requests carry no tools)."""
        return self.method == "POST" and self.path.split("?")[0] == "/v1/messages" and bool(self.body.get("tools"))

    @property
    def is_summary(self) -> bool:
        return self.method == "POST" and _SUMMARY_REQUEST in self.prompt

    @property
    def prompt(self) -> str:
        """The text of the newest user message, reminders of the CLI left out."""
        users = [m for m in self.body.get("messages", []) if m.get("role") == "user"]
        return "\n".join(_texts(users[-1].get("content"))) if users else ""


@dataclass
class _Script:
    needle: str
    replies: list[Reply]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> Reply:
        """The next reply; the last one is given again and again."""
        with self.lock:
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class MessagesApi:
    """The server. Use as a context manager; `url` is what goes into `ANTHROPIC_BASE_URL`."""

    def __init__(self, thinking_s: float = THINKING_S) -> None:
        self._thinking_s = thinking_s
        self._scripts: list[_Script] = []
        self._requests: list[Recorded] = []
        self._changed = threading.Condition()
        self._ids = itertools.count(1)
        self._gates: list[Gate] = []
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="messages-api")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let every held reply go, end all connections, join all threads."""
        self._closing.set()
        for gate in self._gates:
            gate.open()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, needle: str, *replies: Reply) -> None:
        """Answer turns whose newest prompt contains `needle` with these, the last one repeated. Newest rule wins."""
        self._gates += [reply.gate for reply in replies if reply.gate is not None]
        self._scripts.insert(0, _Script(needle, list(replies)))

    @property
    def requests(self) -> tuple[Recorded, ...]:
        with self._changed:
            return tuple(self._requests)

    def wait_for(self, wanted: Callable[[Recorded], bool], seconds: float) -> Recorded:
        """The first recorded request that `wanted` accepts, past or future. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                for request in self._requests:
                    if wanted(request):
                        return request
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise TimeoutError(f"no such request within {seconds} s; seen: {self._describe()}")

    def _describe(self) -> list[str]:
        return [f"{r.method} {r.path} {r.prompt[:60]!r}" for r in self._requests]

    def think(self, reply: Reply) -> None:
        """Return when the reply may go out."""
        if reply.gate:
            reply.gate.pass_through(_LONGEST_HOLD_S)
        else:
            self._closing.wait(self._thinking_s)

    def record(self, request: Recorded) -> None:
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()

    def choose(self, request: Recorded) -> Reply:
        """What to say to a `/v1/messages` request."""
        if request.is_summary:
            return Reply(SUMMARY)
        if request.is_turn:
            for script in self._scripts:
                if script.needle in request.prompt:
                    return script.take()
        return Reply()

    def events(self, reply: Reply, model: str) -> Iterator[dict[str, Any]]:
        """The reply as the events of a streamed message."""
        number = next(self._ids)
        yield {"type": "message_start", "message": _message(number, model, [], None)}
        for index, block in enumerate(_blocks(reply, number)):
            yield from _block_events(index, block)
        stop = "tool_use" if reply.tool else "end_turn"
        delta = {"stop_reason": stop, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 8}}
        yield {"type": "message_stop"}

    def whole(self, reply: Reply, model: str) -> dict[str, Any]:
        """The reply as one JSON message, for clients that do not stream."""
        number = next(self._ids)
        return _message(number, model, list(_blocks(reply, number)), "tool_use" if reply.tool else "end_turn")


def _texts(content: object) -> Iterator[str]:
    """The person's words in a message's content; blocks that the CLI adds as reminders are not theirs."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks if isinstance(blocks, list) else []:
        if block.get("type") == "tool_result":
            yield from _texts(block.get("content"))
        elif block.get("type") == "text" and not block["text"].lstrip().startswith("<system-reminder>"):
            yield block["text"]


def _message(number: int, model: str, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    head = {"id": f"msg_test_{number:04d}", "type": "message", "role": "assistant", "model": model}
    return {**head, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _blocks(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    if reply.text:
        yield {"type": "text", "text": reply.text}
    if reply.tool:
        yield {
            "type": "tool_use",
            "id": f"toolu_test_{number:04d}",
            "name": reply.tool.name,
            "input": reply.tool.arguments,
        }


def _block_events(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    start: dict[str, Any]
    if block["type"] == "text":
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = False  # so that server_close() joins every handler

    def __init__(self, api: MessagesApi) -> None:
        self.api = api
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End every connection: a client may keep an idle one whose handler would read for ever."""
        with self._guard:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # the peer was quicker

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle of a reply (Escape, SIGTERM) is an ordinary event here."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _dispatch(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(size)
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {"undecoded": raw.decode("utf-8", "replace")}
        api = self.server.api
        request = Recorded(self.command, self.path, body, time.time_ns() // 1_000_000)
        api.record(request)
        route = (self.command, self.path.split("?")[0])
        if route == ("POST", "/v1/messages"):
            self._converse(api, request)
        elif route == ("POST", "/v1/messages/count_tokens"):
            self._send_json(200, {"input_tokens": max(1, len(raw) // 4)})
        else:
            error = {"type": "not_found_error", "message": "not part of this test server"}
            self._send_json(404, {"type": "error", "error": error})

    do_GET = do_POST = do_HEAD = _dispatch  # noqa: N815  the names are the base class's

    def _converse(self, api: MessagesApi, request: Recorded) -> None:
        reply = api.choose(request)
        model = str(request.body.get("model", "test-model"))
        api.think(reply)
        if not request.body.get("stream"):
            self._send_json(200, api.whole(reply, model))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in api.events(reply, model):
            self._send_chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _send_json(self, code: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Prompts are nobody's business on a console."""
