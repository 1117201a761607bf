"""The ledger: three parts, one machine; another session's agent reaches none of them."""

from __future__ import annotations

import pytest
from tests.support.prompt_talk import (
    READY,
    Talk,
    answer,
    begin,
    cancel,
    claim,
    drain,
    finish,
    forwarded,
    running,
    slip,
    submit,
    told,
)

from switchboard.prompts.entries import IllegalEvent
from switchboard.prompts.events import Event
from switchboard.prompts.ledger import Ledger

OTHER = "session-2"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (claim("a", OTHER), ["claim: claimed=False queued=False"]),
        (claim(None, OTHER), ["claim: claimed=False queued=False"]),
        (drain("a", OTHER), ["drain: [] queued=False"]),
        (drain(None, OTHER), ["drain: [] queued=False"]),
        (begin("t", OTHER), ["start turn: False"]),
        (finish("a", OTHER), []),
    ],
    ids=["claim", "ownerless claim", "drain", "ownerless drain", "start of a turn", "end of a turn"],
)
@pytest.mark.parametrize(
    "talk",
    [Talk(READY), running(submit("b"), slip("m"), claim("a")), Talk(READY, begin("a"))],
    ids=["idle", "running", "background"],
)
def test_an_agent_that_names_another_session_reaches_nothing(talk: Talk, event: Event, said: list[str]) -> None:
    before = talk.ledger.fifo, talk.ledger.claims
    assert talk.when(event) == said
    assert (talk.ledger.fifo, talk.ledger.claims) == before


def test_an_illegal_event_changes_neither_the_queue_nor_the_wait() -> None:
    talk = running(submit("b"), claim("a"))
    before = talk.ledger.fifo, talk.ledger.claims
    for event in (READY, forwarded("a"), answer("b")):
        with pytest.raises(IllegalEvent):
            talk.when(event)
    assert (talk.ledger.fifo, talk.ledger.claims) == before


def test_the_release_follows_what_it_is_about() -> None:
    talk = running(submit("b"), claim("a"))
    assert talk.when(cancel("b")) == ["ended b: cancelled (cancelled)", "release a"]


def test_two_sessions_share_nothing() -> None:
    one, two = Ledger("one"), Ledger("two")
    for ledger in (one, two):
        ledger.receive(READY, 0)
    one.receive(submit("a"), 0)
    assert [told(command) for command in two.receive(claim(None, "two"), 0)] == ["claim: claimed=True queued=False"]
    assert [told(command) for command in one.receive(claim(None, "one"), 0)] == ["claim: claimed=False queued=False"]
