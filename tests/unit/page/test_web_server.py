"""The page's server over a real socket, with time moved by hand and no session behind it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.hand_clock import HandClock, turns
from tests.support.pages import a_broker
from tests.support.sessions import ListLog
from tests.support.web import (
    Credential,
    WebPage,
    ask,
    credential_in,
    exchange,
    frame,
    handshake,
    head,
    read_answer,
    said,
    web_page,
)

from switchboard.page import messages
from switchboard.page.hub import PING_MS, PONG_MS, PageHub
from switchboard.page.security import GRANT_MS, TICKET_MS, digest
from switchboard.page.web_config import WebConfig
from switchboard.page.web_files import LeadFile, RecordFile
from switchboard.page.web_server import MESSAGES_BURST, MESSAGES_PER_SECOND, WebServer, web_server

INDEX = "<!doctype html><title>the page</title>"


class NoSessions:
    """A registry that nothing was opened in."""

    def by_handle(self, _handle: int) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class NoActions:
    async def listing(self, _closed: int) -> list[messages.SessionInfo]:
        return []


class Place:
    """Where servers run, one after the other."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.static = root / "static"
        (self.static / "assets").mkdir(parents=True)
        (self.static / "index.html").write_text(INDEX, "utf-8")
        (self.static / "assets" / "a-1.js").write_text("1", "utf-8")
        self.clock = HandClock()
        self.log = ListLog()
        self.epochs = 0
        self.stack = AsyncExitStack()

    def epoch(self) -> str:
        self.epochs += 1
        return f"epoch {self.epochs}"

    async def start(self, **config: Any) -> WebServer:
        hub = PageHub(NoSessions(), NoActions(), self.clock, self.log, "0", a_broker(self.clock))  # type: ignore[arg-type]  # what is used of them
        wanted = WebConfig(str(self.static), **config)
        return await self.stack.enter_async_context(
            web_server(wanted, hub, RecordFile(str(self.root)), self.epoch, self.clock, self.log)
        )

    async def stop(self) -> None:
        await self.stack.aclose()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    yield made
    await made.stop()


def port_of(server: WebServer) -> int:
    return int(server.url.rstrip("/").rpartition(":")[2])


def ticket_of(server: WebServer) -> str:
    return server.fresh_url().partition("#ticket=")[2]


async def log_in(server: WebServer) -> Credential:
    return credential_in(await exchange(port_of(server), ticket_of(server)))


async def check(port: int, credential: Credential) -> int:
    headers = [("Host", f"127.0.0.1:{port}"), *credential.headers[:1], ("X-Switchboard-Key", credential.key)]
    return (await ask(port, head("GET", "/check", headers))).status


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "kind", "kept"),
    [
        ("/", 200, "text/html; charset=utf-8", "no-store"),
        ("/assets/a-1.js", 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
        ("/assets/a-2.js", 404, "text/plain; charset=utf-8", "no-store"),
        ("/assets/a-1.exe", 404, "text/plain; charset=utf-8", "no-store"),
        ("/assets/link.js", 404, "text/plain; charset=utf-8", "no-store"),
        ("/web.json", 404, "text/plain; charset=utf-8", "no-store"),
    ],
)
async def test_files_of_the_page_and_no_others(place: Place, path: str, status: int, kind: str, kept: str) -> None:
    (place.static / "assets" / "link.js").symlink_to(place.root / "web.json")
    (place.static / "assets" / "a-1.exe").write_text("", "utf-8")
    port = port_of(await place.start())
    answer = await ask(port, head("GET", path, [("Host", f"127.0.0.1:{port}")]))
    assert (answer.status, answer.headers["content-type"]) == (status, kind)
    assert answer.headers["cache-control"] == kept
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["server"] == "switchboard"


async def test_a_connection_serves_several_files(place: Place) -> None:
    port = port_of(await place.start())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for path in ("/", "/assets/a-1.js", "/"):
        writer.write(head("GET", path, [("Host", f"127.0.0.1:{port}")]))
        assert (await read_answer(reader)).status == 200
    writer.close()


# --- tickets and grants -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("late", "status"), [(TICKET_MS - 1, 200), (TICKET_MS, 401)])
async def test_a_late_ticket(place: Place, late: int, status: int) -> None:
    server = await place.start()
    ticket = ticket_of(server)
    place.clock.run(late)
    assert (await exchange(port_of(server), ticket)).status == status


async def test_the_next_host_has_the_same_port_and_knows_the_browser(place: Place) -> None:
    first = await place.start()
    credential = await log_in(first)
    port = port_of(first)
    await place.stop()
    second = await place.start()
    assert port_of(second) == port
    assert await check(port, credential) == 204
    place.clock.run(GRANT_MS)
    assert await check(port, credential) == 401


async def test_a_taken_port_is_given_up_for_another_unless_it_was_asked_for(place: Place) -> None:
    first = await place.start()
    other = Place(place.root / "other")
    (place.root / "other" / "web.json").write_text(
        json.dumps({"instance": "0123456789abcdef", "port": port_of(first), "grants": []}), "utf-8"
    )
    second = await other.start()
    assert port_of(second) != port_of(first)
    await other.stop()
    with pytest.raises(OSError, match="Address already in use"):
        await other.start(port=port_of(first))


async def test_a_broken_record_is_begun_anew(place: Place) -> None:
    (place.root / "web.json").write_bytes(b'{"instance": "oh')
    server = await place.start()
    assert await check(port_of(server), await log_in(server)) == 204
    assert stat.S_IMODE((place.root / "web.json").stat().st_mode) == 0o600


async def test_a_record_that_cannot_be_written_is_said_and_costs_nothing_now(place: Place) -> None:
    server = await place.start()
    os.mkdir(place.root / "web.json.tmp")
    assert await check(port_of(server), await log_in(server)) == 204
    assert any("web.json cannot be written" in line for line in map(str, place.log.lines))


async def test_the_standing_credential_opens_the_page_again_and_again(place: Place) -> None:
    server = await place.start(standing=digest("s" * 40))
    for _ in range(2):
        assert await check(port_of(server), credential_in(await exchange(port_of(server), "s" * 40))) == 204


# --- the file that leads a browser here -------------------------------------------------------------------------------


async def test_the_lead_goes_once_its_ticket_is_used(place: Place) -> None:
    server = await place.start()
    lead = Path(LeadFile(str(place.root)).write(server.fresh_url()))
    ticket = lead.read_text("utf-8").partition("#ticket=")[2][:43]
    await exchange(port_of(server), ticket_of(server))
    assert lead.exists(), "another ticket was used"
    assert (await exchange(port_of(server), "x" * 43)).status == 401
    assert lead.exists()
    assert (await exchange(port_of(server), ticket)).status == 200
    assert not lead.exists()
    await turns()
    assert not place.clock.armed, "and nothing waits any more"


async def test_the_lead_goes_once_its_ticket_is_too_old(place: Place) -> None:
    server = await place.start()
    server.fresh_url()
    place.clock.run(1000)
    lead = Path(LeadFile(str(place.root)).write(server.fresh_url()))
    await turns()
    place.clock.run(TICKET_MS - 1000)
    await turns()
    place.clock.run(999)
    await turns()
    assert lead.exists()
    place.clock.run(1)
    await turns()
    assert not lead.exists()
    assert not place.clock.armed


async def test_a_lead_of_an_earlier_host_and_of_one_that_ends_goes(place: Place) -> None:
    lead = Path(LeadFile(str(place.root)).write("http://127.0.0.1:1/#ticket=old"))
    server = await place.start()
    assert not lead.exists()
    LeadFile(str(place.root)).write(server.fresh_url())
    async with asyncio.timeout(5):
        await place.stop()
    assert not lead.exists()


async def test_a_lead_that_was_changed_by_hand_goes_too(place: Place) -> None:
    server = await place.start()
    lead = Path(LeadFile(str(place.root)).write("http://127.0.0.1:1/"))
    await log_in(server)
    assert not lead.exists()


async def test_nothing_secret_is_logged(place: Place) -> None:
    server = await place.start()
    ticket = ticket_of(server)
    credential = credential_in(await exchange(port_of(server), ticket))
    await exchange(port_of(server), ticket)
    async with web_page(port_of(server), credential) as shown:
        shown.writer.write(frame(1, b"nonsense"))
        await shown.ended()
    logged = "\n".join(map(str, place.log.lines))
    for secret in (ticket, credential.cookie, credential.key):
        assert secret not in logged


# --- connections ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"G",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"\r\n".join(
            (
                b"POST /ticket HTTP/1.1",
                b"Host: 127.0.0.1:PORT",
                b"Origin: http://127.0.0.1:PORT",
                b"Content-Type: application/json",
                b"Content-Length: 50",
                b"",
                b"{",
            )
        ),
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    ],
    ids=["silent", "one byte", "half a head", "half a body", "idle after an answer"],
)
async def test_a_slow_handshake_is_ended(place: Place, beginning: bytes) -> None:
    server = await place.start(stranger_seconds=0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
    writer.write(beginning.replace(b"PORT", str(port_of(server)).encode()))
    async with asyncio.timeout(5):
        try:
            while await reader.read(65536):
                pass
        except ConnectionResetError:
            pass
    writer.close()


async def test_one_that_keeps_asking_is_ended_too(place: Place) -> None:
    server = await place.start(stranger_seconds=0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
    answers = 0
    async with asyncio.timeout(5):
        while True:
            writer.write(head("GET", "/", [("Host", f"127.0.0.1:{port_of(server)}")]))
            if (await read_answer(reader)).status != 200:
                break
            answers += 1
    assert answers
    writer.close()


async def test_a_page_is_not(place: Place) -> None:
    server = await place.start(stranger_seconds=0.1)
    async with web_page(port_of(server), await log_in(server)) as shown:
        done = asyncio.Event()
        asyncio.get_running_loop().call_later(0.4, done.set)
        await done.wait()
        shown.say(messages.ListSessions(1))
        await shown.heard(messages.Listing)


# --- pages ------------------------------------------------------------------------------------------------------------


async def test_what_a_page_hears_first(place: Place) -> None:
    server = await place.start()
    async with web_page(port_of(server), await log_in(server)) as shown:
        await shown.heard(messages.Role)
        assert [type(message).__name__ for message in shown.said] == ["Welcome", "Sessions", "Role"]


async def test_nothing_is_compressed(place: Place) -> None:
    server = await place.start()
    credential = await log_in(server)
    offered = ("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")
    answer = await ask(port_of(server), handshake(port_of(server), [*credential.headers, offered]))
    assert answer.status == 101
    assert "sec-websocket-extensions" not in answer.headers
    assert answer.headers["sec-websocket-protocol"] == "switchboard.1"


async def test_a_frozen_page_loses_the_role_to_one_that_answers_and_comes_back_as_a_new_one(place: Place) -> None:
    server = await place.start()
    credential = await log_in(server)
    async with web_page(port_of(server), credential) as frozen, web_page(port_of(server), credential) as other:
        await frozen.heard(messages.Role)
        frozen.answers_pings = False
        await pinged(place, other)
        await frozen.heard(messages.Ping)
        place.clock.run(PONG_MS)
        await frozen.ended()
        await turns()
        await other.heard(messages.Role)
        # An hour later it thaws: what it does then is done on a new connection, with a new epoch.
        for _ in range(120):
            await pinged(place, other)
            place.clock.run(PONG_MS)
            await turns()
        assert other.closed is None
    async with web_page(port_of(server), credential) as back:
        (welcome,) = [message for message in back.said if isinstance(message, messages.Welcome)]
        assert welcome.epoch == "epoch 3"


async def pinged(place: Place, page: WebPage) -> None:
    """Let the time for a ping come, and return once the host has taken the page's answer."""
    number = 1 + count(page, messages.Ping)
    place.clock.run(PING_MS)
    await page.once(lambda: count(page, messages.Ping) == number, f"ping {number}")
    page.say(messages.ListSessions(number))
    await page.once(lambda: count(page, messages.Listing) == number, "an answer behind the pong")


def count(page: WebPage, kind: type) -> int:
    return sum(isinstance(message, kind) for message in page.said)


async def test_a_page_that_says_too_much_is_read_more_slowly(place: Place) -> None:
    server = await place.start()
    async with web_page(port_of(server), await log_in(server)) as shown:
        many = int(MESSAGES_BURST) + 100
        shown.writer.write(said(messages.Ready()) * many)
        shown.say(messages.ListSessions(9))
        await shown.once(lambda: place.clock.armed, "a wait")
        await turns()
        assert not any(isinstance(message, messages.Listing) for message in shown.said)
        waited = 0
        while not any(isinstance(message, messages.Listing) for message in shown.said):
            place.clock.run(5)
            waited += 5
            assert waited < 5_000
            await turns()
        assert waited >= 100 / MESSAGES_PER_SECOND * 1000 / 2


async def test_the_host_ends_with_pages_connected(place: Place) -> None:
    server = await place.start()
    async with web_page(port_of(server), await log_in(server)) as shown:
        async with asyncio.timeout(5):
            await place.stop()
        assert await shown.ended() == 1001


async def test_an_ipv6_loopback_address_is_served(place: Place) -> None:
    server = await place.start(address="::1")
    port = port_of(server)
    assert server.url == f"http://[::1]:{port}/"
    answer = await ask(port, head("GET", "/", [("Host", f"[::1]:{port}")]), address="::1")
    assert answer.status == 200
