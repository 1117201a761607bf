"""What a test leaves behind: file descriptors, child processes (also detached ones), threads, asyncio tasks.

`Before` is taken when a test starts and asked at its very end. Descendants are recognised by a mark in the environment
they inherit, so a process that has cut itself loose (a keeper, a daemon) is found as well as a direct child.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import select
import threading
import time
from collections.abc import Iterator

MARK = "SWITCHBOARD_TEST_MARK"
"""Environment variable that every process started by a test inherits."""

GRACE_SECONDS = 3.0
"""A process that was told to end, or whose last peer has gone, is given this long; it is waited for, not polled."""

_numbers = itertools.count(1)


def new_mark() -> str:
    """A value no other test run on this machine uses at the same time."""
    return f"{os.getpid()}-{next(_numbers)}"


class Before:
    """What existed when the test began. `mark`: the value of `MARK` that its processes carry."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self._children = set(children())
        self._threads = set(threading.enumerate())
        self._descriptors = descriptors()

    def leftovers(self) -> list[str]:
        """One sentence for each thing that was not there before. Processes found are ended, so that the next test
        does not meet them."""
        found = self._processes()
        if self._new_descriptors() or self._new_threads():
            # A traceback or a cycle may still hold an object that closes with it (and warns, which fails the test).
            gc.collect()
        found += [f"file descriptor {number} is open: {target}" for number, target in self._new_descriptors()]
        found += [f"thread {thread.name} runs" for thread in self._new_threads()]
        return found

    def _new_descriptors(self) -> list[tuple[int, str]]:
        return sorted(descriptors() - self._descriptors)

    def _new_threads(self) -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread not in self._threads and thread.is_alive()]

    def _processes(self) -> list[str]:
        pids = {pid: command(pid) for pid in set(children()) - self._children | set(marked(self.mark))}
        wait_for_end(pids, GRACE_SECONDS)
        found = []
        for pid in sorted(pids):
            if is_zombie(pid):
                if reap(pid):
                    found.append(f"process {pid} has ended and nobody took its status: {pids[pid]}")
            elif pid in children() or pid in marked(self.mark):
                found.append(f"process {pid} runs: {pids[pid]}")
                kill(pid)
        return found


def descriptors() -> set[tuple[int, str]]:
    """Open descriptors and what they are, beside the standard streams, which the test runner itself redirects.

    Empty where the system does not list them.
    """
    found = set()
    for name in _listed("/proc/self/fd"):
        if int(name) <= 2:
            continue
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the descriptor of the listing itself
        found.add((int(name), target))
    return found


def children() -> list[int]:
    """Direct child processes, ended but unreaped ones included."""
    found = []
    for task in _listed("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", "rb") as file:
                found += [int(pid) for pid in file.read().split()]
        except OSError:
            continue  # the thread has just ended
    return found


def marked(mark: str) -> list[int]:
    """Running processes, other than this one, that carry the mark in the environment they started with."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in _listed("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue  # ended meanwhile, or another user's
    return found


def command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip() or "(no command line)"
    except OSError:
        return "(gone)"


def is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


def wait_for_end(pids: dict[int, str], seconds: float) -> None:
    """Return when all have ended (a zombie has), or after that long."""
    until = time.monotonic() + seconds
    for handle in _handles(pids):
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            poller.poll(max(0.0, until - time.monotonic()) * 1000)
        finally:
            os.close(handle)


def _handles(pids: dict[int, str]) -> Iterator[int]:
    for pid in pids:
        try:
            yield os.pidfd_open(pid)
        except OSError:
            continue  # gone


def reap(pid: int) -> bool:
    """Take the status of an ended child of ours; false when it is somebody else's."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
    wait_for_end({pid: ""}, GRACE_SECONDS)
    reap(pid)


async def tasks_left() -> list[str]:
    """Tasks beside the caller's that are not done, after what was already cancelled has had its turns."""
    for _ in range(5):
        # Closing a transport and acknowledging a cancellation take a few turns of the loop, and no time.
        await asyncio.sleep(0)
    own = asyncio.current_task()
    return sorted(
        f"asyncio task {task.get_name()} is pending: {task.get_coro()}"
        for task in asyncio.all_tasks()
        if task is not own
    )


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
