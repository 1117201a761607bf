"""The host's parts together: its start and all that can forbid it, its watch over sessions, its end in order."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.fake_clock import START, FakeClock
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses
from tests.support.hosting import page
from tests.support.pages import Doings, a_broker
from tests.support.sandboxed import no_proofs
from tests.support.sessions import SECONDS, House, ListLog, Stand, hosted, house, make_label, until

from switchboard import __version__
from switchboard.clis.process_end import watch_end
from switchboard.common.facts import CompactBoundary, PromptEntry, TurnEvidence
from switchboard.common.frames import TEXT, FrameReader, encode_frame
from switchboard.host import closing as closing_module
from switchboard.host import host as module
from switchboard.host.closing import Closing
from switchboard.host.host import HostConfig, _Endings, _Parts, _supervised, _watch_interrupted, _Writers, run_host
from switchboard.host.instance import HostRecord, Instance, StartError, read_record
from switchboard.page import messages
from switchboard.page.hub import PageHub
from switchboard.page.messages import Hello, Notice, Sessions, TriggerActivity, Welcome
from switchboard.page.web_config import WebConfig
from switchboard.sessions import keeper_client
from switchboard.sessions.keeper_client import ExitReport, KeeperError
from switchboard.sessions.labels import encode_label
from switchboard.sessions.status_binding import StatusBinding
from switchboard.sessions.transcript_service import TranscriptService
from switchboard.store.sqlite import LaunchRecord, Store, StoreError
from switchboard.triggers.progress import Progress

# --- the whole host -----------------------------------------------------------------------------------------------


def environment(root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(root / "home"),
        "SWITCHBOARD_DATA_DIR": str(root / "data"),
        "SWITCHBOARD_TRIGGERS_DIR": str(root / "triggers"),
        "SWITCHBOARD_AGENT_HOME": str(root / "agent"),
        "CLAUDE_CONFIG_DIR": str(root / "claude"),
    }


class Running:
    """A host on this event loop."""

    def __init__(self, root: Path, env: Mapping[str, str] | None = None, web: WebConfig | None = None) -> None:
        self.root = root
        self.data = root / "data"
        self.ready: asyncio.Future[HostRecord] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(
            run_host(HostConfig(environment(root) if env is None else env, self._announce, web)), name="host"
        )

    def _announce(self, record: HostRecord, fresh_url: Callable[[], str] | None) -> None:
        assert fresh_url is None, "no page was asked for"
        self.ready.set_result(record)

    async def record(self) -> HostRecord:
        async with asyncio.timeout(SECONDS):
            await asyncio.wait([self.ready, self.task], return_when=asyncio.FIRST_COMPLETED)
        if self.task.done():
            self.task.result()
        return self.ready.result()

    async def ends(self, number: int = signal.SIGTERM) -> None:
        os.kill(os.getpid(), number)
        async with asyncio.timeout(SECONDS):
            await self.task

    async def is_told_to_end(self) -> bytes:
        """As `switchboard down` does; returns what the host says."""
        reader, writer = await asyncio.open_unix_connection(self.data / "run" / "host.sock")
        for said in (Hello(messages.PROTOCOL, "command"), messages.Shutdown(1)):
            writer.write(encode_frame(TEXT, messages.encode(said)))
        async with asyncio.timeout(SECONDS):
            answer = await reader.read()
            await self.task
        writer.close()
        return answer

    async def fails(self) -> list[str]:
        """The texts with which it does not start."""
        async with asyncio.timeout(SECONDS):
            with pytest.raises((StartError, BaseExceptionGroup)) as failed:
                await self.task
        return [str(error) for error in leaves(failed.value)]


def leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in leaves(one)]
    assert isinstance(error, StartError), error
    return [error]


@pytest.fixture
async def root(tmp_path: Path) -> AsyncIterator[Path]:
    yield tmp_path
    await until(lambda: not (tmp_path / "data" / "run" / "keeper.sock").exists(), "the keeper's end")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
async def test_a_host_starts_serves_and_ends_in_order(root: Path, number: signal.Signals) -> None:
    host = Running(root)
    record = await host.record()
    path = root / "data" / "run" / "host.sock"
    assert (record.pid, record.url, record.version) == (os.getpid(), f"unix:{path}", __version__)
    assert read_record(str(host.data)) == record
    assert (host.data / "host.json").stat().st_mode & 0o777 == 0o600
    assert (root / "triggers").is_dir()
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(encode_frame(TEXT, messages.encode(Hello(messages.PROTOCOL, "terminal"))))
    frames = FrameReader(1 << 20)
    said: list[Any] = []

    async def heard(kind: type) -> None:
        async with asyncio.timeout(SECONDS):
            while not any(isinstance(message, kind) for message in said):
                data = await reader.read(65536)
                assert data
                said.extend(messages.decode_from_host(body) for _, body in frames.feed(data))

    await heard(Sessions)
    assert isinstance(said[0], Welcome)
    assert said[0].version == __version__
    await host.ends(number)
    await heard(Notice)
    assert said[-1] == Notice("info", "The host is closing; sessions go on.")
    writer.close()
    assert not (host.data / "host.json").exists()
    assert not path.exists()
    lines = (host.data / "host.log").read_text().splitlines()
    assert lines[-1].endswith(f"info ready, version {__version__}, 0 sessions adopted")
    again = Instance(str(host.data))
    again.acquire()
    again.release()


async def test_a_host_that_is_asked_to_end_ends(root: Path) -> None:
    host = Running(root)
    await host.record()
    assert b'"ok":true' in await host.is_told_to_end()


async def test_a_request_file_is_answered_and_shown(root: Path) -> None:
    host = Running(root)
    await host.record()
    reader, writer = await asyncio.open_unix_connection(root / "data" / "run" / "host.sock")
    writer.write(encode_frame(TEXT, messages.encode(Hello(messages.PROTOCOL, "terminal"))))
    request = root / "triggers" / "a.tmp"
    request.write_text(json.dumps({"sessionId": "nobody", "command": "x"}))
    request.rename(root / "triggers" / "a.json")
    frames = FrameReader(1 << 20)
    steps: list[TriggerActivity] = []
    async with asyncio.timeout(SECONDS):
        while not steps or steps[-1].step != "done":
            said = [messages.decode_from_host(body) for _, body in frames.feed(await reader.read(65536))]
            steps += [message for message in said if isinstance(message, TriggerActivity)]
    assert [(step.name, step.step) for step in steps] == [("a", "received"), ("a", "waiting"), ("a", "done")]
    result = json.loads((root / "triggers" / "processed" / "a.result.json").read_text())
    assert (result["ok"], result["error"]) == (False, "session not found")
    writer.close()
    await host.ends()


async def test_a_session_from_its_start_to_its_end(root: Path) -> None:
    shell = root / "a-shell"
    shell.write_text("#!/bin/sh\nread word; echo got-$word; exit 3\n")
    shell.chmod(0o755)
    host = Running(root, environment(root) | {"SHELL": str(shell)})
    await host.record()
    there: Any = SimpleNamespace(socket=root / "data" / "run" / "host.sock", project=root)
    async with page(there) as shown:
        handle = await shown.open(there, "shell")
        shown.type(handle, b"word\r")
        await shown.printed(handle, b"got-word")
        info = await shown.status(handle, "failed")
        assert info.exit == messages.ExitStatus(code=3)
    await host.is_told_to_end()
    store = sqlite3.connect(root / "data" / "switchboard.db")
    ((ended,),) = store.execute("select ended_at from launch").fetchall()
    store.close()
    assert ended is not None


async def test_what_hangs_at_the_end_does_not_hold_up_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    closed = []

    async def hang() -> None:
        closed.append("hanging")
        await ended

    async def start(_config: object, stack: Any, closing: Closing) -> None:
        stack.push_async_callback(hang)
        closing.order()

    monkeypatch.setattr(module, "_start", start)
    monkeypatch.setattr(closing_module, "STOP_SECONDS", 0.0)
    monkeypatch.setattr(os, "_exit", ended.set_result)
    async with asyncio.timeout(SECONDS):
        await run_host(HostConfig({}, lambda *_: None))
    assert closed == ["hanging"]
    assert ended.result() == 0


async def test_what_hangs_at_the_start_does_not_hold_up_an_ordered_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def start(_config: object, _stack: object, _closing: Closing) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await ended

    monkeypatch.setattr(module, "_start", start)
    monkeypatch.setattr(closing_module, "STOP_SECONDS", 0.0)
    monkeypatch.setattr(os, "_exit", ended.set_result)
    async with asyncio.timeout(SECONDS):
        await run_host(HostConfig({}, lambda *_: None))
    assert ended.result() == 0


async def test_an_orderly_end_is_not_cut_short_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(_config: object, _stack: object, closing: Closing) -> None:
        closing.order()

    exits: list[int] = []
    monkeypatch.setattr(module, "_start", start)
    monkeypatch.setattr(closing_module, "STOP_SECONDS", 0.0)
    monkeypatch.setattr(os, "_exit", exits.append)
    await run_host(HostConfig({}, lambda *_: None))
    for _ in range(5):
        await asyncio.sleep(0)
    assert exits == []


async def test_requests_that_cannot_be_answered_are_said_to_pages_that_come_later(root: Path) -> None:
    (root / "triggers").mkdir()
    (root / "triggers" / f"{'x' * 240}.json").write_text("{}")
    host = Running(root)
    await host.record()
    reader, writer = await asyncio.open_unix_connection(root / "data" / "run" / "host.sock")
    writer.write(encode_frame(TEXT, messages.encode(Hello(messages.PROTOCOL, "terminal"))))
    frames = FrameReader(1 << 20)
    said: list[Any] = []
    async with asyncio.timeout(SECONDS):
        while not any(isinstance(message, Notice) for message in said):
            said += [messages.decode_from_host(body) for _, body in frames.feed(await reader.read(65536))]
    assert said[-1].level == "error"
    assert "no result can be named after it" in said[-1].text
    writer.close()
    await host.ends()


# --- what forbids a start -----------------------------------------------------------------------------------------


def no_home(root: Path, env: dict[str, str]) -> None:
    for name in ("HOME", "SWITCHBOARD_DATA_DIR"):
        del env[name]


def no_home_for_the_clis(root: Path, env: dict[str, str]) -> None:
    for name in ("HOME", "CLAUDE_CONFIG_DIR"):
        del env[name]


def open_data(root: Path, env: dict[str, str]) -> None:
    (root / "data").mkdir()
    (root / "data").chmod(0o777)


def spoiled_database(root: Path, env: dict[str, str]) -> None:
    (root / "data").mkdir()
    (root / "data" / "switchboard.db").write_bytes(b"this is no database" * 500)


def folder_as(name: str) -> Callable[[Path, dict[str, str]], None]:
    def spoil(root: Path, env: dict[str, str]) -> None:
        (root / "data" / name / "inside").mkdir(parents=True)
        (root / "data" / "run").mkdir(exist_ok=True)
        for folder in (root / "data", root / "data" / "run"):
            folder.chmod(0o700)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (no_home, "the host cannot start: HOME is not set: set it, or name each folder"),
        (no_home_for_the_clis, "the host cannot start: HOME is not set: set it, or name each folder"),
        (open_data, "the data directory (SWITCHBOARD_DATA_DIR) {root}/data is open to other users; run `chmod go-w "),
        (spoiled_database, "the database {root}/data/switchboard.db cannot be used: file is not a database"),
        (folder_as("host.lock"), "the lock {root}/data/host.lock cannot be opened: Is a directory"),
        (folder_as("host.log"), "the host cannot start: [Errno 21] Is a directory: '{root}/data/host.log'"),
        (folder_as("run/host.sock"), "the socket {root}/data/run/host.sock cannot be opened: Is a directory"),
        (folder_as("run/keeper.log"), "the session keeper cannot write {root}/data/run/keeper.log: Is a directory"),
        (folder_as("host.json"), "{root}/data/host.json cannot be written: Is a directory; make room, or move away "),
    ],
    ids=["home", "home of a CLI", "mode", "database", "lock", "log", "socket", "keeper's log", "host.json"],
)
async def test_what_forbids_a_start_is_said_and_nothing_is_left(
    root: Path, spoil: Callable[[Path, dict[str, str]], None], text: str
) -> None:
    env = environment(root)
    spoil(root, env)
    host = Running(root, env)
    (said,) = await host.fails()
    assert said.startswith(text.format(root=root))
    data = Path(env.get("SWITCHBOARD_DATA_DIR", root / "unused"))
    assert not (data / "host.json").is_file()
    if (data / "host.lock").is_file():
        again = Instance(str(data))
        again.acquire()
        again.release()


async def test_a_second_host_for_the_folder_is_refused_and_the_first_one_goes_on(root: Path) -> None:
    first = Running(root)
    await first.record()
    (said,) = await Running(root).fails()
    assert said.startswith(f"a host is running already for {root}/data (process {os.getpid()})")
    assert (root / "data" / "host.json").exists()
    await first.is_told_to_end()  # the signals of this process are the second one's now


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeeperError("the session keeper did not start; see keeper.log"),) * 2,
        (TimeoutError(), "the session keeper did not answer in time"),
    ],
    ids=["no keeper", "silent keeper"],
)
async def test_without_a_keeper_there_is_no_host(
    root: Path, error: Exception, text: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_self: object, _folder: str) -> None:
        raise error

    monkeypatch.setattr(keeper_client.KeeperClient, "connect", refuse)
    assert await Running(root).fails() == [str(text)]


async def test_a_port_that_is_taken_is_said(root: Path) -> None:
    static = root / "static"
    static.mkdir()
    (static / "index.html").write_text("<!doctype html>")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        host = Running(root, web=WebConfig(static, "127.0.0.1", taken.getsockname()[1]))
        (said,) = await host.fails()
    assert said.startswith("the browser page cannot be served: Address already in use (127.0.0.1, port ")
    assert said.endswith("; choose another --port")


async def test_a_full_disk_is_named_and_no_other_port(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    static = root / "static"
    static.mkdir()
    (static / "index.html").write_text("<!doctype html>")
    from switchboard.page import web_server

    @asynccontextmanager
    async def full(*_: object) -> AsyncIterator[None]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield

    monkeypatch.setattr(web_server, "web_server", full)
    (said,) = await Running(root, web=WebConfig(static, "127.0.0.1", None)).fails()
    assert said == (
        "the browser page cannot be served: No space left on device; "
        "make room on the disk of the data directory (SWITCHBOARD_DATA_DIR)"
    )


async def test_what_is_in_the_way_of_triggers_stands_in_host_json_while_it_lasts(root: Path) -> None:
    (root / "triggers").write_text("")
    host = Running(root)
    await host.record()
    problem = (read_record(str(host.data)) or pytest.fail("no record")).problem
    assert "cannot be made (File exists)" in (problem or "")
    (root / "triggers").unlink()
    await until(lambda: (read_record(str(host.data)) or pytest.fail("no record")).problem is None, "the remedy")
    await host.ends()


async def test_a_socket_that_is_deleted_comes_back(root: Path) -> None:
    host = Running(root)
    await host.record()
    path = host.data / "run" / "host.sock"
    path.unlink()
    await until(path.exists, "the socket")
    await host.is_told_to_end()
    assert not path.exists()


async def test_a_cli_that_cannot_be_followed_is_said_and_the_others_are(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = module.StatusReader.start

    def refuse_one(reader: Any) -> None:
        if "claude" in reader._folder:
            raise OSError("too many watches")
        start(reader)

    monkeypatch.setattr(module.StatusReader, "start", refuse_one)
    host = Running(root)
    await host.record()
    await host.ends()
    log = (root / "data" / "host.log").read_text()
    assert "error Claude Code sessions cannot be followed: too many watches" in log
    assert log.count("cannot be followed") == 1


# --- the watch over sessions --------------------------------------------------------------------------------------


class Rig:
    """What a running host consists of, over a keeper that is moved by hand."""

    def __init__(self, home: House, root: Path) -> None:
        self.home = home
        self.hub = PageHub(home.registry, Doings(), home.clock, home.log, "9.9", a_broker(home.clock))
        self.watcher = FakeFolderWatcher()
        self.projects = root / "agent" / "projects"
        env = {"SWITCHBOARD_AGENT_HOME": str(root / "agent")}
        transcripts = TranscriptService(self.watcher, env, home.log)
        home.registry.transcripts = transcripts.follow
        binding = StatusBinding(home.registry, {}, FakeProcesses(root / "proc").door(), home.clock, watch_end)
        door = FakeProcesses(root / "proc").door()
        proofs = no_proofs(home.registry, door, home.clock)
        self.parts = _Parts(home.registry, binding, proofs, transcripts, self.hub, home.clock, home.log, self.watcher)
        self.notices: list[messages.HostMessage] = []
        self.hub.broadcast = self.notices.append  # type: ignore[method-assign]  # pages are not what is tested here

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        async with _supervised(self.parts):
            yield

    def watches(self) -> list[str]:
        return sorted(task.get_name() for task in asyncio.all_tasks() if "session" in task.get_name())


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as home:
        yield Rig(home, tmp_path)


async def test_a_lost_keeper_is_replaced_and_said(rig: Rig) -> None:
    async with rig.watching():
        session = await rig.home.opens()
        rig.home.keeper.dies()
        await rig.home.clock.settle()
        assert rig.home.keeper.told == [("adopt", session.handle)]
        assert rig.notices == [Notice("warning", "The session keeper was lost; a new one takes the sessions over.")]


async def test_a_keeper_that_cannot_be_replaced_is_said_and_harms_nothing(rig: Rig) -> None:
    async with rig.watching():
        rig.home.keeper.unreachable = KeeperError("no keeper")
        rig.home.keeper.dies()
        await rig.home.clock.settle()
        assert rig.home.log.lines[-1] == "error new keeper failed: KeeperError: no keeper"
        rig.home.keeper.unreachable = None
        assert (await rig.home.opens()).exit is None


async def test_interrupted_deliveries_of_adopted_and_of_running_sessions_are_waited_for(rig: Rig) -> None:
    label = encode_label(make_label(delivery=b"text"))
    rig.home.keeper.held = [rig.home.keeper.make(handle=4, label=label), rig.home.keeper.make(handle=5)]
    async with rig.watching():
        assert rig.watches() == ["interrupted delivery to session 4"]
        later = await rig.home.opens(session_id="later")
        later.untaken(b"text", START)
        assert rig.watches() == [
            "interrupted delivery to session 4",
            f"interrupted delivery to session {later.handle}",
        ]
        await rig.home.clock.settle()
        assert rig.watcher.watched
    assert rig.watches() == []
    assert rig.watcher.watched == []


async def test_a_fault_in_the_start_ends_what_was_begun(rig: Rig) -> None:
    rig.home.keeper.held = [rig.home.keeper.make(handle=4, label=encode_label(make_label(delivery=b"text")))]
    with pytest.raises(BaseExceptionGroup) as failed:
        async with rig.watching():
            raise StartError("something later")
    assert [str(error) for error in failed.value.exceptions] == ["something later"]
    assert rig.watches() == []


# --- an interrupted delivery --------------------------------------------------------------------------------------


def shows(*prompts: PromptEntry) -> TurnEvidence:
    return TurnEvidence(True, None, None, 0, prompts, (CompactBoundary("u", 1, True),))


@pytest.fixture
async def left() -> AsyncIterator[Stand]:
    """A session whose delivery of "hello" an earlier host had begun at START + 10."""
    with hosted(adopted=True, delivery=b"hello", delivery_at=START + 10) as stand:
        stand.session.start()
        yield stand


def pending(stand: Stand) -> int:
    composer = stand.session.facts.value.composer
    assert composer is not None
    return composer.pending


NO_SEARCH = TranscriptService(FakeFolderWatcher(), {}, ListLog())
"""It follows nothing, so there is nothing to be looked for further back."""


@pytest.mark.parametrize(
    ("evidence", "submitted"),
    [
        (None, False),
        (shows(), False),
        (shows(PromptEntry(START + 10, "hello")), True),
        (shows(PromptEntry(START + 9, "hello")), False),
        (shows(PromptEntry(START + 10, "another")), False),
        (shows(PromptEntry(START + 20, "another"), PromptEntry(START + 30, "hello")), True),
    ],
    ids=["no transcript", "no prompt", "the text", "the text, earlier", "another text", "the text, later"],
)
async def test_only_the_transcript_shows_that_it_was_submitted(
    left: Stand, evidence: TurnEvidence | None, submitted: bool
) -> None:
    task = asyncio.create_task(_watch_interrupted(left.session, NO_SEARCH, FakeClock()), name="watch")
    await left.clock.settle()
    assert not task.done()
    left.session.observed_transcript(evidence)
    await left.clock.settle()
    assert task.done() is submitted
    assert pending(left) == (0 if submitted else 5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("how", ["cleared", "submitted by a person", "exited"])
async def test_it_is_over_when_a_person_has_dealt_with_it(left: Stand, how: str) -> None:
    task = asyncio.create_task(_watch_interrupted(left.session, NO_SEARCH, FakeClock()), name="watch")
    await left.clock.settle()
    if how == "exited":
        left.session.exited(ExitReport(0, None, START))
    else:
        left.session.type(b"\x15" if how == "cleared" else b"\r")
    await left.clock.settle()
    assert task.done()
    task.result()


async def test_a_session_with_nothing_interrupted_is_not_waited_for() -> None:
    with hosted() as stand:
        stand.session.start()
        await _watch_interrupted(stand.session, NO_SEARCH, FakeClock())


# --- small parts --------------------------------------------------------------------------------------------------


def test_a_step_of_a_trigger_as_pages_are_told() -> None:
    told = ("done", "chain", "id", False, "no", "error text", "reason text", "refused", True, "detail")
    assert module.trigger_activity(Progress("n", *told), 5, []) == TriggerActivity("n", 5, *told)


async def test_a_step_of_a_trigger_names_its_session() -> None:
    with hosted(key="id", name="the build") as stand:
        stand.session.start()
        step = module.trigger_activity(Progress("n", "waiting", session_id="ID"), 5, [stand.session])
        assert (step.session_id, step.target) == ("ID", "the build")


async def test_the_end_of_a_session_is_recorded_once(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "switchboard.db"), START)
    ended: list[tuple[int, int, int]] = []
    store.launch_ended = lambda *values: ended.append(values)  # type: ignore[method-assign,assignment]  # noted
    endings = _Endings(store)
    with house() as home:
        home.registry.listen(endings)
        session = await home.opens()
        session.rename("x")
        session.rekeyed("another id")
        assert ended == []
        home.keeper.exits(session.handle, at=START + 7)
        session.rename("y")
        assert ended == [(session.generation, session.pid, START + 7)]
        home.registry.remove(session)
        home.keeper.next_handle = session.handle
        again = await home.opens()
        home.keeper.exits(again.handle, at=START + 9)
        assert ended[1:] == [(again.generation, again.pid, START + 9)]
    store.close()


async def test_an_end_that_cannot_be_recorded_is_logged_and_no_more(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "switchboard.db"), START)
    store.record_launch(LaunchRecord("x", 1, "claude", "/", START))
    with house() as home:
        home.registry.listen(_Endings(store))
        session = await home.opens()

        def refuse(*_: object) -> None:
            raise StoreError("the disk is full")

        store.launch_ended = refuse  # type: ignore[method-assign]  # as on a full disk
        home.keeper.exits(session.handle)
        assert session.exit is not None
        assert f"error session {session.handle}: StoreError: the disk is full" in home.log.lines
    store.close()


async def test_the_owner_of_a_conversation_behind_a_shell_is_recorded(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "switchboard.db"), START)
    (tmp_path / "proc").mkdir()
    processes = FakeProcesses(tmp_path / "proc")
    processes.machine(boot_id="boot-1")
    noted: list[tuple[object, ...]] = []
    store.launch_writer = lambda *values: noted.append(values)  # type: ignore[method-assign,assignment]  # noted
    with house() as home:
        home.registry.listen(_Writers(store, processes.door()))
        session = await home.opens()
        started = (session.pid, session.holding.start)
        session.rename("x")
        session.observed_writer(*started)
        session.rename("y")
        assert noted == []
        for name in ("a", "b"):
            session.observed_writer(77, "9")
            session.rename(name)
        assert noted == [(*started, "boot-1", (77, "9"))]
        home.keeper.exits(session.handle)
        home.registry.remove(session)
    store.close()


def test_a_log_that_is_read_by_tests_is_one() -> None:
    log = ListLog()
    for note in (log.info, log.warning, log.error):
        note("x")
    assert log.lines == ["info x", "warning x", "error x"]
