"""One host per data directory: the folders it accepts, its lock, and what it publishes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

from switchboard.host.instance import (
    HostRecord,
    Instance,
    StartError,
    living_host,
    no_room,
    own_folder,
    read_record,
    runtime_folder_of,
)

WHAT = "the folder"
RECORD = HostRecord(4242, "http://127.0.0.1:7777", 1_800_000_000_000, "1.2.3")


@pytest.fixture(autouse=True)
def _an_ordinary_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def of_another_user(folder: Path) -> str:
    """A folder that belongs to somebody else: only the superuser can give one away, and to others his are foreign."""
    if os.geteuid() == 0:
        folder.mkdir()
        os.chown(folder, 12345, -1)
        return str(folder)
    return "/usr"


# --- folders ------------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_made_private_with_all_above_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c"
    own_folder(str(path), WHAT, private=True)
    assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("mode", "private", "remedy"),
    [
        (0o700, True, None),
        (0o700, False, None),
        (0o755, False, None),
        (0o750, False, None),
        (0o755, True, "chmod 700"),
        (0o710, True, "chmod 700"),
        (0o701, True, "chmod 700"),
        (0o704, True, "chmod 700"),
        (0o770, False, "chmod go-w"),
        (0o702, False, "chmod go-w"),
        (0o777, False, "chmod go-w"),
        (0o1777, False, "chmod go-w"),
    ],
    ids=lambda value: oct(value) if isinstance(value, int) and not isinstance(value, bool) else str(value),
)
def test_a_folder_that_others_can_write_or_enter(tmp_path: Path, mode: int, private: bool, remedy: str | None) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    path.chmod(mode)
    if remedy is None:
        own_folder(str(path), WHAT, private)
    else:
        with pytest.raises(StartError) as refused:
            own_folder(str(path), WHAT, private)
        assert str(refused.value) == (
            f"the folder {path} is open to other users; run `{remedy} {path}`, or choose another one"
        )
        path.chmod(mode & ~0o022 if remedy == "chmod go-w" else 0o700)
        own_folder(str(path), WHAT, private)


def test_the_mode_of_an_existing_folder_is_never_changed(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    for mode in (0o755, 0o777):
        path.mkdir(exist_ok=True)
        path.chmod(mode)
        for private in (True, False):
            with contextlib.suppress(StartError):
                own_folder(str(path), WHAT, private)
            assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("private", [True, False])
def test_a_folder_of_another_user_is_refused(tmp_path: Path, private: bool) -> None:
    path = of_another_user(tmp_path / "theirs")
    with pytest.raises(StartError) as refused:
        own_folder(path, WHAT, private)
    assert str(refused.value) == f"the folder {path} belongs to another user; choose one of your own"


@pytest.mark.parametrize("link", [False, True], ids=["a file", "a link to nowhere"])
def test_what_is_no_folder_is_refused(tmp_path: Path, link: bool) -> None:
    path = tmp_path / "folder"
    if link:
        path.symlink_to(tmp_path / "nowhere")
    else:
        path.write_text("x")
    with pytest.raises(StartError) as refused:
        own_folder(str(path), WHAT, private=False)
    assert str(refused.value) == f"the folder {path} is not a folder; move it away or choose another one"


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StartError, match="is not a folder"):
        own_folder(str(tmp_path / "file" / "folder"), WHAT, private=False)


def test_a_link_to_a_folder_of_ours_will_do(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    own_folder(str(tmp_path / "link"), WHAT, private=True)


def test_a_folder_that_is_not_writable_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modes do not keep the superuser out, so the system's answer is played."""
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(StartError, match="is not writable; make it so, or choose another one"):
        own_folder(str(tmp_path / "folder"), WHAT, private=False)


def test_a_folder_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"cannot be used: File name too long"):
        own_folder(str(tmp_path / ("x" * 300)), WHAT, private=False)


# --- the lock -----------------------------------------------------------------------------------------------------


def test_a_data_directory_is_made_and_locked(tmp_path: Path) -> None:
    data = tmp_path / "data"
    instance = Instance(str(data))
    instance.acquire()
    assert instance.runtime == str(data / "run")
    for folder in (data, data / "run"):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert (data / "host.lock").stat().st_mode & 0o777 == 0o600
    instance.release()


def test_a_second_host_is_told_who_runs_and_what_to_do(tmp_path: Path) -> None:
    first, second = Instance(str(tmp_path)), Instance(str(tmp_path))
    first.acquire()
    before = set(os.listdir("/proc/self/fd"))
    for publish, who in ((False, ""), (True, " (process 4242)")):
        if publish:
            first.publish(RECORD)
        with pytest.raises(StartError) as refused:
            second.acquire()
        assert str(refused.value) == (
            f"a host is running already for {tmp_path}{who}: use it with `switchboard watch`, end it with "
            "`switchboard down`, or start another one with another SWITCHBOARD_DATA_DIR"
        )
    second.release()
    assert (tmp_path / "host.json").exists(), "who does not hold the lock removes nothing"
    assert set(os.listdir("/proc/self/fd")) == before
    first.release()
    second.acquire()
    second.release()


def test_another_data_directory_has_a_host_of_its_own(tmp_path: Path) -> None:
    one, two = Instance(str(tmp_path / "one")), Instance(str(tmp_path / "two"))
    one.acquire()
    two.acquire()
    one.release()
    two.release()


def test_a_killed_host_holds_nothing(tmp_path: Path) -> None:
    """The lock goes with the process, whatever it has left on disk."""
    script = (
        "import sys; from switchboard.host.instance import *; one = Instance(sys.argv[1]); one.acquire();"
        "one.publish(HostRecord(1, 'u', 2, 'v')); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"held\n"
        instance = Instance(str(tmp_path))
        with pytest.raises(StartError, match=r"\(process 1\)"):
            instance.acquire()
        host.kill()
        host.wait()
    assert read_record(str(tmp_path)) is not None
    instance.acquire()
    instance.release()
    assert read_record(str(tmp_path)) is None


def test_no_child_inherits_the_lock(tmp_path: Path) -> None:
    instance = Instance(str(tmp_path))
    instance.acquire()
    assert instance._lock is not None
    assert not os.get_inheritable(instance._lock)
    instance.release()
    instance.release()


def test_a_lock_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "host.lock").mkdir()
    with pytest.raises(StartError, match=r"the lock .*/host\.lock cannot be opened: Is a directory; move it away"):
        Instance(str(tmp_path)).acquire()


def test_a_disk_that_cannot_be_locked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StartError, match="cannot be locked: No locks available; choose a folder on a disk of this"):
        Instance(str(tmp_path)).acquire()


def test_a_data_directory_that_others_can_write_is_refused_by_its_name(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(StartError, match=r"the data directory \(SWITCHBOARD_DATA_DIR\) .* is open to other users"):
        Instance(str(tmp_path)).acquire()
    tmp_path.chmod(0o755)
    (tmp_path / "run").mkdir(mode=0o755)
    with pytest.raises(StartError, match=r"the folder for sockets .*/run is open to other users; run `chmod 700 "):
        Instance(str(tmp_path)).acquire()


# --- a short folder for sockets -----------------------------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the system keeps temporary files: a folder that is short enough for sockets."""
    folder = Path("/tmp") / f"sb-{os.getpid()}"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(folder))
    return folder


def test_a_deep_data_directory_has_its_sockets_in_a_private_folder_elsewhere(tmp_path: Path, temporary: Path) -> None:
    data = tmp_path / ("deep" * 25)
    instance = Instance(str(data))
    try:
        instance.acquire()
        above = temporary / f"switchboard-{os.geteuid()}"
        runtime = Path(instance.runtime)
        assert runtime.parent == above
        assert str(runtime) == runtime_folder_of(str(data))
        for folder in (above, runtime):
            assert folder.stat().st_mode & 0o777 == 0o700
        instance.release()
        above.chmod(0o755)
        with pytest.raises(StartError, match=r"the folder for sockets .* is open to other users"):
            instance.acquire()
    finally:
        for folder in (Path(instance.runtime), Path(instance.runtime).parent, temporary):
            folder.rmdir()


# --- host.json ----------------------------------------------------------------------------------------------------


def test_on_a_full_disk_nothing_is_half_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance(str(tmp_path))
    instance.acquire()

    def full(_fields: object, file: TextIO) -> None:
        file.write("{")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(json, "dump", full)
    with pytest.raises(StartError, match=r"host.json cannot be written: No space left on device; make room, or move"):
        instance.publish(RECORD)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["host.lock"]
    instance.release()


def test_what_is_published_is_its_owners_alone_and_complete(tmp_path: Path) -> None:
    instance = Instance(str(tmp_path))
    instance.acquire()
    (tmp_path / "host.json.tmp").symlink_to(tmp_path / "elsewhere")
    instance.publish(RECORD)
    path = tmp_path / "host.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text()) == {
        "pid": 4242,
        "url": "http://127.0.0.1:7777",
        "started_at": 1_800_000_000_000,
        "version": "1.2.3",
    }
    assert not (tmp_path / "elsewhere").exists()
    assert read_record(str(tmp_path)) == RECORD
    instance.publish(HostRecord(1, "u", 2, "v"))
    assert read_record(str(tmp_path)) == HostRecord(1, "u", 2, "v")
    assert sorted(os.listdir(tmp_path)) == ["host.json", "host.lock", "run"]
    instance.release()
    assert sorted(os.listdir(tmp_path)) == ["host.lock", "run"]


def test_what_is_in_the_way_of_triggers_is_published_and_withdrawn(tmp_path: Path) -> None:
    instance = Instance(str(tmp_path))
    instance.acquire()
    instance.state("early")
    assert read_record(str(tmp_path)) is None, "nobody is told of a host that is not ready"
    instance.publish(RECORD)
    assert read_record(str(tmp_path)) == replace(RECORD, problem="early")
    instance.state("later")
    assert read_record(str(tmp_path)) == replace(RECORD, problem="later")
    instance.state(None)
    assert read_record(str(tmp_path)) == RECORD
    instance.release()
    instance.state("too late")
    assert read_record(str(tmp_path)) is None


def test_a_problem_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    instance = Instance(str(tmp_path))
    instance.acquire()
    instance.publish(RECORD)
    (tmp_path / "host.json").unlink()
    (tmp_path / "host.json").mkdir()
    instance.state("a problem")
    (tmp_path / "host.json").rmdir()
    instance.release()


# --- a host without its socket ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pid", "locked", "found"),
    [
        (os.getpid(), True, True),
        (os.getpid(), False, False),  # the number is somebody else's by now
        (2**22 + 1, True, False),
        (10**30, True, False),
        (None, True, False),
    ],
    ids=["a host", "a number used again", "no process", "no number of a process", "nothing published"],
)
def test_a_host_that_runs_without_its_socket(tmp_path: Path, pid: int | None, locked: bool, found: bool) -> None:
    instance = Instance(str(tmp_path))
    instance.acquire()
    if pid is not None:
        instance.publish(replace(RECORD, pid=pid))
    text = (tmp_path / "host.json").read_text() if pid is not None else ""
    if not locked:
        instance.release()
        (tmp_path / "host.json").write_text(text)
    before = set(os.listdir("/proc/self/fd"))
    assert living_host(str(tmp_path)) == (pid if found else None)
    assert set(os.listdir("/proc/self/fd")) == before
    instance.release()


def test_no_data_directory_is_no_host(tmp_path: Path) -> None:
    assert living_host(str(tmp_path / "nowhere")) is None


# --- room ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "full"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EADDRINUSE, False), (None, False)]
)
def test_a_full_disk_needs_room(number: int | None, full: bool) -> None:
    error = OSError("x") if number is None else OSError(number, "x")
    assert ("make room" in no_room(error)) is full


def test_a_lock_that_finds_no_room_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance(str(tmp_path))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(StartError, match="No space left on device; make room") as refused:
        instance.acquire()
    assert "move it away" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"pid":"x","url":"u","started_at":1,"version":"v"}', '{"pid":1}', "\udcff"],
)
def test_what_cannot_be_read_counts_as_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "host.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert read_record(str(tmp_path)) is None


def test_without_a_host_there_is_no_record(tmp_path: Path) -> None:
    assert read_record(str(tmp_path)) is None
    assert read_record(str(tmp_path / "nowhere")) is None
