"""One question to the host, over a real Unix socket."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.page_host import PageHost

from switchboard.common.frames import TEXT, encode_frame
from switchboard.page import local_client, messages
from switchboard.page.local_client import HostForeign, HostRefused, HostSilent, HostUnavailable, Request, request
from switchboard.page.messages import Address, Bye, Done, Hello, ListSessions, Pong, SessionInfo, Shutdown, StopSession


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[PageHost]:
    async with PageHost(str(tmp_path / "host.sock")) as host:
        yield host


def ask(host: PageHost, message: Request, timeout: float = 10.0) -> asyncio.Task[Done | messages.Listing]:
    return asyncio.create_task(asyncio.to_thread(request, host.path, message, timeout, version="0.1"), name="ask")


async def test_an_answer(host: PageHost) -> None:
    answer = ask(host, StopSession(7, 1))
    assert await host.heard(Hello) == Hello(messages.PROTOCOL, "command", "0.1")
    assert await host.heard(StopSession) == StopSession(7, 1)
    host.say(Done(6, True), messages.Notice("info", "x"), messages.Ping(3), Done(7, False, "busy"))
    assert await answer == Done(7, False, "busy")
    await host.heard(Pong)
    await host.heard(Bye)


async def test_a_long_listing(host: PageHost) -> None:
    answer = ask(host, ListSessions(1, 10_000))
    await host.heard(ListSessions)
    sessions = [SessionInfo(f"{n}", "closed", "claude", "exited", name="n" * 200) for n in range(10_000)]
    host.say(messages.Listing(1, sessions))
    listing = await answer
    assert isinstance(listing, messages.Listing)
    assert len(listing.sessions) == 10_000


async def test_output_in_between_does_not_matter(host: PageHost) -> None:
    answer = ask(host, StopSession(1, 1))
    await host.heard(StopSession)
    host.print(1, 0, b"x" * 100_000)
    host.say(Done(1, True))
    assert await answer == Done(1, True)


async def test_a_refusal(host: PageHost) -> None:
    host.greets = False
    answer = ask(host, StopSession(1, 1))
    await host.heard(Hello)
    host.say(messages.Problem("another version"))
    with pytest.raises(HostRefused, match="another version"):
        await answer


def test_the_reason_of_a_host_that_is_gone_before_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is full refuses the hello and hangs up; the question after it finds nobody."""
    path = str(tmp_path / "host.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def hang_up(_connection: socket.socket, _path: str) -> None:
            with listener.accept()[0] as accepted:
                problem = messages.Problem("64 pages are connected; close one", messages.PASSING)
                accepted.sendall(encode_frame(TEXT, messages.encode(problem)))

        monkeypatch.setattr(local_client, "refuse_stranger", hang_up)
        with pytest.raises(HostRefused, match="64 pages are connected; close one"):
            request(path, Address(1), 5)


async def test_nonsense(host: PageHost) -> None:
    answer = ask(host, StopSession(1, 1))
    await host.heard(StopSession)
    host.raw(b"\xff" * 64)
    with pytest.raises(HostRefused, match="not a frame"):
        await answer


async def test_silence(host: PageHost) -> None:
    with pytest.raises(HostSilent, match=r"did not answer within 0\.05 s"):
        await ask(host, StopSession(1, 1), 0.05)


async def test_a_host_that_goes_away(host: PageHost) -> None:
    answer = ask(host, StopSession(1, 1))
    await host.heard(StopSession)
    await host.stop()
    with pytest.raises(HostSilent, match="went away"):
        await answer


async def test_going_away_is_the_answer_to_shutdown(host: PageHost) -> None:
    answer = ask(host, Shutdown(4))
    await host.heard(Shutdown)
    await host.stop()
    assert await answer == Done(4, True)


NO_HOST = "no host is running; start one with: switchboard up"


@pytest.mark.parametrize("left", ["nothing", "folder", "socket", "file"])
def test_nobody_there(tmp_path: Path, left: str) -> None:
    path = tmp_path / "run" / "host.sock"
    if left != "nothing":
        path.parent.mkdir()
    if left == "file":
        path.write_text("")
    if left == "socket":
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
    with pytest.raises(HostUnavailable, match=NO_HOST):
        request(str(path), StopSession(1, 1), 5)


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(HostUnavailable, match="path too long"):
        request(str(tmp_path / ("x" * 200)), StopSession(1, 1), 5)


async def test_a_stranger_is_told_nothing(host: PageHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(HostForeign, match="belongs to another user; nothing was sent"):
        await ask(host, StopSession(1, 1))
    monkeypatch.undo()
    assert host.heard_so_far == []
