"""Chapter: how long commands take to start, beside the same interpreter doing nothing."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from tests.support.hosting import RunningHost

from benchmarks.figures import Aim, Figure, paired

COMMAND = str(Path(sys.executable).with_name("switchboard"))
NOTHING = [sys.executable, "-c", "pass"]
AGAINST = "python -c pass"

SEND_AIM = Aim("more", "at most", 120)


def measure(rounds: int) -> list[Figure]:
    """Return the figures of `rounds` starts of each command, turn by turn with the empty one."""
    figures = []
    with tempfile.TemporaryDirectory(prefix="bench-start-") as folder:
        host = RunningHost(Path(folder))
        host.triggers.mkdir()
        send = [COMMAND, "send", str(uuid.uuid4()), "hello", "--no-wait"]
        figures.append(_beside("switchboard send", lambda: _run(send, host), rounds, SEND_AIM))
        figures.append(_beside("switchboard --version", lambda: _run([COMMAND, "--version"], host), rounds))
        for left in host.triggers.iterdir():
            left.unlink()
        with running(host):
            figures.append(_beside("switchboard ls", lambda: _run([COMMAND, "ls"], host), rounds))
        figures.append(_beside("up, to its ready line", lambda: _ready(Path(folder)), max(3, rounds // 3)))
    return figures


class running(contextlib.AbstractContextManager[RunningHost]):  # noqa: N801 - reads as `with running(host)`
    """A host that is started, and cleared away with its keeper and sessions."""

    def __init__(self, host: RunningHost) -> None:
        self._host = host

    def __enter__(self) -> RunningHost:
        return self._host.start()

    def __exit__(self, *_: object) -> None:
        self._host.clean_up()


def _beside(name: str, start: Callable[[], float], rounds: int, aim: Aim | None = None) -> Figure:
    start()  # files come into the page cache, byte code is written
    mine: list[float] = []
    nothing: list[float] = []
    sides = [(start, mine), (_nothing, nothing)]
    for number in range(rounds):
        for side, times in sides if number % 2 else reversed(sides):
            times.append(side())
    return paired(name, mine, nothing, "ms", AGAINST, aim)


def _nothing() -> float:
    return _timed(NOTHING, dict(os.environ))


def _run(command: list[str], host: RunningHost) -> float:
    return _timed(command, host.environment)


def _timed(command: list[str], environment: dict[str, str]) -> float:
    begin = time.perf_counter_ns()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter_ns() - begin) / 1e6


def _ready(folder: Path) -> float:
    """A first start: no keeper, no database."""
    host = RunningHost(folder / f"first-{uuid.uuid4()}")
    begin = time.perf_counter_ns()
    host.start()
    took = (time.perf_counter_ns() - begin) / 1e6
    host.clean_up()
    return took
