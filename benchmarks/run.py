"""`make bench`: measure, print a table, write JSON into benchmarks/results/. What is measured: docs/benchmarks.md."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Run as a file, so the repository is not on the path yet; the host of the tests is used here too.
sys.path.insert(0, str(ROOT))

from benchmarks import (  # noqa: E402 - after the path is set
    actions,
    delivery,
    hosting,
    liveness,
    lookup,
    machine,
    page,
    sandboxing,
    starting,
)
from benchmarks.figures import Figure, table  # noqa: E402 - after the path is set

RESULTS = ROOT / "benchmarks" / "results"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure Switchboard; missed aims are told, and fail nothing.")
    parser.add_argument(
        "chapter",
        nargs="*",
        help="delivery, actions, start, sessions, lookup, liveness, sandbox, rest, page (default: all)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer sessions: to see that it works")
    parser.add_argument(
        "--seed-js",
        metavar="FILE",
        help=f"the peer for the watcher, a script for Node (default: what {delivery.PEER} names)",
    )
    options = parser.parse_args()
    quick = options.quick
    chapters: dict[str, Callable[[], list[Figure]]] = {
        "delivery": lambda: delivery.measure(2 if quick else 8, options.seed_js),
        "actions": lambda: actions.measure(1 if quick else 4),
        "start": lambda: starting.measure(3 if quick else 15),
        "sessions": lambda: asyncio.run(hosting.measure_sessions(5 if quick else 50)),
        "lookup": lambda: lookup.measure(50 if quick else 500, 1_000 if quick else 10_000, 5 if quick else 30),
        "liveness": lambda: liveness.measure(200 if quick else 5_000, 200, 5 if quick else 30),
        "sandbox": lambda: sandboxing.measure(3 if quick else 20, 500 if quick else 5_000),
        "rest": lambda: asyncio.run(hosting.measure_rest(5 if quick else 20, 5 if quick else 30)),
        "page": lambda: page.measure(2 if quick else 5, (8 if quick else 40) * 1_000_000, 50 if quick else 400),
    }
    wanted = options.chapter or list(chapters)
    if unknown := sorted(set(wanted) - set(chapters)):
        parser.error(f"no chapter {', '.join(unknown)}; there are {', '.join(chapters)}")

    begun = machine.describe()
    found: dict[str, list[Figure]] = {}
    try:
        for name in wanted:
            print(f"{name} …", file=sys.stderr, flush=True)
            found[name] = chapters[name]()
    finally:
        # What was measured until something broke took minutes, and is worth having.
        print(table(found))
        print(f"\n{_circumstances(begun)}")
        print(f"Written to {_write(found, begun, quick).relative_to(ROOT)}", flush=True)
    return 0


def _circumstances(begun: dict[str, object]) -> str:
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    busy = " Other work ran beside this: compare the ratios, not the times." if load > 1.2 * cores else ""
    return f"{begun['processor']}, {cores} cores, Python {begun['python']}, load {load:.1f}.{busy}"


def _write(found: dict[str, list[Figure]], begun: dict[str, object], quick: bool) -> Path:
    now = datetime.datetime.now(datetime.UTC)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y%m%dT%H%M%SZ}.json"
    chapters = {name: [figure.as_json() for figure in figures] for name, figures in found.items()}
    whole = {
        "at": now.isoformat(),
        "quick": quick,
        "machine": begun,
        "load_at_end": os.getloadavg(),
        "figures": chapters,
    }
    path.write_text(json.dumps(whole, indent=2) + "\n", "utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
