"""Running a small program to its end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from switchboard.sandbox import run as module
from switchboard.sandbox.run import Said, run, run_both


def sh(script: str, **options: object) -> Said:
    return run(["/bin/sh", "-c", script], {"A": "b"}, **options)  # type: ignore[arg-type]  # by name


def test_what_it_says_and_how_it_ends() -> None:
    assert sh('echo "$A"; echo oops >&2; exit 3') == Said(3, b"b\n", b"oops\n")
    assert sh("kill -9 $$").code == -9


def test_it_has_no_input() -> None:
    assert sh("cat").out == b""


def test_much_output() -> None:
    assert len(sh("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2").out) == 1_000_000


def test_given_descriptors() -> None:
    ours = os.memfd_create("given")
    try:
        os.write(ours, b"text")
        os.lseek(ours, 0, os.SEEK_SET)
        assert sh("cat <&9", given={9: ours}).out == b"text"
    finally:
        os.close(ours)


def test_nothing_else_is_inherited() -> None:
    ours = os.open("/", os.O_RDONLY)
    try:
        assert b" -> /\n" not in sh("ls -l /proc/self/fd").out
    finally:
        os.close(ours)


def test_a_program_that_cannot_be_started() -> None:
    with pytest.raises(OSError, match="No such file"):
        run(["/nonexistent"], {})


def test_two_at_the_same_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    meets = run_both(
        ["/bin/sh", "-c", f"echo met >{tmp_path}/pipe"], ["/bin/sh", "-c", f"cat {tmp_path}/pipe; exit 2"], {}
    )
    assert meets == (Said(0, b"", b""), Said(2, b"met\n", b""))


def test_the_first_of_two_is_waited_for_when_the_other_cannot_be_started() -> None:
    with pytest.raises(OSError, match="No such file"):
        run_both(["/bin/true"], ["/nonexistent"], {})


def test_one_that_does_not_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)
    with pytest.raises(TimeoutError, match="sh did not end within 0 seconds"):
        sh(f"echo $$ >{tmp_path}/pid; exec sleep 60")
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_two_of_which_one_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)
    with pytest.raises(TimeoutError, match="did not end"):
        run_both(["/bin/true"], ["/bin/sleep", "60"], {})
    with pytest.raises(TimeoutError, match="did not end"):
        run_both(["/bin/sleep", "60"], ["/bin/true"], {})
