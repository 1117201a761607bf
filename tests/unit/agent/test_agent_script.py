from __future__ import annotations

import pytest

from switchboard.agent.directives import Ask, Fail, Pause, Print, Say
from switchboard.agent.script import THINKING_MS, Context, Plan, compaction_ms, plan

FIRST = Context(turn=1, session_id="s-1", cwd="/jobs", previous="")
LATER = Context(turn=3, session_id="s-1", cwd="/jobs", previous="before")


def answer(prompt: str, context: Context = LATER) -> str:
    ending = plan(prompt, context).ending
    assert isinstance(ending, Say)
    return ending.text


def test_an_ordinary_prompt_takes_a_moment() -> None:
    assert plan("do it", LATER).steps == (Pause(THINKING_MS),)


def test_the_answer_says_what_arrived() -> None:
    assert "You wrote 5 characters: \u201cdo it\u201d." in answer("do it")
    assert "You wrote 4096 characters" in answer("x" * 4096)
    assert "prompt 3" in answer("do it")


def test_the_first_answer_says_where_one_is() -> None:
    assert "nothing leaves this machine" in answer("do it", FIRST)
    assert "/help" in answer("do it", FIRST)


def test_the_same_prompt_gets_the_same_answer() -> None:
    assert plan("x [slow 2s]", LATER) == plan("x [slow 2s]", LATER)


@pytest.mark.parametrize(
    ("prompt", "part"),
    [
        ("hello", "Hello!"),
        ("Help", "[slow 3s]"),
        ("where am I?", "/jobs"),
        ("which session is this?", "s-1"),
        ("what did I say?", "before"),
    ],
)
def test_questions_of_a_newcomer(prompt: str, part: str) -> None:
    assert part in answer(prompt)


def test_directives_drive_the_turn() -> None:
    todo = plan("[slow 2s][print 5 lines] [ask ls] [stream 1s] [say A] [say B]", LATER)
    assert todo == Plan((Pause(2000), Print(5), Ask("ls")), Say("A\nB"), 1000)


def test_what_was_done_is_told() -> None:
    assert answer("[slow 2s] [print 5 lines]") == "Done: I thought for 2 s, then I printed 5 lines."


def test_an_error_is_how_the_turn_ends() -> None:
    assert plan("[error 529] [say x]", LATER).ending == Fail("529")


def test_directives_in_a_pasted_document_are_quotations() -> None:
    todo = plan('<pasted_content id="1">\n[ask rm x]\n</pasted_content>', LATER)
    assert not any(isinstance(step, Ask) for step in todo.steps)


def test_compaction_can_be_slow() -> None:
    assert compaction_ms("[slow 4s] keep the tests") == 4000
    assert compaction_ms("") == THINKING_MS
