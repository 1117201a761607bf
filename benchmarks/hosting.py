"""Chapters: what a real host and its keeper take with many sessions of the built-in agent, in memory and at rest."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.hosting import Page, RunningHost, page

from benchmarks import machine
from benchmarks.figures import Aim, Figure, single
from benchmarks.machine import Activity, Memory
from switchboard.host.instance import runtime_folder_of
from switchboard.page import messages

HOST_MB, KEEPER_MB, SESSION_MB = 100, 20, 2
SWITCHES_PER_SECOND = 1

START_SECONDS = 120.0
"""Many agents start at once on few processors."""

CALM_SECONDS = 5.0
"""So long nothing is asked of the host before its rest is measured."""

LINE = b"\x1b[32m%7d\x1b[0m The quick brown fox jumps over the lazy dog, again and again and again.\r\n"


async def measure_sessions(sessions: int) -> list[Figure]:
    """Return what host and keeper have in memory: with 0, 1 and `sessions` sessions, with all the output they keep,
    and through a restart of the host with more output in between.
    """
    python = _bare_python()
    async with _host() as (host, shown):
        pids = _processes(host)
        bare = _now(pids)
        figures = _process_figures("no session", bare, python)
        for count in (1, sessions):
            await _open(host, shown, count)
            when = f"{count} session{'s' if count > 1 else ''}"
            figures += [*_process_figures(when, _now(pids)), *_together(when, _now(pids), bare, count)]
        await _fill(host, shown)
        when = f"{sessions} sessions, rings full"
        figures += [*_process_figures(when, _now(pids)), *_together(when, _now(pids), bare, sessions)]
        figures += await _restart(host, bare, sessions)
    return figures


async def _restart(host: RunningHost, bare: list[Memory], sessions: int) -> list[Figure]:
    """Kill the host, let every session print while the keeper reads, and start a host that takes them up."""
    terminals, keeper = _terminals(host), _processes(host)[1]
    host.kill()
    for terminal in terminals:
        await asyncio.to_thread(_print, terminal)
    alone = machine.memory(keeper)
    begin = time.perf_counter()
    await asyncio.to_thread(host.start)
    took = (time.perf_counter() - begin) * 1e3
    assert len(_terminals(host)) == sessions
    when = f"{sessions} sessions taken up"
    reading = Aim("value", "at most", KEEPER_MB + SESSION_MB * sessions)
    return [
        single(f"keeper RSS, {sessions} sessions, no host", alone.rss, "MB", aim=reading),
        *_process_figures(when, _now(_processes(host))),
        *_together(when, _now(_processes(host)), bare, sessions),
        single(f"up, to its ready line, {when}", took, "ms"),
    ]


async def measure_rest(sessions: int, seconds: float) -> list[Figure]:
    """Return what host and keeper do in `seconds` while `sessions` sessions are idle and a page shows one of them."""
    async with _host() as (host, shown):
        await _open(host, shown, sessions)
        handle = min(shown.sessions)
        shown.say(messages.Attach(handle))
        shown.say(messages.Focus(handle, 120, 40))
        await asyncio.sleep(CALM_SECONDS)
        agents = _agents(host)
        await asyncio.sleep(CALM_SECONDS)
        watched = {"host": [_processes(host)[0]], "keeper": [_processes(host)[1]], "agents together": agents}
        before = {name: [machine.activity(pid) for pid in pids] for name, pids in watched.items()}
        await asyncio.sleep(seconds)
        done = {
            name: [machine.activity(pid).since(old) for pid, old in zip(pids, before[name], strict=True)]
            for name, pids in watched.items()
        }
    return [figure for name, parts in done.items() for figure in _rest_figures(name, parts, seconds)]


def _process_figures(when: str, now: list[Memory], python: Memory | None = None) -> list[Figure]:
    """Each process by itself; beside a bare interpreter, and judged, where there are no sessions."""
    figures = []
    for name, memory, limit in zip(("host", "keeper"), now, (HOST_MB, KEEPER_MB), strict=True):
        if python is None:
            figures.append(single(f"{name} RSS, {when}", memory.rss, "MB"))
        else:
            aim = Aim("value", "at most", limit)
            figures.append(single(f"{name} RSS, {when}", memory.rss, "MB", python.rss, "a bare python", aim))
        figures.append(single(f"{name} PSS, {when}", memory.pss, "MB"))
    return figures


def _together(when: str, now: list[Memory], bare: list[Memory], sessions: int) -> list[Figure]:
    """Host and keeper together, in all and for each session."""
    together = sum(memory.rss for memory in now)
    each = (together - sum(memory.rss for memory in bare)) / sessions
    allowed = HOST_MB + KEEPER_MB + SESSION_MB * sessions
    return [
        single(f"both RSS, {when}", together, "MB", aim=Aim("value", "at most", allowed)),
        single(f"more per session, {when}", each, "MB", aim=Aim("value", "at most", SESSION_MB)),
    ]


def _rest_figures(name: str, parts: list[Activity], seconds: float) -> list[Figure]:
    switches = sum(part.voluntary for part in parts) / seconds
    aim = Aim("value", "at most", SWITCHES_PER_SECOND) if len(parts) == 1 else None
    return [
        single(f"{name}, voluntary switches", switches, "/s", aim=aim),
        single(f"{name}, processor time", sum(part.cpu_ms for part in parts) / seconds, "ms/s"),
    ]


@asynccontextmanager
async def _host() -> AsyncIterator[tuple[RunningHost, Page]]:
    """A host of its own, and a page."""
    with tempfile.TemporaryDirectory(prefix="bench-host-") as folder:
        # One level deeper: a host watches the parent of the deepest folder of a path that is missing, and what other
        # programs do in the system's folder of temporary files is not what is measured.
        host = RunningHost(Path(folder) / "host")
        try:
            host.start()
            async with page(host) as shown:
                yield host, shown
        finally:
            host.clean_up()


async def _open(host: RunningHost, shown: Page, sessions: int) -> None:
    """Open sessions of the built-in agent until there are so many, and wait until all are idle."""
    while len(shown.sessions) < sessions:
        count = len(shown.sessions)
        done = await shown.ask(lambda number: messages.OpenSession(number, "new", "agent", cwd=str(host.project)))
        assert done.ok, done
        await shown.once(lambda count=count: len(shown.sessions) > count, "the session in the list")  # type: ignore[misc]  # the default binds this turn's number
    await shown.once(
        lambda: all(info.status == "idle" for info in shown.sessions.values()), "idle agents", START_SECONDS
    )
    await asyncio.sleep(1)


async def _fill(host: RunningHost, shown: Page) -> None:
    """Print into every session's terminal, as its program would, until its ring has gone round."""
    for terminal in _terminals(host):
        await asyncio.to_thread(_print, terminal)
    handle = max(shown.sessions)
    shown.say(messages.Attach(handle))
    await shown.printed(handle, b"%7d" % (FILL_LINES - 1))
    await asyncio.sleep(1)


FILL_LINES = 16_000
"""About 1.5 MB of text with colours: more than a ring holds."""


def _print(terminal: str) -> None:
    descriptor = os.open(terminal, os.O_WRONLY | os.O_NOCTTY)
    with os.fdopen(descriptor, "wb") as file:
        for start in range(0, FILL_LINES, 100):
            file.write(b"".join(LINE % number for number in range(start, start + 100)))
            file.flush()


def _agents(host: RunningHost) -> list[int]:
    """The process ids of the open sessions."""
    return [session["pid"] for session in host.sessions() if session["state"] == "open"]


def _terminals(host: RunningHost) -> list[str]:
    """Where the open sessions' programs write."""
    return [os.readlink(f"/proc/{pid}/fd/1") for pid in _agents(host)]


def _now(pids: list[int]) -> list[Memory]:
    return [machine.memory(pid) for pid in pids]


def _processes(host: RunningHost) -> list[int]:
    """The host's and the keeper's process ids."""
    assert host.process is not None
    lock = Path(runtime_folder_of(str(host.data))) / "keeper.lock"
    return [host.process.pid, int(lock.read_text("ascii"))]


def _bare_python() -> Memory:
    """An interpreter that does nothing."""
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = machine.memory(process.pid)
        with contextlib.suppress(BrokenPipeError):
            process.communicate(b"\n")
    return found
