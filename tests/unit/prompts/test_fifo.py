"""The FIFO: starting, ending, stopping, dying, closing; what the driver may report when; background turns."""

from __future__ import annotations

import pytest
from tests.support.prompt_talk import (
    CLOSE,
    DEATH,
    HOLD,
    READY,
    RESUME,
    STOP,
    TIME,
    Talk,
    answer,
    begin,
    cancel,
    drain,
    fail,
    finish,
    forwarded,
    running,
    slip,
    stands,
    submit,
)

from switchboard.prompts.entries import IllegalEvent
from switchboard.prompts.events import Event
from switchboard.prompts.fifo_state import CANCEL_GRACE_MS, REMEMBERED_ENDS, Limits, Phase

GONE = "cancelled; the agent did not answer and may still be working on it"

# --- admission and order ---------------------------------------------------------------------------------------------


def test_a_prompt_starts_in_the_same_moment_when_the_floor_is_free() -> None:
    assert Talk(READY).when(submit("a")) == ["admitted a", "started a", "send a: text of a"]


def test_prompts_start_in_the_order_of_their_admission_one_at_a_time() -> None:
    talk = running(submit("b"), submit("c"))
    assert talk.stands == "RUNNING a | b c | -"
    assert talk.when(answer("a")) == ["ended a: completed (end_turn)", "started b", "send b: text of b"]
    assert talk.when(answer("b")) == ["ended b: completed (end_turn)", "started c", "send c: text of c"]
    assert talk.when(answer("c")) == ["ended c: completed (end_turn)"]
    assert talk.stands == "IDLE - |  | -"


def test_prompts_wait_for_an_agent_that_is_not_there_yet() -> None:
    talk = Talk()
    assert talk.when(submit("a"), submit("b")) == ["admitted a", "admitted b"]
    assert talk.when(READY) == ["started a", "send a: text of a"]


def test_the_queue_is_bounded_and_has_room_again_once_one_started() -> None:
    talk = running(*(submit(f"p{n}") for n in range(20)))
    full = "no: the queue is full (max 20 waiting prompts); cancel one, or wait until one starts"
    assert talk.when(submit("late")) == [full]
    talk.when(answer("a"))
    assert talk.when(submit("late")) == ["admitted late"]
    assert talk.when(submit("later")) == [full]


def test_an_id_is_good_for_one_prompt() -> None:
    refusal = ["no: a prompt with this id was admitted before; it was not queued again"]
    talk = running(submit("b"))
    assert talk.when(submit("a")) == refusal
    assert talk.when(submit("b")) == refusal
    talk.when(answer("a"), cancel("b"), forwarded("b"))
    assert talk.when(submit("a")) == refusal
    assert talk.when(slip("a")) == refusal


def test_an_id_that_a_background_turn_goes_by_is_nobody_elses_while_it_may_work() -> None:
    talk = Talk(READY, begin("t"))
    refusal = ["no: a prompt with this id was admitted before; it was not queued again"]
    assert talk.when(submit("t")) == refusal
    talk.when(STOP, forwarded("t"))
    talk.later(CANCEL_GRACE_MS).when(TIME)
    assert talk.when(submit("t")) == refusal
    assert talk.when(finish("t"), submit("t"))[-1] == "send t: text of t"
    assert talk.when(finish("t")) == [], "the agent's word about its turn ends no prompt"


def test_the_memory_of_ended_prompts_is_bounded() -> None:
    talk = Talk(READY)
    for number in range(REMEMBERED_ENDS + 5):
        talk.when(submit(f"p{number}"), answer(f"p{number}"))
    assert len(talk.ledger.fifo.ended) == REMEMBERED_ENDS
    assert talk.ledger.fifo.ended[-1] == f"p{REMEMBERED_ENDS + 4}"


# --- one end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("happened", "end"),
    [
        ([answer("a")], "completed (end_turn)"),
        ([answer("a", "max_tokens")], "completed (max_tokens)"),
        ([answer("a", "cancelled")], "cancelled (cancelled by the agent)"),
        ([fail("a")], "error (the agent reported an error) -32603"),
        ([DEATH], "error (the agent ended during the turn) exit code 1"),
        ([cancel("a"), answer("a", "cancelled")], "cancelled (cancelled)"),
        ([cancel("a"), answer("a")], "completed (end_turn)"),
        ([cancel("a"), fail("a")], "cancelled (cancelled)"),
        ([cancel("a"), DEATH], "cancelled (cancelled)"),
        ([STOP, answer("a", "cancelled")], "cancelled (cancelled)"),
        ([CLOSE], "cancelled (the session was closed)"),
        ([cancel("a"), CLOSE], "cancelled (the session was closed)"),
    ],
    ids=[
        *("answer", "other stop reason", "cancelled by the agent", "error", "death"),
        *("cancel", "finished before the cancel", "error after a cancel", "death after a cancel", "stop", "close"),
        "close after a cancel",
    ],
)
@pytest.mark.parametrize(
    "more",
    [[], [answer("a")], [fail("a")], [answer("a", "cancelled"), fail("a"), answer("a")]],
    ids=["once", "two answers", "error after it", "a storm"],
)
def test_a_running_prompt_ends_once(happened: list[Event], end: str, more: list[Event]) -> None:
    lines = running().when(*happened, *more)
    assert [line for line in lines if line.startswith("ended")] == [f"ended a: {end}"]


def test_an_answer_to_what_was_never_known_means_nothing() -> None:
    talk = running()
    assert talk.when(answer("x"), fail("x")) == []
    assert talk.stands == "RUNNING a |  | -"


def test_an_agent_that_does_not_answer_is_never_given_up_by_itself() -> None:
    talk = running()
    assert talk.later(10**12).when(TIME) == []
    assert talk.stands == "RUNNING a |  | -"
    assert talk.ledger.deadline == float("inf")


# --- stopping --------------------------------------------------------------------------------------------------------


def test_a_cancel_is_forwarded_before_the_next_prompt_starts() -> None:
    talk = running(submit("b"))
    assert talk.when(cancel("a")) == ["forward cancel of a"]
    assert talk.when(answer("a", "cancelled")) == ["ended a: cancelled (cancelled)"]
    assert talk.stands == "CLEARING - | b | -"
    assert talk.when(forwarded("a")) == ["started b", "send b: text of b"]


def test_a_forwarded_cancel_still_waits_for_the_answer() -> None:
    talk = running(submit("b"), cancel("a"))
    assert talk.when(forwarded("a")) == []
    assert talk.when(answer("a", "cancelled")) == [
        "ended a: cancelled (cancelled)",
        "started b",
        "send b: text of b",
    ]


def test_a_cancel_without_an_answer_is_over_when_the_grace_is() -> None:
    talk = running(submit("b"), cancel("a"), forwarded("a"))
    assert talk.ledger.deadline == talk.now + CANCEL_GRACE_MS
    assert talk.later(CANCEL_GRACE_MS - 1).when(TIME) == []
    assert talk.later(1).when(TIME) == [f"ended a: cancelled ({GONE})", "started b", "send b: text of b"]
    assert talk.when(answer("a"), fail("a")) == []
    assert talk.stands == "RUNNING b |  | -"


def test_not_even_the_end_of_the_grace_lets_a_prompt_start_into_a_cancel_on_its_way() -> None:
    talk = running(submit("b"), cancel("a"))
    assert talk.later(CANCEL_GRACE_MS).when(TIME) == [f"ended a: cancelled ({GONE})"]
    assert talk.when(forwarded("a")) == ["started b", "send b: text of b"]


def test_a_stop_touches_only_what_runs() -> None:
    talk = running(submit("b"), slip("m"))
    assert talk.when(STOP) == ["forward cancel of a"]
    assert talk.stands == "STOPPING a | b (m) | -"


def test_a_second_stop_is_refused_and_sends_nothing() -> None:
    talk = running(STOP)
    again = ["no: the turn is being stopped already"]
    assert talk.when(STOP) == again
    assert talk.when(cancel("a")) == again


def test_the_death_of_the_agent_ends_a_cancel_on_its_way() -> None:
    talk = running(submit("b"), cancel("a"), answer("a", "cancelled"))
    talk.when(DEATH, forwarded("a"))
    assert talk.when(READY) == ["started b", "send b: text of b"]


def test_the_death_of_the_agent_ends_what_a_given_up_turn_may_still_do() -> None:
    talk = running(cancel("a"), forwarded("a"))
    talk.later(CANCEL_GRACE_MS).when(TIME)
    assert talk.ledger.fifo.stragglers == {"a"}
    talk.when(DEATH)
    assert talk.ledger.fifo.stragglers == frozenset()


# --- death, hold, close ----------------------------------------------------------------------------------------------


def test_what_waits_survives_the_death_of_the_agent_and_starts_when_it_is_back() -> None:
    talk = running(submit("b"), slip("m"))
    assert talk.when(DEATH) == ["ended a: error (the agent ended during the turn) exit code 1", "m is queue"]
    assert talk.stands == "DOWN - | b m | -"
    assert talk.when(submit("c")) == ["admitted c"]
    assert talk.when(READY) == ["started b", "send b: text of b"]


def test_nothing_starts_while_it_is_held() -> None:
    talk = running(submit("b"), HOLD)
    assert talk.when(answer("a"), submit("c")) == ["ended a: completed (end_turn)", "admitted c"]
    assert talk.when(begin("t")) == ["start turn: False"]
    assert talk.when(RESUME) == ["started b", "send b: text of b"]


def test_closing_ends_everything_that_lives() -> None:
    talk = running(submit("b"), slip("m"), slip("n"), drain("a"), slip("o"))
    assert talk.when(CLOSE) == [
        "forward cancel of a",
        "ended a: cancelled (the session was closed)",
        "ended m: cancelled (the session was closed)",
        "ended n: cancelled (the session was closed)",
        "o is queue",
        "ended b: cancelled (the session was closed)",
        "ended o: cancelled (the session was closed)",
    ]
    assert talk.stands == "CLOSED - |  | -"
    assert talk.when(forwarded("a"), answer("a"), DEATH, TIME) == []
    assert talk.when(begin("t")) == ["start turn: False"]


# --- what the driver may report --------------------------------------------------------------------------------------

AT = {
    Phase.DOWN: (),
    Phase.IDLE: (READY,),
    Phase.RUNNING: (READY, submit("a")),
    Phase.STOPPING: (READY, submit("a"), cancel("a")),
    Phase.CLEARING: (READY, submit("a"), cancel("a"), answer("a")),
    Phase.CLOSED: (READY, CLOSE),
}
REPORTS = {
    "ready": (READY, {Phase.DOWN}),
    "agent ended": (DEATH, {Phase.IDLE, Phase.RUNNING, Phase.STOPPING, Phase.CLEARING, Phase.CLOSED}),
    "cancel forwarded": (forwarded("a"), {Phase.STOPPING, Phase.CLEARING, Phase.DOWN, Phase.CLOSED}),
    "another cancel forwarded": (forwarded("x"), {Phase.DOWN, Phase.CLOSED}),
    "time": (TIME, set(Phase)),
    "held": (HOLD, set(Phase)),
    "not held, resumed": (RESUME, set()),
    "closed": (CLOSE, set(Phase) - {Phase.CLOSED}),
}


@pytest.mark.parametrize("phase", Phase, ids=lambda phase: phase.name)
@pytest.mark.parametrize("report", REPORTS)
def test_what_cannot_be_raises_and_changes_nothing(phase: Phase, report: str) -> None:
    talk = Talk(*AT[phase])
    assert talk.ledger.fifo.phase is phase
    event, legal = REPORTS[report]
    if phase in legal:
        talk.when(event)
        return
    before = talk.ledger.fifo
    with pytest.raises(IllegalEvent):
        talk.when(event)
    assert talk.ledger.fifo is before


@pytest.mark.parametrize(
    ("talk", "event"),
    [
        (running(HOLD), HOLD),
        (running(STOP, forwarded("a")), forwarded("a")),
        (running(submit("b")), answer("b")),
        (running(slip("m")), fail("m")),
        (running(slip("m"), drain("a")), answer("m")),
        (Talk(READY, begin("t")), answer("t")),
    ],
    ids=[
        *("held twice", "forwarded twice", "answer to a waiting prompt", "error of a waiting message"),
        *("answer to a drained message", "answer to a background turn"),
    ],
)
def test_an_answer_or_report_of_what_was_not_done_raises(talk: Talk, event: Event) -> None:
    before = talk.ledger.fifo
    with pytest.raises(IllegalEvent):
        talk.when(event)
    assert talk.ledger.fifo is before


# --- background turns ------------------------------------------------------------------------------------------------


def test_a_background_turn_takes_a_free_floor_and_prompts_wait_for_its_end() -> None:
    talk = Talk(READY)
    assert talk.when(begin("t"), submit("a")) == ["start turn: True", "started t in the background", "admitted a"]
    assert talk.stands == "RUNNING t | a | -"
    assert talk.when(finish("t")) == ["ended t in the background: completed", "started a", "send a: text of a"]


@pytest.mark.parametrize(
    ("talk", "turn"),
    [
        (Talk(), "t"),
        (running(), "t"),
        (running(STOP, answer("a")), "t"),
        (Talk(READY, begin("u")), "t"),
        (Talk(READY, HOLD, submit("a")), "t"),
        (Talk(READY, submit("a"), answer("a")), "a"),
        (Talk(READY), ""),
        (Talk(READY, begin("t"), STOP), "t"),
    ],
    ids=[
        *("no agent", "a prompt runs", "a cancel is on its way", "another background turn runs", "a prompt waits"),
        *("under a prompt's name", "nameless", "its own, being stopped"),
    ],
)
def test_a_background_turn_is_refused_otherwise(talk: Talk, turn: str) -> None:
    before = talk.ledger.fifo
    assert talk.when(begin(turn)) == ["start turn: False"]
    assert talk.ledger.fifo == before


def test_a_background_turn_that_asks_again_is_told_the_same() -> None:
    assert Talk(READY, begin("t")).when(begin("t")) == ["start turn: True"]


def test_a_stopped_background_turn_ends_like_a_prompt() -> None:
    talk = Talk(READY, begin("t"), slip("m"), drain("t"), submit("a"))
    assert talk.when(STOP, forwarded("t")) == ["forward cancel of t"]
    assert talk.when(finish("t")) == [
        "ended t in the background: cancelled",
        "ended m: cancelled (cancelled)",
        "started a",
        "send a: text of a",
    ]


def test_a_background_turn_that_does_not_end_is_given_up_after_a_stop() -> None:
    talk = Talk(READY, begin("t"), submit("a"), STOP, forwarded("t"))
    assert talk.later(CANCEL_GRACE_MS).when(TIME) == [
        "ended t in the background: cancelled",
        "started a",
        "send a: text of a",
    ]
    assert talk.when(finish("t")) == []
    assert talk.ledger.fifo.stragglers == frozenset()


@pytest.mark.parametrize("turn", ["a", "b", "x"])
def test_the_end_of_a_background_turn_ends_no_prompt(turn: str) -> None:
    talk = running(submit("b"))
    before = talk.stands
    assert talk.when(finish(turn)) == []
    assert talk.stands == before


def test_limits_are_the_callers() -> None:
    talk = running(submit("b"), limits=Limits(waiting=1, mid_turn=0, cancel_grace_ms=7))
    assert talk.when(submit("c"))[0].startswith("no: the queue is full (max 1 ")
    assert talk.when(slip("m"))[0].startswith("no: too many messages wait for the running turn (max 0)")
    talk.when(STOP)
    assert talk.ledger.deadline == talk.now + 7
    assert stands(talk.ledger) == "STOPPING a | b | -"
