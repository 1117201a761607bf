"""The /proc of this machine, over processes that were started for it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from switchboard.clis.procfs import ProcFs

PATIENCE_SECONDS = 10
NOBODY = 65_534

# A tool with a name that a careless reader of its stat file trips over; each waits for its input to end.
WAIT = "import sys; sys.stdin.read()"
CHILD_IN_CHILD = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {WAIT!r}])
print(child.pid, flush=True)
child.wait()
"""
# The first thread ends, and the process goes on in another one.
FIRST_THREAD_ENDS = """
import ctypes, os, sys, threading
def work():
    os.read(0, 1)
    os._exit(0)
threading.Thread(target=work).start()
print("ready", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""

Starter = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Starter]:
    """Starts Python programs, and ends them by their own pid."""
    running: list[subprocess.Popen[str]] = []

    def starter(code: str, executable: str = sys.executable) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, executable=executable
        )
        running.append(process)
        return process

    yield starter
    for process in running:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait(PATIENCE_SECONDS)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def until_ended(pid: int) -> None:
    """Wait until the process has ended, without collecting it."""
    watch = os.pidfd_open(pid)
    try:
        assert select.select([watch], [], [], PATIENCE_SECONDS)[0], "it did not end"
    finally:
        os.close(watch)


def test_a_process_of_ours_from_start_to_end(start: Starter) -> None:
    door = ProcFs()
    process = start(WAIT)
    begun = door.start(process.pid)
    assert begun is not None
    assert begun.isdigit()
    assert door.parent(process.pid) == os.getpid()
    assert door.is_alive(process.pid)
    assert door.is_same(process.pid, begun)
    assert not door.is_same(process.pid, "1")
    process.kill()
    until_ended(process.pid)
    os.kill(process.pid, 0)  # it still takes a signal: nobody has collected it
    assert not door.is_alive(process.pid)
    assert door.start(process.pid) == begun
    process.wait()
    assert not door.is_alive(process.pid)
    assert door.start(process.pid) is None
    assert door.parent(process.pid) is None
    assert door.pid_namespace(process.pid) is None
    assert door.ns_pids(process.pid) is None


def test_a_later_process_has_a_later_start(start: Starter) -> None:
    door = ProcFs()
    earlier = door.start(os.getpid())
    later = door.start(start(WAIT).pid)
    assert earlier is not None
    assert later is not None
    assert int(later) >= int(earlier)


def test_a_process_whose_first_thread_has_ended_is_alive(start: Starter) -> None:
    door = ProcFs()
    process = start(FIRST_THREAD_ENDS)
    assert line(process) == "ready"
    stat = Path(f"/proc/{process.pid}/stat")
    until = os.times().elapsed + PATIENCE_SECONDS
    while b") Z " not in stat.read_bytes():  # nothing tells when a thread has ended
        assert os.times().elapsed < until
    assert door.is_alive(process.pid)
    assert process.stdin is not None
    process.stdin.write("x")
    process.stdin.flush()
    until_ended(process.pid)
    assert not door.is_alive(process.pid)


def test_a_stopped_process_is_alive(start: Starter) -> None:
    process = start(WAIT)
    process.send_signal(signal.SIGSTOP)
    assert ProcFs().is_alive(process.pid)
    process.send_signal(signal.SIGCONT)


def test_a_name_full_of_parentheses_is_read_past(start: Starter, tmp_path: Path) -> None:
    odd = tmp_path / ") Z 1 (x"
    odd.write_text("#!/bin/sh\nread line\n")
    odd.chmod(0o755)
    process = subprocess.Popen([str(odd)], stdin=subprocess.PIPE)
    try:
        door = ProcFs()
        assert door.is_alive(process.pid)
        assert door.parent(process.pid) == os.getpid()
        assert b") Z 1 (" in Path(f"/proc/{process.pid}/stat").read_bytes()
    finally:
        process.communicate(b"\n", PATIENCE_SECONDS)


def test_descendants(start: Starter) -> None:
    door = ProcFs()
    process = start(CHILD_IN_CHILD)
    grandchild = int(line(process))
    assert door.distance(grandchild, process.pid) == 1
    assert door.distance(grandchild, os.getpid()) == 2
    assert door.is_descendant(grandchild, os.getpid())
    assert not door.is_descendant(os.getpid(), process.pid)
    assert not door.is_descendant(process.pid, grandchild)


def test_a_process_of_another_user_is_alive() -> None:
    """EPERM: a child that is no longer root asks for its parent, or anybody who is not root for the first process."""
    asking = os.getpid() if os.geteuid() == 0 else 1
    question = f"""
import os
try:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
except PermissionError:
    pass
from switchboard.clis.procfs import ProcFs
door = ProcFs()
try:
    os.kill({asking}, 0)
    print("may be signalled")
except PermissionError:
    print(door.is_alive({asking}), door.is_same({asking}, door.start({asking})), door.pid_namespace({asking}))
"""
    source = Path(__file__).parents[2] / "src"
    # The module is loaded before the user changes: the other user may not be allowed to read it.
    preload = f"import sys; sys.path.insert(0, {str(source)!r}); import switchboard.clis.procfs\n"
    done = subprocess.run([sys.executable, "-c", preload + question], capture_output=True, text=True, check=True)
    assert done.stdout == "True True None\n"


def test_namespaces_and_boot() -> None:
    door = ProcFs()
    namespace = door.pid_namespace(os.getpid())
    assert namespace == os.readlink("/proc/self/ns/pid")
    numbers = door.ns_pids(os.getpid())
    assert numbers is not None
    assert numbers[-1] == os.getpid()
    boot = door.boot_id()
    assert boot is not None
    assert len(boot) == 36
