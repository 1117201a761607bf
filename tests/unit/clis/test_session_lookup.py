"""Finding closed sessions on disk."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from tests.support.fake_clock import FakeClock

from switchboard.clis import transcript_files, transcript_index
from switchboard.clis.closed_sessions import (
    AmbiguousTranscript,
    ClosedOutcome,
    ClosedSession,
    CwdUnavailable,
    NoReadableTranscript,
    SessionNotFound,
)
from switchboard.clis.project_folders import folder_name
from switchboard.clis.session_lookup import SessionLookup
from switchboard.clis.transcript_files import WINDOW
from switchboard.clis.transcript_index import TranscriptIndex

ID = "0d6f3a52-0000-4000-8000-00000000000a"


def row(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


HELLO = row(type="user", cwd="/w", message={"content": "hello"})
SILENT = row(type="mode", mode="auto")


class Stage:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.claude = root / "claude"
        self.agent = root / "agent"
        self.clock = FakeClock()
        self.known: set[str] = set()
        self.remaps: dict[str, str] = {}
        indexes = {"claude": TranscriptIndex(str(self.claude)), "agent": TranscriptIndex(str(self.agent))}
        self.indexes = indexes
        self.lookup = SessionLookup(indexes, self.clock, self.known.__contains__, lambda: self.remaps)

    def place(self, content: bytes = HELLO, folder: str = "-w", name: str = ID, root: Path | None = None) -> Path:
        path = (root or self.claude) / folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    async def resolve(self, session_id: str = ID) -> ClosedOutcome:
        return await self.lookup.resolve(session_id, self.clock.now() + 1000)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.parametrize("asked", [ID, ID.upper()])
async def test_a_transcript_that_no_cache_has_seen(stage: Stage, asked: str) -> None:
    assert await stage.resolve() == SessionNotFound()
    path = stage.place()
    found = os.stat(path)
    assert await stage.resolve(asked) == ClosedSession(ID, "claude", str(path), (found.st_dev, found.st_ino), "/w")


@pytest.mark.parametrize("asked", [ID, ID.upper()])
async def test_a_file_whose_name_is_spelt_another_way_is_found_by_us_and_not_by_its_cli(
    stage: Stage, asked: str
) -> None:
    stage.place(name=ID.upper())
    found = await stage.resolve(asked)
    assert isinstance(found, NoReadableTranscript)
    assert "not in lower case" in found.detail


async def test_each_profile_has_its_own_folders(stage: Stage) -> None:
    stage.place(root=stage.agent)
    found = await stage.resolve()
    assert isinstance(found, ClosedSession)
    assert found.profile == "agent"
    stage.place(root=stage.claude)
    assert isinstance(await stage.resolve(), AmbiguousTranscript)


@pytest.mark.parametrize(
    ("second", "name"), [("-v", ID), ("-w", ID.upper())], ids=["another folder", "another letter case"]
)
async def test_a_duplicate_is_refused_wherever_it_is(stage: Stage, second: str, name: str) -> None:
    stage.place()
    stage.place(folder=second, name=name)
    answer = await stage.resolve()
    assert isinstance(answer, AmbiguousTranscript)
    assert str(stage.claude / second / f"{name}.jsonl") in answer.detail


def test_subagents_are_no_sessions(stage: Stage) -> None:
    stage.place(folder=f"-w/{ID}/subagents", name="agent-x")
    stage.place(folder="-w", name=f"agent-{ID}")
    assert asyncio.run(stage.resolve()) == SessionNotFound()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n\n", id="blank"),
        pytest.param(b"not json\n{half", id="malformed"),
        pytest.param(b"[1]\nnull\n", id="no objects"),
        pytest.param(b"\0" * (3 * WINDOW), id="large and malformed"),
    ],
)
async def test_a_transcript_without_rows_is_unusable(stage: Stage, content: bytes) -> None:
    path = stage.place(content)
    answer = await stage.resolve()
    assert isinstance(answer, NoReadableTranscript)
    assert str(path) in answer.detail


@pytest.mark.parametrize("kind", ["folder", "link", "dangling link", "pipe"])
async def test_what_is_no_regular_file_is_unusable(stage: Stage, kind: str) -> None:
    path = stage.claude / "-w" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(stage.place(folder="-w", name="other") if kind == "link" else "nowhere")
    assert isinstance(await stage.resolve(), NoReadableTranscript)


async def test_a_file_that_may_not_be_read_is_a_refusal(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.place()

    def denied(path: str) -> object:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(transcript_files, "open_transcript", denied)
    answer = await stage.resolve()
    assert isinstance(answer, NoReadableTranscript)
    assert "Permission denied" in answer.detail


async def test_a_known_session_without_a_transcript(stage: Stage) -> None:
    stage.known.add(ID)
    assert isinstance(await stage.resolve(ID.upper()), NoReadableTranscript)
    assert await stage.resolve(ID[:-1] + "b") == SessionNotFound()


async def test_projects_that_cannot_be_read_are_a_refusal(stage: Stage) -> None:
    stage.claude.touch()
    answer = await stage.resolve()
    assert isinstance(answer, NoReadableTranscript)
    assert str(stage.claude) in answer.detail


@pytest.mark.parametrize(
    ("content", "cwd"),
    [
        pytest.param(SILENT + HELLO, "/w", id="after rows without one"),
        pytest.param(b"junk\n" + HELLO, "/w", id="after a damaged row"),
        pytest.param(SILENT, None, id="none recorded"),
        pytest.param(row(type="user", cwd="/etc"), None, id="one that does not spell the folder"),
        pytest.param(row(type="user", cwd="/etc") + HELLO, None, id="a forged one ends the search"),
        pytest.param(row(type="user", cwd="w"), None, id="a relative one"),
        pytest.param(SILENT * 20_000 + HELLO, "/w", id="in the last window of a large file"),
        pytest.param(row(type="x", pad="y" * WINDOW) + HELLO, "/w", id="after a row longer than a window"),
    ],
)
async def test_the_recorded_directory(stage: Stage, content: bytes, cwd: str | None) -> None:
    stage.place(content)
    answer = await stage.resolve()
    assert getattr(answer, "cwd", None) == cwd
    assert isinstance(answer, ClosedSession if cwd else CwdUnavailable)


async def test_a_worktree_keeps_its_own_directory(stage: Stage) -> None:
    worktree = "/srv/repo/.claude/worktrees/fix"
    stage.place(row(type="user", cwd=worktree), folder_name(worktree))
    answer = await stage.resolve()
    assert isinstance(answer, ClosedSession)
    assert answer.cwd == worktree


async def test_a_directory_that_a_person_has_recorded(stage: Stage) -> None:
    stage.place(row(type="user", cwd="/moved"))
    assert isinstance(await stage.resolve(), CwdUnavailable)
    stage.remaps["-w"] = "/moved"
    answer = await stage.resolve()
    assert isinstance(answer, ClosedSession)
    assert answer.cwd == "/moved"


# --- the second look, right before a start --------------------------------------------------------------------------


async def resolved(stage: Stage) -> ClosedSession:
    answer = await stage.resolve()
    assert isinstance(answer, ClosedSession)
    return answer


async def test_a_session_that_was_written_to_is_still_the_same(stage: Stage) -> None:
    path = stage.place()
    before = await resolved(stage)
    with path.open("ab") as file:
        file.write(SILENT)
    assert stage.lookup.recheck(before) == before


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        pytest.param(lambda stage, path: path.unlink(), SessionNotFound, id="deleted"),
        pytest.param(lambda stage, path: path.write_bytes(b""), NoReadableTranscript, id="emptied"),
        pytest.param(
            lambda stage, path: (path.unlink(), stage.place(name="x"), stage.place()),
            NoReadableTranscript,
            id="replaced",
        ),
        pytest.param(lambda stage, path: stage.place(folder="-v"), AmbiguousTranscript, id="duplicated"),
        pytest.param(
            lambda stage, path: (path.unlink(), stage.place(row(type="user", cwd="/v"), "-v")),
            NoReadableTranscript,
            id="moved to another project",
        ),
        pytest.param(lambda stage, path: path.write_bytes(SILENT), CwdUnavailable, id="directory gone from it"),
    ],
)
async def test_a_session_that_changed_is_refused(stage: Stage, change: object, outcome: type[object]) -> None:
    path = stage.place()
    before = await resolved(stage)
    change(stage, path)  # type: ignore[operator] # one of the functions above
    assert type(stage.lookup.recheck(before)) is outcome


# --- cost -----------------------------------------------------------------------------------------------------------


async def test_a_known_name_costs_no_listing_and_one_open_file(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        stage.place(folder=f"-{number}", name=f"{number}")
    stage.place()
    for folder in (stage.claude, *stage.claude.iterdir()):
        os.utime(folder, (1, 1))
    await resolved(stage)
    listed = stage.indexes["claude"].listings
    opened: list[str] = []
    real = transcript_files.open_transcript
    monkeypatch.setattr(transcript_files, "open_transcript", lambda path: (opened.append(path), real(path))[1])
    await resolved(stage)
    assert stage.indexes["claude"].listings == listed
    assert opened == [str(stage.claude / "-w" / f"{ID}.jsonl")]


async def test_the_deadline_ends_a_long_listing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_index, "FOLDERS_A_TURN", 1)
    stage.place()
    assert isinstance(await stage.lookup.resolve(ID, stage.clock.now()), NoReadableTranscript)
