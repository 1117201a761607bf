from __future__ import annotations

import pytest

from switchboard.agent.activity import Activity, Floor, NothingToEnd, Submission, status_of


def turn(text: str) -> Submission:
    return Submission(Activity.TURN, text, text)


def test_work_is_done_one_after_the_other() -> None:
    # when nothing goes on, a submission starts at once
    floor, started = Floor().submitted(turn("a"))
    assert started == turn("a")
    assert floor.busy
    # then others wait
    floor, started = floor.submitted(turn("b"))
    assert started is None
    floor, started = floor.submitted(Submission(Activity.COMPACTION, "/compact", ""))
    assert started is None
    # and start in their order, without a moment of idleness in between
    floor, started = floor.ended()
    assert (started, floor.activity) == (turn("b"), Activity.TURN)
    floor, started = floor.ended()
    assert floor.activity is Activity.COMPACTION
    floor, started = floor.ended()
    assert (started, floor) == (None, Floor())


def test_the_newest_can_be_taken_back() -> None:
    floor = Floor(Activity.TURN, (turn("a"), turn("b")))
    floor, taken = floor.withdrawn()
    assert (taken, floor.queue) == (turn("b"), (turn("a"),))
    floor, _ = floor.withdrawn()
    assert floor.withdrawn() == (floor, None)


def test_nothing_cannot_end() -> None:
    with pytest.raises(NothingToEnd):
        Floor().ended()


@pytest.mark.parametrize(
    ("activity", "dialog", "jobs", "status"),
    [
        (Activity.IDLE, None, 0, ("idle", None)),
        (Activity.IDLE, None, 1, ("shell", None)),
        (Activity.TURN, None, 1, ("busy", None)),
        (Activity.SHELL, None, 0, ("busy", None)),
        (Activity.COMPACTION, None, 0, ("busy", None)),
        (Activity.TURN, "permission prompt", 0, ("waiting", "permission prompt")),
        (Activity.IDLE, "dialog open", 1, ("waiting", "dialog open")),
    ],
    ids=["idle", "shell", "busy, with a job", "command", "compaction", "permission", "panel"],
)
def test_status(activity: Activity, dialog: str | None, jobs: int, status: tuple[str, str | None]) -> None:
    assert status_of(activity, dialog, jobs) == status
