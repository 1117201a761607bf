"""The real host and its page: the address it tells, to whom, and what of it outlives a restart."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.hosting import RunningHost, page, until
from tests.support.web import credential_in, exchange, fresh_ticket, log_in, port_of, web_page

from switchboard.host.instance import read_record
from switchboard.page import messages

TICKET = re.compile(r"#ticket=[A-Za-z0-9_-]{43}")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    made = RunningHost(tmp_path)
    yield made
    made.clean_up()


def first_line(host: RunningHost, *arguments: str, terminal: bool = False) -> str:
    """Start a host and return what it says; it is ended again."""
    command = [sys.executable, "-m", "switchboard.cli.main", "up", "--no-open", *arguments]
    if not terminal:
        with subprocess.Popen(command, env=host.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as one:
            assert one.stdout is not None
            line = one.stdout.readline().decode()
            one.send_signal(signal.SIGTERM)
        return line
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=host.environment, stdin=theirs, stdout=theirs, stderr=theirs) as one:
        os.close(theirs)
        line = ""
        while "\n" not in line:
            line += os.read(ours, 4096).decode()
        one.send_signal(signal.SIGTERM)
    os.close(ours)
    return line


def test_a_service_is_told_the_address_alone(host: RunningHost) -> None:
    line = first_line(host)
    assert re.search(r"ready: http://127\.0\.0\.1:\d+/$", line.strip())
    assert "ticket" not in line


@pytest.mark.parametrize("terminal", [True, False])
def test_a_person_and_who_asks_are_told_the_ticket(host: RunningHost, terminal: bool) -> None:
    line = first_line(host, *([] if terminal else ["--print-ticket"]), terminal=terminal)
    assert TICKET.search(line), line


BROWSER = """#!/bin/sh
cat "${1#file://}" > "$SEEN.tmp"
mv "$SEEN.tmp" "$SEEN"
exec sleep 600
"""


async def test_up_opens_the_browser_by_way_of_a_file_that_goes_with_its_ticket(
    host: RunningHost, tmp_path: Path
) -> None:
    """The browser of this test stays, as one that is waited for; the host works meanwhile."""
    program, seen = tmp_path / "browser", tmp_path / "seen"
    program.write_text(BROWSER, "utf-8")
    program.chmod(0o755)
    environment = host.environment | {"DISPLAY": ":0", "BROWSER": f"{program} %s", "SEEN": str(seen)}
    command = [sys.executable, "-m", "switchboard.cli.main", "up"]
    lead = host.data / "open.html"
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, start_new_session=True) as one:
        try:
            await until(seen.exists, "the browser")
            assert lead.exists()
            ticket = TICKET.search(seen.read_text("utf-8"))
            assert ticket is not None
            credential_in(await exchange(port_of(host), ticket[0].removeprefix("#ticket=")))
            assert not lead.exists()
            one.terminate()
            await asyncio.to_thread(one.wait, 20)
        finally:
            os.killpg(one.pid, signal.SIGKILL)


def test_no_browser_is_opened_where_none_is_wanted(host: RunningHost, tmp_path: Path) -> None:
    program, seen = tmp_path / "browser", tmp_path / "seen"
    program.write_text(BROWSER, "utf-8")
    program.chmod(0o755)
    host.environment |= {"DISPLAY": ":0", "BROWSER": f"{program} %s", "SEEN": str(seen)}
    host.start()
    assert fresh_ticket(host), "it has been ready for some time"
    assert not (host.data / "open.html").exists()
    assert list(tmp_path.glob("seen*")) == []


async def test_the_address_outlives_the_host_and_so_does_the_browser(host: RunningHost) -> None:
    host.start()
    port, credential = port_of(host), await log_in(host)
    record = read_record(str(host.data))
    assert record is not None
    assert record.url == f"http://127.0.0.1:{port}/"
    assert stat.S_IMODE((host.data / "host.json").stat().st_mode) == 0o600
    async with page(host) as local:
        handle = await local.open(host)
        await local.status(handle, "idle")
    async with web_page(port, credential) as shown:
        shown.say(messages.Attach(handle))
        await shown.heard(messages.Attached)
        host.kill()
        assert await shown.ended() == 1006
    host.start()
    assert port_of(host) == port
    async with web_page(port, credential) as shown:
        shown.say(messages.Attach(handle))
        shown.type(handle, b"still here")
        await shown.printed(handle, b"still here")
    host.cli("down", "--sessions")


async def test_url_gives_a_fresh_address_each_time(host: RunningHost) -> None:
    host.start()
    tickets = {fresh_ticket(host) for _ in range(3)}
    assert len(tickets) == 3
    for ticket in tickets:
        credential_in(await exchange(port_of(host), ticket))


def test_url_without_a_host_says_what_to_do(host: RunningHost) -> None:
    said = host.cli("url")
    assert said.returncode == 1
    assert "switchboard up" in said.stderr


def test_a_port_that_was_asked_for_and_is_taken_is_a_fault(host: RunningHost) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = host.cli("up", "--no-open", "--port", str(taken.getsockname()[1]))
    assert said.returncode == 1
    assert "--port" in said.stderr
    assert "Traceback" not in said.stderr


async def test_a_page_asks_for_an_address_for_another_browser(host: RunningHost) -> None:
    host.start()
    async with web_page(port_of(host), await log_in(host)) as shown:
        shown.say(messages.Address(5))
        await shown.heard(messages.AddressIs)
        (answer,) = [message for message in shown.said if isinstance(message, messages.AddressIs)]
    credential_in(await exchange(port_of(host), answer.url.partition("#ticket=")[2]))


async def test_pages_of_both_kinds_see_the_same(host: RunningHost) -> None:
    """Of two pages the browser's has the size once it is used, and the terminal's is told so."""
    host.start()
    async with page(host) as local, web_page(port_of(host), await log_in(host)) as shown:
        handle = await local.open(host)
        await local.status(handle, "idle")
        shown.say(messages.Attach(handle))
        shown.say(messages.Focus(handle, 70, 20))
        size = await local.heard(
            lambda message: isinstance(message, messages.Size) and message.columns == 70, "the new size"
        )
        assert size.owner is False
        shown.type(handle, b"from the browser")
        await local.printed(handle, b"from the browser")
        local.type(handle, b" and the terminal")
        await shown.printed(handle, b"and the terminal")
    host.cli("down", "--sessions")


async def test_a_page_that_stood_still_for_too_long_catches_up_by_number(host: RunningHost) -> None:
    """Its process sleeps and its socket is full; on a new connection it goes on with the byte that it lacks."""
    host.launcher = (sys.executable, str(Path(__file__).parents[1] / "support/impatient_host.py"))
    host.start()
    credential = await log_in(host)
    go = host.project / "go"
    async with page(host) as local:
        handle = await local.open(host, "shell")
    async with web_page(port_of(host), credential, reads=False) as shown:
        reading = asyncio.create_task(shown.receive())
        shown.say(messages.Attach(handle))
        shown.type(
            handle, b"stty -echo; echo begin; until [ -e go ]; do sleep 0.05; done; seq -f n%g= 1 40000; echo end\n"
        )
        await shown.printed(handle, b"begin\r\n")
        reading.cancel()
        got = bytes(shown.output[handle])
        go.touch()
        log = host.data / "host.log"
        await until(lambda: "does not answer" in log.read_text("utf-8"), "the end of the host's patience")
    position = max(seq + length for seq, length in shown.seqs)
    assert position == len(got), "the session was shown from its first byte"
    async with web_page(port_of(host), credential) as back:
        back.say(messages.Attach(handle, position))
        await back.printed(handle, b"=\r\nend\r\n")
        (attached,) = [message for message in back.said if isinstance(message, messages.Attached)]
        assert (attached.seq, attached.lost) == (position, 0)
    numbers = re.findall(rb"n(\d+)=", got + bytes(back.output[handle]))
    assert numbers == [b"%d" % number for number in range(1, 40_001)]
    host.cli("down", "--sessions")


async def test_an_idle_host_with_a_page_does_nothing(host: RunningHost) -> None:
    """The server sets no timer: with a page that shows a session the host sleeps between its pings."""
    host.start()
    assert host.process is not None
    status = Path(f"/proc/{host.process.pid}/status")

    def switches() -> int:
        (line,) = [line for line in status.read_text("utf-8").splitlines() if line.startswith("voluntary_ctxt")]
        return int(line.split()[1])

    async with page(host) as local, web_page(port_of(host), await log_in(host)) as shown:
        handle = await local.open(host)
        await local.status(handle, "idle")
        shown.say(messages.Attach(handle))
        shown.say(messages.Focus(handle, 80, 24))
        await asyncio.sleep(2)
        before = switches()
        await asyncio.sleep(4)
        # Each of the two pages may have been pinged meanwhile, and has answered.
        assert switches() - before <= 4
    host.cli("down", "--sessions")
