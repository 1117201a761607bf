"""One word for what a session does, and the rest of its row."""

from __future__ import annotations

import signal

import pytest
from tests.support.fake_clock import START
from tests.support.sessions import hosted

from switchboard.common.facts import CliStatus
from switchboard.page.messages import ExitStatus, SessionInfo
from switchboard.page.session_info import session_called, session_info, status_word
from switchboard.sessions.keeper_client import ExitReport

BUSY_TITLE = "\x1b]0;⠋ x\x07".encode()


@pytest.mark.parametrize(
    ("profile", "status", "title", "word"),
    [
        ("claude", None, False, "starting"),
        ("claude", None, True, "starting"),
        ("claude", "idle", False, "idle"),
        ("claude", "idle", True, "idle"),
        ("claude", "busy", False, "busy"),
        ("claude", "waiting", False, "waiting"),
        ("claude", "shell", False, "shell"),
        ("claude", "unpublished", False, "starting"),
        ("claude", "unpublished", True, "starting"),
        ("claude", "gone", False, "unknown"),
        ("claude", "gone", True, "busy"),
        ("shell", None, False, "running"),
        ("shell", None, True, "busy"),
        ("codex", None, False, "running"),
        ("attach", None, False, "running"),
    ],
    ids=lambda value: "" if isinstance(value, bool) else str(value),
)
async def test_the_word_of_a_running_session(profile: str, status: str | None, title: bool, word: str) -> None:
    """`unpublished`: a descriptor without a known status; `gone`: there was one."""
    with hosted(profile) as stand:
        stand.session.start()
        if title:
            await stand.prints(BUSY_TITLE)
        if status is not None:
            word_of = {"unpublished": None, "gone": "idle"}
            stand.session.observed_status(CliStatus(word_of.get(status, status), 5))
        if status == "gone":
            stand.session.observed_status(None)
        assert status_word(stand.session) == word


@pytest.mark.parametrize(
    ("code", "number", "word"),
    [
        (0, None, "exited"),
        (1, None, "failed"),
        (127, None, "failed"),
        (128 + 1, None, "exited"),
        (128 + 2, None, "exited"),
        (128 + 15, None, "exited"),
        (128 + 9, None, "failed"),
        (None, signal.SIGHUP, "exited"),
        (None, signal.SIGINT, "exited"),
        (None, signal.SIGTERM, "exited"),
        (None, signal.SIGKILL, "failed"),
        (None, signal.SIGSEGV, "failed"),
        (None, None, "exited"),
    ],
    ids=[
        "by itself",
        "with an error",
        "not found",
        "told by SIGHUP",
        "told by SIGINT",
        "told by SIGTERM",
        "its child was killed",
        "SIGHUP",
        "SIGINT",
        "SIGTERM",
        "SIGKILL",
        "a crash",
        "nobody could see it",
    ],
)
async def test_the_word_of_an_ended_session(code: int | None, number: int | None, word: str) -> None:
    with hosted("claude") as stand:
        stand.session.start()
        stand.session.observed_status(CliStatus("busy", 5))
        stand.session.exited(ExitReport(code, number, START))
        info = session_info(stand.session)
        assert (info.status, info.state) == (word, "exited")
        assert info.exit == ExitStatus(code, number)


async def test_the_row_of_a_new_session() -> None:
    fields = {"name": "a name", "columns": 100, "rows": 30}
    with hosted("claude", handle=4, pid=77, key="k", generation=9, launched_at=123, cwd="/srv/x", **fields) as stand:
        stand.session.start()
        assert session_info(stand.session) == SessionInfo(
            id="k",
            state="open",
            cli="claude",
            status="starting",
            handle=4,
            generation=9,
            kind="agent",
            name="a name",
            title=None,
            project="/srv/x",
            cwd="/srv/x",
            pid=77,
            opened_at=123,
            columns=100,
            rows=30,
        )


async def test_a_row_tells_of_a_sandbox() -> None:
    with hosted("claude", sandbox=True) as stand:
        assert session_info(stand.session).sandbox is True
    with hosted("claude") as stand:
        assert session_info(stand.session).sandbox is False


async def test_the_proven_status_of_a_sandboxed_session_is_shown() -> None:
    with hosted("claude", sandbox=True) as stand:
        stand.session.observed_proof(CliStatus("waiting", 5, "approval"))
        info = session_info(stand.session)
        assert (info.status, info.waiting_for, info.status_since) == ("waiting", "approval", 5)
        assert stand.session.facts.value.status is None
        changed = stand.seen.changed
        stand.session.observed_proof(CliStatus("waiting", 5, "approval"))
        assert stand.seen.changed == changed, "nothing new, nothing told"
        stand.session.observed_proof(None)
        assert (status_word(stand.session), session_info(stand.session).waiting_for) == ("unknown", None)


async def test_what_changes_in_a_row() -> None:
    with hosted("claude", project="/srv") as stand:
        session = stand.session
        session.start()
        await stand.prints(BUSY_TITLE + b"\x1b]9;needs your approval\x07")
        session.observed_status(CliStatus("waiting", 55, "approval"))
        session.type(b"draft")
        info = session_info(session)
        assert (info.title, info.attention, info.project) == ("x", True, "/srv")
        assert (info.waiting_for, info.status_since, info.draft) == ("approval", 55, True)
        session.type(b"\x15")
        session.seen()
        info = session_info(session)
        assert (info.draft, info.attention) == (False, False)


async def test_texts_of_a_row_only_show() -> None:
    """What an earlier version kept, what a program printed, what a file says."""
    with hosted("claude", name="a\x1b[31m\nname\x9b") as stand:
        session = stand.session
        session.start()
        await stand.prints("\x1b]0;⠋ one\ttwo\u202eowt\u200b\x07".encode())
        session.observed_status(CliStatus("waiting", 55, "app\x1broval"))
        info = session_info(session)
        assert (info.name, info.title, info.waiting_for) == ("a [31m name", "one two owt", "app roval")


@pytest.mark.parametrize(("profile", "kind"), [("claude", "agent"), ("shell", "shell"), ("attach", "attach")])
async def test_the_kind_is_the_profiles(profile: str, kind: str) -> None:
    with hosted(profile) as stand:
        assert session_info(stand.session).kind == kind


@pytest.mark.parametrize(
    ("published", "shown"),
    [("2.1.332", "2.1.332"), (None, None), ("1\x1b[2J\n2", "1 [2J 2"), ("\u202e", None)],
    ids=["a version", "none", "control characters", "nothing of it left"],
)
async def test_the_version_of_the_program_is_what_it_publishes(published: str | None, shown: str | None) -> None:
    with hosted("claude") as stand:
        stand.session.start()
        assert session_info(stand.session).cli_version is None
        stand.session.observed_status(CliStatus("idle", 5, cli_version=published))
        assert session_info(stand.session).cli_version == shown
        stand.session.observed_status(None)
        assert session_info(stand.session).cli_version is None


async def test_what_the_session_of_an_id_is_called() -> None:
    with (
        hosted("claude", key="one", name="first", generation=1) as old,
        hosted("claude", key="one", past=["zero"], name=" second\n", generation=2) as new,
        hosted("claude", key="two") as untitled,
    ):
        for stand in (old, new, untitled):
            stand.session.start()
        sessions = [new.session, old.session, untitled.session]
        assert session_called(sessions, "ONE") == session_called(sessions, "zero") == "second"
        assert session_called(sessions, "two") is session_called(sessions, "three") is None
        await untitled.prints(BUSY_TITLE)
        assert session_called(sessions, "two") == "x"
        new.session.exited(ExitReport(0, None, START))
        assert session_called(sessions, "one") == "first", "the one that is open"
        old.session.exited(ExitReport(0, None, START))
        assert session_called(sessions, "one") == "second", "the newest"
