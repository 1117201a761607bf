"""The end of a process that is nobody's child here, told once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
from tests.support.field import descriptors

from switchboard.clis.process_end import watch_end


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


async def test_it_is_told_once_also_of_one_that_nobody_has_collected() -> None:
    before = descriptors(os.getpid())
    told: asyncio.Queue[int] = asyncio.Queue()
    with sleeper() as process:
        give_up = watch_end(process.pid, lambda: told.put_nowait(process.pid))
        await asyncio.sleep(0)
        assert told.empty()
        process.kill()
        async with asyncio.timeout(20):
            assert await told.get() == process.pid
        give_up()
    assert told.empty()
    assert descriptors(os.getpid()) == before


async def test_a_watch_that_was_given_up_says_nothing() -> None:
    told: list[int] = []
    with sleeper() as process:
        watch_end(process.pid, lambda: told.append(1))()
        process.kill()
        process.wait(20)
        await asyncio.sleep(0)
    assert told == []


async def test_one_that_has_ended_already_is_told_at_the_next_turn() -> None:
    told: list[int] = []
    watch_end(2**22 + 1, lambda: told.append(1))
    watch_end(2**22 + 1, lambda: told.append(2))()
    assert told == []
    await asyncio.sleep(0)
    assert told == [1]


@pytest.mark.parametrize("error", [AttributeError, PermissionError])
async def test_where_the_system_cannot_tell_nothing_is_said(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int) -> int:
        raise error

    monkeypatch.setattr(os, "pidfd_open", refuse)
    told: list[int] = []
    watch_end(os.getpid(), lambda: told.append(1))()
    await asyncio.sleep(0)
    assert told == []
