"""What a transcript proves about turns, and when an entry in it is the prompt that was typed."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.clis.transcripts import (
    MAX_LINE,
    MAX_PROMPTS,
    TranscriptReader,
    is_clear_command,
    is_compact_command,
    is_prompt,
    prompt_contains,
    prompt_matches,
    turn_evidence,
)
from switchboard.common.facts import CompactBoundary, PromptEntry

BASE = 1_790_000_000_000
STAMPS = [f"2026-09-21T14:13:{second:02}.000Z" for second in range(60)]


def at(second: int) -> int:
    return BASE - BASE % 60_000 + second * 1000


def row(kind: str, second: int = 1, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": STAMPS[second], "isSidechain": False, **fields}


def user(text: object, second: int = 1, **fields: Any) -> dict[str, Any]:
    return row("user", second, message={"role": "user", "content": text}, **fields)


def assistant(stop: str | None = "end_turn", second: int = 2, **fields: Any) -> dict[str, Any]:
    return row("assistant", second, message={"role": "assistant", "content": [], "stop_reason": stop}, **fields)


def duration(second: int = 3, **fields: Any) -> dict[str, Any]:
    return row("system", second, subtype="turn_duration", durationMs=12, **fields)


def boundary(second: int = 4, trigger: str = "manual", **fields: Any) -> dict[str, Any]:
    details = {"uuid": "u1", "compactMetadata": {"trigger": trigger}, **fields}
    return row("system", second, subtype="compact_boundary", **details)


def queue(operation: str, second: int = 5, content: str | None = None) -> dict[str, Any]:
    extra = {} if content is None else {"content": content}
    return {"type": "queue-operation", "operation": operation, "timestamp": STAMPS[second], **extra}


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in rows)


TOOL_RESULT = user([{"type": "tool_result", "content": "x"}], 3)
OUTPUT = user("<local-command-stdout>Compacted</local-command-stdout>", 6)

CLOSED = [
    pytest.param([user("hi"), assistant(), duration()], 2, id="3.7 (a) end_turn, then turn_duration"),
    pytest.param([user("hi"), assistant("stop_sequence"), duration()], 2, id="3.7 (a) stop_sequence"),
    pytest.param(
        [assistant(), row("system", 3, subtype="stop_hook_summary"), duration(4)], 2, id="3.7 (a) with Stop hooks"
    ),
    pytest.param(
        [assistant(), duration(), row("attachment", 4), {"type": "last-prompt"}], 2, id="3.7 (a) book-keeping follows"
    ),
    pytest.param([assistant("tool_use"), OUTPUT], 6, id="3.7 (b) one local command output"),
    pytest.param(
        [assistant("tool_use"), {**OUTPUT, "isMeta": True}], 6, id="3.7 (b) also when the CLI marks it as its own"
    ),
    pytest.param([boundary(4), user("summary", 5, isCompactSummary=True)], 5, id="3.7 (c) summary after the boundary"),
    pytest.param(
        [boundary(4), {"type": "api-request"}, user("summary", 5, isCompactSummary=True)],
        5,
        id="3.7 (c) book-keeping between the two",
    ),
    pytest.param([assistant(), duration(), queue("enqueue"), queue("remove")], 2, id="3.7 enqueued and taken back"),
    pytest.param([queue("enqueue"), queue("dequeue"), assistant(), duration()], 2, id="3.7 queue moved before it"),
    pytest.param([assistant(), duration(), user("x", 9, isSidechain=True)], 2, id="3.7 a subagent goes on"),
    pytest.param(
        [assistant(), duration(), user("hi", 1, parentUuid=None)], 2, id="measured: the first prompt is written last"
    ),
]

OPEN = [
    pytest.param([], id="3.7 nothing"),
    pytest.param([assistant()], id="3.7 end_turn alone: Stop hooks may run"),
    pytest.param([assistant("tool_use"), duration()], id="3.7 tool_use stop"),
    pytest.param([assistant(None), duration()], id="3.7 no stop reason"),
    pytest.param([assistant("max_tokens"), duration()], id="3.7 another stop reason"),
    pytest.param([duration(), assistant()], id="3.7 turn_duration before it"),
    pytest.param([assistant(), duration(), TOOL_RESULT], id="3.7 tool result"),
    pytest.param([assistant(), duration(), user("next", 4)], id="3.7 prompt"),
    pytest.param([assistant(), duration(), user("Stop hook feedback:\nr", 4, isMeta=True)], id="3.7 meta prompt"),
    pytest.param([user("hi"), user("[Request interrupted by user]", 2)], id="3.7 interrupted turn"),
    pytest.param([user("hi"), user("[Request interrupted by user]", 2), duration()], id="3.7 a user row has no end"),
    pytest.param([OUTPUT, user(OUTPUT["message"]["content"] + " and more", 7)], id="3.7 (b) not only the output"),
    pytest.param(
        [user("<local-command-stdout>a</local-command-stdout><local-command-stdout>b</local-command-stdout>")],
        id="3.7 (b) two outputs",
    ),
    pytest.param([user([{"type": "text", "text": OUTPUT["message"]["content"]}])], id="3.7 (b) not a string"),
    pytest.param([boundary(4, "auto"), user("s", 5, isCompactSummary=True)], id="3.7 (c) automatic compaction"),
    pytest.param(
        [boundary(4), row("system", 5, subtype="informational"), user("s", 6, isCompactSummary=True)],
        id="3.7 (c) not directly after",
    ),
    pytest.param([boundary(4), user("s", 5)], id="3.7 (c) no summary"),
    pytest.param([boundary(4, isSidechain=True), user("s", 5, isCompactSummary=True)], id="3.7 (c) of a subagent"),
    pytest.param([assistant(), duration(), queue("dequeue")], id="3.7 a dequeue after it"),
    pytest.param([assistant(), duration(), queue("enqueue")], id="3.7 an enqueue after it"),
    pytest.param(
        [assistant(), duration(), queue("enqueue"), queue("enqueue"), queue("remove")], id="3.7 more in than out"
    ),
    pytest.param([assistant(timestamp="yesterday"), duration()], id="3.7 its timestamp does not parse"),
    pytest.param([assistant(timestamp=5), duration()], id="3.7 its timestamp is no text"),
    pytest.param([assistant(timestamp="2026-09-21T14:13:02"), duration()], id="3.7 its timestamp has no zone"),
    pytest.param([assistant(isSidechain=True), duration(isSidechain=True)], id="3.7 a subagent's turn"),
    pytest.param([user("hi"), assistant(isApiErrorMessage=True)], id="3.7 an API error"),
    pytest.param([assistant(), duration(), user("hi", 1, parentUuid="p")], id="an older prompt that follows another"),
    pytest.param([assistant(), duration(), user("hi", 1)], id="an older prompt of unknown place"),
    pytest.param([assistant(), duration(), user("hi", 3, parentUuid=None)], id="a newer prompt that starts anew"),
]


@pytest.mark.parametrize(("rows", "second"), CLOSED)
def test_closed(rows: list[dict[str, Any]], second: int) -> None:
    found = turn_evidence(lines(*rows), 77)
    assert (found.closed, found.closed_at, found.modified_at) == (True, at(second), 77)


@pytest.mark.parametrize("rows", OPEN)
def test_open(rows: list[dict[str, Any]]) -> None:
    found = turn_evidence(lines(*rows), 77)
    assert (found.closed, found.closed_at) == (False, None)


def test_3_7_prompts_are_what_a_person_said_or_queued() -> None:
    found = turn_evidence(
        lines(
            user("one", 1),
            user([{"type": "tool_result"}], 2),
            user("told by the CLI", 3, isMeta=True),
            user("of a subagent", 4, isSidechain=True),
            queue("enqueue", 5, "two"),
            queue("remove", 6, "two"),
            queue("enqueue", 6),
            user("undated", 7, timestamp=None),
            user("three", 8),
        ),
        0,
    )
    assert found.prompts == (PromptEntry(at(1), "one"), PromptEntry(at(5), "two"), PromptEntry(at(8), "three"))


def test_3_7_the_last_50_prompts_are_kept() -> None:
    found = turn_evidence(lines(*(user(str(number)) for number in range(70))), 0)
    assert [entry.text for entry in found.prompts] == [str(number) for number in range(20, 70)]
    assert MAX_PROMPTS == 50


def test_3_7_boundaries_of_the_main_thread_with_their_trigger() -> None:
    found = turn_evidence(
        lines(
            boundary(1),
            boundary(2, "auto", uuid="u2"),
            boundary(3, isSidechain=True),
            user('{"type":"system","subtype":"compact_boundary"} quoted', 4),
            {**boundary(5), "compactMetadata": "manual"},
            {**boundary(6), "timestamp": "?"},
            {**boundary(7), "uuid": None},
        ),
        0,
    )
    assert found.boundaries == (
        CompactBoundary("u1", at(1), True),
        CompactBoundary("u2", at(2), False),
        CompactBoundary("u1", at(5), False),
        CompactBoundary("", at(7), True),
    )


def test_3_7_last_entry_is_the_newest_of_the_main_thread() -> None:
    found = turn_evidence(lines(user("a", 9), duration(3), user("b", 30, isSidechain=True)), 0)
    assert found.last_entry_at == at(9)
    assert turn_evidence(b"", 0).last_entry_at is None


def test_a_window_that_starts_inside_a_row_leaves_that_row_out() -> None:
    whole = lines(user("first"), user("second", 2))
    found = turn_evidence(whole[10:], 0, cut=True)
    assert [entry.text for entry in found.prompts] == ["second"]


def test_a_window_that_starts_on_a_line_end_keeps_the_next_row() -> None:
    found = turn_evidence(b"\n" + lines(user("first")), 0, cut=True)
    assert [entry.text for entry in found.prompts] == ["first"]


def test_a_window_inside_one_row_shows_an_open_turn() -> None:
    assert not turn_evidence(b"x" * 1000, 0, cut=True).closed


CLOSED_ROWS = lines(user("hi"), assistant(), duration())


@pytest.mark.parametrize(
    ("after", "closed"),
    [
        pytest.param(b'{"type":"us', False, id="half a row is being written"),
        pytest.param(b"garbage\n", False, id="a line that cannot be read"),
        pytest.param(b"[1]\n", False, id="a line that is no object"),
        pytest.param(b"[" * 100_000 + b"\n", False, id="a line nested too deeply"),
        pytest.param(b"9" * 10_000 + b"\n", False, id="a number too long"),
        pytest.param(b"\xff\xfe\n", False, id="a line that is no text"),
        pytest.param(b'{"type":"cost-state"}', True, id="a whole row without its line end"),
        pytest.param(b"\n\n", True, id="empty lines"),
        pytest.param(b'{"type":"api-request","x":"' + b"y" * MAX_LINE + b'"}\n', True, id="a bulky book-keeping row"),
        pytest.param(b'{"type":"user","x":"' + b"y" * MAX_LINE + b'"}\n', False, id="a bulky row of the conversation"),
        pytest.param(b'{"parentUuid":"' + b"y" * MAX_LINE + b'"}\n', False, id="a bulky row of unknown type"),
    ],
)
def test_what_follows_a_closed_turn(after: bytes, closed: bool) -> None:
    assert turn_evidence(CLOSED_ROWS + after, 0).closed is closed


def test_what_cannot_be_read_is_forgotten_at_the_next_turn() -> None:
    assert turn_evidence(CLOSED_ROWS + b"garbage\n" + CLOSED_ROWS, 0).closed


def test_asking_does_not_consume_a_row_that_is_not_finished() -> None:
    reader = TranscriptReader()
    reader.feed(CLOSED_ROWS + b'{"type":"cost')
    assert not reader.evidence(0).closed
    assert not reader.evidence(0).closed
    reader.feed(b'-state"}\n')
    assert reader.evidence(0).closed


def test_a_whole_row_without_its_line_end_counts_once() -> None:
    reader = TranscriptReader()
    entry = lines(user("hi"))
    reader.feed(entry[:-1])
    assert len(reader.evidence(0).prompts) == 1
    reader.feed(b"\n")
    assert len(reader.evidence(0).prompts) == 1


def test_an_endless_line_takes_bounded_memory() -> None:
    reader = TranscriptReader()
    for _ in range(20):
        reader.feed(b"z" * MAX_LINE)
    assert len(reader._held) <= MAX_LINE
    reader.feed(b"\n" + CLOSED_ROWS)
    assert reader.evidence(0).closed


STREAM = (
    lines(
        user("ein Größe 😀"),
        assistant("tool_use"),
        TOOL_RESULT,
        assistant(),
        duration(),
        queue("enqueue", 5, "q"),
        boundary(6),
    )
    + b"junk\n"
    + lines(OUTPUT, {"type": "x"})
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_every_way_of_cutting_a_transcript_gives_the_same_evidence(cuts: list[int]) -> None:
    reader = TranscriptReader()
    edges = [0, *sorted(cuts), len(STREAM)]
    for start, end in itertools.pairwise(edges):
        reader.feed(STREAM[start:end])
        reader.evidence(0)
    assert reader.evidence(5) == turn_evidence(STREAM, 5)


@given(st.binary(max_size=400), st.booleans())
def test_garbage_never_closes_a_turn(data: bytes, cut: bool) -> None:
    assert not turn_evidence(data, 0, cut=cut).closed


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "message", "content", "timestamp", "subtype", "operation", "compactMetadata"]),
                inner,
            )
        ),
    )
)
def test_rows_of_any_shape_are_taken(value: object) -> None:
    kinds = ["user", "assistant", "system", "queue-operation"]
    rows = [{**value, "type": kind} if isinstance(value, dict) else {"type": kind, "message": value} for kind in kinds]
    turn_evidence(json.dumps(value).encode() + b"\n" + lines(*rows), 0)


MATCHES = [
    pytest.param("do it", "do it", id="3.7 equal"),
    pytest.param("  do it\n", "do it  ", id="3.7 equal after trim"),
    pytest.param("caf\u00e9", "cafe\u0301", id="submitting: NFC"),
    pytest.param("do it", "do it   ", id="submitting: trailing spaces"),
    pytest.param("ab", "a\tb", id="submitting: a tab is swallowed"),
    pytest.param("x\ufffdy", "x\ud800y", id="submitting: a lone surrogate is written as U+FFFD"),
    pytest.param('<pasted_content id="1">\ndo it\n</pasted_content>', "do it", id="submitting: a wrapped paste"),
    pytest.param("<bash-input>ls -l</bash-input>", "!ls -l", id="3.7 shell command"),
    pytest.param("<bash-input> ls &amp;&amp; x</bash-input>", "! ls && x", id="3.7 shell command, escaped"),
    pytest.param("!ls", "!ls", id="3.7 shell command as text"),
    pytest.param(
        "<command-name>/compact</command-name>\n  <command-message>compact</command-message>\n"
        "  <command-args>keep the plan</command-args>",
        "/compact keep the plan",
        id="3.7 slash command",
    ),
    pytest.param(
        "<command-message>x</command-message><command-name>/clear</command-name>", "/clear", id="3.7 name not first"
    ),
    pytest.param("/tmp/foo is a path", "/tmp/foo is a path", id="3.7 a path sent as a prompt"),
]

DIFFERS = [
    pytest.param("do it now", "do it", id="3.7 longer"),
    pytest.param("", "do it", id="3.7 empty"),
    pytest.param("<bash-input>ls</bash-input>", "ls", id="3.7 not typed as a shell command"),
    pytest.param("<bash-input>ls</bash-input><bash-input>rm</bash-input>", "!ls", id="3.7 two elements"),
    pytest.param("<bash-input>ls</bash-input> x", "!ls", id="3.7 not only the element"),
    pytest.param("<bash-input>lsx</bash-input>", "!ls", id="3.7 another shell command"),
    pytest.param("<command-name>/clear</command-name>", "/compact", id="3.7 another slash command"),
    pytest.param("<command-name>/compactor</command-name>", "/compact", id="3.7 a longer name"),
    pytest.param("text <command-name>/compact</command-name>", "/compact", id="3.7 quoted in text"),
    pytest.param("<command-name>/compact</command-name> text", "/compact", id="3.7 text follows"),
    pytest.param("<command-name>/compact</command-name><b>x</b>", "/compact", id="3.7 another element"),
    pytest.param("<command-name>/compact", "/compact", id="3.7 not closed"),
    pytest.param("<command-args>/compact</command-args>", "/compact", id="3.7 no name"),
    pytest.param("<command-name>/compact</command-name>", "compact", id="3.7 not typed as a slash command"),
    pytest.param("<command-name></command-name>", "", id="3.7 nothing was typed"),
]


@pytest.mark.parametrize(("recorded", "typed"), MATCHES)
def test_prompt_matches(recorded: str, typed: str) -> None:
    assert prompt_matches(recorded, typed)


@pytest.mark.parametrize(("recorded", "typed"), DIFFERS)
def test_prompt_does_not_match(recorded: str, typed: str) -> None:
    assert not prompt_matches(recorded, typed)


@pytest.mark.parametrize(
    "unseen", "\u200b\u200c\u200d\u00ad\ufeff\u2060\u202e\ufe0f\u180e\U000e0041\x9b\u2066\u061c\u115f\u3164", ids=ascii
)
def test_3_7_characters_that_show_nothing_may_be_dropped(unseen: str) -> None:
    """Measured in 2.1.332; 2.1.197 keeps them."""
    assert prompt_matches("an end", f"an{unseen} {unseen}end")
    assert prompt_matches(f"an{unseen} end", f"an{unseen} end")
    assert not prompt_matches("an end", f"an{unseen} end!")


@pytest.mark.parametrize(
    ("recorded", "typed"),
    [
        ("an end", "an\t end"),
        ("an     end", "an\t end"),
        ("an        end", "an  \t  end"),
        ("an end and    more", "an\t end and\tmore"),
        ("an     end", "an     end"),
    ],
    ids=["dropped", "four spaces", "between spaces", "both", "spaces"],
)
def test_3_7_a_tab_may_be_dropped_or_become_four_spaces(recorded: str, typed: str) -> None:
    """Measured in both versions: short texts and long ones."""
    assert prompt_matches(recorded, typed)
    assert not prompt_matches(f"{recorded} and more", typed)


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"], ids=ascii)
def test_3_7_unicodes_own_line_ends_may_become_line_ends(end: str) -> None:
    """Measured in 2.1.332; 2.1.197 keeps them."""
    assert prompt_matches("one\ntwo", f"one{end}two")
    assert prompt_matches(f"one{end}two", f"one{end}two")


@pytest.mark.parametrize("kept", ["\u00a0", "\u3000", "\ue000", "\u0378", "\ufffd", "\u0301"], ids=ascii)
def test_3_7_other_characters_are_kept(kept: str) -> None:
    assert not prompt_matches("an end", f"an e{kept}nd")


def test_matching_a_hostile_entry_takes_linear_time() -> None:
    assert not prompt_matches("<command-name>" * 20_000, "/compact")
    assert not prompt_matches("<command-a></command-a>" * 20_000 + "x", "/compact")
    assert not prompt_matches("<bash-input>" * 20_000, "!x")


@pytest.mark.parametrize(
    ("command", "compact"),
    [
        ("/compact", True),
        ("  /compact \ufeff", True),
        ("/compact keep the plan", True),
        ("/compact\u00a0keep", True),
        ("/compactor", False),
        ("please /compact", False),
        ("/Compact", False),
        ("/comp", False),
        ("", False),
        ("compact", False),
    ],
)
def test_1_8_compact_rule(command: str, compact: bool) -> None:
    assert is_compact_command(command) is compact
    assert is_clear_command(command.replace("compact", "clear")) is compact


@pytest.mark.parametrize(
    ("command", "prompt"),
    [
        ("hello", True),
        ("# a note", True),
        ("what is /clear", True),
        ("/help", False),
        ("\ufeff /tmp/x is full", False),
        (" !ls", False),
        ("", False),
        ("\u00a0\t", False),
        ("?", False),
        ("? what", True),
        ("\u200b/help", False),
        ("\ufe0f\u200d", False),
    ],
)
def test_what_is_recorded_as_it_was_typed(command: str, prompt: bool) -> None:
    assert is_prompt(command) is prompt


@pytest.mark.parametrize(
    ("recorded", "within"),
    [("draft and cafe\u0301 ", True), ("caf\u00e9", True), ("caf\u00e9!", True), ("a caf\u00e9!", False), ("", False)],
)
def test_a_prompt_that_contains_what_was_typed(recorded: str, within: bool) -> None:
    assert prompt_contains(recorded, " caf\u00e9") is within
