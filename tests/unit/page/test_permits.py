"""Permits: which move is legal, who may redeem one, and which answer counts, component by component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from switchboard.page.messages import SessionActionResult
from switchboard.page.permits import IllegalMove, Judgment, Order, Permit, Phase

NOW = 1_000
DEADLINE = 2_000

RESUME = Order("p", "e", "resume", "a", "a", None, DEADLINE)
NEW = Order("p", "e", "new", None, "n", None, DEADLINE)
REATTACH = Order("p", "e", "reattach", "a", "b", 7, DEADLINE)

Act = Callable[[Permit], object]


def redeem(permit: Permit) -> bool:
    return permit.redeem("e", permit.order.mode, permit.order.tab_key, NOW)


PATHS: dict[Phase, tuple[Act, ...]] = {
    Phase.ISSUED: (),
    Phase.OPENING: (redeem,),
    Phase.STARTING: (redeem, lambda p: p.start(NOW)),
    Phase.OPENED: (redeem, lambda p: p.start(NOW), lambda p: p.opened(7)),
    Phase.SETTLED: (redeem, lambda p: p.start(NOW), lambda p: p.opened(7), lambda p: p.settle()),
    Phase.REVOKED: (lambda p: p.revoke(),),
}


def at(phase: Phase, order: Order = RESUME) -> Permit:
    permit = Permit(order)
    for act in PATHS[phase]:
        act(permit)
    assert permit.phase is phase
    return permit


def answer(order: Order, *, ok: bool = True, generation: int | None = 7, **changes: Any) -> SessionActionResult:
    given = SessionActionResult(
        order.permit, order.epoch, order.mode, ok, order.requested_id, order.tab_key, generation
    )
    return msgspec.structs.replace(given, **changes)


# --- moves --------------------------------------------------------------------------------------------------------

LEGAL = {
    (Phase.ISSUED, "redeem"): Phase.OPENING,
    (Phase.ISSUED, "settle"): Phase.SETTLED,
    (Phase.ISSUED, "revoke"): Phase.REVOKED,
    (Phase.OPENING, "start"): Phase.STARTING,
    (Phase.OPENING, "opened"): Phase.OPENED,
    (Phase.OPENING, "revoke"): Phase.REVOKED,
    (Phase.STARTING, "opened"): Phase.OPENED,
    (Phase.STARTING, "revoke"): Phase.REVOKED,
    (Phase.OPENED, "settle"): Phase.SETTLED,
    (Phase.OPENED, "revoke"): Phase.REVOKED,
}

ACTS: dict[str, Act] = {
    "redeem": redeem,
    "start": lambda p: p.start(NOW),
    "opened": lambda p: p.opened(7),
    "settle": lambda p: p.settle(),
    "revoke": lambda p: p.revoke(),
}


@pytest.mark.parametrize("phase", Phase, ids=lambda phase: phase.name)
@pytest.mark.parametrize("name", ACTS)
def test_moves(phase: Phase, name: str) -> None:
    permit = at(phase)
    expected = LEGAL.get((phase, name))
    if expected is not None:
        assert ACTS[name](permit) is not False
        assert permit.phase is expected
        return
    if name in ("opened", "settle"):
        with pytest.raises(IllegalMove, match=phase.name):
            ACTS[name](permit)
    else:
        assert not ACTS[name](permit)
    assert permit.phase is phase
    assert permit.generation == at(phase).generation


# --- asking for the start -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "epoch", "mode", "session_id", "now", "granted"),
    [
        pytest.param(RESUME, "e", "resume", "a", NOW, True, id="as issued"),
        pytest.param(NEW, "e", "new", "n", NOW, True, id="a new one under the reserved id"),
        pytest.param(RESUME, "e", "resume", "a", DEADLINE - 1, True, id="just before the deadline"),
        pytest.param(RESUME, "e", "resume", "a", DEADLINE, False, id="at the deadline"),
        pytest.param(RESUME, "old", "resume", "a", NOW, False, id="another page"),
        pytest.param(RESUME, "e", "new", "a", NOW, False, id="fresh instead of resumed"),
        pytest.param(RESUME, "e", "fork", "a", NOW, False, id="forked"),
        pytest.param(RESUME, "e", "shell", "a", NOW, False, id="a plain terminal"),
        pytest.param(RESUME, "e", "resume", "b", NOW, False, id="another session"),
        pytest.param(RESUME, "e", "resume", None, NOW, False, id="no session"),
        pytest.param(NEW, "e", "new", None, NOW, False, id="new, without the reserved id"),
        pytest.param(NEW, "e", "resume", "n", NOW, False, id="resumed instead of new"),
        pytest.param(REATTACH, "e", "reattach", "b", NOW, False, id="reattaching opens nothing"),
        pytest.param(REATTACH, "e", "resume", "b", NOW, False, id="reattaching resumes nothing"),
    ],
)
def test_redeeming(order: Order, epoch: str, mode: str, session_id: str | None, now: int, granted: bool) -> None:
    permit = Permit(order)
    assert permit.redeem(epoch, mode, session_id, now) is granted
    assert permit.phase is (Phase.OPENING if granted else Phase.ISSUED)


@pytest.mark.parametrize(("now", "granted"), [(DEADLINE - 1, True), (DEADLINE, False), (DEADLINE + 1, False)])
def test_the_last_look_before_a_start_knows_the_deadline(now: int, granted: bool) -> None:
    assert at(Phase.OPENING).start(now) is granted


# --- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [RESUME, NEW, REATTACH], ids=lambda order: order.mode)
def test_the_right_answer_confirms(order: Order) -> None:
    permit = at(Phase.ISSUED if order is REATTACH else Phase.OPENED, order)
    assert permit.judge(answer(order), "e", DEADLINE - 1) is Judgment.CONFIRMED
    assert permit.judge(answer(order, ok=False, generation=None), "e", DEADLINE - 1) is Judgment.FAILED
    assert permit.judge(answer(order, ok=False, generation=7), "e", DEADLINE - 1) is Judgment.FAILED


WRONG: dict[str, dict[str, Any]] = {
    "permit": {"permit": "q"},
    "epoch": {"epoch": "old"},
    "mode": {"mode": "new"},
    "requested id": {"requested_id": "x"},
    "no requested id": {"requested_id": None},
    "tab key": {"tab_key": "x"},
    "the requested id as the key": {"tab_key": "a", "requested_id": "a"},
    "generation": {"generation": 8},
}


@pytest.mark.parametrize("ok", [True, False])
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_wrong_in_one_thing_is_ignored(wrong: dict[str, Any], ok: bool) -> None:
    permit = at(Phase.ISSUED, REATTACH)
    assert permit.judge(answer(REATTACH, ok=ok, **wrong), "e", NOW) is Judgment.IGNORED


def test_success_without_a_generation_is_ignored() -> None:
    assert at(Phase.ISSUED, REATTACH).judge(answer(REATTACH, generation=None), "e", NOW) is Judgment.IGNORED


def test_the_right_words_from_another_page_are_ignored() -> None:
    assert at(Phase.OPENED).judge(answer(RESUME), "other", NOW) is Judgment.IGNORED


@pytest.mark.parametrize("now", [DEADLINE, DEADLINE + 1])
@pytest.mark.parametrize("ok", [True, False])
def test_an_answer_at_the_deadline_is_ignored(now: int, ok: bool) -> None:
    assert at(Phase.OPENED).judge(answer(RESUME, ok=ok), "e", now) is Judgment.IGNORED


@pytest.mark.parametrize(
    ("phase", "ok", "judgment"),
    [
        (Phase.ISSUED, True, Judgment.IGNORED),
        (Phase.OPENING, True, Judgment.IGNORED),
        (Phase.STARTING, True, Judgment.IGNORED),
        (Phase.OPENED, True, Judgment.CONFIRMED),
        (Phase.SETTLED, True, Judgment.IGNORED),
        (Phase.REVOKED, True, Judgment.IGNORED),
        (Phase.ISSUED, False, Judgment.FAILED),
        (Phase.OPENING, False, Judgment.FAILED),
        (Phase.STARTING, False, Judgment.FAILED),
        (Phase.OPENED, False, Judgment.FAILED),
        (Phase.SETTLED, False, Judgment.IGNORED),
        (Phase.REVOKED, False, Judgment.IGNORED),
    ],
)
def test_an_answer_counts_in_its_time(phase: Phase, ok: bool, judgment: Judgment) -> None:
    generation = 7 if ok else None
    assert at(phase).judge(answer(RESUME, ok=ok, generation=generation), "e", NOW) is judgment
