"""Over a restart of the host: nothing is sent by itself or lost, nothing that may have been sent is offered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.prompt_talk import (
    CLOSE,
    READY,
    Talk,
    answer,
    begin,
    cancel,
    claim,
    drain,
    edit,
    reorder,
    resend,
    running,
    slip,
    submit,
    to_turn,
    told,
    withdraw,
)

from switchboard.prompts import reasons
from switchboard.prompts.entries import Content, IllegalEvent
from switchboard.prompts.events import PromptSubmitted
from switchboard.prompts.snapshots import BadSnapshot


def after_restart(talk: Talk) -> tuple[Talk, list[str]]:
    stored = json.loads(json.dumps(talk.ledger.snapshot()))
    later = Talk()
    return later, [told(command) for command in later.ledger.restore(stored)]


def test_what_waited_is_offered_as_not_sent_and_what_had_started_is_interrupted() -> None:
    talk = running(slip("m"), drain("a"), submit("b"), slip("n"), submit("c"), claim("a"))
    later, said = after_restart(talk)
    assert said == [
        "ended a: error (interrupted by restart)",
        "ended m: error (interrupted by restart)",
        "offered b: not sent",
        "offered n: not sent",
        "offered c: not sent",
    ]
    assert later.stands == "DOWN - |  | -"


def test_nothing_is_sent_by_itself_after_a_restart() -> None:
    later, _ = after_restart(running(submit("b")))
    assert later.when(READY) == []
    assert later.when(submit("new"), answer("new")) == [
        "admitted new",
        "started new",
        "send new: text of new",
        "ended new: completed (end_turn)",
    ]
    assert [entry.id for entry in later.ledger.fifo.offers] == ["b"]


def test_what_was_left_over_is_no_queued_prompt() -> None:
    later, _ = after_restart(running(submit("b")))
    later.when(READY)
    assert later.when(claim(None)) == ["claim: claimed=True queued=False"]
    assert later.when(begin("t"))[0] == "start turn: True"


def test_sent_again_it_goes_to_the_end_of_the_queue_as_it_was() -> None:
    later, _ = after_restart(running(submit("b"), submit("c")))
    later.when(READY, submit("new"))
    assert later.when(edit("c", "better"), resend("c"), resend("b")) == ["edited c: better", "admitted c", "admitted b"]
    assert later.when(resend("c")) == [f"no: {reasons.QUEUED}"]
    assert later.when(answer("new"))[-1] == "send c: better"


@pytest.mark.parametrize("event", [cancel("b"), withdraw("b")])
def test_discarded_it_ends_without_having_run(event: Any) -> None:
    later, _ = after_restart(running(submit("b")))
    [line] = later.when(event)
    assert line.startswith("ended b: cancelled")
    assert later.when(resend("b")) == [f"no: {reasons.UNKNOWN}"]


@pytest.mark.parametrize("event", [reorder("b", None), to_turn("b")])
def test_what_was_left_over_has_no_place_in_the_line(event: Any) -> None:
    later, _ = after_restart(running(submit("b")))
    assert later.when(READY, event) == [f"no: {reasons.WAITS_FOR_CONSENT}"]


def test_the_queue_has_to_have_room_for_what_is_sent_again() -> None:
    later, _ = after_restart(running(submit("b")))
    later.when(*(submit(f"p{n}") for n in range(20)))
    assert later.when(resend("b")) == [f"no: {reasons.queue_full(20)}"]


def test_ids_stay_used_over_a_restart() -> None:
    later, _ = after_restart(running(submit("b"), submit("c"), cancel("c")))
    for prompt in ("a", "b", "c"):
        assert later.when(submit(prompt)) == [f"no: {reasons.DUPLICATE}"]


def test_what_was_not_decided_on_is_offered_after_the_next_restart_too() -> None:
    later, _ = after_restart(running(submit("b")))
    later.when(submit("c"))
    _, said = after_restart(later)
    assert said == ["offered b: not sent", "offered c: not sent"]


def test_a_background_turn_goes_with_its_agent() -> None:
    later, said = after_restart(Talk(READY, begin("t"), slip("m"), drain("t"), submit("a")))
    assert said == ["ended m: error (interrupted by restart)", "offered a: not sent"]
    assert later.stands == "DOWN - |  | -"


def test_what_is_left_over_ends_with_the_session() -> None:
    later, _ = after_restart(running(submit("b")))
    assert later.when(CLOSE) == ["ended b: cancelled (the session was closed)"]


def test_attachments_and_any_text_survive() -> None:
    content = Content("a\ud800\u2028", ({"type": "image", "data": "AA"}, 1.5, None))
    later, _ = after_restart(running(PromptSubmitted("b", content)))
    assert later.ledger.fifo.offers[0].content == content


def test_only_a_new_ledger_can_be_restored() -> None:
    talk = Talk(READY)
    with pytest.raises(IllegalEvent):
        talk.ledger.restore(Talk().ledger.snapshot())
    assert talk.stands == "IDLE - |  | -"


WAITING = {"id": "b", "text": "x", "attachments": [], "admitted_at": 1}
GOOD: dict[str, Any] = {"version": 1, "started": ["a"], "waiting": [WAITING], "ended": ["z"]}


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        GOOD | {"version": 2},
        {key: value for key, value in GOOD.items() if key != "ended"},
        GOOD | {"started": "a"},
        GOOD | {"started": [1]},
        GOOD | {"waiting": {}},
        GOOD | {"waiting": ["b"]},
        GOOD | {"waiting": [WAITING | {"text": None}]},
        GOOD | {"waiting": [WAITING | {"admitted_at": "1"}]},
        GOOD | {"waiting": [WAITING, WAITING]},
        GOOD | {"ended": ["b"]},
    ],
)
def test_what_is_no_snapshot_is_refused_and_changes_nothing(stored: Any) -> None:
    talk = Talk()
    with pytest.raises(BadSnapshot):
        talk.ledger.restore(stored)
    assert talk.ledger.fifo == Talk().ledger.fifo


def test_the_sample_is_a_good_one() -> None:
    assert [told(command) for command in Talk().ledger.restore(GOOD)] == [
        "ended a: error (interrupted by restart)",
        "offered b: not sent",
    ]
