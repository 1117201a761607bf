"""Versioned actions on a page: a real keeper, real processes, a page on a real socket, killed at every moment."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.hosting import Page, page, until
from tests.support.sandboxed import no_proofs
from tests.support.sessions import ListLog

from switchboard.clis.closed_sessions import ClosedSession
from switchboard.clis.procfs import ProcFs
from switchboard.common.system_clock import SystemClock
from switchboard.delivery.lifecycle import Create, Guards, HostedTarget, PageRefused, Resume, Trouble
from switchboard.host.actions import HostActions
from switchboard.host.sandbox_folders import SandboxFolders
from switchboard.host.sandboxes import Sandboxes
from switchboard.page.broker import PageBroker
from switchboard.page.hub import PageHub
from switchboard.page.local_server import local_server
from switchboard.page.messages import Bye, Done, OpenSession, SessionAction, SessionActionResult
from switchboard.sessions import keeper_client
from switchboard.sessions.keeper_client import KeeperError
from switchboard.sessions.lifecycle import LifecycleSessions
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session
from switchboard.store.sqlite import Store

ID = "0d6f3a52-0000-4000-8000-00000000000a"
OTHER = "0d6f3a52-0000-4000-8000-00000000000b"
LONG = 60_000
SOON = 400
"""Milliseconds until a deadline that a test waits for."""

PROGRAM = """\
#!/bin/sh
printf '%s\\n' "$PWD" "$@" > "$RECORDS/$$.tmp"
mv "$RECORDS/$$.tmp" "$RECORDS/$$"
exec cat
"""


class Host:
    """All of a host that concerns pages and sessions, in this process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.records = root / "records"
        for folder in (self.project, self.records, root / "run", root / "home"):
            folder.mkdir()
        program = root / "a-cli"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "SWITCHBOARD_CLAUDE": str(program),
            "RECORDS": str(self.records),
            "SWITCHBOARD_TEST_MARK": os.environ["SWITCHBOARD_TEST_MARK"],
        }
        self.clock = SystemClock()
        self.log = ListLog()
        self.socket = str(root / "page.sock")
        self.registry = Registry(str(root / "run"), self.clock, self.log)
        self.store = Store(str(root / "switchboard.db"), self.clock.now())
        self.store.change_settings("global", lambda _before: {"permissionMode": None})
        processes = ProcFs()
        proofs = no_proofs(self.registry, processes, self.clock)
        self.sessions = LifecycleSessions(self.registry, processes, self.store, self.clock, lambda _id: None, proofs)
        self.broker = PageBroker(self.clock, self.sessions.holds, lambda: uuid.uuid4().hex)
        sandboxes = Sandboxes(
            SandboxFolders(str(root), [], lambda _folder: True),
            str(root / "triggers"),
            str(root),
            str(root / "run"),
            self.clock,
            self.log,
        )
        actions = HostActions(
            self.registry, self.store, {}, processes, self.clock, environment, lambda _sessions: None, sandboxes
        )
        self.hub = PageHub(self.registry, actions, self.clock, self.log, "0", self.broker)
        self.registry.listen(self.hub)
        self.spawned: list[HostedTarget] = []
        self.preparing = asyncio.Event()
        self.prepared = asyncio.Event()
        self.prepared.set()

    @property
    def started(self) -> list[list[str]]:
        """Directory and arguments of every process that was started, once each of them has said so."""
        return [path.read_text().splitlines() for path in sorted(self.records.iterdir()) if path.suffix == ""]

    def open(self, what: Resume | Create, timeout: int = LONG) -> asyncio.Task[HostedTarget]:
        async def prepare() -> Trouble | None:
            self.preparing.set()
            await self.prepared.wait()
            return None

        work = self.broker.open(what, Guards(prepare, lambda: None), self.spawned.append, self.clock.now() + timeout)
        return asyncio.create_task(work, name="open")

    def resume(self) -> Resume:
        closed = ClosedSession(ID, "claude", "/transcripts/x.jsonl", (1, 2), str(self.project))
        return Resume(closed, str(self.project))

    def keeper(self, number: signal.Signals) -> None:
        assert self.registry._keeper.pid is not None
        os.kill(self.registry._keeper.pid, number)

    async def close(self) -> None:
        running = [session for session in self.registry if session.exit is None]
        for session in running:
            os.kill(session.pid, signal.SIGKILL)
        await until(lambda: all(session.exit for session in running), "the end of the sessions")
        self.registry.close()
        self.store.close()
        await until(lambda: not (self.root / "run" / "keeper.sock").exists(), "the end of the keeper")


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def host(stack: AsyncExitStack, tmp_path: Path) -> Host:
    made = Host(tmp_path)
    await made.registry.connect()
    stack.push_async_callback(made.close)
    numbers = iter(range(1000))
    server = local_server(made.socket, made.hub, lambda: f"epoch-{next(numbers)}", made.log)
    await stack.enter_async_context(server)
    return made


async def a_page(stack: AsyncExitStack, host: Host) -> Page:
    return await stack.enter_async_context(page(host))  # type: ignore[arg-type]  # it needs the socket only


async def asked(one: Page, count: int = 1) -> SessionAction:
    """The action that the page was asked for last."""

    def actions() -> list[SessionAction]:
        return [said for said in one.said if isinstance(said, SessionAction)]

    await one.once(lambda: len(actions()) >= count, "a session action")
    return actions()[-1]


def asks_to_open(one: Page, action: SessionAction, number: int = 1) -> None:
    one.say(OpenSession(number, action.mode, session_id=action.tab_key, permit=action.permit))  # type: ignore[arg-type]  # never with a reattach


async def done(one: Page, number: int = 1) -> Done:
    answer: Done = await one.heard(lambda said: isinstance(said, Done) and said.request == number, "an answer")
    return answer


def result(action: SessionAction, generation: int | None, *, ok: bool = True) -> SessionActionResult:
    return SessionActionResult(
        action.permit, action.epoch, action.mode, ok, action.requested_id, action.tab_key, generation
    )


async def opens(one: Page, action: SessionAction) -> int:
    """Open, and return the generation of what was opened."""
    asks_to_open(one, action)
    answer = await done(one)
    assert answer.ok, answer
    assert answer.session is not None
    return answer.session.generation


async def refused(task: asyncio.Task[Any]) -> tuple[str, bool]:
    async with asyncio.timeout(20):
        with pytest.raises(PageRefused) as caught:
            await task
    return caught.value.reason, caught.value.uncertain


def dies(one: Page) -> None:
    """As a killed page goes."""
    one.writer.transport.abort()


# --- as it should be ----------------------------------------------------------------------------------------------


async def test_a_closed_session_is_resumed_and_shown(host: Host, stack: AsyncExitStack) -> None:
    one = await a_page(stack, host)
    task = host.open(host.resume())
    action = await asked(one)
    assert not task.done()
    generation = await opens(one, action)
    assert [target.key for target in host.spawned] == [ID]
    assert not task.done()
    one.say(result(action, generation))
    session = await task
    assert isinstance(session, Session)
    await until(lambda: host.started, "the program's record")
    assert host.started == [[str(host.project), "--resume", ID]]
    await one.once(lambda: [info.id for info in one.sessions.values()] == [ID], "its row")


async def test_a_new_session_has_its_name_before_it_is_acknowledged(host: Host, stack: AsyncExitStack) -> None:
    one = await a_page(stack, host)
    task = host.open(Create(OTHER, str(host.project), "A name"))
    action = await asked(one)
    generation = await opens(one, action)
    assert host.store.names() == {OTHER: "A name"}
    one.say(result(action, generation))
    assert (await task).key == OTHER
    await until(lambda: host.started, "the program's record")
    assert host.started == [[str(host.project), "--session-id", OTHER]]


async def test_one_process_for_a_click_and_an_action(host: Host, stack: AsyncExitStack) -> None:
    """A page that was restarted, say, clicks at the same moment; both get the one session."""
    one, other = await a_page(stack, host), await a_page(stack, host)
    host.prepared.clear()
    task = host.open(host.resume())
    action = await asked(one)
    asks_to_open(one, action)
    await host.preparing.wait()
    other.say(OpenSession(5, "resume", "claude", ID, str(host.project)))
    host.prepared.set()
    opened, clicked = await done(one), await done(other, 5)
    assert opened.session is not None
    assert clicked.session is not None
    assert opened.session.handle == clicked.session.handle
    one.say(result(action, opened.session.generation))
    await task
    assert len(list(host.registry)) == 1


async def test_a_session_that_has_another_id_by_now_is_reattached_under_that(host: Host, stack: AsyncExitStack) -> None:
    one = await a_page(stack, host)
    task = host.open(host.resume())
    first = await asked(one)
    generation = await opens(one, first)
    one.say(result(first, generation))
    session = await task
    assert isinstance(session, Session)
    session.rekeyed(OTHER)
    again = asyncio.create_task(host.broker.reattach(ID, session, host.clock.now() + LONG), name="reattach")
    action = await asked(one, 2)
    assert (action.mode, action.requested_id, action.tab_key, action.generation) == (
        *("reattach", ID, OTHER),
        generation,
    )
    one.say(replace(result(action, generation), tab_key=ID))
    one.say(result(action, generation + 1))
    one.say(result(action, generation))
    await again
    assert len(list(host.registry)) == 1


# --- answers that are none ----------------------------------------------------------------------------------------


async def test_answers_that_are_wrong_in_one_thing_do_nothing(host: Host, stack: AsyncExitStack) -> None:
    one, other = await a_page(stack, host), await a_page(stack, host)
    task = host.open(host.resume())
    action = await asked(one)
    generation = await opens(one, action)
    right = result(action, generation)
    for wrong in (
        replace(right, permit=uuid.uuid4().hex),
        replace(right, epoch="epoch-99"),
        replace(right, mode="new"),
        replace(right, mode="reattach"),
        replace(right, requested_id=OTHER),
        replace(right, requested_id=None),
        replace(right, tab_key=OTHER),
        replace(right, generation=generation + 1),
        replace(right, generation=None),
    ):
        one.say(wrong)
    other.say(right)
    other.say(replace(right, epoch=action.epoch))
    for witness in (one, other):
        witness.say(OpenSession(50, "resume", permit="x"))
        assert (await done(witness, 50)).reason == "permit not valid"
    assert not task.done()
    one.say(right)
    one.say(right)
    assert (await task).key == ID


# --- the page is killed, and the deadline comes, at each moment ---------------------------------------------------


async def _asked(host: Host, one: Page) -> None:
    await asked(one)


async def _preparing(host: Host, one: Page) -> None:
    host.prepared.clear()
    asks_to_open(one, await asked(one))
    await host.preparing.wait()


async def _starting(host: Host, one: Page) -> None:
    """The keeper has been told, and does not get to it."""
    host.keeper(signal.SIGSTOP)
    asks_to_open(one, await asked(one))
    (action,) = host.broker._actions.values()
    await until(lambda: action.permit.phase.name == "STARTING", "the start")


async def _opened(host: Host, one: Page) -> None:
    await opens(one, await asked(one))


Moment = Callable[[Host, Page], Awaitable[None]]
MOMENTS: dict[str, tuple[Moment, bool]] = {
    "asked": (_asked, False),
    "being prepared": (_preparing, False),
    "being started": (_starting, True),
    "opened": (_opened, True),
}


def _go_on(host: Host) -> None:
    host.keeper(signal.SIGCONT)
    host.prepared.set()


async def _keeper_is_through(host: Host) -> None:
    """The keeper answers in order: what it was asked before is done or refused."""
    keeper = host.registry._keeper
    with pytest.raises(KeeperError, match="no such program"):
        await keeper.spawn(["no-such-program"], "/", {}, 80, 24, b"", host.clock.now() + LONG)


async def _nothing_more(host: Host, count: int) -> None:
    """What was started is there, once, and stays; nothing else starts."""
    await until(lambda: len(host.started) == count, f"{count} processes")
    assert len([session for session in host.registry if session.exit is None]) == count
    assert host.broker._actions == {}


@pytest.mark.parametrize("going", [dies, lambda one: one.say(Bye())], ids=["killed", "bye"])
@pytest.mark.parametrize(("moment", "starts"), MOMENTS.values(), ids=MOMENTS)
async def test_the_page_goes(
    host: Host, stack: AsyncExitStack, moment: Moment, starts: bool, going: Callable[[Page], None]
) -> None:
    one = await a_page(stack, host)
    task = host.open(host.resume())
    await moment(host, one)
    going(one)
    await until(lambda: host.hub._pages == {}, "the end of the page")
    _go_on(host)
    assert await refused(task) == ("renderer unavailable", False)
    assert [target.key for target in host.spawned] == ([ID] if starts else [])
    await _nothing_more(host, 1 if starts else 0)
    # The next page is not asked for it again, and may open it like any other.
    two = await a_page(stack, host)
    clicked = await two.ask(lambda number: OpenSession(number, "resume", "claude", ID, str(host.project)))
    assert clicked.ok
    assert not [said for said in two.said if isinstance(said, SessionAction)]
    await _nothing_more(host, 1)


@pytest.mark.parametrize(("moment", "starts"), MOMENTS.values(), ids=MOMENTS)
async def test_the_deadline_comes(host: Host, stack: AsyncExitStack, moment: Moment, starts: bool) -> None:
    one = await a_page(stack, host)
    task = host.open(host.resume(), SOON)
    await moment(host, one)
    in_doubt = moment is _starting
    assert await refused(task) == ("renderer action timed out", in_doubt)
    assert [target.key for target in host.spawned] == ([ID] if starts and not in_doubt else [])
    action = await asked(one)
    _go_on(host)
    asks_to_open(one, action, 9)
    assert (await done(one, 9)).reason == "permit not valid"
    # The keeper comes to it too late, and starts nothing.
    await _keeper_is_through(host)
    await _nothing_more(host, 1 if starts and not in_doubt else 0)
    assert [target.key for target in host.spawned] == ([ID] if starts and not in_doubt else [])


@pytest.mark.parametrize("what", ["resume", "new"])
async def test_a_stopped_keeper_starts_nothing_after_the_deadline(host: Host, stack: AsyncExitStack, what: str) -> None:
    one = await a_page(stack, host)
    task = host.open(host.resume() if what == "resume" else Create(OTHER, str(host.project), "A name"), SOON)
    await _starting(host, one)
    assert await refused(task) == ("renderer action timed out", True)
    assert not [said for said in one.said if isinstance(said, Done)]
    host.keeper(signal.SIGCONT)
    answer = await done(one)
    assert (answer.ok, answer.reason) == (False, "session open failed")
    assert answer.detail is not None
    assert answer.detail.startswith("too late")
    await _keeper_is_through(host)
    assert (host.started, list(host.registry), host.spawned, host.store.names()) == ([], [], [], {})
    # The next action is nobody's repetition.
    again = host.open(host.resume())
    action = await asked(one, 2)
    asks_to_open(one, action, 2)
    opened = await done(one, 2)
    assert opened.session is not None
    one.say(result(action, opened.session.generation))
    await again
    await _nothing_more(host, 1)


async def test_a_click_gives_up_when_the_keeper_does_not_come_to_it(
    host: Host, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_client, "SPAWN_SECONDS", SOON / 1000)
    one = await a_page(stack, host)
    host.keeper(signal.SIGSTOP)
    answer = await one.ask(lambda number: OpenSession(number, "resume", "claude", ID, str(host.project)))
    assert (answer.ok, answer.reason) == (False, "session open failed")
    host.keeper(signal.SIGCONT)
    await _keeper_is_through(host)
    assert (host.started, list(host.registry)) == ([], [])


async def test_a_cli_that_ends_at_once_is_not_taken_for_open(host: Host, stack: AsyncExitStack) -> None:
    (host.root / "a-cli").write_text("#!/bin/sh\nexit 3\n")
    one = await a_page(stack, host)
    task = host.open(host.resume())
    await opens(one, await asked(one))
    assert await refused(task) == ("session target changed", False)
    assert [target.key for target in host.spawned] == [ID]
