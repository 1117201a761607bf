"""Starting a program on a new terminal: what it finds, and what is left when it does not start."""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from switchboard.clis.procfs import ProcFs
from switchboard.sessions.keeper.child import SpawnError, make_memory, set_size, spawn, start_identity
from switchboard.sessions.keeper.ring import memory_size

PYTHON = [sys.executable, "-I", "-S", "-c"]


def output(master: int) -> bytes:
    """All that the program prints until it has ended."""
    found = b""
    while True:
        assert select.select([master], [], [], 20)[0], found
        try:
            data = os.read(master, 65536)
        except OSError:
            return found
        if not data:
            return found
        found += data


def run(
    argv: list[str], cwd: str = "/", env: dict[str, str] | None = None, columns: int = 80, rows: int = 24
) -> tuple[int, bytes]:
    """Start, collect the output, reap; return (wait status, output)."""
    pid, master = spawn(argv, cwd, {"PATH": os.environ["PATH"]} if env is None else env, columns, rows)
    try:
        text = output(master)
    finally:
        os.close(master)
    return os.waitpid(pid, 0)[1], text


def says(program: str, **fields: object) -> str:
    status, text = run([*PYTHON, program], **fields)  # type: ignore[arg-type]  # the fields of `run`
    assert status == 0, text
    return text.decode().strip()


def test_it_leads_a_session_of_its_own_on_its_terminal() -> None:
    program = (
        "import os; print(os.getsid(0) == os.getpid() == os.getpgrp() == os.tcgetpgrp(0),"
        " os.ttyname(0) == os.ttyname(1) == os.ttyname(2), os.open('/dev/tty', os.O_RDWR) > 2)"
    )
    assert says(program) == "True True True"


def test_it_has_the_size_from_its_first_moment() -> None:
    assert says("import os; print(*os.get_terminal_size())", columns=91, rows=17) == "91 17"


def test_it_has_exactly_the_environment_and_the_directory_it_was_given(tmp_path: Path) -> None:
    program = "import os; print(os.getcwd(), sorted(os.environ.items()))"
    said = says(program, cwd=str(tmp_path), env={"A": "1", "LC_CTYPE": "C.UTF-8"})
    assert said == f"{tmp_path} [('A', '1'), ('LC_CTYPE', 'C.UTF-8')]"


def foreign() -> set[str]:
    """Descriptors above the standard ones that whoever runs the tests lets every program inherit."""
    return {name for name in os.listdir("/proc/self/fd") if int(name) > 2 and inheritable(int(name))}


def inheritable(descriptor: int) -> bool:
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False  # the one of the listing itself


def test_it_has_no_descriptor_of_ours_but_its_terminal() -> None:
    kept = os.open("/dev/null", os.O_RDONLY)
    try:
        said = says("import os; print(*os.listdir('/proc/self/fd'))")
    finally:
        os.close(kept)
    assert set(said.split()) - foreign() == {"0", "1", "2", "3"}  # one is that of the listing


def test_its_signals_are_at_their_defaults_and_none_is_blocked() -> None:
    """What Python ignores, and what whoever started us ignores or blocks, is not passed on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        _, text = run(["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"])
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    # Signals 32 and 33 are the C library's: whoever started the tests may have left them ignored, and nobody can ask.
    of_the_library = 1 << 31 | 1 << 32
    assert {int(mask, 16) & ~of_the_library for mask in text.decode().split()[1::2]} == {0}


def test_its_master_does_not_block_and_is_not_inherited() -> None:
    pid, master = spawn(["sleep", "600"], "/", {"PATH": os.environ["PATH"]}, 80, 24)
    try:
        assert not os.get_blocking(master)
        assert not os.get_inheritable(master)
        assert set(os.listdir(f"/proc/{pid}/fd")) - foreign() == {"0", "1", "2"}
    finally:
        os.close(master)  # the hang-up ends it
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGHUP


@pytest.mark.parametrize(
    ("argv", "cwd", "env", "reason"),
    [
        (["no-such-program"], "/", {"PATH": "/bin"}, "could not run no-such-program: no such program"),
        (["/no/such/program"], "/", {}, "could not run /no/such/program: no such program"),
        (["/dev/null"], "/", {}, "could not run /dev/null: Permission denied"),
        (["true"], "/no/such", {}, "could not enter the directory /no/such: No such file or directory"),
        (["true"], "/dev/null", {}, "could not enter the directory /dev/null: Not a directory"),
        (["true"], "/", {"A": "a\0b"}, "could not run true: embedded null byte"),
        (["true", "a\0b"], "/", {}, "could not run true: embedded null byte"),
    ],
    ids=["unknown", "path", "not executable", "no directory", "a file", "NUL in a variable", "NUL in an argument"],
)
def test_what_does_not_start_says_at_which_step(argv: list[str], cwd: str, env: dict[str, str], reason: str) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(SpawnError) as refused:
        spawn(argv, cwd, env, 80, 24)
    assert str(refused.value) == reason
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("late_by", [0, 1], ids=["at its very deadline", "after it"])
def test_what_comes_too_late_is_not_forked(late_by: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: (1_000_000 + late_by) * 1_000_000)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("it was forked"))
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(SpawnError, match=r"^too late: the session keeper came to it only after its time had passed$"):
        spawn(["true"], "/", {}, 80, 24, 1_000_000)
    assert set(os.listdir("/proc/self/fd")) == before


def test_what_is_just_in_time_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000 * 1_000_000 - 1)
    pid, master = spawn(["true"], "/", {"PATH": os.environ["PATH"]}, 80, 24, 1_000_000)
    os.close(master)
    os.waitpid(pid, 0)


def test_a_fork_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(BlockingIOError):
        spawn(["true"], "/", {}, 80, 24)
    assert set(os.listdir("/proc/self/fd")) == before


# --- memory, size, identity ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("memfd", [True, False], ids=["memfd", "an unlinked file"])
def test_memory_for_a_ring_is_private_and_has_no_name(
    memfd: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not memfd:
        monkeypatch.delattr(os, "memfd_create")
    memory = make_memory(4096, str(tmp_path))
    try:
        found = os.fstat(memory)
        assert found.st_size == memory_size(4096)
        assert not os.get_inheritable(memory)
        assert list(tmp_path.iterdir()) == []
        if not memfd:
            assert stat.S_IMODE(found.st_mode) == 0o600
    finally:
        os.close(memory)


def test_a_size_in_cells() -> None:
    master, slave = os.openpty()
    set_size(master, 77, 33)
    assert tuple(os.get_terminal_size(slave)) == (77, 33)
    for descriptor in (master, slave):
        os.close(descriptor)


def test_a_start_identity_is_what_everybody_else_reads() -> None:
    assert start_identity(os.getpid()) == ProcFs().start(os.getpid()) != ""


def test_no_process_has_none() -> None:
    assert start_identity(2**31 - 1) == ""
