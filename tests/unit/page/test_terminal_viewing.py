"""The shown session: what of the output is written, and where it goes on after a break."""

from __future__ import annotations

import pytest

from switchboard.page.messages import Attach, Attached, Detach, Focus, Resync, Size
from switchboard.page.terminal.viewing import CLEAR, DRAW, MAIN_SCREEN, TAIL, Viewing

SIZE = (80, 24)


def attached(handle: int = 1, seq: int = 0, live: int | None = None, lost: int = 0, modes: str = "") -> Attached:
    return Attached(handle, seq, seq if live is None else live, lost, *SIZE, owner=True, modes=modes)


def viewing(*outputs: tuple[int, bytes], seq: int = 0, live: int | None = None) -> Viewing:
    """Session 1 on the screen, with some output."""
    view = Viewing()
    assert view.show(1, *SIZE) == [Attach(1), Focus(1, *SIZE)]
    assert view.attached(attached(seq=seq, live=live)) == (b"", [])
    for at, data in outputs:
        view.output(1, at, data)
    return view


def unanswered(view: Viewing | None = None) -> Viewing:
    """The connection was lost before the host answered: on the first attempt, or on the next one."""
    if view is None:
        view = Viewing()
        view.show(1, *SIZE)
    else:
        view.lost()
        view.again(*SIZE)
    return view


def again(view: Viewing) -> list[object]:
    view.lost()
    return list(view.again(*SIZE))


def test_output_is_written_as_it_comes() -> None:
    view = viewing()
    assert view.output(1, 0, b"abc") == b"abc"
    assert view.output(1, 3, b"d\x1b[3") == b"d"
    assert view.output(1, 7, b"1m") == b"\x1b[31m"


def test_showing_another_session_lets_go_of_the_first() -> None:
    assert viewing().show(2, *SIZE) == [Detach(1), Attach(2), Focus(2, *SIZE)]


def test_showing_the_same_session_anew() -> None:
    assert viewing().show(1, *SIZE) == [Attach(1), Focus(1, *SIZE)]


def test_hiding() -> None:
    view = viewing()
    assert view.hide() == [Detach(1)]
    assert view.hide() == []
    assert view.output(1, 0, b"late") == b""


def test_output_of_another_session_is_not_written() -> None:
    assert viewing().output(2, 0, b"other") == b""


def test_output_of_an_earlier_attachment_is_not_written() -> None:
    view = Viewing()
    view.show(1, *SIZE)
    view.show(2, *SIZE)
    view.show(1, *SIZE)
    assert view.attached(attached()) == (b"", [])
    assert view.output(1, 0, b"of the first attachment") == b""
    view.attached(attached(2))
    view.attached(attached(live=3))
    assert view.output(1, 0, b"of the second") == b"of the second"


# --- after a break


@pytest.mark.parametrize(
    ("view", "from_seq"),
    [
        pytest.param(viewing(seq=5), 5, id="nothing printed since"),
        pytest.param(viewing((0, b"abc"), (3, b"de")), 5, id="after the last byte"),
        pytest.param(viewing((0, b"abc\x1b[3")), 3, id="before a sequence that was cut"),
        pytest.param(viewing((0, b"abc\xe6\x97")), 3, id="before a character that was cut"),
        pytest.param(viewing((0, b"replay"), (100, b"live"), live=100), 104, id="replay, then live"),
        pytest.param(viewing((0, b"replay"), live=100), 6, id="in a replay"),
        pytest.param(viewing(live=100), 0, id="before a replay"),
        pytest.param(unanswered(), None, id="before anything was sent"),
        pytest.param(unanswered(viewing((0, b"abc"))), 3, id="lost again before the answer"),
    ],
)
def test_where_it_goes_on(view: Viewing, from_seq: int | None) -> None:
    assert again(view) == [Attach(1, from_seq), Focus(1, *SIZE, free=True)]


def test_without_a_gap_or_a_duplicate() -> None:
    view = viewing((0, b"abc\x1b[3"))
    again(view)
    assert view.attached(attached(seq=3, live=9)) == (b"", [])
    assert view.output(1, 3, b"\x1b[31md") == b"\x1b[31md"


def test_a_replay_that_was_broken_off_goes_on_where_it_was() -> None:
    view = viewing((0, b"half a "), live=100)
    again(view)
    assert view.attached(attached(seq=7, live=120)) == (b"", [])
    assert view.output(1, 7, b"replay") == b"replay"


def test_a_screen_that_was_to_be_cleared_still_is_after_a_break() -> None:
    view = viewing((0, b"abc"))
    view.skip()
    view.output(1, 3, b"x" * 300_000)
    view.recover()
    assert again(view) == [Attach(1, 300_003 - TAIL), Focus(1, *SIZE, free=True)]
    first, _ = view.attached(attached(seq=300_003 - TAIL, live=300_003))
    assert CLEAR in first


def test_bytes_that_are_lost_for_good() -> None:
    view = viewing((0, b"abc"))
    again(view)
    first, said = view.attached(attached(seq=500, live=900, lost=497))
    assert first.endswith(CLEAR)
    assert said == []
    assert view.output(1, 500, b"31mx\nfrom a line") == b"\nfrom a line"


def test_another_stream_under_the_same_handle_is_shown_anew() -> None:
    view = viewing((0, b"abcdef"))
    again(view)
    assert view.attached(attached(seq=2, live=2)) == (b"", [Attach(1)])
    assert view.output(1, 2, b"dropped") == b""
    first, _ = view.attached(attached(live=2))
    assert first.endswith(CLEAR)
    assert view.output(1, 0, b"ab") == b"ab"


def test_what_was_asked_while_nobody_listened_is_not_waited_for() -> None:
    view = viewing((0, b"abc"))
    view.skip()
    view.lost()
    view.recover()
    view.again(*SIZE)
    view.attached(attached(live=3))
    assert view.output(1, 0, b"abc") == b"abc"


def test_nothing_is_shown_again_when_nothing_was_shown() -> None:
    assert again(Viewing()) == []


# --- modes that the host tells, because what set them is not held any more

MODES = "\x1b[?1049h\x1b[?2004h"


def test_a_late_page_is_told_the_modes() -> None:
    view = Viewing()
    view.show(1, *SIZE)
    assert view.attached(attached(seq=1000, live=2000, modes=MODES)) == (MODES.encode(), [])
    assert view.output(1, 1000, b"31m\nx") == b"\nx"
    assert b"\x1b[?1049l" in view.restored()


def test_modes_after_lost_bytes_replace_those_that_were_followed() -> None:
    view = viewing((0, b"\x1b[?1003h\x1b[?1h"))
    again(view)
    first, _ = view.attached(attached(seq=500, live=900, lost=485, modes=MODES))
    left, entered = first.split(CLEAR)
    assert entered == MODES.encode()
    assert b"1003" in left
    view.output(1, 500, b"\n")
    assert b"\x1b[?1049l" in view.restored()


def test_modes_of_a_resync() -> None:
    view = viewing((0, b"\x1b[?1047h"))
    left, entered = view.resync(Resync(1, 5000, 4992, MODES)).split(CLEAR)
    assert b"\x1b[?1047l" in left
    assert entered == MODES.encode()
    assert b"\x1b[?1049l" in view.restored()


def test_modes_of_a_resync_while_skipping_hold_afterwards() -> None:
    view = viewing((0, b"abc"))
    view.skip()
    assert view.resync(Resync(1, 500_000, 499_997, MODES)) == b""
    assert view.recover() == [Attach(1, 500_000 - TAIL)]
    first, _ = view.attached(attached(seq=500_000 - TAIL, live=500_000))
    _, entered = first.split(CLEAR)
    assert b"\x1b[?1049h" in entered


# --- output left out by the host


def test_resync_clears_and_begins_at_a_good_place() -> None:
    view = viewing((0, b"abc\x1b[3"))
    assert view.resync(Resync(1, 5000, 4993)).endswith(CLEAR)
    assert view.output(1, 5000, b"1mx\r\nnew") == b"\nnew"
    assert again(view) == [Attach(1, 5008), Focus(1, *SIZE, free=True)]


@pytest.mark.parametrize("handle", [2, 3])
def test_resync_of_another_session(handle: int) -> None:
    assert viewing().resync(Resync(handle, 5, 5)) == b""


# --- a terminal that is too slow


def test_skipping_writes_nothing_and_recovering_asks_for_the_end() -> None:
    view = viewing((0, b"abc"))
    view.skip()
    for block in range(10):
        assert view.output(1, 3 + block * 50_000, b"x" * 50_000) == b""
    assert view.recover() == [Attach(1, 500_003 - TAIL)]
    assert view.recover() == []
    assert view.output(1, 500_003, b"still of the old attachment") == b""
    first, _ = view.attached(attached(seq=500_003 - TAIL, live=600_000))
    assert first.startswith(DRAW)
    assert CLEAR in first
    assert view.output(1, 500_003 - TAIL, b"xx\nend") == b"\nend"


def test_recovering_early_in_a_session_asks_from_its_start() -> None:
    view = viewing((0, b"abc"))
    view.skip()
    assert view.recover() == [Attach(1, 0)]


def test_recovering_in_a_replay() -> None:
    view = viewing((0, b"replay"), live=900_000)
    view.skip()
    view.output(1, 6, b"x" * 500_000)
    assert view.recover() == [Attach(1, 500_006 - TAIL)]


def test_modes_that_were_switched_while_skipping_hold_afterwards() -> None:
    view = viewing((0, b"\x1b[?1049h\x1b[?2004h" + b"x" * 300_000))
    view.skip()
    view.output(1, 300_016, b"\x1b[?1049l\x1b[?1003h")
    view.recover()
    first, _ = view.attached(attached(seq=200_000, live=300_032))
    left, entered = first.split(CLEAR)
    assert b"\x1b[?1049l" in left, "what the terminal was in is left"
    assert b"1003h" in entered
    assert b"2004h" in entered
    assert b"1049h" not in entered


def test_going_away_while_skipping() -> None:
    view = viewing()
    view.skip()
    view.hide()
    view.show(2, *SIZE)
    assert not view.skipping


# --- who decides the size


def test_a_person_takes_the_size_once() -> None:
    view = viewing()
    view.sized(Size(1, 200, 50, owner=False))
    assert view.typed(*SIZE) == [Focus(1, *SIZE)]
    assert view.typed(*SIZE) == []


def test_the_owner_need_not_ask() -> None:
    assert viewing().typed(*SIZE) == []


def test_a_free_size_is_this_terminals_once_the_host_says_so() -> None:
    """Others may ask as well, and nobody has typed anywhere: until then it answers no queries."""
    view = viewing()
    view.sized(Size(1, 200, 50, owner=False, free=True))
    assert view.freed(*SIZE) == [Focus(1, *SIZE, free=True)]
    assert not view.owner
    view.sized(Size(1, *SIZE, owner=True))
    assert view.owner


def test_with_no_session_shown_no_size_is_asked_for() -> None:
    assert Viewing().freed(*SIZE) == []


def test_the_size_of_another_session_does_not_matter() -> None:
    view = viewing()
    view.sized(Size(2, 200, 50, owner=False))
    assert view.owner


def test_a_lost_connection_owns_nothing() -> None:
    view = viewing()
    view.lost()
    assert not view.owner


@pytest.mark.parametrize(
    ("output", "queried"),
    [
        (b"plain \x1b[31mtext", False),
        (b"\x1b[c", True),
        (b"\x1b[6n", True),
        (b"\x1b]11;?\x07", True),
        (b"\x1b[?u", True),
    ],
)
def test_whether_the_session_has_asked_anything(output: bytes, queried: bool) -> None:
    view = viewing((0, output))
    assert view.queried is queried
    view.show(2, *SIZE)
    assert not view.queried


# --- the terminal afterwards


def test_what_a_session_switched_on_is_undone_once() -> None:
    view = viewing((0, b"\x1b[?1049h\x1b[>5u\x1b[?25l"))
    undone = view.restored()
    assert b"\x1b[?1049l" in undone
    assert b"\x1b[<1u" in undone
    assert b"25h" in undone
    assert b"1049l" not in view.restored()


def test_the_main_screen_is_made_sure_of_when_output_was_dropped() -> None:
    assert MAIN_SCREEN in viewing((0, b"x")).restored(dropped=True)


def test_a_session_does_not_inherit_the_modes_of_the_one_before() -> None:
    view = viewing((0, b"\x1b[?1049h"))
    view.restored()
    view.show(2, *SIZE)
    view.attached(attached(2))
    view.output(2, 0, b"plain")
    assert b"1049l" not in view.restored()
