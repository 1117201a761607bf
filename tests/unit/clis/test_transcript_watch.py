"""Following one session's transcript while somebody waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_folder_watcher import FakeFolderWatcher

from switchboard.clis import transcript_watch
from switchboard.clis.transcript_files import folder_of
from switchboard.clis.transcript_watch import TranscriptWatch
from switchboard.common.facts import TurnEvidence
from switchboard.common.folder_watch import FolderWatcher, open_folder_watcher

ID = "6f1d2a0e-0000-4000-8000-00000000000a"
OTHER = "6f1d2a0e-0000-4000-8000-00000000000b"


class Messages(list[str]):
    """A log that can be read."""

    def info(self, message: str) -> None:
        self.append(message)

    warning = error = info


class Rig:
    """A projects folder and one follower of `ID` in it."""

    def __init__(self, root: Path, cwd: str | None = None) -> None:
        self.projects = root / "projects"
        self.projects.mkdir()
        self.watcher = FakeFolderWatcher()
        self.published: list[TurnEvidence | None] = []
        self.log = Messages()
        self.watch = TranscriptWatch(str(self.projects), ID, self.watcher, self.published.append, self.log, cwd)

    def folder(self, name: str) -> str:
        return str(self.projects / name)

    def say(self, text: str, folder: str = "-w", session_id: str = ID) -> Path:
        """Append a prompt to a transcript."""
        path = self.projects / folder / f"{session_id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        row: dict[str, Any] = {
            "type": "user",
            "timestamp": "2026-09-21T14:13:20.000Z",
            "message": {"content": text},
        }
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        return path

    def heard(self) -> list[list[str] | None]:
        """The prompts of each publication."""
        return [evidence and [entry.text for entry in evidence.prompts] for evidence in self.published]


async def turn() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_what_is_there_is_published_on_entering_and_each_change_after_it(rig: Rig) -> None:
    path = rig.say("one")
    assert rig.published == []
    with rig.watch as watch:
        assert watch.path == str(path)
        assert rig.heard() == [["one"]]
        rig.say("two")
        rig.watcher.tell(rig.folder("-w"), path.name)
        rig.watcher.tell(rig.folder("-w"), path.name)
        assert rig.heard() == [["one"]]
        await turn()
        assert rig.heard() == [["one"], ["one", "two"]]


async def test_once_found_only_its_own_folder_is_watched(rig: Rig) -> None:
    rig.say("one")
    for number in range(5):
        (rig.projects / f"-other{number}").mkdir()
    with rig.watch:
        assert rig.watcher.watched == [str(rig.projects), rig.folder("-w")]
    assert rig.watcher.watched == []
    assert rig.watch.path is None


async def test_other_files_of_the_folder_are_no_business(rig: Rig) -> None:
    rig.say("one")
    with rig.watch:
        rig.say("elsewhere", session_id=OTHER)
        rig.watcher.tell(rig.folder("-w"), f"{OTHER}.jsonl")
        rig.watcher.tell(rig.folder("-w"), "subagents")
        rig.watcher.tell(str(rig.projects), "-new", "appeared", "created")
        await turn()
        assert len(rig.published) == 1


async def test_a_file_that_does_not_exist_yet_is_found_in_any_folder(rig: Rig) -> None:
    for name in ("-a", "-b"):
        (rig.projects / name).mkdir()
    with rig.watch:
        assert rig.heard() == [None]
        assert rig.watcher.watched == [str(rig.projects), rig.folder("-a"), rig.folder("-b")]
        path = rig.say("first", "-b")
        rig.watcher.tell(rig.folder("-b"), path.name, "appeared", "created")
        await turn()
        assert rig.heard() == [None, ["first"]]
        assert rig.watcher.watched == [str(rig.projects), rig.folder("-b")]


async def test_a_file_in_a_folder_that_does_not_exist_yet_is_found(rig: Rig) -> None:
    with rig.watch:
        rig.say("first", "-new")
        rig.watcher.tell(str(rig.projects), "-new", "appeared", "created")
        await turn()
        assert rig.heard() == [None, ["first"]]


async def test_a_new_folder_whose_file_comes_later_is_watched(rig: Rig) -> None:
    with rig.watch:
        (rig.projects / "-new").mkdir()
        rig.watcher.tell(str(rig.projects), "-new", "appeared", "created")
        await turn()
        assert rig.folder("-new") in rig.watcher.watched
        path = rig.say("first", "-new")
        rig.watcher.tell(rig.folder("-new"), path.name, "appeared", "created")
        await turn()
        assert rig.heard()[-1] == ["first"]


async def test_a_file_that_appears_while_the_folders_are_being_watched_is_not_missed(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rig.projects / "-w").mkdir()
    real = rig.watcher.watch

    def watch_too_late(path: str, callback: Any) -> Any:
        if path == rig.folder("-w") and not (rig.projects / "-w" / f"{ID}.jsonl").exists():
            rig.say("early")
        return real(path, callback)

    monkeypatch.setattr(rig.watcher, "watch", watch_too_late)
    with rig.watch:
        assert rig.heard() == [["early"]]


async def test_a_projects_folder_that_appears_later(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.projects.rmdir()
    with rig.watch:
        assert rig.heard() == [None]
        rig.projects.mkdir()
        rig.say("first")
        rig.watcher.rescan(str(rig.projects))
        await turn()
        assert rig.heard() == [None, ["first"]]


async def test_8_36_a_session_that_moves_into_another_folder_is_followed(rig: Rig) -> None:
    path = rig.say("one")
    with rig.watch as watch:
        (rig.projects / "-moved").mkdir()
        path.rename(rig.projects / "-moved" / path.name)
        rig.watcher.tell(rig.folder("-w"), path.name, "gone", "moved")
        await turn()
        assert watch.path == f"{rig.folder('-moved')}/{path.name}"
        rig.say("two", "-moved")
        rig.watcher.tell(rig.folder("-moved"), path.name)
        await turn()
        assert rig.heard() == [["one"], ["one"], ["one", "two"]]
        assert rig.watcher.watched == [str(rig.projects), rig.folder("-moved")]


async def test_a_project_folder_that_is_renamed_is_noticed(rig: Rig) -> None:
    rig.say("one")
    with rig.watch as watch:
        (rig.projects / "-w").rename(rig.projects / "-x")
        rig.watcher.tell(str(rig.projects), "-w", "gone", "moved")
        await turn()
        assert watch.path == rig.folder(f"-x/{ID}.jsonl")


async def test_a_file_that_is_gone_has_no_evidence(rig: Rig) -> None:
    path = rig.say("one")
    with rig.watch:
        path.unlink()
        rig.watcher.tell(rig.folder("-w"), path.name, "gone", "deleted")
        await turn()
        assert rig.heard() == [["one"], None]
        rig.say("again")
        rig.watcher.tell(rig.folder("-w"), path.name, "appeared", "created")
        await turn()
        assert rig.heard() == [["one"], None, ["again"]]


async def test_clear_goes_on_under_another_id(rig: Rig) -> None:
    rig.say("one")
    with rig.watch as watch:
        watch.follow(OTHER.upper())
        assert rig.heard() == [["one"], None]
        path = rig.say("two", session_id=OTHER)
        rig.watcher.tell(rig.folder("-w"), path.name, "appeared", "created")
        await turn()
        assert rig.heard() == [["one"], None, ["two"]]
        watch.follow(OTHER)
        assert len(rig.published) == 3


async def test_turning_to_another_id_before_entering_reads_nothing(rig: Rig) -> None:
    rig.say("two", session_id=OTHER)
    rig.watch.follow(OTHER)
    assert rig.published == []
    with rig.watch:
        assert rig.heard() == [["two"]]


async def test_a_rescan_reads_again(rig: Rig) -> None:
    rig.say("one")
    with rig.watch:
        rig.say("two")
        rig.watcher.rescan(rig.folder("-w"))
        await turn()
        assert rig.heard() == [["one"], ["one", "two"]]


async def test_refresh_makes_up_for_a_lost_event(rig: Rig) -> None:
    rig.say("one")
    with rig.watch as watch:
        rig.say("two")
        watch.refresh()
        assert rig.heard() == [["one"], ["one", "two"]]
    rig.watch.refresh()
    assert len(rig.published) == 2


async def test_nothing_is_published_after_leaving(rig: Rig) -> None:
    path = rig.say("one")
    with rig.watch:
        rig.watcher.tell(rig.folder("-w"), path.name)
    await turn()
    assert len(rig.published) == 1


async def test_the_folder_of_the_sessions_directory_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_watch, "MAX_FOLDERS", 2)
    rig = Rig(tmp_path, cwd="/some/where")
    for name in (folder_of("/some/where"), "-a", "-b", "-c"):
        (rig.projects / name).mkdir()
    with rig.watch:
        assert len(rig.watcher.watched) == 3
        assert rig.folder(folder_of("/some/where")) in rig.watcher.watched


async def test_a_folder_that_cannot_be_watched_is_complained_of_once(rig: Rig) -> None:
    for name in ("-a", "-b"):
        (rig.projects / name).mkdir()
    rig.watcher.refused = {rig.folder("-a")}
    with rig.watch:
        assert rig.watcher.watched == [str(rig.projects), rig.folder("-b")]
        rig.watcher.rescan(str(rig.projects))
        await turn()
        rig.say("read all the same", "-a")
        rig.watch.refresh()
        assert rig.heard()[-1] == ["read all the same"]
    assert rig.log == [f"cannot watch {rig.folder('-a')}: no watches left"]


@pytest.fixture
async def watcher() -> AsyncIterator[FolderWatcher]:
    made = open_folder_watcher()
    yield made
    await made.aclose()


async def test_over_real_folders_a_first_prompt_and_its_successors_arrive(
    tmp_path: Path, watcher: FolderWatcher
) -> None:
    rig = Rig(tmp_path)
    arrived: asyncio.Queue[TurnEvidence | None] = asyncio.Queue()

    async def until(text: str) -> None:
        async with asyncio.timeout(10):
            while (evidence := await arrived.get()) is None or [e.text for e in evidence.prompts][-1:] != [text]:
                pass

    with TranscriptWatch(str(rig.projects), ID, watcher, arrived.put_nowait, rig.log):
        assert await arrived.get() is None
        path = rig.say("one", "-new")
        await until("one")
        rig.say("two", "-new")
        await until("two")
        (rig.projects / "-tree").mkdir()
        path.rename(rig.projects / "-tree" / path.name)
        rig.say("three", "-tree")
        await until("three")
