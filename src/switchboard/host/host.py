"""The host process: builds every part, connects them, and ends them in order (driver)."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from switchboard import __version__
from switchboard.clis.namespace_resolver import maps_to_nobody
from switchboard.clis.process_end import watch_end
from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import PROFILES
from switchboard.clis.status_reader import StatusReader
from switchboard.common.clock import FOREVER, Clock
from switchboard.common.facts import Log
from switchboard.common.folder_watch import FolderWatcher, open_folder_watcher
from switchboard.common.paths import host_socket
from switchboard.common.settings import SettingsError, data_dir, effective_triggers_dir
from switchboard.common.system_clock import SystemClock
from switchboard.common.tasks import supervise
from switchboard.delivery.hosted import HostedJournal
from switchboard.host.actions import HostActions
from switchboard.host.closing import Closing
from switchboard.host.instance import HostRecord, Instance, StartError, no_room
from switchboard.host.lifecycle import lifecycle, sandbox_homes, seen_elsewhere
from switchboard.host.log import FileLog
from switchboard.host.sandbox_folders import SandboxFolders
from switchboard.host.sandboxes import Sandboxes
from switchboard.page import messages
from switchboard.page.broker import PageBroker
from switchboard.page.hub import PageHub
from switchboard.page.local_server import local_server
from switchboard.page.session_info import session_called
from switchboard.page.web_config import WebConfig
from switchboard.sessions.keeper_client import KeeperError
from switchboard.sessions.lifecycle import LifecycleSessions
from switchboard.sessions.registry import Registry
from switchboard.sessions.sandbox_status import SandboxStatus
from switchboard.sessions.schedules import Schedules
from switchboard.sessions.session import Session
from switchboard.sessions.status_binding import StatusBinding
from switchboard.sessions.transcript_service import TranscriptService
from switchboard.store.sqlite import Store, StoreError
from switchboard.triggers.progress import Progress
from switchboard.triggers.watcher import CLOSE_GRACE_S, TriggerWatcher


@dataclass(frozen=True, slots=True)
class HostConfig:
    """How to run a host. `environment` is read live; `web` None: no browser page.

    `announce(record, fresh_url)` is called once the host is ready; `fresh_url` makes an address with a new ticket, None
    when no browser page is served. `opens_page`: it opens a page for a person, which is therefore to be expected.
    """

    environment: Mapping[str, str]
    announce: Callable[[HostRecord, Callable[[], str] | None], None]
    web: WebConfig | None = None
    opens_page: bool = False


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a running host consists of."""

    registry: Registry
    binding: StatusBinding
    proofs: SandboxStatus
    transcripts: TranscriptService
    hub: PageHub
    clock: Clock
    log: Log
    watcher: FolderWatcher


async def run_host(config: HostConfig) -> None:
    """Run until SIGTERM, SIGINT, SIGHUP or a request to end, which takes 5 s at the most. Raises `StartError`."""
    loop = asyncio.get_running_loop()
    closing = Closing()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, closing.order)
    try:
        async with AsyncExitStack() as stack:
            try:
                await _start(config, stack, closing)
            except (OSError, SettingsError) as error:
                remedy = no_room(error) if isinstance(error, OSError) else ""
                raise StartError(f"the host cannot start: {error}{remedy and f'; {remedy}'}") from error
            await closing.ordered()
    finally:
        closing.ended()


async def _start(config: HostConfig, stack: AsyncExitStack, closing: Closing) -> None:
    clock, environment, processes = SystemClock(), config.environment, ProcFs()
    instance = Instance(os.path.abspath(data_dir(environment)))
    triggers_dir = effective_triggers_dir(environment, os.getcwd())
    instance.acquire()
    stack.callback(instance.release)
    log = FileLog(os.path.join(instance.data_dir, "host.log"), clock.now)
    stack.callback(log.close)
    store = _store(instance.data_dir, clock)
    stack.callback(store.close)
    watcher = open_folder_watcher(log)
    stack.push_async_callback(watcher.aclose)

    readers = _start_readers(environment, watcher, clock, processes, log, stack)
    registry = Registry(instance.runtime, clock, log)
    stack.callback(registry.close)
    transcripts = TranscriptService(watcher, environment, log)
    registry.transcripts = transcripts.follow
    binding = StatusBinding(registry, readers, processes, clock, watch_end)
    stack.callback(binding.close)
    sandboxes = _sandboxes(instance, triggers_dir, sandbox_homes(environment), processes, clock, log)
    actions = HostActions(registry, store, readers, processes, clock, environment, lambda _: closing.order(), sandboxes)
    proofs = _proofs(registry, processes, watcher, clock, environment, log)
    stack.callback(proofs.close)
    actions.on_opened = partial(_take_up, binding, proofs)
    sessions = LifecycleSessions(registry, processes, store, clock, binding.background_job, proofs)
    broker = PageBroker(clock, sessions.holds, lambda: uuid.uuid4().hex)
    hub = PageHub(registry, actions, clock, log, __version__, broker)
    parts = _Parts(registry, binding, proofs, transcripts, hub, clock, log, watcher)
    for listener in (proofs, transcripts, hub, _Endings(store), _Writers(store, processes), sandboxes):
        registry.listen(listener)
    await stack.enter_async_context(_supervised(parts))
    await stack.enter_async_context(sandboxes.tended(list(registry)))

    if config.opens_page:
        broker.told_to_open()
    url, actions.fresh_url = await _serve_pages(config.web, stack, instance, parts, closing)
    house = lifecycle(sessions, broker, store, processes, Schedules(), watcher, clock, environment, sandboxes)
    actions.in_sandbox = partial(seen_elsewhere, house)
    triggers = TriggerWatcher(
        sessions,
        triggers_dir,
        clock=clock,
        env=environment,
        log=log,
        watcher=watcher,
        observe=lambda progress: hub.trigger(trigger_activity(progress, clock.now(), registry)),
        journal=HostedJournal(registry),
        on_problem=partial(_stand, hub, instance),
        house=house,
    )
    stack.push_async_callback(lambda: triggers.close(closing.seconds_left(CLOSE_GRACE_S)))
    triggers.start()
    stack.callback(hub.broadcast, messages.Notice("info", "The host is closing; sessions go on."))

    record = HostRecord(os.getpid(), url, clock.now(), __version__)
    instance.publish(record)
    log.info(f"ready, version {__version__}, {len(list(registry))} sessions adopted")
    config.announce(record, actions.fresh_url)


def _store(folder: str, clock: Clock) -> Store:
    try:
        return Store(os.path.join(folder, "switchboard.db"), clock.now())
    except StoreError as error:
        raise StartError(str(error)) from error


def _sandboxes(
    instance: Instance, triggers_dir: str, homes: Sequence[str], processes: ProcFs, clock: Clock, log: Log
) -> Sandboxes:
    folders = SandboxFolders(instance.data_dir, homes, partial(maps_to_nobody, processes))
    return Sandboxes(folders, triggers_dir, instance.data_dir, instance.runtime, clock, log)


def _proofs(
    registry: Registry,
    processes: ProcFs,
    watcher: FolderWatcher,
    clock: Clock,
    environment: Mapping[str, str],
    log: Log,
) -> SandboxStatus:
    return SandboxStatus(registry, processes, watcher, clock, watch_end, environment, log)


def _take_up(binding: StatusBinding, proofs: SandboxStatus, session: Session) -> None:
    """A session was added: look what its CLI publishes."""
    binding.take_up(session)
    proofs.take_up(session)


def _stand(hub: PageHub, instance: Instance, problem: str | None) -> None:
    """Say what stands in the way of triggers, to pages and to `switchboard doctor`."""
    hub.stand(problem)
    instance.state(problem)


def _new_epoch() -> str:
    return uuid.uuid4().hex


async def _serve_pages(
    web: WebConfig | None, stack: AsyncExitStack, instance: Instance, parts: _Parts, closing: Closing
) -> tuple[str, Callable[[], str] | None]:
    """Open the doors for pages; return the address to tell people, and what makes one with a ticket."""
    socket_path = host_socket(instance.runtime)
    try:
        local = local_server(socket_path, parts.hub, _new_epoch, parts.log, parts.watcher)
        await closing.hold(stack, local, "the socket for terminal pages", parts.log)
    except OSError as error:
        remedy = no_room(error)
        text = f"the socket {socket_path} cannot be opened: {error.strerror}{remedy and f'; {remedy}'}"
        raise StartError(text) from error
    if web is None:
        return f"unix:{socket_path}", None
    # A quarter of a second and some megabytes, which a host without a browser page does not need.
    from switchboard.page.web_files import RecordFile
    from switchboard.page.web_server import web_server

    try:
        serving = web_server(web, parts.hub, RecordFile(instance.data_dir), _new_epoch, parts.clock, parts.log)
        server = await closing.hold(stack, serving, "the server of the browser page", parts.log)
    except OSError as error:
        remedy = no_room(error) or "choose another --port"
        raise StartError(f"the browser page cannot be served: {error.strerror}; {remedy}") from error
    return server.url, server.fresh_url


def _start_readers(
    environment: Mapping[str, str],
    watcher: FolderWatcher,
    clock: Clock,
    processes: ProcFs,
    log: Log,
    stack: AsyncExitStack,
) -> dict[str, StatusReader]:
    readers: dict[str, StatusReader] = {}
    for profile in PROFILES.values():
        folder = profile.sessions_dir(environment)
        if folder is None:
            continue
        reader = StatusReader(folder, watcher, clock, processes, log)
        try:
            reader.start()
        except OSError as error:
            log.error(f"{profile.title} sessions cannot be followed: {error}")
            continue
        stack.callback(reader.close)
        readers[profile.name] = reader
    return readers


@asynccontextmanager
async def _supervised(parts: _Parts) -> AsyncIterator[None]:
    """Hold the tasks that watch over sessions: the keeper's replacement, interrupted deliveries."""
    async with asyncio.TaskGroup() as group:

        def keeper_lost() -> None:
            parts.hub.broadcast(
                messages.Notice("warning", "The session keeper was lost; a new one takes the sessions over.")
            )
            supervise(group, "new keeper", parts.registry.connect, parts.log)

        def interrupted(session: Session) -> None:
            supervise(
                group,
                f"interrupted delivery to session {session.handle}",
                partial(_watch_interrupted, session, parts.transcripts, parts.clock),
                parts.log,
            )

        parts.registry.on_keeper_lost = keeper_lost
        parts.registry.on_interrupted = interrupted
        try:
            await parts.registry.connect()
        except (KeeperError, TimeoutError) as error:
            raise StartError(str(error) or "the session keeper did not answer in time") from error
        for session in parts.registry:
            _take_up(parts.binding, parts.proofs, session)
            if session.interrupted is not None:
                interrupted(session)
        yield
        for task in asyncio.all_tasks():
            if task.get_name().startswith(("new keeper", "interrupted delivery")):
                task.cancel()


async def _watch_interrupted(session: Session, transcripts: TranscriptService, clock: Clock) -> None:
    """Until a person clears it or the transcript shows it submitted, an interrupted delivery is unsubmitted input."""
    with session.transcript():  # which tells the session, and so ends what it has left
        await transcripts.search(session)
        while session.interrupted is not None and session.exit is None:
            await session.facts.changed(session.facts.value, clock, FOREVER)


def trigger_activity(progress: Progress, at: int, sessions: Iterable[Session]) -> messages.TriggerActivity:
    """Return what pages are told of a trigger's step. `sessions`: those that the host has, ended ones too."""
    return messages.TriggerActivity(
        progress.name,
        at,
        progress.step,
        progress.action,
        progress.session_id,
        progress.ok,
        progress.submitted,
        progress.error,
        progress.reason,
        progress.outcome,
        progress.uncertain,
        progress.detail,
        None if progress.session_id is None else session_called(sessions, progress.session_id),
    )


class _Endings:
    """Records in the store that a session's process was reaped."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ended: set[int] = set()

    def session_changed(self, session: Session) -> None:
        if session.exit is not None and session.handle not in self._ended:
            # Raises where the database cannot be written: then the next change of the session tries again.
            self._store.launch_ended(session.generation, session.pid, session.exit.at)
            self._ended.add(session.handle)

    def session_printed(self, session: Session) -> None:
        """Output is not recorded."""

    def session_removed(self, session: Session) -> None:
        self._ended.discard(session.handle)


class _Writers:
    """Records in the store which process owns a conversation, where a shell stands between it and what was started."""

    def __init__(self, store: Store, processes: ProcFs) -> None:
        self._store = store
        self._processes = processes
        self._known: dict[int, tuple[int, str]] = {}

    def session_changed(self, session: Session) -> None:
        writer, started = session.writer, (session.pid, session.holding.start)
        if writer is None or writer == started or self._known.get(session.handle) == writer:
            return
        self._known[session.handle] = writer
        boot_id = self._processes.boot_id()
        if boot_id is not None:
            self._store.launch_writer(*started, boot_id, writer)

    def session_printed(self, session: Session) -> None:
        """Output is not recorded."""

    def session_removed(self, session: Session) -> None:
        self._known.pop(session.handle, None)
