"""A replay asks nothing: with every kind of query, at every place, and through a terminal that answers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.recorded_streams import AGENT_START, AGENT_TURN, EDITOR, STREAMS

from switchboard.sessions.replay import STEP_BYTES, Quieting, blank_queries, quiet, strip_queries
from switchboard.sessions.sequences import SequenceReader
from switchboard.sessions.vocabulary import Bell, Osc, Query

QUERIES = [
    b"\x1b[c",
    b"\x1b[0c",
    b"\x1b[>c",
    b"\x1b[=c",
    b"\x1b[5n",
    b"\x1b[6n",
    b"\x1b[?6n",
    b"\x1b[?996n",
    b"\x1b[>0q",
    b"\x1b[?u",
    b"\x1b[?2026$p",
    b"\x1b[4$p",
    b"\x1b[14t",
    b"\x1b[18t",
    b"\x1b[x",
    b"\x1bZ",
    b"\x05",
    b"\x1bP$qm\x1b\\",
    b"\x1bP+q544e\x1b\\",
    b"\x1b]4;1;?\x07",
    b"\x1b]10;?\x07",
    b"\x1b]11;?\x1b\\",
    b"\x1b]12;?\xc2\x9c",
    b"\x1b]52;c;?\x07",
    b"\x1b]7501;?\x1b\\",
    b"\x1b_Gi=1,a=q;AAAA\x1b\\",
    b"\xc2\x9b6n",
    b"\xc2\x9d11;?\xc2\x9c",
    b"\xc2\x9a",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_taken_out_whole(query: bytes) -> None:
    data = b"before \x1b[1m" + query + query + b"\x1b[0m after" + query
    assert strip_queries(data) == b"before \x1b[1m\x1b[0m after"
    assert blank_queries(data) == data.replace(query, bytes(len(query)))


def test_nothing_to_take_out_copies_nothing() -> None:
    data = b"text \x1b[31mred\x1b[0m \x1b]0;title\x07\r\n" * 100
    assert strip_queries(data) is data
    assert blank_queries(data) is data


def test_a_query_that_is_cut_by_the_end_is_live() -> None:
    assert strip_queries(b"a\x1b[6nb\x1b[6") == b"ab\x1b[6"
    assert strip_queries(b"a\x1b]11;?") == b"a\x1b]11;?"
    assert blank_queries(b"a\x1b]11;?\x1b") == b"a\x1b]11;?\x1b"


def test_a_query_ended_by_another_sequence() -> None:
    assert strip_queries(b"a\x1b]11;?\x1b[31mb") == b"a\x1b[31mb"


def test_answers_and_settings_stay() -> None:
    data = b"\x1b]11;#102030\x07\x1b[?2004h\x1b[>1u\x1b[2 q\x1b[22;0t\x1b]52;c;QQ==\x07\x1b]0;really?\x07"
    assert strip_queries(data) is data


@pytest.mark.parametrize("name", STREAMS)
def test_no_stream_asks_after_it(name: str) -> None:
    data, says = STREAMS[name]
    rest = [event for event in says if not isinstance(event, Query)]
    for changed in (strip_queries(data), blank_queries(data)):
        assert SequenceReader().feed(changed) == rest
    assert len(blank_queries(data)) == len(data)
    assert any(isinstance(event, Query) for event in says) == (strip_queries(data) != data)


@given(
    st.lists(st.sampled_from([*QUERIES, b"text", b"\x1b[31m", b"\x1b]0;t\x07", b"\x1b", b"\x1b]", b"\xc2", b"\r\n"]))
)
@settings(max_examples=300, deadline=None)
def test_no_output_asks_after_it(parts: list[bytes]) -> None:
    data = b"".join(parts)
    blanked = blank_queries(data)
    assert len(blanked) == len(data)
    assert not any(isinstance(event, Query) for event in SequenceReader().feed(blanked))
    assert not any(isinstance(event, Query) for event in SequenceReader().feed(strip_queries(strip_queries(data))))


class AnsweringTerminal:
    """A terminal as far as it answers: the queries that agents and editors really send."""

    ANSWERS = (
        (rb"\x1b\[0?c", b"\x1b[?62;22c"),
        (rb"\x1b\[>0?c", b"\x1b[>0;276;0c"),
        (rb"\x1b\[6n", b"\x1b[1;1R"),
        (rb"\x1b\[\?6n", b"\x1b[?1;1R"),
        (rb"\x1b\[5n", b"\x1b[0n"),
        (rb"\x1b\[>0?q", b"\x1bP>|term(1)\x1b\\"),
        (rb"\x1b\[\?u", b"\x1b[?0u"),
        (rb"\x1b\[\?[0-9]+\$p", b"\x1b[?12;2$y"),
        (rb"\x1b\](?:10|11|7501);\?(?:\x07|\x1b\\)", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    )

    def answers(self, data: bytes) -> list[bytes]:
        return [answer for pattern, answer in self.ANSWERS for _ in re.findall(pattern, data)]


def test_nothing_is_typed_by_a_terminal_that_is_shown_a_replay() -> None:
    """The field report: after a reload of the page, the terminal answered old queries into the prompt."""
    data = AGENT_START + EDITOR
    assert len(AnsweringTerminal().answers(data)) >= 8
    assert AnsweringTerminal().answers(blank_queries(data)) == []
    assert AnsweringTerminal().answers(strip_queries(data)) == []


def test_what_happens_once_does_not_happen_again() -> None:
    data = AGENT_START + AGENT_TURN + b"\x1b]99;i=1;Done\x1b\\\x07\x07"
    changed = quiet(data)
    assert len(changed) == len(data)
    says = SequenceReader().feed(changed)
    assert Osc(9, "4;3;") in says
    assert Osc(0, "✳ fix the bug") in says
    assert [event for event in says if isinstance(event, (Bell, Query))] == []
    assert {event.number for event in says if isinstance(event, Osc)} == {0, 8, 9}
    assert b"permission" not in changed
    assert b"\x07\x07" not in changed


def test_quiet_leaves_plain_output_alone() -> None:
    data = b"text \x1b[31mred\x1b[0m"
    assert quiet(data) is data


ONCE = [b"\x07", b"\x07\x07", b"\x1b]9;done\x07", b"\x1b]52;c;QQ==\x1b\\", b"\x1b]777;notify;a;b\x07"]


@given(
    st.lists(st.sampled_from([*QUERIES, *ONCE, b"text", b"\x1b[31m", b"\x1b]0;t\x07", b"\x1b", b"\x1b]", b"\xc2"])),
    st.integers(1, 9),
)
@settings(max_examples=300, deadline=None)
def test_steps_come_to_the_same(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    quieting = Quieting(data)
    while quieting.step(size):
        pass
    assert quieting.data == quiet(data)
    assert not any(isinstance(event, (Bell, Query)) for event in SequenceReader().feed(quieting.data))


def test_a_long_replay_takes_several_steps() -> None:
    quieting = Quieting(b"a\x07" * STEP_BYTES)
    assert [quieting.step() for _ in range(2)] == [True, False]
    assert quieting.data == b"a\0" * STEP_BYTES
    assert not Quieting(b"").step()
