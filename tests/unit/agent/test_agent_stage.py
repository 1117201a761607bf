from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.agent_desk import AgentDesk
from tests.support.hand_clock import turns

from switchboard.agent import dialogs
from switchboard.agent.activity import Activity


@pytest.fixture
def desk(tmp_path: Path) -> AgentDesk:
    return AgentDesk(tmp_path)


def test_what_goes_on_is_shown_and_published(desk: AgentDesk) -> None:
    desk.stage.rest()
    desk.stage.begin(Activity.TURN)
    assert desk.screen.view.working == "Working"
    assert desk.descriptor["status"] == "busy"
    desk.stage.partial("half")
    desk.stage.rest()
    assert (desk.screen.view.working, desk.screen.view.partial) == (None, "")
    assert desk.publisher.statuses == [None, "idle", "busy", "idle"]


def test_jobs_are_published_at_rest(desk: AgentDesk) -> None:
    desk.stage.rest()
    desk.stage.jobs(1)
    assert desk.descriptor["status"] == "shell"
    desk.stage.jobs(0)
    assert desk.descriptor["status"] == "idle"


def test_nothing_said_is_obeyed(desk: AgentDesk) -> None:
    desk.stage.say("a\x1b[2Jb")
    assert desk.screen.printed == ["a\u241b[2Jb"]


async def test_a_dialog_is_answered(desk: AgentDesk) -> None:
    desk.stage.begin(Activity.TURN)
    task = asyncio.create_task(desk.stage.ask(dialogs.permission("x")))
    await turns()
    assert desk.stage.dialog_open
    assert (desk.descriptor["status"], desk.descriptor["waitingFor"]) == ("waiting", "permission prompt")
    desk.stage.typed("yes")
    desk.stage.move(1)
    desk.stage.choose()
    desk.stage.typed("3")  # too late
    assert await task == dialogs.ALWAYS
    assert not desk.stage.dialog_open
    assert desk.descriptor["status"] == "busy"


@pytest.mark.parametrize(("digit", "answer"), [("1", dialogs.YES), ("3", dialogs.NO)])
async def test_a_digit_answers(desk: AgentDesk, digit: str, answer: str) -> None:
    task = asyncio.create_task(desk.stage.ask(dialogs.permission("x")))
    await turns()
    desk.stage.typed(digit)
    assert await task == answer


async def test_a_dialog_is_cancelled(desk: AgentDesk) -> None:
    task = asyncio.create_task(desk.stage.ask(dialogs.cost(0)))
    await turns()
    assert desk.descriptor["waitingFor"] == "dialog open"
    desk.stage.cancel()
    assert await task is None
    assert desk.descriptor["status"] == "idle"


def test_keys_without_a_dialog_do_nothing(desk: AgentDesk) -> None:
    desk.stage.choose()
    desk.stage.cancel()
    desk.stage.move(1)
    desk.stage.typed("1")
    assert not desk.stage.dialog_open


async def test_a_blip(desk: AgentDesk) -> None:
    desk.stage.begin(Activity.TURN)
    task = asyncio.create_task(desk.stage.blip(10))
    await desk.clock.advance(9)
    assert desk.descriptor["status"] == "idle"
    await desk.clock.advance(1)
    await task
    assert desk.descriptor["status"] == "busy"
