"""What was asked and is not answered yet."""

import pytest

from switchboard.page.messages import Done, ExitStatus, ListSessions, OpenSession, Rename, SessionInfo, StopSession
from switchboard.page.terminal.errands import Errand, Errands, ending, on_the_way, why


def test_an_answer_is_taken_once() -> None:
    errands = Errands()
    asked = Rename(errands.next(), 1, "x")
    errands.sent(asked)
    assert errands.answered(99) is None
    assert errands.answered(asked.request) == asked
    assert errands.answered(asked.request) is None


def test_numbers_are_never_used_twice() -> None:
    errands = Errands()
    assert len({errands.next() for _ in range(100)}) == 100


@pytest.mark.parametrize(("errand", "unsure"), [(StopSession(1, 1), True), (ListSessions(1), False)])
def test_only_what_changes_something_leaves_doubt(errand: Errand, unsure: bool) -> None:
    errands = Errands()
    errands.sent(errand)
    assert errands.lost() is unsure
    assert errands.lost() is False


@pytest.mark.parametrize(
    ("errand", "words"),
    [
        (OpenSession(1, "new", cwd="/jobs/shop\x1b"), "opening in jobs/shop  …"),
        (OpenSession(1, "resume", session_id="x"), "resuming …"),
        (StopSession(1, 1), "stopping …"),
        (Rename(1, 1, "x"), ""),
    ],
)
def test_on_the_way(errand: Errand, words: str) -> None:
    assert on_the_way(errand) == words


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (Done(1, False, "no such directory", "/x"), "no such directory (/x)"),
        (Done(1, False, "bad\x1b[2J"), "bad [2J"),
        (Done(1, False), "the host gave no reason"),
    ],
)
def test_why(done: Done, words: str) -> None:
    assert why(done) == words


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (ExitStatus(code=0), "cart has ended with exit code 0"),
        (ExitStatus(signal=9), "cart was ended by signal 9"),
        (ExitStatus(), "cart has ended"),
        (None, "cart has ended"),
    ],
)
def test_ending(ended: ExitStatus | None, words: str) -> None:
    assert ending(SessionInfo("id", "exited", "agent", "exited", name="cart", exit=ended)) == words
