"""Liveness with real processes, the real /proc, a real database and files that are rewritten while they are read."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from switchboard.clis.liveness import LiveElsewhere, Liveness, NotLive, Unknown
from switchboard.clis.procfs import ProcFs
from switchboard.common.folder_watch import open_folder_watcher
from switchboard.common.system_clock import SystemClock
from switchboard.sessions.liveness_check import LivenessCheck, LivenessSources
from switchboard.sessions.saved import launch_record, recorded_launches
from switchboard.sessions.schedules import Schedules
from switchboard.store.sqlite import Store

ID = "0d6f3a52-0000-4000-8000-00000000000a"


class Stage:
    def __init__(self, root: Path) -> None:
        self.folder = root / "sessions"
        self.folder.mkdir()
        self.clock = SystemClock()
        self.store = Store(str(root / "switchboard.db"), self.clock.now())
        self.processes = ProcFs()
        self.watcher = open_folder_watcher()

    def check(self, processes: ProcFs | None = None) -> LivenessCheck:
        sources = LivenessSources(
            lambda: (str(self.folder),),
            processes or self.processes,
            Schedules(),
            recorded_launches(self.store),
        )
        return LivenessCheck(sources, self.watcher, self.clock)

    async def ask(self, processes: ProcFs | None = None) -> Liveness:
        check = self.check(processes)
        answer = await check.check(ID, self.clock.now() + 20_000)
        assert check.check_now(ID) == answer
        return answer

    def write(self, pid: int, start: str, **fields: object) -> Path:
        path = self.folder / f"{pid}.json"
        path.write_text(json.dumps({"pid": pid, "sessionId": ID, "procStart": start, "status": "idle", **fields}))
        return path

    def launched(self, pid: int, start: str) -> None:
        vantage = self.processes.vantage()
        self.store.record_launch(launch_record(ID, 1, "claude", "/p", self.clock.now(), (pid, start), vantage))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.store.close()
    await made.watcher.aclose()


@pytest.fixture
def child() -> object:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def started(stage: Stage, process: subprocess.Popen[bytes]) -> str:
    start = stage.processes.start(process.pid)
    assert start is not None
    return start


async def test_23_our_own_child_from_life_to_reaping(stage: Stage, child: subprocess.Popen[bytes]) -> None:
    """Killed, its descriptor stays behind. Until its exit is recorded, nobody can know that it is not elsewhere."""
    start = started(stage, child)
    stage.write(child.pid, start)
    stage.launched(child.pid, start)
    answer = await stage.ask()
    assert isinstance(answer, LiveElsewhere)
    assert answer.where.pid == child.pid

    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert await stage.ask() == NotLive(), "it waits to be collected: the kernel says that it has exited"

    child.wait()
    unresolved = await stage.ask()
    assert isinstance(unresolved, Unknown)
    assert f"{child.pid}.json" in unresolved.detail

    boot = stage.processes.boot_id()
    assert boot is not None
    stage.store.process_ended(child.pid, start, boot, stage.clock.now())
    assert await stage.ask() == NotLive()


async def test_23_an_earlier_boot(stage: Stage, child: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """The same processes, seen through a /proc that says that the machine was started again."""
    root = tmp_path / "proc"
    (root / "sys" / "kernel" / "random").mkdir(parents=True)
    for name in ("1", "self"):
        (root / name).symlink_to(f"/proc/{name}")
    random = root / "sys" / "kernel" / "random" / "boot_id"
    random.write_text(stage.processes.boot_id() or "")
    elsewhere = ProcFs(str(root))
    start = started(stage, child)
    stage.launched(child.pid, start)
    child.kill()
    child.wait()
    stage.write(child.pid, start)
    assert isinstance(await stage.ask(elsewhere), Unknown)
    random.write_text("00000000-0000-4000-8000-000000000000\n")
    assert await stage.ask(elsewhere) == NotLive()


async def test_23_a_number_that_was_given_out_again(stage: Stage, child: subprocess.Popen[bytes]) -> None:
    """A living process has the number, and it is not the one that wrote. That counts only where nothing is hidden."""
    vantage = stage.processes.vantage()
    start = str(int(started(stage, child)) - 100)
    domain = f"linux:{vantage.machine_id}:{vantage.namespace}"
    stage.write(child.pid, start, pidDomain=domain)
    proven = vantage.initial and vantage.unfiltered and vantage.machine_id is not None
    assert await stage.ask() == NotLive() if proven else isinstance(await stage.ask(), Unknown)
    stage.write(child.pid, start)
    assert isinstance(await stage.ask(), Unknown), "without the domain it may be another namespace's"


async def test_what_this_host_sees_of_its_own_place(stage: Stage) -> None:
    vantage = stage.processes.vantage()
    assert vantage.boot_id
    assert vantage.namespace == os.readlink("/proc/self/ns/pid")
    assert vantage.init_start == stage.processes.start(1)


async def test_files_rewritten_in_place_all_the_time(stage: Stage, child: subprocess.Popen[bytes]) -> None:
    """As CLIs do it: open, write, cut. A reader meets empty files and the tails of longer ones, and is never misled."""
    start = started(stage, child)
    path = stage.write(child.pid, start)
    bodies = [
        json.dumps({"pid": child.pid, "sessionId": ID, "procStart": start, "status": status, "note": "x" * length})
        for status, length in (("busy", 0), ("waiting", 3_000), ("idle", 40))
    ]
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            for body in bodies:
                with path.open("r+") as file:
                    file.truncate(0 if len(body) % 2 else None)
                    file.write(body[: len(body) // 2])
                    file.flush()
                    file.write(body[len(body) // 2 :])
                    file.truncate()
                stop.wait(0.001)

    writer = threading.Thread(target=rewrite, name="rewriting")
    writer.start()
    try:
        check = stage.check()
        answers = [await check.check(ID, stage.clock.now() + 10_000) for _ in range(200)]
        other = await check.check(ID.replace("a", "c"), stage.clock.now() + 10_000)
    finally:
        stop.set()
        await asyncio.to_thread(writer.join)
    assert {type(answer) for answer in answers} == {LiveElsewhere}
    assert other == NotLive()
