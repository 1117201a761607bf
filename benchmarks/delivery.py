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
from pathlib import Path

from benchmarks.figures import Aim, Figure, alone, paired

PEER = "SWITCHBOARD_BENCH_SEED_JS"
OURS = Path(__file__).with_name("watcher_side.py")

PACED, BURST = 200, 1000
"""Requests of one turn: 20 ms apart, and all at once."""

TURN_SECONDS = 120


def measure(rounds: int, peer: str | None) -> list[Figure]:
    """Return the figures of `rounds` turns on each side. `peer`: path of the peer's script, None: the environment's."""
    script, lack = _peer(peer)
    ours = [sys.executable, str(OURS)]
    theirs = ["node", script] if script else None
    figures = []
    for pace, count, picks in (
        ("paced", PACED, (("lat_p50", "first byte p50", "at most"), ("lat_p99", "first byte p99", None))),
        ("burst", BURST, (("per_s", "burst", "at least"),)),
    ):
        mine: list[dict[str, float]] = []
        others: list[dict[str, float]] = []
        for number in range(rounds):
            sides = [(ours, mine)] if theirs is None else [(ours, mine), (theirs, others)]
            for command, turns in sides if number % 2 else reversed(sides):
                turns.append(_turn(command, count, pace))
        for key, name, sense in picks:
            unit = "/s" if key == "per_s" else "ms"
            values = [turn[key] for turn in mine]
            if lack:
                figures.append(alone(name, values, unit, lack))
            else:
                aim = Aim("ratio", sense, 1.0) if sense else None  # type: ignore[arg-type]  # one of the two literals
                figures.append(paired(name, values, [turn[key] for turn in others], unit, "the desktop watcher", aim))
    return figures


def _turn(command: list[str], count: int, pace: str) -> dict[str, float]:
    # A folder of its own for both, on the same file system, and nothing is left of it.
    with tempfile.TemporaryDirectory(prefix="bench-turn-") as folder:
        done = subprocess.run(
            [*command, str(count), "0", "0", pace],
            env=os.environ | {"TMPDIR": folder},
            stdout=subprocess.PIPE,
            timeout=TURN_SECONDS,
            check=True,
        )
    return dict(json.loads(done.stdout))


def _peer(given: str | None) -> tuple[str | None, str]:
    """The peer's script, and why there is none."""
    script = given or os.environ.get(PEER)
    if not script:
        return None, f"no peer: name its script with --seed-js or {PEER}"
    if not Path(script).is_file():
        return None, f"no peer: there is no file {script}"
    if shutil.which("node") is None:
        return None, "no peer: Node is not on PATH"
    return script, ""
