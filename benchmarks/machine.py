"""What the system says of processes and of itself (Linux's /proc)."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Memory:
    """A process's memory in MB. `rss`: resident; `pss`: with shared pages divided among those who have them."""

    rss: float
    pss: float


def memory(pid: int) -> Memory:
    """Return what a process has in memory now."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    return Memory(*(int(re.findall(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)[0]) / 1024 for key in ("Rss", "Pss")))


@dataclass(frozen=True, slots=True)
class Activity:
    """What a process has done since it began, all its threads together. `cpu_ms`: time on a processor."""

    voluntary: int
    involuntary: int
    cpu_ms: float

    def since(self, before: Activity) -> Activity:
        """Return what was done between the two."""
        return Activity(
            self.voluntary - before.voluntary, self.involuntary - before.involuntary, self.cpu_ms - before.cpu_ms
        )


def activity(pid: int) -> Activity:
    """Return what a process has done so far."""
    voluntary = involuntary = nanoseconds = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text("utf-8")
        voluntary += int(re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)[0])
        involuntary += int(re.findall(r"^nonvoluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)[0])
        nanoseconds += int((task / "schedstat").read_text("ascii").split()[0])
    return Activity(voluntary, involuntary, nanoseconds / 1e6)


def describe() -> dict[str, Any]:
    """Return what a reader of the figures has to know of this machine."""
    model = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    return {
        "system": platform.platform(),
        "processor": model[0] if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "load": os.getloadavg(),
    }
