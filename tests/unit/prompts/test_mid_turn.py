"""Mid-turn messages: who gets them, how many, and what becomes of the rest."""

from __future__ import annotations

import pytest
from tests.support.prompt_talk import (
    CLOSE,
    DEATH,
    READY,
    STOP,
    TIME,
    Talk,
    answer,
    begin,
    cancel,
    drain,
    edit,
    fail,
    finish,
    forwarded,
    running,
    slip,
    submit,
    to_turn,
)

from switchboard.prompts import reasons
from switchboard.prompts.events import Event
from switchboard.prompts.fifo_state import CANCEL_GRACE_MS
from switchboard.prompts.mid_turn import MAX_BATCH


def test_the_running_turn_gets_its_messages_in_order_and_once() -> None:
    talk = running(slip("m"), slip("n"))
    assert talk.when(drain("a")) == [
        "drain: [text of m, text of n] queued=False",
        "drained m into a",
        "drained n into a",
    ]
    assert talk.when(drain("a")) == ["drain: [] queued=False"]


@pytest.mark.parametrize("with_queue", [False, True])
@pytest.mark.parametrize("with_message", [False, True])
def test_a_drain_always_says_whether_a_prompt_is_queued(with_queue: bool, with_message: bool) -> None:
    talk = running(*[submit("b")] * with_queue, *[slip("m")] * with_message)
    items = "text of m" if with_message else ""
    assert talk.when(drain("a"))[0] == f"drain: [{items}] queued={with_queue}"


def test_a_message_for_the_turn_is_not_a_queued_prompt() -> None:
    assert running(slip("m"), slip("n")).ledger.fifo.has_queued_prompt is False


@pytest.mark.parametrize(
    ("talk", "owner", "answered"),
    [
        (running(slip("m")), None, "drain: [text of m] queued=False"),
        (running(slip("m"), submit("b")), "x", "drain: [] queued=False"),
        (running(slip("m"), submit("b")), "", "drain: [] queued=False"),
        (running(submit("b"), answer("a"), slip("m"), submit("c")), "a", "drain: [] queued=False"),
        (running(slip("m"), submit("b"), STOP), "a", "drain: [] queued=True"),
        (Talk(READY), "a", "drain: [] queued=False"),
        (Talk(READY), None, "drain: [] queued=False"),
        (Talk(submit("a")), None, "drain: [] queued=False"),
        (running(CLOSE), "a", "drain: [] queued=False"),
        (Talk(READY, begin("t"), slip("m"), submit("a")), "t", "drain: [text of m] queued=True"),
        (Talk(READY, begin("t"), slip("m")), "a", "drain: [] queued=False"),
    ],
    ids=[
        *("ownerless, the turn that runs", "unknown owner", "blank owner", "replaced owner", "owner being stopped"),
        *("nothing runs", "nothing runs, ownerless", "no agent", "closed", "background turn", "another, background"),
    ],
)
def test_who_drains(talk: Talk, owner: str | None, answered: str) -> None:
    line = talk.ledger.fifo.line
    assert talk.when(drain(owner))[0] == answered
    if "[]" in answered:
        assert talk.ledger.fifo.line == line


def test_an_ownerless_drain_gets_nothing_while_a_given_up_turn_may_still_work() -> None:
    talk = running(cancel("a"), forwarded("a"))
    talk.later(CANCEL_GRACE_MS).when(TIME)
    talk.when(submit("b"), slip("m"))
    assert talk.when(drain(None)) == ["drain: [] queued=False"]
    assert talk.when(drain("b"))[0] == "drain: [text of m] queued=False"


def test_an_agent_for_another_session_gets_nothing() -> None:
    talk = running(slip("m"), submit("b"))
    assert talk.when(drain("a", "session-2")) == ["drain: [] queued=False"]
    assert talk.stands == "RUNNING a | (m) b | -"


def test_a_batch_is_what_the_agent_uses_and_the_rest_comes_with_the_next() -> None:
    talk = running(*(slip(f"m{n}") for n in range(12)))
    first = talk.when(drain("a"))
    assert first[0] == f"drain: [{', '.join(f'text of m{n}' for n in range(MAX_BATCH))}] queued=False"
    assert talk.when(drain("a"))[0] == "drain: [text of m10, text of m11] queued=False"


def test_twenty_messages_may_wait() -> None:
    talk = running(*(slip(f"m{n}") for n in range(20)))
    assert talk.when(slip("late")) == [f"no: {reasons.mid_turn_full(20)}"]
    talk.when(drain("a"))
    assert talk.when(slip("late")) == ["admitted late mid-turn"]


@pytest.mark.parametrize("end", [answer("a"), fail("a"), answer("a", "cancelled")])
def test_what_was_not_drained_becomes_ordinary_prompts_in_order(end: Event) -> None:
    talk = running(slip("m"), slip("n"), drain("a"), slip("o"), slip("p"))
    lines = talk.when(end)
    assert lines[-4:] == ["o is queue", "p is queue", "started o", "send o: text of o"]
    assert talk.stands == "RUNNING o | p | -"


def test_what_was_not_drained_overtakes_nothing_that_was_admitted_before_it() -> None:
    talk = running(submit("b"), slip("m"), submit("c"))
    talk.when(answer("a"))
    assert talk.stands == "RUNNING b | m c | -"


def test_a_prompt_that_was_moved_to_the_turn_and_not_drained_has_its_place_again() -> None:
    talk = running(submit("b"), submit("c"), to_turn("b"))
    assert talk.when(answer("a")) == [
        "ended a: completed (end_turn)",
        "b is queue",
        "started b",
        "send b: text of b",
    ]


def test_more_than_the_limit_may_be_left_to_the_queue_but_no_more_is_admitted() -> None:
    talk = running(*(submit(f"p{n}") for n in range(20)), *(slip(f"m{n}") for n in range(20)), answer("a"))
    assert len(talk.ledger.fifo.line) == 39
    assert talk.when(submit("late")) == [f"no: {reasons.queue_full(20)}"]


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (answer("a"), "completed (end_turn)"),
        (fail("a"), "error (the agent reported an error) -32603"),
        (DEATH, "error (the agent ended during the turn) exit code 1"),
        (CLOSE, "cancelled (the session was closed)"),
    ],
    ids=["answer", "error", "death", "close"],
)
def test_a_drained_message_ends_as_its_turn_does(end: Event, said: str) -> None:
    talk = running(slip("m"), drain("a"))
    lines = talk.when(end)
    assert [line for line in lines if line.startswith("ended")] == [f"ended a: {said}", f"ended m: {said}"]


def test_a_message_drained_by_a_background_turn_ends_with_it() -> None:
    talk = Talk(READY, begin("t"), slip("m"), drain("t"))
    assert talk.when(finish("t"))[-1] == "ended m: completed (the background turn ended)"


@pytest.mark.parametrize(
    "talk",
    [Talk(READY), running(STOP, forwarded("a"), answer("a")), Talk()],
    ids=["idle", "after a stop", "no agent"],
)
def test_a_message_for_no_turn_is_an_ordinary_prompt(talk: Talk) -> None:
    assert talk.when(slip("m"))[0] == "admitted m"


def test_a_message_for_a_turn_that_is_being_stopped_is_an_ordinary_prompt() -> None:
    assert running(STOP).when(slip("m")) == ["admitted m"]


def test_an_edited_message_is_drained_as_edited() -> None:
    assert running(slip("m"), edit("m", "better")).when(drain("a"))[0] == "drain: [better] queued=False"


def test_the_state_of_what_is_handed_out_is_running() -> None:
    [answered, _] = running(slip("m")).ledger.receive(drain("a"), 0)
    assert [item.state.value for item in answered.items] == ["running"]  # type: ignore[union-attr]  # an answer to a drain
