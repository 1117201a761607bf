"""Sandboxed sessions of a real registry, with the processes that a described /proc shows, for versioned requests.

    with sandbox_house(tmp_path) as house:
        session = await house.opens()              # or house.closed(ID), and house.on_start says what happens then
        await house.publish("idle")                # its CLI, process 2 in the sandbox, writes its descriptor
        result = await house.ask({"action": "open", "sessionId": ID, "prompt": "hello"})
        assert house.writes == [(0, b"hello"), (50, b"\\r")]

Real are the sessions, their write gate, the reading of descriptors and of /proc, the proof, and everything that a
request goes through. Made up are the keeper, the page, the time, and what /proc shows. The terminal's process is this
test's own by number, because the system is asked whether it lives.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from switchboard.clis.procfs import ProcFs
from switchboard.clis.status_reader import StatusReader
from switchboard.common.clock import Clock, Instant
from switchboard.common.facts import CliStatus
from switchboard.delivery.lifecycle import Create, Guards, HostedTarget, PageRefused, Resume
from switchboard.sessions.lifecycle import LifecycleSessions
from switchboard.sessions.registry import Registry
from switchboard.sessions.sandbox_status import SandboxStatus
from switchboard.sessions.session import Session
from switchboard.sessions.status_binding import StatusBinding
from switchboard.store.sqlite import Store
from switchboard.triggers.fifo import SessionFifo
from switchboard.triggers.limiter import Limiter
from switchboard.triggers.say import Reporter
from switchboard.triggers.v1_work import Bench
from tests.support import sessions as hosting
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses
from tests.support.lifecycle import ID, FakePage
from tests.support.lifecycle import House as LifecycleHouse

TERMINAL = os.getpid()
"""The process in the session's terminal."""

TERMINAL_START = "100"

OUTER, OWNER, INNER = 4_000_001, 4_000_002, 2
"""The sandbox's first process and the CLI, as seen here; and the CLI's number in there."""

START = "500"
SPACE = "pid:[4026532001]"
OTHER_SPACE = "pid:[4026532002]"
HOST_SPACE = "pid:[4026531836]"


def no_proofs(registry: Registry, processes: ProcFs, clock: Clock) -> SandboxStatus:
    """For tests without sandboxes: nothing is watched, and nothing can be proven."""
    watcher = FakeFolderWatcher()
    return SandboxStatus(
        registry, processes, watcher, clock, lambda _pid, _ended: lambda: None, {"HOME": "/nowhere"}, hosting.ListLog()
    )


class RecordingSink:
    """A terminal whose program reads at once."""

    def __init__(self, wrote: Callable[[bytes], None]) -> None:
        self._wrote = wrote

    def write(self, data: bytes | memoryview) -> int:
        self._wrote(bytes(data))
        return len(data)

    def when_writable(self, callback: Callable[[], None] | None) -> None:
        """There is always room."""

    def unread(self) -> bool:
        return False


class SandboxPage(FakePage):
    """A page that opens real sessions, all of them in a sandbox."""

    def __init__(self, house: SandboxHouse) -> None:
        super().__init__(house)
        self._sandboxes = house

    async def open(
        self,
        what: Resume | Create,
        guards: Guards,
        spawned: Callable[[HostedTarget], None],
        deadline: Instant,
    ) -> HostedTarget:
        house = self._sandboxes
        session_id = what.session.session_id if isinstance(what, Resume) else what.session_id
        if (trouble := await guards.prepare()) is not None:
            raise PageRefused(*trouble)

        def last_look() -> None:
            if (trouble := guards.final()) is not None:
                raise PageRefused(*trouble)

        launch = "resume" if isinstance(what, Resume) else "new"
        session = await house.opens(session_id, launch=launch, last_look=last_look)
        house.calls.append(f"spawn {session_id}")
        spawned(session)
        house.on_start(session)
        return session


class SandboxHouse(LifecycleHouse):
    """As `tests.support.lifecycle.House`, with sandboxed sessions in the place of those in memory.

    `descriptors`: the folder of the session's own; None: the shared one. `writes`: what was typed, and when. `signals`:
    who was sent what. `on_start(session)`, `on_write(data)`: what the test makes happen then.
    """

    def __init__(self, root: Path, home: hosting.House, *, real_time: bool = False, **env: str) -> None:
        super().__init__(root, real_time=real_time, **env)
        home.clock = self.clock
        self.home = home
        self.root = root
        self.shared = root / "claude" / "sessions"
        self.transcripts = root / "claude" / "projects"
        self.own = root / "own"
        for folder in (self.shared, self.transcripts, self.own, root / "proc"):
            folder.mkdir(parents=True)
        self.descriptors: Path | None = self.own
        self.running = FakeProcesses(root / "proc")
        self.running.machine(namespace=HOST_SPACE)
        self.watcher = FakeFolderWatcher()
        self.store = Store(str(root / "switchboard.db"), self.clock.now())
        self.ends: dict[int, Callable[[], None]] = {}
        door = self.running.door()
        self.reader = StatusReader(str(self.shared), self.watcher, self.clock, door, home.log)
        self.reader.start()
        self.binding = StatusBinding(home.registry, {"claude": self.reader}, door, self.clock, self._watch_end)
        self.proofs = self.made_proofs()
        home.registry.listen(self.proofs)
        self.real = LifecycleSessions(
            home.registry, door, self.store, self.clock, self.binding.background_job, self.proofs
        )
        self.sessions = self.real  # type: ignore[assignment]  # the real thing, which has no tricks
        self.page = SandboxPage(self)
        say = Reporter(self.log)
        fifo = SessionFifo(self.real.lock_key)
        self.bench = Bench(self.lifecycle(), self.desk, fifo, self.spool, say, Limiter(self.start))
        self.writes: list[tuple[int, bytes]] = []
        self.signals: list[tuple[int, int]] = []
        self.on_start: Callable[[Session], None] = lambda _session: None
        self.on_write: Callable[[bytes], None] = lambda _data: None

    def made_proofs(self) -> SandboxStatus:
        """What a host has; a second one is that of a later host."""
        return SandboxStatus(
            self.home.registry,
            self.running.door(),
            self.watcher,
            self.clock,
            self._watch_end,
            {"CLAUDE_CONFIG_DIR": str(self.root / "claude")},
            self.home.log,
        )

    def _watch_end(self, pid: int, ended: Callable[[], None]) -> Callable[[], None]:
        self.ends[pid] = ended
        return lambda: self.ends.pop(pid, None) and None

    # --- sessions ---

    async def opens(self, session_id: str = ID, *, pid: int = TERMINAL, **fields: Any) -> Session:
        """A session that was started in a sandbox, in a terminal whose process is `pid`."""
        self.home.keeper.next_pid = pid
        self.running.add(pid, start=TERMINAL_START, name="bwrap", namespace=HOST_SPACE)
        sandbox = "" if self.descriptors is None else str(self.descriptors)
        session = await self.home.opens("claude", session_id, sandbox=sandbox, **fields)
        session._gate._sink = RecordingSink(self._wrote)
        self.binding.take_up(session)
        self.proofs.take_up(session)
        return session

    def _wrote(self, data: bytes) -> None:
        self.writes.append((self.elapsed, data))
        self.calls.append(f"write {data!r}")
        self.on_write(data)

    # --- what is in the sandbox ---

    def runs(self, **fields: Any) -> None:
        """The sandbox is up, and its CLI runs in it."""
        self.process(OUTER, parent=TERMINAL, inner=1, start="490")
        self.process(OWNER, **{"parent": OUTER, **fields})

    def process(
        self, pid: int, *, inner: int = INNER, parent: int = OUTER, start: str = START, space: str | None = SPACE
    ) -> None:
        """A process in a sandbox. `space`: its PID namespace; None: unreadable."""
        numbers = (pid,) if space == HOST_SPACE else (pid, inner)
        self.running.end(pid) if (self.running.root / str(pid)).exists() else None
        self.running.add(pid, parent=parent, start=start, ns_pids=numbers, namespace=space)

    @property
    def folder(self) -> Path:
        return self.shared if self.descriptors is None else self.descriptors

    def body(self, status: str | None = "idle", *, ago: int = 0, **fields: Any) -> dict[str, Any]:
        given = {
            "pid": INNER,
            "sessionId": ID,
            "procStart": START,
            "status": status,
            "statusUpdatedAt": self.clock.now() - ago,
            "kind": "interactive",
        }
        return {name: value for name, value in {**given, **fields}.items() if value is not None}

    def show(self, status: str | None = "idle", *, ago: int = 0, name: str = "2.json", **fields: Any) -> None:
        """A CLI in the sandbox writes its descriptor."""
        self.write(json.dumps(self.body(status, ago=ago, **fields)), name)

    def write(self, text: str, name: str = "2.json") -> None:
        path = self.folder / name
        path.write_text(text)
        now = self.clock.now() * 1_000_000
        os.utime(path, ns=(now, now))
        self.watcher.tell(str(self.folder), name)

    def withdraw(self, name: str = "2.json") -> None:
        (self.folder / name).unlink()
        self.watcher.tell(str(self.folder), name, "gone", "deleted")

    def unheard(self, act: Callable[[], object]) -> None:
        """Something happens of which no event tells."""
        tell, self.watcher.tell = self.watcher.tell, lambda *_args: None  # type: ignore[method-assign]  # for the moment of the act
        try:
            act()
        finally:
            self.watcher.tell = tell  # type: ignore[method-assign]  # for the moment of the act

    async def publish(self, status: str | None = "idle", **fields: Any) -> None:
        self.show(status, **fields)
        await self.clock.settle()

    async def proven(self, status: str = "idle", **fields: Any) -> Session:
        """An open session whose owner is proven, and has been at rest for long."""
        session = await self.opens(**fields)
        session.label.launched_at -= 120_000
        self.runs()
        await self.publish(status, ago=60_000)
        return session

    def ends_process(self, pid: int) -> None:
        """A process ends, and whoever watches it hears that."""
        self.running.end(pid)
        if (ended := self.ends.pop(pid, None)) is not None:
            ended()

    def reacts(self, ms: int | None = None) -> None:
        """From now on an Enter makes the CLI work, for so long if that is said."""

        def react(data: bytes) -> None:
            if data == b"\r":
                self.show("busy")
                if ms is not None:
                    self.at(self.elapsed + ms, lambda: self.show("idle"))

        self.on_write = react

    def clean_up(self) -> None:
        self.proofs.close()
        self.binding.close()
        self.reader.close()
        self.store.close()


def status(session: Session) -> str | None:
    """What is proven of it."""
    found = session.facts.value.proven
    return None if found is None else found.status


def unproven(session: Session) -> CliStatus | None:
    """What everybody else knows of it."""
    return session.facts.value.status


@contextmanager
def sandbox_house(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, real_time: bool = False, **env: str
) -> Iterator[SandboxHouse]:
    """The house; whoever is signalled in it stands in `signals`, and nobody is."""
    from tests.support.fake_clock import FakeClock

    with hosting.house(FakeClock()) as home:
        made = SandboxHouse(root, home, real_time=real_time, **env)
        home.registry._clock = made.clock
        send = os.kill

        def kill(pid: int, number: int) -> None:
            if number == 0:
                send(pid, 0)
            else:
                made.signals.append((pid, number))

        def no_handle(pid: int, flags: int = 0) -> int:
            raise PermissionError(pid)

        monkeypatch.setattr(os, "kill", kill)
        monkeypatch.setattr(os, "killpg", kill)
        monkeypatch.setattr(os, "pidfd_open", no_handle)
        try:
            yield made
        finally:
            made.clean_up()
