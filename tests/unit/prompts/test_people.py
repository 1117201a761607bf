"""What people ask of waiting prompts: each is one transition, or a refusal that changes nothing."""

from __future__ import annotations

import pytest
from tests.support.prompt_talk import (
    CLOSE,
    STOP,
    Talk,
    answer,
    cancel,
    drain,
    edit,
    reorder,
    resend,
    running,
    slip,
    submit,
    to_queue,
    to_turn,
    withdraw,
)

from switchboard.prompts import reasons
from switchboard.prompts.events import Event


def waiting() -> Talk:
    """`a` runs; `b`, `c` and `d` wait, `m` for the running turn."""
    return running(submit("b"), submit("c"), slip("m"), submit("d"))


@pytest.mark.parametrize(
    ("event", "said", "line"),
    [
        (reorder("d", "b"), ["order d b c m"], "d b c (m)"),
        (reorder("b", None), ["order c m d b"], "c (m) d b"),
        (reorder("b", "d"), ["order c m b d"], "c (m) b d"),
        (reorder("m", "b"), ["order m b c d"], "(m) b c d"),
        (reorder("b", "c"), [], "b c (m) d"),
        (reorder("d", None), [], "b c (m) d"),
        (reorder("c", "c"), [], "b c (m) d"),
        (edit("c", "other"), ["edited c: other"], "b c (m) d"),
        (edit("m", "other"), ["edited m: other"], "b c (m) d"),
        (edit("c", "text of c"), [], "b c (m) d"),
        (to_turn("c"), ["c is mid-turn"], "b (c) (m) d"),
        (to_turn("m"), [], "b c (m) d"),
        (to_queue("m"), ["m is queue"], "b c m d"),
        (to_queue("b"), [], "b c (m) d"),
        (cancel("c"), ["ended c: cancelled (cancelled)"], "b (m) d"),
        (cancel("m"), ["ended m: cancelled (cancelled)"], "b c d"),
        (withdraw("c"), ["ended c: cancelled (not sent)"], "b (m) d"),
    ],
)
def test_done_in_one_transition(event: Event, said: list[str], line: str) -> None:
    talk = waiting()
    assert talk.when(event) == said
    assert talk.stands == f"RUNNING a | {line} | -"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (reorder("a", "b"), reasons.STARTED),
        (reorder("b", "a"), reasons.STARTED),
        (reorder("b", "x"), reasons.UNKNOWN),
        (edit("a", "other"), reasons.STARTED),
        (edit("n", "other"), reasons.STARTED),
        (edit("b", " "), reasons.EMPTY),
        (edit("gone", "other"), reasons.UNKNOWN),
        (to_turn("a"), reasons.STARTED),
        (to_turn("gone"), reasons.UNKNOWN),
        (cancel("n"), reasons.STARTED),
        (cancel("gone"), reasons.UNKNOWN),
        (withdraw("a"), reasons.STARTED),
        (withdraw("gone"), reasons.UNKNOWN),
        (resend("b"), reasons.QUEUED),
        (resend("a"), reasons.STARTED),
        (resend("gone"), reasons.UNKNOWN),
    ],
)
def test_too_late_is_refused_and_changes_nothing(event: Event, reason: str) -> None:
    talk = running(slip("n"), drain("a"), submit("b"), submit("gone"), cancel("gone"))
    before = talk.ledger.fifo
    assert talk.when(event) == [f"no: {reason}"]
    assert talk.ledger.fifo is before


def test_an_edited_prompt_is_sent_as_edited() -> None:
    talk = running(submit("b"), edit("b", "better"))
    assert talk.when(answer("a"))[-1] == "send b: better"


def test_reordered_prompts_start_in_the_new_order() -> None:
    talk = running(submit("b"), submit("c"), reorder("c", "b"))
    assert talk.when(answer("a"))[-1] == "send c: text of c"
    assert talk.when(answer("c"))[-1] == "send b: text of b"


def test_the_queue_may_not_be_filled_over_its_limit_by_way_of_the_other_lane() -> None:
    talk = running(*(submit(f"p{n}") for n in range(20)), slip("m"))
    assert talk.when(to_queue("m")) == [f"no: {reasons.queue_full(20)}"]
    talk.when(*(slip(f"m{n}") for n in range(19)))
    assert talk.when(to_turn("p0")) == [f"no: {reasons.mid_turn_full(20)}"]


def test_a_message_has_no_turn_to_go_to_while_none_runs_or_it_is_being_stopped() -> None:
    assert Talk(submit("a")).when(to_turn("a")) == [f"no: {reasons.NO_TURN}"]
    assert running(submit("b"), STOP).when(to_turn("b")) == [f"no: {reasons.NO_TURN}"]


@pytest.mark.parametrize(
    "event",
    [
        *(submit("b"), slip("b"), edit("a", "x"), reorder("a", None), to_turn("a"), cancel("a"), withdraw("a"), STOP),
        resend("a"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_nothing_can_be_asked_of_a_closed_session(event: Event) -> None:
    assert running(CLOSE).when(event) == [f"no: {reasons.CLOSED}"]
