"""Stopping: every row of the contract about it, and that nothing else is done, now or later.

What a refused stop must never do is looked for in each case: no signal, no byte, and none of it once the result is
there, although by then everything would be well (`stays_running`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.lifecycle import CWD, ID, OTHER, House, MemorySession

from switchboard.clis.liveness import Background, LiveElsewhere, Scheduled, ScheduledRun, Unknown, Where
from switchboard.common.facts import CliStatus, ComposerView
from switchboard.delivery import reasons as delivery
from switchboard.delivery.lifecycle import PageRefused
from switchboard.sessions.stop import StopError
from switchboard.triggers import v1_reasons as reasons

STOP: dict[str, Any] = {"action": "stop", "sessionId": ID}
PROMPT: dict[str, Any] = {"action": "open", "sessionId": ID, "prompt": "hello"}
FIRST = "00000001-aaaa-4000-8000-000000000000"
QUIET = 3000
WHERE = Where(77, "/w", 1, "/s/77.json")
TYPED_AND_DELETED = b"x\x7f"

Act: TypeAlias = Callable[[House, MemorySession], None]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def ends(task: asyncio.Task[Any]) -> Any:
    return await task


def kills(house: House) -> list[str]:
    return [call for call in house.calls if call.startswith("stop")]


async def stays_running(house: House, session: MemorySession, result: Mapping[str, Any], reason: str) -> None:
    """The stop was refused: nothing was sent, nothing was typed, and nothing will be."""
    assert (result["ok"], result["outcome"], result["reason"]) == (False, "refused", reason)
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("no", False, 0)
    assert "uncertain" not in result
    assert session.writes == []
    await nothing_later(house, session, result)


async def nothing_later(house: House, session: MemorySession, result: Mapping[str, Any]) -> None:
    assert kills(house) == []
    writes = list(session.writes)
    if session.facts.value.present:
        session.owner_lives, session.cwd = True, CWD
        session.show("idle", ago=60_000, busy=False, composer=ComposerView(0, 0))
    await house.clock.advance(700_000)
    assert (kills(house), session.writes) == ([], writes), "something was done after the result"
    assert house.result(FIRST) == result, "the result was changed"
    assert house.marker() is None
    again = await house.ask({"action": "open", "sessionId": ID, "timeout_ms": 1})
    assert again["reason"] != reasons.TIMED_OUT, "the session's queue is blocked"


def before_the_guard(house: House, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """The composer was found free and the marker is written; then this happens, and then all is looked at once more."""
    create = house.spool.create_marker

    def hooked(stem: str, data: bytes) -> None:
        create(stem, data)
        act()

    monkeypatch.setattr(house.spool, "create_marker", hooked)


# --- a session at rest ------------------------------------------------------------------------------------------------


async def test_an_idle_session_is_stopped_once_by_the_shared_backend_and_closed_when_it_has_ended(house: House) -> None:
    session, sibling = house.open_here(), house.open_here(OTHER)
    session.ends_after = None
    task = house.begin({**STOP, "timeout_ms": 60_000})
    await house.clock.advance(0)
    assert house.sessions.stops == [(session, house.start + 60_000)]
    await house.clock.advance(50_000)
    assert not task.done(), "closed before the exit"
    sibling.exit()
    house.sessions.forget(ID)
    await house.clock.advance(1)
    assert not task.done(), "closed by something else than the exit of the session that was stopped"
    session.exit()
    result = await task
    assert (result["ok"], result["outcome"], result["reason"], result["sessionId"]) == (True, "closed", None, ID)
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("no", False, 0)
    assert "uncertain" not in result
    assert "resumed" not in result
    assert house.calls == ["ready", "stop 1"]
    assert house.steps == ["waiting", "stopping"]
    assert house.marker() is None


async def test_that_it_stops_is_told_when_the_signal_is_out_and_not_before(house: House) -> None:
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    task = house.begin(STOP)
    await house.clock.advance(QUIET - 1)
    assert house.steps == ["waiting"]
    house.sessions.cannot_stop = StopError("no")
    await house.clock.run(ends(task))
    assert house.steps == ["waiting"], "it was told of a stop that nobody was asked for"


async def test_the_marker_stands_before_the_signal_and_tells_of_it_afterwards(house: House) -> None:
    session = house.open_here()
    phases: list[str] = []

    def look(_session: MemorySession) -> None:
        phases.append((house.marker() or {})["phase"])

    house.sessions.on_stop = look
    house.at(100, lambda: look(session))
    await house.ask(STOP)
    assert phases == ["claimed", "stop-requested"]


async def test_a_stop_uses_no_token_of_the_limiter(house: House) -> None:
    house.open_here()
    await house.ask(STOP)
    assert [house.bench.limiter.reserve(house.clock.now()) is not None for _ in range(4)] == [True, True, True, False]


def is_busy_by_its_flag(_house: House, session: MemorySession) -> None:
    session.update(busy=True)


def is_busy(_house: House, session: MemorySession) -> None:
    session.show("busy", ago=20)


def is_waiting(_house: House, session: MemorySession) -> None:
    session.show("waiting", ago=20)


def is_shell(_house: House, session: MemorySession) -> None:
    session.show("shell", ago=20)


def has_no_status(_house: House, session: MemorySession) -> None:
    session.update(status=None)


def has_no_stamp(_house: House, session: MemorySession) -> None:
    session.update(status=CliStatus("idle", None))


def is_starting(_house: House, session: MemorySession) -> None:
    session.update(status=None, starting=True)


def has_text(_house: House, session: MemorySession) -> None:
    session.type(b"half a thought")


def is_unseen(_house: House, session: MemorySession) -> None:
    session.update(composer=None)


STATES: dict[str, tuple[Act, str]] = {
    "busy flag": (is_busy_by_its_flag, reasons.BUSY),
    "busy": (is_busy, reasons.BUSY),
    "waiting": (is_waiting, reasons.DIALOG),
    "shell": (is_shell, reasons.SHELL),
    "unknown": (has_no_status, reasons.STATE_UNAVAILABLE),
    "no usable stamp": (has_no_stamp, reasons.STATE_UNAVAILABLE),
    "starting": (is_starting, reasons.STATE_UNAVAILABLE),
    "pending composer": (has_text, reasons.UNSUBMITTED),
    "composer unobservable": (is_unseen, reasons.COMPOSER_UNAVAILABLE),
}


@pytest.mark.parametrize("name", STATES)
async def test_a_bare_stop_is_refused_at_once(house: House, name: str) -> None:
    act, reason = STATES[name]
    session = house.open_here()
    act(house, session)
    result = await house.ask(STOP)
    assert house.elapsed == 0, "it was waited out"
    assert house.calls == ["ready"]
    await stays_running(house, session, result, reason)


@pytest.mark.parametrize("composer", [has_text, is_unseen])
@pytest.mark.parametrize("name", ["busy flag", "busy", "waiting", "shell", "unknown"])
async def test_the_state_is_told_before_the_composer(house: House, name: str, composer: Act) -> None:
    act, reason = STATES[name]
    session = house.open_here()
    act(house, session)
    composer(house, session)
    await stays_running(house, session, await house.ask(STOP), reason)


async def test_the_diagnosis_stands_in_the_detail(house: House) -> None:
    session = house.open_here()
    session.type(b"hello")
    assert (await house.ask(STOP))["detail"] == delivery.composer_pending("5")
    session.update(status=CliStatus("waiting", house.clock.now(), "permission prompt"))
    assert (await house.ask(STOP))["detail"] == "permission prompt"


# --- the quiet window, with the real composer -------------------------------------------------------------------------


@pytest.mark.parametrize("quiet", [QUIET, 700])
async def test_a_stop_waits_for_the_end_of_the_quiet_window(tmp_path: Path, quiet: int) -> None:
    house = House(tmp_path, SWITCHBOARD_TRIGGER_QUIET_MS=str(quiet))
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    assert session.facts.value.composer == ComposerView(0, house.start)
    await house.clock.advance(100)
    task = house.begin(STOP)
    await house.clock.advance(quiet - 101)
    assert kills(house) == [], "empty was taken for quiet"
    await house.clock.advance(1)
    assert kills(house) == ["stop 1"]
    assert not task.done(), "closed before the exit"
    result = await house.clock.run(ends(task))
    assert (result["outcome"], kills(house), session.writes) == ("closed", ["stop 1"], [])


@pytest.mark.parametrize("timeout", [QUIET - 101, QUIET - 100], ids=["before its end", "exactly at its end"])
async def test_a_deadline_in_the_quiet_window_refuses(house: House, timeout: int) -> None:
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    await house.clock.advance(100)
    result = await house.ask({**STOP, "timeout_ms": timeout})
    assert house.elapsed == 100 + timeout
    await stays_running(house, session, result, reasons.NOT_QUIET)


async def test_the_end_of_the_window_counts_while_the_deadline_is_later(house: House) -> None:
    session = house.open_here()
    session.ends_after = 0
    session.type(TYPED_AND_DELETED)
    assert (await house.ask({**STOP, "timeout_ms": QUIET + 1}))["outcome"] == "closed"
    assert house.elapsed == QUIET


async def test_admission_exactly_at_the_end_of_the_window(house: House) -> None:
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    await house.clock.advance(QUIET)
    house.begin(STOP)
    await house.clock.advance(0)
    assert kills(house) == ["stop 1"]
    await house.clock.advance(200)


async def test_another_key_that_leaves_it_empty_starts_the_window_anew(house: House) -> None:
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    task = house.begin(STOP)
    await house.clock.advance(QUIET - 1)
    session.type(TYPED_AND_DELETED)
    await house.clock.advance(QUIET - 1)
    assert kills(house) == []
    await house.clock.advance(1)
    assert kills(house) == ["stop 1"]
    assert (await house.clock.run(ends(task)))["ok"] is True


async def test_the_window_that_starts_anew_does_not_move_the_deadline(house: House) -> None:
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    task = house.begin({**STOP, "timeout_ms": QUIET + 1000})
    await house.clock.advance(2000)
    session.type(TYPED_AND_DELETED)
    result = await house.clock.run(ends(task))
    assert house.elapsed == QUIET + 1000
    assert result["detail"] == delivery.composer_recent("2000", str(QUIET))
    await stays_running(house, session, result, reasons.NOT_QUIET)


@pytest.mark.parametrize("name", STATES)
async def test_what_changes_in_the_quiet_window_refuses_at_once(house: House, name: str) -> None:
    act, reason = STATES[name]
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    task = house.begin(STOP)
    await house.clock.advance(1000)
    act(house, session)
    result = await house.clock.run(ends(task))
    assert house.elapsed == 1000
    await stays_running(house, session, result, reason)


async def test_at_the_deadline_nothing_else_is_told(house: House) -> None:
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    house.at(1000, lambda: session.show("busy"))
    house.at(1000, lambda: session.type(b"y"))
    result = await house.ask({**STOP, "timeout_ms": 1000})
    await stays_running(house, session, result, reasons.NOT_QUIET)


async def test_an_idle_that_is_only_a_blip_is_no_idle(house: House) -> None:
    session = house.open_here()
    session.show("idle", ago=5)
    house.at(10, lambda: session.show("busy"))
    await stays_running(house, session, await house.ask(STOP), reasons.BUSY)


async def test_an_idle_that_is_too_young_at_the_deadline_is_no_matter_of_input(house: House) -> None:
    session = house.open_here()
    session.show("idle")
    await stays_running(house, session, await house.ask({**STOP, "timeout_ms": 200}), reasons.TIMED_OUT)


# --- the last look before the signal ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STATES)
async def test_a_stale_permission_does_not_survive_the_last_look(
    house: House, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    act, reason = STATES[name]
    session = house.open_here()
    before_the_guard(house, monkeypatch, lambda: act(house, session))
    await stays_running(house, session, await house.ask(STOP), reason)


async def test_a_key_before_the_last_look_is_waited_for_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = house.open_here()
    before_the_guard(house, monkeypatch, lambda: session.type(TYPED_AND_DELETED))
    task = house.begin(STOP)
    await house.clock.advance(QUIET - 1)
    assert kills(house) == []
    await house.clock.advance(1)
    assert kills(house) == ["stop 1"]
    assert (await house.clock.run(ends(task)))["outcome"] == "closed"


async def test_and_under_the_same_deadline(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = house.open_here()
    before_the_guard(house, monkeypatch, lambda: session.type(TYPED_AND_DELETED))
    await stays_running(house, session, await house.ask({**STOP, "timeout_ms": QUIET}), reasons.NOT_QUIET)


async def test_nothing_is_sent_at_the_deadline(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = house.open_here()
    before_the_guard(house, monkeypatch, lambda: house.clock.sleep(5))
    await stays_running(house, session, await house.ask({**STOP, "timeout_ms": 5000}), reasons.TIMED_OUT)


async def test_nor_when_the_host_closes_at_that_moment(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.open_here()
    before_the_guard(house, monkeypatch, house.close)
    result = await house.ask(STOP)
    assert (result["reason"], result.get("uncertain")) == (reasons.CLOSING, None)
    assert kills(house) == []


# --- the session itself -----------------------------------------------------------------------------------------------


def is_replaced(house: House, session: MemorySession) -> None:
    house.sessions.forget(session.key)
    house.open_here(session.key)


def is_forgotten(house: House, session: MemorySession) -> None:
    house.sessions.forget(session.key)


def has_another_generation(_house: House, session: MemorySession) -> None:
    session.generation += 1


def is_taken_over(_house: House, session: MemorySession) -> None:
    session.writer = (77, "9")


def has_lost_its_owner(_house: House, session: MemorySession) -> None:
    session.owner_lives = False


def is_elsewhere(_house: House, session: MemorySession) -> None:
    session.cwd = "/srv/other"


def is_nowhere(_house: House, session: MemorySession) -> None:
    session.cwd = None


CHANGES: dict[str, tuple[Act, str, str]] = {
    "replaced": (is_replaced, reasons.TARGET_CHANGED, reasons.TARGET_CHANGED),
    "key gone": (is_forgotten, reasons.TARGET_CHANGED, reasons.TARGET_CHANGED),
    "generation": (has_another_generation, reasons.TARGET_CHANGED, reasons.TARGET_CHANGED),
    "writer changed": (is_taken_over, reasons.STATE_UNAVAILABLE, reasons.WRITER_CHANGED),
    "owner ended": (has_lost_its_owner, reasons.STATE_UNAVAILABLE, reasons.TARGET_CHANGED),
    "cwd differs": (is_elsewhere, reasons.CWD_DIFFERS, reasons.CWD_DIFFERS),
    "cwd unknown": (is_nowhere, reasons.CWD_UNKNOWN, reasons.CWD_UNKNOWN),
}
"""What becomes of a session, and how that is told: without a last text, and once one was delivered."""


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "and busy"])
async def test_a_session_that_changes_in_the_quiet_window_is_not_stopped(house: House, name: str, busy: bool) -> None:
    act, reason, _ = CHANGES[name]
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    task = house.begin({**STOP, "expectedCwd": CWD})
    await house.clock.advance(1000)
    act(house, session)
    if busy:
        session.update(busy=True)  # which session it is comes first
    await stays_running(house, session, await house.clock.run(ends(task)), reason)


async def test_what_has_outlived_the_cli_is_not_stopped_and_it_is_said_what_helps(house: House) -> None:
    """It is a shell, of which nothing is known: perhaps somebody works in it."""
    session = house.open_here()
    session.owner_lives = False
    result = await house.ask(STOP)
    assert "process 4001" in result["detail"]
    assert "Stop" in result["detail"]
    await stays_running(house, session, result, reasons.STATE_UNAVAILABLE)


@pytest.mark.parametrize("name", CHANGES)
async def test_nor_is_one_that_changes_before_the_last_look(
    house: House, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    act, reason, _ = CHANGES[name]
    session = house.open_here()
    before_the_guard(house, monkeypatch, lambda: act(house, session))
    await stays_running(house, session, await house.ask({**STOP, "expectedCwd": CWD}), reason)


@pytest.mark.parametrize("name", CHANGES)
async def test_nor_one_that_changes_while_the_page_is_awaited(house: House, name: str) -> None:
    act, reason, _ = CHANGES[name]
    session = house.open_here()
    house.page.ready_at = 500
    house.at(400, lambda: act(house, session))
    await stays_running(house, session, await house.ask({**STOP, "expectedCwd": CWD}), reason)


async def test_the_expected_directory_is_checked_before_the_page_is_asked(house: House) -> None:
    session = house.open_here()
    result = await house.ask({**STOP, "expectedCwd": "/srv/other"})
    assert house.calls == []
    await stays_running(house, session, result, reasons.CWD_DIFFERS)


async def test_a_session_that_goes_on_under_another_id_is_the_same_one(house: House) -> None:
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    task = house.begin(STOP)
    await house.clock.advance(1000)
    house.sessions.rekey(ID, OTHER)
    result = await house.clock.run(ends(task))
    assert (result["outcome"], result["sessionId"], kills(house)) == ("closed", ID, ["stop 1"])


@pytest.mark.parametrize("forgotten", [False, True])
async def test_a_session_that_ends_by_itself_in_the_quiet_window_is_closed(house: House, forgotten: bool) -> None:
    session = house.open_here()
    session.type(TYPED_AND_DELETED)
    house.at(1000, session.exit)
    if forgotten:
        house.at(1000, lambda: house.sessions.forget(ID))
    result = await house.ask(STOP)
    assert (result["ok"], result["outcome"], house.elapsed, kills(house)) == (True, "closed", 1000, [])


async def test_a_session_that_ends_before_the_last_look_is_closed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = house.open_here()
    before_the_guard(house, monkeypatch, session.exit)
    result = await house.ask(STOP)
    assert (result["ok"], result["outcome"], kills(house)) == (True, "closed", [])


async def test_one_that_ended_and_was_opened_again_is_another_one(house: House) -> None:
    session = house.open_here()
    house.page.ready_at = 500

    def again() -> None:
        session.exit()
        is_replaced(house, session)

    house.at(400, again)
    await stays_running(house, session, await house.ask(STOP), reasons.TARGET_CHANGED)


# --- nothing to stop --------------------------------------------------------------------------------------------------


def live(answer: object) -> Callable[[House], object]:
    def prepare(house: House) -> None:
        house.closed()
        house.liveness.answer = answer  # type: ignore[assignment] # one of the answers

    return prepare


def ended_here(house: House) -> None:
    house.open_here().exit()
    house.closed()


def with_a_job(house: House) -> None:
    house.open_here()
    house.sessions.jobs[ID] = "j7"


NOT_HERE: dict[str, tuple[Callable[[House], object], str, str]] = {
    "known closed": (lambda house: house.closed(), "session not open here", "not-found"),
    "ended here": (ended_here, "session not open here", "not-found"),
    "wholly unknown": (lambda _house: None, "session not found", "not-found"),
    "remote": (lambda house: house.sessions.remotes.add(ID), "remote sessions are not supported", "refused"),
    "live elsewhere": (live(LiveElsewhere(WHERE)), "session live elsewhere", "refused"),
    "unattached background": (live(Background("j7", WHERE)), "background session is not supported", "refused"),
    "attach tab": (
        lambda house: house.sessions.add(ID, kind="attach"),
        "background session is not supported",
        "refused",
    ),
    "backgrounding": (with_a_job, "background session is not supported", "refused"),
    "scheduled": (live(Scheduled(ScheduledRun(ID, 9, CWD, 1))), "scheduled session is not supported", "refused"),
    "liveness unknown": (live(Unknown("why")), "session liveness unavailable", "refused"),
    "plain terminal": (
        lambda house: house.sessions.add(ID, kind="shell"),
        "plain terminal sessions are not supported",
        "refused",
    ),
}


@pytest.mark.parametrize("before", [None, "bye"], ids=["bare", "before"])
@pytest.mark.parametrize("name", NOT_HERE)
async def test_a_stop_never_opens_detaches_or_types(house: House, name: str, before: str | None) -> None:
    prepare, reason, outcome = NOT_HERE[name]
    prepare(house)
    result = await house.ask(STOP if before is None else {**STOP, "before": before})
    assert (result["outcome"], result["reason"], result["wrote"]) == (outcome, reason, False)
    assert "ready" not in house.calls
    await house.clock.advance(400_000)
    assert house.deeds() == []
    assert house.sessions.stops == []


@pytest.mark.parametrize("before", [None, "bye"], ids=["bare", "before"])
@pytest.mark.parametrize(
    ("window", "ready_at", "reason", "after"),
    [(False, 0, "window not available", 0), (True, None, "renderer not ready", 5000)],
    ids=["no window", "never ready"],
)
async def test_a_stop_needs_a_page_that_is_ready(
    house: House, before: str | None, window: bool, ready_at: int | None, reason: str, after: int
) -> None:
    session = house.open_here()
    house.page.window, house.page.ready_at = window, ready_at
    body = {**STOP, "timeout_ms": 5000} | ({} if before is None else {"before": before})
    result = await house.ask(body)
    assert (result["reason"], house.elapsed, session.writes) == (reason, after, [])
    await nothing_later(house, session, result)


async def test_a_page_that_comes_late_is_waited_for_and_the_state_is_looked_at_then(house: House) -> None:
    session = house.open_here()
    house.page.ready_at = 800
    house.at(500, lambda: session.show("busy"))
    await stays_running(house, session, await house.ask(STOP), reasons.BUSY)


async def test_a_page_that_goes_is_told_as_such(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = house.open_here()

    async def gone(_deadline: float) -> None:
        raise PageRefused("renderer unavailable")

    monkeypatch.setattr(house.page, "ready", gone)
    await stays_running(house, session, await house.ask(STOP), reasons.PAGE_GONE)


# --- the end ----------------------------------------------------------------------------------------------------------


async def test_a_signal_that_cannot_be_sent_is_told_and_nothing_is_uncertain(house: House) -> None:
    session = house.open_here()
    house.sessions.cannot_stop = StopError("the session could not be signalled: Operation not permitted")
    result = await house.ask(STOP)
    assert (result["outcome"], result["reason"]) == ("refused", reasons.STOP_FAILED)
    assert result["error"] == "the session could not be signalled: Operation not permitted"
    assert "uncertain" not in result
    assert kills(house) == ["stop 1"]
    assert session.writes == []
    await house.clock.advance(400_000)
    assert kills(house) == ["stop 1"], "it was tried again"
    assert "uncertain" not in house.actions[0].broken_off(reasons.CLOSING)


async def test_an_end_that_is_not_seen_by_the_deadline_is_uncertain(house: House) -> None:
    session = house.open_here()
    session.ends_after = 6000
    result = await house.ask({**STOP, "timeout_ms": 5000})
    assert (result["ok"], result["outcome"], result["reason"]) == (False, "refused", reasons.STOP_NOT_CONFIRMED)
    assert (result["uncertain"], house.elapsed, result["submitted"]) == (True, 5000, "no")
    await house.clock.advance(400_000)
    assert not session.facts.value.present
    assert house.result(FIRST) == result, "the late end has changed the result"
    assert kills(house) == ["stop 1"]


async def test_a_fault_while_the_end_is_awaited_is_not_confirmed(house: House) -> None:
    house.open_here().ends_after = None
    house.sessions.fails = StopError("the session could not be signalled: why")
    result = await house.ask(STOP)
    assert (result["reason"], result["uncertain"]) == (reasons.STOP_NOT_CONFIRMED, True)
    assert result["error"] == "the session could not be signalled: why"


# --- markers ----------------------------------------------------------------------------------------------------------


def full(*_arguments: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("before", [None, "bye"], ids=["bare", "before"])
async def test_without_a_marker_nothing_is_done(
    house: House, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    session = house.open_here()
    monkeypatch.setattr(house.spool, "create_marker", full)
    result = await house.ask(STOP if before is None else {**STOP, "before": before})
    assert (result["outcome"], result["reason"], result["wrote"]) == ("refused", reasons.MARKER_NOT_SAVED, False)
    assert "No space left" in str(result["error"])
    assert session.writes == []
    await nothing_later(house, session, result)


async def test_a_signal_that_cannot_be_recorded_was_sent_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.open_here()
    monkeypatch.setattr(house.spool, "update_marker", full)
    assert (await house.ask(STOP))["outcome"] == "closed"
    assert house.log.about("could not be recorded")


# --- taking turns -----------------------------------------------------------------------------------------------------


async def test_a_stop_waits_for_what_was_asked_before_under_another_id_of_the_session(house: House) -> None:
    session = house.open_here(ID)
    house.sessions.rekey(ID, OTHER)
    session.turns(1000)
    first = house.begin({**PROMPT, "sessionId": OTHER})
    second = house.begin({**STOP, "sessionId": ID.upper(), "before": "bye"})
    await house.clock.advance(1000)
    assert session.typed == b"hello\r", "the note did not wait for the turn"
    third = house.begin({**STOP, "sessionId": OTHER})
    assert (await house.clock.run(ends(second)))["outcome"] == "closed"
    assert first.done()
    assert session.typed == b"hello\rbye\r"
    assert (await house.clock.run(ends(third)))["reason"] == "session not found"
    assert kills(house) == ["stop 1"]


async def test_a_prompt_behind_a_stop_goes_to_no_dying_session(house: House) -> None:
    session = house.open_here()
    session.ends_after = 2000
    stop, prompt = house.begin(STOP), house.begin(PROMPT)
    assert (await house.clock.run(ends(stop)))["outcome"] == "closed"
    assert (await house.clock.run(ends(prompt)))["reason"] == "session not found"
    assert session.writes == []


async def test_the_deadline_of_a_stop_covers_its_wait_for_the_turn(house: House) -> None:
    session = house.open_here()
    session.show("busy")
    first = house.begin({**PROMPT, "timeout_ms": 9000})
    await house.clock.advance(10)
    result = await house.ask({**STOP, "timeout_ms": 1000})
    assert (result["reason"], house.elapsed) == (reasons.TIMED_OUT, 1010)
    session.turns(10)
    session.show("idle")
    assert (await house.clock.run(ends(first)))["ok"] is True
    await house.clock.advance(400_000)
    assert kills(house) == []


# --- a host that closes -----------------------------------------------------------------------------------------------


def never_ready(house: House, _session: MemorySession) -> None:
    house.page.ready_at = None


def typed_a_moment_ago(_house: House, session: MemorySession) -> None:
    session.type(TYPED_AND_DELETED)


@pytest.mark.parametrize("prepare", [never_ready, typed_a_moment_ago], ids=["page awaited", "quiet awaited"])
async def test_a_closing_host_stops_nothing(house: House, prepare: Act) -> None:
    session = house.open_here()
    prepare(house, session)
    task = house.begin(STOP)
    await house.clock.advance(100)
    house.close()
    result = await ends(task)
    assert house.elapsed == 100
    assert (result["reason"], result.get("uncertain")) == (reasons.CLOSING, None)
    session.update(composer=ComposerView(0, 0))
    await house.clock.advance(400_000)
    assert house.deeds() == []


async def test_a_host_that_closes_once_the_signal_is_out_does_not_know_the_end(house: House) -> None:
    session = house.open_here()
    session.ends_after = None
    task = house.begin(STOP)
    await house.clock.advance(100)
    house.close()
    result = await ends(task)
    assert (result["reason"], result["uncertain"]) == (reasons.CLOSING, True)
    assert house.calls[-2:] == ["stop 1", "leave 1"], "the stop was left half done"


@pytest.mark.parametrize(
    ("prepare", "at", "uncertain"),
    [(typed_a_moment_ago, 100, False), (typed_a_moment_ago, QUIET + 100, True)],
    ids=["before the signal", "after it"],
)
async def test_a_stop_that_is_broken_off_tells_what_it_did(
    house: House, prepare: Act, at: int, uncertain: bool
) -> None:
    session = house.open_here()
    prepare(house, session)
    task = house.begin(STOP)
    await house.clock.advance(at)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    result = house.actions[0].broken_off(reasons.CLOSING)
    assert (result["outcome"], result.get("uncertain", False)) == ("refused", uncertain)
    sent = kills(house)
    await house.clock.advance(400_000)
    assert kills(house) == sent
