"""One turn of the trigger watcher with versioned and legacy requests, over sessions and a page in memory.

    python benchmarks/actions_side.py COUNT SESSIONS paced|burst versioned|legacy

`paced`: COUNT requests of each kind, in turn, each for a session of its own, 20 ms apart. `burst`: COUNT requests of
one kind at once over so many SESSIONS, until the last result is there; then as many of the other kind. The last
argument says which kind begins. Prints one JSON line, for each kind {N, lat_p50, lat_p99} of a paced turn (from a
request's rename to the first byte of its text, in milliseconds) or {N, total_ms, per_s} of a burst.

Everything between the folder and a session is the host's own: watcher, markers, the page's broker, the delivery. The
sessions are in memory, idle for long, and at an Enter report a turn that ends at once; their process is this one, so
that a look at it costs what it costs a host. The page is in memory and answers in the next turn of the event loop.
Both kinds ask for the same: a text for an open session, once its CLI is idle.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Literal

from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import Clock
from switchboard.common.facts import CliStatus
from switchboard.common.system_clock import SystemClock
from switchboard.delivery.keystrokes import ENTER
from switchboard.delivery.memory import MemoryTerminal, MemoryTerminals
from switchboard.page.action_messages import SessionAction, SessionActionResult
from switchboard.page.broker import PageBroker
from switchboard.triggers.lifecycle_port import Lifecycle
from switchboard.triggers.watcher import TriggerWatcher

Kind = Literal["versioned", "legacy"]

PACE_SECONDS = 0.02
LOOK_SECONDS = 0.002
EPOCH = "page"
ENVIRONMENT = {
    "SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "0",
    "SWITCHBOARD_SUBMIT_VERIFY_MS": "0",
    "SWITCHBOARD_BUSY_FALL_SETTLE_MS": "0",
}
"""No pause before Enter, and idle counts at once: pauses would hide what is measured."""


class MemorySession(MemoryTerminal):
    """An open session of a CLI that publishes its state. `written_at`: when it was written to first."""

    kind: Literal["agent"] = "agent"
    publishes = True
    generation = 1
    processes: tuple[tuple[int, str], ...] = ()

    def __init__(self, key: str, writer: tuple[int, str], clock: Clock) -> None:
        super().__init__(key, "/srv/project", self._written, clock)
        self.writer: tuple[int, str] | None = writer
        self.written_at: int | None = None
        self._now = clock.now
        self.launched_at = self._now() - 120_000
        self.update(status=CliStatus("idle", self._now() - 60_000))

    def _written(self, data: bytes) -> None:
        if self.written_at is None:
            self.written_at = time.perf_counter_ns()
        if data == ENTER:
            self.update(status=CliStatus("busy", self._now()))
            asyncio.get_running_loop().call_soon(self._idle)

    def _idle(self) -> None:
        self.update(status=CliStatus("idle", self._now()))


class MemorySessions(MemoryTerminals):
    """The host's sessions."""

    def __init__(self, ids: Sequence[str], clock: Clock) -> None:
        super().__init__(clock)
        self._processes = ProcFs()
        start = self._processes.start(os.getpid())
        assert start is not None
        writer = (os.getpid(), start)
        self.opened = {session: MemorySession(session, writer, clock) for session in ids}

    def find(self, session_id: str) -> MemorySession | None:
        return self.opened.get(session_id.lower())

    def lock_key(self, session_id: str) -> str:
        return session_id.lower()

    def holds(self, target: object, key: str, generation: int) -> bool:
        """As the host asks it: the same object, and its process lives."""
        found = self.opened.get(key)
        if found is None or found is not target or (found.key, found.generation) != (key, generation):
            return False
        return found.writer is None or self._processes.is_same(*found.writer)

    def proof(self, target: object) -> None:
        return None  # none of them is sandboxed

    def remote(self, session_id: str) -> bool:
        raise NotImplementedError(session_id)

    def request_stop(self, target: object, deadline: object) -> Any:
        raise NotImplementedError(target)


class MemoryPage:
    """The page that holds the renderer role: it has every session's row already, and says so when it is asked."""

    def __init__(self, broker: PageBroker, sessions: MemorySessions) -> None:
        self._broker = broker
        self._sessions = sessions
        broker.page_connected(EPOCH, self._asked)
        broker.page_ready(EPOCH)
        broker.role_moved(EPOCH)

    def _asked(self, message: object) -> None:
        assert isinstance(message, SessionAction)
        asyncio.get_running_loop().call_soon(self._answer, message)

    def _answer(self, asked: SessionAction) -> None:
        session = self._sessions.find(asked.tab_key)
        assert session is not None
        answer = SessionActionResult(
            asked.permit, asked.epoch, asked.mode, True, asked.requested_id, asked.tab_key, session.generation
        )
        self._broker.answered(EPOCH, answer)


class Unasked:
    """What a request for an open session has no business to ask: it fails the turn."""

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(name)


def house(sessions: MemorySessions, clock: Clock) -> Lifecycle:
    """Return what versioned requests work with. There are no closed sessions, and no projects."""
    broker = PageBroker(clock, sessions.holds, lambda: uuid.uuid4().hex)
    MemoryPage(broker, sessions)
    unasked: Any = Unasked()
    return Lifecycle(sessions, broker, unasked, unasked, unasked, unasked, unasked)


def body(kind: Kind, session: str, number: int) -> str:
    """Return a request: open this session and give it a text, once it is idle."""
    text = f"hello {number}"
    if kind == "versioned":
        return json.dumps({"version": 1, "action": "open", "sessionId": session, "prompt": text})
    return json.dumps({"sessionId": session, "command": text, "wait": "idle"})


class Caller:
    """The script that writes the requests and looks for their results."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.names: list[str] = []

    def put(self, content: str) -> int:
        """Put a complete request in its place; return when it was renamed."""
        name = str(uuid.uuid4())
        self.names.append(name)
        temporary = f"{self._folder}/{name}.tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(content)
        at = time.perf_counter_ns()
        os.rename(temporary, f"{self._folder}/{name}.json")
        return at

    async def answered(self) -> None:
        """Return when all have their results, all of which have to be good."""
        results = f"{self._folder}/processed"
        while sum(name.endswith(".result.json") for name in os.listdir(results)) < len(self.names):
            await asyncio.sleep(LOOK_SECONDS)
        for name in self.names:
            with open(f"{results}/{name}.result.json", encoding="utf-8") as file:
                result = json.load(file)
            if not result["ok"] or result["submitted"] != "confirmed":
                raise RuntimeError(f"a request was not delivered: {result}")


async def paced(folder: str, count: int, _sessions: int, kinds: Sequence[Kind]) -> dict[Kind, dict[str, float]]:
    """Send so many requests of each kind, in turn."""
    clock = SystemClock()
    ids = {kind: [str(uuid.uuid4()) for _ in range(count)] for kind in kinds}
    sessions = MemorySessions([session for each in ids.values() for session in each], clock)
    caller = Caller(folder)
    renamed: dict[str, int] = {}
    async with watcher(folder, sessions, clock):
        for number in range(count):
            for kind in kinds:
                session = ids[kind][number]
                renamed[session] = caller.put(body(kind, session, number))
                await asyncio.sleep(PACE_SECONDS)
        await caller.answered()
    found: dict[Kind, dict[str, float]] = {}
    for kind in kinds:
        latencies = sorted(first_byte(sessions.opened[session], renamed[session]) for session in ids[kind])
        found[kind] = {"N": count, "lat_p50": latencies[count // 2], "lat_p99": latencies[int(count * 0.99)]}
    return found


async def burst(folder: str, count: int, sessions: int, kinds: Sequence[Kind]) -> dict[Kind, dict[str, float]]:
    """Send so many requests at once over so many sessions, of one kind after the other."""
    return {kind: await _burst(f"{folder}/{kind}", count, sessions, kind) for kind in kinds}


async def _burst(folder: str, count: int, sessions: int, kind: Kind) -> dict[str, float]:
    clock = SystemClock()
    ids = [str(uuid.uuid4()) for _ in range(sessions)]
    os.mkdir(folder)
    caller = Caller(folder)
    async with watcher(folder, MemorySessions(ids, clock), clock):
        begin = time.perf_counter_ns()
        for number in range(count):
            caller.put(body(kind, ids[number % sessions], number))
        await caller.answered()
        total_ms = (time.perf_counter_ns() - begin) / 1e6
    return {"N": count, "total_ms": total_ms, "per_s": count / (total_ms / 1e3)}


def watcher(folder: str, sessions: MemorySessions, clock: Clock) -> TriggerWatcher:
    return TriggerWatcher(sessions, folder, clock=clock, env=ENVIRONMENT, house=house(sessions, clock))


def first_byte(session: MemorySession, renamed: int) -> float:
    assert session.written_at is not None
    return (session.written_at - renamed) / 1e6


PACES: dict[str, Callable[..., Any]] = {"paced": paced, "burst": burst}


def main() -> None:
    count, sessions, pace, first = sys.argv[1:]
    kinds: list[Kind] = ["versioned", "legacy"]
    kinds.sort(key=lambda kind: kind != first)
    with tempfile.TemporaryDirectory(prefix="bench-actions-") as folder:
        print(json.dumps(asyncio.run(PACES[pace](folder, int(count), int(sessions), kinds))))


if __name__ == "__main__":
    main()
