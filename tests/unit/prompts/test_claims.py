"""Claims, sentence by sentence of the continuation-ownership contract."""

from __future__ import annotations

import pytest
from tests.support.prompt_talk import (
    CLOSE,
    DEATH,
    HOLD,
    READY,
    STOP,
    TIME,
    Talk,
    answer,
    begin,
    cancel,
    claim,
    drain,
    edit,
    fail,
    finish,
    forwarded,
    reorder,
    running,
    slip,
    submit,
    to_queue,
    to_turn,
    withdraw,
)

from switchboard.prompts.claims import CLAIMED, FAILED_CLOSED, Standing, answer_without_queue, standing
from switchboard.prompts.events import Event
from switchboard.prompts.fifo_state import CANCEL_GRACE_MS

YES = "claim: claimed=True queued=False"
QUEUED = "claim: claimed=False queued=True"
NO = "claim: claimed=False queued=False"


def straggling(*then: Event) -> Talk:
    """`a` was cancelled and not answered in time; `b` runs. And what happened then."""
    talk = running(submit("b"), cancel("a"), forwarded("a"))
    talk.later(CANCEL_GRACE_MS).when(TIME, *then)
    return talk


# --- who claims, with and without a queue ----------------------------------------------------------------------------

CLAIMS: dict[str, tuple[Talk, str | None, str]] = {
    "the running prompt, nothing queued": (running(), "a", YES),
    "the running prompt again: each further stream claims anew": (running(claim("a")), "a", YES),
    "the running prompt, one queued": (running(submit("b")), "a", QUEUED),
    "the running prompt, only a message for itself waits": (running(slip("m")), "a", YES),
    "the running prompt, one queued and then moved into the turn": (running(submit("b"), to_turn("b")), "a", YES),
    "the running prompt, a message moved to the queue": (running(slip("m"), to_queue("m")), "a", QUEUED),
    "the running prompt, the queued one cancelled": (running(submit("b"), cancel("b")), "a", YES),
    "the running prompt, the queue is held": (running(HOLD, submit("b")), "a", QUEUED),
    "missing: an unknown owner": (running(), "x", NO),
    "missing: a blank owner": (running(), "", NO),
    "missing: nothing runs": (Talk(READY), "a", NO),
    "missing: a drained message is no owner": (running(slip("m"), drain("a")), "m", NO),
    "replaced: the prompt has ended": (running(answer("a")), "a", NO),
    "replaced: another runs": (running(submit("b"), answer("a")), "a", NO),
    "competing: a queued prompt's id": (running(submit("b")), "b", NO),
    "competing: a given up turn may still work": (straggling(), "b", NO),
    "competing: the given up turn itself": (straggling(), "a", NO),
    "alone again: the given up turn has answered": (straggling(fail("a")), "b", YES),
    "aborted: it is being stopped": (running(STOP), "a", NO),
    "aborted, one queued: the owner check comes first": (running(submit("b"), STOP), "a", NO),
    "replaced, one queued: the owner check comes first": (running(submit("b"), submit("c"), answer("a")), "a", NO),
    "the agent has gone": (running(DEATH), "a", NO),
    "the session is closed": (running(CLOSE), "a", NO),
    "an accepted background turn": (Talk(READY, begin("t")), "t", YES),
    "an accepted background turn, one queued": (Talk(READY, begin("t"), submit("a")), "t", QUEUED),
    "a refused background turn": (running(begin("t")), "t", NO),
    "an ended background turn": (Talk(READY, begin("t"), finish("t")), "t", NO),
    "a stopped background turn": (Talk(READY, begin("t"), STOP), "t", NO),
    "a background turn that was never announced": (Talk(READY), "t", NO),
    "ownerless, nothing lives": (Talk(READY), None, YES),
    "ownerless, after a prompt": (running(answer("a")), None, YES),
    "ownerless, a prompt runs": (running(), None, NO),
    "ownerless, a prompt is queued": (Talk(READY, HOLD, submit("a")), None, NO),
    "ownerless, a background turn runs": (Talk(READY, begin("t")), None, NO),
    "ownerless, a cancel is on its way": (running(cancel("a"), answer("a")), None, NO),
    "ownerless, a given up turn may still work": (straggling(answer("b")), None, NO),
    "ownerless, no agent": (Talk(), None, NO),
    "ownerless, closed": (Talk(READY, CLOSE), None, NO),
}


@pytest.mark.parametrize("row", CLAIMS)
def test_a_claim_is_answered(row: str) -> None:
    talk, owner, answered = CLAIMS[row]
    fifo, claims = talk.ledger.fifo, talk.ledger.claims
    assert talk.when(claim(owner)) == [answered]
    assert talk.ledger.fifo is fifo, "a claim never changes the queue"
    if answered == QUEUED:
        assert talk.ledger.claims.wait == owner
    else:
        assert talk.ledger.claims is claims


def test_a_claim_for_another_session_fails_closed() -> None:
    talk = running()
    assert talk.when(claim("a", "session-2")) == [NO]
    assert talk.when(claim("a", "SESSION-1")) == [YES]


@pytest.mark.parametrize("owner", [None, "", "x", "b", "before"])
def test_a_claim_that_fails_closed_changes_no_other_owners_wait(owner: str | None) -> None:
    talk = Talk(READY, submit("before"), answer("before"), submit("a"), submit("b"), claim("a"))
    assert talk.when(claim(owner)) == [NO]
    assert talk.stands == "RUNNING a | b | a"
    assert talk.when(cancel("b")) == ["ended b: cancelled (cancelled)", "release a"]


# --- order of admission and claim ------------------------------------------------------------------------------------


def test_a_prompt_admitted_before_the_claim_wins() -> None:
    talk = running()
    talk.when(submit("b"))
    assert talk.when(claim("a")) == [QUEUED]
    assert talk.when(answer("a"))[-1] == "send b: text of b"


def test_a_prompt_admitted_after_the_claim_is_ordered_after_the_continuation() -> None:
    talk = running()
    assert talk.when(claim("a")) == [YES]
    assert talk.when(submit("b")) == ["admitted b"]
    assert talk.when(claim("a")) == [QUEUED], "the next stream of the same continuation has to claim again"


# --- the wait --------------------------------------------------------------------------------------------------------


def waiting(*then: Event) -> Talk:
    """`a` runs and was told that `b` is queued."""
    return running(submit("b"), claim("a"), *then)


def test_the_wait_is_bound_to_the_owner() -> None:
    assert waiting().stands == "RUNNING a | b | a"
    assert waiting(claim("a")).stands == "RUNNING a | b | a"


def test_promotion_clears_the_wait_and_sends_no_release() -> None:
    talk = waiting()
    assert talk.when(answer("a")) == ["ended a: completed (end_turn)", "started b", "send b: text of b"]
    assert talk.stands == "RUNNING b |  | -"


@pytest.mark.parametrize("drop", [cancel("b"), withdraw("b")], ids=["cancelled", "withdrawn"])
def test_the_last_queued_prompt_ending_without_running_releases_the_owner_once(drop: Event) -> None:
    talk = waiting()
    assert talk.when(drop)[1:] == ["release a"]
    assert talk.stands == "RUNNING a |  | -"
    assert talk.when(submit("c"), cancel("c")) == ["admitted c", "ended c: cancelled (cancelled)"]


def test_a_queued_prompt_that_is_not_the_last_releases_nobody() -> None:
    talk = waiting(submit("c"))
    assert talk.when(cancel("b")) == ["ended b: cancelled (cancelled)"]
    assert talk.when(cancel("c")) == ["ended c: cancelled (cancelled)", "release a"]


def test_no_release_without_a_wait() -> None:
    assert running(submit("b")).when(cancel("b")) == ["ended b: cancelled (cancelled)"]


def test_the_release_names_the_owner_that_waits_even_after_its_turn() -> None:
    talk = waiting(HOLD, answer("a"))
    assert talk.stands == "IDLE - | b | a"
    assert talk.when(cancel("b")) == ["ended b: cancelled (cancelled)", "release a"]


def test_a_background_turn_is_released_by_its_own_id() -> None:
    talk = Talk(READY, begin("t"), submit("a"), claim("t"))
    assert talk.when(cancel("a")) == ["ended a: cancelled (cancelled)", "release t"]


@pytest.mark.parametrize(
    "event",
    [
        *(edit("b", "other"), reorder("b", None), submit("c"), TIME, to_turn("b"), drain("a"), claim("x"), HOLD, STOP),
        begin("t"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_neither_starts_nor_drops_a_prompt_leaves_the_wait_alone(event: Event) -> None:
    talk = waiting()
    assert "release a" not in talk.when(event)
    assert talk.ledger.claims.wait == "a"


def test_a_queued_prompt_moved_into_the_turn_and_drained_ends_the_wait_without_a_release() -> None:
    talk = waiting(to_turn("b"))
    assert talk.when(drain("a")) == ["drain: [text of b] queued=False", "drained b into a"]
    assert talk.stands == "RUNNING a |  | -"


def test_a_queued_prompt_moved_into_the_turn_and_cancelled_there_releases() -> None:
    assert waiting(to_turn("b")).when(cancel("b")) == ["ended b: cancelled (cancelled)", "release a"]


def test_a_queued_prompt_moved_into_the_turn_and_left_there_clears_the_wait_when_it_starts() -> None:
    talk = waiting(to_turn("b"))
    assert "release a" not in talk.when(answer("a"))
    assert talk.stands == "RUNNING b |  | -"


def test_while_a_message_may_yet_become_a_prompt_nobody_is_released() -> None:
    talk = waiting(slip("m"))
    assert talk.when(cancel("b")) == ["ended b: cancelled (cancelled)"]
    assert talk.when(cancel("m")) == ["ended m: cancelled (cancelled)", "release a"]


def test_closing_the_session_releases_the_owner() -> None:
    assert waiting().when(CLOSE)[-1] == "release a"


def test_the_death_of_the_agent_ends_its_wait_and_there_is_nobody_to_release() -> None:
    talk = waiting(DEATH)
    assert talk.ledger.claims.wait is None
    assert talk.when(cancel("b")) == ["ended b: cancelled (cancelled)"]


# --- the order of the two questions, and clients without a queue -----------------------------------------------------


def test_the_owner_is_judged_without_a_look_at_the_queue() -> None:
    assert standing(running().ledger.fifo, "a") is Standing.OWNER
    assert standing(running(submit("b")).ledger.fifo, "a") is Standing.OWNER
    assert standing(running(submit("b")).ledger.fifo, "b") is Standing.NOBODY
    assert standing(Talk(READY).ledger.fifo, None) is Standing.UNRIVALLED


@pytest.mark.parametrize(
    ("session", "owner", "sessions", "claimed"),
    [
        ("s", "run", ("s",), True),
        ("S", "run", ("r", "s"), True),
        ("t", "run", ("s",), False),
        ("s", "run", (), False),
        ("s", None, ("s",), False),
        ("s", "", ("s",), False),
    ],
    ids=["its session", "one of its sessions", "unknown session", "no session", "fallback handler", "blank owner"],
)
def test_clients_without_a_queue(session: str, owner: str | None, sessions: tuple[str, ...], claimed: bool) -> None:
    assert answer_without_queue(session, owner, sessions) is (CLAIMED if claimed else FAILED_CLOSED)
