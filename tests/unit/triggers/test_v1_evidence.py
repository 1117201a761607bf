"""Closed sessions with the real readers: descriptors, processes, transcripts and projects as they lie on a disk."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses
from tests.support.lifecycle import ID, OTHER, House

from switchboard.clis.liveness import ScheduledRun
from switchboard.clis.namespace_resolver import NamespaceResolver
from switchboard.clis.project_folders import folder_name
from switchboard.clis.project_snapshot import MarksUnavailable, ProjectSnapshots
from switchboard.clis.projects import ProjectMark
from switchboard.clis.session_lookup import SessionLookup
from switchboard.clis.transcript_index import TranscriptIndex
from switchboard.common.clock import sleep_until
from switchboard.sessions.liveness_check import LivenessCheck, LivenessSources
from switchboard.sessions.schedules import Schedules

OPEN: dict[str, Any] = {"action": "open", "sessionId": ID}
PROMPT: dict[str, Any] = {**OPEN, "prompt": "hello"}


class Disk:
    """A house whose closed sessions, projects and other writers are files and processes."""

    def __init__(self, root: Path) -> None:
        self.house = House(root)
        self.sessions = root / "claude" / "sessions"
        self.projects = root / "claude" / "projects"
        self.sessions.mkdir(parents=True)
        self.projects.mkdir()
        self.work = root / "work"
        self.work.mkdir()
        self.processes = FakeProcesses(root / "proc")
        self.processes.root.mkdir()
        self.processes.machine()
        self.schedules = Schedules()
        self.marks: list[ProjectMark] = []
        self.broken = False
        self.known: set[str] = set()
        clock = self.house.clock
        processes = self.processes.door()
        resolver = NamespaceResolver(processes)
        sources = LivenessSources(
            lambda: (str(self.sessions),), processes, self.schedules, lambda _pid, _start: [], resolver
        )
        indexes = {"claude": TranscriptIndex(str(self.projects))}
        parts = {
            "liveness": LivenessCheck(sources, FakeFolderWatcher(), clock),
            "closed": SessionLookup(indexes, clock, self.known.__contains__),
            "projects": ProjectSnapshots(indexes, self.said, clock),
            "is_directory": os.path.isdir,
        }
        self.house.bench = replace(self.house.bench, house=self.house.lifecycle(**parts))
        self.house.page.on_start = self.house.comes_up

    def said(self) -> list[ProjectMark]:
        if self.broken:
            raise MarksUnavailable("the database cannot be used")
        return self.marks

    def transcript(
        self, session_id: str = ID, cwd: Path | None = None, content: str | None = None, folder: str | None = None
    ) -> Path:
        place = cwd or self.work
        path = self.projects / (folder or folder_name(str(place))) / f"{session_id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        row = json.dumps({"type": "user", "cwd": str(place), "message": {"content": "hello"}}) + "\n"
        path.write_text(row if content is None else content)
        return path

    def descriptor(self, pid: int = 500, session_id: str = ID, **fields: object) -> Path:
        body = {"pid": pid, "sessionId": session_id, "status": "idle", "procStart": "9000", **fields}
        path = self.sessions / f"{pid}.json"
        path.write_text(json.dumps(body))
        return path

    def nothing_was_done(self) -> None:
        assert self.house.deeds() == []
        assert self.house.page.started == []
        assert "ready" not in self.house.calls


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


# --- transcripts and projects -----------------------------------------------------------------------------------------


async def test_a_readable_transcript_that_no_cache_has_seen(disk: Disk) -> None:
    disk.transcript()
    result = await disk.house.ask(PROMPT)
    assert (result["ok"], result["resumed"], result["submitted"]) == (True, True, "confirmed")
    assert f"spawn {ID} in {disk.work}" in disk.house.calls
    assert f"open {ID} in {disk.work}" in disk.house.calls


async def test_a_worktree_is_resumed_in_its_own_directory_with_its_repositorys_defaults(disk: Disk) -> None:
    worktree = disk.work / ".claude" / "worktrees" / "x"
    worktree.mkdir(parents=True)
    disk.transcript(cwd=worktree)
    result = await disk.house.ask({**OPEN, "expectedCwd": str(worktree)})
    assert result["resumed"] is True
    assert f"open {ID} in {disk.work}" in disk.house.calls
    assert f"spawn {ID} in {worktree}" in disk.house.calls


def unusable(content: str) -> Callable[[Disk], object]:
    return lambda disk: disk.transcript(content=content)


def missing(disk: Disk) -> None:
    disk.known.add(ID)


def a_folder(disk: Disk) -> None:
    disk.transcript().unlink()
    (disk.projects / folder_name(str(disk.work)) / f"{ID}.jsonl").mkdir()


def two_folders(disk: Disk) -> None:
    other = disk.work.parent / "other"
    other.mkdir()
    disk.transcript()
    disk.transcript(cwd=other)


def two_cases(disk: Disk) -> None:
    disk.transcript()
    disk.transcript(ID.upper())


def worktree_gone(disk: Disk) -> None:
    worktree = disk.work / ".claude" / "worktrees" / "x"
    disk.transcript(cwd=worktree)


def directory_gone(disk: Disk) -> None:
    disk.transcript()
    shutil.rmtree(disk.work)


def cwd_elsewhere(disk: Disk) -> None:
    disk.transcript(folder="-some-other-folder")


def hidden(kind: str | None, *, exists: bool) -> Callable[[Disk], object]:
    def prepare(disk: Disk) -> None:
        disk.transcript()
        disk.marks.append(ProjectMark(str(disk.work), hidden_at=1, hidden_kind=kind, archived_at=2))
        if not exists:
            shutil.rmtree(disk.work)

    return prepare


def no_marks(disk: Disk) -> None:
    disk.transcript()
    disk.broken = True


REFUSED: list[tuple[str, Callable[[Disk], object], str]] = [
    ("known, missing", missing, "no readable transcript"),
    ("empty", unusable(""), "no readable transcript"),
    ("malformed", unusable("{nonsense\n"), "no readable transcript"),
    ("no regular file", a_folder, "no readable transcript"),
    ("known nowhere", lambda _disk: None, "session not found"),
    ("in two folders", two_folders, "ambiguous session transcript"),
    ("in two letter cases", two_cases, "ambiguous session transcript"),
    ("cwd not verified", cwd_elsewhere, "session cwd unavailable"),
    ("worktree is gone", worktree_gone, "project directory does not exist"),
    ("directory is gone", directory_gone, "project directory does not exist"),
    ("hidden as archive", hidden("archive", exists=True), "project is archived"),
    ("hidden as delete, directory gone", hidden("delete", exists=False), "project is archived"),
    ("hidden without a kind", hidden(None, exists=True), "project is archived"),
    ("what people said cannot be read", no_marks, "project lookup unavailable"),
]


@pytest.mark.parametrize("body", [OPEN, PROMPT], ids=["no prompt", "prompt"])
@pytest.mark.parametrize(("prepare", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_refused(disk: Disk, prepare: Callable[[Disk], object], reason: str, body: dict[str, Any]) -> None:
    prepare(disk)
    result = await disk.house.ask(body)
    assert (result["reason"], result["resumed"], result["wrote"]) == (reason, False, False)
    disk.nothing_was_done()


NEW_REFUSED: list[tuple[str, Callable[[Disk], object], str]] = [
    ("unknown project", lambda _disk: None, "unknown project"),
    ("hidden project", hidden("archive", exists=True), "project is archived"),
    ("hidden project, directory gone", hidden(None, exists=False), "project is archived"),
    ("project directory is gone", directory_gone, "project directory does not exist"),
    ("what people said cannot be read", no_marks, "project lookup unavailable"),
]


@pytest.mark.parametrize(("prepare", "reason"), [row[1:] for row in NEW_REFUSED], ids=[row[0] for row in NEW_REFUSED])
async def test_a_new_session_is_refused(disk: Disk, prepare: Callable[[Disk], object], reason: str) -> None:
    prepare(disk)
    result = await disk.house.ask(
        {"action": "open", "new": {"project": str(disk.work), "name": "n"}, "prompt": "hello"}
    )
    assert (result["reason"], result["created"]) == (reason, False)
    disk.nothing_was_done()


async def test_a_group_archive_alone_forbids_nothing(disk: Disk) -> None:
    disk.transcript()
    disk.marks.append(ProjectMark(str(disk.work), archived_at=2))
    assert (await disk.house.ask(OPEN))["resumed"] is True
    new = {"action": "open", "new": {"project": str(disk.work), "name": "n"}, "prompt": "hello"}
    assert (await disk.house.ask(new))["created"] is True


async def test_a_hidden_repository_does_not_deny_a_worktree_that_is_a_project_of_its_own(disk: Disk) -> None:
    worktree = disk.work / ".claude" / "worktrees" / "x"
    worktree.mkdir(parents=True)
    disk.transcript(cwd=worktree)
    disk.marks.append(ProjectMark(str(disk.work), hidden_at=1))
    disk.marks.append(ProjectMark(str(worktree), added_at=1))
    assert (await disk.house.ask(OPEN))["resumed"] is True


# --- live elsewhere ---------------------------------------------------------------------------------------------------


def living(disk: Disk) -> None:
    disk.processes.add(500, start="9000")
    disk.descriptor()


def background(disk: Disk) -> None:
    disk.processes.add(500, start="9000")
    disk.descriptor(kind="bg", jobId="j7")


def scheduled(disk: Disk) -> None:
    disk.schedules.track(ScheduledRun(ID.upper(), 9, str(disk.work), 1))


def absent_number(disk: Disk) -> None:
    """Its writer may run in another PID namespace, where its number means something."""
    disk.descriptor()


def other_process(disk: Disk) -> None:
    disk.processes.add(500, start="7")
    disk.descriptor()


def no_start(disk: Disk) -> None:
    disk.processes.add(500, start="9000")
    disk.descriptor(procStart=None)


def other_namespace(disk: Disk) -> None:
    disk.processes.add(500, start="9000", ns_pids=(500, 2), namespace="pid:[4026532999]")
    disk.descriptor()


def namespace_writer(disk: Disk) -> None:
    disk.processes.sandboxed()
    disk.descriptor(2)


def namespace_writer_and_other_process(disk: Disk) -> None:
    disk.processes.add(2, start="7")
    namespace_writer(disk)


def namespace_writer_and_other_sandbox(disk: Disk) -> None:
    disk.processes.sandboxed(8100, start="9100", namespace="pid:[4026533000]")
    namespace_writer(disk)


def namespace_background(disk: Disk) -> None:
    disk.processes.sandboxed()
    disk.descriptor(2, kind="bg", jobId="j7")


def namespace_ambiguous(disk: Disk) -> None:
    disk.processes.sandboxed(8100, namespace="pid:[4026533000]")
    namespace_writer(disk)


def namespace_unreadable(disk: Disk) -> None:
    namespace_writer(disk)
    disk.processes.sandboxed(namespace=None)


def namespace_incomplete(disk: Disk) -> None:
    namespace_writer(disk)
    disk.processes.unreadable(8000, "status")


def namespace_changes(disk: Disk) -> None:
    """Each time that it is looked at again, it is another one."""
    namespace_writer(disk)
    starts = itertools.cycle(["9000", "9001"])
    disk.processes.before_look = lambda pid: disk.processes.sandboxed(pid, start=next(starts))


def torn(disk: Disk) -> None:
    path = disk.sessions / "500.json"
    path.write_text('{"pid": 500, "sessionId": "')
    os.utime(path, (1, 1))


def unreadable(disk: Disk) -> None:
    shutil.rmtree(disk.sessions)
    disk.sessions.write_text("no folder")


LIVE: list[tuple[str, Callable[[Disk], None], str]] = [
    ("living process", living, "session live elsewhere"),
    ("background job", background, "background session is not supported"),
    ("scheduled run without a descriptor", scheduled, "scheduled session is not supported"),
    ("number absent here", absent_number, "session liveness unavailable"),
    ("number of another process here", other_process, "session liveness unavailable"),
    ("no start", no_start, "session liveness unavailable"),
    ("process of another namespace", other_namespace, "session liveness unavailable"),
    ("namespace writer, its number absent here", namespace_writer, "session live elsewhere"),
    ("namespace writer, its number occupied here", namespace_writer_and_other_process, "session live elsewhere"),
    ("namespace writer beside another sandbox", namespace_writer_and_other_sandbox, "session live elsewhere"),
    ("namespace writer, a background job", namespace_background, "background session is not supported"),
    ("namespace writer, ambiguous", namespace_ambiguous, "session liveness unavailable"),
    ("namespace writer, unreadable", namespace_unreadable, "session liveness unavailable"),
    ("namespace writer, incomplete", namespace_incomplete, "session liveness unavailable"),
    ("namespace writer, changed during revalidation", namespace_changes, "session liveness unavailable"),
    ("half a descriptor", torn, "session liveness unavailable"),
    ("no folder of descriptors", unreadable, "session liveness unavailable"),
]


@pytest.mark.parametrize("body", [OPEN, PROMPT], ids=["no prompt", "prompt"])
@pytest.mark.parametrize(("prepare", "reason"), [row[1:] for row in LIVE], ids=[row[0] for row in LIVE])
async def test_a_writer_elsewhere(
    disk: Disk, prepare: Callable[[Disk], None], reason: str, body: dict[str, Any]
) -> None:
    disk.transcript()
    prepare(disk)
    result = await disk.house.ask(body)
    assert (result["reason"], result["resumed"], result["wrote"]) == (reason, False, False)
    disk.nothing_was_done()


@pytest.mark.parametrize(("prepare", "reason"), [row[1:] for row in LIVE], ids=[row[0] for row in LIVE])
async def test_one_that_appears_while_the_page_is_awaited(
    disk: Disk, prepare: Callable[[Disk], None], reason: str
) -> None:
    disk.transcript()
    disk.house.page.ready_at = 100
    disk.house.at(50, lambda: prepare(disk))
    result = await disk.house.ask(PROMPT)
    assert result["reason"] == reason
    assert disk.house.deeds() == []


@pytest.mark.parametrize(("prepare", "reason"), [row[1:] for row in LIVE], ids=[row[0] for row in LIVE])
async def test_one_that_appears_while_the_start_is_prepared(
    disk: Disk, prepare: Callable[[Disk], None], reason: str
) -> None:
    disk.transcript()

    async def during() -> None:
        prepare(disk)
        await sleep_until(disk.house.clock, disk.house.clock.now() + 10)

    disk.house.page.during = during
    result = await disk.house.ask(PROMPT)
    assert (result["reason"], result["resumed"]) == (reason, False)
    assert disk.house.page.started == []


async def test_an_unrelated_terminal_hides_nobody(disk: Disk) -> None:
    disk.transcript()
    living(disk)
    disk.house.open_here(OTHER).processes = ((500, "9000"),)
    assert (await disk.house.ask(OPEN))["reason"] == "session live elsewhere"


async def test_an_unrelated_terminal_hides_no_namespace_writer(disk: Disk) -> None:
    disk.transcript()
    namespace_writer_and_other_process(disk)
    disk.house.open_here(OTHER).processes = ((2, "9000"), (8000, "9000"))
    result = await disk.house.ask(PROMPT)
    assert (result["reason"], result["wrote"]) == ("session live elsewhere", False)
    disk.nothing_was_done()


async def test_other_sessions_descriptors_do_not_matter(disk: Disk) -> None:
    disk.transcript()
    disk.processes.add(500, start="9000")
    disk.descriptor(session_id=OTHER)
    assert (await disk.house.ask(OPEN))["resumed"] is True


async def test_a_writer_that_is_proven_dead_hinders_nobody(disk: Disk) -> None:
    disk.transcript()
    disk.descriptor(pidDomain="linux:m1:pid:[4026531836]")
    assert (await disk.house.ask(OPEN))["resumed"] is True


async def test_a_transcript_that_is_replaced_while_the_start_is_prepared(disk: Disk) -> None:
    path = disk.transcript()

    async def during() -> None:
        beside = path.with_suffix(".new")
        beside.write_text(path.read_text())
        os.rename(beside, path)

    disk.house.page.during = during
    result = await disk.house.ask(OPEN)
    assert (result["reason"], result["resumed"]) == ("no readable transcript", False)
    assert disk.house.page.started == []


async def test_a_project_that_is_hidden_while_the_page_is_awaited(disk: Disk) -> None:
    disk.transcript()
    disk.house.page.ready_at = 100
    disk.house.at(50, lambda: disk.marks.append(ProjectMark(str(disk.work), hidden_at=1)))
    result = await disk.house.ask(OPEN)
    assert result["reason"] == "project is archived"
    assert disk.house.page.started == []
