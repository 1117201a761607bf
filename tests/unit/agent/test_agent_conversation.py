"""A conversation grows by rows that later readers, ours and others', understand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from switchboard.agent.conversation import Conversation, Written, forked
from switchboard.agent.rows import Row

NewId = Callable[[], str]


@pytest.fixture
def new_id() -> NewId:
    numbers = count(1)
    return lambda: f"id{next(numbers)}"


@pytest.fixture
def fresh() -> Conversation:
    return Conversation("s", "/c", "1")


def kinds(rows: tuple[Row, ...]) -> list[object]:
    return [row.get("subtype") or row.get("operation") or row["type"] for row in rows]


def chain(rows: tuple[Row, ...]) -> list[Row]:
    return [row for row in rows if "uuid" in row]


def test_the_first_prompt_opens_the_transcript(fresh: Conversation, new_id: NewId) -> None:
    written = fresh.prompted("hello", 5, new_id)
    assert kinds(written.rows) == ["mode", "permission-mode", "file-history-snapshot", "user"]
    prompt = written.rows[-1]
    assert (prompt["parentUuid"], prompt["cwd"], prompt["sessionId"]) == (None, "/c", "s")
    assert written.conversation.turns == 1
    assert written.conversation.parent == prompt["uuid"]
    assert kinds(written.conversation.prompted("more", 6, new_id).rows) == ["user"]


def test_a_turn_is_one_chain(fresh: Conversation, new_id: NewId) -> None:
    rows: tuple[Row, ...] = ()
    now = fresh

    def add(written: Written) -> Conversation:
        nonlocal rows
        rows += written.rows
        return written.conversation

    now = add(now.prompted("go", 1, new_id))
    now = add(now.asked("touch x", "tool", 2, new_id))
    now = add(now.tool_ended("tool", "done", 3, new_id, failed=False))
    now = add(now.answered("fine", 4, new_id))
    now = add(now.closed(3, 4, new_id))
    linked = chain(rows)
    assert kinds(tuple(linked)) == ["user", "assistant", "user", "assistant", "turn_duration"]
    assert [row["parentUuid"] for row in linked] == [None, *(row["uuid"] for row in linked[:-1])]
    assert len({row["promptId"] for row in linked if "promptId" in row}) == 1
    reasons = [row["message"]["stop_reason"] for row in linked if row["type"] == "assistant"]  # type: ignore[index,call-overload]  # JSON
    assert reasons == ["tool_use", "end_turn"]
    assert linked[-1]["durationMs"] == 3
    assert now.parent == linked[-1]["uuid"]


def test_the_queue_stands_outside_the_chain(fresh: Conversation, new_id: NewId) -> None:
    now = fresh.prompted("go", 1, new_id).conversation
    written = now.queued("enqueue", 2, "next")
    assert written.conversation is now
    assert kinds(written.rows) == ["enqueue"]
    assert "uuid" not in written.rows[0]


def test_an_interrupted_turn_has_no_closing_row(fresh: Conversation, new_id: NewId) -> None:
    now = fresh.prompted("go", 1, new_id).conversation
    assert kinds(now.interrupted(2, new_id).rows) == ["user"]


def test_a_failed_turn(fresh: Conversation, new_id: NewId) -> None:
    [row] = fresh.prompted("go", 1, new_id).conversation.failed("API Error: x", 2, new_id).rows
    assert row["isApiErrorMessage"] is True


def test_a_shell_command_is_typed_and_answered(fresh: Conversation, new_id: NewId) -> None:
    started = fresh.shell_started("ls", 1, new_id)
    assert kinds(started.rows)[-1] == "user"
    assert started.rows[-1]["message"] == {"role": "user", "content": "<bash-input>ls</bash-input>"}
    assert started.rows[-1]["promptSource"] == "typed"
    [output] = started.conversation.shell_ended("a", "b", 2, new_id).rows
    assert output["message"] == {
        "role": "user",
        "content": "<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>",
    }
    assert output["promptId"] == started.rows[-1]["promptId"]
    assert "promptSource" not in output


def test_compaction_begins_a_new_chain_with_a_manual_boundary(fresh: Conversation, new_id: NewId) -> None:
    now = fresh.prompted("go", 1, new_id).conversation
    written = now.compacted("focus", 2, new_id)
    assert kinds(written.rows) == ["compact_boundary", "user", "user", "user"]
    boundary, summary, command, output = written.rows
    assert boundary["compactMetadata"] == {"trigger": "manual", "preTokens": 100}
    assert boundary["parentUuid"] is None
    assert boundary["logicalParentUuid"] == now.parent
    assert summary["isCompactSummary"] is True
    assert summary["parentUuid"] == boundary["uuid"]
    assert "<command-name>/compact</command-name>" in str(command["message"])
    assert "<local-command-stdout>Compacted</local-command-stdout>" in str(output["message"])
    again = written.conversation.compacted("", 3, new_id)
    assert again.rows[0]["uuid"] != boundary["uuid"]


def test_clear_begins_another_transcript_at_once(fresh: Conversation, new_id: NewId) -> None:
    now = fresh.prompted("go", 1, new_id).conversation
    written = now.cleared("t", 2, new_id)
    assert (written.conversation.session_id, written.conversation.turns, written.conversation.cwd) == ("t", 0, "/c")
    assert kinds(written.rows) == ["mode", "permission-mode", "file-history-snapshot", "user", "user"]
    assert {row["sessionId"] for row in written.rows if "sessionId" in row} == {"t"}
    assert chain(written.rows)[0]["parentUuid"] is None
    assert kinds(written.conversation.prompted("x", 3, new_id).rows) == ["user"]


def test_a_fork_is_a_copy_under_another_id(fresh: Conversation, new_id: NewId) -> None:
    rows = fresh.prompted("go", 1, new_id).rows
    copy = forked(rows, "t")
    assert [row.get("uuid") for row in copy] == [row.get("uuid") for row in rows]
    assert {row["sessionId"] for row in copy if "sessionId" in row} == {"t"}
    assert {row["sessionId"] for row in rows if "sessionId" in row} == {"s"}
