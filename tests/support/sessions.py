"""Sessions over real terminals with no process in them, and a keeper that is moved by hand.

The terminal is real (raw, so that every byte passes as it is) and so is the shared memory; the test plays the program:

    with hosted("agent") as stand:
        stand.session.start()
        await stand.prints(b"hello")
        stand.session.type(b"x")
        assert stand.terminal.typed(1) == b"x"

`HandKeeper` stands in for `KeeperClient`; `tests/unit/sessions/test_keeper_client.py` puts both through the same tests.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import select
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from switchboard.clis.profiles import PROFILES
from switchboard.sessions.keeper.child import make_memory, set_size
from switchboard.sessions.keeper.ring import Ring
from switchboard.sessions.keeper_client import ExitReport, Holding, KeeperError, KeeperGoneError
from switchboard.sessions.labels import Label
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session, SessionHooks
from tests.support.fake_clock import START, FakeClock

NOBODY = 2**31 - 1
"""A process id that no system gives out."""

SECONDS = 20.0
"""What the kernel does at once may take so long on a busy machine. Only a failure waits."""

ID = "0d6f3a52-0000-4000-8000-00000000000a"


class Terminal:
    """The program's end of a session's terminal."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def print(self, data: bytes) -> None:
        """Print; what the terminal has no room for is an error of the test."""
        assert os.write(self.descriptor, data) == len(data)

    def typed(self, count: int) -> bytes:
        """Read exactly so many bytes: a terminal may hand over in parts what was written at once or in a row."""
        found = b""
        poller = select.poll()
        poller.register(self.descriptor, select.POLLIN)
        while len(found) < count:
            assert poller.poll(SECONDS * 1000), f"{count} bytes expected, only {found!r} came"
            found += os.read(self.descriptor, count - len(found))
        return found

    def size(self) -> tuple[int, int]:
        """Columns and rows, as the program sees them."""
        return tuple(os.get_terminal_size(self.descriptor))  # type: ignore[return-value]  # two numbers

    def close(self) -> None:
        """Let go of it: the session's end reads a hang-up."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def make_holding(
    handle: int = 1,
    *,
    pid: int = NOBODY,
    label: bytes = b"",
    capacity: int = 64 * 1024,
    ended: ExitReport | None = None,
) -> tuple[Holding, Terminal]:
    """A session as the keeper hands it over, and the program's end of its terminal."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(slave, False)
    memory = make_memory(capacity, "/tmp")
    mapping = mmap.mmap(memory, 0)
    ring = Ring(mapping, capacity)
    if label:
        ring.store_label(label)
    holding = Holding(handle, pid, "100", START, ended, master, ring, mapping, memory)
    return holding, Terminal(slave)


@dataclass
class Seen:
    """What a session told its registry."""

    changed: int = 0
    printed: int = 0
    failed: list[Exception] = field(default_factory=list)
    interrupted: int = 0
    transcript: Callable[[Session], AbstractContextManager[None]] = lambda _session: nullcontext()
    on_changed: Callable[[], None] = lambda: None
    on_printed: Callable[[], None] = lambda: None

    def hooks(self) -> SessionHooks:
        return SessionHooks(
            self._changed, self._printed, self._failed, lambda session: self.transcript(session), self._interrupted
        )

    def _changed(self, _session: Session) -> None:
        self.changed += 1
        self.on_changed()

    def _printed(self, _session: Session) -> None:
        self.printed += 1
        self.on_printed()

    def _interrupted(self, _session: Session) -> None:
        self.interrupted += 1

    def _failed(self, _session: Session, error: Exception) -> None:
        self.failed.append(error)


@dataclass
class Stand:
    """A session with everything around it."""

    session: Session
    terminal: Terminal
    seen: Seen
    clock: FakeClock

    async def prints(self, data: bytes) -> None:
        """Let the program print, and return when the session has read it."""
        await prints(self.session, self.terminal, data)


def make_label(profile: str = "agent", key: str = ID, **fields: Any) -> Label:
    """A label with what a test does not care about filled in."""
    given = {"cwd": "/srv/project", "generation": 7, "launched_at": START, **fields}
    return Label(key, profile, **given)


@contextmanager
def hosted(
    profile: str = "agent",
    *,
    handle: int = 1,
    pid: int = NOBODY,
    capacity: int = 64 * 1024,
    adopted: bool = False,
    ended: ExitReport | None = None,
    clock: FakeClock | None = None,
    output: bytes = b"",
    **label: Any,
) -> Iterator[Stand]:
    """A session that is not started yet. `output`: what its ring holds already."""
    clock = clock or FakeClock()
    holding, terminal = make_holding(handle, pid=pid, capacity=capacity, ended=ended)
    holding.ring.append(output)
    seen = Seen()
    session = Session(holding, PROFILES[profile], make_label(profile, **label), clock, seen.hooks(), adopted)
    try:
        yield Stand(session, terminal, seen, clock)
    finally:
        terminal.close()
        if session.holding.ring is holding.ring:
            close_once(session)


def close_once(session: Session) -> None:
    """Close a session that the test may have closed itself."""
    if not session.holding.mapping.closed:
        session.close()


async def prints(session: Session, terminal: Terminal, data: bytes) -> None:
    """Let the program print, and return when the session has read it."""
    head = session.ring.head + len(data)
    terminal.print(data)
    await until(lambda: session.ring.head >= head, f"{data!r} in the ring")


async def until(condition: Callable[[], object], what: str) -> None:
    """Let the loop turn until the kernel has done what it does at once."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Spawn:
    """What the keeper was asked to start."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    size: tuple[int, int]
    label: bytes
    deadline: int


class HandKeeper:
    """`KeeperClient` without a keeper. Starts nothing: each session is a terminal that the test plays.

    `refusal`: the reason why nothing is started. `held`: what the next connection finds. `told`: what was asked, in
    order. `slow`: while set, an answer to `spawn` waits for it.
    """

    def __init__(self, on_exit: Callable[[int, ExitReport], None], on_lost: Callable[[], None]) -> None:
        self._on_exit = on_exit
        self._on_lost = on_lost
        self.connected = False
        self.connections = 0
        self.refusal: str | None = None
        self.unreachable: Exception | None = None
        self.held: list[Holding] = []
        self.told: list[tuple[str, int]] = []
        self.spawned: list[Spawn] = []
        self.terminals: dict[int, Terminal] = {}
        self.slow: asyncio.Event | None = None
        self.next_handle = 1
        self.next_pid = NOBODY - 1000

    async def connect(self, folder: str) -> list[Holding]:
        if self.unreachable is not None:
            raise self.unreachable
        self.connected = True
        self.connections += 1
        held, self.held = self.held, []
        return held

    async def spawn(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        columns: int,
        rows: int,
        label: bytes,
        deadline: int,
    ) -> Holding:
        self._must_be_there()
        self.spawned.append(Spawn(tuple(argv), cwd, dict(env), (columns, rows), label, deadline))
        if self.slow is not None:
            await self.slow.wait()
        if self.refusal is not None:
            raise KeeperError(self.refusal)
        holding = self.make(label=label)
        set_size(self.terminals[holding.handle].descriptor, columns, rows)
        return holding

    def make(self, **fields: Any) -> Holding:
        """A session of this keeper, for `held`."""
        fields.setdefault("pid", self.next_pid)
        self.next_pid += 1
        holding, terminal = make_holding(fields.pop("handle", self.next_handle), **fields)
        self.next_handle = max(self.next_handle, holding.handle + 1)
        if (before := self.terminals.get(holding.handle)) is not None:
            before.close()
        self.terminals[holding.handle] = terminal
        return holding

    def forget(self, handle: int) -> None:
        if self.connected:
            self.told.append(("forget", handle))

    def adopt(self, holding: Holding) -> None:
        self._must_be_there()
        self.told.append(("adopt", holding.handle))

    def close(self) -> None:
        self.connected = False

    # --- what happens

    def exits(self, handle: int, code: int | None = 0, signal: int | None = None, at: int = START) -> None:
        """A child was reaped."""
        self._on_exit(handle, ExitReport(code, signal, at))

    def dies(self) -> None:
        """The keeper has gone; a later one knows nothing."""
        self.connected = False
        self.next_handle = 1
        self._on_lost()

    def clean_up(self) -> None:
        for terminal in self.terminals.values():
            terminal.close()
        for holding in self.held:
            holding.close()

    def _must_be_there(self) -> None:
        if not self.connected:
            raise KeeperGoneError("the session keeper is gone; new sessions cannot be opened until it is back")


class ListLog:
    """A log that a test reads."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, message: str) -> None:
        self.lines.append(f"info {message}")

    def warning(self, message: str) -> None:
        self.lines.append(f"warning {message}")

    def error(self, message: str) -> None:
        self.lines.append(f"error {message}")


@dataclass
class House:
    """A registry over a keeper that is moved by hand."""

    registry: Registry
    keeper: HandKeeper
    clock: FakeClock
    log: ListLog

    async def opens(self, profile: str = "agent", session_id: str = ID, **fields: Any) -> Session:
        """Open a session and return it."""
        from switchboard.sessions.launch import LaunchPlan

        given = {"launch": "new", "name": None, "project": None, **fields}
        plan = LaunchPlan(("/bin/prog", "x"), "/srv/project", {"A": "1"}, 100, 30)
        return await self.registry.open(PROFILES[profile], plan, session_id, **given)

    def terminal(self, session: Session) -> Terminal:
        return self.keeper.terminals[session.handle]


@contextmanager
def house(clock: FakeClock | None = None) -> Iterator[House]:
    """A registry that is not connected yet; everything is closed at the end."""
    clock, log = clock or FakeClock(), ListLog()
    registry = Registry("/nowhere", clock, log)
    keeper = HandKeeper(registry._child_exited, registry._keeper_lost)
    registry._keeper = keeper  # type: ignore[assignment]  # the verified fake
    made = House(registry, keeper, clock, log)
    try:
        yield made
    finally:
        registry.close()
        keeper.clean_up()
