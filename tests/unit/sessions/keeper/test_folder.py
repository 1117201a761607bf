"""The folder of a keeper: one that was made for sockets alone goes with its keeper, every other stays."""

from __future__ import annotations

import fcntl
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from switchboard.common.paths import runtime_folder
from switchboard.sessions.keeper import folder as module
from switchboard.sessions.keeper.folder import clear, is_short, listen, make_again, take_lock


@pytest.fixture(autouse=True)
def alarms(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """No alarm rings here; what was asked for."""
    asked: list[int] = []
    monkeypatch.setattr(signal, "alarm", asked.append)
    return asked


@pytest.fixture
def short() -> Iterator[Path]:
    """Not in the test's own folder, whose name can be too long for a socket."""
    with tempfile.TemporaryDirectory() as root:
        yield Path(runtime_folder("/deep" * 40, os.geteuid(), root))


@pytest.fixture
def locks() -> Iterator[Callable[[Path], int]]:
    taken: list[int] = []

    def take(folder: Path) -> int:
        taken.append(take_lock(str(folder)))
        return taken[-1]

    yield take
    for lock in taken:
        os.close(lock)


def test_which_folder_is_a_short_one(short: Path, tmp_path: Path) -> None:
    uid = os.geteuid()
    assert is_short(str(short))
    for other in ("/home/me/.switchboard/run", f"{tmp_path}/switchboard-{uid}/run", f"{tmp_path}/x/0123456789abcdef"):
        assert not is_short(other)
    assert not is_short(f"{tmp_path}/switchboard-{uid + 1}/0123456789abcdef")


def test_a_short_folder_is_made_and_private(short: Path) -> None:
    make_again(str(short))
    make_again(str(short))
    assert [path.stat().st_mode & 0o777 for path in (short, short.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("which", ["itself", "the one around it"])
def test_a_short_folder_that_others_can_enter_is_not_used(short: Path, which: str) -> None:
    short.mkdir(parents=True)
    short.parent.chmod(0o700)
    short.chmod(0o700)
    (short if which == "itself" else short.parent).chmod(0o755)
    with pytest.raises(PermissionError, match="open to other users"):
        make_again(str(short))


def test_a_link_in_place_of_a_short_folder_is_not_used(short: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    short.parent.symlink_to(tmp_path / "theirs")
    with pytest.raises(PermissionError):
        make_again(str(short))


def test_another_folder_is_never_made(tmp_path: Path) -> None:
    make_again(str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()
    with pytest.raises(FileNotFoundError):
        take_lock(str(tmp_path / "run"))


def test_the_lock_says_whose_it_is(tmp_path: Path, locks: Callable[[Path], int], alarms: list[int]) -> None:
    (tmp_path / "keeper.lock").write_text("a longer text than a number\n")
    locks(tmp_path)
    assert (tmp_path / "keeper.lock").read_text() == f"{os.getpid()}\n"
    assert module.lock_owner(str(tmp_path)) == os.getpid()
    assert alarms == [module.LOCK_SECONDS, 0]


def test_a_full_disk_does_not_cost_the_lock(
    tmp_path: Path, locks: Callable[[Path], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    locks(tmp_path)
    monkeypatch.undo()
    assert module.lock_owner(str(tmp_path)) is None
    with pytest.raises(BlockingIOError), (tmp_path / "keeper.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("when", ["the lock is awaited", "the folder was made"])
def test_a_keeper_on_its_way_in_while_another_leaves_has_a_lock_that_counts(
    short: Path, locks: Callable[[Path], int], when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that leaves removes lock and folder; what the other one then holds must be at its place again."""
    left: list[bool] = []

    def leave() -> None:
        if not left:
            left.append(True)
            clear(str(short))

    flock, make = fcntl.flock, make_again
    make_again(str(short))

    def lock_when_it_has_left(descriptor: int, how: int) -> None:
        leave()
        flock(descriptor, how)

    def make_and_be_robbed(folder: str) -> None:
        make(folder)
        (short / "keeper.lock").touch()
        leave()

    if when == "the lock is awaited":
        monkeypatch.setattr(fcntl, "flock", lock_when_it_has_left)
    else:
        monkeypatch.setattr(module, "make_again", make_and_be_robbed)
    lock = locks(short)
    monkeypatch.undo()
    assert left
    assert os.path.samestat(os.fstat(lock), (short / "keeper.lock").stat())
    assert short.stat().st_mode & 0o777 == 0o700


def test_a_short_folder_goes_with_its_keeper(short: Path, locks: Callable[[Path], int]) -> None:
    locks(short)
    (short / "keeper.log").touch()
    with listen(str(short)):
        clear(str(short))
    assert not short.parent.exists()


@pytest.mark.parametrize(
    ("left", "stays"),
    [("host.sock", ["host.sock"]), ("keeper.log", ["keeper.lock", "keeper.log"])],
    ids=["a host's socket", "a log with something in it"],
)
def test_what_is_left_in_it_keeps_it(short: Path, locks: Callable[[Path], int], left: str, stays: list[str]) -> None:
    locks(short)
    (short / left).write_text("x")
    with listen(str(short)):
        clear(str(short))
    assert sorted(os.listdir(short)) == stays


def test_a_folder_with_other_folders_beside_it_goes_alone(short: Path, locks: Callable[[Path], int]) -> None:
    locks(short)
    (short.parent / "another").mkdir()
    clear(str(short))
    assert os.listdir(short.parent) == ["another"]


def test_of_any_other_folder_only_the_socket_goes(tmp_path: Path, locks: Callable[[Path], int]) -> None:
    locks(tmp_path)
    (tmp_path / "keeper.log").touch()
    with listen(str(tmp_path)):
        assert (tmp_path / "keeper.sock").stat().st_mode & 0o777 == 0o600
        clear(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["keeper.lock", "keeper.log"]
