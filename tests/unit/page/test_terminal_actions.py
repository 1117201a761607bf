"""What the terminal page does for versioned triggers: the row, the answer, and nothing that a person would notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from switchboard.page import messages
from switchboard.page.messages import (
    Done,
    HostMessage,
    Listing,
    ListSessions,
    OpenSession,
    SessionAction,
    SessionActionResult,
    SessionChanged,
    SessionInfo,
    Sessions,
)
from switchboard.page.terminal.commands import Do, Send
from switchboard.page.terminal.keys import ListKeys
from switchboard.page.terminal.model import Model, Where

WELCOME = messages.Welcome(1, "0.1", "epoch-1", 77)
REATTACH = SessionAction("p", "epoch-1", "reattach", "old-id", "id-2", 7, 9_000)
RESUME = SessionAction("p", "epoch-1", "resume", "c1", "c1", None, 9_000, "claude", "/jobs", "/jobs/shop")
NEW = SessionAction("p", "epoch-1", "new", None, "n1", None, 9_000, "claude", "/jobs", "/jobs", "A name")


def info(key: str, handle: int | None, generation: int = 7, **more: Any) -> SessionInfo:
    state = "closed" if handle is None else "open"
    made = SessionInfo(key, state, "claude", "idle", handle=handle, generation=generation, project="/jobs", cwd="/jobs")  # type: ignore[arg-type]  # a text of a table
    return replace(made, **more)


def failed(action: SessionAction, reason: str, error: str | None = None) -> SessionActionResult:
    return SessionActionResult(
        action.permit, action.epoch, action.mode, False, action.requested_id, action.tab_key, None, reason, error
    )


def succeeded(action: SessionAction, generation: int) -> SessionActionResult:
    return SessionActionResult(
        action.permit, action.epoch, action.mode, True, action.requested_id, action.tab_key, generation
    )


class Page:
    """A model and its host. `place`: what a person would notice a change of."""

    def __init__(self, *sessions: SessionInfo) -> None:
        self.model = Model(Where("/jobs", "/home/me"))
        self.hears(WELCOME, Sessions(list(sessions)))

    def hears(self, *said: HostMessage) -> list[Do]:
        return [do for message in said for do in self.model.receive(message)]

    def says(self, *said: HostMessage) -> list[messages.PageMessage]:
        """What the host is told, when nothing else is done."""
        done = self.hears(*said)
        assert all(isinstance(do, Send) for do in done)
        return [do.message for do in done if isinstance(do, Send)]

    def types(self, data: bytes) -> None:
        keys = ListKeys()
        for key in keys.feed(data) + keys.flush():
            self.model.press(key, 10)

    @property
    def place(self) -> tuple[object, ...]:
        model = self.model
        return model.selected, model.shown, model.question, model.help, model.notice


def in_the_list(page: Page) -> None:
    pass


def in_a_session(page: Page) -> None:
    page.types(b"g\r")
    assert page.model.shown == 1


def in_a_question(page: Page) -> None:
    page.types(b"gn")
    assert page.model.question is not None


def in_the_help(page: Page) -> None:
    page.types(b"?")
    assert page.model.help


PLACES = [in_the_list, in_a_session, in_a_question, in_the_help]


# --- reattaching


def test_a_listed_session_is_there() -> None:
    page = Page(info("id-1", 1), info("id-2", 2))
    assert page.says(REATTACH) == [succeeded(REATTACH, 7)]


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(info("id-2", 2, generation=8), id="another generation"),
        pytest.param(info("old-id", 2), id="only under the id that was asked for"),
        pytest.param(info("id-2", 2, state="exited"), id="ended"),
        pytest.param(info("id-2", None), id="closed"),
    ],
)
def test_another_session_is_not_it(there: SessionInfo) -> None:
    page = Page(info("id-1", 1), there)
    assert page.says(REATTACH) == [ListSessions(1)]
    assert page.says(Listing(1, [info("id-1", 1), there])) == [failed(REATTACH, "session not in the list")]
    assert page.says(SessionChanged(info("id-2", 2))) == []


def test_a_session_that_the_list_lacks_is_looked_for() -> None:
    page = Page(info("id-1", 1))
    assert page.says(REATTACH) == [ListSessions(1)]
    assert page.says(Listing(1, [info("id-1", 1), info("id-2", 2)])) == [succeeded(REATTACH, 7)]
    assert page.model.catalog.find(2) is not None


def test_a_session_that_is_told_of_meanwhile_is_there_and_is_answered_for_once() -> None:
    page = Page(info("id-1", 1))
    assert page.says(REATTACH) == [ListSessions(1)]
    assert page.says(SessionChanged(info("id-1", 1, status="busy"))) == []
    assert page.says(SessionChanged(info("id-2", 2))) == [succeeded(REATTACH, 7)]
    assert page.says(Listing(1, [info("id-1", 1), info("id-2", 2)])) == []


# --- opening


@pytest.mark.parametrize("action", [RESUME, NEW], ids=lambda action: action.mode)
def test_a_start_is_asked_for_with_the_permit(action: SessionAction) -> None:
    page = Page(info("id-1", 1), info("c1", None))
    (wanted,) = page.says(action)
    assert wanted == OpenSession(1, action.mode, session_id=action.tab_key, permit="p")  # type: ignore[arg-type]  # never a reattachment
    opened = info(action.tab_key, 5, generation=12)
    assert page.says(Done(1, True, session=opened)) == [succeeded(action, 12)]
    assert page.model.catalog.find(5) == opened
    assert [one.id for one in page.model.catalog.sessions].count(action.tab_key) == 1


@pytest.mark.parametrize(
    ("done", "reason", "error"),
    [
        pytest.param(
            Done(1, False, "session live elsewhere", "process 5"), "session live elsewhere", "process 5", id="refused"
        ),
        pytest.param(Done(1, False), "nothing was opened", None, id="refused without a word"),
        pytest.param(Done(1, False, "internal error", "x" * 9_000), "internal error", "x" * 4_096, id="at length"),
        pytest.param(Done(1, True), "nothing was opened", None, id="done and nothing there"),
    ],
)
def test_a_start_that_fails_is_said_to_the_host_and_to_nobody_else(done: Done, reason: str, error: str | None) -> None:
    page = Page(info("id-1", 1), info("c1", None))
    page.says(RESUME)
    before = page.place
    said = page.says(done)
    assert said == [failed(RESUME, reason, error)]
    assert page.place == before
    assert messages.decode_from_page(messages.encode(said[0])) == said[0]
    assert page.says(done) == []


def test_actions_and_what_a_person_asks_keep_apart() -> None:
    page = Page(info("id-1", 1), info("c1", None), info("c2", None))
    page.types(b"Gr")
    page.says(RESUME)
    page.says(replace(NEW, permit="q"))
    assert page.says(Done(3, True, session=info("n1", 6, 2))) == [succeeded(replace(NEW, permit="q"), 2)]
    assert page.says(Done(2, True, session=info("c1", 5, 1))) == [succeeded(RESUME, 1)]
    assert page.model.shown is None
    page.hears(Done(1, True, session=info("c2", 7)))
    assert page.model.shown == 7


# --- what a person notices


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", ["reattached", "missing", "resumed", "new", "refused"])
def test_nothing_is_selected_shown_asked_or_told(place: Callable[[Page], None], how: str) -> None:
    page = Page(info("id-1", 1), info("id-2", 2), info("c1", None))
    place(page)
    before = page.place
    match how:
        case "reattached":
            page.says(REATTACH)
        case "missing":
            listed = list(page.model.catalog.sessions)
            page.says(replace(REATTACH, tab_key="x"), Listing(page.model._errands._numbers + 1, listed))
        case "resumed":
            page.says(RESUME, Done(page.model._errands._numbers + 1, True, session=info("c1", 5)))
        case "new":
            page.says(NEW, Done(page.model._errands._numbers + 1, True, session=info("n1", 5)))
        case "refused":
            page.says(RESUME, Done(page.model._errands._numbers + 1, False, "session live elsewhere"))
    assert page.place == before


def test_the_selection_stays_on_the_conversation_that_is_resumed() -> None:
    """Its row was selected while it was closed; it is the same row, and no other one is selected instead."""
    page = Page(info("id-1", 1), info("c1", None))
    page.types(b"G")
    assert page.model.selected == "c1"
    page.says(RESUME, Done(1, True, session=info("c1", 5)))
    assert page.model.selected == 5


def test_a_person_selects_and_shows_afterwards_as_ever() -> None:
    page = Page(info("id-1", 1), info("c1", None))
    page.says(RESUME, Done(1, True, session=info("c1", 5)))
    page.types(b"G\r")
    assert page.model.shown == 5


def test_a_host_that_goes_takes_what_it_asked_with_it() -> None:
    page = Page(info("id-1", 1), info("c1", None))
    page.says(RESUME, replace(REATTACH, permit="q"))
    page.model.lost()
    assert "check whether it was done" not in page.model.notice
    page.hears(replace(WELCOME, epoch="epoch-2"), Sessions([info("id-1", 1)]))
    assert page.says(SessionChanged(info("id-2", 2)), Done(1, True, session=info("c1", 5)), Listing(2, [])) == []
