"""Chapter: how long a sandbox takes to start, beside plain bubblewrap with the very same mounts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.sandbox_rig import Rig

from benchmarks.figures import Figure, paired
from switchboard.sandbox.bwrap import private_files
from switchboard.sandbox.run import run

COMMAND = [sys.executable, "-P", "-m", "switchboard.sandbox", "--"]
AGAINST = "bwrap, same mounts"


def measure(rounds: int, directories: int) -> list[Figure]:
    """Return the figures of `rounds` starts, in a small repository and in one of that many directories."""
    figures = []
    for name, size in (("a small repository", 0), (f"a repository of {directories} directories", directories)):
        folder = Path(tempfile.mkdtemp(prefix="bench-sandbox-", dir="/var/tmp"))
        try:
            rig = Rig(folder)
            rig.repository(rig.project)
            for number in range(size):
                made = rig.directory(rig.project / f"{number % 50}/{number}")
                for file in range(4):
                    (made / f"{file}.py").touch()
            ours, plain = _starts(rig, rounds)
            figures.append(paired(f"claude-sandbox in {name}", ours, plain, "ms", AGAINST))
        finally:
            shutil.rmtree(folder)
    return figures


def _starts(rig: Rig, rounds: int) -> tuple[list[float], list[float]]:
    environment = rig.environment(RUN="exit 0")
    bwrap = shutil.which("bwrap", path=environment["PATH"])
    if bwrap is None:
        raise FileNotFoundError("bwrap: install bubblewrap")
    plan = rig.plan()
    ours: list[float] = []
    plain: list[float] = []
    for _ in range(rounds + 1):
        begin = time.perf_counter_ns()
        subprocess.run(
            COMMAND, cwd=rig.project, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
        )
        ours.append((time.perf_counter_ns() - begin) / 1e6)
        options, contents = plan.options()
        files = private_files(contents)
        begin = time.perf_counter_ns()
        said = run([bwrap, *options, *plan.command], environment, files)
        plain.append((time.perf_counter_ns() - begin) / 1e6)
        assert said.code == 0, said.errors
        for descriptor in files.values():
            os.close(descriptor)
    # The first round brings files into the page cache.
    return ours[1:], plain[1:]
