"""Chapter: finding a closed session among many transcripts, and asking whether one is live elsewhere."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
import uuid
from pathlib import Path

from benchmarks.figures import Aim, Figure
from benchmarks.turns import beside
from switchboard.clis.closed_sessions import ClosedSession
from switchboard.clis.liveness import NotLive
from switchboard.clis.procfs import ProcFs
from switchboard.clis.project_folders import folder_name
from switchboard.clis.project_snapshot import ProjectSnapshots
from switchboard.clis.projects import Admitted
from switchboard.clis.session_lookup import SessionLookup
from switchboard.clis.transcript_index import TranscriptIndex
from switchboard.common.clock import FOREVER
from switchboard.common.folder_watch import open_folder_watcher
from switchboard.common.system_clock import SystemClock
from switchboard.sessions.liveness_check import LivenessCheck, LivenessSources
from switchboard.sessions.schedules import Schedules

LOOKUP_AIM = Aim("value", "at most", 20)
AGAINST = "find -name"


def measure(folders: int, transcripts: int, rounds: int) -> list[Figure]:
    """Return the figures for so many transcripts in so many folders."""
    with tempfile.TemporaryDirectory(prefix="bench-lookup-") as place:
        root = Path(place)
        ids = _fill(root / "projects", root / "work", folders, transcripts)
        descriptors = root / "sessions"
        _descriptors(descriptors, 200)
        return asyncio.run(_measure(root, ids, descriptors, rounds))


def _fill(projects: Path, work: Path, folders: int, transcripts: int) -> list[str]:
    ids = [str(uuid.uuid4()) for _ in range(transcripts)]
    for number in range(folders):
        cwd = work / f"project{number}"
        cwd.mkdir(parents=True)
        folder = projects / folder_name(str(cwd))
        folder.mkdir(parents=True)
        row = json.dumps({"type": "user", "cwd": str(cwd), "message": {"content": "hello"}}) + "\n"
        for session in ids[number::folders]:
            (folder / f"{session}.jsonl").write_text('{"type":"mode"}\n' + row * 20)
    for folder in (projects, *projects.iterdir()):
        at = folder.stat().st_mtime - 60
        os.utime(folder, (at, at))
    return ids


def _descriptors(folder: Path, count: int) -> None:
    folder.mkdir()
    for pid in range(4_000_000, 4_000_000 + count):
        body = {"pid": pid, "sessionId": str(uuid.uuid4()), "procStart": "1", "status": "idle", "cwd": "/x" * 50}
        (folder / f"{pid}.json").write_text(json.dumps(body))


async def _measure(root: Path, ids: list[str], descriptors: Path, rounds: int) -> list[Figure]:
    clock = SystemClock()
    projects = str(root / "projects")
    wanted = ids[len(ids) // 2]

    def find() -> None:
        subprocess.run(["find", projects, "-name", f"{wanted}.jsonl"], check=True, stdout=subprocess.DEVNULL)

    async def cold() -> None:
        lookup = SessionLookup({"claude": TranscriptIndex(projects)}, clock)
        assert isinstance(await lookup.resolve(wanted, FOREVER), ClosedSession)

    warm_index = {"claude": TranscriptIndex(projects)}
    warm_lookup = SessionLookup(warm_index, clock)
    snapshots = ProjectSnapshots(warm_index, list, clock)

    async def warm() -> None:
        assert isinstance(await warm_lookup.resolve(wanted, FOREVER), ClosedSession)

    async def unknown() -> None:
        assert not isinstance(await warm_lookup.resolve(str(uuid.uuid4()), FOREVER), ClosedSession)

    async def admit() -> None:
        found = await snapshots.admit_resume(str(root / "work" / "project7"), FOREVER)
        assert isinstance(found, Admitted)

    watcher = open_folder_watcher()
    sources = LivenessSources(lambda: (str(descriptors),), ProcFs(), Schedules(), lambda _pid, _start: ())
    check = LivenessCheck(sources, watcher, clock)

    async def live() -> None:
        assert await check.check(wanted, FOREVER) == NotLive()

    try:
        return [
            await beside("closed session, cold", cold, find, rounds, AGAINST),
            await beside("closed session, warm", warm, find, rounds, AGAINST, LOOKUP_AIM),
            await beside("unknown session, warm", unknown, find, rounds, AGAINST),
            await beside("project of a session, warm", admit, find, rounds, AGAINST),
            await beside("live elsewhere, 200 descriptors", live, find, rounds, AGAINST),
        ]
    finally:
        await watcher.aclose()
