"""Who owns a conversation in a real sandbox: real bubblewrap in a real terminal, a real /proc, real descriptor files.

The CLI is a fake one. It is process 2 of its sandbox, writes its own descriptor from inside, shows a turn for each line
that it is given, and takes its descriptor away when it is asked to end.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosting import until
from tests.support.sessions import ListLog

from switchboard.clis.process_end import watch_end
from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import PROFILES
from switchboard.clis.status_reader import StatusReader
from switchboard.common.clock import Instant
from switchboard.common.folder_watch import open_folder_watcher
from switchboard.common.system_clock import SystemClock
from switchboard.delivery.lifecycle import HostedTarget
from switchboard.sessions.launch import LaunchPlan
from switchboard.sessions.lifecycle import LifecycleSessions
from switchboard.sessions.registry import Registry
from switchboard.sessions.sandbox_status import SandboxStatus
from switchboard.sessions.session import Session
from switchboard.sessions.status_binding import StatusBinding
from switchboard.store.sqlite import Store
from switchboard.triggers.lifecycle_port import Lifecycle
from switchboard.triggers.watcher import TriggerWatcher

CLI = """
import json, os, signal, subprocess, sys, time, tty

folder, key, start, record = sys.argv[1:5]
own = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
path = f"{folder}/{os.getpid()}.json"

def show(status, session=key):
    body = {"pid": os.getpid(), "sessionId": session, "procStart": own if start == "own" else start, "status": status,
            "statusUpdatedAt": time.time_ns() // 1_000_000, "kind": "interactive"}
    with open(path, "w") as file:
        file.write(json.dumps(body))

def end(*_):
    os.unlink(path)
    os._exit(0)

signal.signal(signal.SIGHUP, end)
signal.signal(signal.SIGTERM, end)
if record == "-":  # started by another one
    show("waiting")
    while True:
        signal.pause()
show("busy")
tty.setraw(0)
os.write(1, b"ready")
show("idle")
text = b""
while data := os.read(0, 4096):
    text += data
    while b"\\r" in text:
        line, _, text = text.partition(b"\\r")
        show("busy")
        with open(record, "a") as file:
            file.write(line.decode() + "\\n")
        if line == b"nested":
            subprocess.Popen([sys.executable, *sys.argv[:4], "-"])
        if line == b"clear":
            key = "0d6f3a52-0000-4000-8000-0000000000cc"
        show("idle", key)
"""

BOX = ("--unshare-all", "--share-net", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


class Page:
    """A page that is there and shows everything at once."""

    async def ready(self, deadline: Instant) -> None:
        return None

    async def reattach(self, requested_id: str, target: HostedTarget, deadline: Instant) -> None:
        return None


class Host:
    """The parts of a host that sandboxed sessions need, with folders of its own. `shared`: everybody's descriptors."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shared = root / "claude" / "sessions"
        self.project = root / "project"
        self.script = root / "cli.py"
        for folder in (self.shared, self.project, root / "triggers", root / "run"):
            folder.mkdir(parents=True, exist_ok=True)
        self.script.write_text(CLI)
        self.clock = SystemClock()
        self.log = ListLog()
        self.processes = ProcFs()
        self.watcher = open_folder_watcher(self.log)
        self.store = Store(str(root / "switchboard.db"), self.clock.now())
        self.registry = Registry(str(root / "run"), self.clock, self.log)
        self.reader = StatusReader(str(self.shared), self.watcher, self.clock, self.processes, self.log)
        self.reader.start()
        self.binding = StatusBinding(self.registry, {"claude": self.reader}, self.processes, self.clock, watch_end)
        self.proofs = SandboxStatus(
            self.registry,
            self.processes,
            self.watcher,
            self.clock,
            watch_end,
            {"CLAUDE_CONFIG_DIR": str(root / "claude")},
            self.log,
        )
        self.registry.listen(self.proofs)
        self.sessions = LifecycleSessions(
            self.registry, self.processes, self.store, self.clock, self.binding.background_job, self.proofs
        )

    async def open(self, start: str = "own", *, own_folder: bool = True) -> Session:
        """Start the CLI in a sandbox, and return when it has drawn itself."""
        number = len(list(self.registry))
        key = str(uuid.uuid4())
        folder = self.root / f"own-{number}" if own_folder else self.shared
        folder.mkdir(exist_ok=True)
        binds = ("--bind", str(folder), str(folder), "--bind", str(self.project), str(self.project))
        record = self.project / f"record-{number}"
        program = (sys.executable, str(self.script), str(folder), key, start, str(record))
        environment = {"PATH": os.environ["PATH"], "SWITCHBOARD_TEST_MARK": os.environ["SWITCHBOARD_TEST_MARK"]}
        plan = LaunchPlan(("/usr/bin/bwrap", *BOX, *binds, *program), str(self.project), environment, 100, 30)
        session = await self.registry.open(
            PROFILES["claude"], plan, key, "new", None, None, sandbox=str(folder) if own_folder else ""
        )
        self.take_up(session)
        await until(lambda: b"ready" in printed(session), f"the CLI; it says {printed(session)!r}")
        return session

    def take_up(self, session: Session) -> None:
        self.binding.take_up(session)
        self.proofs.take_up(session)

    def recorded(self, number: int = 0) -> list[str]:
        """What the CLI was given."""
        path = self.project / f"record-{number}"
        return path.read_text().splitlines() if path.exists() else []

    async def shows(self, session: Session, status: str | None) -> None:
        def shown() -> bool:
            proven = session.facts.value.proven
            return (None if proven is None else proven.status) == status

        await until(shown, f"proven {status}")

    @asynccontextmanager
    async def triggers(self) -> AsyncIterator[None]:
        house = Lifecycle(
            sessions=self.sessions,
            page=Page(),  # type: ignore[arg-type]  # nothing is started here
            liveness=None,  # type: ignore[arg-type]  # all sessions are open here
            closed=None,  # type: ignore[arg-type]  # nor is anything resumed
            projects=None,  # type: ignore[arg-type]  # nor anywhere
            new_id=lambda: str(uuid.uuid4()),
            is_directory=os.path.isdir,
        )
        env = {"SWITCHBOARD_TRIGGER_QUIET_MS": "100", "SWITCHBOARD_SUBMIT_VERIFY_MS": "2000"}
        watcher = TriggerWatcher(
            self.sessions, str(self.root / "triggers"), clock=self.clock, env=env, log=self.log, house=house
        )
        async with watcher:
            yield

    async def ask(self, **body: Any) -> dict[str, Any]:
        """Put down a versioned request, and return its result."""
        stem = str(uuid.uuid4())
        beside = self.root / "triggers" / f"{stem}.tmp"
        beside.write_text(json.dumps({"version": 1, **body}))
        beside.rename(beside.with_suffix(".json"))
        result = self.root / "triggers" / "processed" / f"{stem}.result.json"
        await until(result.exists, "the result")
        return dict(json.loads(result.read_text()))

    async def leave(self) -> None:
        """Let go of everything; sessions stay with the keeper."""
        self.proofs.close()
        self.binding.close()
        self.reader.close()
        self.registry.close()
        self.store.close()
        await self.watcher.aclose()

    async def close(self) -> None:
        running = [session for session in self.registry if session.exit is None]
        for session in running:
            os.kill(session.pid, signal.SIGKILL)
        await until(lambda: all(session.exit for session in running), "the end of the sessions")
        await self.leave()
        await until(lambda: not (self.root / "run" / "keeper.sock").exists(), "the end of the keeper")


def printed(session: Session) -> bytes:
    ring = session.ring
    return ring.read(ring.tail, ring.head - ring.tail)[1]


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    made = Host(tmp_path)
    await made.registry.connect()
    yield made
    await made.close()


async def test_the_owner_is_found_from_outside(host: Host) -> None:
    session = await host.open()
    await host.shows(session, "idle")
    assert session.writer is not None
    pid, start = session.writer
    assert host.processes.ns_pids(pid) == (pid, 2), "it has another number inside"
    assert host.processes.start(pid) == start
    assert host.processes.is_descendant(pid, session.pid)
    assert pid != session.pid
    assert session.facts.value.status is None, "the readers of the shared folder know nothing of it"
    assert not session.facts.value.starting


async def test_without_a_folder_of_its_own_it_is_found_in_the_shared_one(host: Host) -> None:
    session = await host.open(own_folder=False)
    await host.shows(session, "idle")
    assert (session.facts.value.status, [one.pid for one in host.reader.all()]) == (None, [])


async def test_two_sandboxes_whose_clis_have_one_number(host: Host) -> None:
    sessions = [await host.open(), await host.open()]
    for session in sessions:
        await host.shows(session, "idle")
    owners = {session.writer for session in sessions}
    assert len(owners) == 2
    assert None not in owners
    async with host.triggers():
        for number, session in enumerate(sessions):
            result = await host.ask(action="open", sessionId=session.key, prompt=f"for {number}")
            assert (result["outcome"], result["submitted"]) == ("opened", "confirmed")
    assert (host.recorded(0), host.recorded(1)) == (["for 0"], ["for 1"])


async def test_a_cli_that_says_another_start_gets_nothing(host: Host) -> None:
    session = await host.open(start="1")
    await asyncio.sleep(0.3)  # nothing is to happen
    assert session.facts.value.proven is None
    async with host.triggers():
        result = await host.ask(action="open", sessionId=session.key, prompt="hello", timeout_ms=1500)
        assert (result["outcome"], result["reason"]) == ("refused", "session readiness unavailable")
        stopped = await host.ask(action="stop", sessionId=session.key)
        assert (stopped["outcome"], stopped["reason"]) == ("refused", "session state unavailable")
    assert (host.recorded(), session.exit) == ([], None)


async def test_a_cli_that_it_starts_is_not_taken_for_it(host: Host) -> None:
    """The other one has its id and waits in a dialog."""
    session = await host.open()
    await host.shows(session, "idle")
    owner = session.writer
    session.type(b"nested\r")
    await until(lambda: len(list((host.root / "own-0").glob("*.json"))) == 2, "two descriptors")
    async with host.triggers():
        result = await host.ask(action="open", sessionId=session.key, prompt="hello")
    assert (result["outcome"], host.recorded()) == ("opened", ["nested", "hello"])
    assert session.writer == owner


async def test_it_goes_on_under_another_id(host: Host) -> None:
    session = await host.open()
    await host.shows(session, "idle")
    session.type(b"clear\r")
    await until(lambda: session.key == "0d6f3a52-0000-4000-8000-0000000000cc", "the new id")
    assert len(session.label.past) == 1


async def test_a_stop_lets_it_take_its_descriptor_away(host: Host) -> None:
    session = await host.open()
    await host.shows(session, "idle")
    async with host.triggers():
        result = await host.ask(action="stop", sessionId=session.key, before="bye")
    assert (result["outcome"], result["submitted"]) == ("closed", "confirmed")
    assert session.exit is not None
    assert host.recorded() == ["bye"]
    assert list((host.root / "own-0").iterdir()) == []


async def test_the_end_of_the_owner_is_seen_at_once(host: Host) -> None:
    """By force: nothing is written any more."""
    session = await host.open()
    await host.shows(session, "idle")
    assert session.writer is not None
    os.kill(session.writer[0], signal.SIGKILL)
    await until(lambda: session.exit is not None, "the exit")
    assert session.facts.value.proven is None


async def test_a_later_host_proves_it_anew(tmp_path: Path) -> None:
    first = Host(tmp_path)
    await first.registry.connect()
    session = await first.open()
    await first.shows(session, "idle")
    owner, key = session.writer, session.key
    await first.leave()
    second = Host(tmp_path)
    await second.registry.connect()
    [adopted] = list(second.registry)
    second.take_up(adopted)
    await second.shows(adopted, "idle")
    assert (adopted.key, adopted.writer, adopted.label.sandbox) == (key, owner, True)
    async with second.triggers():
        result = await second.ask(action="open", sessionId=key, prompt="again")
    assert (result["outcome"], second.recorded()) == ("opened", ["again"])
    await second.close()
