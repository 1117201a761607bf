"""Versioned requests through the real watcher and a real folder: dispatch, one result each, recovery at the start."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.lifecycle import CWD, ID, OTHER, House
from tests.support.spool_stage import SpoolStage

from switchboard.common.folder_watch import FolderEvent
from switchboard.delivery.submission import Submitted
from switchboard.triggers.markers import Effect, Marker, encode_marker
from switchboard.triggers.spool import Spool
from switchboard.triggers.v1_schema import Mode

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
SECOND = "1a1b2c3d-4e5f-6789-abcd-ef0123456789"
OPEN: dict[str, Any] = {"version": 1, "action": "open", "sessionId": ID}
PROMPT: dict[str, Any] = {**OPEN, "prompt": "hello"}
NEW: dict[str, Any] = {"version": 1, "action": "open", "new": {"project": CWD, "name": "n"}, "prompt": "hello"}
STOP: dict[str, Any] = {"version": 1, "action": "stop", "sessionId": ID}


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path, real_time=True)


def left(house: House) -> list[str]:
    """Everything in both folders."""
    requests = [name for name in os.listdir(house.spool.folder) if name != "processed"]
    return sorted([*requests, *os.listdir(house.spool.results)])


# --- dispatch ---------------------------------------------------------------------------------------------------------


async def test_a_request_is_carried_out_answered_and_removed(house: House) -> None:
    house.closed()
    async with house.watching():
        house.put(STEM, PROMPT)
        result = await house.until_result(STEM)
    assert (result["ok"], result["outcome"], result["resumed"], result["submitted"]) == (
        True,
        "opened",
        True,
        "confirmed",
    )
    assert left(house) == [f"{STEM}.result.json"]
    assert house.steps == ["received", "waiting", "opening", "writing", "done"]


async def test_a_new_session_is_started(house: House) -> None:
    house.page.on_start = house.comes_up
    async with house.watching():
        house.put(STEM, NEW)
        result = await house.until_result(STEM)
    assert (result["ok"], result["created"]) == (True, True)


async def test_a_legacy_request_of_a_versioned_name_is_a_legacy_request(house: House) -> None:
    session = house.open_here()
    async with house.watching():
        house.put(STEM, {"sessionId": ID, "command": "hello"})
        result = await house.until_result(STEM)
    assert (result["ok"], result["command"]) == (True, "hello")
    assert "outcome" not in result
    assert session.typed == b"hello\r"
    assert "ready" not in house.calls


SHAPES: list[tuple[str, object, str]] = [
    ("0A1B2C3D-4E5F-6789-ABCD-EF0123456789", PROMPT, "trigger filename must be a lowercase UUID"),
    ("hello", PROMPT, "trigger filename must be a lowercase UUID"),
    (STEM, {**OPEN, "version": 2}, "unsupported version"),
    (STEM, {"action": "open", "sessionId": ID}, "unsupported version"),
    (STEM, {**OPEN, "action": "fork"}, "unsupported action"),
    (STEM, {**OPEN, "prompt": ""}, "prompt must be a non-empty string"),
    (STEM, {**OPEN, "command": "hello"}, "unsupported field: command"),
    (STEM, None, "trigger must be an object"),
    (STEM, "[" * 30_000 + "]" * 30_000, "trigger must be an object"),
]


@pytest.mark.parametrize(("stem", "body", "reason"), SHAPES, ids=[f"{row}: {SHAPES[row][2]}" for row in range(9)])
async def test_a_wrong_shape_does_nothing(house: House, stem: str, body: object, reason: str) -> None:
    house.open_here()
    async with house.watching():
        house.put(stem, "null" if body is None else body)
        result = await house.until_result(stem)
    assert (result["outcome"], result["reason"], result["ok"]) == ("refused", reason, False)
    assert house.calls == []
    assert left(house) == [f"{stem}.result.json"]


async def test_a_file_that_cannot_be_taken_for_either_keeps_the_old_envelope(house: House) -> None:
    async with house.watching():
        house.put(STEM, "{nonsense")
        result = await house.until_result(STEM)
    assert result["error"].startswith("invalid JSON: ")
    assert "outcome" not in result


async def test_without_a_house_every_request_is_refused(tmp_path: Path) -> None:
    stage = SpoolStage(tmp_path / "triggers")
    async with stage.open():
        stage.rename_in(STEM, json.dumps(PROMPT))
        await stage.clock.advance(100)
    result = stage.result(STEM)
    assert (result["outcome"], result["reason"]) == ("refused", "window not available")
    assert stage.writes == []


async def test_a_fault_of_ours_is_a_result(house: House) -> None:
    house.closed()

    async def broken() -> None:
        raise ZeroDivisionError("a fault")

    house.page.during = broken
    async with house.watching():
        house.put(STEM, PROMPT)
        result = await house.until_result(STEM)
        house.put(SECOND, {**OPEN, "sessionId": OTHER})
        assert (await house.until_result(SECOND))["reason"] == "session not found"
    assert (result["reason"], result["error"]) == ("internal error", "internal error: ZeroDivisionError: a fault")
    assert left(house) == [f"{STEM}.result.json", f"{SECOND}.result.json"]


async def test_legacy_and_versioned_requests_of_a_session_take_turns(house: House) -> None:
    session = house.open_here()
    house.page.ack_after = 500
    async with house.watching():
        house.put(STEM, PROMPT)
        await house.clock.settle()
        house.put("legacy", {"sessionId": ID, "command": "second"})
        await house.clock.advance(400)
        assert session.typed == b""
        await house.until_result(STEM)
        await house.until_result("legacy")
    assert session.typed.startswith(b"hello\r")


async def test_the_turn_is_kept_until_the_result_is_published(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.open_here()
    publish = house.spool.publish_new
    refused = 3

    async with house.watching() as watcher:

        def busy(stem: str, data: bytes) -> None:
            nonlocal refused
            if refused:
                refused -= 1
                raise OSError(16, "Device or resource busy")
            publish(stem, data)

        monkeypatch.setattr(watcher._spool, "publish_new", busy)
        house.put(STEM, OPEN)
        house.put(SECOND, OPEN)
        await house.clock.advance(60)
        assert sum(call.startswith("reattach") for call in house.calls) == 1
        await house.clock.advance(200)
    assert sum(call.startswith("reattach") for call in house.calls) == 2
    assert house.result(STEM)["ok"] is True


# --- one result -------------------------------------------------------------------------------------------------------


async def test_the_same_name_again_is_the_same_request(house: House) -> None:
    session = house.open_here()
    async with house.watching():
        house.put(STEM, PROMPT)
        first = await house.until_result(STEM)
        inode = os.stat(f"{house.spool.results}/{STEM}.result.json").st_ino
        for body in (PROMPT, NEW, {"sessionId": ID, "command": "hello"}, "{nonsense"):
            house.put(STEM, body)
            await house.clock.advance(200)
    assert house.result(STEM) == first
    assert os.stat(f"{house.spool.results}/{STEM}.result.json").st_ino == inode
    assert session.typed == b"hello\r"
    assert left(house) == [f"{STEM}.result.json"]


async def test_a_name_that_comes_again_while_it_is_worked_on(house: House) -> None:
    house.closed()
    house.page.ack_after = 500
    async with house.watching():
        house.put(STEM, OPEN)
        await house.clock.advance(100)
        house.put(STEM, PROMPT)
        await house.until_result(STEM)
        await house.clock.advance(1000)
    assert house.page.started[0].typed == b""
    assert len(house.page.started) == 1
    assert left(house) == [f"{STEM}.result.json"]


async def test_a_legacy_result_of_that_name_is_the_first_one(house: House) -> None:
    house.open_here()
    place = Path(house.spool.results, f"{STEM}.result.json")
    place.write_text('{"ok":true}\n')
    async with house.watching():
        house.put(STEM, PROMPT)
        await house.clock.advance(1000)
    assert house.calls == []
    assert place.read_text() == '{"ok":true}\n'
    assert left(house) == [f"{STEM}.result.json"]


async def test_a_request_that_could_not_be_answered_waits_for_the_next_host(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.open_here()

    def full(_stem: str, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    async with house.watching() as watcher:
        with monkeypatch.context() as patch:
            patch.setattr(watcher._spool, "publish_new", full)
            house.put(STEM, PROMPT)
            await house.clock.advance(5000)
        house.put(STEM, PROMPT)
        watcher._scan()
        await house.clock.advance(1000)
        assert house.result(STEM) is None, "this host took it for one that an earlier host had begun"
    async with house.watching():
        assert (await house.until_result(STEM))["reason"] == "interrupted by restart"


async def test_a_result_that_cannot_be_published_keeps_everything_and_nothing_is_repeated(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = house.open_here()

    def full(_stem: str, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    async with house.watching() as watcher:
        monkeypatch.setattr(watcher._spool, "publish_new", full)
        house.put(STEM, PROMPT)
        await house.clock.advance(5000)
        house.put(STEM, PROMPT)
        await house.clock.advance(1000)
    assert session.typed == b"hello\r"
    assert left(house) == [f"{STEM}.action.json", f"{STEM}.json"]
    assert house.log.about("not carried out again")
    monkeypatch.undo()
    async with house.watching():
        result = await house.until_result(STEM)
    assert (result["reason"], result["uncertain"], result["submitted"]) == ("interrupted by restart", True, "assumed")
    assert session.typed == b"hello\r"
    assert left(house) == [f"{STEM}.result.json"]


async def test_a_request_that_cannot_be_removed_is_not_repeated(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = house.open_here()

    def refuse(_name: str, _identity: object = None) -> bool:
        raise PermissionError(1, "Operation not permitted")

    async with house.watching() as watcher:
        monkeypatch.setattr(watcher._spool, "remove", refuse)
        house.put(STEM, PROMPT)
        first = await house.until_result(STEM)
        house.put(STEM, PROMPT)
        await house.clock.advance(1000)
    monkeypatch.undo()
    async with house.watching():
        await house.clock.advance(1000)
    assert session.typed == b"hello\r"
    assert house.result(STEM) == first
    assert left(house) == [f"{STEM}.result.json"]


# --- recovery at the start --------------------------------------------------------------------------------------------

PHASES: list[tuple[Mode, list[Effect]]] = [
    (Mode.RESUME, []),
    (Mode.RESUME, [Effect.SPAWNED]),
    (Mode.RESUME, [Effect.SPAWNED, Effect.PROMPT_ATTEMPTED]),
    (Mode.RESUME, [Effect.PROMPT_ATTEMPTED, Effect.TEXT_WRITTEN, Effect.ENTER_WRITTEN]),
    (Mode.NEW, []),
    (Mode.NEW, [Effect.SPAWNED]),
    (Mode.NEW, [Effect.SPAWNED, Effect.PROMPT_ATTEMPTED, Effect.ENTER_WRITTEN]),
    (Mode.STOP, []),
    (Mode.STOP, [Effect.STOP_REQUESTED]),
]


def leave_marker(house: House, mode: Mode, effects: list[Effect], steps_total: int = 1) -> None:
    stop_alone = mode is Mode.STOP
    marker = Marker(STEM, mode, ID, house.clock.now() + 1000, 0 if stop_alone else steps_total)
    for effect in effects:
        marker = marker.after(effect, Submitted.NO)
    Path(house.spool.results, f"{STEM}.action.json").write_bytes(encode_marker(marker))


@pytest.mark.parametrize("with_input", [True, False], ids=["request there", "request gone"])
@pytest.mark.parametrize(
    ("mode", "effects"), PHASES, ids=lambda value: getattr(value, "value", None) or str(len(value))
)
async def test_an_interrupted_action_is_answered_and_not_repeated(
    house: House, mode: Mode, effects: list[Effect], with_input: bool
) -> None:
    house.closed()
    session = house.open_here(OTHER)
    leave_marker(house, mode, effects)
    if with_input:
        house.put(STEM, {Mode.RESUME: PROMPT, Mode.NEW: NEW, Mode.STOP: STOP}[mode])
        # Recovery comes before the age check.
        os.utime(f"{house.spool.folder}/{STEM}.json", (1, 1))
    async with house.watching():
        result = await house.until_result(STEM)
        await house.clock.advance(10_000)
    assert (result["outcome"], result["reason"], result["uncertain"]) == ("refused", "interrupted by restart", True)
    assert result["sessionId"] == ID
    assert result.get("resumed", result.get("created", False)) is (Effect.SPAWNED in effects)
    assert result["wrote"] is (Effect.PROMPT_ATTEMPTED in effects)
    assert result["submitted"] == ("assumed" if Effect.ENTER_WRITTEN in effects else "no")
    assert house.calls == []
    assert session.writes == []
    assert left(house) == [f"{STEM}.result.json"]
    (told,) = house.told
    action = {Mode.RESUME: "open", Mode.NEW: "new", Mode.STOP: "stop"}[mode]
    assert (told.name, told.step, told.action, told.session_id, told.ok) == (STEM, "done", action, ID, False)
    assert (told.outcome, told.reason, told.uncertain) == ("refused", "interrupted by restart", True)


async def test_of_an_action_that_was_answered_and_not_cleared_away_the_end_is_told(house: House) -> None:
    """The host that answered it may have been gone before it could tell any page."""
    leave_marker(house, Mode.STOP, [Effect.STOP_REQUESTED])
    content = {"version": 1, "action": "stop", "ok": True, "outcome": "closed", "reason": None, "sessionId": ID}
    Path(house.spool.results, f"{STEM}.result.json").write_text(json.dumps(content))
    async with house.watching():
        await house.clock.advance(1000)
    (told,) = house.told
    assert (told.step, told.action, told.session_id, told.ok, told.outcome) == ("done", "stop", ID, True, "closed")


async def test_an_end_is_not_told_before_there_is_a_result(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_spool: Spool, _stem: str, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    leave_marker(house, Mode.RESUME, [])
    monkeypatch.setattr(Spool, "publish_new", full)
    async with house.watching():
        await house.clock.advance(1000)
    assert house.told == []


async def test_a_repetition_that_was_read_does_not_stay_under_way(house: House) -> None:
    Path(house.spool.results, f"{STEM}.result.json").write_text('{"ok":false,"error":"not sent"}')
    async with house.watching():
        house.put(STEM, PROMPT)
        await house.clock.advance(1000)
    assert [(told.step, told.error) for told in house.told] == [("received", None), ("done", "not sent")]


# --- what a person has to see to --------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["result", "marker and result", "result that appears"])
async def test_a_request_that_is_left_alone_is_told_of_until_it_is_gone(house: House, what: str) -> None:
    house.open_here()
    place = Path(house.spool.results, f"{STEM}.result.json")
    marker = Path(house.spool.results, f"{STEM}.action.json")
    if what != "result that appears":
        place.mkdir()
    if what == "marker and result":
        leave_marker(house, Mode.RESUME, [])
    async with house.watching() as watcher:
        house.put(STEM, PROMPT)
        await house.clock.advance(10)
        if what == "result that appears":
            place.mkdir()  # while its session is being waited for
        await house.clock.advance(20_000)
        assert watcher.problem is not None
        assert house.problems == [watcher.problem]
        assert STEM in watcher.problem
        assert house.spool.results in watcher.problem, "it is not said where to look"
        assert house.told[-1].ok is False or what == "result that appears"
        # It stays so while anything of it is there, however often the folder is listed.
        watcher._scan()
        assert watcher.problem is not None
        place.rmdir()
        marker.unlink(missing_ok=True)
        os.unlink(f"{house.spool.folder}/{STEM}.json")
        await house.clock.settle()
        watcher._on_event(FolderEvent(f"{STEM}.json", "gone", "moved"))
        assert watcher.problem is None
    assert house.problems[-1] is None


async def test_what_was_left_without_a_request_is_told_of_until_its_marker_is_gone(house: House) -> None:
    place = Path(house.spool.results, f"{STEM}.result.json")
    place.mkdir()
    leave_marker(house, Mode.RESUME, [])
    async with house.watching() as watcher:
        await house.clock.advance(1000)
        watcher._scan()
        assert STEM in (watcher.problem or "")
        assert house.told[-1].ok is False
        Path(house.spool.results, f"{STEM}.action.json").unlink()
        house.put(SECOND, {**OPEN, "action": "fork"})  # whatever comes next
        await house.until_result(SECOND)
        assert watcher.problem is None


async def test_of_many_that_are_left_alone_the_first_is_named_and_the_others_are_counted(house: House) -> None:
    stems = [f"{number:08x}-4e5f-6789-abcd-ef0123456789" for number in range(3)]
    for stem in stems:
        Path(house.spool.results, f"{stem}.result.json").mkdir()
    async with house.watching() as watcher:
        for stem in stems:
            house.put(stem, PROMPT)
            await house.clock.advance(100)
        assert stems[0] in (watcher.problem or "")
        assert "2 more" in (watcher.problem or "")
        os.unlink(f"{house.spool.folder}/{stems[0]}.json")
        watcher._on_event(FolderEvent(f"{stems[0]}.json", "gone", "moved"))
        assert stems[1] in (watcher.problem or "")
        assert "1 more" in (watcher.problem or "")


async def test_a_marker_that_cannot_be_removed_is_told_of(house: House) -> None:
    Path(house.spool.results, f"{STEM}.action.json").mkdir()
    async with house.watching() as watcher:
        assert (await house.until_result(STEM))["reason"] == "interrupted by restart"
        await house.clock.settle()
        assert "marker cannot be removed" in (watcher.problem or "")


async def test_a_result_with_everything_else_still_there_is_cleaned_up(house: House) -> None:
    leave_marker(house, Mode.RESUME, [Effect.SPAWNED])
    house.put(STEM, PROMPT)
    content = '{"outcome":"opened","ok":true}\n'
    Path(house.spool.results, f"{STEM}.result.json").write_text(content)
    async with house.watching():
        await house.clock.advance(1000)
    assert left(house) == [f"{STEM}.result.json"]
    assert Path(house.spool.results, f"{STEM}.result.json").read_text() == content
    assert house.calls == []


async def test_a_marker_that_is_garbage_is_a_marker(house: House) -> None:
    house.open_here()
    Path(house.spool.results, f"{STEM}.action.json").write_bytes(b"\x00garbage")
    house.put(STEM, PROMPT)
    async with house.watching():
        result = await house.until_result(STEM)
    assert (result["reason"], result["uncertain"], result["sessionId"]) == ("interrupted by restart", True, None)
    assert house.calls == []
    assert left(house) == [f"{STEM}.result.json"]


async def test_a_request_that_was_not_begun_is_carried_out(house: House) -> None:
    house.open_here()
    house.put(STEM, PROMPT)
    async with house.watching():
        assert (await house.until_result(STEM))["ok"] is True


async def test_and_one_that_is_too_old_is_not(house: House) -> None:
    house.open_here()
    house.put(STEM, PROMPT)
    os.utime(f"{house.spool.folder}/{STEM}.json", (1, 1))
    async with house.watching():
        result = await house.until_result(STEM)
    assert result["error"] == "not sent"
    assert house.calls == []


async def test_many_markers_go_through_the_same_backpressure(house: House) -> None:
    stems = [f"{number:08x}-4e5f-6789-abcd-ef0123456789" for number in range(40)]
    for stem in stems:
        marker = Marker(stem, Mode.RESUME, ID, 1, 0)
        Path(house.spool.results, f"{stem}.action.json").write_bytes(encode_marker(marker))
    async with house.watching():
        for stem in stems:
            assert (await house.until_result(stem))["reason"] == "interrupted by restart"
    assert left(house) == [f"{stem}.result.json" for stem in stems]


async def test_markers_of_this_host_are_its_own(house: House) -> None:
    """A folder that is listed again while an action goes on does not make it an interrupted one."""
    house.closed()
    house.page.ack_after = 500
    async with house.watching() as watcher:
        house.put(STEM, OPEN)
        await house.clock.advance(100)
        watcher._scan()
        result = await house.until_result(STEM)
    assert (result["ok"], result["resumed"]) == (True, True)


# --- closing ----------------------------------------------------------------------------------------------------------


async def test_an_action_that_is_closed_down_is_answered(house: House) -> None:
    house.closed()
    house.page.ack_after = None
    async with house.watching():
        house.put(STEM, PROMPT)
        await house.clock.advance(100)
    result = house.result(STEM)
    assert (result["reason"], result["resumed"], result["wrote"]) == ("Switchboard is closing.", True, False)
    assert left(house) == [f"{STEM}.result.json"]


async def test_one_that_hangs_is_cancelled_and_answered(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.closed()
    monkeypatch.setattr("switchboard.triggers.watcher.CLOSE_GRACE_S", 0.01)

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()

    house.page.during = stubborn
    async with house.watching():
        house.put(STEM, PROMPT)
        await house.clock.advance(100)
    result = house.result(STEM)
    assert (result["reason"], result["resumed"]) == ("Switchboard is closing.", False)
