"""Tasks have names and owners; a supervised one harms nobody."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.sessions import ListLog

from switchboard.common.tasks import start, supervise


async def fail() -> None:
    raise RuntimeError("broken")


async def test_a_started_task_has_its_name_and_ends_with_its_group() -> None:
    done = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append(True)

    async with asyncio.TaskGroup() as group:
        assert start(group, "the name", work()).get_name() == "the name"
    assert done == [True]


async def test_the_failure_of_a_started_task_fails_its_group() -> None:
    others = []

    async def owner() -> None:
        async with asyncio.TaskGroup() as group:
            others.append(start(group, "other", forever()))
            start(group, "failing", fail())

    with pytest.raises(BaseExceptionGroup) as failed:
        await owner()
    assert [str(error) for error in failed.value.exceptions] == ["broken"]
    assert others[0].cancelled()


async def forever() -> None:
    await asyncio.Event().wait()


async def test_the_failure_of_a_supervised_task_is_logged_and_harms_no_other() -> None:
    log = ListLog()
    done = []

    async def work() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        done.append(True)

    async with asyncio.TaskGroup() as group:
        failing = supervise(group, "the failing one", fail, log)
        supervise(group, "the other", work, log)
        assert failing.get_name() == "the failing one"
    assert done == [True]
    assert log.lines == ["error the failing one failed: RuntimeError: broken"]
    assert failing.exception() is None


async def test_a_supervised_task_can_be_given_up() -> None:
    log = ListLog()
    async with asyncio.TaskGroup() as group:
        task = supervise(group, "waiting", forever, log)
        await asyncio.sleep(0)
        task.cancel()
    assert task.cancelled()
    assert log.lines == []


async def test_what_ends_the_program_is_not_held_back() -> None:
    class TheEnd(BaseException):
        pass

    async def end() -> None:
        raise TheEnd

    log = ListLog()
    with pytest.raises(BaseExceptionGroup) as failed:
        async with asyncio.TaskGroup() as group:
            supervise(group, "ending", end, log)
    assert [type(error) for error in failed.value.exceptions] == [TheEnd]
    assert log.lines == []
