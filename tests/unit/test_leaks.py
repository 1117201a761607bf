"""The check at the end of every test finds what it is for, and nothing else."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import pytest
from tests.support import leaks

WAITS_FOR_INPUT = [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"]
DETACHES = "import os, sys\nif os.fork() == 0:\n  os.setsid()\n  sys.stdin.read()\n"


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> leaks.Before:
    mark = leaks.new_mark()
    monkeypatch.setattr(leaks, "GRACE_SECONDS", 0.01)
    monkeypatch.setenv(leaks.MARK, mark)
    return leaks.Before(mark)


def test_nothing_left_says_nothing(before: leaks.Before) -> None:
    assert before.leftovers() == []


def test_open_descriptor_is_named(before: leaks.Before) -> None:
    reader, writer = os.pipe()
    try:
        left = before.leftovers()
    finally:
        os.close(reader)
        os.close(writer)
    assert [line.split(" is open: ")[0] for line in left] == [
        f"file descriptor {fd}" for fd in sorted((reader, writer))
    ]


def test_closed_descriptor_is_no_leak(before: leaks.Before) -> None:
    for fd in os.pipe():
        os.close(fd)
    assert before.leftovers() == []


def test_running_child_is_named_and_ended(before: leaks.Before) -> None:
    reader, writer = os.pipe()
    child = subprocess.Popen(WAITS_FOR_INPUT, stdin=reader)
    os.close(reader)
    left = before.leftovers()
    os.close(writer)
    assert any(line.startswith(f"process {child.pid} runs: ") for line in left)
    assert child.pid not in leaks.children()
    child.returncode = -9  # reaped above: the object is told, or it would warn


def test_detached_process_is_named_and_ended(before: leaks.Before) -> None:
    reader, writer = os.pipe()
    subprocess.run([sys.executable, "-S", "-c", DETACHES], stdin=reader, check=True)
    os.close(reader)
    [daemon] = leaks.marked(before.mark)
    left = before.leftovers()
    os.close(writer)
    assert any(line.startswith(f"process {daemon} runs: ") for line in left)
    assert leaks.marked(before.mark) == []


def test_unreaped_child_is_named(before: leaks.Before) -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    leaks.wait_for_end({pid: ""}, 5)
    assert before.leftovers() == [f"process {pid} has ended and nobody took its status: (no command line)"]


def test_child_that_ends_in_time_and_is_reaped_is_no_leak(before: leaks.Before) -> None:
    subprocess.run(["/bin/true"], check=True)
    assert before.leftovers() == []


def test_running_thread_is_named(before: leaks.Before) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="the one left behind")
    thread.start()
    left = before.leftovers()
    stop.set()
    thread.join()
    assert left == ["thread the one left behind runs"]


async def test_pending_task_is_named() -> None:
    never = asyncio.get_running_loop().create_future()

    async def wait() -> None:
        await never

    task = asyncio.create_task(wait(), name="left behind")
    left = await leaks.tasks_left()
    task.cancel()
    assert [line.split(":")[0] for line in left] == ["asyncio task left behind is pending"]


async def test_cancelled_task_is_no_leak() -> None:
    never = asyncio.get_running_loop().create_future()

    async def wait() -> None:
        await never

    task = asyncio.create_task(wait(), name="cancelled")
    await asyncio.sleep(0)
    task.cancel()
    assert await leaks.tasks_left() == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def test_it():\n  import os\n  os.pipe()\n", "file descriptor"),
        ("def test_it():\n  import subprocess\n  subprocess.Popen(['sleep', '60']).returncode = 0\n", "process"),
        (
            "import asyncio\nasync def test_it():\n  asyncio.create_task(asyncio.Event().wait(), name='lost')\n",
            "asyncio task lost",
        ),
    ],
    ids=["descriptor", "child", "task"],
)
def test_leaking_test_fails(tmp_path: object, body: str, expected: str) -> None:
    """The whole way: pytest itself reports an error for a test that leaks."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = str(tmp_path)
    with open(f"{folder}/conftest.py", "w") as file:
        file.write("from tests.support import leaks\nleaks.GRACE_SECONDS = 0.01\nfrom tests.conftest import *\n")
        file.write("from tests.conftest import _nothing_is_left, _no_task_is_left\n")
    with open(f"{folder}/test_sample.py", "w") as file:
        file.write(body)
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-o",
            "asyncio_mode=auto",
            folder,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "The test left something behind" in run.stdout
    assert expected in run.stdout
