"""The bucket for new sessions: three at once, one more every 20 s, to the millisecond."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from switchboard.triggers.limiter import CAPACITY, REFILL_MS, Limiter

NOW = 1_800_000_000_000


def empty(now: int = NOW) -> Limiter:
    limiter = Limiter(now)
    assert [limiter.reserve(now) is not None for _ in range(4)] == [True, True, True, False]
    return limiter


def test_three_burst_and_the_fourth_is_refused() -> None:
    empty()


def test_19_999_ms_do_not_refill_a_token_and_20_000_do() -> None:
    limiter = empty()
    assert limiter.reserve(NOW + 19_999) is None
    assert limiter.reserve(NOW + 20_000) is not None
    assert limiter.reserve(NOW + 20_000) is None


def test_it_refills_continuously() -> None:
    limiter = empty()
    for step in range(1, 20_000, 137):
        assert limiter.reserve(NOW + step) is None
    assert limiter.reserve(NOW + 20_000) is not None
    assert limiter.reserve(NOW + 39_999) is None
    assert limiter.reserve(NOW + 40_000) is not None


def test_it_holds_no_more_than_three() -> None:
    limiter = Limiter(NOW)
    later = NOW + 3_600_000
    assert [limiter.reserve(later) is not None for _ in range(4)] == [True, True, True, False]


def test_a_refund_gives_the_token_back_once() -> None:
    limiter = Limiter(NOW)
    first = limiter.reserve(NOW)
    assert first is not None
    limiter.reserve(NOW)
    limiter.reserve(NOW)
    assert first.refund(NOW)
    assert not first.refund(NOW)
    assert limiter.reserve(NOW) is not None
    assert limiter.reserve(NOW) is None


def test_a_refund_never_overfills() -> None:
    limiter = Limiter(NOW)
    taken = limiter.reserve(NOW)
    assert taken is not None
    taken.refund(NOW + 60_000)
    assert [limiter.reserve(NOW + 60_000) is not None for _ in range(4)] == [True, True, True, False]


def test_a_spent_token_does_not_come_back() -> None:
    limiter = Limiter(NOW)
    tokens = [limiter.reserve(NOW) for _ in range(3)]
    assert tokens[0] is not None
    tokens[0].spend()
    assert not tokens[0].refund(NOW)
    assert limiter.reserve(NOW) is None


def test_a_clock_that_goes_back_gives_and_takes_nothing() -> None:
    limiter = empty()
    assert limiter.reserve(NOW - 3_600_000) is None
    assert limiter.reserve(NOW - 3_600_000 + 19_999) is None
    assert limiter.reserve(NOW - 3_600_000 + 20_000) is not None


@given(st.lists(st.integers(0, 15_000), max_size=60))
def test_it_is_never_overdrawn(pauses: list[int]) -> None:
    """In any stretch of time no more are admitted than a full bucket and its refill."""
    limiter, now, admitted = Limiter(NOW), NOW, []
    for pause in pauses:
        now += pause
        if limiter.reserve(now) is not None:
            admitted.append(now)
    for first, start in enumerate(admitted):
        for last in range(first, len(admitted)):
            assert last - first + 1 <= CAPACITY + (admitted[last] - start) // REFILL_MS
