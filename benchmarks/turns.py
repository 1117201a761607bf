"""Measures two sides in turn, so that what else the machine does falls on both."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from benchmarks.figures import Aim, Figure, paired


async def beside(
    name: str,
    ask: Callable[[], Awaitable[None]],
    peer: Callable[[], None],
    rounds: int,
    against: str,
    aim: Aim | None = None,
) -> Figure:
    """Measure `ask`, once warm, and right after it its peer, in each of the rounds. In milliseconds."""
    await ask()
    mine: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await ask()
        between = time.perf_counter()
        peer()
        mine.append((between - begun) * 1000)
        theirs.append((time.perf_counter() - between) * 1000)
    return paired(name, mine, theirs, "ms", against, aim)
