"""The page as conversations: what the host says and what a person presses, and what is done then."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec.structs import replace

from switchboard.page import messages
from switchboard.page.messages import Done, ExitStatus, HostMessage, OpenSession, SessionInfo, StopSession
from switchboard.page.reasons import LIVE_ELSEWHERE
from switchboard.page.terminal.asking import Line, YesNo
from switchboard.page.terminal.commands import Do, Leave, Refuse, Send, Show, ShowList, Tell
from switchboard.page.terminal.keys import ListKeys
from switchboard.page.terminal.model import KEPT_TRIGGERS, NOT_CONNECTED, Model, Where

WELCOME = messages.Welcome(1, "0.1", "epoch-1", 77)
UP, DOWN, ESCAPE, ENTER = b"\x1b[A", b"\x1b[B", b"\x1b", b"\r"


def session(handle: int, status: str = "idle", **more: object) -> SessionInfo:
    info = SessionInfo(
        id=f"id-{handle}",
        state="open",
        cli="agent",
        status=status,
        handle=handle,
        name=f"name-{handle}",
        project="/jobs/shop",
        cwd="/jobs/shop/src",
        pid=1000 + handle,
    )
    return replace(info, **more)


def closed(name: str, **more: object) -> SessionInfo:
    info = SessionInfo(id=name, state="closed", cli="claude", status="exited", project="/jobs/old", cwd="/jobs/old")
    return replace(info, **more)


class Page:
    """A model, and the hands and the host around it."""

    def __init__(self, *sessions: SessionInfo, wanted: str | None = None, connected: bool = True) -> None:
        self.model = Model(Where("/jobs", "/home/me"), wanted)
        self.first: list[Do] = []
        if connected:
            self.first = self.hears(WELCOME, messages.Sessions(list(sessions)))

    def hears(self, *said: HostMessage) -> list[Do]:
        return [do for message in said for do in self.model.receive(message)]

    def types(self, data: bytes) -> list[Do]:
        keys = ListKeys()
        return [do for key in keys.feed(data) + keys.flush() for do in self.model.press(key, 10)]

    def asked(self, data: bytes) -> messages.PageMessage:
        """What the host is sent in the end, when that is all that is done."""
        (do,) = self.types(data)
        assert isinstance(do, Send)
        return do.message


# --- the list


def test_nothing_is_shown_at_first_and_keys_go_nowhere() -> None:
    page = Page(session(1))
    assert page.first == []
    assert page.model.shown is None
    assert page.types(b"hello ls -la\x1b[C\t\x04") == []


@pytest.mark.parametrize(
    ("keys", "selected"),
    [
        pytest.param(b"", 1, id="the first is selected"),
        pytest.param(DOWN, 2, id="down"),
        pytest.param(b"j", 2, id="j"),
        pytest.param(b"jj", "c1", id="into the closed ones"),
        pytest.param(b"jjjjjj", "c2", id="stops at the end"),
        pytest.param(b"jk", 1, id="k"),
        pytest.param(DOWN + UP + UP, 1, id="stops at the top"),
        pytest.param(b"G", "c2", id="G"),
        pytest.param(b"Gg", 1, id="g"),
        pytest.param(b"\x1b[6~", "c2", id="a page down"),
        pytest.param(b"\x1b[6~\x1b[5~", 1, id="a page up"),
        pytest.param(b"\x1b[F\x1b[H", 1, id="end and home"),
    ],
)
def test_selecting(keys: bytes, selected: object) -> None:
    page = Page(session(1), session(2), closed("c1"), closed("c2"))
    page.types(keys)
    assert page.model.selected == selected


def test_selecting_in_an_empty_list() -> None:
    page = Page()
    assert page.types(b"jkG" + UP + DOWN) == []
    assert page.types(ENTER) == [Refuse("no session is selected")]


def test_the_selection_stays_on_its_session_while_others_come_and_go() -> None:
    page = Page(session(2), session(3))
    page.types(b"j")
    page.hears(messages.SessionChanged(session(1)), messages.SessionGone(2))
    assert page.model.selected == 3


def test_a_selected_session_that_closes_stays_selected() -> None:
    page = Page(session(1), session(2))
    page.hears(messages.SessionGone(1))
    assert page.model.selected == "id-1"


def test_a_selected_shell_that_closes_gives_way_to_its_neighbour() -> None:
    page = Page(session(1), session(2, kind="shell"), session(3))
    page.types(b"j")
    page.hears(messages.SessionGone(2))
    assert page.model.selected == 3


def test_a_selected_conversation_that_opens_stays_selected() -> None:
    page = Page(session(1), closed("id-9"))
    page.types(b"j")
    page.hears(messages.SessionChanged(session(9)))
    assert page.model.selected == 9


def test_w_goes_round_those_who_wait() -> None:
    page = Page(session(1), session(2, "waiting"), session(3, "busy"), session(4, "waiting"))
    seen = []
    for _ in range(3):
        page.types(b"w")
        seen.append(page.model.selected)
    assert seen == [2, 4, 2]


def test_w_without_anybody() -> None:
    page = Page(session(1), session(2))
    page.types(b"jw")
    assert (page.model.selected, page.model.notice) == (2, "nobody is waiting for you")


def test_enter_shows_the_selected_session() -> None:
    page = Page(session(1), session(2))
    assert page.types(b"j" + ENTER) == [Show(2)]
    assert page.model.shown == 2


def test_a_closed_session_is_not_shown() -> None:
    page = Page(closed("c1"))
    assert page.types(ENTER) == [Refuse("this session is closed; r resumes it")]
    assert page.model.shown is None


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_leaving(key: bytes) -> None:
    assert Page(session(1)).types(key) == [Leave()]


def test_help_takes_one_key() -> None:
    page = Page(session(1))
    page.types(b"?")
    assert page.model.help
    assert page.types(b"q") == []
    assert not page.model.help


def test_pasting_into_the_list_does_nothing() -> None:
    page = Page(session(1), session(2))
    assert page.types(b"\x1b[200~jxyq\r\x1b[201~") == []
    assert (page.model.selected, page.model.question) == (1, None)


def test_ctrl_l_asks_again_and_takes_the_answer() -> None:
    page = Page(session(1))
    send, draw = page.types(b"\x0c")
    assert (send, draw) == (Send(messages.ListSessions(1)), ShowList())
    page.hears(messages.Listing(1, [session(5)]))
    assert page.model.selected == 5


def test_a_listing_that_nobody_asked_for_changes_nothing() -> None:
    page = Page(session(1))
    page.hears(messages.Listing(8, []))
    assert page.model.selected == 1


# --- starting with a session


@pytest.mark.parametrize("wanted", ["id-2", "ID-2", "name-2"])
def test_begin_with_a_session(wanted: str) -> None:
    page = Page(session(1), session(2), wanted=wanted)
    assert page.first == [Show(2)]
    assert page.model.selected == 2


@pytest.mark.parametrize(
    ("wanted", "notice", "selected"),
    [
        ("zzz", "no session is called 'zzz'; choose one here", 1),
        ("id-", "several sessions begin with 'id-'; choose one here", 1),
        ("c1", "this session is closed; r resumes it", "c1"),
    ],
)
def test_begin_with_what_is_not_there(wanted: str, notice: str, selected: object) -> None:
    page = Page(session(1), session(2), closed("c1"), wanted=wanted)
    assert page.model.shown is None
    assert (page.model.notice, page.model.selected) == (notice, selected)


# --- opening


def test_a_new_session() -> None:
    page = Page(session(1))
    page.types(b"n")
    assert isinstance(page.model.question, Line)
    assert page.asked(b"claude\r~/shop\r") == OpenSession(1, "new", "claude", cwd="/home/me/shop")
    assert page.model.question is None
    assert page.hears(Done(1, True, session=session(7))) == [Show(7)]
    assert page.model.selected == 7


def test_a_new_session_where_the_selected_one_works() -> None:
    assert Page(session(1)).asked(b"n\r\r") == OpenSession(1, "new", "agent", cwd="/jobs/shop/src")


def test_the_first_new_session_is_where_the_page_was_started() -> None:
    assert Page().asked(b"n\r\r") == OpenSession(1, "new", "agent", cwd="/jobs")


def test_a_relative_directory_counts_from_where_the_page_was_started() -> None:
    assert Page(session(1)).asked(b"n\rhere\r") == OpenSession(1, "new", "agent", cwd="/jobs/here")


def test_a_new_shell() -> None:
    assert Page().asked(b"nshell\r/tmp\r") == OpenSession(1, "shell", "shell", cwd="/tmp")


@pytest.mark.parametrize("keys", [b"n\x1b", b"n\r\x1b", b"n\x03"])
def test_a_new_session_is_dropped(keys: bytes) -> None:
    page = Page()
    assert page.types(keys) == []
    assert page.model.question is None


def test_a_directory_that_is_too_long_is_refused_here() -> None:
    page = Page()
    page.model._where = Where("/" + "x" * 3000, "/")
    assert page.types(b"n\r" + b"y" * 2000 + b"\r") == [Refuse("no directory has such a long name")]


def test_a_refused_opening_says_why() -> None:
    page = Page()
    page.types(b"n\r/nowhere\r")
    assert page.hears(Done(1, False, "no such directory", "/nowhere does not exist")) == []
    assert page.model.notice == "not opened: no such directory (/nowhere does not exist)"


def test_a_person_elsewhere_is_not_torn_away_by_an_opened_session() -> None:
    page = Page(session(1))
    page.types(b"n\r\r")
    page.types(ENTER)
    assert page.hears(Done(1, True, session=session(7))) == []
    assert page.model.shown == 1


def test_a_person_in_a_question_is_not_torn_away_either() -> None:
    page = Page(session(1))
    page.types(b"n\r\r")
    page.types(b"x")
    assert page.hears(Done(1, True, session=session(7))) == []
    assert isinstance(page.model.question, YesNo)


def test_resuming_a_closed_session() -> None:
    page = Page(closed("c1"))
    assert page.asked(b"r") == OpenSession(1, "resume", "claude", "c1", "/jobs/old")
    assert page.hears(Done(1, True, session=session(3, id="c1"))) == [Show(3)]


def test_resuming_an_exited_session() -> None:
    page = Page(session(1, "failed", state="exited"))
    assert page.asked(b"r") == OpenSession(1, "resume", "agent", "id-1", "/jobs/shop/src")


@pytest.mark.parametrize(
    ("info", "why"),
    [
        (session(1), "this session is open; Enter shows it"),
        (
            session(1, kind="shell", state="exited"),
            "only a conversation with an agent can be resumed; n opens something new",
        ),
    ],
)
def test_what_cannot_be_resumed(info: SessionInfo, why: str) -> None:
    assert Page(info).types(b"r") == [Refuse(why)]


def test_live_elsewhere_is_opened_only_after_a_yes() -> None:
    page = Page(closed("c1"))
    page.types(b"r")
    page.hears(Done(1, False, LIVE_ELSEWHERE, "pid 4711"))
    assert isinstance(page.model.question, YesNo)
    assert page.model.question.text == "Not opened: session live elsewhere (pid 4711). Open it anyway?"
    assert page.asked(b"y") == OpenSession(2, "resume", "claude", "c1", "/jobs/old", force=True)


def test_live_elsewhere_is_left_alone_after_a_no() -> None:
    page = Page(closed("c1"))
    page.types(b"r")
    page.hears(Done(1, False, LIVE_ELSEWHERE))
    assert page.types(b"\r") == []


def test_a_forced_opening_is_not_asked_about_again() -> None:
    page = Page(closed("c1"))
    page.types(b"r")
    page.hears(Done(1, False, LIVE_ELSEWHERE))
    page.types(b"y")
    page.hears(Done(2, False, LIVE_ELSEWHERE))
    assert page.model.question is None
    assert page.model.notice == "not opened: session live elsewhere"


# --- stopping


@pytest.mark.parametrize(
    ("status", "text"),
    [("idle", "Stop name-1?"), ("busy", "Stop name-1? It is busy."), ("waiting", "Stop name-1? It is waiting.")],
)
def test_stopping_asks(status: str, text: str) -> None:
    page = Page(session(1, status))
    assert page.types(b"x") == []
    assert isinstance(page.model.question, YesNo)
    assert page.model.question.text == text
    assert page.asked(b"y") == StopSession(1, 1)


@pytest.mark.parametrize("key", [b"n", b"\r", b"x", b"\x1b", b"q", b"j", b"\x1b[200~y\x1b[201~"])
def test_anything_but_y_stops_nothing(key: bytes) -> None:
    page = Page(session(1))
    assert page.types(b"x" + key) == []
    assert page.model.question is None


def test_force_is_offered_after_an_ordinary_stop_did_not_do() -> None:
    page = Page(session(1))
    page.types(b"xy")
    page.hears(Done(1, False, "still running"))
    assert isinstance(page.model.question, YesNo)
    assert "End it by force?" in page.model.question.text
    assert page.asked(b"y") == StopSession(2, 1, force=True)
    page.hears(Done(2, False, "no such process"))
    assert (page.model.question, page.model.notice) == (None, "not ended: no such process")


def test_force_is_not_offered_for_what_has_ended_meanwhile() -> None:
    page = Page(session(1))
    page.types(b"xy")
    page.hears(messages.SessionChanged(session(1, "exited", state="exited")), Done(1, False, "not running"))
    assert (page.model.question, page.model.notice) == (None, "not stopped: not running")


def test_force_is_not_asked_over_another_question() -> None:
    page = Page(session(1))
    page.types(b"xyn")
    page.hears(Done(1, False, "still running"))
    assert isinstance(page.model.question, Line)
    assert page.model.notice == "name-1 did not end: still running"


@pytest.mark.parametrize("info", [closed("c1"), session(1, "exited", state="exited")])
def test_what_does_not_run_is_not_stopped(info: SessionInfo) -> None:
    assert Page(info).types(b"x") == [Refuse("this session has no running process")]


# --- renaming


def test_renaming() -> None:
    page = Page(session(1))
    assert page.asked(b"R\x15 new name \r") == messages.Rename(1, 1, "new name")
    page.hears(Done(1, False, "too many names"))
    assert page.model.notice == "not renamed: too many names"


def test_a_name_is_cleared() -> None:
    assert Page(session(1)).asked(b"R\x15\r") == messages.Rename(1, 1, "")


def test_a_closed_session_is_not_renamed() -> None:
    assert Page(closed("c1")).types(b"R") == [Refuse("a closed session cannot be renamed")]


# --- in a session


@pytest.mark.parametrize("key", ["l", "d"])
def test_back_to_the_list(key: str) -> None:
    page = Page(session(1), wanted="id-1")
    assert page.model.prefixed(key) == [ShowList()]
    assert page.model.shown is None


@pytest.mark.parametrize(
    ("begin", "key", "shows"), [("id-1", "n", 2), ("id-3", "n", 1), ("id-1", "p", 3), ("id-2", "p", 1)]
)
def test_neighbours(begin: str, key: str, shows: int) -> None:
    page = Page(session(1), session(2), session(3), closed("c"), wanted=begin)
    assert page.model.prefixed(key) == [Show(shows)]
    assert page.model.shown == page.model.selected == shows


def test_without_a_neighbour() -> None:
    page = Page(session(1), wanted="id-1")
    assert page.model.prefixed("n") == [Refuse("there is no other session")]


def test_stop_from_a_session_and_a_no_goes_back_to_it() -> None:
    page = Page(session(1), wanted="id-1")
    assert page.model.prefixed("x") == [ShowList()]
    assert page.types(b"n") == [Show(1)]


def test_stop_from_a_session_and_a_yes_stays_in_the_list() -> None:
    page = Page(session(1), wanted="id-1")
    page.model.prefixed("x")
    assert page.asked(b"y") == StopSession(1, 1)
    assert page.model.shown is None


def test_an_ended_session_is_not_stopped() -> None:
    page = Page(session(1, "exited", state="exited"), wanted="id-1")
    assert page.model.prefixed("x") == [Refuse("this session has no running process")]


def test_help_and_leaving_from_a_session() -> None:
    page = Page(session(1), wanted="id-1")
    assert page.model.prefixed("?") == [ShowList()]
    assert page.model.help
    assert page.model.prefixed("q") == [Leave()]


@pytest.mark.parametrize("key", ["", "y", "ä", "L"])
def test_other_keys_after_the_prefix_are_refused(key: str) -> None:
    page = Page(session(1), wanted="id-1")
    (do,) = page.model.prefixed(key)
    assert isinstance(do, Refuse)
    assert page.model.shown == 1


def test_the_shown_session_ends() -> None:
    page = Page(session(1), wanted="id-1")
    ended = session(1, "failed", state="exited", exit=ExitStatus(signal=9))
    assert page.hears(messages.SessionChanged(ended)) == [
        Tell("name-1 was ended by signal 9 · Ctrl-] l goes to the list")
    ]
    assert page.hears(messages.SessionChanged(ended)) == []
    assert page.model.shown == 1


def test_the_shown_session_goes() -> None:
    page = Page(session(1), wanted="id-1")
    assert page.hears(messages.SessionGone(1)) == [ShowList()]
    assert (page.model.shown, page.model.notice) == (None, "name-1 is closed")


@pytest.mark.parametrize(
    ("level", "do"),
    [
        ("info", Tell("the keeper  was lost")),
        ("warning", Refuse("the keeper  was lost")),
        ("error", Refuse("the keeper  was lost")),
    ],
)
def test_the_host_has_something_to_say(level: Literal["info", "warning", "error"], do: Do) -> None:
    page = Page(session(1))
    assert page.hears(messages.Notice(level, "the keeper\x1b was lost")) == [do]
    assert page.model.notice == "the keeper  was lost"


# --- the connection


def test_lost_in_the_list() -> None:
    page = Page(session(1))
    assert page.model.lost() == []
    assert not page.model.link.connected
    assert page.model.notice.startswith("the host has gone")


@pytest.mark.parametrize("keys", [ENTER, b"n\r\r", b"xy", b"R\r", b"\x0c"])
def test_nothing_is_kept_for_later_while_the_host_is_away(keys: bytes) -> None:
    page = Page(session(1))
    page.model.lost()
    done = page.types(keys)
    assert done[0] == Refuse(NOT_CONNECTED)
    assert not any(isinstance(do, (Send, Show)) for do in done)


def test_what_was_asked_last_is_in_doubt() -> None:
    page = Page(session(1))
    page.types(b"xy")
    page.model.lost()
    assert "check whether it was done" in page.model.notice
    page.hears(WELCOME, messages.Sessions([session(1)]), Done(1, True))
    assert page.model.notice == "connected to the host again"


def test_back_in_the_session_that_was_shown() -> None:
    page = Page(session(1), wanted="id-1")
    assert page.model.lost() == [Tell("the host has gone; waiting for it to come back")]
    assert page.hears(WELCOME) == []
    assert page.hears(messages.Sessions([session(1)])) == [Show(1), Tell("connected to the host again")]


@pytest.mark.parametrize("now", [[], [session(1, pid=5)], [closed("id-1")]], ids=["none", "another process", "closed"])
def test_the_session_that_was_shown_is_gone(now: list[SessionInfo]) -> None:
    page = Page(session(1), wanted="id-1")
    page.model.lost()
    assert page.hears(WELCOME, messages.Sessions(now)) == [ShowList()]
    assert page.model.notice == "the session that was shown here is not there any more"


def test_a_second_list_on_one_connection_does_not_show_the_session_again() -> None:
    page = Page(session(1), wanted="id-1")
    assert page.hears(messages.Sessions([session(1), session(2)])) == []


def test_a_wanted_session_is_opened_once() -> None:
    page = Page(session(1), wanted="id-1")
    page.model.prefixed("l")
    page.model.lost()
    assert page.hears(WELCOME, messages.Sessions([session(1)])) == []


def test_a_refusal_that_passes_is_told_and_not_the_end() -> None:
    page = Page(session(1), wanted="id-1")
    assert page.hears(messages.Problem("64\x07 pages are connected", "passing")) == []
    said = "the host does not take this page now: 64  pages are connected; trying again"
    assert page.model.lost() == [Tell(said)]
    assert page.model.notice == said
    page.hears(WELCOME, messages.Sessions([session(1)]))
    assert page.model.notice == "connected to the host again"
    page.model.lost()
    assert page.model.notice.startswith("the host has gone")


@pytest.mark.parametrize("wanted", [None, "id-1"], ids=["in the list", "in a session"])
def test_a_host_that_cannot_be_reached_is_told_of_with_the_remedy(wanted: str | None) -> None:
    page = Page(session(1), wanted=wanted)
    page.model.lost()
    remedy = "end it with `kill 7` and start it again"
    assert page.model.stuck(remedy) == ([] if wanted is None else [Tell(remedy)])
    assert page.model.notice == remedy


# --- a conversation that runs again in another terminal

ENDED = session(1, "exited", state="exited")
AGAIN = session(5, id="ID-1")


def test_a_shown_session_that_ended_and_runs_again_is_shown_there() -> None:
    page = Page(session(1), session(2), wanted="id-1")
    page.hears(messages.SessionChanged(ENDED))
    assert page.hears(messages.SessionChanged(AGAIN)) == [Show(5), Tell("name-5 runs again")]
    assert (page.model.shown, page.model.selected) == (5, 5)
    assert page.hears(messages.SessionGone(1)) == []
    assert page.model.shown == 5
    assert page.hears(messages.SessionChanged(replace(AGAIN, status="busy"))) == []


def test_a_shown_session_that_this_page_resumed_for_a_trigger_is_shown_there() -> None:
    """The answer may come before the news."""
    page = Page(session(1), wanted="id-1")
    page.hears(messages.SessionChanged(ENDED))
    (asked,) = page.hears(messages.SessionAction("p", "epoch-1", "resume", "id-1", "id-1", None, 2**50))
    assert isinstance(asked, Send)
    assert isinstance(asked.message, OpenSession)
    done = page.hears(Done(asked.message.request, True, session=AGAIN))
    assert done[:2] == [Show(5), Tell("name-5 runs again")]
    assert len(done) == 3
    assert page.hears(messages.SessionChanged(AGAIN)) == []


def test_in_the_list_the_selection_goes_along_and_nothing_is_shown() -> None:
    page = Page(ENDED, session(2))
    assert page.hears(messages.SessionChanged(AGAIN)) == []
    assert (page.model.shown, page.model.selected) == (None, 5)


def test_who_looks_at_another_session_stays_there() -> None:
    page = Page(ENDED, session(2), wanted="id-2")
    assert page.hears(messages.SessionChanged(AGAIN)) == []
    assert (page.model.shown, page.model.selected) == (2, 2)


@pytest.mark.parametrize("ended", [[ENDED], []], ids=["the connection was lost", "the host restarted"])
def test_it_runs_again_after_a_break(ended: list[SessionInfo]) -> None:
    page = Page(session(1), wanted="id-1")
    page.hears(messages.SessionChanged(ENDED))
    page.model.lost()
    assert page.hears(WELCOME, messages.Sessions([*ended, AGAIN])) == [Show(5), Tell("name-5 runs again")]


def test_the_host_refuses_this_page() -> None:
    assert Page().hears(messages.Problem("another\x07 version")) == [
        Leave(1, "the host refused this page: another  version")
    ]


def test_the_renderer_role_is_noted() -> None:
    page = Page()
    page.hears(messages.Role(True))
    assert page.model.link.renderer
    page.model.lost()
    assert not page.model.link.renderer


# --- triggers


def test_a_trigger_has_one_line_and_the_latest_word_counts() -> None:
    page = Page()
    for step in ("received", "waiting", "writing"):
        page.hears(messages.TriggerActivity("a.json", 1, step))  # type: ignore[arg-type]  # each is one of its steps
    page.hears(messages.TriggerActivity("b.json", 2, "received"))
    assert [(t.name, t.step) for t in page.model.triggers] == [("a.json", "writing"), ("b.json", "received")]


def test_old_triggers_are_forgotten() -> None:
    page = Page()
    for number in range(KEPT_TRIGGERS + 5):
        page.hears(messages.TriggerActivity(f"{number}", number, "done", ok=True))
    assert [t.name for t in page.model.triggers] == [f"{n}" for n in range(5, KEPT_TRIGGERS + 5)]
