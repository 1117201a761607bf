"""Chapter: from a request's rename to the first byte in a terminal, and how many requests a second.

Our watcher and a peer's, each in a process of its own with the script that writes the requests, turn by turn. What one
turn does stands in `watcher_side.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Aim, Figure, alone, paired

PEER = "SWITCHBOARD_BENCH_SEED_JS"
OURS = Path(__file__).with_name("watcher_side.py")

AGAINST = "the desktop watcher"

MEMORY = "/dev/shm"
"""A file system without a disk."""

TURN_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Pick:
    """A figure of a turn: the field that the turn prints, and what is wished of it."""

    field: str
    name: str
    unit: str
    aim: Aim | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How requests come: `paced`, 20 ms apart, or `burst`, all at once. `below`: where their folder is made."""

    name: str
    count: int
    picks: tuple[Pick, ...]
    below: str | None = None


FIRST_BYTE = Aim("ratio", "at most", 1)
BURST = Aim("ratio", "at least", 1)
PACES = (
    Pace("paced", 200, (Pick("lat_p50", "first byte p50", "ms", FIRST_BYTE), Pick("lat_p99", "first byte p99", "ms"))),
    Pace("burst", 1000, (Pick("per_s", "burst, on disk", "/s", BURST),)),
    # A disk makes several files for each request and takes most of the time; without it the programs are compared.
    Pace("burst", 1000, (Pick("per_s", "burst, in memory", "/s", BURST),), MEMORY),
)


def measure(rounds: int, peer: str | None) -> list[Figure]:
    """Return the figures of `rounds` turns on each side. `peer`: path of the peer's script, None: the environment's."""
    script, lack = find_peer(peer)
    ours: list[str] = [sys.executable, str(OURS)]
    sides = [ours] if script is None else [ours, ["node", script]]
    for command in sides:
        _turn(command, 8, "burst")  # byte code is written, files come into the page cache
    figures = []
    for pace in PACES:
        if pace.below is not None and not os.access(pace.below, os.W_OK):
            continue
        turns: list[list[dict[str, float]]] = [[] for _ in sides]
        for number in range(rounds):
            # Who begins changes, so that neither always has the machine as the other left it.
            for side in sorted(range(len(sides)), reverse=number % 2 == 1):
                turns[side].append(_turn(sides[side], pace.count, pace.name, pace.below))
        for pick in pace.picks:
            mine, *others = [[turn[pick.field] for turn in side] for side in turns]
            if others:
                figures.append(paired(pick.name, mine, others[0], pick.unit, AGAINST, pick.aim))
            else:
                figures.append(alone(pick.name, mine, pick.unit, lack))
    return figures


def _turn(command: list[str], count: int, pace: str, below: str | None = None) -> dict[str, float]:
    # A folder of its own for both, on the same file system, and nothing is left of it.
    with tempfile.TemporaryDirectory(prefix="bench-turn-", dir=below) as folder:
        done = subprocess.run(
            [*command, str(count), "0", "0", pace],
            env=os.environ | {"TMPDIR": folder},
            stdout=subprocess.PIPE,
            timeout=TURN_SECONDS,
            check=True,
        )
    return dict(json.loads(done.stdout))


def find_peer(given: str | None) -> tuple[str | None, str]:
    """Return the peer's script, or None and why there is none."""
    script = given or os.environ.get(PEER)
    if not script:
        return None, f"no peer: name its script with --seed-js or {PEER}"
    if not Path(script).is_file():
        return None, f"no peer: there is no file {script}"
    if shutil.which("node") is None:
        return None, "no peer: Node is not on PATH"
    try:
        _turn(["node", script], 8, "burst")
    except (subprocess.SubprocessError, ValueError) as error:
        return None, f"no peer: its script failed ({error})"
    return script, ""
