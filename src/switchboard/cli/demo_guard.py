"""Clears up after a tour that was killed (a process of its own, started by `switchboard demo`).

Nothing of the tour hears of a `kill -9`, and its host would run on in a folder that nobody knows. So this process holds
one end of a pipe whose other end only the tour has. What the tour starts it tells through it; when it ends in order it
says so, and clears up itself. A pipe that ends without that word means that it was killed.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from switchboard.clis.procfs import ProcFs
from switchboard.common.paths import runtime_folder
from switchboard.common.settings import data_dir
from switchboard.sessions.keeper_start import end_keeper

KEEPER_SECONDS = 5.0
"""A keeper ends within milliseconds of being told to."""

DOWN_SECONDS = 10.0
"""What a host, and the command that tells it to end with its sessions, may take each."""

TERM_SECONDS = 6.0
"""A host that gets SIGTERM ends within 5 s."""

DONE = "done"


class Guard:
    """The tour's end of the pipe. `folder`: all that the tour writes; `environment`: its host's."""

    def __init__(self, folder: str, environment: dict[str, str], temporary: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "switchboard.cli.demo_guard", folder, temporary],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            # What a terminal sends to all that runs in it is for the tour.
            start_new_session=True,
        )

    def started(self, pid: int) -> None:
        """The tour has started a process: a host, or a page."""
        self._tell(str(pid))

    def dismiss(self) -> None:
        """The tour has cleared up itself."""
        self._tell(DONE)
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # a guard that was killed guards nothing, and the tour goes on
            self._process.stdin.write(f"{word}\n")
            self._process.stdin.flush()


def main(argv: Sequence[str]) -> int:
    """Wait for the tour's end. `argv`: its folder, and the one for temporary files that its host goes by."""
    folder, temporary = argv
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    started = _told(sys.stdin)
    if started is not None:
        _clear_up(folder, temporary, started)
    return 0


def _told(pipe: IO[str]) -> list[tuple[int, str | None]] | None:
    """Return number and start of what the tour had started when it was killed; None when it ended in order."""
    processes, started = ProcFs(), []
    for line in pipe:
        word = line.strip()
        if word == DONE:
            return None
        if word.isdigit():
            # Its number is nobody else's: the tour has not collected it yet, or it runs.
            started.append((int(word), processes.start(int(word))))
    return started


def _clear_up(folder: str, temporary: str, started: list[tuple[int, str | None]]) -> None:
    processes = ProcFs()
    with suppress(subprocess.TimeoutExpired, OSError):
        subprocess.run(
            [sys.executable, "-P", "-m", "switchboard.cli.main", "down", "--sessions"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=DOWN_SECONDS,
            check=False,
        )
    # Also a host that had not finished starting, which nobody can tell, and one that does not listen. Twice, because
    # the tour may have been killed before it told of the last one, and that may start a keeper meanwhile.
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        told = {pid for pid, start in started if processes.is_same(pid, start)}
        for pid in sorted(told | _with_folder(folder)):
            _end(pid, number, TERM_SECONDS)
    end_keeper(runtime_folder(data_dir(os.environ), os.geteuid(), temporary), KEEPER_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


def _with_folder(folder: str) -> set[int]:
    """The processes that were started with the tour's folder as their data directory. None where nobody can tell."""
    mark, found = f"SWITCHBOARD_DATA_DIR={folder}/data".encode(), set[int]()
    with suppress(OSError):
        for name in os.listdir("/proc"):
            with suppress(OSError):  # it has just ended, or is another user's
                if name.isdigit() and mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.add(int(name))
    return found - {os.getpid()}


def _end(pid: int, number: signal.Signals, seconds: float) -> None:
    """Send a signal, and wait for the end."""
    with suppress(OSError):
        if not hasattr(os, "pidfd_open"):  # not Linux: the only way is to let all of the time pass
            os.kill(pid, number)
            select.select([], [], [], seconds)
            return
        handle = os.pidfd_open(pid)
        try:
            os.kill(pid, number)
            select.select([handle], [], [], seconds)
        finally:
            os.close(handle)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
