"""A tour that is killed: nothing hears of that but its guard, which ends and removes what it leaves behind."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.hosting import until

PATIENCE = 60.0
COMMAND = [sys.executable, "-m", "switchboard.cli.main", "demo"]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder with a short name: the tour's sockets lie below it."""
    with tempfile.TemporaryDirectory(prefix="sb") as folder:
        yield Path(folder)


@pytest.fixture
def environment(tmp_path: Path, temporary: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TMPDIR": str(temporary),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


@pytest.fixture
def tour(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        COMMAND, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        yield process
        process.kill()


def alive(temporary: Path) -> list[tuple[int, str]]:
    """The processes that were started with this folder for their temporary files, and their commands."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={temporary}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((int(entry.name), (entry / "cmdline").read_text().replace("\0", " ")))
        except OSError:
            continue  # it has just ended, or is another user's
    return found


def left(temporary: Path) -> list[Path]:
    """The files that are left; folders for sockets are their user's and stay."""
    return [path for path in temporary.rglob("*") if not path.is_dir() or path.name.startswith("switchboard-demo-")]


def says(tour: subprocess.Popen[str], wanted: str) -> None:
    assert tour.stdout is not None
    lines = []
    for line in tour.stdout:
        lines.append(line)
        if wanted in line:
            return
    raise AssertionError(f"it never said {wanted!r}: {lines}")


async def nothing_is_left(temporary: Path) -> None:
    await until(lambda: not alive(temporary), f"the end of {alive(temporary)}", PATIENCE)
    assert left(temporary) == []


@pytest.mark.parametrize("moment", ["is ready", "A page is connected", "The host was just killed"])
async def test_a_tour_that_is_killed(tour: subprocess.Popen[str], temporary: Path, moment: str) -> None:
    says(tour, moment)
    os.kill(tour.pid, signal.SIGKILL)
    tour.wait()
    await nothing_is_left(temporary)


async def test_a_tour_that_is_killed_while_its_host_starts(tour: subprocess.Popen[str], temporary: Path) -> None:
    await until(lambda: any(" up --no-open" in command for _, command in alive(temporary)), "the host's start")
    os.kill(tour.pid, signal.SIGKILL)
    tour.wait()
    await nothing_is_left(temporary)


async def test_a_tour_that_is_killed_while_a_person_looks_on(environment: dict[str, str], temporary: Path) -> None:
    master, slave = pty.openpty()
    tour = subprocess.Popen(COMMAND, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    os.set_blocking(master, False)
    try:

        def watched() -> bool:
            with_output = True
            while with_output:  # or the tour would wait for somebody who reads
                try:
                    with_output = bool(os.read(master, 65536))
                except BlockingIOError:
                    with_output = False
            return any(" watch " in command for _, command in alive(temporary))

        await until(watched, "the page", PATIENCE)
        os.kill(tour.pid, signal.SIGKILL)
        tour.wait()
        await nothing_is_left(temporary)
    finally:
        tour.kill()
        tour.wait()
        os.close(master)


async def test_a_tour_that_ends_by_itself(tour: subprocess.Popen[str], temporary: Path) -> None:
    assert tour.stdout is not None
    said = tour.stdout.read()
    assert tour.wait() == 0, said
    assert alive(temporary) == []
    assert list((temporary).iterdir()) == []
