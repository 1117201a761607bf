"""Making what is missing, private files, and what is closed before the sandbox takes over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from switchboard.sandbox.bwrap import make, private_files, try_out
from switchboard.sandbox.mounts import Mount, Refusal
from switchboard.sandbox.plan import Plan
from switchboard.sandbox.policy import Missing

PLAN = Plan((Mount("ro", "/usr", "/usr"),), ("/usr/bin/true",), "/")


def test_missing_things_are_made(tmp_path: Path) -> None:
    make(
        [
            Missing(f"{tmp_path}/a/b", private=True),
            Missing(f"{tmp_path}/a/b/file", "file"),
            Missing(f"{tmp_path}/open"),
        ]
    )
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "open").stat().st_mode & 0o077 != 0
    assert (tmp_path / "a/b/file").read_bytes() == b""


def test_what_is_there_by_now_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("gone")
    make([Missing(f"{tmp_path}/file", "file"), Missing(f"{tmp_path}/file"), Missing(f"{tmp_path}/link", "file")])
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "gone").exists()


def test_what_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match=f"could not create {tmp_path}/file/x: Not a directory"):
        make([Missing(f"{tmp_path}/file/x")])


def test_no_link_is_followed_to_make_something(tmp_path: Path) -> None:
    """Whoever can put a link in the way does not decide where something is made."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "way").symlink_to("elsewhere")
    for missing in (Missing(f"{tmp_path}/way/folder"), Missing(f"{tmp_path}/way/file", "file")):
        with pytest.raises(Refusal, match=f"could not create {missing.path}: Not a directory"):
            make([missing])
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_private_files_are_read_from_their_start() -> None:
    files = private_files([b"one", b"", b"three"])
    try:
        assert list(files) == [9, 10, 11]
        assert min(files.values()) >= 12
        assert [os.read(descriptor, 10) for descriptor in files.values()] == [b"one", b"", b"three"]
    finally:
        for descriptor in files.values():
            os.close(descriptor)


def test_a_large_private_file_is_whole() -> None:
    content = os.urandom(3_000_000)
    [descriptor] = private_files([content]).values()
    with open(descriptor, "rb") as file:
        assert file.read() == content


def test_a_plan_that_works() -> None:
    try_out("/bin/true", PLAN, {})


def test_a_plan_that_does_not(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: no such thing' >&2\necho more >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(Refusal) as refused:
        try_out(str(program), PLAN, {})
    assert str(refused.value) == "bwrap failed to set up the sandbox: bwrap: no such thing more"


def test_a_bubblewrap_that_does_not_start() -> None:
    with pytest.raises(Refusal, match="bwrap failed to set up the sandbox: /nonexistent: No such file"):
        try_out("/nonexistent", PLAN, {})


CLOSER = """
import os, socket, sys
from switchboard.sandbox.bwrap import close_others

def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True

pipe, folder, file = os.pipe(), os.open("/", os.O_RDONLY), os.open(sys.argv[0], os.O_RDONLY)
one, other = socket.socketpair()
kept = os.memfd_create("kept")
names = dict(read=pipe[0], write=pipe[1], folder=folder, file=file, socket=one.fileno(), kept=kept, terminal=2)
close_others([kept])
print(" ".join(name for name, number in names.items() if is_open(number)), flush=True)
os._exit(0)
"""


def test_only_pipes_and_the_terminal_stay_open(tmp_path: Path) -> None:
    script = tmp_path / "closer.py"
    script.write_text(CLOSER)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["read", "write", "kept", "terminal"]
