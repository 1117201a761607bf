"""Which names are begun, in which order, and which never again."""

from __future__ import annotations

import pytest

from switchboard.triggers.admission import Admission, Offer, is_request_name


def test_eight_are_begun_and_the_others_wait_in_their_order() -> None:
    admission = Admission()
    offers = [admission.offer(f"{number}") for number in range(10)]
    assert offers == [Offer.BEGIN] * 8 + [Offer.WAIT] * 2
    assert [admission.finished("3"), admission.finished("0"), admission.finished("1")] == ["8", "9", None]


def test_a_name_under_way_or_waiting_is_not_taken_twice() -> None:
    admission = Admission(limit=1)
    assert [admission.offer(name) for name in "aabb"] == [Offer.BEGIN, Offer.SKIP, Offer.WAIT, Offer.SKIP]
    assert admission.finished("a") == "b"
    assert admission.finished("b") is None


def test_a_name_that_is_done_may_come_again() -> None:
    admission = Admission()
    admission.offer("a")
    admission.finished("a")
    assert admission.offer("a") is Offer.BEGIN


def test_a_retained_name_is_never_taken_again() -> None:
    admission = Admission()
    admission.offer("a")
    admission.retain("a")
    admission.finished("a")
    assert admission.offer("a") is Offer.SKIP


def test_a_name_that_was_retained_while_it_waited_is_passed_over() -> None:
    admission = Admission(limit=1)
    for name in "abc":
        admission.offer(name)
    admission.retain("b")
    assert admission.finished("a") == "c"


def test_closing_takes_nothing_more_and_forgets_who_waits() -> None:
    admission = Admission(limit=1)
    for name in "ab":
        admission.offer(name)
    admission.close()
    assert admission.finished("a") is None
    assert admission.offer("c") is Offer.SKIP


@pytest.mark.parametrize(
    ("name", "request_name"),
    [("a.json", True), (".json", True), ("a.JSON", False), ("a.json.tmp", False), ("a", False), ("x/a.json", False)],
)
def test_names(name: str, request_name: bool) -> None:
    assert is_request_name(name) is request_name
