"""The spool's part for versioned requests: results that replace nothing, and markers. On a real file system."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from switchboard.triggers.spool import Spool

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(str(tmp_path / "triggers"))
    spool.prepare()
    return spool


def results(spool: Spool) -> list[str]:
    return sorted(os.listdir(spool.results))


def place(spool: Spool, suffix: str) -> Path:
    return Path(spool.results, f"{STEM}{suffix}")


PUTS: dict[str, tuple[str, Callable[[Spool, bytes], None]]] = {
    "result": (".result.json", lambda spool, data: spool.publish_new(STEM, data)),
    "marker": (".action.json", lambda spool, data: spool.create_marker(STEM, data)),
}


@pytest.fixture(params=PUTS)
def put(request: pytest.FixtureRequest) -> tuple[str, Callable[[Spool, bytes], None]]:
    return PUTS[request.param]


Put = tuple[str, Callable[[Spool, bytes], None]]


def test_it_appears_whole_and_alone(spool: Spool, put: Put) -> None:
    suffix, act = put
    act(spool, b"{}\n")
    assert place(spool, suffix).read_bytes() == b"{}\n"
    assert results(spool) == [f"{STEM}{suffix}"]
    assert place(spool, suffix).stat().st_nlink == 1


def test_it_never_replaces_what_is_there(spool: Spool, put: Put) -> None:
    suffix, act = put
    act(spool, b"one\n")
    with pytest.raises(FileExistsError):
        act(spool, b"two\n")
    assert place(spool, suffix).read_bytes() == b"one\n"
    assert results(spool) == [f"{STEM}{suffix}"]


@pytest.mark.parametrize("what", ["folder", "link", "dangling link"])
def test_nor_anything_else_that_is_there(spool: Spool, put: Put, what: str, tmp_path: Path) -> None:
    suffix, act = put
    victim = tmp_path / "victim"
    if what == "folder":
        place(spool, suffix).mkdir()
    else:
        if what == "link":
            victim.write_text("precious")
        place(spool, suffix).symlink_to(victim)
    with pytest.raises(FileExistsError):
        act(spool, b"{}\n")
    assert not victim.exists() or victim.read_text() == "precious"
    assert results(spool) == [f"{STEM}{suffix}"]


def test_it_is_never_written_through_a_link_that_waits_for_it(spool: Spool, put: Put, tmp_path: Path) -> None:
    suffix, act = put
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place(spool, f"{suffix}.tmp").symlink_to(victim)
    act(spool, b"{}\n")
    assert victim.read_text() == "precious"
    assert not place(spool, suffix).is_symlink()


def test_a_folder_that_was_removed_is_made_again(spool: Spool, put: Put) -> None:
    os.rmdir(spool.results)
    put[1](spool, b"{}\n")
    assert results(spool) == [f"{STEM}{put[0]}"]


def test_a_second_name_that_a_killed_host_left_is_not_written_through(spool: Spool, put: Put) -> None:
    """It died between giving a file its name and taking the other away: both are the same file."""
    suffix, act = put
    act(spool, b"one\n")
    os.link(place(spool, suffix), place(spool, f"{suffix}.tmp"))
    with pytest.raises(FileExistsError):
        act(spool, b"two\n")
    assert place(spool, suffix).read_bytes() == b"one\n"


def test_a_second_name_that_cannot_be_removed_does_no_harm(
    spool: Spool, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(errno.EACCES, "no", path)

    monkeypatch.setattr(os, "unlink", refuse)
    put[1](spool, b"{}\n")
    assert place(spool, put[0]).read_bytes() == b"{}\n"


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_there_are_no_links_a_rename_that_replaces_nothing_does_it(
    spool: Spool, put: Put, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", no_links)
    suffix, act = put
    act(spool, b"one\n")
    with pytest.raises(FileExistsError):
        act(spool, b"two\n")
    assert place(spool, suffix).read_bytes() == b"one\n"
    assert results(spool) == [f"{STEM}{suffix}"]


def test_a_full_disk_leaves_nothing_visible(spool: Spool, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="No space left"):
        put[1](spool, b"{}\n")
    assert results(spool) == []


def test_nor_does_one_that_takes_half_of_it(spool: Spool, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        if os.fstat(descriptor).st_size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, bytes(data)[:1])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left"):
        put[1](spool, b"{}\n")
    assert results(spool) == []


def test_a_marker_that_cannot_be_replaced_stands(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.create_marker(STEM, b"one\n")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        spool.update_marker(STEM, b"two\n")
    assert spool.read_marker(STEM) == b"one\n"
    assert results(spool) == [f"{STEM}.action.json"]


def test_a_marker_is_replaced_whole(spool: Spool) -> None:
    spool.create_marker(STEM, b"one\n")
    spool.update_marker(STEM, b"two\n")
    assert spool.read_marker(STEM) == b"two\n"
    assert results(spool) == [f"{STEM}.action.json"]


def test_a_marker_is_replaced_whole_where_files_cannot_change_places(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.triggers.spool._system_renameat2", lambda: None)
    test_a_marker_is_replaced_whole(spool)


def test_replacing_a_marker_that_is_gone_puts_it_back(spool: Spool) -> None:
    spool.update_marker(STEM, b"two\n")
    assert spool.read_marker(STEM) == b"two\n"
    assert results(spool) == [f"{STEM}.action.json"]


def test_a_link_in_a_marker_s_place_is_replaced_and_not_followed(spool: Spool, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("content")
    place(spool, ".action.json").symlink_to(tmp_path / "elsewhere")
    spool.update_marker(STEM, b"two\n")
    assert (tmp_path / "elsewhere").read_text() == "content"
    assert spool.read_marker(STEM) == b"two\n"


def test_a_folder_in_a_marker_s_place_is_not_replaced(spool: Spool) -> None:
    place(spool, ".action.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        spool.update_marker(STEM, b"two\n")
    assert place(spool, ".action.json").is_dir()


def test_an_older_marker_that_cannot_be_removed_does_no_harm(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(errno.EACCES, "no", path)

    spool.create_marker(STEM, b"one\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        spool.update_marker(STEM, b"two\n")
    assert spool.read_marker(STEM) == b"two\n"
    spool.update_marker(STEM, b"three\n")
    assert spool.read_marker(STEM) == b"three\n"
    assert results(spool) == [f"{STEM}.action.json"]


def test_removing_a_marker(spool: Spool) -> None:
    spool.create_marker(STEM, b"{}\n")
    spool.remove_marker(STEM)
    spool.remove_marker(STEM)
    assert results(spool) == []


def test_removing_leftovers_removes_nothing_else(spool: Spool) -> None:
    spool.create_marker(STEM, b"{}\n")
    spool.publish_new(STEM, b"{}\n")
    for suffix in (".result.json.tmp", ".action.json.tmp"):
        place(spool, suffix).touch()
    spool.remove_leftovers(STEM)
    spool.remove_leftovers(STEM)
    assert results(spool) == [f"{STEM}.action.json", f"{STEM}.result.json"]


READS: dict[str, tuple[str, Callable[[Spool], bytes | None]]] = {
    "result": (".result.json", lambda spool: spool.read_result(STEM)),
    "marker": (".action.json", lambda spool: spool.read_marker(STEM)),
}


@pytest.mark.parametrize(("suffix", "read"), list(READS.values()), ids=READS)
def test_reading_what_is_there(
    spool: Spool, suffix: str, read: Callable[[Spool], bytes | None], tmp_path: Path
) -> None:
    assert read(spool) is None
    path = place(spool, suffix)
    path.write_bytes(b"content")
    assert read(spool) == b"content"
    path.unlink()
    (tmp_path / "elsewhere").write_text("content")
    path.symlink_to(tmp_path / "elsewhere")
    assert read(spool) == b""
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    assert read(spool) == b""
    path.unlink()
    path.mkdir()
    assert read(spool) == b""
    path.rmdir()
    os.mkfifo(path)
    assert read(spool) == b""
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        short = tmp_path / "s"
        listening.bind(str(short))
        short.rename(path)
        assert read(spool) == b""


@pytest.mark.parametrize("read", [read for _, read in READS.values()], ids=READS)
def test_reading_under_something_that_is_no_folder_fails(spool: Spool, read: Callable[[Spool], bytes | None]) -> None:
    os.rmdir(spool.results)
    Path(spool.results).write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        read(spool)


def test_reading_stops_at_the_limit(spool: Spool) -> None:
    place(spool, ".result.json").write_bytes(b"x" * 1_500_000)
    assert len(spool.read_result(STEM) or b"") == 1_048_576
    place(spool, ".action.json").write_bytes(b"x" * 1_500_000)
    assert len(spool.read_marker(STEM) or b"") == 8192


def test_names_with_a_marker(spool: Spool) -> None:
    assert list(spool.marker_stems()) == []
    spool.create_marker(STEM, b"{}\n")
    spool.publish_new("b", b"{}\n")
    place(spool, ".action.json.tmp").touch()
    Path(spool.folder, "c.action.json").touch()
    assert list(spool.marker_stems()) == [STEM]
    place(spool, ".action.json").unlink()
    place(spool, ".action.json.tmp").unlink()
    Path(spool.results, "b.result.json").unlink()
    os.rmdir(spool.results)
    assert list(spool.marker_stems()) == []
