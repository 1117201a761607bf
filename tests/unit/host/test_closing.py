"""The end of a host: one instant for all, and whatever hangs is cut off."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from tests.support.sessions import SECONDS, ListLog

from switchboard.host import closing as module
from switchboard.host.closing import Closing


class Part:
    """Something that is entered, and whose exit hangs until `free` (or `error` is raised)."""

    def __init__(self, *, hangs: bool = False, error: Exception | None = None) -> None:
        self.hangs = hangs
        self.error = error
        self.said: list[str] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        self.said.append("in")
        try:
            yield "value"
        finally:
            try:
                if self.hangs:
                    await asyncio.get_running_loop().create_future()
                if self.error is not None:
                    raise self.error
                self.said.append("out")
            except asyncio.CancelledError:
                self.said.append("cut off")
                raise


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(os, "_exit", found.append)
    return found


async def leave(closing: Closing, log: ListLog, *parts: Part) -> None:
    async with asyncio.timeout(SECONDS), AsyncExitStack() as stack:
        for number, part in enumerate(parts):
            assert await closing.hold(stack, part.running(), f"part {number}", log) == "value"
        closing.order()
        await closing.ordered()
    closing.ended()


async def test_parts_that_end_in_time_are_left_alone(exits: list[int]) -> None:
    parts, log = [Part(), Part()], ListLog()
    await leave(Closing(), log, *parts)
    assert [part.said for part in parts] == [["in", "out"]] * 2
    assert (log.lines, exits) == ([], [])


async def test_parts_that_hang_are_cut_off_at_the_one_instant(
    exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOP_SECONDS", module.RESERVE_SECONDS)
    parts, log = [Part(hangs=True), Part(), Part(hangs=True)], ListLog()
    await leave(Closing(), log, *parts)
    assert [part.said for part in parts] == [["in", "cut off"], ["in", "out"], ["in", "cut off"]]
    assert [line for line in log.lines if "part" in line] == log.lines
    assert len(log.lines) == 2
    assert exits == []


@pytest.mark.parametrize("error", [TimeoutError("its own"), OSError("its own")], ids=lambda error: type(error).__name__)
async def test_a_parts_own_failure_is_not_taken_for_the_end_of_the_time(error: Exception) -> None:
    with pytest.raises(type(error), match="its own"):
        await leave(Closing(), ListLog(), Part(error=error))


async def test_without_an_order_there_is_no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_SECONDS", 0.0)
    closing, part = Closing(), Part()
    async with AsyncExitStack() as stack:
        await closing.hold(stack, part.running(), "part", ListLog())
        assert closing.seconds_left(2.0) == 2.0
    assert part.said == ["in", "out"]
    closing.ended()


async def test_the_first_order_counts(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    closing = Closing()
    closing.order()
    assert closing.seconds_left(2.0) == 2.0
    assert 3.0 < closing.seconds_left(100.0) <= module.STOP_SECONDS - module.RESERVE_SECONDS
    monkeypatch.setattr(module, "STOP_SECONDS", 100.0)
    closing.order()
    assert closing.seconds_left(100.0) <= 4.0
    closing.ended()
    await asyncio.sleep(0)
    assert exits == []


async def test_what_is_left_is_never_negative(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_SECONDS", -10.0)
    closing = Closing()
    closing.order()
    assert closing.seconds_left(2.0) == 0.0
    closing.ended()
