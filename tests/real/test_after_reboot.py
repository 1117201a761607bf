"""After a loss of power: what a CLI has left behind is nobody's, once the machine is known to have been started again.

Real are the host, its keeper, the session, the descriptor that its killed CLI leaves, the transcript and the database.
Described is the boot alone, because a test cannot start the machine again: the recorded launch is dated into another
one. That the system's own boot id is what is recorded and compared is shown beside it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.support.hosting import RunningHost, until
from tests.support.lifecycle_host import (
    agent_host,
    asked,
    facts,
    listed,
    listing_page,
    new,
    processes,
    prompts,
    watch_page,
)

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
EARLIER = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def orphans() -> Iterator[ExitStack]:
    """Until this is closed, what killed processes leave has this one for its parent, as it would have an init."""
    prctl = ctypes.CDLL(None).prctl
    with ExitStack() as stack:
        assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
        stack.callback(prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        yield stack


@pytest.fixture
def host(orphans: ExitStack, tmp_path: Path) -> Iterator[RunningHost]:
    yield from agent_host(tmp_path)


def recorded_boots(host: RunningHost) -> set[str]:
    with closing(sqlite3.connect(host.data / "switchboard.db")) as database:
        return {boot for (boot,) in database.execute("select boot_id from launch")}


def date_into_an_earlier_boot(host: RunningHost) -> None:
    with closing(sqlite3.connect(host.data / "switchboard.db")) as database, database:
        database.execute("update launch set boot_id = ?", (EARLIER,))


def power_is_lost(host: RunningHost, session_id: str) -> Path:
    """Everything ends at once, and nobody sees anybody's end. Returns the descriptor that is left."""
    keeper = int((host.data / "run" / "keeper.lock").read_text())
    os.kill(keeper, signal.SIGSTOP)  # or it would see the others end
    host.kill()
    (session,) = processes(session_id)
    for pid in (session, keeper):
        os.kill(pid, signal.SIGKILL)
    for pid in (keeper, session):
        os.waitpid(pid, 0)  # a process that waits to be collected is proven dead by the kernel alone
    (left,) = (host.root / "agent" / "sessions").glob("*.json")
    # An older Claude Code does not say on which machine it ran. Where that is said, it can be proof enough.
    body = json.loads(left.read_text())
    body.pop("pidDomain", None)
    left.write_text(json.dumps(body))
    return left


async def test_23_a_session_of_an_earlier_boot_is_opened_again(host: RunningHost, orphans: ExitStack) -> None:
    async with listing_page(host):
        session_id = (await new(host, "before"))["sessionId"]
        await until(lambda: listed(host, session_id)["status"] == "idle", "the first turn's end")
    assert recorded_boots(host) == {BOOT_ID.read_text().strip()}
    left = power_is_lost(host, session_id)
    orphans.close()

    host.start()
    async with watch_page(host) as shown:
        await shown.shows("Errand")
        refused = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "no"})
        assert facts(refused) == ("refused", "session liveness unavailable", False, "no", False, 1)
        assert str(left) in refused["detail"]
        assert processes(session_id) == []
    host.terminate()

    date_into_an_earlier_boot(host)
    host.start()
    async with watch_page(host) as shown:
        await shown.shows("Errand")
        opened = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "after"})
        assert facts(opened) == ("opened", None, True, "confirmed", True, 1)
        assert prompts(host, session_id) == ["before", "after"]
