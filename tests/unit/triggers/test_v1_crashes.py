"""A host that dies at any file operation, deed or wait of a whole action: one result, nothing repeated."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.action_story import STEM, ActionStory
from tests.support.crash_points import survive
from tests.support.lifecycle import CWD, ID, House

RESUME = {"action": "open", "sessionId": ID, "prompt": "hello"}
SHOW = {"action": "open", "sessionId": ID}
NEW = {"action": "open", "new": {"project": CWD, "name": "n"}, "prompt": "hello"}
WRONG = {"action": "open", "sessionId": ID, "prompt": ""}
STOP = {"action": "stop", "sessionId": ID}
NOTE = {**STOP, "before": "write your note"}


def closed(house: House) -> None:
    house.closed()


def here(house: House) -> None:
    house.open_here()


def project(house: House) -> None:
    house.page.on_start = house.comes_up


def lost(house: House) -> None:
    house.closed()
    house.page.on_start = lambda session: session.update(starting=True)


def typed_a_moment_ago(house: House) -> None:
    house.open_here().type(b"x\x7f")


def works_for_a_second(house: House) -> None:
    house.open_here().turns(1000)


def works_first(house: House) -> None:
    session = house.open_here()
    session.turns(1000)
    session.show("busy")
    house.at(2000, lambda: session.show("idle"))


def never_takes_it(house: House) -> None:
    house.open_here().on_write = lambda _data: None


def busy(house: House) -> None:
    house.open_here().show("busy")


def does_not_listen(house: House) -> None:
    house.open_here().ends_after = None


def nothing(_house: House) -> None:
    """Nobody knows the id."""


STORIES: dict[str, tuple[dict[str, Any], Callable[[House], None], list[str]]] = {
    "resume with a prompt": (RESUME, closed, ["spawn", "text", "enter"]),
    "resume alone": (SHOW, closed, ["spawn"]),
    "resume that never comes up": ({**RESUME, "timeout_ms": 2000}, lost, ["spawn"]),
    "open here with a prompt": (RESUME, here, ["text", "enter"]),
    "open here alone": (SHOW, here, []),
    "new": (NEW, project, ["spawn", "text", "enter"]),
    "not found": (SHOW, nothing, []),
    "refused for its shape": (WRONG, here, []),
    "stop": (STOP, here, ["kill"]),
    "stop after the quiet window": (STOP, typed_a_moment_ago, ["kill"]),
    "stop with a note": (NOTE, works_for_a_second, ["text", "enter", "kill"]),
    "stop with a note behind a turn": (NOTE, works_first, ["text", "enter", "kill"]),
    "stop whose note is not taken": ({**NOTE, "timeout_ms": 1200}, never_takes_it, ["text", "enter"]),
    "stop that is not confirmed": ({**STOP, "timeout_ms": 2000}, does_not_listen, ["kill"]),
    "stop refused": (STOP, busy, []),
    "stop of a session that is not open": (STOP, closed, []),
}

POINTS = {
    "resume with a prompt": 73,
    "resume alone": 48,
    "resume that never comes up": 50,
    "open here with a prompt": 46,
    "open here alone": 25,
    "new": 63,
    "not found": 15,
    "refused for its shape": 11,
    "stop": 32,
    "stop after the quiet window": 34,
    "stop with a note": 57,
    "stop with a note behind a turn": 60,
    "stop whose note is not taken": 39,
    "stop that is not confirmed": 32,
    "stop refused": 15,
    "stop of a session that is not open": 15,
}
"""At least so many moments are tried."""


@pytest.mark.parametrize("story", STORIES)
def test_a_host_may_die_anywhere(story: str, tmp_path: Path) -> None:
    body, prepare, deeds = STORIES[story]
    points = survive(lambda: ActionStory(Path(tempfile.mkdtemp(dir=tmp_path)), body, prepare, deeds))
    assert len(points) >= POINTS[story]
    assert points.count(f"link {STEM}.result.json.tmp {STEM}.result.json") == 1
    for deed in deeds:
        assert points.count(deed) == 1
    assert "wait" in points or story == "refused for its shape"
