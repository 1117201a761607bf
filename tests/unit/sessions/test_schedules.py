"""The registry of scheduled runs."""

from switchboard.clis.liveness import ScheduledRun
from switchboard.sessions.schedules import Schedules

RUN = ScheduledRun("0D6F3A52-0000-4000-8000-00000000000A", 7, "/p", 1)


def test_a_run_is_found_until_it_ends() -> None:
    schedules = Schedules()
    assert schedules.find(RUN.session_id) is None
    ended = schedules.track(RUN)
    assert schedules.find(RUN.session_id.lower()) is RUN
    assert schedules.find("another") is None
    assert schedules.running == (RUN,)
    ended()
    ended()
    assert schedules.find(RUN.session_id) is None
    assert schedules.running == ()


def test_two_runs_of_one_session_end_one_by_one() -> None:
    schedules = Schedules()
    later = ScheduledRun(RUN.session_id, 8, "/p", 2)
    first_ended = schedules.track(RUN)
    second_ended = schedules.track(later)
    first_ended()
    first_ended()
    assert schedules.find(RUN.session_id) is later
    second_ended()
    assert schedules.find(RUN.session_id) is None
