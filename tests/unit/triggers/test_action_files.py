"""Looking up, marking, answering and clearing away: the order of it, and everything that can fail."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_clock import FakeClock
from tests.support.spool_stage import Notes

from switchboard.delivery.submission import Submitted
from switchboard.triggers.action_files import ActionFiles, ActionMarker, Fate, MarkerNotSavedError
from switchboard.triggers.markers import Effect, IllegalEffect, Marker, decode_marker
from switchboard.triggers.results import Result
from switchboard.triggers.say import Reporter
from switchboard.triggers.spool import Spool
from switchboard.triggers.v1_results import succeeded
from switchboard.triggers.v1_schema import Mode

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
OTHER = "1a1b2c3d-4e5f-6789-abcd-ef0123456789"
ID = "01234567-89ab-cdef-0123-456789abcdef"
MARKER = Marker(STEM, Mode.RESUME, ID, 1_800_000_300_000, 1)
RESULT = succeeded(MARKER.subject)


class Faulty(Spool):
    """Logs what it does, and fails at what it is told to, so many times."""

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        super().__init__(str(folder))
        self.clock = clock
        self.done: list[str] = []
        self.tries: list[int] = []
        self.failures: dict[str, list[OSError]] = {}

    def publish_new(self, stem: str, data: bytes) -> None:
        self.tries.append(self.clock.now())
        self._do("publish", lambda: super(Faulty, self).publish_new(stem, data))

    def remove(self, name: str) -> None:
        self._do("remove request", lambda: super(Faulty, self).remove(name))

    def remove_marker(self, stem: str) -> None:
        self._do("remove marker", lambda: super(Faulty, self).remove_marker(stem))

    def create_marker(self, stem: str, data: bytes) -> None:
        self._do("create marker", lambda: super(Faulty, self).create_marker(stem, data))

    def update_marker(self, stem: str, data: bytes) -> None:
        self._do("update marker", lambda: super(Faulty, self).update_marker(stem, data))

    def read_marker(self, stem: str) -> bytes | None:
        return self._do("read marker", lambda: super(Faulty, self).read_marker(stem))

    def read_result(self, stem: str) -> bytes | None:
        return self._do("read result", lambda: super(Faulty, self).read_result(stem))

    def _do(self, name: str, act: Callable[[], Any]) -> Any:
        if self.failures.get(name):
            raise self.failures[name].pop(0)
        if not name.startswith("read"):
            self.done.append(name)
        return act()

    def fail(self, name: str, times: int = 1, code: int = errno.ENOSPC) -> None:
        self.failures[name] = [OSError(code, os.strerror(code))] * times


class Stage:
    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.spool = Faulty(folder, self.clock)
        self.spool.prepare()
        self.log = Notes()
        self.say = Reporter(self.log)
        self.files = ActionFiles(self.spool, self.clock, self.say)
        self.request = folder / f"{STEM}.json"
        self.marker = folder / "processed" / f"{STEM}.action.json"
        self.result = folder / "processed" / f"{STEM}.result.json"

    def lie_there(self, *, request: bool = True, marker: bool | str = False, result: str | None = None) -> None:
        if request:
            self.request.write_text("{}")
        if marker is True:
            ActionMarker.begin(self.spool, MARKER, self.say).record(Effect.SPAWNED)
        elif marker:
            self.marker.write_text(str(marker))
        if result is not None:
            self.result.write_text(result)
        self.spool.done.clear()

    async def settle(self, result: Result = RESULT) -> Fate:
        return await self.clock.run(self.files.settle(STEM, result))

    async def look_up(self, stem: str = STEM) -> Fate:
        return await self.clock.run(self.files.look_up(stem))

    def left(self) -> list[str]:
        found = (path for path in [*self.request.parent.iterdir(), *self.result.parent.iterdir()] if not path.is_dir())
        return sorted(path.name.removeprefix(STEM) for path in found)

    @property
    def answer(self) -> Any:
        return json.loads(self.result.read_text())


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# --- publishing -------------------------------------------------------------------------------------------------------


async def test_the_order_is_result_request_marker(stage: Stage) -> None:
    stage.lie_there(marker=True)
    assert await stage.settle() is Fate.DONE
    assert stage.spool.done == ["publish", "remove request", "remove marker"]
    assert stage.left() == [".result.json"]
    assert stage.answer["outcome"] == "opened"


@pytest.mark.parametrize(("failures", "at"), [(1, [0, 10]), (5, [0, 10, 30, 70, 150, 310])])
async def test_it_is_tried_again_after_10_20_40_80_160_ms(stage: Stage, failures: int, at: list[int]) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("publish", failures)
    assert await stage.settle() is Fate.DONE
    assert [moment - stage.spool.tries[0] for moment in stage.spool.tries] == at
    assert stage.left() == [".result.json"]


async def test_then_request_and_marker_stay_and_nothing_is_repeated(stage: Stage) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("publish", 6)
    assert await stage.settle() is Fate.RETAIN
    assert stage.left() == [".action.json", ".json"]
    assert stage.log.about("could not be published")


async def test_the_next_host_answers_it(stage: Stage, tmp_path: Path) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("publish", 6)
    await stage.settle()
    assert await Stage(tmp_path).look_up() is Fate.DONE
    assert (stage.answer["reason"], stage.answer["resumed"]) == ("interrupted by restart", True)
    assert stage.left() == [".result.json"]


async def test_a_result_that_appeared_meanwhile_counts_and_is_not_tried_against(stage: Stage) -> None:
    stage.lie_there(marker=True, result='{"outcome":"closed"}')
    assert await stage.settle() is Fate.DONE
    assert stage.answer == {"outcome": "closed"}
    assert len(stage.spool.tries) == 1
    assert stage.left() == [".result.json"]
    assert stage.log.about("another result appeared")


async def test_something_else_in_its_place_is_a_failure(stage: Stage) -> None:
    async def opened_again() -> bool:
        pytest.fail("no room helps there")

    stage.files = ActionFiles(stage.spool, stage.clock, stage.say, opened_again)
    stage.lie_there(marker=True)
    stage.result.mkdir()
    assert await stage.settle() is Fate.RETAIN
    assert stage.left() == [".action.json", ".json"]


async def test_a_request_that_cannot_be_removed_does_not_keep_the_marker(stage: Stage) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("remove request", code=errno.EACCES)
    assert await stage.settle() is Fate.RETAIN
    assert stage.left() == [".json", ".result.json"]
    assert stage.log.about("its request cannot be removed")


async def test_a_marker_that_cannot_be_removed(stage: Stage, tmp_path: Path) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("remove marker", code=errno.EACCES)
    assert await stage.settle() is Fate.RETAIN
    assert stage.left() == [".action.json", ".result.json"]
    before = stage.result.read_bytes()
    assert await Stage(tmp_path).look_up() is Fate.DONE
    assert (stage.left(), stage.result.read_bytes()) == ([".result.json"], before)


async def test_being_cancelled_means_one_last_attempt(stage: Stage) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("publish", 2)
    task = asyncio.get_running_loop().create_task(stage.files.settle(STEM, RESULT), name="settling")
    await stage.clock.advance(10)
    assert len(stage.spool.tries) == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(stage.spool.tries) == 3
    assert stage.left() == [".result.json"]


async def test_where_no_result_can_be_published_it_waits_for_room(stage: Stage) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("publish", 12)
    room = asyncio.Event()
    asked: list[int] = []

    async def opened_again() -> bool:
        asked.append(len(stage.spool.tries))
        await room.wait()
        return True

    stage.files = ActionFiles(stage.spool, stage.clock, stage.say, opened_again)
    task = asyncio.get_running_loop().create_task(stage.files.settle(STEM, RESULT), name="settling")
    await stage.clock.advance(60_000)
    assert (asked, stage.left()) == ([6], [".action.json", ".json"])
    room.set()
    await stage.clock.advance(1000)
    assert await task is Fate.DONE
    assert (asked, stage.left()) == ([6, 12], [".result.json"])


async def test_being_cancelled_while_it_waits_for_room_means_one_last_attempt(stage: Stage) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("publish", 7)

    async def opened_again() -> bool:
        await asyncio.Event().wait()
        return True

    stage.files = ActionFiles(stage.spool, stage.clock, stage.say, opened_again)
    task = asyncio.get_running_loop().create_task(stage.files.settle(STEM, RESULT), name="settling")
    await stage.clock.advance(1000)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(stage.spool.tries) == 7
    assert stage.left() == [".action.json", ".json"]


def test_at_once_means_one_attempt(stage: Stage) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("publish")
    assert stage.files.settle_at_once(STEM, RESULT) is Fate.RETAIN
    assert stage.files.settle_at_once(STEM, RESULT) is Fate.DONE


async def test_a_name_that_is_no_versioned_one_has_no_history(stage: Stage, tmp_path: Path) -> None:
    """Its refusal takes the place of an older result, as every legacy result does."""
    (tmp_path / "wake.json").write_text("{}")
    (tmp_path / "processed" / "wake.result.json").write_text('{"ok":true}')
    (tmp_path / "processed" / "wake.action.json").write_text("somebody's")
    assert await stage.look_up("wake") is Fate.WORK
    assert await stage.clock.run(stage.files.admit("wake")) is Fate.WORK
    assert await stage.clock.run(stage.files.settle("wake", RESULT)) is Fate.DONE
    assert json.loads((tmp_path / "processed" / "wake.result.json").read_text())["outcome"] == "opened"
    assert (tmp_path / "processed" / "wake.action.json").read_text() == "somebody's"
    assert not (tmp_path / "wake.json").exists()


# --- looking up -------------------------------------------------------------------------------------------------------


async def test_an_untouched_request_is_worked_on(stage: Stage) -> None:
    stage.lie_there()
    assert await stage.look_up() is Fate.WORK
    assert await stage.clock.run(stage.files.admit(STEM)) is Fate.WORK
    assert stage.left() == [".json"]


@pytest.mark.parametrize("request_there", [True, False], ids=["with its request", "orphan"])
async def test_a_marker_is_answered_and_not_repeated(stage: Stage, request_there: bool) -> None:
    stage.lie_there(request=request_there, marker=True)
    assert await stage.look_up() is Fate.DONE
    assert stage.spool.done == ["publish", "remove request", "remove marker"]
    assert stage.left() == [".result.json"]
    assert (stage.answer["reason"], stage.answer["sessionId"]) == ("interrupted by restart", ID)


@pytest.mark.parametrize("content", ["garbage", "{}", "[" * 30_000, "\0", json.dumps({"request": OTHER})])
async def test_a_marker_that_is_garbage_is_answered_too(stage: Stage, content: str) -> None:
    stage.lie_there(marker=content)
    assert await stage.look_up() is Fate.DONE
    assert (stage.answer["reason"], stage.answer["uncertain"]) == ("interrupted by restart", True)
    assert stage.left() == [".result.json"]


async def test_a_marker_that_is_a_link_is_not_followed(stage: Stage, tmp_path: Path) -> None:
    stage.lie_there()
    (tmp_path / "victim").write_text("precious")
    stage.marker.symlink_to(tmp_path / "victim")
    assert await stage.look_up() is Fate.DONE
    assert stage.answer["reason"] == "interrupted by restart"
    assert (tmp_path / "victim").read_text() == "precious"
    assert not stage.marker.is_symlink()


async def test_a_folder_in_the_markers_place(stage: Stage) -> None:
    stage.lie_there()
    stage.marker.mkdir()
    assert await stage.look_up() is Fate.RETAIN
    assert stage.answer["reason"] == "interrupted by restart"
    assert stage.left() == [".result.json"]


async def test_a_marker_that_cannot_be_read_now_stops_everything(stage: Stage) -> None:
    stage.lie_there(marker=True)
    stage.spool.fail("read marker", code=errno.EIO)
    assert await stage.look_up() is Fate.RETAIN
    assert stage.left() == [".action.json", ".json"]
    assert stage.log.about("left alone")


@pytest.mark.parametrize("marker", [True, False, "garbage"])
async def test_a_result_with_an_outcome_wins_whatever_else_lies_there(stage: Stage, marker: bool | str) -> None:
    stage.lie_there(marker=marker, result='{"outcome":"refused","x":1}')
    for leftover in (".result.json.tmp", ".action.json.tmp"):
        (stage.result.parent / f"{STEM}{leftover}").write_text("half")
    assert await stage.look_up() is Fate.DONE
    assert stage.answer == {"outcome": "refused", "x": 1}
    assert stage.left() == [".result.json"]
    assert "publish" not in stage.spool.done


@pytest.mark.parametrize(
    ("result", "fate", "left"),
    [
        pytest.param('{"ok":false,"error":"not sent"}', Fate.DONE, [".result.json"], id="a legacy result"),
        pytest.param("garbage", Fate.RETAIN, [".json", ".result.json"], id="no result at all"),
        pytest.param('{"outcome":"opened"}', Fate.DONE, [".result.json"], id="a terminal result"),
    ],
)
async def test_a_versioned_request_whose_results_place_is_taken_is_not_begun(
    stage: Stage, result: str, fate: Fate, left: list[str]
) -> None:
    stage.lie_there(result=result)
    assert await stage.clock.run(stage.files.admit(STEM)) is fate
    assert stage.left() == left
    assert stage.result.read_text() == result


async def test_an_interrupted_action_whose_results_place_is_taken_is_left(stage: Stage) -> None:
    stage.lie_there(marker=True, result='{"ok":true}')
    assert await stage.look_up() is Fate.RETAIN
    assert stage.left() == [".action.json", ".json", ".result.json"]


async def test_a_result_that_cannot_be_read_now_lets_a_legacy_request_pass(stage: Stage) -> None:
    stage.lie_there()
    stage.spool.fail("read result", code=errno.EIO)
    assert await stage.look_up() is Fate.WORK


def test_names_of_interrupted_actions(stage: Stage) -> None:
    stage.lie_there(marker=True)
    for name in ("x.action.json", f"{OTHER.upper()}.action.json", f"{OTHER}.result.json", f"{OTHER}.action.json.tmp"):
        (stage.result.parent / name).write_text("{}")
    assert stage.files.interrupted_names() == [STEM]


def test_a_results_folder_that_cannot_be_searched_is_reported(stage: Stage) -> None:
    stage.result.parent.rmdir()
    stage.result.parent.write_text("")
    assert stage.files.interrupted_names() == []
    assert stage.log.about("cannot be searched")


# --- markers ----------------------------------------------------------------------------------------------------------


def recorded(stage: Stage) -> Marker | None:
    return decode_marker(stage.marker.read_bytes(), STEM)


def test_a_marker_follows_its_action(stage: Stage) -> None:
    action = ActionMarker.begin(stage.spool, MARKER, stage.say)
    assert recorded(stage) == MARKER
    action.record(Effect.SPAWNED)
    action.attempt()
    action.record(Effect.ENTER_WRITTEN, Submitted.ASSUMED, enter_at=7)
    assert recorded(stage) == action.state
    assert action.state.effects == (Effect.SPAWNED, Effect.PROMPT_ATTEMPTED, Effect.ENTER_WRITTEN)


def test_a_marker_that_cannot_be_made_forbids_the_action(stage: Stage) -> None:
    stage.spool.fail("create marker")
    with pytest.raises(MarkerNotSavedError, match="No space left"):
        ActionMarker.begin(stage.spool, MARKER, stage.say)
    assert not stage.marker.exists()


def test_a_marker_that_is_there_already_does_too(stage: Stage) -> None:
    ActionMarker.begin(stage.spool, MARKER, stage.say).record(Effect.SPAWNED)
    before = stage.marker.read_bytes()
    with pytest.raises(MarkerNotSavedError, match="exists"):
        ActionMarker.begin(stage.spool, MARKER, stage.say)
    assert stage.marker.read_bytes() == before


def test_an_attempt_that_cannot_be_recorded_must_not_be_made(stage: Stage) -> None:
    action = ActionMarker.begin(stage.spool, MARKER, stage.say)
    stage.spool.fail("update marker")
    with pytest.raises(MarkerNotSavedError, match="No space left"):
        action.attempt()
    assert recorded(stage) == MARKER


def test_a_deed_that_cannot_be_recorded_is_done_all_the_same(stage: Stage) -> None:
    action = ActionMarker.begin(stage.spool, MARKER, stage.say)
    stage.spool.fail("update marker")
    action.record(Effect.SPAWNED)
    assert recorded(stage) == MARKER
    assert stage.log.about("that it was spawned could not be recorded")
    action.attempt()
    assert recorded(stage) == action.state
    assert Effect.SPAWNED in action.state.effects


def test_an_effect_out_of_order_changes_nothing(stage: Stage) -> None:
    action = ActionMarker.begin(stage.spool, MARKER, stage.say)
    with pytest.raises(IllegalEffect):
        action.record(Effect.STOP_REQUESTED)
    assert recorded(stage) == action.state == MARKER
