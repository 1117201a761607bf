"""Our watcher over terminals in memory, in one process with the script that writes the requests.

    python benchmarks/watcher_side.py N ENTER_DELAY_MS VERIFY_MS burst|paced

Prints one JSON line: {N, total_ms, per_s, lat_p50, lat_p99}; a latency is the time from a request's rename to the first
byte written, in milliseconds. A peer that takes the same arguments and prints the same line can be compared with it
(see docs/benchmarks.md), so what is measured here is fixed: the same requests, the session busy from its Enter on, the
same loop of writing, the same look for results every 2 ms.
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
from switchboard.delivery.memory import MemoryTerminal, MemoryTerminals
from switchboard.triggers.watcher import TriggerWatcher


class AnySession(MemoryTerminals):
    """Every id is an open session, made when it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.first_byte: dict[str, int] = {}

    def find(self, session_id: str) -> MemoryTerminal:
        return super().find(session_id) or self.add(session_id, on_write=partial(self._wrote, session_id))

    def _wrote(self, session_id: str, data: bytes) -> None:
        self.first_byte.setdefault(session_id, time.perf_counter_ns())
        if data == ENTER:
            self.find(session_id).update(busy=True)


async def measure(folder: str, count: int, paced: bool) -> dict[str, float]:
    """Send `count` requests through a watcher on `folder` and wait for their results."""
    terminals = AnySession()
    results = os.path.join(folder, "processed")
    renamed: dict[str, int] = {}
    async with TriggerWatcher(terminals, folder):
        await asyncio.sleep(0.2)
        begin = time.perf_counter_ns()
        for number in range(count):
            session = str(uuid.uuid4())
            temporary = os.path.join(folder, f"{session}.tmp")
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(json.dumps({"sessionId": session, "command": f"hello {number}"}))
            renamed[session] = time.perf_counter_ns()
            os.rename(temporary, os.path.join(folder, f"{session}.json"))
            if paced:
                await asyncio.sleep(0.02)
        while sum(name.endswith(".result.json") for name in os.listdir(results)) < count:
            await asyncio.sleep(0.002)
        total_ms = (time.perf_counter_ns() - begin) / 1e6
    latencies = sorted((terminals.first_byte[session] - at) / 1e6 for session, at in renamed.items())
    return {
        "N": count,
        "total_ms": total_ms,
        "per_s": count / (total_ms / 1e3),
        "lat_p50": latencies[count >> 1],
        "lat_p99": latencies[int(count * 0.99)],
    }


def main() -> None:
    count, enter_delay, verify, pace = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    os.environ["SWITCHBOARD_SUBMIT_ENTER_DELAY_MS"] = enter_delay
    os.environ["SWITCHBOARD_SUBMIT_VERIFY_MS"] = verify
    with tempfile.TemporaryDirectory(prefix="bench-triggers-") as folder:
        print(json.dumps(asyncio.run(measure(folder, count, pace == "paced"))))


if __name__ == "__main__":
    main()
