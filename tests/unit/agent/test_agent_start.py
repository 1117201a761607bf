from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from switchboard.agent.conversation import Conversation
from switchboard.agent.options import Options, UsageError
from switchboard.agent.start import begin
from switchboard.agent.transcript_files import append_rows

OLD = "aaaaaaaa-0000-4000-8000-000000000000"
NEW = "bbbbbbbb-0000-4000-8000-000000000000"


@pytest.fixture
def home(tmp_path: Path) -> str:
    """A home with one conversation in it, of a project elsewhere."""
    numbers = count()
    prompted = Conversation(OLD, "/elsewhere", "0").prompted("hello", 1, lambda: str(next(numbers)))
    answered = prompted.conversation.answered("hi", 2, lambda: str(next(numbers)))
    append_rows(f"{tmp_path}/projects/-elsewhere/{OLD}.jsonl", [*prompted.rows, *answered.rows])
    return str(tmp_path)


def test_a_new_conversation(home: str) -> None:
    start = begin(Options(session_id=NEW), home, "/c", "1")
    assert start.conversation == Conversation(NEW, "/c", "1")
    assert (start.path, start.before, start.recap) == (None, (), ())


def test_a_conversation_gets_an_id_of_its_own(home: str) -> None:
    one, other = (begin(Options(), home, "/c", "1").conversation.session_id for _ in range(2))
    assert one != other


@pytest.mark.parametrize("given", [OLD, OLD.upper()])
def test_an_id_that_is_taken(home: str, given: str) -> None:
    with pytest.raises(UsageError, match="already in use") as refusal:
        begin(Options(session_id=given), home, "/c", "1")
    assert refusal.value.code == 1


def test_nothing_to_resume(home: str) -> None:
    with pytest.raises(UsageError, match=f"No conversation found with session ID: {NEW}") as refusal:
        begin(Options(resume=NEW), home, "/c", "1")
    assert refusal.value.code == 1


def test_resuming_from_another_directory_goes_on_in_the_same_file(home: str) -> None:
    start = begin(Options(resume=OLD), home, "/c", "1")
    now = start.conversation
    assert (now.session_id, now.cwd, now.opened, now.turns, now.last_prompt) == (OLD, "/c", True, 1, "hello")
    assert start.path == f"{home}/projects/-elsewhere/{OLD}.jsonl"
    assert start.prompts == ("hello",)
    assert start.recap == (f"Resumed conversation {OLD}: 1 prompt so far.", "  > hello", "    hi")
    [row] = now.answered("more", 3, lambda: "new").rows
    assert (row["parentUuid"], row["cwd"]) == (now.parent, "/c")


@pytest.mark.parametrize("given", [NEW, None])
def test_forking(home: str, given: str | None) -> None:
    start = begin(Options(resume=OLD, fork=True, session_id=given), home, "/c", "1")
    assert start.conversation.session_id not in (OLD, "")
    assert given is None or start.conversation.session_id == given
    assert start.path is None
    assert {row["sessionId"] for row in start.before if "sessionId" in row} == {start.conversation.session_id}


def test_a_fork_does_not_take_an_id_that_is_taken(home: str) -> None:
    with pytest.raises(UsageError, match="already in use"):
        begin(Options(resume=OLD, fork=True, session_id=OLD), home, "/c", "1")


def test_an_empty_transcript_can_be_resumed(home: str) -> None:
    append_rows(f"{home}/projects/-c/{NEW}.jsonl", [])
    assert begin(Options(resume=NEW), home, "/c", "1").conversation.turns == 0
