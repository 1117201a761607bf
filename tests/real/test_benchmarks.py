"""The watcher is embedded as the benchmark does it: one process, terminals in memory, no host."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import liveness

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "watcher_side.py"
ACTIONS = SCRIPT.with_name("actions_side.py")


@pytest.mark.parametrize("pace", ["burst", "paced"])
def test_a_turn_of_the_watcher_delivers_every_request(pace: str) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "20", "0", "0", pace], capture_output=True, text=True, timeout=60, check=True
    )
    told = json.loads(done.stdout)
    assert set(told) == {"N", "total_ms", "per_s", "lat_p50", "lat_p99"}
    assert told["N"] == 20
    assert 0 < told["lat_p50"] <= told["lat_p99"] < told["total_ms"]


@pytest.mark.parametrize("first", ["versioned", "legacy"])
@pytest.mark.parametrize("pace", ["burst", "paced"])
def test_a_turn_of_actions_delivers_every_request_of_both_kinds(pace: str, first: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ACTIONS), "12", "5", pace, first], capture_output=True, text=True, timeout=60, check=True
    )
    told = json.loads(done.stdout)
    assert set(told) == {"versioned", "legacy"}
    assert next(iter(told)) == first
    for figures in told.values():
        assert figures["N"] == 12
        if pace == "paced":
            assert 0 < figures["lat_p50"] <= figures["lat_p99"]
        else:
            assert figures["total_ms"] > 0


def test_the_liveness_chapter_asks_what_it_says() -> None:
    """Each figure's answer is checked on the way; the processes that were started for it are gone in the end."""
    figures = liveness.measure(20, 5, 1)
    assert [figure.name.split(",")[0] for figure in figures] == [
        "no descriptor",
        "a writer of our own",
        "a sandboxed writer",
        "nobody fits",
        "a sandboxed writer",
        "no descriptor",
        "nobody fits",
    ]
    assert all(figure.value for figure in figures)
