"""How a sandbox is started: with a bubblewrap that says and reads what the real one does, and mounts nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PLAN = """
import sys
from switchboard.sandbox import start as module
from switchboard.sandbox.mounts import Mount, Refusal
from switchboard.sandbox.plan import Plan
plan = Plan((Mount("file", "/f", content=b"private"),), ("/cli", "a b"), "/")
module.SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else module.SECONDS
if sys.argv[2] == "planned":
    module.Expected.trouble = lambda *_given: None
elif sys.argv[2] == "other":
    module.Expected.trouble = lambda *_given: "'/x' shows '/y'"
try:
    code = module.start(sys.argv[1], plan, {"A": "b", "PATH": "/usr/bin:/bin"})
except Refusal as refusal:
    sys.exit(f"refused: {refusal}")
sys.exit(code)
"""

TELL = """printf '{"child-pid": %s, "x": 1}\\n' "$$" >&10"""
PASS = "cat <&11 >/dev/null || exit 1; cat <&12 >/dev/null || exit 1"


def fake(folder: Path, *lines: str) -> str:
    program = folder / "bwrap"
    program.write_text("\n".join(["#!/bin/bash", *lines, ""]))
    program.chmod(0o755)
    return str(program)


def start(program: str, outcome: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PLAN, program, outcome, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_it_runs_when_the_mounts_are_as_planned(tmp_path: Path) -> None:
    program = fake(tmp_path, TELL, PASS, 'printf "%s\\n" "$PPID" "$A" "$(cat <&9)" "${@: -2}"; exit 7')
    done = start(program, "planned")
    assert done.returncode == 7
    assert done.stdout.splitlines()[1:] == ["b", "private", "/cli", "a b"]


@pytest.mark.parametrize("outcome", ["other", "as they really are"])
def test_it_does_not_run_when_they_are_not(tmp_path: Path, outcome: str) -> None:
    program = fake(tmp_path, TELL, PASS, f"touch {tmp_path}/ran")
    done = start(program, outcome)
    assert done.returncode == 1
    assert done.stderr.startswith("refused: the sandbox did not come out as planned: ")
    assert not (tmp_path / "ran").exists()


def test_it_waits_until_all_is_mounted(tmp_path: Path) -> None:
    """The table is read when bubblewrap has come to its last tasks, and not before."""
    program = fake(tmp_path, TELL, f"sleep 0.3; touch {tmp_path}/mounted", PASS)
    look = PLAN.replace(
        "lambda *_given: None", f"lambda *_given: print(__import__('os').listdir('{tmp_path}'), flush=True)"
    )
    done = subprocess.run([sys.executable, "-c", look, program, "planned"], capture_output=True, text=True, check=True)
    assert "mounted" in done.stdout


def test_bubblewrap_gives_up_when_whoever_looks_has_died(tmp_path: Path) -> None:
    died = PLAN.replace("lambda *_given: None", "lambda *_given: __import__('os').kill(__import__('os').getpid(), 9)")
    program = fake(tmp_path, TELL, "trap 'echo gave up' EXIT", PASS, "echo ran")
    command = [sys.executable, "-c", died, program, "planned"]
    # Ends when bubblewrap has ended, which has the same output.
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "gave up\n")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("exit 1",), "it ended before it had begun"),
        (("echo '{}' >&10", "cat <&12 2>/dev/null"), "it does not tell its process"),
        (("echo '{\"child-pid\": x}' >&10",), "it does not tell its process"),
        ((TELL, "exit 1"), "it ended before the mounts were made"),
        ((TELL, "exec sleep 30"), "it took more than 0 seconds"),
        (("exec sleep 30",), "it took more than 0 seconds"),
    ],
)
def test_a_bubblewrap_that_fails(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    done = start(fake(tmp_path, *lines), "planned", "0.4" if "took" in said else "30")
    assert done.stderr == f"refused: bwrap failed to set up the sandbox: {said}\n"


def test_ignored_signals_are_not_passed_on(tmp_path: Path) -> None:
    done = start(fake(tmp_path, TELL, PASS, "grep SigIgn /proc/$$/status"), "planned")
    assert int(done.stdout.split()[1], 16) & (1 << 12 | 1 << 24) == 0  # SIGPIPE and SIGXFSZ


def test_an_end_by_signal(tmp_path: Path) -> None:
    assert start(fake(tmp_path, TELL, PASS, "kill -TERM $$"), "planned").returncode == 128 + 15


def test_nothing_but_the_terminal_stays_open_here(tmp_path: Path) -> None:
    program = fake(tmp_path, TELL, PASS, 'ls /proc/$PPID/fd; ls -l /proc/self/fd | grep -c "socket:"')
    reader, writer = os.pipe()
    try:
        command = [sys.executable, "-c", PLAN, program, "planned"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, pass_fds=[reader, writer])
    finally:
        os.close(reader)
        os.close(writer)
    # Its own end may still be on its way to being closed when the other one goes on.
    assert set(done.stdout.split()[:3]) == {"0", "1", "2"}


def test_a_bubblewrap_that_has_gone_since() -> None:
    assert start("/nonexistent", "planned").stderr == "refused: /nonexistent cannot be run: No such file or directory\n"
