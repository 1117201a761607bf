"""The one deadline of an action."""

from __future__ import annotations

from switchboard.triggers.deadline import ActionDeadline

NOW = 1_800_000_000_000


def test_a_request_without_a_timeout_has_the_default() -> None:
    assert ActionDeadline.of(NOW, None, 300_000) == ActionDeadline(NOW + 300_000)


def test_its_own_timeout_counts() -> None:
    assert ActionDeadline.of(NOW, 1, 300_000) == ActionDeadline(NOW + 1)


def test_at_the_very_instant_it_has_passed() -> None:
    deadline = ActionDeadline(NOW)
    assert not deadline.passed(NOW - 1)
    assert deadline.passed(NOW)
    assert [deadline.left(NOW - 5), deadline.left(NOW), deadline.left(NOW + 5)] == [5, 0, 0]


def test_a_wait_ends_with_it_at_the_latest() -> None:
    deadline = ActionDeadline(NOW)
    assert deadline.sooner(NOW + 1) == NOW
    assert deadline.sooner(NOW - 1) == NOW - 1
