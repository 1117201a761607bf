"""How a list describes one recorded session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from switchboard.clis.recorded_sessions import RecordedSession, describe


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def user(text: object, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"content": text}, **fields}


ASSISTANT: dict[str, Any] = {"type": "assistant", "message": {"content": []}}


def seen(*rows: dict[str, Any], tail: bytes = b"") -> RecordedSession | None:
    return describe("/p/-w/abc.jsonl", 5, lines(*rows), tail, "/w")


def test_the_first_prompt_names_the_session() -> None:
    found = seen({"type": "mode"}, user("  fix\nthe   tests "), ASSISTANT, user("thanks"))
    assert found == RecordedSession("abc", "/p/-w/abc.jsonl", "/w", 5, "fix the tests", None)
    assert found is not None
    assert found.name == "fix the tests"


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        pytest.param([{"type": "summary", "summary": "s"}], "s", id="summary"),
        pytest.param(
            [{"type": "ai-title", "aiTitle": "a"}, {"type": "summary", "summary": "s"}], "a", id="generated title first"
        ),
        pytest.param(
            [{"type": "custom-title", "customTitle": "c"}, {"type": "ai-title", "aiTitle": "a"}],
            "c",
            id="own name first",
        ),
        pytest.param(
            [{"type": "ai-title", "aiTitle": "old"}, {"type": "ai-title", "aiTitle": "new"}],
            "new",
            id="the last counts",
        ),
        pytest.param([{"type": "ai-title", "aiTitle": 5}, {"type": "custom-title"}], None, id="not a text"),
        pytest.param([{"type": "ai-title", "aiTitle": " \n"}], None, id="blank"),
    ],
)
def test_7_1_own_name_generated_title_summary(rows: list[dict[str, Any]], title: str | None) -> None:
    in_head, in_tail = seen(user("hi"), *rows), seen(user("hi"), tail=b'rest of a row"}\n' + lines(*rows))
    assert in_head is not None
    assert in_tail is not None
    assert in_head.title == in_tail.title == title


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="nothing"),
        pytest.param([{"type": "file-history-snapshot"}], id="book-keeping"),
        pytest.param([user("caveat", isMeta=True)], id="only what the CLI says"),
        pytest.param([user("<command-name>/clear</command-name>")], id="only a slash command"),
        pytest.param([user("<local-command-stdout></local-command-stdout>")], id="only a command's output"),
        pytest.param([user("task", isSidechain=True), {**ASSISTANT, "isSidechain": True}], id="only a subagent"),
    ],
)
def test_3_6_a_transcript_in_which_nobody_spoke_is_left_out(rows: list[dict[str, Any]]) -> None:
    assert seen(*rows) is None


def test_an_answer_alone_is_a_conversation() -> None:
    found = seen(user("summary of before", isCompactSummary=True), ASSISTANT)
    assert found is not None
    assert found.name is None


def test_a_file_of_which_only_the_ends_were_read_is_kept() -> None:
    assert seen({"type": "x"}, tail=b"{}\n") is not None


def test_texts_are_cut_to_what_a_list_shows() -> None:
    found = seen(user("x" * 100_000), {"type": "custom-title", "customTitle": "y" * 5_000})
    assert found is not None
    assert found.first_prompt == "x" * 200
    assert found.title == "y" * 200
