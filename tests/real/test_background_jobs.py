"""Background jobs and versioned requests, end to end: a real host and page, real processes, the job's own files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosting import RunningHost, page, until
from tests.support.lifecycle_host import agent_host, asked, listed, listing_page, new, processes, prompts
from tests.support.screens import Screen

from switchboard.clis.procfs import ProcFs

REASON = "background session is not supported"
REQUESTS: list[dict[str, Any]] = [
    {"action": "open"},
    {"action": "open", "prompt": "go on"},
    {"action": "stop"},
    {"action": "stop", "before": "bye"},
]
IDS = ["open", "open with a prompt", "stop", "stop after a note"]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    yield from agent_host(tmp_path)


@pytest.fixture
async def screen(host: RunningHost) -> AsyncIterator[Screen]:
    async with listing_page(host) as shown:
        yield shown


@pytest.fixture
def job() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with process:
        yield process
        process.kill()


def descriptor(host: RunningHost, session_id: str, pid: int, **fields: object) -> Path:
    folder = host.root / "agent" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{pid}.json"
    body = {"pid": pid, "sessionId": session_id, "procStart": ProcFs().start(pid), "kind": "bg", "jobId": "job7"}
    path.write_text(json.dumps(body | {"status": "busy"} | fields))
    return path


def record(host: RunningHost, session_id: str, state: str) -> Path:
    path = host.root / "claude" / "jobs" / "job7" / "state.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"state": state, "sessionId": session_id, "backend": "daemon"}))
    return path


async def closed(host: RunningHost) -> str:
    """A session that has had a turn and was stopped."""
    session_id: str = (await new(host))["sessionId"]
    stopped = await asked(host, {"action": "stop", "sessionId": session_id, "before": "bye"})
    assert stopped["outcome"] == "closed", stopped
    return session_id


def untouched(host: RunningHost, session_id: str, words: list[str]) -> None:
    assert prompts(host, session_id) == words
    assert processes(session_id) == [], "nothing was started for it"


@pytest.mark.parametrize("body", REQUESTS, ids=IDS)
async def test_a_living_background_job(
    host: RunningHost, screen: Screen, job: subprocess.Popen[bytes], body: dict[str, Any]
) -> None:
    session_id = await closed(host)
    words = prompts(host, session_id)
    descriptor(host, session_id, job.pid)
    refused = await asked(host, {"sessionId": session_id, **body})
    assert (refused["outcome"], refused["reason"], refused["wrote"]) == ("refused", REASON, False)
    assert "job7" in refused["detail"]
    untouched(host, session_id, words)


@pytest.mark.parametrize("body", REQUESTS[:3], ids=IDS[:3])
async def test_a_session_on_its_way_into_the_background(
    host: RunningHost, screen: Screen, body: dict[str, Any]
) -> None:
    """The job is recorded, and its process has shown nothing yet."""
    session_id = await closed(host)
    words = prompts(host, session_id)
    record(host, session_id, "starting")
    refused = await asked(host, {"sessionId": session_id, **body})
    assert (refused["outcome"], refused["reason"], refused["wrote"]) == ("refused", REASON, False)
    untouched(host, session_id, words)


async def test_a_job_whose_folder_is_a_link(host: RunningHost, screen: Screen) -> None:
    session_id = await closed(host)
    words = prompts(host, session_id)
    path = record(host, session_id, "working")
    moved = host.root / "moved"
    path.parent.rename(moved)
    path.parent.symlink_to(moved)
    refused = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "go on"})
    assert (refused["outcome"], refused["reason"], refused["wrote"]) == ("refused", REASON, False)
    untouched(host, session_id, words)


async def test_a_finished_job_lets_its_session_go(
    host: RunningHost, screen: Screen, job: subprocess.Popen[bytes]
) -> None:
    session_id = await closed(host)
    record(host, session_id, "done")
    path = descriptor(host, session_id, job.pid)
    assert (await asked(host, {"action": "open", "sessionId": session_id}))["reason"] == REASON
    job.kill()
    job.wait()
    path.unlink()
    opened = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "welcome back"})
    assert (opened["outcome"], opened["resumed"], opened["submitted"]) == ("opened", True, "confirmed")


@pytest.mark.parametrize("body", REQUESTS, ids=IDS)
async def test_a_terminal_that_only_looks_at_a_job(host: RunningHost, screen: Screen, body: dict[str, Any]) -> None:
    program = host.root / "attachable"
    program.write_text("#!/bin/sh\necho ATTACHED\nexec cat\n")
    program.chmod(0o755)
    host.terminate()
    host.environment["SWITCHBOARD_CLAUDE"] = str(program)
    host.start()
    session_id = str(uuid.uuid4())
    folder = host.root / "claude" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor(host, session_id, os.getpid()).rename(folder / f"{os.getpid()}.json")
    async with page(host) as shown:
        handle = await shown.open(host, profile="attach", session_id=session_id)
        await shown.printed(handle, b"ATTACHED")
        refused = await asked(host, {"sessionId": session_id, **body})
        assert (refused["outcome"], refused["reason"], refused["wrote"]) == ("refused", REASON, False)
        assert listed(host, session_id)["state"] == "open"


async def test_a_session_that_goes_into_the_background_while_it_is_open_here(
    host: RunningHost, screen: Screen, job: subprocess.Popen[bytes]
) -> None:
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    descriptor(host, session_id, job.pid)
    for body in REQUESTS:
        refused = await asked(host, {"sessionId": session_id, **body})
        assert (refused["outcome"], refused["reason"], refused["wrote"]) == ("refused", REASON, False)
    assert prompts(host, session_id) == ["hello"]
    assert listed(host, session_id)["state"] == "open"
