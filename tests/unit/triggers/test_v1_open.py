"""Opening: what is done, in which order, and what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.lifecycle import CWD, ID, OTHER, House, MemorySession

from switchboard.clis.closed_sessions import NoReadableTranscript, SessionNotFound
from switchboard.clis.liveness import LiveElsewhere, Unknown, Where
from switchboard.clis.projects import NoDirectory, ProjectHidden, ProjectMark
from switchboard.common.clock import sleep_until
from switchboard.delivery.lifecycle import PageRefused

WHERE = Where(77, "/w", 1, "/s/77.json")
OPEN: dict[str, Any] = {"action": "open", "sessionId": ID}
PROMPT: dict[str, Any] = {**OPEN, "prompt": "hello"}
NEW: dict[str, Any] = {"action": "open", "new": {"project": CWD, "name": " n "}, "prompt": "hello"}
NEW_ID = "000000a0-0000-4000-8000-000000000000"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def writes(house: House) -> list[str]:
    return [call for call in house.calls if call.startswith("write")]


# --- open here --------------------------------------------------------------------------------------------------------


async def test_open_here_delivers_once_and_starts_nothing(house: House) -> None:
    house.open_here()
    result = await house.ask(PROMPT)
    assert (result["ok"], result["outcome"], result["reason"], result["sessionId"]) == (True, "opened", None, ID)
    assert (result["resumed"], result["submitted"], result["wrote"], result["steps_total"]) == (
        False,
        "confirmed",
        True,
        1,
    )
    assert house.deeds() == [
        f"reattach {ID} key {ID} generation 1",
        "write b'hello' to 1",
        "write b'\\r' to 1",
    ]
    assert house.steps == ["waiting", "opening", "writing"]
    assert house.marker() is None


async def test_open_here_without_a_prompt_types_nothing(house: House) -> None:
    house.open_here()
    result = await house.ask(OPEN)
    assert (result["ok"], result["resumed"], result["submitted"]) == (True, False, "no")
    assert (result["wrote"], result["steps_total"]) == (False, 0)
    assert house.deeds() == [f"reattach {ID} key {ID} generation 1"]


async def test_a_session_that_was_just_created_needs_no_transcript(house: House) -> None:
    house.open_here()
    house.lookup.known[ID] = SessionNotFound()
    assert (await house.ask(OPEN))["outcome"] == "opened"
    assert f"resolve {ID}" not in house.calls


async def test_the_key_of_the_terminal_is_asked_for_and_the_requested_id_is_answered(house: House) -> None:
    """A was continued as B: the page is asked for B, the caller is told A, and nothing is started."""
    session = house.open_here(ID)
    house.sessions.rekey(ID, OTHER)
    result = await house.ask({**PROMPT, "sessionId": ID.upper()})
    assert (result["ok"], result["sessionId"], result["resumed"]) == (True, ID, False)
    assert house.deeds()[0] == f"reattach {ID} key {OTHER} generation 1"
    assert session.typed == b"hello\r"
    assert house.page.started == []


async def test_nothing_is_typed_before_the_page_has_answered(house: House) -> None:
    house.open_here()
    house.page.ack_after = 700
    task = house.begin(PROMPT)
    await house.clock.advance(699)
    assert writes(house) == []
    await house.clock.advance(1)
    assert writes(house) == ["write b'hello' to 1"]
    await house.clock.run(wait_for(task))


async def wait_for(task: asyncio.Task[Any]) -> Any:
    return await task


async def replace(house: House) -> None:
    house.sessions.forget(ID)
    house.open_here()


async def remove(house: House) -> None:
    house.sessions.forget(ID)


async def end(house: House) -> None:
    session = house.sessions.find(ID)
    assert session is not None
    session.exit()


@pytest.mark.parametrize("change", [replace, remove, end])
@pytest.mark.parametrize("prompt", [OPEN, PROMPT], ids=["no prompt", "prompt"])
async def test_a_session_that_is_lost_while_the_page_answers_is_not_replaced(
    house: House, change: Callable[[House], Awaitable[None]], prompt: dict[str, Any]
) -> None:
    house.open_here()
    house.closed()
    house.page.during = lambda: change(house)
    result = await house.ask(prompt)
    assert (result["outcome"], result["reason"]) == ("refused", "session target changed")
    assert (result["resumed"], result["wrote"]) == (False, False)
    assert "uncertain" not in result
    assert writes(house) == []
    assert house.page.started == []


@pytest.mark.parametrize("change", [replace, remove, end])
async def test_nor_one_that_is_lost_while_the_page_is_awaited(
    house: House, change: Callable[[House], Awaitable[None]]
) -> None:
    house.open_here()
    house.closed()
    house.page.ready_at = 500
    task = house.begin(PROMPT)
    await house.clock.advance(100)
    await change(house)
    result = await house.clock.run(wait_for(task))
    assert result["reason"] == "session target changed"
    assert house.deeds() == []
    assert house.marker() is None


async def test_a_session_that_is_rekeyed_while_the_page_answers_is_still_the_one(house: House) -> None:
    session = house.open_here()

    async def clear() -> None:
        house.sessions.rekey(ID, OTHER)

    house.page.during = clear
    assert (await house.ask(PROMPT))["ok"] is True
    assert session.typed == b"hello\r"


# --- resume -----------------------------------------------------------------------------------------------------------


async def test_a_closed_session_is_opened_once_and_then_gets_its_prompt(house: House) -> None:
    house.closed()
    result = await house.ask(PROMPT)
    assert (result["ok"], result["outcome"], result["resumed"]) == (True, "opened", True)
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("confirmed", True, 1)
    assert house.deeds() == [
        f"open {ID} in {CWD}",
        f"spawn {ID} in {CWD}",
        "write b'hello' to 1",
        "write b'\\r' to 1",
    ]
    assert house.marker() is None


async def test_a_closed_session_without_a_prompt_is_open_when_the_page_shows_it(house: House) -> None:
    """Its CLI has not shown itself, and need not: opening is all that was asked for."""
    house.closed()
    house.page.on_start = lambda session: session.update(starting=True)
    result = await house.ask(OPEN)
    assert (result["ok"], result["resumed"], result["wrote"], result["steps_total"]) == (True, True, False, 0)
    assert house.elapsed == 0


async def test_each_gate_is_asked_again_on_the_way(house: House) -> None:
    house.closed()
    await house.ask(OPEN)
    assert house.calls == [
        f"liveness {ID}",
        f"resolve {ID}",
        f"admit {CWD}",
        "ready",
        f"liveness {ID}",
        f"open {ID} in {CWD}",
        f"liveness {ID}",
        f"recheck {ID}",
        f"admit {CWD}",
        f"recheck {ID}",
        f"liveness now {ID}",
        f"spawn {ID} in {CWD}",
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(LiveElsewhere(WHERE), "session live elsewhere"), (Unknown("why"), "session liveness unavailable")],
)
@pytest.mark.parametrize(
    ("place", "asked_of_the_page"),
    [(1, False), (2, True), (3, True)],
    ids=["before the page is asked", "while it is prepared", "at the very end"],
)
@pytest.mark.parametrize("prompt", [OPEN, PROMPT], ids=["no prompt", "prompt"])
async def test_a_writer_that_appears_on_the_way(
    house: House, answer: Any, reason: str, place: int, asked_of_the_page: bool, prompt: dict[str, Any]
) -> None:
    house.closed()
    house.liveness.script = [*[None] * place, answer]
    result = await house.ask(prompt)
    assert (result["reason"], result["resumed"]) == (reason, False)
    assert any(call.startswith("open") for call in house.calls) is asked_of_the_page
    assert house.page.started == []
    assert house.marker() is None


def transcript_gone(house: House) -> None:
    house.lookup.known[ID] = NoReadableTranscript("it was removed")


def project_hidden(house: House) -> None:
    house.projects.known[CWD] = ProjectHidden(ProjectMark(CWD, hidden_at=1))


def directory_gone(house: House) -> None:
    house.directories.clear()
    house.projects.known[CWD] = NoDirectory()


def remote_now(house: House) -> None:
    house.sessions.remotes.add(ID)


def closes(house: House) -> None:
    house.close()


def opened_by_a_click(house: House) -> None:
    house.open_here()


CHANGES = [
    (transcript_gone, "no readable transcript"),
    (directory_gone, "project directory does not exist"),
    (remote_now, "remote sessions are not supported"),
    (closes, "Switchboard is closing."),
    (opened_by_a_click, "session open failed"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES, ids=lambda value: getattr(value, "__name__", None))
async def test_what_changes_between_preparation_and_start(
    house: House, change: Callable[[House], None], reason: str
) -> None:
    house.closed()

    async def during() -> None:
        change(house)

    house.page.during = during
    result = await house.ask(PROMPT)
    assert (result["reason"], result["resumed"], result["wrote"]) == (reason, False, False)
    assert house.page.started == []
    assert writes(house) == []


async def test_a_project_that_is_hidden_before_the_page_prepares(house: House) -> None:
    house.closed()
    house.page.ready_at = 500
    task = house.begin(PROMPT)
    await house.clock.advance(100)
    project_hidden(house)
    assert (await house.clock.run(wait_for(task)))["reason"] == "project is archived"
    assert house.page.started == []


async def test_nothing_is_started_at_the_deadline(house: House) -> None:
    house.closed()
    house.page.prepared_after = 1000
    result = await house.ask({**PROMPT, "timeout_ms": 1000})
    assert (result["reason"], result["resumed"]) == ("session action timed out", False)
    assert house.page.started == []


async def test_nor_when_looking_at_everything_took_until_then(house: House) -> None:
    house.closed()
    house.page.prepared_after = 500
    look = house.liveness.check_now

    def slow(session_id: str, exclude: object = ()) -> Any:
        house.clock.sleep(0.5)
        return look(session_id, exclude)

    house.liveness.check_now = slow  # type: ignore[method-assign] # a folder of many descriptors
    result = await house.ask({**PROMPT, "timeout_ms": 1000})
    assert (result["reason"], result["resumed"]) == ("session action timed out", False)
    assert house.page.started == []


async def test_one_millisecond_earlier_it_is(house: House) -> None:
    house.closed()
    house.page.prepared_after = 999
    assert (await house.ask({**OPEN, "timeout_ms": 1000}))["resumed"] is True


async def test_a_session_that_was_opened_while_the_page_was_awaited_is_only_shown(house: House) -> None:
    house.closed()
    house.page.ready_at = 500
    task = house.begin(PROMPT)
    await house.clock.advance(100)
    session = house.open_here()
    result = await house.clock.run(wait_for(task))
    assert (result["ok"], result["resumed"]) == (True, False)
    assert house.page.started == []
    assert session.typed == b"hello\r"


async def test_a_click_that_the_page_joins_has_started_it_and_not_this_request(house: House) -> None:
    house.closed()

    async def click() -> None:
        house.open_here()

    house.page.during = click
    house.page.joins = True
    result = await house.ask(PROMPT)
    assert (result["ok"], result["resumed"]) == (True, False)


@pytest.mark.parametrize("reason", ["renderer unavailable", "renderer action timed out", "session target changed"])
async def test_what_fails_after_the_start_leaves_the_session_open(house: House, reason: str) -> None:
    house.closed()
    house.page.fails = PageRefused(reason, "why", uncertain=True)
    result = await house.ask(PROMPT)
    assert (result["outcome"], result["reason"], result["detail"]) == ("refused", reason, "why")
    assert (result["resumed"], result["sessionId"], result["uncertain"]) == (True, ID, True)
    assert (result["submitted"], result["wrote"]) == ("no", False)
    assert house.sessions.stops == []
    assert writes(house) == []
    assert house.sessions.find(ID) is house.page.started[0]


async def test_a_page_that_never_answers(house: House) -> None:
    house.closed()
    house.page.ack_after = None
    result = await house.ask({**PROMPT, "timeout_ms": 5000})
    assert (result["reason"], result["resumed"], result["wrote"]) == ("renderer action timed out", True, False)
    assert house.elapsed == 5000
    await house.clock.advance(60_000)
    assert writes(house) == []


async def test_a_page_that_shows_another_session_than_the_one_that_was_started(house: House) -> None:
    house.closed()
    other = house.open_here(OTHER)
    house.page.instead = lambda _started: other
    result = await house.ask(PROMPT)
    assert (result["reason"], result["resumed"]) == ("session target changed", True)
    assert writes(house) == []


async def test_a_session_that_ended_before_the_page_showed_it(house: House) -> None:
    house.closed()

    def ends(started: MemorySession | None) -> MemorySession:
        assert started is not None
        started.exit()
        return started

    house.page.instead = ends
    assert (await house.ask(OPEN))["reason"] == "session exited during wait"


# --- new --------------------------------------------------------------------------------------------------------------


async def test_a_new_session_gets_a_reserved_id_its_name_and_its_prompt(house: House) -> None:
    house.page.on_start = house.comes_up
    result = await house.ask(NEW)
    assert (result["ok"], result["created"], result["sessionId"]) == (True, True, NEW_ID)
    assert "resumed" not in result
    assert house.deeds() == [
        f"open {NEW_ID} named 'n' in {CWD}",
        f"spawn {NEW_ID} in {CWD}",
        "write b'hello' to 1",
        "write b'\\r' to 1",
    ]


async def test_a_name_that_cannot_be_saved_keeps_the_session(house: House) -> None:
    house.page.fails = PageRefused("session name could not be saved", "the database cannot be used")
    result = await house.ask(NEW)
    assert (result["reason"], result["created"], result["sessionId"]) == (
        "session name could not be saved",
        True,
        NEW_ID,
    )
    assert house.sessions.find(NEW_ID) is not None
    assert writes(house) == []


async def test_a_start_that_fails(house: House) -> None:
    house.page.refuses = PageRefused("session open failed", "sandboxed sessions cannot be started yet")
    result = await house.ask(NEW)
    assert (result["reason"], result["created"]) == ("session open failed", False)
    assert house.page.started == []


async def test_a_page_that_says_it_is_open_when_nothing_was_started(house: House) -> None:
    other = house.open_here(OTHER)
    house.page.joins = True
    house.page.instead = lambda _started: other
    house.sessions.add(NEW_ID)
    result = await house.ask(NEW)
    assert (result["reason"], result["created"]) == ("session open failed", False)
    assert writes(house) == []


async def test_a_project_that_goes_while_the_page_prepares(house: House) -> None:
    async def during() -> None:
        house.directories.clear()

    house.page.during = during
    assert (await house.ask(NEW))["reason"] == "project directory does not exist"
    assert house.page.started == []


async def test_others_wait_behind_the_request_that_made_the_session(house: House) -> None:
    house.page.on_start = house.comes_up
    first = house.begin(NEW)
    await house.clock.advance(100)
    second = house.begin({**OPEN, "sessionId": NEW_ID, "prompt": "second"})
    house.at(5000, lambda: house.page.started[0].show("idle"))
    await house.clock.run(wait_for(second))
    assert first.done()
    assert house.page.started[0].typed == b"hello\rsecond\r"


# --- the page ---------------------------------------------------------------------------------------------------------

KINDS = [("resume", OPEN), ("resume with prompt", PROMPT), ("new", NEW), ("here", PROMPT)]


@pytest.fixture(params=KINDS, ids=[name for name, _ in KINDS])
def kind(request: pytest.FixtureRequest, house: House) -> dict[str, Any]:
    name, body = request.param
    if name == "here":
        house.open_here()
    else:
        house.closed()
    return dict(body)


async def test_window_is_absent(house: House, kind: dict[str, Any]) -> None:
    house.page.window = False
    result = await house.ask(kind)
    assert (result["reason"], house.elapsed) == ("window not available", 0)
    assert house.deeds() == []


async def test_window_exists_and_the_page_is_not_ready(house: House, kind: dict[str, Any]) -> None:
    house.page.ready_at = 2000
    task = house.begin(kind)
    await house.clock.advance(1999)
    assert house.deeds() == []
    assert (await house.clock.run(wait_for(task)))["outcome"] == "opened"


async def test_the_page_is_never_ready(house: House, kind: dict[str, Any]) -> None:
    house.page.ready_at = None
    result = await house.ask({**kind, "timeout_ms": 3000})
    assert (result["reason"], house.elapsed) == ("renderer not ready", 3000)
    assert house.deeds() == []


async def test_the_host_closes_while_the_page_is_awaited(house: House, kind: dict[str, Any]) -> None:
    house.page.ready_at = None
    task = house.begin(kind)
    await house.clock.advance(100)
    house.close()
    result = await wait_for(task)
    assert result["reason"] == "Switchboard is closing."
    assert house.deeds() == []


async def test_the_host_closes_while_the_page_works(house: House, kind: dict[str, Any]) -> None:
    ended: list[str] = []

    async def during() -> None:
        try:
            await sleep_until(house.clock, house.start + 60_000)
        finally:
            ended.append("the page gave up")

    house.page.during = during
    task = house.begin(kind)
    await house.clock.advance(100)
    house.close()
    result = await wait_for(task)
    assert (result["reason"], result.get("resumed", result.get("created"))) == ("Switchboard is closing.", False)
    assert ended
    await house.clock.advance(120_000)
    assert house.page.started == []
    assert writes(house) == []


async def test_a_marker_that_cannot_be_made(house: House, kind: dict[str, Any]) -> None:
    stem = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
    Path(house.spool.results, f"{stem}.action.json").write_text("another's")
    result = await house.ask(kind, stem=stem)
    assert result["reason"] == "action state could not be saved"
    assert house.deeds() == []


async def test_a_fault_of_ours_inside_the_page_is_no_refusal(house: House, kind: dict[str, Any]) -> None:
    async def during() -> None:
        raise ZeroDivisionError("a fault")

    house.page.during = during
    with pytest.raises(ZeroDivisionError):
        await house.ask(kind)
    result = house.actions[0].failed("ZeroDivisionError: a fault")
    assert (result["reason"], result["error"]) == ("internal error", "internal error: ZeroDivisionError: a fault")
