"""Requests that an earlier process had begun to write, and what is remembered for the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.spool_stage import SpoolStage

from switchboard.delivery import reasons
from switchboard.delivery.port import Target
from switchboard.triggers.legacy import interrupted
from switchboard.triggers.watcher import TriggerWatcher


class Memory:
    """A journal that keeps what it is told, in order."""

    def __init__(self, stage: SpoolStage, **left: bool) -> None:
        self.stage = stage
        self.requests = {f"{name}.json": entered for name, entered in left.items()}
        self.told: list[str] = []

    @contextmanager
    def working(self, target: Target, request: str) -> Iterator[None]:
        self.told.append(f"{request} to {target.key}, {len(self.stage.typed)} texts typed")
        yield
        published = self.stage.result(request.removesuffix(".json")) is not None
        self.told.append(f"{request} answered: {published}")

    def left(self) -> Mapping[str, bool]:
        return self.requests

    def settle(self, request: str) -> None:
        self.told.append(f"{request} settled")


@pytest.fixture
def stage(tmp_path: Path) -> SpoolStage:
    made = SpoolStage(tmp_path / "triggers")
    made.folder.mkdir()
    made.session()
    return made


def watch(stage: SpoolStage, **left: bool) -> Memory:
    memory = Memory(stage, **left)
    stage.watcher = TriggerWatcher(
        stage.terminals, stage.folder, clock=stage.clock, env=stage.env, log=stage.log, journal=memory
    )
    return memory


async def test_a_request_is_remembered_from_before_its_text_until_after_its_result(stage: SpoolStage) -> None:
    memory = watch(stage)
    async with stage.open():
        stage.rename_in("a")
        await stage.clock.advance(500)
    assert memory.told == ["a.json to s, 0 texts typed", "a.json answered: True"]
    assert stage.typed == [b"hello"]


@pytest.mark.parametrize("entered", [False, True])
async def test_what_was_left_is_answered_and_not_typed_again(stage: SpoolStage, entered: bool) -> None:
    stage.rename_in("a")
    memory = watch(stage, a=entered)
    async with stage.open():
        await stage.clock.advance(500)
        assert stage.waiting() == []
    assert stage.writes == []
    assert memory.told == ["a.json settled"]
    assert stage.result("a") == {
        "ok": False,
        "submitted": "assumed" if entered else "no",
        "steps_total": 1,
        "error": "interrupted",
        "reason": "interrupted by restart",
        "sessionId": "S",
        "command": "hello",
        "wrote": True,
        "text_written": entered,
        "enter_written": entered,
    }


async def test_what_was_left_is_answered_whatever_its_age(stage: SpoolStage) -> None:
    stage.rename_in("a")
    stage.env["SWITCHBOARD_TRIGGER_MAX_AGE_MS"] = "0"
    watch(stage, a=True)
    async with stage.open():
        await stage.clock.advance(500)
    assert stage.result("a")["reason"] == reasons.RESTARTED


async def test_a_file_that_is_gone_is_settled_and_its_name_is_free(stage: SpoolStage) -> None:
    memory = watch(stage, a=True)
    async with stage.open():
        assert memory.told == ["a.json settled"]
        stage.rename_in("a")
        await stage.clock.advance(500)
    assert stage.result("a")["ok"] is True
    assert stage.typed == [b"hello"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"sessionId": "S", "chain": [{"command": "a"}, {"command": "b"}]}, {"steps_total": 2, "partial": True}),
        ({"sessionId": "S", "key": "Escape"}, {"key": "Escape", "submitted": "no", "enter_written": False}),
        ({"sessionId": "S"}, {"steps_total": 0}),
        (None, {"steps_total": 0}),
    ],
    ids=["chain", "key", "replaced by nonsense", "unreadable"],
)
def test_other_requests(body: Any, fields: dict[str, Any]) -> None:
    result = interrupted(body, enter_written=True)
    assert {**result, **fields} == result
    assert (result["ok"], result["wrote"], result["error"]) == (False, True, reasons.INTERRUPTED)
