"""A folder of requests that cannot be used at the start: said, awaited, and taken up once it is mended."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.spool_stage import SpoolStage
from tests.unit.triggers.test_full_disk import Stage
from tests.unit.triggers.test_journal import Memory

from switchboard.common.folder_watch import open_folder_watcher
from switchboard.triggers import entrance
from switchboard.triggers.entrance import Entrance
from switchboard.triggers.outlet import LAST_LOOK_MS
from switchboard.triggers.say import Problems, Reporter
from switchboard.triggers.spool import Spool


class Bad:
    """A folder that cannot be used, and how it is mended."""

    def __init__(self, stage: Stage, tmp_path: Path, case: str) -> None:
        self.folder = stage.folder
        self.elsewhere = tmp_path / "elsewhere"
        self.case = case
        match case:
            case "a file":
                self.folder.write_text("")
            case "a link that leads nowhere":
                self.folder.symlink_to(self.elsewhere)
            case "results are a file":
                self.folder.mkdir()
                (self.folder / "processed").write_text("")
            case "a file above it":
                self.folder.parent.rmdir()
                self.folder.parent.write_text("")

    def mend(self) -> None:
        match self.case:
            case "a file":
                self.folder.unlink()
                self.folder.mkdir()
            case "a link that leads nowhere":
                self.elsewhere.mkdir()
            case "results are a file":
                (self.folder / "processed").unlink()
            case "a file above it":
                self.folder.parent.unlink()
                self.folder.mkdir(parents=True)


CASES = ["a file", "a link that leads nowhere", "results are a file", "a file above it"]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    (tmp_path / "above").mkdir()
    made = Stage(tmp_path / "above" / "triggers")
    made.session()
    return made


async def events_pass(stage: Stage) -> None:
    for _ in range(20):
        await stage.clock.settle()


@pytest.mark.parametrize("case", CASES)
async def test_it_goes_on_by_itself_when_the_folder_is_mended(stage: Stage, tmp_path: Path, case: str) -> None:
    bad = Bad(stage, tmp_path, case)
    async with stage.open() as watcher:
        assert stage.problems == [watcher.problem]
        assert "cannot be made" in (watcher.problem or "")
        assert "looked at again by itself" in (watcher.problem or "")
        bad.mend()
        stage.rename_in("a")
        await events_pass(stage)
        await stage.clock.advance(entrance.FIRST_LOOK_MS)
        assert watcher.problem is None
        await stage.clock.advance(1_000)
        assert stage.result("a")["ok"] is True
        stage.rename_in("b")
        await events_pass(stage)
        await stage.clock.advance(1_000)
        assert stage.result("b")["ok"] is True
    assert stage.typed == [b"hello", b"hello"]
    assert [problem is None for problem in stage.problems] == [False, True]
    assert len(stage.log.about("cannot be made")) == 1
    assert len(stage.log.about("watching")) == 1


@pytest.mark.parametrize("case", CASES)
async def test_what_happens_to_it_is_noticed_without_waiting_for_the_next_look(
    stage: Stage, tmp_path: Path, case: str
) -> None:
    bad = Bad(stage, tmp_path, case)
    async with stage.open() as watcher:
        await stage.clock.advance(60_000)  # the looks are 10 s apart by now
        bad.mend()
        await events_pass(stage)
        assert watcher.problem is not None, "who mends it may not be ready yet"
        await stage.clock.advance(entrance.FIRST_LOOK_MS)
        assert watcher.problem is None


async def test_a_change_that_no_event_tells_is_seen_at_the_next_look(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.folder.mkdir()
    barred = True
    access: Callable[..., bool] = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not barred and access(path, mode))
    async with stage.open() as watcher:
        assert "cannot be read and written" in (watcher.problem or "")
        stage.rename_in("a")
        await events_pass(stage)
        await stage.clock.advance(60_000)
        assert stage.waiting() == ["a.json"]
        assert stage.typed == []
        barred = False
        await stage.clock.advance(LAST_LOOK_MS)
        assert watcher.problem is None
        await stage.clock.advance(1_000)
        assert stage.result("a")["ok"] is True


async def test_it_is_looked_at_ever_more_rarely(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.folder.write_text("")
    looks: list[int] = []
    prepare = Spool.prepare

    def noted(spool: Spool) -> None:
        looks.append(stage.clock.now())
        prepare(spool)

    monkeypatch.setattr(Spool, "prepare", noted)
    async with stage.open():
        await stage.clock.advance(40_000)
    gaps = [after - before for before, after in pairwise(looks)]
    assert gaps == [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]


async def test_another_obstacle_than_before_is_told(stage: Stage, tmp_path: Path) -> None:
    stage.folder.write_text("")
    async with stage.open() as watcher:
        stage.folder.unlink()
        stage.folder.mkdir()
        (stage.folder / "processed").write_text("")
        await events_pass(stage)
        await stage.clock.advance(1_000)
        assert f"{stage.folder}/processed cannot be made" in (watcher.problem or "")
    assert len(stage.problems) == 2


async def test_nothing_is_left_behind_by_one_that_ends_while_it_waits(stage: Stage) -> None:
    stage.folder.write_text("")
    async with stage.open():
        pass
    stage.folder.unlink()
    await stage.clock.advance(60_000)
    assert not stage.folder.exists()
    assert len(stage.problems) == 1, "an end is no remedy"


async def test_what_an_earlier_process_left_is_settled_when_the_folder_can_be_read(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "triggers")
    stage.folder.write_text("")
    memory = Memory(stage, gone=True)
    stage.watch(journal=memory)
    async with stage.open():
        assert memory.told == []
        stage.folder.unlink()
        await stage.clock.advance(1_000)
        assert memory.told == ["gone.json settled"]


async def test_a_watcher_that_is_refused_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of the system: no event tells that it is over."""
    stage = SpoolStage(tmp_path / "triggers")
    shared = open_folder_watcher()
    watch = shared.watch
    refuse = True

    def limited(path: str, callback: Callable[..., None], *, suffix: str = "") -> object:
        if refuse:
            raise OSError(28, "no inotify watch is left")
        return watch(path, callback, suffix=suffix)

    monkeypatch.setattr(shared, "watch", limited)
    told: list[str | None] = []
    opened: list[None] = []
    spool = Spool(str(stage.folder))
    way = Entrance(spool, stage.clock, Reporter(stage.log), Problems(told.append), shared)
    way.open(lambda _event: None, lambda: opened.append(None))
    assert "cannot be watched: no inotify watch is left" in (told[-1] or "")
    refuse = False
    await stage.clock.advance(1_000)
    assert (told[-1], len(opened)) == (None, 1)
    await way.aclose()
    await shared.aclose()
