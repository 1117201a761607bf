"""What was recorded since an instant is found, however much has been written after it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from switchboard.clis import transcript_search
from switchboard.clis.transcript_files import WINDOW
from switchboard.clis.transcript_search import entries_since

SINCE = 1_800_000_000_000


def row(kind: str, at: int | None, content: object = "text", **fields: object) -> bytes:
    body: dict[str, object] = {"type": kind, **fields}
    if at is not None:
        body["timestamp"] = datetime.fromtimestamp(at / 1000, UTC).isoformat()
    if kind in ("user", "assistant"):
        body["message"] = {"role": kind, "content": content}
    elif kind == "queue-operation":
        body["content"] = content
    return json.dumps(body).encode() + b"\n"


def bulk(size: int, at: int = SINCE + 1000, each: int = 2000) -> bytes:
    one = row("assistant", at, [{"type": "text", "text": "x" * each}])
    return one * (size // len(one) + 1)


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Path]:
    def make(*parts: bytes) -> Path:
        path = tmp_path / "project" / "t.jsonl"
        path.parent.mkdir()
        path.write_bytes(b"".join(parts))
        return path

    return make


def prompts(path: Path, since: int = SINCE) -> list[str]:
    return [prompt.text for evidence in entries_since(str(path), since) for prompt in evidence.prompts]


@pytest.mark.parametrize("size", [0, WINDOW + 10, 5 * WINDOW, 20_000_000])
@pytest.mark.parametrize("each", [200, 50_000, 400_000])
def test_a_prompt_with_much_behind_it(recorded: Callable[..., Path], size: int, each: int) -> None:
    path = recorded(row("user", SINCE - 5, "old"), row("user", SINCE, "hello"), bulk(size, each=each) if size else b"")
    assert "hello" in prompts(path)


def test_a_compaction_and_a_queued_prompt(recorded: Callable[..., Path]) -> None:
    boundary = row("system", SINCE, subtype="compact_boundary", uuid="u", compactMetadata={"trigger": "manual"})
    queued = row("queue-operation", SINCE, "later", operation="enqueue")
    found = list(entries_since(str(recorded(boundary, queued, bulk(3 * WINDOW))), SINCE))
    assert [one.manual for evidence in found for one in evidence.boundaries] == [True]
    assert [prompt.text for evidence in found for prompt in evidence.prompts] == ["later"]


def test_none_of_many_prompts_is_forgotten(recorded: Callable[..., Path]) -> None:
    texts = [f"prompt {number}" for number in range(500)]
    path = recorded(*(row("user", SINCE + number, text) for number, text in enumerate(texts)))
    assert sorted(prompts(path)) == sorted(texts)


def test_it_ends_with_what_is_older(recorded: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read_at = transcript_search.read_at

    def noted(file: int, offset: int, length: int) -> bytes:
        reads.append(offset)
        return read_at(file, offset, length)

    monkeypatch.setattr(transcript_search, "read_at", noted)
    path = recorded(bulk(20 * WINDOW, SINCE - 1000), row("user", SINCE, "hello"))
    assert "hello" in prompts(path)
    assert len(reads) == 2, "the window with the prompt begins with older rows; the one before it ends with them"


def test_it_ends_at_its_bound(recorded: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_search, "MAX_BACK", 2 * WINDOW)
    assert prompts(recorded(row("user", SINCE, "hello"), bulk(3 * WINDOW))) == []


def test_a_row_that_is_too_long_hides_no_other(recorded: Callable[..., Path]) -> None:
    huge = row("assistant", SINCE + 5, "y" * 3_000_000)
    path = recorded(row("user", SINCE, "hello"), huge, row("user", SINCE + 9, "after"))
    assert sorted(prompts(path)) == ["after", "hello"]


def test_a_window_without_a_time_says_nothing(recorded: Callable[..., Path]) -> None:
    path = recorded(row("user", SINCE, "hello"), row("bookkeeping", None) * 20_000, b"no json\n" * 50_000)
    assert prompts(path) == ["hello"]


@pytest.mark.parametrize("what", ["missing", "folder", "link", "pipe"])
def test_what_cannot_be_read_has_nothing(tmp_path: Path, what: str) -> None:
    path = tmp_path / "project" / "t.jsonl"
    path.parent.mkdir()
    if what == "folder":
        path.mkdir()
    elif what == "link":
        (tmp_path / "real").write_bytes(row("user", SINCE, "hello"))
        path.symlink_to(tmp_path / "real")
    elif what == "pipe":
        os.mkfifo(path)
    assert prompts(path) == []
