from __future__ import annotations

from itertools import count

from switchboard.agent.conversation import Conversation
from switchboard.agent.recap import Exchange, recap_of
from switchboard.agent.rows import Row


def transcript(*exchanges: tuple[str, str]) -> list[Row]:
    numbers = count()
    rows: list[Row] = []

    def new_id() -> str:
        return str(next(numbers))

    now = Conversation("s", "/c", "1")
    for prompt, answer in exchanges:
        prompted = now.prompted(prompt, 1, new_id)
        answered = prompted.conversation.answered(answer, 2, new_id)
        closed = answered.conversation.closed(1, 2, new_id)
        rows += [*prompted.rows, *answered.rows, *closed.rows]
        now = closed.conversation
    return rows


def test_prompts_and_answers() -> None:
    rows = transcript(("a", "b"), ("c", "d"))
    recap = recap_of(rows)
    assert recap.exchanges == (Exchange("a", "b"), Exchange("c", "d"))
    assert recap.parent == rows[-1]["uuid"]


def test_what_is_no_exchange_is_passed_over() -> None:
    rows = transcript(("a", "b"))
    side: Row = {**rows[3], "isSidechain": True, "uuid": "side"}
    meta: Row = {"type": "user", "message": {"role": "user", "content": "<local-command-stdout/>"}, "uuid": "last"}
    odd: list[Row] = [
        {},
        {"type": "user"},
        {"type": "user", "message": 3},
        {"type": "assistant", "message": {"content": 3}},
    ]
    recap = recap_of([*odd, *rows, side, meta])
    assert recap.exchanges == (Exchange("a", "b"),)
    assert recap.parent == "last"


def test_an_unanswered_prompt() -> None:
    assert recap_of(transcript(("a", "b"))[:4]).exchanges == (Exchange("a"),)


def test_the_recap_is_short() -> None:
    recap = recap_of(transcript(*((f"prompt {n} " + "x" * 100, "answer\nsecond") for n in range(5))))
    lines = recap.lines("s", complete=True)
    assert lines[0] == "Resumed conversation s: 5 prompts so far."
    assert len(lines) == 7
    assert lines[1].startswith("  > prompt 2 xxx")
    assert lines[2] == "    answer second"
    assert all(len(line) <= 80 for line in lines)


def test_a_cut_transcript_says_so() -> None:
    assert recap_of(transcript(("a", "b"))).lines("s", complete=False)[0] == (
        "Resumed conversation s: at least 1 prompt so far."
    )
