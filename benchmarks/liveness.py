"""Chapter: whether a session is live elsewhere, with many processes and descriptors.

On a /proc that is described in files, where everything is known, and on the machine's own, where reading costs what it
costs.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.fake_procfs import FakeProcesses

from benchmarks.figures import Aim, Figure
from benchmarks.turns import beside
from switchboard.clis.liveness import LiveElsewhere, NotLive, Unknown
from switchboard.clis.namespace_resolver import NamespaceResolver
from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import FOREVER
from switchboard.common.folder_watch import open_folder_watcher
from switchboard.common.system_clock import SystemClock
from switchboard.sessions.liveness_check import LivenessCheck, LivenessSources
from switchboard.sessions.schedules import Schedules

AIM = Aim("value", "at most", 30)
AGAINST = "status of all"

MANY = """\
exec 3<&0
i=0
while [ $i -lt "$1" ]; do
  read -r _ <&3 &
  i=$((i + 1))
done
echo ready
wait
"""
"""A shell that starts so many small processes, all of which end when its input does."""


def measure(processes: int, descriptors: int, rounds: int) -> list[Figure]:
    """Return the figures for so many processes and descriptors."""
    with tempfile.TemporaryDirectory(prefix="bench-liveness-") as place:
        return asyncio.run(_measure(Path(place), processes, descriptors, rounds))


async def _measure(root: Path, processes: int, descriptors: int, rounds: int) -> list[Figure]:
    folder = root / "sessions"
    folder.mkdir()
    ids = {
        what: _descriptor(folder, pid, start)
        for what, pid, start in (("ours", 4_300_000, "1"), ("sandbox", 2, "9000"), ("nobody", 3, "9001"))
    }
    for pid in range(4_000_000, 4_000_000 + descriptors - len(ids)):
        _descriptor(folder, pid, "1")
    nobody = str(uuid.uuid4())
    shown, hidden = _described(root / "shown", processes), _described(root / "hidden", processes, namespace=None)
    size = f"{processes:,} processes"
    figures = []
    for name, door, asked, kind, aim in (
        ("no descriptor, no scan", shown, nobody, NotLive, None),
        ("a writer of our own, no scan", shown, ids["ours"], LiveElsewhere, None),
        (f"a sandboxed writer, {size}", shown, ids["sandbox"], LiveElsewhere, AIM),
        (f"nobody fits, {size}", shown, ids["nobody"], Unknown, AIM),
        (f"a sandboxed writer, {size}, namespaces hidden", hidden, ids["sandbox"], LiveElsewhere, None),
    ):
        figures.append(await _figure(name, door, folder, asked, kind, rounds, aim))
    with _many(processes):
        door = ProcFs()
        size = f"{len(door.numbers()):,} real processes"
        for name, asked, kind, aim in (
            (f"no descriptor, {size}", nobody, NotLive, None),
            (f"nobody fits, {size}", ids["nobody"], Unknown, AIM),
        ):
            figures.append(await _figure(name, door, folder, asked, kind, rounds, aim))
    return figures


def _descriptor(folder: Path, pid: int, start: str) -> str:
    session = str(uuid.uuid4())
    body = {"pid": pid, "sessionId": session, "procStart": start, "status": "idle", "cwd": "/x" * 50}
    (folder / f"{pid}.json").write_text(json.dumps(body))
    return session


def _described(root: Path, count: int, **options: object) -> ProcFs:
    root.mkdir()
    fake = FakeProcesses(root)
    fake.machine()
    for pid in range(10_000, 10_000 + count):
        fake.add(pid, start=str(pid), **options)  # type: ignore[arg-type] # the options of one row
    fake.add(4_300_000, start="1")
    fake.sandboxed(8000)
    return ProcFs(str(root), machine_id=str(root / "machine-id"))


@contextmanager
def _many(count: int) -> Iterator[None]:
    shell = subprocess.Popen(["sh", "-c", MANY, "sh", str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert shell.stdin is not None
    assert shell.stdout is not None
    try:
        assert shell.stdout.readline() == b"ready\n"
        yield
    finally:
        shell.stdin.close()
        shell.stdout.close()
        shell.wait()


async def _figure(
    name: str, door: ProcFs, folder: Path, asked: str, kind: type[object], rounds: int, aim: Aim | None
) -> Figure:
    watcher = open_folder_watcher()
    sources = LivenessSources(
        lambda: (str(folder),), door, Schedules(), lambda _pid, _start: (), NamespaceResolver(door)
    )
    check = LivenessCheck(sources, watcher, SystemClock())

    async def ask() -> None:
        answer = await check.check(asked, FOREVER)
        assert type(answer) is kind, answer

    def obvious() -> None:
        """The straightforward look: the numbers of every process."""
        for pid in door.numbers():
            door.ns_pids(pid)

    try:
        return await beside(name, ask, obvious, rounds, AGAINST, aim)
    finally:
        await watcher.aclose()
