"""One turn of our trigger watcher over terminals in memory, in one process with the script that writes the requests.

    python benchmarks/watcher_side.py N ENTER_DELAY_MS VERIFY_MS burst|paced

Prints one JSON line: {N, total_ms, per_s, lat_p50, lat_p99}. A latency is the time from a request's rename to the first
byte written, in milliseconds. A peer takes the same arguments, does the same work and prints the same line: requests
`{"sessionId", "command"}` written beside the folder's watched names and renamed, each for a session of its own that is
busy from its Enter on; then a look at the results every 2 ms until all are there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
import uuid
from functools import partial

from switchboard.delivery.keystrokes import ENTER
from switchboard.delivery.memory import MemoryTerminals
from switchboard.triggers.watcher import TriggerWatcher

PACE_SECONDS = 0.02
LOOK_SECONDS = 0.002


class FirstBytes:
    """Open terminals, and when each was written to first."""

    def __init__(self, sessions: list[str]) -> None:
        self.terminals = MemoryTerminals()
        self.at: dict[str, int] = {}
        self._open = {
            session: self.terminals.add(session, on_write=partial(self._written, session)) for session in sessions
        }

    def _written(self, session: str, data: bytes) -> None:
        if session not in self.at:
            self.at[session] = time.perf_counter_ns()
        if data == ENTER:
            self._open[session].update(busy=True)


async def turn(folder: str, count: int, paced: bool) -> dict[str, float]:
    """Send `count` requests through a watcher on `folder` and wait for their results."""
    sessions = [str(uuid.uuid4()) for _ in range(count)]
    first = FirstBytes(sessions)
    results = f"{folder}/processed"
    renamed: dict[str, int] = {}
    async with TriggerWatcher(first.terminals, folder):
        await asyncio.sleep(0.2)
        begin = time.perf_counter_ns()
        for number, session in enumerate(sessions):
            temporary = f"{folder}/{session}.tmp"
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(json.dumps({"sessionId": session, "command": f"hello {number}"}))
            renamed[session] = time.perf_counter_ns()
            os.rename(temporary, f"{folder}/{session}.json")
            if paced:
                await asyncio.sleep(PACE_SECONDS)
        while sum(name.endswith(".result.json") for name in os.listdir(results)) < count:
            await asyncio.sleep(LOOK_SECONDS)
        total_ms = (time.perf_counter_ns() - begin) / 1e6
    latencies = sorted((first.at[session] - at) / 1e6 for session, at in renamed.items())
    return {
        "N": count,
        "total_ms": total_ms,
        "per_s": count / (total_ms / 1e3),
        "lat_p50": latencies[count // 2],
        "lat_p99": latencies[int(count * 0.99)],
    }


def main() -> None:
    count, enter_delay, verify, pace = sys.argv[1:]
    os.environ["SWITCHBOARD_SUBMIT_ENTER_DELAY_MS"] = enter_delay
    os.environ["SWITCHBOARD_SUBMIT_VERIFY_MS"] = verify
    with tempfile.TemporaryDirectory(prefix="bench-triggers-") as folder:
        print(json.dumps(asyncio.run(turn(folder, int(count), pace == "paced"))))


if __name__ == "__main__":
    main()
