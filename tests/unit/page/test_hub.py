"""All pages of a host: their connections, the renderer role, sizes, keystrokes, requests; and that nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from tests.support.pages import Doings, Page, a_broker
from tests.support.sessions import House, house, prints

from switchboard.page import hub as module
from switchboard.page import messages
from switchboard.page.hub import LEAD_MS, MAX_REQUESTS, PING_MS, PONG_MS, RECENT, PageHub
from switchboard.page.limits import MAX_PAGES
from switchboard.page.messages import (
    Address,
    Attach,
    Attached,
    Bye,
    Confirm,
    Confirmed,
    Detach,
    Done,
    Focus,
    Hello,
    Listing,
    ListSessions,
    MessageError,
    Notice,
    OpenSession,
    Ping,
    Pong,
    Problem,
    Ready,
    Rename,
    Role,
    SessionActionResult,
    SessionChanged,
    SessionGone,
    SessionInfo,
    Sessions,
    Shutdown,
    Size,
    StopSession,
    TriggerActivity,
    Welcome,
)
from switchboard.sessions import gate
from switchboard.sessions.session import Session


class Rig:
    """A hub over sessions that the test plays, and pages."""

    def __init__(self, home: House) -> None:
        self.home = home
        self.clock = home.clock
        self.doings = Doings()
        self.broker = a_broker(home.clock)
        self.hub = PageHub(home.registry, self.doings, self.clock, home.log, "9.9", self.broker)
        home.registry.listen(self.hub)
        self.pages: list[Page] = []

    async def dial(self, epoch: str = "") -> Page:
        """A connection that has said nothing yet."""
        page = Page(self.hub, self.clock, epoch or f"epoch-{len(self.pages)}")
        self.pages.append(page)
        await self.clock.settle()
        return page

    async def page(self, kind: str = "terminal", *, ready: bool = True) -> Page:
        page = await self.dial()
        await page.says(Hello(messages.PROTOCOL, kind))  # type: ignore[arg-type]  # a text of a table
        if ready:
            await page.says(Ready())
        return page

    async def opens(self, session_id: str = "one") -> Session:
        session = await self.home.opens("shell", session_id)
        await self.clock.settle()
        return session

    def tasks(self, page: Page | None = None) -> list[str]:
        """Names of the hub's tasks, or of those of one page."""
        beginning = "page " if page is None else f"page {page.epoch} "
        return sorted(task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(beginning))

    def typed(self, session: Session, count: int) -> bytes:
        return self.home.terminal(session).typed(count)

    async def is_over(self, page: Page) -> bool:
        """Whether a page's connection has ended cleanly and nothing of it is left."""
        await self.clock.settle()
        if not page.serving.done() or self.tasks(page) or page.epoch in self.hub._pages:
            return False
        page.serving.result()
        return True


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    with house() as home:
        made = Rig(home)
        yield made
        for page in made.pages:
            page.let_go()
            page.puts(None)
        await asyncio.gather(*(page.serving for page in made.pages), return_exceptions=True)
        assert made.tasks() == []
        assert made.hub._pages == {}


# --- the first words ----------------------------------------------------------------------------------------------


async def test_a_page_is_welcomed_and_told_the_sessions(rig: Rig) -> None:
    info = SessionInfo("x", "closed", "claude", "closed")
    rig.doings.sessions = lambda: [info]
    page = await rig.page(ready=False)
    assert page.sent == [Welcome(messages.PROTOCOL, "9.9", "epoch-0", 4242), Sessions([info])]
    assert rig.doings.listings == [50]


async def test_a_command_is_welcomed_and_told_nothing_else(rig: Rig) -> None:
    page = await rig.page("command")
    session = await rig.opens()
    rig.hub.broadcast(Notice("info", "x"))
    rig.hub.trigger(TriggerActivity("t", 1, "received"))
    session.rename("x")
    rig.home.keeper.exits(session.handle)
    rig.home.registry.remove(session)
    await rig.clock.settle()
    assert page.sent == [Welcome(messages.PROTOCOL, "9.9", "epoch-0", 4242)]
    assert rig.doings.listings == []


async def test_what_happens_while_the_list_is_made_is_not_lost(rig: Rig) -> None:
    rig.doings.slow.clear()
    page = await rig.page()
    session = await rig.opens()
    rig.doings.slow.set()
    await rig.clock.settle()
    assert [type(said) for said in page.sent[:2]] == [Welcome, Sessions]
    assert page.last(SessionChanged).session.handle == session.handle


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        ((False, b'{"type":"ready"}'), "the first message must be hello"),
        ((True, messages.encode_input(1, b"x")), "the first message must be hello"),
        ((False, b"{"), "not a message of this protocol: Input data was truncated"),
        (
            (False, b'{"type":"hello","protocol":3,"kind":"terminal"}'),
            (
                "this host speaks page protocol 2, you speak 3: use the same version of Switchboard for both "
                "(restart the host after an upgrade)"
            ),
        ),
        (MessageError("a frame of 9 bytes, over the limit of 8"), "a frame of 9 bytes, over the limit of 8"),
    ],
    ids=["another message", "keystrokes", "no message", "another version", "no frame"],
)
async def test_who_does_not_introduce_itself_is_told_why(
    rig: Rig, frame: tuple[bool, bytes] | Exception, problem: str
) -> None:
    page = await rig.dial()
    page.puts(frame)
    assert await rig.is_over(page)
    assert page.sent == [Problem(problem)]


async def test_who_goes_at_once_is_told_nothing(rig: Rig) -> None:
    page = await rig.dial()
    page.puts(None)
    assert await rig.is_over(page)
    assert page.sent == []


async def test_who_says_nothing_is_not_waited_for(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PONG_MS", 0)
    page = await rig.dial()
    await page.serving
    assert page.sent == [Problem("no hello came", "passing")]


@pytest.mark.parametrize(
    ("kind", "other", "problem"),
    [
        ("browser", "command", "64 pages are connected; close one"),
        ("command", "browser", "64 commands are connected; close one"),
    ],
)
async def test_the_number_of_pages_is_bounded_and_that_of_commands(
    rig: Rig, kind: str, other: str, problem: str
) -> None:
    for _ in range(MAX_PAGES):
        await rig.page(kind, ready=False)
    assert (await rig.page(kind, ready=False)).sent == [Problem(problem, "passing")]
    assert (await rig.page(other, ready=False)).messages(Welcome), "they do not keep each other out"
    await rig.pages[0].goes()
    assert (await rig.page(kind, ready=False)).messages(Welcome)


# --- the end of a connection --------------------------------------------------------------------------------------


def ends(rig: Rig, page: Page, how: str) -> None:
    """Let a page's connection end in one of the ways in which that happens."""
    match how:
        case "closed":
            page.puts(None)
        case "bye":
            page.puts((False, messages.encode(Bye())))
        case "nonsense":
            page.puts((False, b"{"))
        case "no frame":
            page.puts(MessageError("no frame"))
        case "reset":
            page.puts(ConnectionResetError("gone"))
        case "cannot be sent to":
            page.broken = BrokenPipeError("gone")
            rig.hub.broadcast(Notice("info", "x"))
        case "host closes":
            rig.hub.close()
        case "cancelled":
            page.serving.cancel()


ENDS = ["closed", "bye", "nonsense", "no frame", "reset", "cannot be sent to", "host closes", "cancelled"]


@pytest.mark.parametrize("how", ENDS)
async def test_however_a_connection_ends_nothing_of_it_is_left(rig: Rig, how: str) -> None:
    session = await rig.opens()
    other = await rig.page()
    page = await rig.page()
    await page.says(Attach(session.handle), Focus(session.handle, 80, 24))
    rig.doings.slow.clear()
    await page.says(ListSessions(1), Rename(2, session.handle, "x"))
    assert len(rig.tasks(page)) == 4
    ends(rig, page, how)
    await rig.clock.settle()
    if how == "cancelled":
        with pytest.raises(asyncio.CancelledError):
            await page.serving
    else:
        assert page.serving.done()
        page.serving.result()
    assert rig.tasks(page) == []
    assert page.epoch not in rig.hub._pages
    assert rig.hub._sizes._owners == {}
    assert rig.doings.cancelled == [Rename(2, session.handle, "x")]
    if how != "host closes":
        assert rig.hub._roles.renderer == other.epoch
        rig.hub.broadcast(Notice("info", "the others go on"))
        await rig.clock.settle()
        assert other.last(Notice).text == "the others go on"


@pytest.mark.parametrize("how", ["closed", "reset", "cancelled"])
async def test_a_page_that_goes_while_its_list_is_made(rig: Rig, how: str) -> None:
    rig.doings.slow.clear()
    page = await rig.page(ready=False)
    assert page.epoch in rig.hub._pages
    ends(rig, page, how)
    await rig.clock.settle()
    rig.doings.slow.set()
    await rig.clock.settle()
    await asyncio.gather(page.serving, return_exceptions=True)
    assert rig.hub._pages == {}


async def test_a_list_that_cannot_be_made_ends_that_connection_alone(rig: Rig) -> None:
    other = await rig.page()
    rig.doings.fault = RuntimeError("a fault of ours")
    page = await rig.dial()
    page.puts((False, messages.encode(Hello(messages.PROTOCOL, "terminal"))))
    with pytest.raises(RuntimeError, match="a fault of ours"):
        await page.serving
    assert list(rig.hub._pages) == [other.epoch]


async def test_nonsense_is_answered_and_is_the_last_thing_that_is_heard(rig: Rig) -> None:
    page = await rig.page()
    session = await rig.opens()
    page.puts((False, b'{"type":"ready","x":1}'), (True, messages.encode_input(session.handle, b"x")))
    assert await rig.is_over(page)
    assert page.last(Problem).text.startswith("not a message of this protocol: Object contains unknown field")
    assert page.ended
    await (await rig.page()).types(session.handle, b"y")
    assert rig.typed(session, 1) == b"y"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (messages.encode(Hello(messages.PROTOCOL, "terminal")), "hello was said already"),
        (b"\x01\x00", None),
    ],
    ids=["hello twice", "half a frame of keystrokes"],
)
async def test_what_is_out_of_place(rig: Rig, said: bytes, problem: str | None) -> None:
    page = await rig.page()
    page.puts((problem is None, said))
    assert await rig.is_over(page)
    assert page.last(Problem).text == (problem or "not a terminal-input frame")


async def test_a_page_that_has_said_bye_is_not_listened_to(rig: Rig) -> None:
    page = await rig.page()
    page.puts((False, messages.encode(Bye())), (False, messages.encode(ListSessions(1))))
    assert await rig.is_over(page)
    assert page.messages(Listing) == []
    assert page.messages(Problem) == []


async def test_a_page_that_leaves_without_reading_is_not_waited_for(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.0)
    page = await rig.page()
    page.hold()
    rig.hub.broadcast(Notice("info", "x"))
    await rig.clock.settle()
    assert page.waiting == 1
    page.puts(None)
    await page.serving
    assert await rig.is_over(page)
    assert page.waiting == 0


async def test_the_role_does_not_wait_until_a_leaving_page_has_read_everything(rig: Rig) -> None:
    page, other = await rig.page(), await rig.page()
    page.hold()
    rig.hub.broadcast(Notice("info", "x"))
    page.puts(None)
    await rig.clock.settle()
    assert not page.serving.done()
    assert other.messages(Role) == [Role(True)]


async def test_a_page_that_leaves_reads_what_was_sent(rig: Rig) -> None:
    page = await rig.page()
    page.hold()
    rig.hub.broadcast(Notice("info", "the last word"))
    page.puts(None)
    await rig.clock.settle()
    page.let_go()
    assert await rig.is_over(page)
    assert page.last(Notice).text == "the last word"


async def test_what_stands_in_the_way_is_told_to_all_pages_and_to_those_that_come_later(rig: Rig) -> None:
    page = await rig.page()
    rig.hub.stand("the disk is full")
    await rig.clock.settle()
    later = await rig.page()
    assert [one.messages(Notice) for one in (page, later)] == [[Notice("error", "the disk is full")]] * 2
    rig.hub.stand(None)
    await rig.clock.settle()
    assert page.last(Notice).level == later.last(Notice).level == "info"
    assert (await rig.page()).messages(Notice) == []


async def test_a_closing_host_serves_nobody_new(rig: Rig) -> None:
    early = await rig.dial()
    page = await rig.page()
    rig.hub.broadcast(Notice("info", "the host is closing"))
    rig.hub.close()
    assert await rig.is_over(page)
    assert page.last(Notice).text == "the host is closing"
    await early.says(Hello(messages.PROTOCOL, "terminal"))
    assert await rig.is_over(early)
    assert early.sent == [Problem("the host is closing", "passing")]


# --- ping ---------------------------------------------------------------------------------------------------------


async def test_a_page_that_answers_stays(rig: Rig) -> None:
    page = await rig.page()
    for number in (1, 2, 3):
        await rig.clock.advance(PING_MS)
        assert page.last(Ping).number == number
        await page.says(Pong(number))
        await rig.clock.advance(PONG_MS)
        assert not page.serving.done()
    assert len(page.messages(Ping)) == 3


async def test_a_page_that_does_not_answer_loses_its_connection_and_the_role(rig: Rig) -> None:
    frozen = await rig.page()
    other = await rig.page()
    frozen.hold()
    await rig.clock.advance(PING_MS)
    await other.says(Pong(1))
    await rig.clock.advance(PONG_MS - 1)
    assert not frozen.serving.done()
    assert other.messages(Role) == []
    await rig.clock.advance(1)
    assert await rig.is_over(frozen)
    assert other.last(Role) == Role(True)
    assert not other.serving.done()
    assert rig.home.log.lines == ["warning a page does not answer; it is disconnected"]


@pytest.mark.parametrize("number", [0, 2])
async def test_an_answer_to_another_ping_does_not_count(rig: Rig, number: int) -> None:
    page = await rig.page()
    await rig.clock.advance(PING_MS)
    await page.says(Pong(number))
    await rig.clock.advance(PONG_MS)
    assert await rig.is_over(page)


async def test_a_pong_that_nobody_asked_for_is_nothing(rig: Rig) -> None:
    page = await rig.page()
    await page.says(Pong(1))
    await rig.clock.advance(PING_MS + PONG_MS)
    assert await rig.is_over(page), "an answer before the question is no sign of life"


# --- a look before a page is asked ---------------------------------------------------------------------------------


async def look(rig: Rig, within: int = PING_MS) -> asyncio.Task[None]:
    task = asyncio.create_task(rig.broker.look(rig.clock.now() + within), name="look")
    await rig.clock.settle()
    return task


async def test_a_leading_page_that_answers_keeps_the_role_at_once(rig: Rig) -> None:
    first, second = await rig.page(), await rig.page()
    task = await look(rig)
    assert not task.done()
    await first.says(Pong(1))
    assert task.done()
    assert (first.messages(Role), second.messages(Role)) == ([Role(True)], [])


async def test_a_hung_page_is_passed_over_for_one_that_answers(rig: Rig) -> None:
    """It stays connected, and comes last when it answers again; its own deadline goes on as ever."""
    hung, silent, alive, later = [await rig.page() for _ in range(4)]
    hung.hold()
    task = await look(rig)
    await alive.says(Pong(1))
    await later.says(Pong(1))
    await rig.clock.advance(LEAD_MS - 1)
    assert not task.done()
    await rig.clock.advance(1)
    assert task.done()
    assert (alive.messages(Role), silent.messages(Role), later.messages(Role)) == ([Role(True)], [], [])
    hung.let_go()
    await rig.clock.settle()
    assert hung.messages(Role) == [Role(True), Role(False)]
    await alive.goes()
    assert later.last(Role) == Role(True)
    await later.goes()
    assert hung.last(Role) == Role(True)
    assert not hung.serving.done()


@pytest.mark.parametrize("within", [LEAD_MS, LEAD_MS - 1], ids=["in time", "by its deadline"])
async def test_when_no_page_answers_the_role_stays(rig: Rig, within: int) -> None:
    first, second = await rig.page(), await rig.page()
    task = await look(rig, within)
    await rig.clock.advance(within - 1)
    assert not task.done()
    await rig.clock.advance(1)
    assert task.done()
    assert (first.messages(Role), second.messages(Role)) == ([Role(True)], [])


@pytest.mark.parametrize(
    "others", [(), (("terminal", False),), (("command", True),)], ids=["none", "loading", "command"]
)
async def test_a_page_alone_is_not_asked(rig: Rig, others: tuple[tuple[str, bool], ...]) -> None:
    page = await rig.page()
    for kind, ready in others:
        await rig.page(kind, ready=ready)
    task = await look(rig)
    assert task.done()
    assert page.messages(Ping) == []


async def test_a_leading_page_that_goes_during_the_look(rig: Rig) -> None:
    first, second, third = await rig.page(), await rig.page(), await rig.page()
    task = await look(rig)
    await third.says(Pong(1))
    await first.goes()
    assert second.last(Role) == Role(True)
    await rig.clock.advance(LEAD_MS)
    assert task.done()
    assert (second.last(Role), third.last(Role)) == (Role(False), Role(True))


async def test_a_look_does_not_stand_in_for_a_ping(rig: Rig) -> None:
    """Who answered it is asked again when its time has come, and who did not is given that ping's time."""
    first, second = await rig.page(), await rig.page()
    await rig.clock.advance(PING_MS - 1)
    await look(rig)
    await first.says(Pong(1))
    await rig.clock.advance(1)
    await second.says(Pong(2))
    await rig.clock.advance(PONG_MS)
    assert await rig.is_over(first)
    assert not second.serving.done()


# --- the renderer role --------------------------------------------------------------------------------------------


async def test_the_first_ready_page_holds_the_role_and_the_next_one_takes_over(rig: Rig) -> None:
    slow = await rig.page(ready=False)
    first = await rig.page()
    second = await rig.page()
    await slow.says(Ready(), Ready())
    assert [len(page.messages(Role)) for page in (slow, first, second)] == [0, 1, 0]
    await second.goes()
    assert slow.messages(Role) == []
    await first.says(Bye())
    assert slow.messages(Role) == [Role(True)]
    assert first.messages(Role) == [Role(True)]


async def test_a_command_never_holds_the_role(rig: Rig) -> None:
    command = await rig.page("command")
    page = await rig.page()
    assert command.messages(Role) == []
    assert page.messages(Role) == [Role(True)]


# --- what pages are told ------------------------------------------------------------------------------------------


async def test_every_page_is_told_of_every_change(rig: Rig) -> None:
    one, two = await rig.page(), await rig.page("browser")
    session = await rig.opens()
    for page in (one, two):
        assert page.last(SessionChanged).session.handle == session.handle
    rig.home.keeper.exits(session.handle)
    await rig.clock.settle()
    for page in (one, two):
        assert page.last(SessionChanged).session.state == "exited"
    rig.home.registry.remove(session)
    await rig.clock.settle()
    for page in (one, two):
        assert page.last(SessionGone) == SessionGone(session.handle)


async def test_trigger_steps_reach_every_page_and_the_last_ones_those_that_come_later(rig: Rig) -> None:
    early = await rig.page()
    steps = [TriggerActivity(str(number), number, "received") for number in range(RECENT + 5)]
    for step in steps:
        rig.hub.trigger(step)
    await rig.clock.settle()
    assert early.messages(TriggerActivity) == steps
    late = await rig.page()
    assert late.messages(TriggerActivity) == steps[5:]
    assert late.sent.index(late.last(Sessions)) < late.sent.index(steps[5])


async def test_output_reaches_the_pages_that_show_the_session(rig: Rig) -> None:
    session = await rig.opens()
    shown, other = await rig.page(), await rig.page()
    await prints(session, rig.home.terminal(session), b"before ")
    await shown.says(Attach(session.handle))
    await prints(session, rig.home.terminal(session), b"after")
    await rig.clock.settle()
    assert shown.text(session.handle) == b"before after"
    assert other.output(session.handle) == []
    await shown.says(Detach(session.handle))
    await prints(session, rig.home.terminal(session), b" unseen")
    await rig.clock.settle()
    assert shown.text(session.handle) == b"before after"
    await shown.says(Attach(session.handle, 12))
    assert shown.text(session.handle) == b"before after unseen"


@pytest.mark.parametrize("said", [Attach(99), Focus(99, 80, 24)], ids=["attach", "focus"])
async def test_a_session_that_is_not_there_is_said_to_be_gone(rig: Rig, said: messages.PageMessage) -> None:
    page = await rig.page()
    await page.says(said, Detach(99))
    assert page.messages(SessionGone) == [SessionGone(99)]
    assert not page.serving.done()


# --- size ---------------------------------------------------------------------------------------------------------


async def test_the_page_that_focused_last_decides_the_size(rig: Rig) -> None:
    session = await rig.opens()
    one, two, three = await rig.page(), await rig.page(), await rig.page()
    for page in (one, two):
        await page.says(Attach(session.handle))
    await one.says(Focus(session.handle, 81, 21))
    assert rig.home.terminal(session).size() == (81, 21)
    assert one.last(Size) == Size(session.handle, 81, 21, owner=True)
    assert two.last(Size) == Size(session.handle, 81, 21, owner=False)
    await two.says(Focus(session.handle, 60, 20))
    assert rig.home.terminal(session).size() == (60, 20)
    assert one.last(Size) == Size(session.handle, 60, 20, owner=False)
    assert two.last(Size) == Size(session.handle, 60, 20, owner=True)
    assert three.messages(Size) == []
    assert two.last(SessionChanged).session.columns == 60


async def test_who_attaches_is_told_whether_its_size_counts(rig: Rig) -> None:
    session = await rig.opens()
    one, two = await rig.page(), await rig.page()
    await one.says(Focus(session.handle, 81, 21), Attach(session.handle))
    await two.says(Attach(session.handle))
    assert (one.last(Attached).owner, two.last(Attached).owner) == (True, False)
    assert (two.last(Attached).columns, two.last(Attached).rows) == (81, 21)


async def test_who_attaches_is_told_whether_any_size_counts(rig: Rig) -> None:
    session = await rig.opens()
    one, two = await rig.page(), await rig.page()
    await one.says(Attach(session.handle))
    assert one.last(Attached).free
    await one.says(Focus(session.handle, 81, 21), Attach(session.handle))
    await two.says(Attach(session.handle))
    assert (one.last(Attached).free, two.last(Attached).free) == (False, False)
    await one.goes()
    await two.says(Attach(session.handle))
    assert two.last(Attached).free, "it has gone with its page"


async def test_typing_takes_the_size_back(rig: Rig) -> None:
    session = await rig.opens()
    one, two = await rig.page(), await rig.page()
    for page, size in ((one, (81, 21)), (two, (60, 20))):
        await page.says(Attach(session.handle), Focus(session.handle, *size))
    await one.types(session.handle, b"x")
    assert rig.home.terminal(session).size() == (81, 21)
    assert two.last(Size) == Size(session.handle, 81, 21, owner=False)
    assert rig.typed(session, 1) == b"x"
    sizes = len(one.messages(Size))
    await one.types(session.handle, b"y")
    assert len(one.messages(Size)) == sizes


async def test_a_page_that_never_said_its_size_types_without_deciding_it(rig: Rig) -> None:
    session = await rig.opens()
    one, two, three = await rig.page(), await rig.page(), await rig.page()
    await one.says(Attach(session.handle), Focus(session.handle, 81, 21))
    await two.says(Attach(session.handle))
    await two.types(session.handle, b"x")
    await three.types(session.handle, b"y")
    assert rig.typed(session, 2) == b"xy"
    assert rig.home.terminal(session).size() == (81, 21)


async def test_pages_are_told_that_the_page_with_the_size_has_gone(rig: Rig) -> None:
    session = await rig.opens()
    owner, shows, elsewhere = await rig.page(), await rig.page(), await rig.page()
    for page in (owner, shows):
        await page.says(Attach(session.handle))
    await owner.says(Focus(session.handle, 81, 21))
    await owner.goes()
    assert shows.last(Size) == Size(session.handle, 81, 21, owner=False, free=True)
    assert elsewhere.messages(Size) == []
    await shows.says(Focus(session.handle, 60, 20))
    assert shows.last(Size) == Size(session.handle, 60, 20, owner=True)


async def test_of_those_who_may_have_a_free_size_the_first_gets_it(rig: Rig) -> None:
    """The program sees one new size; a person's use of a page decides over it as ever."""
    session = await rig.opens()
    owner, one, two = await rig.page(), await rig.page(), await rig.page()
    for page in (owner, one, two):
        await page.says(Attach(session.handle))
    await owner.says(Focus(session.handle, 81, 21))
    await owner.goes()
    one.puts((False, messages.encode(Focus(session.handle, 60, 20, free=True))))
    two.puts((False, messages.encode(Focus(session.handle, 50, 10, free=True))))
    await rig.clock.settle()
    assert rig.home.terminal(session).size() == (60, 20)
    assert one.last(Size) == Size(session.handle, 60, 20, owner=True)
    assert two.last(Size) == Size(session.handle, 60, 20, owner=False)
    assert [said.columns for said in two.messages(Size)] == [81, 81, 60, 60], "it is answered, too"
    await one.says(Focus(session.handle, 61, 20, free=True))
    assert rig.home.terminal(session).size() == (61, 20), "whose it is already may change it"
    await two.types(session.handle, b"x")
    assert rig.home.terminal(session).size() == (50, 10), "the size that it said, although it did not get it"
    await one.says(Focus(session.handle, 60, 20))
    assert rig.home.terminal(session).size() == (60, 20)


async def test_who_takes_a_free_size_has_not_looked(rig: Rig) -> None:
    session = await rig.opens()
    page = await rig.page()
    await page.says(Attach(session.handle))
    await prints(session, rig.home.terminal(session), b"\x1b]9;needs your approval\x07")
    assert session.screen.activity.attention
    await page.says(Focus(session.handle, 81, 21, free=True))
    assert session.screen.activity.attention
    await page.says(Focus(session.handle, 81, 21))
    assert not session.screen.activity.attention


async def test_a_page_that_answers_no_ping_lets_go_of_the_size(rig: Rig) -> None:
    session = await rig.opens()
    owner, shows = await rig.page(), await rig.page()
    for page in (owner, shows):
        await page.says(Attach(session.handle))
    await owner.says(Focus(session.handle, 81, 21))
    await rig.clock.advance(PING_MS)
    await shows.says(Pong(1))
    await rig.clock.advance(PONG_MS)
    assert owner.serving.done()
    assert shows.last(Size).free


async def test_a_size_does_not_outlive_its_page_and_a_session_not_its_owner(rig: Rig) -> None:
    session, second = await rig.opens("one"), await rig.opens("two")
    one, two = await rig.page(), await rig.page()
    for page, size in ((one, (60, 20)), (two, (81, 21))):
        await page.says(Attach(session.handle), Focus(session.handle, *size))
    await one.says(Focus(second.handle, 60, 20))
    await two.goes()
    assert {handle: owner for handle, (owner, _) in rig.hub._sizes._owners.items()} == {second.handle: one.epoch}
    assert rig.home.terminal(session).size() == (81, 21), "until somebody types"
    await one.types(session.handle, b"x")
    assert rig.home.terminal(session).size() == (60, 20)
    rig.home.keeper.exits(session.handle)
    rig.home.registry.remove(session)
    assert {handle: owner for handle, (owner, _) in rig.hub._sizes._owners.items()} == {second.handle: one.epoch}


async def test_a_look_ends_the_call_for_attention(rig: Rig) -> None:
    session = await rig.opens()
    await prints(session, rig.home.terminal(session), b"\x1b]9;needs your approval\x07")
    page = await rig.page()
    assert session.screen.activity.attention
    await page.says(Focus(session.handle, 80, 24))
    assert not session.screen.activity.attention


# --- keystrokes ---------------------------------------------------------------------------------------------------

REPLIES = b"\x1b[24;80R\x1b[?62;c\x1b[I\x1b]11;rgb:00/00/00\x07"


async def test_only_the_page_whose_size_counts_answers_queries(rig: Rig) -> None:
    session = await rig.opens()
    owner, other = await rig.page(), await rig.page()
    await owner.says(Attach(session.handle), Focus(session.handle, 80, 24))
    await other.says(Attach(session.handle))
    await other.types(session.handle, REPLIES)
    await owner.types(session.handle, b"\x1b[1;2R")
    assert rig.typed(session, 6) == b"\x1b[1;2R"
    await other.types(session.handle, b"a" + REPLIES + b"b")
    assert rig.typed(session, 2) == b"ab"


async def test_replies_alone_do_not_take_the_size(rig: Rig) -> None:
    session = await rig.opens()
    one, two = await rig.page(), await rig.page()
    for page, size in ((one, (81, 21)), (two, (60, 20))):
        await page.says(Attach(session.handle), Focus(session.handle, *size))
    await one.types(session.handle, REPLIES)
    assert rig.home.terminal(session).size() == (60, 20)


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "unknown"])
async def test_typing_into_nothing_is_said(rig: Rig, ended: bool) -> None:
    session = await rig.opens()
    page = await rig.page()
    if ended:
        rig.home.keeper.exits(session.handle)
    await page.types(session.handle if ended else 99, b"x")
    assert page.last(Notice) == Notice("warning", "That session has ended; nothing was typed.")
    assert not page.serving.done()


async def test_keystrokes_that_a_session_does_not_take_are_said(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await rig.opens()
    page = await rig.page()
    monkeypatch.setattr(gate, "MAX_QUEUED", 0)
    await page.types(session.handle, b"x")
    await page.types(session.handle, b"y")
    assert len(page.messages(Notice)) == 1
    assert page.last(Notice) == Notice("warning", "The session does not read its input; what you typed was not taken.")


@pytest.mark.parametrize("gone", [False, True], ids=["refused", "the page goes"])
async def test_a_paste_that_has_begun_ends_for_the_program_whatever_happens(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    session = await rig.opens()
    page = await rig.page()
    await page.types(session.handle, b"\x1b[200~one")
    monkeypatch.setattr(gate, "MAX_QUEUED", 0)
    if gone:
        await page.goes()
    else:
        await page.types(session.handle, b"two")
        await page.types(session.handle, b"three\x1b[201~")
        assert page.messages(Notice) == [
            Notice("warning", "The session does not read its input; only the beginning of what you pasted was taken.")
        ]
    assert rig.typed(session, 15) == b"\x1b[200~one\x1b[201~"


async def test_frames_that_are_full_belong_to_the_next_one(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a large paste is refused however late it comes."""
    session = await rig.opens()
    page = await rig.page()
    monkeypatch.setattr(gate, "MAX_QUEUED", 0)
    await page.types(session.handle, b"x" * messages.MAX_INPUT)
    monkeypatch.undo()
    await rig.clock.advance(10_000)
    await page.types(session.handle, b"its rest")
    await rig.clock.advance(2_000)
    await page.types(session.handle, b"key")
    assert rig.typed(session, 3) == b"key"


async def test_a_page_learns_that_what_it_typed_was_taken(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await rig.opens()
    page = await rig.page()
    heard: list[tuple[bytes, int]] = []

    def takes(_self: Session, data: bytes, _run: object, *, more: bool) -> bool:
        assert not more
        heard.append((data, len(page.messages(Confirmed))))
        return True

    monkeypatch.setattr(Session, "type", takes)
    page.puts(
        (True, messages.encode_input(session.handle, b"one")),
        (False, messages.encode(Confirm(1))),
        (True, messages.encode_input(session.handle, b"two")),
        (True, messages.encode_input(session.handle, b"three")),
        (False, messages.encode(Confirm(2))),
    )
    await rig.clock.settle()
    assert [data for data, _ in heard] == [b"one", b"two", b"three"]
    assert page.messages(Confirmed) == [Confirmed(1), Confirmed(2)]
    await page.types(session.handle, b"four")
    assert heard[-1] == (b"four", 2)


# --- requests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [OpenSession(7, "shell"), StopSession(7, 1), Rename(7, 1, "x"), Shutdown(7), Address(7)],
    ids=lambda one: type(one).__name__,
)
async def test_requests_are_carried_out_and_answered(rig: Rig, request_: messages.PageMessage) -> None:
    page = await rig.page()
    await page.says(request_)
    assert rig.doings.asked == [request_]
    assert page.last(Done) == Done(7, ok=True, detail=type(request_).__name__)


async def test_a_list_is_answered_with_the_list(rig: Rig) -> None:
    info = SessionInfo("x", "closed", "claude", "closed")
    rig.doings.sessions = lambda: [info]
    page = await rig.page("command")
    await page.says(ListSessions(3, 7))
    assert rig.doings.listings == [7]
    assert page.last(Listing) == Listing(3, [info])


async def test_a_fault_in_a_request_is_its_answer_and_no_more(rig: Rig) -> None:
    page = await rig.page()
    rig.doings.fault = RuntimeError("a fault of ours")
    await page.says(Rename(7, 1, "x"), ListSessions(8))
    answers = [Done(number, ok=False, reason="internal error", detail="a fault of ours") for number in (7, 8)]
    assert page.messages(Done) == answers
    assert rig.home.log.lines == ["error request failed: RuntimeError: a fault of ours"] * 2
    rig.doings.fault = None
    await page.says(Rename(9, 1, "x"))
    assert page.last(Done).ok


async def test_requests_do_not_wait_for_each_other(rig: Rig) -> None:
    page = await rig.page()
    rig.doings.slow.clear()
    await page.says(StopSession(1, 1), Focus(99, 80, 24), StopSession(2, 1))
    assert [wanted.request for wanted in rig.doings.asked if isinstance(wanted, StopSession)] == [1, 2]
    assert page.messages(SessionGone) == [SessionGone(99)]
    rig.doings.slow.set()
    await rig.clock.settle()
    assert {done.request for done in page.messages(Done)} == {1, 2}


async def test_open_requests_are_bounded(rig: Rig) -> None:
    page = await rig.page()
    rig.doings.slow.clear()
    await page.says(*(StopSession(number, 1) for number in range(MAX_REQUESTS)))
    assert not page.serving.done()
    await page.says(StopSession(99, 1))
    assert await rig.is_over(page)
    assert page.last(Problem) == Problem("more than 16 requests are open", "passing")
    assert len(rig.doings.cancelled) == MAX_REQUESTS


async def test_requests_that_were_answered_do_not_count(rig: Rig) -> None:
    page = await rig.page()
    for number in range(3 * MAX_REQUESTS):
        await page.says(StopSession(number, 1))
    assert len(page.messages(Done)) == 3 * MAX_REQUESTS


async def test_a_page_that_goes_takes_its_open_requests_with_it(rig: Rig) -> None:
    page, other = await rig.page(), await rig.page()
    rig.doings.slow.clear()
    await page.says(OpenSession(1, "shell"))
    await other.says(OpenSession(2, "shell"))
    await page.goes()
    assert [wanted.request for wanted in rig.doings.cancelled if isinstance(wanted, OpenSession)] == [1]
    rig.doings.slow.set()
    await rig.clock.settle()
    assert other.last(Done).request == 2
    assert page.messages(Done) == []


def test_every_request_of_the_schema_is_carried_out() -> None:
    """A message that is added to the schema, and not here, would be answered as another one."""
    said: set[Callable[..., object]] = {Hello, Ready, Pong, Confirm, Attach, Detach, Focus, Bye, SessionActionResult}
    requests: set[Callable[..., object]] = {OpenSession, StopSession, Rename, ListSessions, Shutdown, Address}
    assert set(messages.PageMessage.__args__) == said | requests
