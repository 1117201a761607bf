"""How much a page may send."""

from __future__ import annotations

import pytest

from switchboard.page.limits import Bucket


def test_a_burst_is_free_and_then_it_is_the_rate() -> None:
    bucket = Bucket.full(100, 5, now=0)
    assert [bucket.take(1, 0) for _ in range(6)] == [0, 0, 0, 0, 0, 11]


def test_what_was_waited_for_is_there() -> None:
    bucket = Bucket.full(100, 5, now=0)
    wait = bucket.take(8, 0)
    assert 30 <= wait <= 31
    assert bucket.take(0, wait) == 0


def test_one_large_message_is_taken_whole() -> None:
    bucket = Bucket.full(1000, 10, now=0)
    assert bucket.take(1000, 0) == 991


@pytest.mark.parametrize(("later", "wait"), [(-10_000, 1001), (0, 1001), (900, 101), (1000, 0), (10_000, 0)])
def test_it_fills_up_to_the_burst_and_never_backwards(later: int, wait: int) -> None:
    bucket = Bucket.full(10, 10, now=0)
    bucket.take(10, 0)
    assert bucket.take(10, later) == wait
