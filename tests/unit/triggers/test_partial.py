"""How long a file that does not parse is read again. Times are relative to the first look."""

from __future__ import annotations

import pytest

from switchboard.triggers.partial import Arrival, Patience

T = 1_000_000


def arrival(*hows: str, tells_all: bool = True) -> Arrival:
    found = Arrival(tells_all)
    for how in hows:
        found.note(how)
    return found


def look(now: int, modified: int, found: Arrival, *, size: int = 5, linked: bool = False) -> int | None:
    when = Patience(T, linked).next_look(T + now, T + modified, size, found)
    return None if when is None else when - T


WRITING = ("created", "written")
CLOSED = ("created", "written", "closed")


@pytest.mark.parametrize("hows", [("moved",), ("created",), WRITING, CLOSED, ()])
def test_everything_is_read_again_after_50_ms(hows: tuple[str, ...]) -> None:
    assert look(0, -9000, arrival(*hows)) == 50
    assert look(49, -9000, arrival(*hows)) == 50


@pytest.mark.parametrize(
    ("found", "size", "linked"),
    [
        pytest.param(arrival("moved"), 5, False, id="renamed"),
        pytest.param(arrival("created", "written", "moved"), 5, False, id="replaced by a rename"),
        pytest.param(arrival("created"), 5, True, id="linked, the other name still there"),
        pytest.param(arrival("created"), 5, False, id="linked, the other name gone"),
        pytest.param(Arrival(), 5, True, id="listed, two links"),
    ],
)
def test_a_file_that_came_complete_is_given_up_after_the_50_ms(found: Arrival, size: int, linked: bool) -> None:
    assert look(50, 49, found, size=size, linked=linked) is None


@pytest.mark.parametrize(("now", "again"), [(50, 5000), (4999, 5000), (5000, None)])
def test_a_file_that_its_writer_has_open_is_awaited_for_five_seconds(now: int, again: int | None) -> None:
    assert look(now, -9000, arrival(*WRITING)) == again


def test_a_file_that_was_made_and_not_written_to_yet_is_open() -> None:
    assert look(50, -9000, arrival("created"), size=0) == 5000


@pytest.mark.parametrize(
    ("now", "modified", "again"),
    [(50, 0, 1000), (600, 520, 1520), (1519, 520, 1520), (1520, 520, None), (4900, 4500, 5000), (5000, 4999, None)],
)
def test_a_closed_file_is_awaited_while_it_changed_within_the_last_second(
    now: int, modified: int, again: int | None
) -> None:
    assert look(now, modified, arrival(*CLOSED)) == again


@pytest.mark.parametrize("found", [Arrival(), arrival("created", tells_all=False)], ids=["listed", "told roughly"])
def test_where_events_do_not_tell_the_time_of_the_last_change_does(found: Arrival) -> None:
    assert look(50, 0, found) == 1000
    assert look(1000, 0, found) is None
