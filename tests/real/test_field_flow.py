"""Reported from the field: writes that a terminal takes only in part, and output without end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.field import FAST, FieldHost, resident_mb
from tests.support.hosting import Page, page
from tests.support.round_trips import round_trips

from switchboard.page import messages

STALL_MS = 250
"""The aim is 50 ms, and a quiet machine shows some 20. A test is no measurement: this bound is what a loop that blocks
would exceed, and a busy machine does not."""
"""No longer than this may the host be at one thing."""

SLOW = {"read_bytes": 64, "read_pause_ms": 5}
PASTE = (b"\x1b[200~", b"\x1b[201~")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path, FAST)
    made.start()
    yield made
    made.clean_up()


def words(size: int) -> bytes:
    chosen = random.Random(size)
    return "".join(chosen.choices("abcdefghijklmnopqrstuvwxyz  ", k=size)).encode()


async def echoing(host: FieldHost, shown: Page) -> int:
    """Open a session whose terminal echoes each key; nobody but the echo has a part in the answer."""
    handle = await shown.open(host, "shell")
    shown.type(handle, b"stty -icanon; echo on-$((1+1)); exec cat >/dev/null\r")
    await shown.printed(handle, b"on-2")
    return handle


# --- slow readers -----------------------------------------------------------------------------------------------------


async def test_02_300_kb_typed_and_pasted_arrive_intact_and_stall_nobody(host: FieldHost) -> None:
    """Two CLIs that read 64 bytes every 5 ms: a page types into one as fast as it can, and pastes into the other."""
    typed = words(300 * 1024)
    pasted = PASTE[0] + words(300 * 1024 + 1) + PASTE[1]
    async with page(host) as shown:
        one, _, typist = await host.open_script(shown, "typed", all_read_at=len(typed), **SLOW)
        two, _, paster = await host.open_script(shown, "pasted", all_read_at=len(pasted), **SLOW)
        echo = await echoing(host, shown)
        async with round_trips(host.socket, host.pid) as lists, round_trips(host.socket, host.pid, echo) as echoes:
            for at in range(0, len(typed), 7):
                shown.type(one, typed[at : at + 7])
            for at in range(0, len(pasted), messages.MAX_INPUT):
                shown.type(two, pasted[at : at + messages.MAX_INPUT])
            for handle in (one, two):
                await shown.once(lambda handle=handle: b"all read" in shown.output[handle], "all of it", 90)  # type: ignore[misc]  # a bound default
        assert typist.received == typed
        assert paster.received == pasted
        assert not [said for said in shown.said if isinstance(said, messages.Notice)]
    for trips in (lists, echoes):
        assert max(trips.cpu) < STALL_MS, trips
        assert trips.part(0.99) < STALL_MS, trips
    # The echo passes through the kernel's own queues as well, which wait for a processor uncounted.
    assert lists.part(1) < STALL_MS, lists


async def test_02_a_prompt_to_a_slow_reader_arrives_whole_and_holds_up_nobody(host: FieldHost) -> None:
    async with page(host) as shown:
        _, slow_id, slow = await host.open_script(shown, "slow", **SLOW)
        _, quick_id, quick = await host.open_script(shown, "quick")
        text = words(4096).decode().strip().ljust(4096, "x")
        long = host.ask(slow_id, text, wait="idle")
        short = await host.result(host.ask(quick_id, "short", wait="idle"))
        assert short["submitted"] == "confirmed", short
        assert not host.result_path(long).exists()
        result = await host.result(long)
        assert result["submitted"] == "confirmed", result
        assert slow.submitted == [text]
        assert quick.submitted == ["short"]


# --- output without end -----------------------------------------------------------------------------------------------

YES_S = 20
"""The report speaks of a minute; memory that grew would show within the first seconds."""


async def test_10_a_page_that_does_not_read_costs_no_memory_and_holds_up_nobody(host: FieldHost) -> None:
    async with page(host) as shown:
        noisy = await shown.open(host, "shell")
        echo = await echoing(host, shown)
        shown.say(messages.Detach(noisy))
        deaf = Page(*await asyncio.open_unix_connection(host.socket))
        deaf.say(messages.Hello(messages.PROTOCOL, "terminal"))
        deaf.say(messages.Attach(noisy))
        shown.type(noisy, b"yes\r")
        await shown.ask(messages.ListSessions)
        before = peak = resident_mb(host.pid)
        async with round_trips(host.socket, host.pid, echo) as echoes:
            timer = await asyncio.create_subprocess_exec("sleep", str(YES_S))
            over = asyncio.create_task(timer.wait())
            while not over.done():
                peak = max(peak, resident_mb(host.pid))
                await asyncio.wait([over], timeout=0.5)
        assert peak < before + 20, f"{before:.1f} MB became {peak:.1f} MB"
        assert echoes.part(0.99) < STALL_MS, echoes
        # It reads again: it is told what it has missed, and gets what came last.
        shown.type(noisy, b"\x03")
        shown.type(noisy, b"echo the-$((40+2))-end\r")
        receiving = asyncio.create_task(deaf.receive())
        await deaf.printed(noisy, b"the-42-end")
        lost = [said.lost for said in deaf.said if isinstance(said, messages.Resync)]
        assert sum(lost) > 10_000_000, lost
        assert deaf.gaps == []
        deaf.writer.close()
        await receiving
