"""Reading the folder of descriptors as it is found on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from switchboard.clis import descriptor_files
from switchboard.clis.descriptor_files import (
    MAX_BYTES,
    descriptor_names,
    few_names,
    read_descriptor,
    read_raw,
    scan_descriptors,
)
from switchboard.clis.descriptors import DescriptorUnreadable


def write(folder: Path, name: str, **fields: object) -> Path:
    path = folder / name
    path.write_text(json.dumps({"pid": 1, "sessionId": "a", **fields}))
    return path


def test_names_are_those_of_descriptors_in_order_of_their_number(tmp_path: Path) -> None:
    for name in ("100.json", "9.json", "20.json", "pid-3.json", "9.abc.key", "x.json", "9.json.tmp"):
        (tmp_path / name).touch()
    assert descriptor_names(str(tmp_path)) == ["9.json", "20.json", "100.json"]


@pytest.mark.parametrize(("limit", "found"), [(3, ["1.json", "a", "b"]), (2, None)])
def test_all_names_of_a_folder_or_none_if_there_are_too_many(
    tmp_path: Path, limit: int, found: list[str] | None
) -> None:
    for name in ("a", "b", "1.json"):
        (tmp_path / name).touch()
    names = few_names(str(tmp_path), limit)
    assert (None if names is None else sorted(names)) == found


def test_a_descriptor_is_read(tmp_path: Path) -> None:
    write(tmp_path, "12.json", pid=12, sessionId="s")
    found = read_descriptor(str(tmp_path), "12.json")
    assert found is not None
    assert (found.pid, found.session_id) == (12, "s")


def test_half_written_is_told_from_unreadable(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_bytes(b'{"pid":1,')
    with pytest.raises(DescriptorUnreadable):
        read_descriptor(str(tmp_path), "1.json")
    with pytest.raises(FileNotFoundError):
        read_descriptor(str(tmp_path), "2.json")


def make_link(path: Path) -> None:
    target = path.parent / "elsewhere"
    target.write_text('{"pid":1,"sessionId":"a"}')
    path.symlink_to(target)


def make_large(path: Path) -> None:
    path.write_text(json.dumps({"pid": 1, "sessionId": "a", "x": "y" * MAX_BYTES}))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make_link, id="a symbolic link"),
        pytest.param(lambda path: path.mkdir(), id="a folder"),
        pytest.param(lambda path: os.mkfifo(path), id="a pipe nobody writes to"),
        pytest.param(make_large, id="larger than a descriptor"),
    ],
)
def test_what_is_no_descriptors_file_is_not_read(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "1.json")
    with pytest.raises(OSError) as caught:
        read_descriptor(str(tmp_path), "1.json")
    assert not isinstance(caught.value, FileNotFoundError)
    assert scan_descriptors(str(tmp_path)).unreadable == f"cannot read {tmp_path}/1.json"


def test_3_2_scan_a_missing_folder_is_known_absence(tmp_path: Path) -> None:
    scan = scan_descriptors(str(tmp_path / "none"))
    assert scan.found == ()
    assert scan.unreadable is None


def test_3_2_scan_another_error_of_the_folder_makes_it_unreadable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    scan = scan_descriptors(str(tmp_path / "file"))
    assert scan.found == ()
    assert scan.unreadable == f"cannot read {tmp_path}/file"


def test_3_2_scan_keeps_dead_and_alive_in_order_and_reports_the_first_invalid_file(tmp_path: Path) -> None:
    write(tmp_path, "30.json", pid=30, sessionId="c")
    write(tmp_path, "4.json", pid=4, sessionId="a")
    (tmp_path / "7.json").write_bytes(b"{")
    (tmp_path / "8.json").write_bytes(b"junk")
    (tmp_path / "9.json").write_bytes(b"{}")
    scan = scan_descriptors(str(tmp_path))
    assert [(name, descriptor.session_id) for name, descriptor in scan.found] == [("4.json", "a"), ("30.json", "c")]
    assert scan.unreadable == f"cannot read {tmp_path}/7.json"


def test_3_2_scan_looks_at_no_more_than_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptor_files, "MAX_FILES", 3)
    for number in range(1, 6):
        write(tmp_path, f"{number}.json", pid=number)
    scan = scan_descriptors(str(tmp_path))
    assert [name for name, _ in scan.found] == ["1.json", "2.json", "3.json"]
    assert scan.unreadable == f"cannot read {tmp_path}"


def test_a_scan_reads_a_file_again_that_was_caught_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "1.json")
    whole = path.read_bytes()
    path.write_bytes(whole[:9])
    real_read, reads = os.read, []

    def read_then_finish(file: int, count: int) -> bytes:
        data = real_read(file, count)
        reads.append(data)
        path.write_bytes(whole)
        return data

    monkeypatch.setattr(descriptor_files.os, "read", read_then_finish)
    scan = scan_descriptors(str(tmp_path))
    assert reads == [whole[:9], whole]
    assert [name for name, _ in scan.found] == ["1.json"]
    assert scan.unreadable is None


def test_a_file_as_it_lies_there(tmp_path: Path) -> None:
    path = write(tmp_path, "12.json", pid=12, sessionId="S")
    os.utime(path, ns=(0, 5_999_999))
    found = read_raw(str(tmp_path), "12.json")
    assert found is not None
    assert (found.path, found.modified_at, found.torn, found.problem) == (str(path), 5, False, None)
    assert found.concerns("s")
    assert not found.concerns("t")
    assert read_raw(str(tmp_path), "13.json") is None


def test_a_half_written_file_as_it_lies_there(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_bytes(b'{"sessionId":"s",')
    found = read_raw(str(tmp_path), "1.json")
    assert found is not None
    assert found.torn
    assert not found.concerns("s")


def test_a_file_that_names_a_session_and_no_process(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_bytes(b'{"sessionId":"S"}')
    found = read_raw(str(tmp_path), "1.json")
    assert found is not None
    assert found.descriptor is None
    assert found.concerns("s")


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "1.json").mkdir()
    found = read_raw(str(tmp_path), "1.json")
    assert found is not None
    assert found.problem
