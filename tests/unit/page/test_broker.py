"""The page as versioned actions have it: readiness, reattaching, opening, and every way in which that ends."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.support.fake_clock import START
from tests.support.page_actions import CREATE, LONG, OTHER, RESUME, Hosted, Stage, Watch
from tests.support.pages import Page
from tests.support.sessions import ID

from switchboard.delivery.lifecycle import Create, PageRefused, Resume
from switchboard.page import messages
from switchboard.page.hub import LEAD_MS
from switchboard.page.messages import Bye, Done, Focus, OpenSession, Ready, Role, SessionAction, SessionActionResult
from switchboard.page.presence import RETURN_MS, START_MS
from switchboard.triggers.lifecycle_port import Page as PageProtocol

TIMEOUT = 5_000


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    made = Stage()
    yield made
    await made.close()


async def refused(task: asyncio.Task[Any]) -> tuple[str, str | None, bool]:
    """Return how an action was refused: it must have been by now."""
    assert task.done()
    with pytest.raises(PageRefused) as caught:
        await task
    return caught.value.reason, caught.value.detail, caught.value.uncertain


def timers(stage: Stage) -> float:
    return stage.clock.next_timer


# --- readiness ----------------------------------------------------------------------------------------------------


def test_it_is_what_the_actions_want(stage: Stage) -> None:
    wanted: PageProtocol = stage.broker
    assert wanted is stage.broker


async def test_a_ready_page_is_there_at_once(stage: Stage) -> None:
    await stage.page()
    await stage.broker.ready(START)


@pytest.mark.parametrize("story", ["no page", "a command only", "the last one left on purpose"])
async def test_no_page_and_none_to_be_expected_is_said_at_once(stage: Stage, story: str) -> None:
    if story == "a command only":
        await stage.page(kind="command")
    if story == "the last one left on purpose":
        await (await stage.page()).says(Bye())
    with pytest.raises(PageRefused, match="window not available"):
        await stage.broker.ready(START + LONG)
    assert stage.clock.now() == START


async def test_a_page_that_loads_is_waited_for(stage: Stage) -> None:
    page = await stage.page(ready=False)
    task = asyncio.create_task(stage.broker.ready(START + TIMEOUT), name="ready")
    await stage.clock.advance(TIMEOUT - 1)
    assert not task.done()

    await page.says(Ready())
    await task


async def test_a_page_that_loads_for_too_long(stage: Stage) -> None:
    await stage.page(ready=False)
    task = asyncio.create_task(stage.broker.ready(START + TIMEOUT), name="ready")
    await stage.clock.advance(TIMEOUT - 1)
    assert not task.done()
    await stage.clock.advance(1)
    assert await refused(task) == ("renderer not ready", None, False)


@pytest.mark.parametrize(("at", "reason"), [(RETURN_MS, "window not available"), (RETURN_MS - 1, "renderer not ready")])
async def test_a_page_that_was_lost_and_does_not_come_back(stage: Stage, at: int, reason: str) -> None:
    """With a deadline behind the time in which it is expected, there is no window; before it, it is not ready."""
    await stage.crashes(await stage.page())
    deadline = START + (LONG if reason == "window not available" else RETURN_MS - 1)
    task = asyncio.create_task(stage.broker.ready(deadline), name="ready")
    await stage.clock.advance(at - 1)
    assert not task.done()
    await stage.clock.advance(1)
    assert await refused(task) == (reason, None, False)


async def test_a_page_that_was_lost_and_comes_back(stage: Stage) -> None:
    await stage.crashes(await stage.page())
    task = asyncio.create_task(stage.broker.ready(START + LONG), name="ready")
    await stage.clock.advance(RETURN_MS - 1)
    back = await stage.page(ready=False)
    await stage.clock.advance(RETURN_MS)
    assert not task.done()

    await back.says(Ready())
    await task


async def test_the_page_that_the_host_opens_at_its_start_is_expected(stage: Stage) -> None:
    stage.broker.told_to_open()
    task = asyncio.create_task(stage.broker.ready(START + LONG), name="ready")
    await stage.clock.advance(START_MS - 1)
    assert not task.done()
    await stage.page()
    await task


async def test_the_page_that_the_host_opens_and_that_does_not_come(stage: Stage) -> None:
    stage.broker.told_to_open()
    task = asyncio.create_task(stage.broker.ready(START + LONG), name="ready")
    await stage.clock.advance(START_MS)
    assert await refused(task) == ("window not available", None, False)


async def test_a_host_that_closes_has_no_page_to_wait_for(stage: Stage) -> None:
    await stage.page(ready=False)
    task = asyncio.create_task(stage.broker.ready(START + LONG), name="ready")
    await stage.clock.settle()
    stage.broker.close()
    await stage.clock.settle()
    assert await refused(task) == ("Switchboard is closing.", None, False)
    with pytest.raises(PageRefused, match="closing"):
        await stage.broker.ready(START + LONG)


async def test_a_wait_leaves_no_timer(stage: Stage) -> None:
    await stage.page(ready=False)
    before = timers(stage)
    task = asyncio.create_task(stage.broker.ready(START + TIMEOUT), name="ready")
    await stage.clock.settle()
    assert timers(stage) == START + TIMEOUT
    task.cancel()
    await stage.clock.settle()
    assert timers(stage) == before


# --- reattaching --------------------------------------------------------------------------------------------------


async def test_reattaching_names_the_three_identities(stage: Stage) -> None:
    """The id that was asked for, the key under which the session stands now, and the generation of what is pinned."""
    page = await stage.page()
    session = stage.has(OTHER)
    task = stage.reattach(ID.upper(), session)
    await stage.clock.settle()
    action = stage.asked(page)
    assert action == SessionAction("permit-1", page.epoch, "reattach", ID, OTHER, session.generation, START + LONG)
    await stage.answers(page, action)
    await task
    assert stage.spawns == []


async def test_a_page_that_is_ready_later_is_asked_then(stage: Stage) -> None:
    page = await stage.page(ready=False)
    session = stage.has()
    task = stage.reattach(ID, session)
    await stage.clock.settle()
    assert page.messages(SessionAction) == []

    await page.says(Ready())
    await stage.answers(page, stage.asked(page))
    await task


async def test_only_the_page_with_the_role_is_asked(stage: Stage) -> None:
    first, second = await stage.page(), await stage.page()
    task = stage.reattach(ID, stage.has())
    await stage.clock.settle()
    assert second.messages(SessionAction) == []
    await stage.answers(first, stage.asked(first))
    await task


@pytest.mark.parametrize("kind", ["reattach", "open"])
async def test_a_hung_page_is_not_asked_when_another_answers(stage: Stage, kind: str) -> None:
    """It is found out before anything was asked of it, so nothing is asked twice."""
    hung, other = await stage.page(), await stage.page()
    hung.alive = False
    watch = Watch()
    if kind == "open":
        task: asyncio.Task[Any] = stage.open(RESUME, watch)
    else:
        task = stage.reattach(ID, stage.has())
    await stage.clock.settle()
    await stage.clock.advance(LEAD_MS)
    action = stage.asked(other)
    assert action.epoch == other.epoch
    if kind == "open":
        await stage.asks_to_open(other, action)
    await stage.answers(other, action)
    await task
    assert hung.messages(SessionAction) == []
    assert len(stage.spawns) == (1 if kind == "open" else 0)


async def test_a_page_alone_is_asked_at_once_although_it_does_not_answer_pings(stage: Stage) -> None:
    page = await stage.page()
    page.alive = False
    task = stage.reattach(ID, stage.has())
    await stage.clock.settle()
    await stage.answers(page, stage.asked(page))
    await task
    assert stage.clock.now() == START


async def test_a_session_that_goes_while_a_page_is_looked_for(stage: Stage) -> None:
    hung, other = await stage.page(), await stage.page()
    hung.alive = False
    session = stage.has()
    task = stage.reattach(ID, session)
    await stage.clock.settle()
    stage.ends(session)
    await stage.clock.advance(LEAD_MS)
    assert await refused(task) == ("session target changed", "the session has gone", False)
    assert other.messages(SessionAction) == []


async def test_a_request_whose_time_ends_while_a_page_is_looked_for(stage: Stage) -> None:
    hung, other = await stage.page(), await stage.page()
    hung.alive = other.alive = False
    task = stage.reattach(ID, stage.has(), LEAD_MS - 1)
    await stage.clock.settle()
    await stage.clock.advance(LEAD_MS - 1)
    assert (await refused(task))[0] == "session action timed out"
    assert (hung.messages(SessionAction), other.messages(SessionAction)) == ([], [])


async def test_a_reattachment_opens_nothing(stage: Stage) -> None:
    page = await stage.page()
    session = stage.has()
    task = stage.reattach(ID, session)
    await stage.clock.settle()
    action = stage.asked(page)
    for mode in ("resume", "new", "fork", "shell"):
        await page.says(OpenSession(1, mode, session_id=ID, permit=action.permit))  # type: ignore[arg-type]  # a text of a table
        assert page.last(Done).reason == "permit not valid"
    assert (stage.spawns, stage.opening) == ([], 0)
    await stage.answers(page, action)
    await task


@pytest.mark.parametrize("when", ["before", "while the page answers", "as the page answers"])
@pytest.mark.parametrize("how", ["ended", "replaced", "another id"])
async def test_a_session_that_leaves_its_place(stage: Stage, how: str, when: str) -> None:
    page = await stage.page(ready=when != "before")
    session = stage.has()

    def leaves() -> None:
        match how:
            case "ended":
                session.alive = False
            case "replaced":
                stage.open_sessions[ID] = Hosted(ID, session.generation, stage.clock)
            case "another id":
                del stage.open_sessions[ID]
                session.key = OTHER

    task = stage.reattach(ID, session)
    await stage.clock.settle()
    leaves()
    if when == "before":
        await page.says(Ready())
        if how == "another id":  # it stands nowhere, because the fake does not put it there
            assert page.messages(SessionAction) == []
    elif when == "while the page answers":
        stage.broker.session_changed()
        await stage.clock.settle()
    else:
        action = stage.asked(page)
        await stage.answers(page, action, generation=session.generation)
    reason, _, uncertain = await refused(task)
    assert (reason, uncertain) == ("session target changed", False)


async def test_an_answer_after_the_end_changes_nothing(stage: Stage) -> None:
    page = await stage.page()
    session = stage.has()
    task = stage.reattach(ID, session, TIMEOUT)
    await stage.clock.advance(TIMEOUT)
    assert (await refused(task))[0] == "renderer action timed out"
    await stage.answers(page, stage.asked(page))
    await stage.answers(page, stage.asked(page))
    assert not page.ended


async def test_a_page_that_says_that_it_could_not(stage: Stage) -> None:
    page = await stage.page()
    task = stage.reattach(ID, stage.has())
    await stage.clock.settle()
    await stage.answers(page, stage.asked(page), ok=False, reason="no room", error="for a card")
    assert await refused(task) == ("session open failed", "the page says: no room: for a card", False)


# --- opening ------------------------------------------------------------------------------------------------------

WHAT: dict[str, Resume | Create] = {"resume": RESUME, "new": CREATE}


@pytest.mark.parametrize("what", WHAT.values(), ids=WHAT)
async def test_opening(stage: Stage, what: Resume | Create) -> None:
    page = await stage.page()
    watch = Watch()
    task = stage.open(what, watch)
    await stage.clock.settle()
    action = stage.asked(page)
    generic = ("permit-1", page.epoch)
    if isinstance(what, Resume):
        rest = ("resume", ID, ID, None, START + LONG, "claude", "/srv/project", "/srv/project/tree", None)
    else:
        rest = ("new", None, OTHER, None, START + LONG, None, "/srv/project", "/srv/project", "A name")  # type: ignore[assignment]  # two shapes of one row
    assert action == SessionAction(*generic, *rest)  # type: ignore[arg-type]  # as above
    assert watch.asked == []
    await stage.asks_to_open(page, action)
    assert watch.asked == ["prepare", "final"]
    assert stage.spawns == [action.tab_key]
    session = stage.open_sessions[action.tab_key]
    assert watch.spawned == [session]
    done = page.last(Done)
    assert (done.ok, done.session and done.session.generation) == (True, session.generation)
    assert not task.done()
    await stage.answers(page, action)
    assert await task is session


async def test_nothing_is_started_before_the_page_asks(stage: Stage) -> None:
    page = await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch, TIMEOUT)
    await stage.clock.advance(TIMEOUT)
    assert await refused(task) == ("renderer action timed out", "the page has not answered", False)
    await stage.asks_to_open(page, stage.asked(page))
    assert page.last(Done).reason == "permit not valid"
    assert (watch.asked, watch.spawned, stage.spawns) == ([], [], [])


async def test_half_a_character_in_a_name_reaches_nobody(stage: Stage) -> None:
    page = await stage.page()
    task = stage.open(Create(OTHER, "/srv/project", "x\ud800y"), Watch())
    await stage.clock.settle()
    assert stage.asked(page).name == "x\ufffdy"
    await stage.asks_to_open(page, stage.asked(page))
    await stage.answers(page, stage.asked(page))
    await task


async def test_a_page_that_claims_success_without_a_start_is_not_believed(stage: Stage) -> None:
    page = await stage.page()
    task = stage.open(RESUME, Watch(), TIMEOUT)
    await stage.clock.settle()
    await stage.answers(page, stage.asked(page), generation=100)
    await stage.answers(page, stage.asked(page), generation=None)
    assert not task.done()
    await stage.clock.advance(TIMEOUT)
    assert (await refused(task))[0] == "renderer action timed out"


async def test_a_permit_is_good_for_one_start(stage: Stage) -> None:
    page = await stage.page()
    task = stage.open(RESUME, Watch())
    await stage.clock.settle()
    action = stage.asked(page)
    await stage.asks_to_open(page, action)
    await stage.asks_to_open(page, action, request=2)
    assert (page.last(Done).request, page.last(Done).reason) == (2, "permit not valid")
    assert stage.spawns == [ID]
    await stage.answers(page, action)
    await task
    await stage.asks_to_open(page, action, request=3)
    assert (page.last(Done).request, page.last(Done).reason) == (3, "permit not valid")
    assert stage.spawns == [ID]


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "new"},
        {"mode": "fork"},
        {"mode": "shell"},
        {"session_id": OTHER},
        {"session_id": None},
        {"permit": "permit-2"},
        {"permit": ""},
    ],
    ids=str,
)
async def test_a_start_that_is_not_the_one_of_the_permit(stage: Stage, changes: dict[str, Any]) -> None:
    page = await stage.page()
    task = stage.open(RESUME, Watch())
    await stage.clock.settle()
    action = stage.asked(page)
    await stage.asks_to_open(page, action, **changes)
    assert page.last(Done).reason == "permit not valid"
    assert stage.spawns == []
    await stage.asks_to_open(page, action)
    await stage.answers(page, action)
    await task


async def test_another_page_cannot_use_the_permit(stage: Stage) -> None:
    page, other, command = await stage.page(), await stage.page(), await stage.page(kind="command", ready=False)
    task = stage.open(RESUME, Watch())
    await stage.clock.settle()
    action = stage.asked(page)
    for stranger in (other, command):
        await stage.asks_to_open(stranger, action)
        assert stranger.last(Done).reason == "permit not valid"
    await stage.asks_to_open(page, action)
    for stranger in (other, command):
        await stage.answers(stranger, action)
    assert not task.done()
    await stage.answers(page, action)
    await task
    assert stage.spawns == [ID]


WRONG: dict[str, dict[str, Any]] = {
    "permit": {"permit": "permit-2"},
    "epoch": {"epoch": "epoch-9"},
    "mode": {"mode": "reattach"},
    "another mode": {"mode": "new"},
    "requested id": {"requested_id": OTHER},
    "no requested id": {"requested_id": None},
    "tab key": {"tab_key": OTHER},
    "generation": {"generation": 1},
    "no generation": {"generation": None},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_an_answer_that_is_wrong_in_one_thing_is_ignored(stage: Stage, wrong: dict[str, Any]) -> None:
    page = await stage.page()
    task = stage.open(RESUME, Watch())
    await stage.clock.settle()
    action = stage.asked(page)
    await stage.asks_to_open(page, action)
    await stage.answers(page, action, **wrong)
    if "generation" not in wrong:
        await stage.answers(page, action, ok=False, **wrong)
    assert not task.done()
    await stage.answers(page, action)
    assert (await task).key == ID


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_a_reattachment_is_as_strict(stage: Stage, wrong: dict[str, Any]) -> None:
    page = await stage.page()
    task = stage.reattach(ID, stage.has())
    await stage.clock.settle()
    action = stage.asked(page)
    change = {"mode": "resume"} if wrong == {"mode": "reattach"} else wrong
    await stage.answers(page, action, **change)
    assert not task.done()
    await stage.answers(page, action)
    await task


# --- what the guards and the host refuse --------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["prepare", "final"])
async def test_a_guard_that_does_not_hold(stage: Stage, at: str) -> None:
    page = await stage.page()
    watch = Watch()
    setattr(watch, at, lambda: ("session live elsewhere", "process 5"))
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    await stage.asks_to_open(page, stage.asked(page))
    assert await refused(task) == ("session live elsewhere", "process 5", False)
    assert (page.last(Done).reason, page.last(Done).detail) == ("session live elsewhere", "process 5")
    assert (stage.spawns, watch.spawned) == ([], [])
    await stage.answers(page, stage.asked(page), ok=False)


@pytest.mark.parametrize("uncertain", [True, False])
async def test_a_start_that_fails(stage: Stage, uncertain: bool) -> None:
    page = await stage.page()
    stage.fault = PageRefused("session open failed", "no such program", uncertain=uncertain)
    watch = Watch()
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    await stage.asks_to_open(page, stage.asked(page))
    assert await refused(task) == ("session open failed", "no such program", uncertain)
    assert (page.last(Done).ok, page.last(Done).detail) == (False, "no such program")
    assert watch.spawned == []


@pytest.mark.parametrize(("held", "uncertain"), [("before", False), ("while", True)])
async def test_a_fault_of_ours(stage: Stage, held: str, uncertain: bool) -> None:
    page = await stage.page()
    watch = Watch()
    if held == "before":
        watch.prepare = lambda: 1 / 0  # type: ignore[assignment, return-value]  # a fault
    else:
        stage.fault = ZeroDivisionError("division by zero")
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    await stage.asks_to_open(page, stage.asked(page))
    assert await refused(task) == ("session open failed", "ZeroDivisionError: division by zero", uncertain)
    assert page.last(Done).reason == "internal error"


async def test_what_goes_wrong_after_the_start_leaves_the_session(stage: Stage) -> None:
    page = await stage.page()
    stage.after = PageRefused("session name could not be saved", "disk full")
    watch = Watch()
    task = stage.open(CREATE, watch)
    await stage.clock.settle()
    await stage.asks_to_open(page, stage.asked(page))
    assert await refused(task) == ("session name could not be saved", "disk full", False)
    assert watch.spawned == [stage.open_sessions[OTHER]]


async def test_a_session_that_somebody_else_has_opened_is_the_one(stage: Stage) -> None:
    """A click came first: the page has it all the same, and nothing was spawned on behalf of this action."""
    page = await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    session = stage.has()
    await stage.asks_to_open(page, stage.asked(page))
    await stage.answers(page, stage.asked(page))
    assert await task is session
    assert (watch.spawned, watch.asked, stage.spawns) == ([], [], [])


@pytest.mark.parametrize("how", ["ended", "replaced"])
@pytest.mark.parametrize("when", ["at once", "as the page answers"])
async def test_a_session_that_does_not_last_until_the_page_has_it(stage: Stage, how: str, when: str) -> None:
    page = await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    await stage.asks_to_open(page, stage.asked(page))
    session = stage.open_sessions[ID]
    if how == "ended":
        session.alive = False
    else:
        stage.open_sessions[ID] = Hosted(ID, session.generation, stage.clock)
    if when == "at once":
        stage.broker.session_changed()
        await stage.clock.settle()
    else:
        await stage.answers(page, stage.asked(page), generation=session.generation)
    reason, _, uncertain = await refused(task)
    assert (reason, uncertain) == ("session target changed", False)
    assert watch.spawned == [session]


# --- ends from outside, at every moment ---------------------------------------------------------------------------


async def _asked(stage: Stage, page: Page) -> None:
    """The page has been asked and says nothing."""


async def _locked(stage: Stage, page: Page) -> None:
    await _hold(stage, page, "lock")


async def _preparing(stage: Stage, page: Page) -> None:
    await _hold(stage, page, "plan")


async def _starting(stage: Stage, page: Page) -> None:
    await _hold(stage, page, "spawn")


async def _opened(stage: Stage, page: Page) -> None:
    await stage.asks_to_open(page, stage.asked(page))


async def _hold(stage: Stage, page: Page, place: str) -> None:
    stage.held_at = place
    stage.gate.clear()
    await stage.asks_to_open(page, stage.asked(page))


MOMENTS: dict[str, Callable[[Stage, Page], Awaitable[None]]] = {
    "asked": _asked,
    "another has the lock": _locked,
    "being prepared": _preparing,
    "being started": _starting,
    "opened": _opened,
}


async def _dies(stage: Stage, page: Page) -> None:
    await stage.crashes(page)


async def _leaves(stage: Stage, page: Page) -> None:
    await page.says(Bye())


async def _talks_nonsense(stage: Stage, page: Page) -> None:
    page.puts((False, b"{"))
    await stage.clock.settle()


async def _freezes(stage: Stage, page: Page) -> None:
    page.alive = False
    await stage.clock.advance(31_000)


GOING = {"dies": _dies, "leaves": _leaves, "talks nonsense": _talks_nonsense, "freezes": _freezes}


@pytest.mark.parametrize("going", GOING.values(), ids=GOING)
@pytest.mark.parametrize("moment", MOMENTS, ids=str)
async def test_the_page_goes(stage: Stage, moment: str, going: Callable[[Stage, Page], Awaitable[None]]) -> None:
    page = await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    await MOMENTS[moment](stage, page)
    await going(stage, page)
    if moment == "being started":
        assert not task.done()  # whether there is a process is known in a moment
    stage.gate.set()
    await stage.clock.settle()
    reason, _, uncertain = await refused(task)
    assert (reason, uncertain) == ("renderer unavailable", False)
    started = moment in ("being started", "opened")
    assert len(watch.spawned) == len(stage.spawns) == (1 if started else 0)
    assert stage.opening == 0


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
async def test_the_role_is_not_handed_on_with_its_permits(stage: Stage, moment: str) -> None:
    """The next page is asked nothing again, and what it says about the action is nothing."""
    page, other = await stage.page(), await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    action = stage.asked(page)
    await MOMENTS[moment](stage, page)
    await stage.crashes(page)
    assert other.last(Role).renderer
    await stage.asks_to_open(other, action)
    await stage.answers(other, action, epoch=other.epoch)
    assert other.messages(SessionAction) == []
    assert other.last(Done).reason == "permit not valid"
    stage.gate.set()
    await stage.clock.settle()
    assert (await refused(task))[0] == "renderer unavailable"


@pytest.mark.parametrize(
    ("moment", "detail", "uncertain"),
    [
        ("asked", "the page has not answered", False),
        ("another has the lock", "the start was still being prepared; nothing was started", False),
        ("being prepared", "the start was still being prepared; nothing was started", False),
        ("being started", "it is not known whether the process was started", True),
        ("opened", "the page has not shown that it has the session", False),
    ],
)
async def test_the_deadline_comes(stage: Stage, moment: str, detail: str, uncertain: bool) -> None:
    page = await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch, TIMEOUT)
    await stage.clock.settle()
    action = stage.asked(page)
    await MOMENTS[moment](stage, page)
    await stage.clock.advance(TIMEOUT - 1)
    assert not task.done()
    await stage.clock.advance(1)
    assert await refused(task) == ("renderer action timed out", detail, uncertain)
    spawned = list(watch.spawned)
    assert stage.opening == (1 if moment == "being started" else 0)
    stage.gate.set()
    await stage.clock.settle()
    if moment != "asked":
        done = page.last(Done)
        assert (done.ok, done.reason) == ((True, None) if spawned or uncertain else (False, "permit not valid"))
    await stage.clock.advance(LONG)
    # What was being started is there, and belongs to nobody's action.
    assert watch.spawned == spawned
    assert len(stage.spawns) == (1 if moment in ("being started", "opened") else 0)
    await stage.answers(page, action)
    assert not page.ended


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
async def test_the_host_closes(stage: Stage, moment: str) -> None:
    page = await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    await MOMENTS[moment](stage, page)
    stage.hub.close()
    await stage.clock.settle()
    reason, _, uncertain = await refused(task)
    assert (reason, uncertain) == ("Switchboard is closing.", moment == "being started")
    spawned = list(watch.spawned)
    stage.gate.set()
    await stage.clock.settle()
    assert watch.spawned == spawned


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
async def test_the_action_is_cancelled(stage: Stage, moment: str) -> None:
    page = await stage.page()
    watch = Watch()
    before = timers(stage)
    task = stage.open(RESUME, watch, TIMEOUT)
    await stage.clock.settle()
    assert timers(stage) == START + TIMEOUT < before
    action = stage.asked(page)
    await MOMENTS[moment](stage, page)
    task.cancel()
    await stage.clock.settle()
    assert task.cancelled()
    assert timers(stage) == before
    # What prepares the start is stopped and answered; a process that is being made is waited for.
    assert stage.opening == (1 if moment == "being started" else 0)
    spawned = list(watch.spawned)
    stage.gate.set()
    await stage.clock.settle()
    await stage.asks_to_open(page, action, request=9)
    assert page.last(Done).reason == "permit not valid"
    assert watch.spawned == spawned
    assert len(stage.spawns) == (1 if moment in ("being started", "opened") else 0)


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
async def test_the_page_says_that_it_could_not(stage: Stage, moment: str) -> None:
    page = await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch)
    await stage.clock.settle()
    await MOMENTS[moment](stage, page)
    await stage.answers(page, stage.asked(page), ok=False, error="no terminal")
    stage.gate.set()
    await stage.clock.settle()
    assert await refused(task) == ("session open failed", "the page says: no terminal", False)
    started = moment in ("being started", "opened")
    assert len(watch.spawned) == len(stage.spawns) == (1 if started else 0)


async def test_a_start_that_fails_after_its_page_went_is_the_pages_fault(stage: Stage) -> None:
    """Nothing was started, so there is nothing to know but that the page has gone."""
    page = await stage.page()
    stage.fault = PageRefused("session open failed", "no such program")
    task = stage.open(RESUME, Watch())
    await stage.clock.settle()
    await _starting(stage, page)
    await stage.crashes(page)
    stage.gate.set()
    await stage.clock.settle()
    assert (await refused(task))[0] == "renderer unavailable"


async def test_a_start_in_doubt_is_in_doubt_although_its_page_went(stage: Stage) -> None:
    page = await stage.page()
    stage.fault = PageRefused("session open failed", "the keeper has gone", uncertain=True)
    task = stage.open(RESUME, Watch())
    await stage.clock.settle()
    await _starting(stage, page)
    await stage.crashes(page)
    stage.gate.set()
    await stage.clock.settle()
    assert await refused(task) == ("session open failed", "the keeper has gone", True)


@pytest.mark.parametrize("early", [True, False])
async def test_the_last_look_knows_the_deadline_by_itself(stage: Stage, early: bool) -> None:
    """The machine slept: the timer comes late, and nothing is started."""
    page = await stage.page()
    watch = Watch()
    task = stage.open(RESUME, watch, TIMEOUT)
    await stage.clock.settle()
    await _preparing(stage, page)
    stage.clock.sleep(TIMEOUT / 1000 - (0.001 if early else 0))
    stage.gate.set()
    await stage.clock.settle()
    assert len(stage.spawns) == (1 if early else 0)
    assert watch.asked == (["prepare", "final"] if early else ["prepare"])
    await stage.clock.advance(1)
    assert (await refused(task))[0] == "renderer action timed out"


async def test_an_answer_that_comes_as_late_is_ignored(stage: Stage) -> None:
    page = await stage.page()
    task = stage.open(RESUME, Watch(), TIMEOUT)
    await stage.clock.settle()
    await _opened(stage, page)
    stage.clock.sleep(TIMEOUT / 1000)
    await stage.answers(page, stage.asked(page))
    assert not task.done()
    await stage.clock.advance(1)
    assert (await refused(task))[0] == "renderer action timed out"


async def test_a_deadline_that_is_over_asks_nobody(stage: Stage) -> None:
    page = await stage.page()
    task = stage.open(RESUME, Watch(), 0)
    await stage.clock.settle()
    assert await refused(task) == ("session action timed out", "the page was not asked any more", False)
    assert page.messages(SessionAction) == []


async def test_the_start_is_told_until_when_it_may_happen(stage: Stage) -> None:
    page = await stage.page()
    task = stage.open(RESUME, Watch(), TIMEOUT)
    await stage.clock.settle()
    (action,) = stage.broker._actions.values()
    assert action.grant().deadline == stage.clock.now() + TIMEOUT
    await _opened(stage, page)
    await stage.answers(page, stage.asked(page))
    await task


@pytest.mark.parametrize("heard", ["before the timer", "after the timer"])
async def test_a_start_that_came_too_late_for_the_keeper(stage: Stage, heard: str) -> None:
    """Its refusal says for certain that nothing was started; heard after the action's end it changes nothing."""
    page = await stage.page()
    watch = Watch()
    stage.fault = PageRefused("session open failed", "too late")
    task = stage.open(RESUME, watch, TIMEOUT)
    await stage.clock.settle()
    await MOMENTS["being started"](stage, page)
    if heard == "before the timer":
        stage.clock.sleep(TIMEOUT / 1000)
    else:
        await stage.clock.advance(TIMEOUT)
    stage.gate.set()
    await stage.clock.settle()
    in_doubt = ("it is not known whether the process was started", True)
    expected = ("too late", False) if heard == "before the timer" else in_doubt
    assert await refused(task) == ("renderer action timed out", *expected)
    assert (watch.spawned, stage.open_sessions, page.last(Done).ok) == ([], {}, False)


async def test_two_actions_at_once_keep_their_answers_apart(stage: Stage) -> None:
    page = await stage.page()
    one, two = stage.open(RESUME, Watch()), stage.open(CREATE, Watch())
    await stage.clock.settle()
    first, second = page.messages(SessionAction)
    assert first.permit != second.permit
    await stage.asks_to_open(page, second)
    await stage.asks_to_open(page, first)
    await stage.answers(page, second)
    assert (one.done(), two.done()) == (False, True)
    await stage.answers(page, first)
    assert ((await one).key, (await two).key) == (ID, OTHER)


async def test_a_second_answer_is_ignored(stage: Stage) -> None:
    page = await stage.page()
    task = stage.reattach(ID, stage.has())
    await stage.clock.settle()
    action = stage.asked(page)
    said = SessionActionResult(action.permit, action.epoch, "reattach", True, ID, ID, action.generation)
    page.puts(*[(False, _encoded(said))] * 3)
    await stage.clock.settle()
    await task
    assert not page.ended


async def test_what_is_no_answer_of_any_action_is_ignored(stage: Stage) -> None:
    page = await stage.page()
    await page.says(SessionActionResult("permit-1", page.epoch, "resume", True, ID, ID, 7))
    await page.says(Focus(1, 80, 24))
    assert not page.ended


async def test_a_refused_action_is_refused_once_and_nobody_hears_of_it_again(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """The action is cancelled in the very step in which it was refused: no complaint about an unseen exception."""
    page = await stage.page()
    task = stage.open(RESUME, Watch())
    await stage.clock.settle()
    (action,) = stage.broker._actions.values()
    action.give_up(PageRefused("x"))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    del action, task
    gc.collect()
    assert "never retrieved" not in caplog.text
    assert page.messages(SessionAction)


def _encoded(said: SessionActionResult) -> bytes:
    return messages.encode(said)
