"""The host's log: what a line looks like, how large the file gets, and what a repeated fault costs."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from switchboard.host import log as module
from switchboard.host.log import MAX_REPEATS, FileLog

NOW = 1_800_000_000_123
STAMP = "2027-01-15T08:00:00.123+00:00"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "host.log"


@pytest.fixture
def log(path: Path) -> Iterator[FileLog]:
    made = FileLog(str(path), lambda: NOW)
    yield made
    made.close()


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_a_line_has_time_level_and_text(path: Path, log: FileLog) -> None:
    log.info("one")
    log.warning("two")
    log.error("three")
    assert lines(path) == [f"{STAMP} info one", f"{STAMP} warning two", f"{STAMP} error three"]


def test_a_text_is_one_line_whatever_is_in_it(path: Path, log: FileLog) -> None:
    log.info("one\ntwo\nthree \udcff ü")
    assert lines(path) == [f"{STAMP} info one two three ? ü"]


def test_it_is_its_owners_alone_and_no_child_inherits_it(path: Path, log: FileLog) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(log._file)


def test_a_later_host_goes_on_in_the_same_file(path: Path, log: FileLog) -> None:
    log.info("one")
    later = FileLog(str(path), lambda: NOW)
    later.info("two")
    later.close()
    assert lines(path) == [f"{STAMP} info one", f"{STAMP} info two"]


# --- standard error -----------------------------------------------------------------------------------------------


def test_only_errors_are_said_aloud(log: FileLog, capsys: pytest.CaptureFixture[str]) -> None:
    log.info("one")
    log.warning("two")
    log.error("three")
    assert capsys.readouterr().err == "switchboard: three\n"


def test_a_quiet_log_says_nothing(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = FileLog(str(path), lambda: NOW, loud=False)
    quiet.error("x")
    quiet.close()
    assert capsys.readouterr().err == ""
    assert lines(path) == [f"{STAMP} error x"]


@pytest.mark.parametrize("how", ["a pipe that nobody reads", "a closed file"])
def test_a_terminal_that_is_gone_is_no_fault(
    path: Path, log: FileLog, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "a closed file":
        gone = io.StringIO()
        gone.close()
        monkeypatch.setattr("sys.stderr", gone)
    else:
        read, write = os.pipe()
        os.close(read)
        gone = os.fdopen(write, "w")  # type: ignore[assignment]  # both are text files
        monkeypatch.setattr("sys.stderr", gone)
    log.error("one")
    log.error("two")
    assert lines(path) == [f"{STAMP} error one", f"{STAMP} error two"]
    monkeypatch.undo()
    if not gone.closed:
        with pytest.raises(BrokenPipeError):
            gone.close()


# --- repetitions --------------------------------------------------------------------------------------------------


def test_a_text_that_repeats_is_written_so_often_and_then_counted(
    path: Path, log: FileLog, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(1000):
        log.error("the same")
    assert lines(path) == [f"{STAMP} error the same"] * MAX_REPEATS
    log.info("another")
    log.info("a third")
    assert lines(path)[MAX_REPEATS:] == [
        f"{STAMP} info the text before came 1000 times",
        f"{STAMP} info another",
        f"{STAMP} info a third",
    ]
    assert capsys.readouterr().err == "switchboard: the same\n" * MAX_REPEATS


def test_texts_that_take_turns_are_all_written(path: Path, log: FileLog) -> None:
    for _ in range(100):
        log.info("tick")
        log.info("tock")
    assert len(lines(path)) == 200


def test_a_text_may_come_again_later(path: Path, log: FileLog) -> None:
    for _ in range(MAX_REPEATS):
        log.info("x")
    log.info("y")
    log.info("x")
    assert [line.rpartition(" ")[2] for line in lines(path)] == ["x"] * MAX_REPEATS + ["y", "x"]


# --- size ---------------------------------------------------------------------------------------------------------


def test_a_full_file_makes_way_and_one_before_it_is_kept(
    path: Path, log: FileLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    for number in range(100):
        log.info(f"line {number:03}")
    older = path.with_name("host.log.1")
    kept = [int(line[-3:]) for line in [*lines(older), *lines(path)]]
    assert kept == list(range(kept[0], 100))
    assert kept[0] > 0, "the ones before are gone"
    for file in (older, path):
        assert file.stat().st_size <= 1000 + 100
        assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(path.parent)) == ["host.log", "host.log.1"]


def test_rotating_leaves_no_descriptor(path: Path, log: FileLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        log.info(str(number))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_cannot_make_way_is_written_on(path: Path, log: FileLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    (path.with_name("host.log.1") / "inside").mkdir(parents=True)
    log.info("one")
    log.info("two")
    assert lines(path) == [f"{STAMP} info one", f"{STAMP} info two"]


def test_a_file_that_cannot_be_opened_again_harms_no_other_file(
    path: Path, log: FileLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a closed descriptor is somebody else's soon."""
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    opened = log._open

    def refuse() -> int:
        raise OSError("no descriptors left")

    monkeypatch.setattr(log, "_open", refuse)
    log.info("one")
    other = os.open(path.with_name("other"), os.O_WRONLY | os.O_CREAT)
    log.info("two")
    os.close(other)
    assert path.with_name("other").read_bytes() == b""
    monkeypatch.setattr(log, "_open", opened)


def test_a_full_disk_is_no_fault(log: FileLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _data: bytes) -> int:
        raise OSError("no space left")

    monkeypatch.setattr(os, "write", refuse)
    log.info("x")


@pytest.mark.parametrize("how", ["deleted", "no new file could be made"])
def test_after_a_mishap_a_full_file_still_makes_way(
    path: Path, log: FileLog, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    if how == "deleted":
        path.unlink()
    else:
        with monkeypatch.context() as patched:
            patched.setattr(os, "open", no_room)
            log.info("x" * 1000)
        assert not path.exists()
    log.info("x" * 1000)
    log.info("after")
    assert lines(path) == [f"{STAMP} info after"]


def no_room(*_arguments: object) -> int:
    raise OSError(28, "No space left on device")
