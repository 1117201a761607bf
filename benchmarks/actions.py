"""Chapter: a text for an open session by a versioned request, beside the same by a legacy one.

One watcher and one process for both kinds, so that whatever else the machine does happens to both. What one turn does
stands in `actions_side.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.delivery import MEMORY, TURN_SECONDS
from benchmarks.figures import Aim, Figure, paired

SIDE = Path(__file__).with_name("actions_side.py")
AGAINST = "a legacy request"
SESSIONS = 50
COUNT = 200


@dataclass(frozen=True, slots=True)
class Pick:
    """A figure of a turn: how requests come in it, the field that it prints, and what is wished of it.

    `below`: where the folder of the requests is made.
    """

    pace: str
    field: str
    name: str
    unit: str
    aim: Aim | None = None
    below: str | None = None


PICKS = (
    Pick("paced", "lat_p50", "first byte p50", "ms"),
    Pick("paced", "lat_p99", "first byte p99", "ms"),
    Pick("paced", "lat_p50", "first byte p50, in memory", "ms", Aim("ratio", "at most", 3), MEMORY),
    Pick("paced", "lat_p99", "first byte p99, in memory", "ms", Aim("ratio", "at most", 4), MEMORY),
    Pick("burst", "total_ms", "200 over 50 sessions", "ms"),
    Pick("burst", "total_ms", "200 over 50 sessions, in memory", "ms", Aim("ratio", "at most", 4), MEMORY),
)


def measure(rounds: int, count: int = COUNT) -> list[Figure]:
    """Return the figures of `rounds` turns of `count` requests of each kind."""
    turn("burst", 8, 0)  # byte code is written, files come into the page cache
    places = [(pick.pace, pick.below) for pick in PICKS if pick.below is None or os.access(pick.below, os.W_OK)]
    turns = {place: [turn(place[0], count, number, place[1]) for number in range(rounds)] for place in set(places)}
    return [figure(pick, turns[pick.pace, pick.below]) for pick in PICKS if (pick.pace, pick.below) in turns]


def figure(pick: Pick, turns: list[dict[str, dict[str, float]]]) -> Figure:
    """Return one figure of these turns."""
    versioned, legacy = ([each[kind][pick.field] for each in turns] for kind in ("versioned", "legacy"))
    return paired(pick.name, versioned, legacy, pick.unit, AGAINST, pick.aim)


def turn(pace: str, count: int, number: int, below: str | None = None) -> dict[str, dict[str, float]]:
    """Carry out the turn of that number: which kind begins changes, so that neither always has what the other left."""
    first = "legacy" if number % 2 else "versioned"
    with tempfile.TemporaryDirectory(prefix="bench-turn-", dir=below) as folder:
        done = subprocess.run(
            [sys.executable, str(SIDE), str(count), str(min(SESSIONS, count)), pace, first],
            env=os.environ | {"TMPDIR": folder},
            stdout=subprocess.PIPE,
            timeout=TURN_SECONDS,
            check=True,
        )
    return dict(json.loads(done.stdout))
