"""The list as text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from switchboard.page import messages
from switchboard.page.messages import ExitStatus, SessionInfo, TriggerActivity
from switchboard.page.terminal.keys import ListKeys
from switchboard.page.terminal.listing import Frame, page_rows, picture
from switchboard.page.terminal.look import Look, Style
from switchboard.page.terminal.model import Model, Where
from switchboard.page.terminal.screen import fitted

NOW = 1_800_000_000_000
MINUTE = 60_000
LOOK = Look()


def session(handle: int, status: str = "idle", **more: object) -> SessionInfo:
    info = SessionInfo(
        id=f"id-{handle}",
        state="open",
        cli="agent",
        status=status,
        handle=handle,
        name=f"name-{handle}",
        project="/jobs/shop",
        cwd="/jobs/shop",
        status_since=NOW - handle * MINUTE,
    )
    return replace(info, **more)


def page(*sessions: SessionInfo, keys: bytes = b"") -> Model:
    model = Model(Where("/jobs", "/home/me"))
    model.receive(messages.Welcome(1, "0.1", "e", 1))
    model.receive(messages.Sessions(list(sessions)))
    reader = ListKeys()
    for key in reader.feed(keys) + reader.flush():
        model.press(key, 10)
    return model


def lines(model: Model, columns: int = 80, rows: int = 24, look: Look = LOOK) -> list[str]:
    shown = picture(model, Frame(columns, rows, NOW, 0, look))
    assert len(shown.rows) <= rows
    fitting = [fitted(spans, columns, look) for spans in shown.rows]
    return ["".join(span.text for span in spans).rstrip() for spans in fitting]


def test_a_sandboxed_session_has_a_mark() -> None:
    model = page(
        session(1, sandbox=True),
        session(2, sandbox=True, draft=True),
        session(3, "exited", state="exited", sandbox=True),
    )
    assert [line[11:40].strip() for line in lines(model)[2:5]] == [
        "name-1 · sandbox",
        "name-2 · draft · sandbox",
        "name-3",
    ]


def test_the_list() -> None:
    model = page(
        session(1),
        session(2, "busy", draft=True),
        session(3, "waiting", waiting_for="permission prompt"),
        session(4, "shell", project="/srv/api"),
        session(5, "failed", state="exited", exit=ExitStatus(signal=9)),
        SessionInfo("c1", "closed", "claude", "exited", name="old", project="/jobs/shop", modified_at=NOW - 86_400_000),
    )
    model.receive(messages.Role(True))
    model.receive(
        TriggerActivity("hello.json", NOW - MINUTE, "done", session_id="ID-1", ok=True, submitted="confirmed")
    )
    shown = lines(model)
    assert shown[:9] == [
        "Switchboard   1 waiting for you   4 sessions open, 1 busy connected  as of 08:00",
        "jobs/shop",
        "▸ ○ idle     name-1                                                agent      1m",
        "  ◐ busy     name-2 · draft                                        agent      2m",
        "  ◆ waiting  name-3 · permission prompt                            agent      3m",
        "  ▲ failed   name-5 · signal 9                                     agent      5m",
        "  · closed   old                                                   claude     1d",
        "srv/api",
        "  ■ shell    name-4                                                agent      4m",
    ]
    assert shown[-3:] == [
        "↳ trigger hello to name-1: done, submitted: confirmed                         1m",
        "",
        "Enter show · n new · r resume · x stop · R rename · ? help · q leave",
    ]
    assert len(shown) == 24


@pytest.mark.parametrize(
    ("columns", "header"),
    [
        (100, "Switchboard   1 waiting for you   2 sessions open, 1 busy                     connected  as of 08:00"),
        (80, "Switchboard   1 waiting for you   2 sessions open, 1 busy connected  as of 08:00"),
        (60, "Switchboard   1 waiting for you       connected  as of 08:00"),
        (45, "Switchboard   1 waiting for you     connected"),
        (34, "Switchboard   1 waiting for you"),
    ],
)
def test_the_header_drops_what_matters_least(columns: int, header: str) -> None:
    assert lines(page(session(1, "waiting"), session(2, "busy")), columns)[0] == header


def test_who_waits_is_the_loudest() -> None:
    shown = picture(page(session(1), session(2, "waiting")), Frame(80, 24, NOW, 0, Look()))
    loud = [span.text for spans in shown.rows for span in spans if span.style is Style.WAITING]
    assert loud == [" 1 waiting for you ", "◆ waiting"]


def test_forty_columns() -> None:
    model = page(
        session(1, "waiting", waiting_for="permission prompt"), session(2, name="a very long name of a session")
    )
    assert lines(model, 40)[:4] == [
        "Switchboard   1 waiting for you",
        "jobs/shop",
        "▸ ◆ waiting  name-1 · permission p…   1m",
        "  ○ idle     a very long name of a…   2m",
    ]


def test_ascii_shapes() -> None:
    shown = lines(page(session(1, "waiting"), session(2, "busy")), look=Look(unicode=False))
    assert shown[2].startswith("> ! waiting  name-1")
    assert shown[3].startswith("  * busy     name-2")


@pytest.mark.parametrize("rows", range(1, 12))
@pytest.mark.parametrize("columns", [2, 10, 20, 33, 59, 60, 200])
def test_any_size_holds(columns: int, rows: int) -> None:
    model = page(*(session(n, "waiting", waiting_for="a dialog") for n in range(1, 9)))
    model.receive(TriggerActivity("t.json", NOW, "done", ok=False, error="not sent", reason="why"))
    lines(model, columns, rows)
    for keys in (b"n", b"\r", b"\x1bx", b"n?"):
        reader = ListKeys()
        for key in reader.feed(keys) + reader.flush():
            model.press(key, 1)
        lines(model, columns, rows)


@pytest.mark.parametrize(("keys", "name"), [(b"", "name-1"), (b"G", "name-50"), (b"\x1b[6~\x1b[6~", "name-21")])
def test_the_selected_row_is_in_sight(keys: bytes, name: str) -> None:
    shown = lines(page(*(session(n) for n in range(1, 51)), keys=keys), rows=10)
    assert sum(line.startswith("▸") for line in shown) == 1
    assert any(line.startswith(f"▸ ○ idle     {name} ") for line in shown)


def test_the_first_minute() -> None:
    shown = "\n".join(lines(page()))
    assert "Press n to start a session" in shown
    assert 'switchboard send ID "Say hello."' in shown


def test_nothing_is_said_of_an_empty_list_before_the_host_has_sent_it() -> None:
    assert "Nothing runs" not in "\n".join(lines(Model(Where("/", "/"))))


def test_disconnected() -> None:
    model = page(session(1))
    model.lost()
    shown = picture(model, Frame(80, 24, NOW, 0, Look()))
    header, notice = shown.rows[0], shown.rows[-2]
    assert "NOT CONNECTED" in [span.text for span in header]
    assert notice[0].style is Style.WARNING
    assert any(line.startswith("▸ ○ idle     name-1") for line in lines(model))


@pytest.mark.parametrize(
    ("trigger", "shown"),
    [
        (TriggerActivity("a.json", NOW, "received"), "↳ trigger a: received"),
        (TriggerActivity("a.json", NOW, "waiting", session_id="id-1"), "↳ trigger a to name-1: waits"),
        (TriggerActivity("a.json", NOW, "opening", session_id="nobody"), "↳ trigger a: opens"),
        (TriggerActivity("a.json", NOW, "writing", session_id="nobody"), "↳ trigger a: is typed"),
        (
            TriggerActivity("a.json", NOW, "writing", session_id="nobody", target="b\x1build"),
            "↳ trigger a to b uild: is typed",
        ),
        (TriggerActivity("a.json", NOW, "waiting", session_id="id-1", target="x"), "↳ trigger a to name-1: waits"),
        (TriggerActivity("a.json", NOW, "stopping", session_id="id-1"), "↳ trigger a to name-1: stops"),
        (TriggerActivity("a.json", NOW, "done", ok=True, submitted="assumed"), "↳ trigger a: done, submitted: assumed"),
        (
            TriggerActivity("a.json", NOW, "done", ok=False, error="not sent", reason="a dialog"),
            "↳ trigger a: failed: not sent (a dialog)",
        ),
        (TriggerActivity("a\x1b[2J.json", NOW, "received"), "↳ trigger a [2J: received"),
        (TriggerActivity("x" * 40, NOW, "received"), f"↳ trigger {'x' * 19}…: received"),
    ],
)
def test_triggers(trigger: TriggerActivity, shown: str) -> None:
    model = page(session(1))
    model.receive(trigger)
    assert lines(model)[-3].removesuffix("now").rstrip() == shown


@pytest.mark.parametrize(("rows", "names"), [(24, ["b", "c", "d"]), (20, ["d"]), (7, [])])
def test_how_many_triggers_are_shown(rows: int, names: list[str]) -> None:
    model = page(session(1))
    for name in "abcd":
        model.receive(TriggerActivity(name, NOW, "received"))
    assert [line.split()[2].rstrip(":") for line in lines(model, rows=rows) if "trigger" in line] == names


@pytest.mark.parametrize(
    ("keys", "question", "hint"),
    [
        (b"n", "CLI [agent]:", "Enter takes it, Esc drops it · agent, claude, shell, codex, …"),
        (b"nsh", "CLI [agent]: sh", "Enter takes it, Esc drops it · agent, claude, shell, codex, …"),
        (b"n\r", "Directory [/jobs/shop]:", "Enter takes it, Esc drops it · where it works"),
        (b"R", "Name: name-1", "Enter takes it, Esc drops it"),
        (b"x", "Stop name-1? [y/N]", "y means yes; every other key means no"),
    ],
)
def test_questions(keys: bytes, question: str, hint: str) -> None:
    model = page(session(1), keys=keys)
    assert lines(model)[-2:] == [question, hint]
    cursor = picture(model, Frame(80, 24, NOW, 0, Look())).cursor
    assert cursor == (22, len(question) + question.endswith(":"))


def test_a_long_answer_shows_its_end() -> None:
    model = page(session(1), keys=b"n\r" + b"/a/very/long/path" * 5)
    asked = lines(model, 40)[-2]
    assert asked == "Directory [/jobs/shop]: …very/long/path"


def test_a_long_question_is_shown_whole() -> None:
    model = page(session(1), keys=b"xy")
    model.receive(messages.Done(1, False, "still running"))
    shown = " ".join(lines(model, 40)[-4:-1])
    assert shown == "name-1 did not end: still running. End it by force? What it has not saved is lost. [y/N]"


def test_no_cursor_without_a_question() -> None:
    assert picture(page(session(1)), Frame(80, 24, NOW, 0, Look())).cursor is None


def test_help() -> None:
    shown = lines(page(session(1), keys=b"?"))
    assert shown[0] == "In the list (nothing typed here reaches a session)"
    assert any("Ctrl-]" in line for line in shown)
    assert shown[-1] == "Any key goes back."


def test_help_names_the_page_that_triggers_open_sessions_in() -> None:
    model = page(session(1), keys=b"?")
    model.receive(messages.Role(True))
    assert lines(model)[-1] == "This page opens what triggers ask for. Any key goes back."


def test_names_are_not_obeyed() -> None:
    model = page(session(1, name="\x1b[31mred\u202e", project="/a/\x1b[2J", waiting_for="\x9bx", cli="\x07"))
    assert not any(c in line for line in lines(model) for c in "\x1b\x9b\x07\u202e")


@pytest.mark.parametrize(("rows", "moves"), [(24, 19), (5, 1), (1, 1)])
def test_page_rows(rows: int, moves: int) -> None:
    assert page_rows(rows) == moves
