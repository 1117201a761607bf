from __future__ import annotations

from switchboard.agent.history import History


def test_up_and_down() -> None:
    history = History().added("one").added("two")
    history, shown = history.moved(-1, "draft")
    assert shown == "two"
    history, shown = history.moved(-1, "two")
    assert shown == "one"
    history, shown = history.moved(-1, "one")
    assert shown is None
    history, shown = history.moved(1, "one")
    assert shown == "two"
    history, shown = history.moved(1, "two")
    assert shown == "draft"
    assert history.moved(1, "draft") == (history, None)


def test_nothing_before() -> None:
    assert History().moved(-1, "x") == (History(), None)
    assert History().moved(1, "x") == (History(), None)


def test_a_submission_returns_to_the_end() -> None:
    history, _ = History(("one",)).moved(-1, "")
    assert history.added("two").moved(-1, "")[1] == "two"


def test_the_same_twice_is_kept_once() -> None:
    assert History().added("a").added("a").added("").entries == ("a",)
