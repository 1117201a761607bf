"""Results that cannot be published: nothing is typed without one, none is lost, and it ends by itself."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.full_disk import FullDisk
from tests.support.spool_stage import SpoolStage
from tests.unit.triggers.test_journal import Memory

from switchboard.common.clock import FOREVER
from switchboard.common.folder_watch import Rescan
from switchboard.triggers import outlet
from switchboard.triggers.watcher import TriggerWatcher

LONG = "x" * 240


class Stage(SpoolStage):
    """With what pages would be told."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.problems: list[str | None] = []
        self.watch()

    def watch(self, **options: Any) -> None:
        self.watcher = TriggerWatcher(
            self.terminals,
            self.folder,
            clock=self.clock,
            env=self.env,
            log=self.log,
            on_problem=self.problems.append,
            **options,
        )

    @property
    def processed(self) -> list[str]:
        return sorted(os.listdir(self.folder / "processed"))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path / "triggers")
    made.session()
    return made


@pytest.fixture
def disk(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(stage.folder / "processed", monkeypatch)


# --- before anything is typed ---------------------------------------------------------------------------------------


async def test_on_a_full_disk_a_request_waits_and_is_carried_out_once_there_is_room(
    stage: Stage, disk: FullDisk
) -> None:
    async with stage.open() as watcher:
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(20_000)
        assert (stage.typed, stage.waiting(), stage.processed) == ([], ["a.json"], [])
        assert watcher.problem is not None
        assert "is full" in watcher.problem
        disk.full = False
        await stage.clock.advance(outlet.LAST_LOOK_MS + 100)
        assert (stage.typed, stage.waiting(), stage.processed) == ([b"hello"], [], ["a.result.json"])
        assert watcher.problem is None
        await stage.clock.advance(100)
        assert stage.clock.next_timer == FOREVER, "a folder that is well is not asked again"
    assert [problem is None for problem in stage.problems] == [False, True]
    assert len(stage.log.about("error triggers: results of triggers cannot be published")) == 1


async def test_the_next_request_finds_the_room_without_waiting_for_the_next_look(stage: Stage, disk: FullDisk) -> None:
    async with stage.open():
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(60_000)
        disk.full = False
        stage.rename_in("b")
        await stage.clock.settle()
        assert stage.processed == ["a.result.json", "b.result.json"]


async def test_it_is_looked_at_less_and_less_often_however_many_requests_come(stage: Stage, disk: FullDisk) -> None:
    async with stage.open() as watcher:
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(60_000)
        asked = disk.asked
        assert asked <= 12
        for number in range(500):
            stage.rename_in(f"b{number}")
        watcher._on_event(Rescan())
        await stage.clock.settle()
        assert disk.asked <= asked + 2
        assert len(stage.log.about("cannot be published")) == 1
        assert len(stage.waiting()) == 501


def a_file(place: Path) -> None:
    place.rmdir()
    place.write_text("")


def a_link_to_nowhere(place: Path) -> None:
    place.rmdir()
    place.symlink_to(place.parent / "none" / "deep")


@pytest.mark.parametrize("spoil", [a_file, a_link_to_nowhere], ids=lambda spoil: spoil.__name__)
async def test_where_results_have_no_folder_nothing_is_typed_until_it_is_back(
    stage: Stage, spoil: Callable[[Path], None]
) -> None:
    async with stage.open():
        place = stage.folder / "processed"
        spoil(place)
        stage.rename_in("a")
        await stage.clock.advance(1000)
        assert (stage.typed, stage.waiting()) == ([], ["a.json"])
        place.unlink()
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert stage.typed == [b"hello"]
        assert stage.result("a")["ok"] is True


async def test_where_results_may_not_be_written_nothing_is_typed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    access = os.access
    denied = [True]
    async with stage.open():
        monkeypatch.setattr(
            os, "access", lambda path, mode: not (denied and "processed" in str(path)) and access(path, mode)
        )
        stage.rename_in("a")
        await stage.clock.advance(1000)
        assert (stage.typed, stage.waiting()) == ([], ["a.json"])
        denied.clear()
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert stage.result("a")["ok"] is True


async def test_what_waited_for_a_place_waits_too(stage: Stage, disk: FullDisk) -> None:
    terminal = stage.session("B")
    terminal.update(busy=True)
    async with stage.open():
        for number in range(8):
            stage.rename_in(f"{number}", stage.text_of(sessionId="B", wait="idle"))
        await stage.clock.settle()
        for number in range(8, 12):
            stage.rename_in(f"{number}")
        await stage.clock.advance(100)
        disk.full = True
        terminal.update(busy=False)
        await stage.clock.advance(10_000)
        assert len(stage.waiting()) == 12
        assert len(stage.typed) == 1, "its session's turn is not over before its result is out"
        assert stage.processed == []
        disk.full = False
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert len(stage.typed) == 12
        assert len(stage.processed) == 12
        assert stage.waiting() == []


async def test_a_request_that_waited_too_long_for_room_is_refused_for_its_age(stage: Stage, disk: FullDisk) -> None:
    async with stage.open():
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(400_000)
        disk.full = False
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert "staleness limit" in stage.result("a")["reason"]
        assert stage.typed == []


async def test_what_an_earlier_process_had_begun_is_not_forgotten_while_the_disk_is_full(
    stage: Stage, disk: FullDisk
) -> None:
    stage.folder.mkdir()
    (stage.folder / "processed").mkdir()
    stage.rename_in("a")
    memory = Memory(stage, a=True, b=True)
    stage.watch(journal=memory)
    disk.full = True
    async with stage.open():
        assert memory.told == ["b.json settled"]
        disk.full = False
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert stage.result("a")["reason"] == "interrupted by restart"
    assert stage.typed == []


async def test_what_was_begun_is_not_forgotten_when_the_folder_cannot_be_listed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memory(stage, a=True)
    stage.watch(journal=memory)
    with monkeypatch.context() as patched:
        patched.setattr(stage.watcher._spool, "names", fail_to_list)
        stage.watcher.start()
    stage.rename_in("a")
    await stage.clock.advance(100)
    await stage.watcher.close()
    assert stage.result("a")["reason"] == "interrupted by restart"
    assert stage.typed == []


def fail_to_list() -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


# --- after something was typed --------------------------------------------------------------------------------------


async def test_a_result_that_finds_no_room_waits_for_it_with_its_request(stage: Stage, disk: FullDisk) -> None:
    """As with a quota: nothing says beforehand that there is no room."""
    disk.silent = True
    async with stage.open() as watcher:
        disk.full, disk.takes = True, 20
        stage.rename_in("a")
        await stage.clock.advance(1000)
        assert (stage.typed, stage.waiting(), stage.processed) == ([b"hello"], ["a.json"], [])
        stage.rename_in("b")
        await stage.clock.advance(5000)
        assert (stage.typed, stage.waiting(), stage.processed) == ([b"hello"], ["a.json", "b.json"], [])
        assert watcher.problem is not None
        assert "No space left on device" in watcher.problem
        disk.full = False
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert (stage.result("a")["ok"], stage.result("b")["ok"]) == (True, True)
        assert stage.typed == [b"hello", b"hello"]
        assert stage.processed == ["a.result.json", "b.result.json"]
        assert stage.waiting() == []
        assert watcher.problem is None


async def test_a_place_that_is_taken_blocks_nobody_else(stage: Stage) -> None:
    async with stage.open() as watcher:
        (stage.folder / "processed" / "a.result.json").mkdir()
        stage.rename_in("a")
        await stage.clock.advance(1000)
        assert "'a' cannot be published (Is a directory)" in (watcher.problem or "")
        stage.rename_in("b")
        await stage.clock.advance(100)
        assert stage.result("b")["ok"] is True
        (stage.folder / "processed" / "a.result.json").rmdir()
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert stage.result("a")["ok"] is True
        assert watcher.problem is None
        await stage.clock.advance(100)
        assert stage.clock.next_timer == FOREVER
    assert len(stage.typed) == 2
    assert stage.problems[-1] is None


async def test_a_newer_result_is_never_replaced_by_one_that_was_kept(stage: Stage) -> None:
    async with stage.open() as watcher:
        place = stage.folder / "processed" / "a.result.json"
        place.mkdir()
        stage.rename_in("a")
        await stage.clock.advance(400)
        place.rmdir()
        stage.rename_in("a", stage.text_of(command="second"))
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert stage.result("a")["command"] == "second"
        assert watcher.problem is None


async def test_so_many_are_kept_then_the_oldest_is_given_up_and_said(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlet, "MAX_KEPT", 3)
    async with stage.open():
        for number in range(5):
            (stage.folder / "processed" / f"{number}.result.json").mkdir()
            stage.rename_in(f"{number}")
            await stage.clock.advance(400)
        assert [line.split("'")[1] for line in stage.log.about("is lost")] == ["0", "1"]
        for number in range(5):
            (stage.folder / "processed" / f"{number}.result.json").rmdir()
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert stage.processed == ["2.result.json", "3.result.json", "4.result.json"]


# --- at the end -----------------------------------------------------------------------------------------------------


async def test_closing_publishes_what_is_kept(stage: Stage, disk: FullDisk) -> None:
    disk.silent = True
    async with stage.open():
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(400)
        disk.full = False
    assert stage.result("a")["ok"] is True
    assert stage.log.about("is lost") == []


async def test_what_was_typed_and_not_answered_is_answered_by_the_next_start(stage: Stage, disk: FullDisk) -> None:
    disk.silent = True
    stage.folder.mkdir()
    memory = Memory(stage)
    stage.watch(journal=memory)
    async with stage.open():
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(400)
    assert memory.told == ["a.json to s, 0 texts typed"], "it is not on record as answered"
    assert (stage.waiting(), stage.processed) == (["a.json"], [])
    assert len(stage.log.about("the next start answers it")) == 1
    disk.full = False
    memory = Memory(stage, a=True)
    stage.watch(journal=memory)
    async with stage.open():
        await stage.clock.settle()
    assert (stage.result("a")["reason"], stage.result("a")["submitted"]) == ("interrupted by restart", "assumed")
    assert memory.told == ["a.json settled"]
    assert (stage.typed, stage.waiting()) == ([b"hello"], [])


async def test_what_an_earlier_process_left_stays_on_record_until_it_is_answered(stage: Stage, disk: FullDisk) -> None:
    stage.folder.mkdir()
    stage.rename_in("a")
    memory = Memory(stage, a=True)
    stage.watch(journal=memory)
    disk.full = disk.silent = True
    async with stage.open():
        await stage.clock.advance(400)
    assert (memory.told, stage.waiting(), stage.processed) == ([], ["a.json"], [])


async def test_a_refusal_that_was_not_answered_is_judged_again_by_the_next_start(stage: Stage, disk: FullDisk) -> None:
    disk.silent = True
    async with stage.open():
        disk.full = True
        stage.rename_in("a", stage.text_of(sessionId="later"))
        await stage.clock.advance(400)
    assert stage.waiting() == ["a.json"]
    disk.full = False
    stage.session("later")
    stage.watch()
    async with stage.open():
        await stage.clock.advance(100)
    assert stage.result("a")["ok"] is True


async def test_where_nothing_remembers_what_was_typed_it_is_not_left_to_be_typed_again(
    stage: Stage, disk: FullDisk
) -> None:
    disk.silent = True
    async with stage.open() as watcher:
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(400)
        await watcher.close()
    assert stage.waiting() == []
    assert len(stage.log.about("'a': its result is lost")) == 1
    assert stage.clock.next_timer == FOREVER
    assert stage.processed == []


async def test_a_result_that_only_its_own_place_refuses_is_said_to_be_lost_at_the_end(stage: Stage) -> None:
    async with stage.open():
        (stage.folder / "processed" / "a.result.json").mkdir()
        stage.rename_in("a")
        await stage.clock.advance(400)
    assert stage.waiting() == []
    assert len(stage.log.about("'a': its result is lost (Is a directory)")) == 1


async def test_closing_leaves_what_waits_for_the_next_start(stage: Stage, disk: FullDisk) -> None:
    async with stage.open():
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(400)
    assert stage.waiting() == ["a.json"]
    disk.full = False
    stage.watch()
    async with stage.open():
        await stage.clock.advance(100)
    assert stage.typed == [b"hello"]


@pytest.mark.parametrize("silent", [False, True], ids=["said beforehand", "found out"])
async def test_closing_waits_for_no_room(stage: Stage, disk: FullDisk, silent: bool) -> None:
    """A result that finds no room by then finds none within the grace: the next start answers it."""
    disk.silent = silent
    stage.env["SWITCHBOARD_SUBMIT_ENTER_DELAY_MS"] = "1000"
    stage.folder.mkdir()
    stage.watch(journal=Memory(stage))
    stage.watcher.start()
    stage.rename_in("a")
    await stage.clock.advance(10)
    disk.full = True
    await stage.clock.advance(20_000)
    said = len(stage.log.about("cannot be published"))
    async with asyncio.timeout(10):
        await stage.watcher.close(grace_s=3600)
    assert stage.waiting() == ["a.json"]
    assert len(stage.log.about("cannot be published")) == said, "what is known was said again"
    assert stage.clock.next_timer == FOREVER


async def test_closing_publishes_what_has_found_room_by_then(stage: Stage, disk: FullDisk) -> None:
    disk.silent = True
    stage.watcher.start()
    disk.full = True
    stage.rename_in("a")
    await stage.clock.advance(20_000)
    disk.full = False
    async with asyncio.timeout(10):
        await stage.watcher.close(grace_s=3600)
    assert (stage.result("a")["ok"], stage.waiting()) == (True, [])


async def test_a_delivery_that_is_cut_off_is_answered_by_the_next_start_too(
    stage: Stage, disk: FullDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.triggers.watcher.CLOSE_GRACE_S", 0.01)
    disk.silent = True
    stage.env["SWITCHBOARD_SUBMIT_ENTER_DELAY_MS"] = "60000"
    stage.folder.mkdir()
    memory = Memory(stage)
    stage.watch(journal=memory)
    stage.watcher.start()
    stage.rename_in("a")
    await stage.clock.advance(10)
    disk.full = True
    await stage.watcher.close()
    assert (stage.typed, stage.waiting()) == ([b"hello"], ["a.json"])
    assert memory.told == ["a.json to s, 0 texts typed"]


# --- names that are too long ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["there before", "arriving"])
async def test_a_request_whose_result_cannot_be_named_is_left_alone_and_told_once(stage: Stage, how: str) -> None:
    if how == "there before":
        stage.folder.mkdir()
        (stage.folder / f"{LONG}.json").write_text(stage.text_of())
    async with stage.open() as watcher:
        if how == "arriving":
            (stage.folder / "new").write_text(stage.text_of())
            os.rename(stage.folder / "new", stage.folder / f"{LONG}.json")
        await stage.clock.advance(100)
        for _ in range(20):
            watcher._on_event(Rescan())
            await stage.clock.settle()
        assert (stage.typed, stage.waiting()) == ([], [f"{LONG}.json"])
        assert len(stage.log.about("is left alone: no result can be named after it")) == 1
        assert "at most 239 bytes" in (watcher.problem or "")
        stage.rename_in("a")
        await stage.clock.advance(100)
        assert stage.result("a")["ok"] is True
        os.unlink(stage.folder / f"{LONG}.json")
        await stage.clock.advance(100)
        assert watcher.problem is None
    assert [problem is None for problem in stage.problems] == [False, True]


async def test_a_name_that_is_gone_unnoticed_is_no_problem_any_more(stage: Stage, tmp_path: Path) -> None:
    async with stage.open() as watcher:
        (stage.folder / f"{LONG}.json").write_text("{}")
        await stage.clock.advance(100)
        assert watcher.problem is not None
        shutil.move(stage.folder, tmp_path / "old")
        stage.folder.mkdir()
        await stage.clock.advance(100)
        assert watcher.problem is None


async def test_the_longest_name_is_carried_out(stage: Stage) -> None:
    async with stage.open():
        stage.rename_in(LONG[1:], stage.text_of())
        await stage.clock.advance(100)
        assert stage.result(LONG[1:])["ok"] is True


# --- leftovers ------------------------------------------------------------------------------------------------------


async def test_pages_that_fail_to_be_told_change_nothing(stage: Stage, disk: FullDisk) -> None:
    def broken(_problem: str | None) -> None:
        raise RuntimeError("no page")

    stage.watcher = TriggerWatcher(
        stage.terminals, stage.folder, clock=stage.clock, env=stage.env, log=stage.log, on_problem=broken
    )
    async with stage.open():
        disk.full = True
        stage.rename_in("a")
        await stage.clock.advance(100)
        disk.full = False
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert stage.result("a")["ok"] is True


async def test_a_folder_that_cannot_be_used_at_the_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    stage = Stage(tmp_path / "file" / "triggers")
    async with stage.open() as watcher:
        assert stage.problems == [watcher.problem]
        assert "SWITCHBOARD_TRIGGERS_DIR" in (watcher.problem or "")


async def test_a_kept_result_whose_name_is_used_again_is_not_lost_silently(stage: Stage) -> None:
    async with stage.open():
        place = stage.result_path("a")
        place.mkdir()
        for command in ("first", "second"):
            stage.rename_in("a", stage.text_of(command=command))
            await stage.clock.advance(1_000)
        assert len(stage.log.about("an earlier result of that name is lost")) == 1
        place.rmdir()
        stage.rename_in("a", stage.text_of(command="third"))
        await stage.clock.advance(1_000)
        assert stage.result("a")["command"] == "third"
        await stage.clock.advance(outlet.LAST_LOOK_MS)
        assert stage.result("a")["command"] == "third"
    assert len(stage.log.about("an earlier result of that name is lost")) in (1, 2)
    assert stage.typed == [b"first", b"second", b"third"]
