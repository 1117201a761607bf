"""Versioned requests to a real host whose page is the real terminal page, and what its agent sessions show of them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from switchboard.common.folder_watch import FolderEvent, Rescan, open_folder_watcher
from tests.support.hosting import RunningHost
from tests.support.screens import Screen

PATIENCE = 60.0
"""Seconds for what a busy machine may take long for; a passing test never waits as long."""

CLI = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from switchboard.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def watch_page(host: RunningHost) -> Screen:
    """The terminal page of a host, to be entered."""
    return Screen([sys.executable, "-c", CLI, "watch"], dict(host.environment), cwd=str(host.project))


def agent_host(folder: Path) -> Iterator[RunningHost]:
    """A host whose new sessions run the built-in agent in its known project: a fixture's two halves."""
    made = RunningHost(folder).start()
    assert made.cli("config", "set", "cli", "agent").returncode == 0
    assert made.cli("project", "add", str(made.project)).returncode == 0
    yield made
    made.cli("down", "--sessions")
    made.clean_up()


@asynccontextmanager
async def listing_page(host: RunningHost) -> AsyncIterator[Screen]:
    """The page, once it has drawn its list."""
    async with watch_page(host) as shown:
        await shown.shows("Press n to start a session")
        yield shown


async def asked(host: RunningHost, body: dict[str, Any], seconds: float = PATIENCE) -> dict[str, Any]:
    """Send a versioned request, and return its result."""
    return await host.result(host.trigger({"version": 1, **body}), seconds)


async def new(host: RunningHost, prompt: str = "hello", name: str = "Errand") -> dict[str, Any]:
    """Start a session in the host's project."""
    body = {"action": "open", "new": {"project": str(host.project), "name": name}, "prompt": prompt}
    result = await asked(host, body)
    assert result["ok"], result
    return result


def facts(result: dict[str, Any]) -> tuple[Any, ...]:
    """Outcome, reason, whether something was spawned, and what became of the text."""
    spawned = result.get("resumed", result.get("created"))
    return result["outcome"], result["reason"], spawned, result["submitted"], result["wrote"], result["steps_total"]


def transcript(host: RunningHost, session_id: str) -> list[dict[str, Any]]:
    """The complete rows of a session's transcript; none when there is no transcript yet."""
    found = list((host.root / "agent" / "projects").glob(f"*/{session_id}.jsonl"))
    assert len(found) < 2, found
    text = found[0].read_text() if found else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def prompts(host: RunningHost, session_id: str) -> list[str]:
    """The prompts that the session's transcript records."""
    texts = [row["message"]["content"] for row in transcript(host, session_id) if row["type"] == "user"]
    return [text for text in texts if isinstance(text, str)]


def listed(host: RunningHost, session_id: str) -> dict[str, Any]:
    """The session in the list: the open one, or the newest that has ended."""
    found = [session for session in host.sessions() if session["id"] == session_id]
    return next((one for one in found if one["state"] == "open"), found[0])


def processes(session_id: str) -> list[int]:
    """The processes that were started for a session, and run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue  # it has just ended
        if session_id.encode() in words:
            found.append(int(entry.parent.name))
    return found


@asynccontextmanager
async def told_of(folder: Path, seen: Callable[[str], bool], act: Callable[[], object]) -> AsyncIterator[None]:
    """Call `act` in the very moment in which an entry of the folder appears or changes that `seen` says yes to.

    Leaving waits for that moment, which comes once.
    """
    come = asyncio.Event()

    def look(event: FolderEvent | Rescan) -> None:
        if isinstance(event, FolderEvent) and not come.is_set() and seen(event.name):
            come.set()
            act()

    watcher = open_folder_watcher()
    try:
        watcher.watch(str(folder), look)
        yield
        async with asyncio.timeout(PATIENCE):
            await come.wait()
    finally:
        await watcher.aclose()
