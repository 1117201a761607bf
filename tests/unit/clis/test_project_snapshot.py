"""Snapshots of all projects, from transcripts on disk and from what people said."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest
from tests.support.fake_clock import FakeClock

from switchboard.clis import project_snapshot, transcript_files
from switchboard.clis.project_folders import folder_name
from switchboard.clis.project_snapshot import PROBES, MarksUnavailable, ProjectSnapshots
from switchboard.clis.projects import (
    Admitted,
    NoDirectory,
    ProjectHidden,
    ProjectMark,
    ProjectSnapshot,
    SnapshotUnavailable,
    UnknownProject,
)
from switchboard.clis.transcript_index import TranscriptIndex


class Stage:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.projects = root / "projects"
        self.clock = FakeClock()
        self.marks: list[ProjectMark] = []
        self.broken = False
        indexes = {"claude": TranscriptIndex(str(self.projects)), "agent": TranscriptIndex(str(root / "agent"))}
        self.snapshots = ProjectSnapshots(indexes, self.said, self.clock)
        self.numbers = iter(range(10_000))

    def said(self) -> list[ProjectMark]:
        if self.broken:
            raise MarksUnavailable("the database cannot be used")
        return self.marks

    def record(self, cwd: str | Path | None, folder: str | None = None, projects: Path | None = None) -> Path:
        name = folder or folder_name(str(cwd))
        path = (projects or self.projects) / name / f"{next(self.numbers):04}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"type": "user", "cwd": str(cwd)} if cwd else {"type": "mode"}) + "\n")
        return path

    async def known(self) -> list[str]:
        found = await self.snapshots.take()
        assert isinstance(found, ProjectSnapshot)
        return list(found.known)

    @property
    def soon(self) -> int:
        return self.clock.now() + 1000


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_28_a_project_is_known_as_soon_as_a_transcript_of_it_is_on_disk(stage: Stage) -> None:
    assert await stage.known() == []
    path = stage.record("/srv/a")
    assert await stage.known() == ["/srv/a"]
    stage.record("/srv/b", projects=stage.root / "agent")
    assert await stage.known() == ["/srv/a", "/srv/b"]
    path.unlink()
    assert await stage.known() == ["/srv/b"]
    shutil.rmtree(stage.root / "agent")
    assert await stage.known() == []


async def test_what_people_said_is_added(stage: Stage) -> None:
    stage.record("/srv/a")
    stage.marks = [ProjectMark("/srv/b", added_at=1), ProjectMark("/srv/a", hidden_at=1)]
    found = await stage.snapshots.take()
    assert isinstance(found, ProjectSnapshot)
    assert (list(found.known), list(found.hidden)) == (["/srv/b"], ["/srv/a"])
    assert stage.snapshots.take_now() == found


async def test_a_directory_that_does_not_spell_its_folder_makes_no_project(stage: Stage) -> None:
    stage.record("/etc", folder="-srv-a")
    stage.record(None, folder="-srv-b")
    assert await stage.known() == []


async def test_a_transcript_that_tells_it_later(stage: Stage) -> None:
    path = stage.record(None, folder="-srv-a")
    assert await stage.known() == []
    with path.open("a") as file:
        file.write('{"type":"user","cwd":"/srv/a"}\n')
    assert await stage.known() == ["/srv/a"]


async def test_one_answer_of_a_folder_is_enough_and_is_remembered(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        stage.record("/srv/a")
    asked: list[str] = []
    real = project_snapshot.probe_transcript
    monkeypatch.setattr(project_snapshot, "probe_transcript", lambda path: (asked.append(path), real(path))[1])
    for _ in range(3):
        assert await stage.known() == ["/srv/a"]
    assert len(asked) == 1


async def test_when_the_file_that_told_goes_another_one_is_asked(stage: Stage) -> None:
    paths = [stage.record("/srv/a") for _ in range(3)]
    for path in paths:
        assert await stage.known() == ["/srv/a"]
        path.unlink()
    assert await stage.known() == []


async def test_two_directories_that_share_a_folder(stage: Stage) -> None:
    """`/srv/a-b` and `/srv/a/b` have one folder. Whoever asks for either is told that it is known."""
    for name in ("/srv/a-b", "/srv/a/b"):
        for _ in range(PROBES):
            stage.record(name)
    assert len(await stage.known()) == 1
    for name in ("/srv/a-b", "/srv/a/b"):
        assert isinstance(await stage.snapshots.admit(name, "/", stage.soon), Admitted)
    assert isinstance(await stage.snapshots.admit("/srv/a.b", "/", stage.soon), UnknownProject)


async def test_a_second_directory_that_comes_later_is_seen_at_once(stage: Stage) -> None:
    stage.record("/srv/a-b")
    assert await stage.known() == ["/srv/a-b"]
    stage.record("/srv/a/b")
    assert await stage.known() == ["/srv/a-b", "/srv/a/b"]


# --- admission ------------------------------------------------------------------------------------------------------


async def test_new_sessions(stage: Stage) -> None:
    here = stage.root / "here"
    here.mkdir()
    stage.record(here)
    stage.record("/srv/gone")
    stage.marks = [ProjectMark("/srv/hidden", hidden_at=1)]

    async def admit(path: str) -> object:
        return type(await stage.snapshots.admit(path, path, stage.soon))

    assert await admit(f"{here}/") is Admitted
    assert await admit("/srv/gone") is NoDirectory
    assert await admit("/srv/hidden") is ProjectHidden
    assert await admit(str(stage.root)) is UnknownProject


async def test_resumed_sessions(stage: Stage) -> None:
    repo = stage.root / "repo"
    worktree = repo / ".claude" / "worktrees" / "fix"
    worktree.mkdir(parents=True)
    stage.record(worktree)

    async def admit(path: Path) -> object:
        return await stage.snapshots.admit_resume(str(path), stage.soon)

    found = await admit(worktree)
    assert isinstance(found, Admitted)
    assert found.project.path == str(repo)
    shutil.rmtree(worktree)
    assert await admit(worktree) == NoDirectory(), "never its repository instead"
    worktree.mkdir()
    stage.marks = [ProjectMark(str(repo), hidden_at=1)]
    assert isinstance(await admit(worktree), ProjectHidden)
    stage.marks.append(ProjectMark(str(worktree), added_at=1))
    assert isinstance(await admit(worktree), Admitted)
    stage.broken = True
    assert isinstance(await admit(worktree), SnapshotUnavailable)


# --- what cannot be read --------------------------------------------------------------------------------------------


async def test_unreadable_marks_are_unavailable_and_not_absent(stage: Stage) -> None:
    stage.record("/srv/a")
    stage.broken = True
    assert await stage.snapshots.take() == SnapshotUnavailable("the database cannot be used")
    assert isinstance(await stage.snapshots.admit("/srv/x", "/", stage.soon), SnapshotUnavailable)


async def test_a_projects_folder_that_cannot_be_read_is_unavailable(stage: Stage) -> None:
    stage.projects.touch()
    assert isinstance(await stage.snapshots.take(), SnapshotUnavailable)


async def test_a_transcript_that_cannot_be_read_may_be_a_projects(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.record("/srv/a")
    real = transcript_files.open_transcript

    def denied(path: str) -> object:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(transcript_files, "open_transcript", denied)
    assert isinstance(await stage.snapshots.admit("/srv/a", "/", stage.soon), SnapshotUnavailable)
    assert isinstance(await stage.snapshots.admit("/srv/b", "/", stage.soon), UnknownProject)
    monkeypatch.setattr(transcript_files, "open_transcript", real)
    assert isinstance(await stage.snapshots.admit("/srv/a", "/", stage.soon), Admitted)


async def test_the_deadline_makes_it_unavailable(stage: Stage) -> None:
    stage.record(None, folder="-srv-a")
    assert isinstance(await stage.snapshots.take(stage.clock.now()), SnapshotUnavailable)
    assert isinstance(await stage.snapshots.admit("/srv/a", "/", stage.clock.now()), SnapshotUnavailable)
    assert isinstance(await stage.snapshots.admit_resume("/srv/a", stage.clock.now()), SnapshotUnavailable)


async def test_snapshots_taken_at_once_agree(stage: Stage) -> None:
    for number in range(30):
        stage.record(f"/srv/{number}")
        stage.record(None, folder=f"-silent-{number}")
    found = await asyncio.gather(*(stage.snapshots.take() for _ in range(5)))
    assert all(one == found[0] for one in found)
    assert isinstance(found[0], ProjectSnapshot)
    assert len(found[0].known) == 30
    assert os.listdir(stage.projects)
