"""Attacks on the page's server of a real host, each with what a right request would have, except for one thing.

There is a session whose program writes down every byte it is given. After each attack a right page types one mark, and
the program must have got the marks alone: what an attack sends, and sends on behind a refused head, reaches no PTY.
"""

from __future__ import annotations

import asyncio
import os
import resource
import stat
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.support.hosting import RunningHost, page, until
from tests.support.web import (
    BINARY,
    TEXT,
    Answer,
    Credential,
    WebPage,
    ask,
    credential_in,
    exchange,
    frame,
    fresh_ticket,
    handshake,
    head,
    log_in,
    port_of,
    read_answer,
    said,
    unmasked,
    web_page,
)

from switchboard.page import messages
from switchboard.page.web_connection import MAX_STRANGERS
from switchboard.page.web_server import BACKLOG, MAX_SOCKETS

RECORDER = """#!/bin/sh
stty raw -echo
printf 'ready to record'
exec tee -a "$RECORD"
"""

EVIL = b"evil\r"
ROUNDS = 4
"""Rounds of the event loop, each of which accepts up to `BACKLOG` connections, from the accepting of a connection to
the closing of the one that it pushes out."""


class Victim:
    """The host, its recording session, and a right page."""

    def __init__(self, root: Path) -> None:
        self.record = root / "record"
        shell = root / "recorder"
        shell.parent.mkdir(parents=True, exist_ok=True)
        shell.write_text(RECORDER, "utf-8")
        shell.chmod(0o755)
        self.host = RunningHost(root, {"SHELL": str(shell), "RECORD": str(self.record)})
        self.expected = b""
        self.handle = 0
        self.port = 0
        self.credential = Credential("", "", "")

    async def open(self) -> None:
        async with page(self.host) as shown:
            self.handle = await shown.open(self.host, "shell")
            await shown.printed(self.handle, b"ready to record")
        self.port = port_of(self.host)
        self.credential = await log_in(self.host)

    @property
    def pid(self) -> int:
        assert self.host.process is not None
        return self.host.process.pid

    def conversation(self) -> bytes:
        """What a page would say to type into the session, sent on behind whatever head."""
        return (
            said(messages.Hello(messages.PROTOCOL, "browser"))
            + said(messages.Ready())
            + said(messages.Attach(self.handle))
            + said(messages.Focus(self.handle, 80, 24))
            + frame(BINARY, messages.encode_input(self.handle, EVIL))
        )

    async def untouched(self) -> None:
        """A right page still works, and its marks are all that the program was given."""
        mark = b"<%d>" % len(self.expected)
        async with web_page(self.port, self.credential) as shown:
            shown.type(self.handle, mark)
            self.expected += mark
            await until(lambda: len(self.record.read_bytes()) >= len(self.expected), "the mark in the session")
        assert self.record.read_bytes() == self.expected


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    made = Victim(tmp_path_factory.mktemp("victim"))
    made.host.start()
    try:
        asyncio.run(made.open())
        yield made
    finally:
        made.host.cli("down", "--sessions")
        made.host.clean_up()


# --- origin -----------------------------------------------------------------------------------------------------------

ORIGINS = {
    "wrong": "http://evil.example",
    "missing": None,
    "null": "null",
    "other port": "http://127.0.0.1:1",
    "no port": "http://127.0.0.1",
    "other scheme": "https://127.0.0.1:PORT",
    "websocket scheme": "ws://127.0.0.1:PORT",
    "other name": "http://localhost:PORT",
    "longer": "http://127.0.0.1:PORT.evil.example",
    "empty": " ",
}


@pytest.mark.parametrize("origin", ORIGINS.values(), ids=ORIGINS)
async def test_a_websocket_from_another_origin(victim: Victim, origin: str | None) -> None:
    named = None if origin is None else origin.replace("PORT", str(victim.port))
    request = handshake(victim.port, victim.credential.headers, origin=named)
    assert (await ask(victim.port, request + victim.conversation())).status == 403
    await victim.untouched()


@pytest.mark.parametrize("origin", ORIGINS.values(), ids=ORIGINS)
async def test_a_ticket_from_another_origin(victim: Victim, origin: str | None) -> None:
    ticket = fresh_ticket(victim.host)
    body = b'{"ticket":"%s"}' % ticket.encode()
    headers = [
        ("Host", f"127.0.0.1:{victim.port}"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
    ]
    if origin is not None:
        headers.append(("Origin", origin.replace("PORT", str(victim.port))))
    assert (await ask(victim.port, head("POST", "/ticket", headers) + body)).status == 403
    assert (await exchange(victim.port, ticket)).status == 200, "the attack has not used it up"


# --- host -------------------------------------------------------------------------------------------------------------

HOSTS = {
    "a rebound name": [("Host", "evil.example:PORT")],
    "no port": [("Host", "127.0.0.1")],
    "another port": [("Host", "127.0.0.1:1")],
    "none": [],
    "two": [("Host", "127.0.0.1:PORT"), ("Host", "evil.example")],
    "twice the same": [("Host", "127.0.0.1:PORT"), ("Host", "127.0.0.1:PORT")],
    "X-Forwarded-Host forged": [("Host", "127.0.0.1:PORT"), ("X-Forwarded-Host", "evil.example")],
    "Host forged, X-Forwarded-Host right": [("Host", "evil.example"), ("X-Forwarded-Host", "127.0.0.1:PORT")],
    "Forwarded": [("Host", "127.0.0.1:PORT"), ("Forwarded", "host=127.0.0.1:PORT")],
}


@pytest.mark.parametrize("names", HOSTS.values(), ids=HOSTS)
async def test_a_request_for_another_host(victim: Victim, names: list[tuple[str, str]]) -> None:
    # HTTP itself wants exactly one: that is a bad request before it is a misdirected one.
    status = 421 if [name for name, _ in names].count("Host") == 1 else 400
    headers = [(name, value.replace("PORT", str(victim.port))) for name, value in names]
    # A rebound page is of the same origin as the name it came by.
    origin = f"http://{headers[0][1]}" if headers else ""
    request = handshake(victim.port, [*headers, *victim.credential.headers], host=None, origin=origin)
    answer = await ask(victim.port, request + victim.conversation())
    assert answer.status == status
    assert (await ask(victim.port, head("GET", "/", headers))).status == status
    await victim.untouched()


async def test_a_request_that_names_another_host_in_its_target(victim: Victim) -> None:
    headers = [("Host", f"127.0.0.1:{victim.port}")]
    answer = await ask(victim.port, head("GET", "http://evil.example/", headers))
    assert answer.status in (400, 404)


# --- tickets and cookies ----------------------------------------------------------------------------------------------


async def test_a_ticket_used_twice(victim: Victim) -> None:
    ticket = fresh_ticket(victim.host)
    assert (await exchange(victim.port, ticket)).status == 200
    again = await exchange(victim.port, ticket)
    assert again.status == 401
    assert "set-cookie" not in again.headers


async def test_a_ticket_is_taken_by_one_of_many_at_once(victim: Victim) -> None:
    ticket = fresh_ticket(victim.host)
    answers = await asyncio.gather(*(exchange(victim.port, ticket) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [200] + [401] * 7


async def test_guessing_is_answered_with_a_limit(victim: Victim) -> None:
    statuses = {(await exchange(victim.port, f"{number:043}")).status for number in range(40)}
    assert statuses <= {401, 429}
    assert 429 in statuses
    assert (await exchange(victim.port, fresh_ticket(victim.host))).status == 200, "a right one is still taken"


async def test_the_credential_of_another_host(victim: Victim, tmp_path: Path) -> None:
    other = RunningHost(tmp_path).start()
    try:
        foreign = await log_in(other)
    finally:
        other.clean_up()
    for stolen in (foreign, Credential(victim.credential.name, foreign.cookie, foreign.key)):
        request = handshake(victim.port, stolen.headers)
        assert (await ask(victim.port, request + victim.conversation())).status == 401
    await victim.untouched()


async def test_half_of_a_credential(victim: Victim) -> None:
    """A server on another port of this machine is sent the cookie by browsers, and nothing sends it the key."""
    for part in ([], victim.credential.headers[:1], victim.credential.headers[1:]):
        request = handshake(victim.port, part)
        assert (await ask(victim.port, request + victim.conversation())).status == 401
    await victim.untouched()


async def test_no_secret_lies_on_the_disk(victim: Victim) -> None:
    ticket = fresh_ticket(victim.host)
    credential = credential_in(await exchange(victim.port, ticket))
    for path in victim.host.data.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for secret in (ticket, credential.cookie, credential.key):
                assert secret.encode() not in content, path
    assert stat.S_IMODE((victim.host.data / "web.json").stat().st_mode) == 0o600
    assert ticket not in (victim.host.data / "host.json").read_text("utf-8")


# --- forms ------------------------------------------------------------------------------------------------------------

FORMS = {
    "a form of another site": ("application/x-www-form-urlencoded", "http://evil.example", 403),
    "a form without an origin": ("application/x-www-form-urlencoded", None, 403),
    "a form of our own": ("application/x-www-form-urlencoded", "", 415),
    "text/plain of another site": ("text/plain", "http://evil.example", 403),
    "text/plain of our own": ("text/plain", "", 415),
    "multipart of our own": ("multipart/form-data; boundary=x", "", 415),
    "no type": ("", "", 415),
}


@pytest.mark.parametrize(("kind", "origin", "status"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("path", ["/ticket", "/ws", "/"])
async def test_a_post_as_forms_make_it(victim: Victim, kind: str, origin: str | None, status: int, path: str) -> None:
    ticket = fresh_ticket(victim.host) if path == "/ticket" else "t"
    body = b'{"ticket":"%s"}' % ticket.encode()
    headers = [("Host", f"127.0.0.1:{victim.port}"), ("Content-Length", str(len(body))), *victim.credential.headers[:1]]
    headers += [("Content-Type", kind)] if kind else []
    headers += [] if origin is None else [("Origin", origin or f"http://127.0.0.1:{victim.port}")]
    answer = await ask(victim.port, head("POST", path, headers) + body)
    assert answer.status == (status if path == "/ticket" or status == 403 else 405)
    assert "set-cookie" not in answer.headers


async def test_a_body_without_end(victim: Victim) -> None:
    headers = [
        ("Host", f"127.0.0.1:{victim.port}"),
        ("Origin", f"http://127.0.0.1:{victim.port}"),
        ("Content-Type", "application/json"),
    ]
    declared = head("POST", "/ticket", [*headers, ("Content-Length", "100000000")])
    assert (await ask(victim.port, declared + b"x" * 200_000)).status == 413
    chunked = head("POST", "/ticket", [*headers, ("Transfer-Encoding", "chunked")])
    assert (await ask(victim.port, chunked + b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n" + b"ffff\r\n")).status == 413


async def test_a_request_hidden_behind_a_refused_one(victim: Victim) -> None:
    """What follows a refused head on its connection is not read as a request."""
    hidden = handshake(victim.port, victim.credential.headers) + victim.conversation()
    for first in (
        head("POST", "/ticket", [("Host", "evil.example"), ("Content-Length", str(len(hidden)))]),
        head("GET", "/", [("Host", "evil.example")]),
        head("GET", "/nowhere", [("Host", f"127.0.0.1:{victim.port}")]),
        head(
            "POST",
            "/ticket",
            [("Host", f"127.0.0.1:{victim.port}"), ("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
        ),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", victim.port)
        writer.write(first + hidden)
        everything = await reader.read()
        writer.close()
        assert everything.startswith(b"HTTP/1.")
        assert everything.count(b"HTTP/1.") == 1
        assert b" 101 " not in everything
    await victim.untouched()


@pytest.mark.parametrize(
    "request_",
    [b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00" * 9, b"A" * 9000],
    ids=["zeros", "half a line", "a future", "TLS", "long"],
)
async def test_what_is_no_http(victim: Victim, request_: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", victim.port)
    writer.write(request_)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    assert answer == b"" or answer.startswith(b"HTTP/1.")
    assert b" 200 " not in answer.split(b"\r\n")[0]


async def test_nothing_of_a_session_is_served_without_the_credential(victim: Victim) -> None:
    names = [str(victim.host.project), "ready to record", victim.host.sessions()[0]["id"]]
    host = [("Host", f"127.0.0.1:{victim.port}")]
    for path in ("/", "/check", "/ws", "/sessions", "/assets/x.js", "/host.json", "/../web.json", "/%2e%2e/web.json"):
        answer = await ask(victim.port, head("GET", path, host))
        assert not any(name.encode() in answer.body for name in names)


# --- many connections -------------------------------------------------------------------------------------------------


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


async def echo_ms(victim: Victim, shown: WebPage, word: bytes) -> float:
    """How long the recorder's answer to a word takes."""
    begin = time.perf_counter()
    victim.expected += word
    shown.type(victim.handle, word)
    await shown.printed(victim.handle, word)
    return (time.perf_counter() - begin) * 1000


async def test_ten_thousand_connections(victim: Victim) -> None:
    """Held open, half of them with half a request: a page keeps working, a newcomer gets in, and nothing piles up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    before = open_files(victim.pid), resident_mb(victim.pid)
    most_files, slowest = 0, 0.0
    held: list[asyncio.StreamWriter] = []
    try:
        async with web_page(victim.port, victim.credential) as shown:
            shown.say(messages.Attach(victim.handle))
            for number in range(10_000):
                _, writer = await asyncio.open_connection("127.0.0.1", victim.port)
                held.append(writer)
                if number % 2:
                    writer.write(b"GET / HTTP/1.1\r\nHost: ")
                if number % 500 == 499:
                    most_files = max(most_files, open_files(victim.pid))
                    slowest = max(slowest, await echo_ms(victim, shown, b"<w%03d>" % (number // 500)))
                    assert (await exchange(victim.port, fresh_ticket(victim.host))).status == 200
            after = resident_mb(victim.pid)
    finally:
        for writer in held:
            writer.transport.abort()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert most_files < before[0] + MAX_STRANGERS + ROUNDS * BACKLOG + 64
    assert after < before[1] + 40
    assert slowest < 1000
    await victim.untouched()


async def test_no_more_pages_than_can_be_served(victim: Victim) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(MAX_SOCKETS):
            await stack.enter_async_context(web_page(victim.port, victim.credential, hello=False))
        request = handshake(victim.port, victim.credential.headers)
        assert (await ask(victim.port, request + victim.conversation())).status == 429
    await until_untouched(victim)


async def until_untouched(victim: Victim) -> None:
    """As `untouched`, once the host has seen that the others have gone."""
    deadline = time.monotonic() + 10
    while (await ask(victim.port, handshake(victim.port, victim.credential.headers))).status != 101:
        assert time.monotonic() < deadline
    await victim.untouched()


# --- frames -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
async def test_a_frame_of_100_mb(victim: Victim, opcode: int) -> None:
    before = resident_mb(victim.pid)
    async with web_page(victim.port, victim.credential) as shown:
        shown.writer.write(frame(opcode, b"", length=100 * 1024 * 1024))
        sent = 0
        while shown.closed is None and sent < 100 * 1024 * 1024:
            shown.writer.write(b"x" * 65536)
            sent += 65536
            try:
                await shown.writer.drain()
            except ConnectionError:
                break
        # The close says 1009; when our bytes are still under way, the system's reset may overtake it.
        assert await shown.ended() in (1009, 1006)
    assert resident_mb(victim.pid) < before + 20
    await victim.untouched()


async def test_a_frame_of_100_mb_is_refused_at_its_head(victim: Victim) -> None:
    async with web_page(victim.port, victim.credential) as shown:
        shown.writer.write(frame(BINARY, b"", length=100 * 1024 * 1024))
        assert await shown.ended() == 1009


async def test_a_message_of_100_mb_in_small_frames(victim: Victim) -> None:
    before = resident_mb(victim.pid)
    async with web_page(victim.port, victim.credential) as shown:
        shown.writer.write(frame(TEXT, b"x" * 1000, final=False))
        try:
            for _ in range(100_000):
                if shown.closed is not None:
                    break
                shown.writer.write(frame(0, b"x" * 1000, final=False))
                await shown.writer.drain()
        except ConnectionError:
            pass
        assert await shown.ended() in (1009, 1006)
    assert resident_mb(victim.pid) < before + 20
    await victim.untouched()


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (frame(TEXT, b'{"type":"ready\xff"}'), 1007),
        (frame(TEXT, b"\xed\xa0\x80"), 1007),
        (frame(TEXT, b'{"type":"format_disk"}'), 1001),
        (frame(TEXT, b'{"type":"ready","more":1}'), 1001),
        (frame(TEXT, b"[" * 100_000), 1001),
        (frame(TEXT, b""), 1001),
        (frame(TEXT, b'{"type":"hello","protocol":2,"kind":"browser"}'), 1001),
        (frame(BINARY, b""), 1001),
        (frame(BINARY, b"\x02\0\0\0\x01evil"), 1001),
        (frame(BINARY, b"\x01\0\0\0\x01" + b"x" * (messages.MAX_INPUT + 1)), 1001),
        (frame(3, b"evil"), 1002),
        (b"\xff" + frame(TEXT, b"evil")[1:], 1002),
    ],
    ids=[
        "invalid UTF-8",
        "a surrogate",
        "an unknown message",
        "an unknown field",
        "deep",
        "empty",
        "hello twice",
        "an empty run of keys",
        "output from a page",
        "too many keys at once",
        "an unknown opcode",
        "reserved bits",
    ],
)
async def test_nonsense_ends_the_connection_and_takes_nothing_with_it(victim: Victim, bad: bytes, code: int) -> None:
    async with web_page(victim.port, victim.credential) as shown:
        keys = messages.encode_input(victim.handle, EVIL)
        shown.writer.write(bad + frame(BINARY, keys))
        assert await shown.ended() == code
    await victim.untouched()


@pytest.mark.parametrize("apart", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("first", ["keys", "hello"])
async def test_frames_that_are_not_masked(victim: Victim, first: str, apart: bool) -> None:
    """Whoever does not mask is no browser; what came masked before still counts, and nothing after it does."""
    keys = messages.encode_input(victim.handle, EVIL)
    async with web_page(victim.port, victim.credential, hello=first == "keys") as shown:
        if first == "hello":
            bad = unmasked(TEXT, messages.encode(messages.Hello(messages.PROTOCOL, "browser")))
        else:
            shown.type(victim.handle, b"right")
            victim.expected += b"right"
            bad = unmasked(BINARY, keys)
        for byte in [bad[at : at + 1] for at in range(len(bad))] if apart else [bad]:
            shown.writer.write(byte)
            await asyncio.sleep(0)
        shown.writer.write(frame(BINARY, keys) + unmasked(BINARY, keys))
        assert await shown.ended() == 1002
    await victim.untouched()


async def test_a_frame_that_is_not_masked_sent_with_the_handshake(victim: Victim) -> None:
    hello = messages.encode(messages.Hello(messages.PROTOCOL, "browser"))
    keys = messages.encode_input(victim.handle, EVIL)
    sent = handshake(victim.port, victim.credential.headers) + unmasked(TEXT, hello) + unmasked(BINARY, keys)
    reader, writer = await asyncio.open_connection("127.0.0.1", victim.port)
    writer.write(sent)
    assert (await read_answer(reader)).status == 101
    shown = WebPage(reader, writer)
    await shown.receive()
    writer.close()
    assert (shown.closed, shown.said) == (1002, [])
    await victim.untouched()


async def test_keys_before_hello(victim: Victim) -> None:
    async with web_page(victim.port, victim.credential, hello=False) as shown:
        shown.writer.write(frame(BINARY, messages.encode_input(victim.handle, EVIL)))
        assert await shown.ended() == 1001
        assert isinstance(shown.said[-1], messages.Problem)
    await victim.untouched()


async def test_a_flood_of_messages_holds_up_its_sender_alone(victim: Victim) -> None:
    async with web_page(victim.port, victim.credential) as flood, web_page(victim.port, victim.credential) as other:
        flood.writer.write(said(messages.Ready()) * 20_000)
        await flood.once(lambda: True, "")
        begin = time.perf_counter()
        other.say(messages.ListSessions(7, 0))
        await other.heard(messages.Listing)
        assert time.perf_counter() - begin < 1
    await victim.untouched()


# --- pages that do not read -------------------------------------------------------------------------------------------


async def test_a_page_that_never_reads(victim: Victim) -> None:
    """It looks at a session that prints without end; memory stays bounded and another session answers at once."""
    async with page(victim.host) as local:
        loud = await local.open(victim.host, "new")
        await local.status(loud, "idle")
        local.say(messages.Detach(loud))
        terminal = next(s for s in victim.host.sessions() if s["handle"] == loud)["pid"]
        path = os.readlink(f"/proc/{terminal}/fd/1")
        async with (
            web_page(victim.port, victim.credential, reads=False) as stuck,
            web_page(victim.port, victim.credential) as shown,
        ):
            stuck.say(messages.Attach(loud))
            shown.say(messages.Attach(victim.handle))
            await shown.heard(messages.Attached)
            before = resident_mb(victim.pid)
            printing = asyncio.create_task(asyncio.to_thread(_print_much, path, 60))
            times = [await echo_ms(victim, shown, b"<q%03d>" % number) for number in range(40)]
            await printing
            assert resident_mb(victim.pid) < before + 10
            assert sorted(times)[-2] < 100
        assert (await local.ask(lambda request: messages.StopSession(request, loud, force=True))).ok
    await victim.untouched()


def _print_much(path: str, megabytes: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NOCTTY)
    try:
        line = b"all work and no play makes a dull terminal\r\n" * 1500
        for _ in range(megabytes * 1024 * 1024 // len(line)):
            os.write(descriptor, line)
    finally:
        os.close(descriptor)


async def test_the_right_page_is_served(victim: Victim) -> None:
    """The attacks above are refused for what is wrong with them: without that, each is served."""
    answer: Answer = await ask(victim.port, head("GET", "/", [("Host", f"127.0.0.1:{victim.port}")]))
    assert answer.status == 200
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    check = [("Host", f"127.0.0.1:{victim.port}"), *victim.credential.headers[:1]]
    answer = await ask(victim.port, head("GET", "/check", [*check, ("X-Switchboard-Key", victim.credential.key)]))
    assert answer.status == 204
    assert (await ask(victim.port, head("GET", "/check", check))).status == 401
    await victim.untouched()
