"""What is known of the folder of results before anything is typed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.full_disk import FullDisk

from switchboard.triggers.room import MIN_FREE_BYTES, Room
from switchboard.triggers.spool import Spool


def free(**fields: int) -> Callable[[str], os.statvfs_result]:
    """A file system with these numbers, for the system to tell."""
    names = ("bsize", "frsize", "blocks", "bfree", "bavail", "files", "ffree", "favail", "flag", "namemax")
    usual = {"bsize": 4096, "frsize": 4096, "blocks": 10**6, "bfree": 10**5, "bavail": 10**5, "files": 9, "ffree": 5}
    found = dict.fromkeys(names, 0) | usual | fields
    return lambda _path: os.statvfs_result([found[name] for name in names])


BLOCKS = MIN_FREE_BYTES // 4096


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, None),
        ({"bavail": 0, "bfree": 0}, "is full"),
        ({"bavail": BLOCKS - 1, "bfree": BLOCKS - 1}, "is full"),
        ({"bavail": BLOCKS, "bfree": BLOCKS}, None),
        ({"blocks": 64, "bavail": 8, "bfree": 8}, None),
        ({"blocks": 64, "bavail": 7, "bfree": 7}, "is full"),
        ({"blocks": 0, "bavail": 0, "bfree": 0}, None),
        ({"ffree": 0}, "can hold no more files"),
        ({"files": 0, "ffree": 0}, None),
        ({"flag": os.ST_RDONLY}, "can only be read"),
    ],
    ids=lambda value: str(value),
)
def test_what_the_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, int], told: str | None
) -> None:
    monkeypatch.setattr(os, "statvfs", free(**fields))
    found = Room(str(tmp_path)).obstacle()
    assert found is None if told is None else found is not None and told in found and str(tmp_path) in found


@pytest.mark.parametrize(("uid", "full"), [(0, False), (1000, True)], ids=["superuser", "others"])
def test_the_reserve_is_the_superusers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int, full: bool) -> None:
    monkeypatch.setattr(os, "statvfs", free(bfree=1000, bavail=0))
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert (Room(str(tmp_path)).obstacle() is not None) is full


def a_file(place: Path) -> None:
    place.write_text("")
    place.chmod(0o777)


def a_link_to_nowhere(place: Path) -> None:
    place.symlink_to(place.parent / "gone" / "deep")


def a_link_to_a_file(place: Path) -> None:
    (place.parent / "other").write_text("")
    place.symlink_to(place.parent / "other")


def a_loop(place: Path) -> None:
    place.symlink_to(place)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (a_file, "cannot be used (Not a directory): move away"),
        (a_link_to_a_file, "cannot be used (Not a directory): move away"),
        (a_link_to_nowhere, "a link that leads nowhere: remove it"),
        (a_loop, "cannot be used (Too many levels of symbolic links)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_no_folder(tmp_path: Path, spoil: Callable[[Path], None], told: str) -> None:
    place = tmp_path / "processed"
    spoil(place)
    room = Room(str(place))
    assert told in (room.obstacle() or "")
    assert room.try_out() is not None


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)  # the superuser may write everywhere
    assert "change its owner or mode" in (Room(str(tmp_path)).obstacle() or "")
    assert f"mode of {tmp_path}" in (Room(str(tmp_path / "none")).obstacle() or "")


def test_a_missing_folder_is_no_obstacle_and_is_not_made_by_the_question(tmp_path: Path) -> None:
    room = Room(str(tmp_path / "triggers" / "processed"))
    assert room.obstacle() is None
    assert not (tmp_path / "triggers").exists()
    assert room.try_out() is None


def test_trying_out_leaves_nothing(tmp_path: Path) -> None:
    assert Room(str(tmp_path)).try_out() is None
    assert os.listdir(tmp_path) == []


def test_trying_out_finds_what_nothing_tells_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FullDisk(tmp_path, monkeypatch)
    disk.full, disk.silent, disk.takes = True, True, 100
    room = Room(str(tmp_path))
    assert room.obstacle() is None
    failure = room.try_out()
    assert failure is not None
    assert failure.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []


def test_what_a_killed_host_left_of_a_trial_is_no_obstacle(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".trial.tmp").symlink_to(victim)
    assert Room(str(tmp_path)).try_out() is None
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("letter", ["x", "é", "\udcff"], ids=["ascii", "two bytes", "no utf-8"])
def test_the_longest_name_that_is_taken_can_be_published_and_a_longer_one_not(tmp_path: Path, letter: str) -> None:
    spool = Spool(str(tmp_path))
    spool.prepare()
    room = Room(spool.results)
    assert room.longest_stem() == 239
    each = len(os.fsencode(letter))
    stem = letter * (239 // each) + "x" * (239 % each)
    assert room.takes(stem)
    spool.publish(stem, b"{}\n")
    assert not room.takes(stem + "x")
    with pytest.raises(OSError, match="too long"):
        spool.publish(stem + "x", b"{}\n")


def test_in_a_deep_folder_the_whole_path_counts(tmp_path: Path) -> None:
    deep = "/".join([str(tmp_path), *["d" * 200] * 19])
    assert Room(deep).longest_stem() == min(255, 4095 - len(deep) - 1) - 16


def test_a_file_system_with_short_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pathconf", lambda _path, _name: 143)  # as under an encrypted folder
    room = Room(str(tmp_path))
    assert (room.takes("x" * 127), room.takes("x" * 128)) == (True, False)
