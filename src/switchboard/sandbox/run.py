"""Running a small program to its end and reading what it says (door).

Without `subprocess`, whose import alone takes longer than the programs that are run here.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

SECONDS = 10.0
"""They take milliseconds; one that reads a pipe which nobody writes to takes for ever."""


@dataclass(frozen=True, slots=True)
class Said:
    """How a program ended. `code`: its exit code, minus a signal's number when one ended it."""

    code: int
    out: bytes
    errors: bytes


def run(command: Sequence[str], environment: Mapping[str, str], given: Mapping[int, int] | None = None) -> Said:
    """Run a program without input. `given`: its descriptor numbers, and which of ours they are.

    Raises `OSError` when it cannot be started, and `TimeoutError` when it has not ended after `SECONDS`; it has then.
    """
    with _Running(command, environment, given or {}) as running:
        return running.end()


def run_both(one: Sequence[str], other: Sequence[str], environment: Mapping[str, str]) -> tuple[Said, Said]:
    """Run two programs at the same time. Raises as above."""
    with _Running(one, environment, {}) as first, _Running(other, environment, {}) as second:
        return first.end(), second.end()


class _Running:
    """A program that runs, and what it has said so far."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], given: Mapping[int, int]) -> None:
        self._name = os.path.basename(command[0])
        self._deadline = time.monotonic() + SECONDS
        self._out, self._errors = os.memfd_create("out"), os.memfd_create("errors")
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in given.items()]
            actions += [(os.POSIX_SPAWN_DUP2, nothing, 0), (os.POSIX_SPAWN_DUP2, self._out, 1)]
            actions += [(os.POSIX_SPAWN_DUP2, self._errors, 2)]
            self._pid: int | None = os.posix_spawn(command[0], list(command), dict(environment), file_actions=actions)
        except OSError:
            self._close()
            raise
        finally:
            os.close(nothing)

    def __enter__(self) -> Self:
        return self

    def end(self) -> Said:
        """Wait for its end. Raises `TimeoutError`."""
        assert self._pid is not None
        handle = os.pidfd_open(self._pid)
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            if not poll.poll(max(0.0, self._deadline - time.monotonic()) * 1_000):
                raise TimeoutError(errno.ETIMEDOUT, f"{self._name} did not end within {SECONDS:.0f} seconds")
        finally:
            os.close(handle)
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self._pid = None
        return Said(code, _whole(self._out), _whole(self._errors))

    def __exit__(self, *_error: object) -> None:
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._close()

    def _close(self) -> None:
        os.close(self._out)
        os.close(self._errors)


def _whole(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0)
