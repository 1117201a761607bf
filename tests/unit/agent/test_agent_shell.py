from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from switchboard.agent.shell import OUTPUT_BYTES, Outcome, Shell


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome("a\n", "", 0), "a"),
        (Outcome("a\n", "b\n", 0), "a\nb"),
        (Outcome("", "b", 2), "b\n(exit code 2)"),
        (Outcome("", "", 1), "(exit code 1)"),
        (Outcome(" \n", "", 0), ""),
    ],
)
def test_an_outcome_as_text(outcome: Outcome, text: str) -> None:
    assert outcome.text == text


async def test_a_command_runs_in_the_directory(tmp_path: Path) -> None:
    outcome = await Shell(str(tmp_path)).run("pwd; echo oops >&2; exit 3")
    assert outcome == Outcome(f"{tmp_path}\n", "oops\n", 3)


async def test_a_command_has_nothing_to_read_and_no_terminal(tmp_path: Path) -> None:
    outcome = await Shell(str(tmp_path)).run("cat; (: </dev/tty) 2>/dev/null || echo none")
    assert outcome.stdout == "none\n"


async def test_output_is_kept_within_bounds(tmp_path: Path) -> None:
    outcome = await Shell(str(tmp_path)).run("head -c 1000000 /dev/zero")
    assert len(outcome.stdout) == OUTPUT_BYTES
    assert outcome.code == 0


async def test_what_a_command_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
    shell = Shell(str(tmp_path))
    outcome = await asyncio.wait_for(shell.run("echo done; sleep 100 & echo $! > pid"), 30)
    assert outcome.stdout == "done\n"
    os.kill(int((tmp_path / "pid").read_text()), 15)


async def test_cancelling_ends_the_command(tmp_path: Path) -> None:
    shell = Shell(str(tmp_path))
    os.mkfifo(tmp_path / "started")
    task = asyncio.create_task(shell.run("echo $$ > started; exec sleep 100"))
    pid = int(await asyncio.to_thread((tmp_path / "started").read_text))
    task.cancel()
    await asyncio.wait({task})
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_background_command(tmp_path: Path) -> None:
    shell = Shell(str(tmp_path))
    process = await shell.start("exit 4")
    assert await shell.wait_for(process) == 4


async def test_cancelling_the_wait_ends_a_background_command(tmp_path: Path) -> None:
    shell = Shell(str(tmp_path))
    waiting = asyncio.create_task(shell.wait_for(await shell.start("trap '' TERM; exec sleep 100")))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert waiting.cancelled()


async def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await Shell(str(tmp_path / "gone")).run("true")
