"""Transcripts on disk: found, read in bounded windows, listed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from switchboard.clis import transcript_files
from switchboard.clis.project_folders import RecordedCwd
from switchboard.clis.transcript_files import (
    MAX_GROWTH,
    WINDOW,
    TranscriptTail,
    find_transcript,
    find_transcripts,
    folder_of,
    list_sessions,
    newest_folders,
    read_evidence,
    recorded_cwd,
    resolve_session_cwd,
)

STAMP = "2026-09-21T14:13:20.000Z"
AT = 1_790_000_000_000
ID = "6f1d2a0e-0000-4000-8000-00000000000a"


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def user(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "timestamp": STAMP, "message": {"content": text}, **fields}


ASSISTANT = {"type": "assistant", "timestamp": STAMP, "message": {"stop_reason": "end_turn"}}
DURATION = {"type": "system", "subtype": "turn_duration", "timestamp": STAMP}
BOUNDARY = {
    "type": "system",
    "subtype": "compact_boundary",
    "timestamp": STAMP,
    "uuid": "u",
    "compactMetadata": {"trigger": "manual"},
}
CLOSED = lines(user("hi"), ASSISTANT, DURATION)
FILLER = lines({"type": "attachment", "x": "y" * 1000})


def place(projects: Path, folder: str, name: str, data: bytes, modified: int | None = None) -> Path:
    path = projects / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if modified is not None:
        os.utime(path, ns=(modified * 1_000_000, modified * 1_000_000))
    return path


def test_evidence_of_a_file_with_its_time_in_whole_milliseconds(tmp_path: Path) -> None:
    path = place(tmp_path, "-w", f"{ID}.jsonl", CLOSED)
    os.utime(path, ns=(0, 1_790_000_000_123_999_999))
    found = read_evidence(str(path))
    assert found is not None
    assert (found.closed, found.closed_at, found.modified_at) == (True, AT, 1_790_000_000_123)


def make_link(path: Path) -> None:
    target = path.parent / "real"
    target.write_bytes(CLOSED)
    path.symlink_to(target)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: None, id="missing"),
        pytest.param(make_link, id="a symbolic link"),
        pytest.param(lambda path: path.mkdir(), id="a folder"),
        pytest.param(lambda path: os.mkfifo(path), id="a pipe nobody writes to"),
    ],
)
def test_what_cannot_be_read_gives_nothing(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / f"{ID}.jsonl"
    make(path)
    assert read_evidence(str(path)) is None
    assert recorded_cwd(str(path)) == RecordedCwd(complete=False)
    assert list_sessions(str(tmp_path.parent), 5) == []


def counting_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counts: list[int] = []
    real = os.pread

    def pread(file: int, length: int, offset: int) -> bytes:
        data = real(file, length, offset)
        counts.append(len(data))
        return data

    monkeypatch.setattr(transcript_files.os, "pread", pread)
    return counts


def huge(path: Path, end: bytes) -> None:
    """300 MB that take no room on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(300_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + end)


def test_300_mb_are_read_in_one_window_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"{ID}.jsonl"
    huge(path, CLOSED)
    counts = counting_reads(monkeypatch)
    found = read_evidence(str(path))
    assert found is not None
    assert found.closed
    assert sum(counts) == WINDOW + 1


def test_300_mb_are_listed_and_searched_for_their_directory_in_bounded_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "-w" / f"{ID}.jsonl"
    huge(path, lines({"type": "custom-title", "customTitle": "big"}, user("x", cwd="/w")))
    counts = counting_reads(monkeypatch)
    assert [session.title for session in list_sessions(str(tmp_path), 5)] == ["big"]
    assert resolve_session_cwd(str(tmp_path), ID) == "/w"
    assert sum(counts) < 3 * WINDOW


def test_a_row_that_begins_exactly_where_the_window_does_is_whole(tmp_path: Path) -> None:
    path = place(tmp_path, "-w", "a.jsonl", b"")
    prompt = lines(user("kept"))
    rest = WINDOW - len(prompt)
    path.write_bytes(FILLER + prompt + b"\n" * rest)
    found = read_evidence(str(path))
    assert found is not None
    assert [entry.text for entry in found.prompts] == ["kept"]


def test_what_is_added_is_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place(tmp_path, "-w", "a.jsonl", FILLER * 400 + CLOSED)
    tail = TranscriptTail(str(path))
    first = tail.read()
    assert first is not None
    assert first.closed
    counts = counting_reads(monkeypatch)
    more = lines(user("next"))
    with path.open("ab") as file:
        file.write(more)
    second = tail.read()
    assert second is not None
    assert not second.closed
    assert [entry.text for entry in second.prompts] == ["hi", "next"]
    assert sum(counts) == len(more)


def test_a_boundary_that_has_left_the_last_window_is_still_seen(tmp_path: Path) -> None:
    path = place(tmp_path, "-w", "a.jsonl", CLOSED)
    tail = TranscriptTail(str(path))
    tail.read()
    with path.open("ab") as file:
        file.write(lines(BOUNDARY) + FILLER * 300)
    after = tail.read()
    assert after is not None
    assert [boundary.manual for boundary in after.boundaries] == [True]
    fresh = read_evidence(str(path))
    assert fresh is not None
    assert fresh.boundaries == ()


def test_growth_beyond_the_bound_starts_over_at_the_last_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(tmp_path, "-w", "a.jsonl", CLOSED)
    tail = TranscriptTail(str(path))
    tail.read()
    with path.open("ab") as file:
        file.write(FILLER * (MAX_GROWTH // 1000 + 10) + CLOSED)
    counts = counting_reads(monkeypatch)
    after = tail.read()
    assert after is not None
    assert [entry.text for entry in after.prompts] == ["hi"]
    assert sum(counts) == WINDOW + 1


def replace_file(path: Path, data: bytes) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(data)
    other.rename(path)


def rewrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: path.write_bytes(lines(user("x"))), id="truncated"),
        pytest.param(lambda path: replace_file(path, lines(user("x")) * 50), id="replaced"),
        pytest.param(lambda path: rewrite(path, lines(user("x")).ljust(len(CLOSED), b"\n")), id="changed in place"),
    ],
)
def test_a_file_that_is_another_one_is_read_anew(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = place(tmp_path, "-w", "a.jsonl", CLOSED)
    tail = TranscriptTail(str(path))
    tail.read()
    change(path)
    found = tail.read()
    assert found is not None
    assert not found.closed
    assert {entry.text for entry in found.prompts} == {"x"}


def test_a_file_that_comes_back_is_read_from_the_start(tmp_path: Path) -> None:
    path = place(tmp_path, "-w", "a.jsonl", CLOSED)
    tail = TranscriptTail(str(path))
    first = tail.read()
    path.rename(tmp_path / "away")
    assert tail.read() is None
    (tmp_path / "away").rename(path)
    assert tail.read() == first


def test_finding_a_session_in_any_folder(tmp_path: Path) -> None:
    path = place(tmp_path, "-somewhere", f"{ID}.jsonl", b"")
    (tmp_path / "a file").touch()
    assert find_transcript(str(tmp_path), ID) == str(path)
    assert find_transcript(str(tmp_path), ID.upper()) == str(path)
    assert find_transcript(str(tmp_path), "other") is None
    assert find_transcript(str(tmp_path / "none"), ID) is None


def test_finding_prefers_the_expected_folder_then_the_file_written_last(tmp_path: Path) -> None:
    older = place(tmp_path, "-a", f"{ID}.jsonl", b"", AT)
    newer = place(tmp_path, "-b", f"{ID}.jsonl", b"", AT + 1)
    assert find_transcript(str(tmp_path), ID) == str(newer)
    assert find_transcript(str(tmp_path), ID, ("-a",)) == str(older)
    assert find_transcript(str(tmp_path), ID, ("-none",)) == str(newer)
    assert find_transcripts(str(tmp_path), ID) == [str(older), str(newer)]


def test_every_spelling_of_an_id_is_found(tmp_path: Path) -> None:
    lower = place(tmp_path, "-a", f"{ID}.jsonl", b"")
    mixed = place(tmp_path, "-a", f"{ID[:-1]}A.jsonl", b"")
    (tmp_path / "-b").mkdir()
    (tmp_path / "-b" / f"{ID}.jsonl").symlink_to(lower)
    assert find_transcripts(str(tmp_path), ID.upper()) == sorted([str(lower), str(mixed)])


@pytest.mark.parametrize("session_id", ["", "../-a/x", "a/b", "a\0b", "x" * 5_000])
def test_an_id_that_is_no_file_name_finds_nothing(tmp_path: Path, session_id: str) -> None:
    place(tmp_path, "-a", "x.jsonl", b"")
    assert find_transcript(str(tmp_path), session_id, ("-a",)) is None
    assert find_transcripts(str(tmp_path), session_id) == []


def test_folders_changed_last_come_first_after_the_preferred(tmp_path: Path) -> None:
    for number, name in enumerate(("-a", "-b", "-c", "-d")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (number, number))
    found = newest_folders(str(tmp_path), 3, ("-a",))
    assert [os.path.basename(path) for path in found] == ["-a", "-d", "-c"]


def test_the_folder_of_a_directory_is_that_of_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert folder_of(str(tmp_path / "link")) == folder_of(str(tmp_path / "real"))


CWD_CASES = [
    pytest.param([user("x", cwd="/w")], RecordedCwd("/w", None, ended=True), id="3.6 in the head"),
    pytest.param([user("x", cwd="/evil")], RecordedCwd(None, "/evil", ended=True), id="3.6 forged"),
    pytest.param([user("x")], RecordedCwd(), id="3.6 none"),
]


@pytest.mark.parametrize(("rows", "expected"), CWD_CASES)
def test_recorded_cwd(tmp_path: Path, rows: list[dict[str, Any]], expected: RecordedCwd) -> None:
    assert recorded_cwd(str(place(tmp_path, "-w", "a.jsonl", lines(*rows)))) == expected


def test_3_6_a_session_that_moved_into_a_worktree_shows_it_at_the_end(tmp_path: Path) -> None:
    folder, inside = "-w--worktrees-t", "/w/.worktrees/t"
    data = lines(user("x", cwd="/w")) + FILLER * 600 + lines(user("y", cwd=inside), user("z", cwd="/w/sub"))
    assert recorded_cwd(str(place(tmp_path, folder, "a.jsonl", data))) == RecordedCwd(inside, "/w", ended=True)


def test_3_6_a_forged_head_is_not_outvoted_by_the_tail(tmp_path: Path) -> None:
    data = lines(user("x", cwd="/evil")) + FILLER * 600 + lines(user("y", cwd="/w"))
    assert recorded_cwd(str(place(tmp_path, "-w", "a.jsonl", data))).cwd is None


def test_3_6_resolving_takes_the_preferred_folder_then_any_with_a_believable_directory(tmp_path: Path) -> None:
    projects = str(tmp_path)
    place(tmp_path, "-a", f"{ID}.jsonl", lines(user("x", cwd="/evil")))
    place(tmp_path, "-b", f"{ID}.jsonl", lines(user("x", cwd="/b")))
    place(tmp_path, "-c", f"{ID}.jsonl", lines(user("x", cwd="/c")))
    assert resolve_session_cwd(projects, ID) == "/b"
    assert resolve_session_cwd(projects, ID, ("-c",)) == "/c"
    assert resolve_session_cwd(projects, ID, ("-a",)) == "/b"
    assert resolve_session_cwd(projects, ID, remaps={"-a": "/evil"}) == "/evil"
    assert resolve_session_cwd(projects, "unknown") is None


def test_sessions_are_listed_newest_first(tmp_path: Path) -> None:
    place(tmp_path, "-w", "old.jsonl", lines(user("first", cwd="/w")), AT)
    place(tmp_path, "-v", "new.jsonl", lines(user("second", cwd="/elsewhere")), AT + 5)
    place(tmp_path, "-v", "silent.jsonl", lines({"type": "mode"}), AT + 9)
    place(tmp_path, "-v", "agent-1.jsonl", lines(user("sub")), AT + 9)
    place(tmp_path, "-v", "notes.txt", lines(user("no")), AT + 9)
    place(tmp_path, "-v/new/subagents", "agent-2.jsonl", lines(user("sub")), AT + 9)
    place(tmp_path, "-v", "garbage.jsonl", b"\xff\x00" * 500, AT + 9)
    found = list_sessions(str(tmp_path), 10)
    assert [(s.session_id, s.cwd, s.modified_at, s.name) for s in found] == [
        ("new", None, AT + 5, "second"),
        ("old", "/w", AT, "first"),
    ]
    assert found[0].path == str(tmp_path / "-v" / "new.jsonl")
    assert [s.cwd for s in list_sessions(str(tmp_path), 10, {"-v": "/elsewhere"})] == ["/elsewhere", "/w"]


def test_a_listing_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        place(tmp_path, "-w", f"s{number}.jsonl", lines(user("x") if number < 10 else {"type": "mode"}), AT + number)
    assert [s.session_id for s in list_sessions(str(tmp_path), 8)] == ["s9", "s8", "s7", "s6", "s5", "s4", "s3", "s2"]
    assert list_sessions(str(tmp_path), 0) == []
    monkeypatch.setattr(transcript_files, "MAX_SILENT", 19)  # there are 20, and they are newer
    assert list_sessions(str(tmp_path), 3) == []
    monkeypatch.setattr(transcript_files, "MAX_SILENT", 20)
    assert len(list_sessions(str(tmp_path), 3)) == 3
    monkeypatch.setattr(transcript_files, "MAX_ENTRIES", 5)
    assert len(list_sessions(str(tmp_path), 30)) <= 5
