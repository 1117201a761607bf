"""What a session that is not open turns out to be: one row for each outcome."""

from __future__ import annotations

import pytest

from switchboard.clis.closed_sessions import (
    AmbiguousTranscript,
    ClosedSession,
    CwdUnavailable,
    FoundTranscript,
    NoReadableTranscript,
    SessionNotFound,
    closed_outcome,
    same_session,
)

ID = "0d6f3a52-0000-4000-8000-00000000000a"
GOOD = FoundTranscript("claude", "/p/-w/a.jsonl", (1, 2), "/w")
SECOND = FoundTranscript("claude", "/p/-v/a.jsonl", (1, 3), "/v")
BAD = FoundTranscript("claude", "/p/-x/a.jsonl", problem="Permission denied")
HOMELESS = FoundTranscript("claude", "/p/-y/a.jsonl", (1, 4))


@pytest.mark.parametrize(
    ("found", "known", "unread", "outcome"),
    [
        pytest.param([], False, [], SessionNotFound, id="5 wholly unknown"),
        pytest.param([], True, [], NoReadableTranscript, id="5 known, transcript missing"),
        pytest.param(
            [], False, ["/p/-z: denied"], NoReadableTranscript, id="5 read errors are refusals, never absence"
        ),
        pytest.param([BAD], False, [], NoReadableTranscript, id="5 unreadable"),
        pytest.param([BAD, BAD], True, [], NoReadableTranscript, id="5 several, none readable"),
        pytest.param([HOMELESS], False, [], CwdUnavailable, id="5 no verified cwd"),
        pytest.param([GOOD, SECOND], False, [], AmbiguousTranscript, id="5 duplicate folders"),
        pytest.param([GOOD, BAD], False, [], AmbiguousTranscript, id="5 a duplicate that cannot be read"),
        pytest.param([GOOD, HOMELESS], False, [], AmbiguousTranscript, id="5 a duplicate without a cwd"),
        pytest.param([GOOD], False, [], ClosedSession, id="5 readable, verified"),
        pytest.param([GOOD], False, ["/p/-z: denied"], ClosedSession, id="5 found beside a folder nobody can read"),
    ],
)
def test_outcomes(found: list[FoundTranscript], known: bool, unread: list[str], outcome: type[object]) -> None:
    answer = closed_outcome(ID, found, known=known, unread=unread)
    assert type(answer) is outcome
    for one in found[:1] if outcome is not ClosedSession else []:
        assert one.path in getattr(answer, "detail", "")


def test_a_session_that_can_be_resumed() -> None:
    found = closed_outcome(ID, [GOOD], known=False, unread=[])
    assert found == ClosedSession(ID, "claude", GOOD.path, (1, 2), "/w")
    assert isinstance(found, ClosedSession)
    assert same_session(found, found)
    assert not same_session(found, ClosedSession(ID, "claude", GOOD.path, (1, 9), "/w"))
    assert not same_session(found, SessionNotFound())
