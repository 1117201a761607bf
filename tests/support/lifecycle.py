"""A house in memory for versioned requests: sessions, a page, and what is known of closed sessions and projects.

    house = House(tmp_path)
    house.open_here(ID)                          # a session that is open
    house.closed(ID)                             # or one that can be resumed
    result = await house.ask({"version": 1, "action": "open", "sessionId": ID, "prompt": "hello"})
    assert house.calls == [...]                  # what the page was asked, and what was started, in order

    house.open_here().turns(1000)                # a session that works for a second after each Enter
    result = await house.ask({"version": 1, "action": "stop", "sessionId": ID, "before": "bye"})
    assert house.sessions.stops == [...]         # which sessions were asked to end

Time is moved by hand. Everything that an action may call is written down in `calls`, so that a test can show what was
not called. `ask` carries out one request through the real action and the real files; `watching` runs the real watcher.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from switchboard.clis.closed_sessions import ClosedOutcome, ClosedSession, SessionNotFound
from switchboard.clis.liveness import Liveness, NotLive
from switchboard.clis.projects import Admission, Admitted, Project, UnknownProject
from switchboard.common.clock import Instant, sleep_until
from switchboard.common.facts import CliStatus, TurnEvidence
from switchboard.common.settings import TriggerSettings
from switchboard.delivery.desk import Desk
from switchboard.delivery.lifecycle import Create, Guards, HostedTarget, PageRefused, Resume
from switchboard.delivery.memory import MemoryTerminal
from switchboard.sessions.composer import Composer
from switchboard.sessions.stop import StopError
from switchboard.store.sqlite import StoreError
from switchboard.triggers import v1_reasons
from switchboard.triggers.action_files import ActionFiles
from switchboard.triggers.fifo import SessionFifo
from switchboard.triggers.lifecycle_port import Lifecycle, Proof, Stopping
from switchboard.triggers.limiter import Limiter
from switchboard.triggers.progress import Progress
from switchboard.triggers.results import Result
from switchboard.triggers.say import Reporter
from switchboard.triggers.spool import Spool
from switchboard.triggers.v1_action import VersionedAction
from switchboard.triggers.v1_schema import ShapeRefusal, validate
from switchboard.triggers.v1_work import Bench
from switchboard.triggers.watcher import TriggerWatcher
from tests.support.fake_clock import FakeClock
from tests.support.spool_stage import Notes

ID = "01234567-89ab-cdef-0123-456789abcdef"
OTHER = "11234567-89ab-cdef-0123-456789abcdef"
CWD = "/srv/project"


_LISTED = re.compile(
    "|".join(
        # A value stands where the list has its name in angle brackets.
        re.sub(r"<\w+>", ".+", re.escape(text))
        for text in (*v1_reasons.catalogue().values(), *v1_reasons.of_delivery().values())
    )
)


def is_listed(reason: object) -> bool:
    """Whether a result's reason is one that the trigger reference has: null, or a text of one of the lists."""
    return reason is None or (isinstance(reason, str) and _LISTED.fullmatch(reason) is not None)


class MemorySession(MemoryTerminal):
    """An open session. `writer` and `kind` may be changed at any time.

    `owner_lives`: whether the process that owns its conversation does. `proof`: what proves that of one in a sandbox.
    `ends_after`: so long after it was asked to end it does; None: it does not listen.
    """

    def __init__(
        self, key: str, cwd: str | None, house: House, generation: int, kind: Literal["agent", "shell", "attach"]
    ) -> None:
        super().__init__(key, cwd, self._was_written, house.clock)
        self.kind: Literal["agent", "shell", "attach"] = kind
        self.publishes = True
        self.generation = generation
        self.launched_at = house.clock.now()
        self.writer: tuple[int, str] | None = None
        self.owner_lives = True
        self.ends_after: int | None = 150
        self.composer = Composer()
        self.processes: tuple[tuple[int, str], ...] = ()
        self.proof: Proof | None = None
        self.writes: list[tuple[int, bytes]] = []
        self.on_write: Callable[[bytes], None] = lambda _data: None
        self.recorded: TurnEvidence | None = None
        self.follows_transcript = 0
        self._house = house

    def _was_written(self, data: bytes) -> None:
        self.writes.append((self._house.elapsed, data))
        self._house.calls.append(f"write {data!r} to {self.generation}")
        self.on_write(data)

    @property
    def typed(self) -> bytes:
        return b"".join(data for _, data in self.writes)

    @contextmanager
    def transcript(self) -> Iterator[None]:
        """What its transcript says is known only meanwhile: `recorded`."""
        self.follows_transcript += 1
        self.update(transcript=self.recorded)
        try:
            yield
        finally:
            self.follows_transcript -= 1
            if not self.follows_transcript:
                self.update(transcript=None)

    def record(self, evidence: TurnEvidence) -> None:
        """Its transcript says this from now on."""
        self.recorded = evidence
        if self.follows_transcript:
            self.update(transcript=evidence)

    def show(self, status: str, *, ago: int = 0, **facts: Any) -> None:
        """Its CLI publishes a status, stamped so long ago."""
        self.update(status=CliStatus(status, self._house.clock.now() - ago), starting=False, **facts)

    def react(self) -> None:
        """From now on an Enter makes the CLI report a turn."""
        self.on_write = lambda data: self.show("busy") if data == b"\r" else None

    def turns(self, ms: int = 1000) -> None:
        """From now on each Enter makes the CLI work for so long."""

        def react(data: bytes) -> None:
            if data == b"\r":
                self.show("busy")
                self._house.at(self._house.elapsed + ms, lambda: self.show("idle"))

        self.on_write = react

    def type(self, data: bytes) -> None:
        """Somebody types: the real composer model follows."""
        self.composer.feed(data, self._house.clock.now())
        self.update(composer=self.composer.view())


class FakeStopping:
    """A session that was asked to end. `fails`: raised while its end is waited for."""

    def __init__(self, session: MemorySession, house: House, deadline: Instant, fails: StopError | None) -> None:
        self._session = session
        self._house = house
        self._deadline = deadline
        self._fails = fails

    async def finished(self) -> bool:
        session, clock = self._session, self._house.clock
        try:
            while session.facts.value.present and clock.now() < self._deadline:
                if self._fails is not None:
                    raise self._fails
                await session.facts.changed(session.facts.value, clock, self._deadline)
        except asyncio.CancelledError:
            self._house.calls.append(f"leave {session.generation}")
            raise
        return not session.facts.value.present


class Sessions:
    """The host's sessions, by every id that each of them has had.

    `stops`: who was asked to end, and until when. `cannot_stop`: raised instead; `fails`: raised while the end is
    waited for.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        self._by_id: dict[str, MemorySession] = {}
        self.jobs: dict[str, str] = {}
        self.remotes: set[str] = set()
        self.store_is_broken = False
        self.stops: list[tuple[MemorySession, Instant]] = []
        self.cannot_stop: StopError | None = None
        self.fails: StopError | None = None
        self.on_stop: Callable[[MemorySession], None] = lambda _session: None
        self._generations = 0

    def add(
        self, session_id: str, cwd: str | None = CWD, kind: Literal["agent", "shell", "attach"] = "agent"
    ) -> MemorySession:
        self._generations += 1
        session = MemorySession(session_id.lower(), cwd, self._house, self._generations, kind)
        self._by_id[session.key] = session
        return session

    def rekey(self, session_id: str, new_id: str) -> None:
        """The CLI goes on under another id; the old one goes on meaning the same session."""
        session = self._by_id[session_id]
        session.key = new_id
        self._by_id[new_id] = session

    def forget(self, session_id: str) -> None:
        gone = self._by_id[session_id]
        self._by_id = {key: session for key, session in self._by_id.items() if session is not gone}

    def find(self, session_id: str) -> MemorySession | None:
        return self._by_id.get(session_id.lower())

    def lock_key(self, session_id: str) -> str:
        session = self.find(session_id)
        return session_id.lower() if session is None else f"#{session.generation}"

    def remote_hosts(self, session_id: str) -> tuple[str, ...]:
        return ("elsewhere",) if session_id in self.remotes else ()

    def background_job(self, session_id: str) -> str | None:
        return self.jobs.get(session_id)

    def holds(self, target: HostedTarget, key: str, generation: int) -> bool:
        session = self._by_id.get(key)
        if session is not target or session.generation != generation:
            return False
        return session.facts.value.present and session.owner_lives

    def proof(self, target: HostedTarget) -> Proof | None:
        assert isinstance(target, MemorySession)
        return target.proof

    def remote(self, session_id: str) -> bool:
        if self.store_is_broken:
            raise StoreError("the database cannot be used")
        return session_id in self.remotes

    def request_stop(self, target: HostedTarget, deadline: Instant) -> Stopping:
        assert isinstance(target, MemorySession)
        house = self._house
        house.calls.append(f"stop {target.generation}")
        if self.cannot_stop is not None:
            raise self.cannot_stop
        self.stops.append((target, deadline))
        self.on_stop(target)
        if target.ends_after is not None:
            house.at(house.elapsed + target.ends_after, target.exit)
        return FakeStopping(target, house, deadline, self.fails)


async def _at_once() -> None:
    return None


async def _a_moment() -> None:
    """Whatever is asked may take a while, in which other things happen, a crash for one."""
    await asyncio.sleep(0)


class FakePage:
    """A page that does what it is asked for, unless a test says otherwise.

    `ready_at`: from when on it is there; None never. `ack_after`: so long after its deed it answers; None never.
    `prepared_after`: so long its preparation takes. `refuses`: raised instead of a start; `fails`: raised after it.
    `during`: done while the page works on what it was asked. `making`: done while the process is being made, when
    nobody can say yet whether there will be one. `joins`: somebody else's opening is joined, nothing is started.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        self.ready_at: int | None = 0
        self.window = True
        self.ack_after: int | None = 0
        self.prepared_after = 0
        self.making: Callable[[], Awaitable[None]] = _at_once
        self.refuses: PageRefused | None = None
        self.fails: PageRefused | None = None
        self.during: Callable[[], Awaitable[None]] = _at_once
        self.started: list[MemorySession] = []
        self.on_start: Callable[[MemorySession], None] = lambda session: session.update(starting=True)
        self.instead: Callable[[MemorySession | None], HostedTarget] | None = None
        self.joins = False

    async def ready(self, deadline: Instant) -> None:
        house = self._house
        house.calls.append("ready")
        await _a_moment()
        if not self.window:
            raise PageRefused("window not available")
        until = deadline if self.ready_at is None else min(deadline, house.start + self.ready_at)
        if until > house.clock.now():
            await sleep_until(house.clock, until)
        if self.ready_at is None or house.clock.now() >= deadline:
            raise PageRefused("renderer not ready")

    async def reattach(self, requested_id: str, target: HostedTarget, deadline: Instant) -> None:
        self._house.calls.append(f"reattach {requested_id} key {target.key} generation {target.generation}")
        await self.during()
        if self.refuses is not None:
            raise self.refuses
        await self._acknowledge(deadline)

    async def open(
        self,
        what: Resume | Create,
        guards: Guards,
        spawned: Callable[[HostedTarget], None],
        deadline: Instant,
    ) -> HostedTarget:
        house = self._house
        session_id = what.session.session_id if isinstance(what, Resume) else what.session_id
        cwd = what.session.cwd if isinstance(what, Resume) else what.project
        name = "" if isinstance(what, Resume) else f" named {what.name!r}"
        house.calls.append(f"open {session_id}{name} in {what.project}")
        trouble = await guards.prepare()
        if trouble is not None:
            raise PageRefused(*trouble)
        if self.prepared_after:
            await sleep_until(house.clock, house.clock.now() + self.prepared_after)
        await self.during()
        if self.refuses is not None:
            raise self.refuses
        session = None
        if not self.joins:
            trouble = guards.final()
            if trouble is not None:
                raise PageRefused(*trouble)
            await self.making()
            session = self._spawn(session_id, cwd, spawned)
        if self.fails is not None:
            raise self.fails
        await self._acknowledge(deadline)
        if self.instead is not None:
            return self.instead(session)
        found = house.sessions.find(session_id)
        assert found is not None
        return found

    def _spawn(self, session_id: str, cwd: str, spawned: Callable[[HostedTarget], None]) -> MemorySession:
        house = self._house
        house.calls.append(f"spawn {session_id} in {cwd}")
        session = house.sessions.add(session_id, cwd)
        house.reach(f"spawn {session_id}")
        self.started.append(session)
        spawned(session)
        self.on_start(session)
        return session

    async def _acknowledge(self, deadline: Instant) -> None:
        clock = self._house.clock
        until = deadline if self.ack_after is None else min(deadline, clock.now() + self.ack_after)
        await sleep_until(clock, until)
        if self.ack_after is None or clock.now() >= deadline:
            raise PageRefused("renderer action timed out")


class FakeLiveness:
    """`answer` is given, unless a test has put others before it in `script` (None there: `answer`)."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.answer: Liveness = NotLive()
        self.script: list[Liveness | None] = []

    async def check(self, session_id: str, deadline: Instant, exclude: object = ()) -> Liveness:
        self._house.calls.append(f"liveness {session_id}")
        await _a_moment()
        return self._next()

    def check_now(self, session_id: str, exclude: object = ()) -> Liveness:
        self._house.calls.append(f"liveness now {session_id}")
        return self._next()

    def _next(self) -> Liveness:
        scripted = self.script.pop(0) if self.script else None
        return self.answer if scripted is None else scripted


class FakeClosed:
    """What sessions that are not open are."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.known: dict[str, ClosedOutcome] = {}

    async def resolve(self, session_id: str, deadline: Instant) -> ClosedOutcome:
        self._house.calls.append(f"resolve {session_id}")
        await _a_moment()
        return self.known.get(session_id, SessionNotFound())

    def recheck(self, session: ClosedSession) -> ClosedOutcome:
        self._house.calls.append(f"recheck {session.session_id}")
        return self.known.get(session.session_id, SessionNotFound())


class FakeProjects:
    """Which projects there are."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.known: dict[str, Admission] = {CWD: Admitted(Project(CWD))}

    async def admit(self, project: str, directory: str, deadline: Instant) -> Admission:
        self._house.calls.append(f"admit {project}")
        await _a_moment()
        return self.known.get(project, UnknownProject())

    async def admit_resume(self, cwd: str, deadline: Instant) -> Admission:
        self._house.calls.append(f"admit {cwd}")
        await _a_moment()
        return self.known.get(cwd, UnknownProject())


class House:
    """Everything. `folder` gets the triggers folder; `real_time`: the clock starts now, as files carry that."""

    def __init__(self, folder: Path, *, real_time: bool = False, **env: str) -> None:
        self.clock = FakeClock(time.time_ns() // 1_000_000) if real_time else FakeClock()
        self.start = self.clock.now()
        self.env = {"SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "50", **env}
        self.calls: list[str] = []
        self.steps: list[str] = []
        self.told: list[Progress] = []
        self.problems: list[str | None] = []
        self.log = Notes()
        self.sessions = Sessions(self)
        self.page = FakePage(self)
        self.liveness = FakeLiveness(self)
        self.lookup = FakeClosed(self)
        self.projects = FakeProjects(self)
        self.directories = {CWD}
        self.ids = (f"{number:08x}-0000-4000-8000-000000000000" for number in range(0xA0, 0xFFFF))
        self.reach: Callable[[str], None] = lambda _what: None
        """Told of each deed, for crash points."""
        self.desk = Desk(self.clock, TriggerSettings(self.env))
        self.spool = Spool(str(folder / "triggers"))
        self.spool.prepare()
        say = Reporter(self.log)
        self.files = ActionFiles(self.spool, self.clock, say)
        fifo = SessionFifo(self.sessions.lock_key)
        self.bench = Bench(self.lifecycle(), self.desk, fifo, self.spool, say, Limiter(self.start))
        self.actions: list[VersionedAction] = []
        self._requests = 0

    def lifecycle(self, **parts: Any) -> Lifecycle:
        """What actions work with; a test can put the real thing in the place of a fake one."""
        fakes = {
            "sessions": self.sessions,
            "page": self.page,
            "liveness": self.liveness,
            "closed": self.lookup,
            "projects": self.projects,
            "new_id": lambda: next(self.ids),
            "is_directory": self.directories.__contains__,
        }
        return Lifecycle(**{**fakes, **parts})

    @property
    def elapsed(self) -> int:
        return self.clock.now() - self.start

    # --- what there is ---

    def open_here(self, session_id: str = ID, **options: Any) -> MemorySession:
        """A session that is open, idle for long, and answers an Enter with a turn."""
        session = self.sessions.add(session_id, **options)
        session.writer = (4000 + session.generation, "1")
        session.show("idle", ago=60_000)
        session.launched_at -= 120_000
        session.react()
        return session

    def closed(self, session_id: str = ID, cwd: str = CWD) -> ClosedSession:
        """A session that can be resumed, in a known project; once started it comes up at once."""
        session = ClosedSession(session_id, "claude", f"/home/p/{session_id}.jsonl", (1, 2), cwd)
        self.lookup.known[session_id] = session
        self.projects.known.setdefault(cwd, Admitted(Project(cwd)))
        self.directories.add(cwd)
        self.page.on_start = self.comes_up
        return session

    def comes_up(self, session: MemorySession) -> None:
        """A started CLI shows itself after 400 ms, idle, and answers an Enter with a turn."""
        session.update(starting=True)
        session.react()

        def up() -> None:
            session.writer = (4000 + session.generation, "1")
            session.show("idle")

        self.at(self.elapsed + 400, up)

    def at(self, ms: int, act: Callable[[], None]) -> None:
        """Something happens so long after the start."""
        self.clock.call_at(self.start + ms, act)

    # --- asking ---

    async def ask(self, body: dict[str, Any], **options: Any) -> Result:
        """Carry out one request to its end, with its result published."""
        return await self.clock.run(self.carry_out(body, **options))

    async def carry_out(self, body: dict[str, Any], *, stem: str | None = None, age_ms: int = 0) -> Result:
        self._requests += 1
        stem = stem or f"{self._requests:08x}-aaaa-4000-8000-000000000000"
        request = validate({"version": 1, **body}, stem)
        assert not isinstance(request, ShapeRefusal), request
        modified_ns = (self.clock.now() - age_ms) * 1_000_000
        action = VersionedAction(request, stem, modified_ns, self.bench, self.steps.append)
        self.actions.append(action)
        try:
            result = await action.run()
            assert is_listed(result["reason"]), f"{result['reason']!r} is a reason that nobody has listed"
            await self.files.settle(stem, result)
        finally:
            action.release()
        return result

    def begin(self, body: dict[str, Any], **options: Any) -> asyncio.Task[Result]:
        """Carry out a request beside others; the test moves the clock."""
        return asyncio.get_running_loop().create_task(self.carry_out(body, **options), name="one request")

    def close(self) -> None:
        """The host closes."""
        self.desk.stop.request()
        self.bench.fifo.close()

    def marker(self, stem: str | None = None) -> dict[str, Any] | None:
        """The marker that lies there now, of the only request unless one is named."""
        stems = [stem] if stem is not None else list(self.spool.marker_stems())
        assert len(stems) <= 1
        content = self.spool.read_marker(stems[0]) if stems else None
        return None if content is None else json.loads(content)

    def deeds(self) -> list[str]:
        """What was done to the world: page calls that open, starts, stops, writes."""
        return [call for call in self.calls if call.startswith(("reattach", "open", "spawn", "stop", "write"))]

    # --- the real watcher ---

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[TriggerWatcher]:
        """The watcher over the folder; requests come from `put`. Needs `real_time`."""
        watcher = TriggerWatcher(
            self.sessions,
            self.spool.folder,
            clock=self.clock,
            env=self.env,
            log=self.log,
            observe=self._observe,
            on_problem=self.problems.append,
            house=self.bench.house,
        )
        async with watcher:
            await self.clock.settle()
            yield watcher

    def _observe(self, progress: Progress) -> None:
        self.steps.append(progress.step)
        self.told.append(progress)

    def put(self, stem: str, body: object) -> None:
        """Put a complete request in its place, as a well-behaved caller does."""
        beside = Path(self.spool.folder) / f"{stem}.tmp"
        beside.write_text(body if isinstance(body, str) else json.dumps(body))
        os.rename(beside, Path(self.spool.folder) / f"{stem}.json")

    def result(self, stem: str) -> Any:
        """The published result; None while there is none."""
        path = Path(self.spool.results) / f"{stem}.result.json"
        with suppress(FileNotFoundError):
            return json.loads(path.read_text())
        return None

    async def until_result(self, stem: str, limit_ms: int = 600_000) -> Any:
        """Let time pass until the request is answered."""
        end = self.clock.now() + limit_ms
        await self.clock.settle()
        while self.result(stem) is None:
            assert self.clock.now() < end, f"no result for {stem}"
            await self.clock.advance(min(50, end - self.clock.now()))
        return self.result(stem)
