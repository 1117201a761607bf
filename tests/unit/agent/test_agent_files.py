"""The two kinds of file that the agent leaves for others, and what it reads of its own earlier ones."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from switchboard.agent.descriptor_files import DescriptorFile
from switchboard.agent.identity import own_identity
from switchboard.agent.transcript_files import append_rows, find_transcript, read_window


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _strict_umask() -> object:
    before = os.umask(0o077)
    yield
    os.umask(before)


# --- descriptors ----------------------------------------------------------------------------------------------------


def test_a_descriptor_is_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "home" / "sessions" / "7.json"
    file = DescriptorFile(str(path))
    file.write(b'{"status":"waiting"}')
    inode = path.stat().st_ino
    assert mode(path) == 0o644
    file.write(b"{}")
    assert path.read_bytes() == b"{}"
    assert path.stat().st_ino == inode


def test_a_descriptor_left_by_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "7.json"
    path.write_bytes(b"x" * 1000)
    DescriptorFile(str(path)).write(b"{}")
    assert path.read_bytes() == b"{}"


def test_a_deleted_descriptor_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "7.json"
    file = DescriptorFile(str(path))
    file.write(b"{}")
    path.unlink()
    file.write(b"{}")
    assert not path.exists()
    file.remove()


def test_what_was_never_written_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "7.json"
    path.write_bytes(b"{}")
    DescriptorFile(str(path)).remove()
    assert path.exists()


def test_a_link_in_the_descriptors_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "7.json").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        DescriptorFile(str(tmp_path / "7.json")).write(b"{}")
    assert (tmp_path / "target").read_bytes() == b"precious"


# --- transcripts ----------------------------------------------------------------------------------------------------


def test_rows_are_appended_to_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-c" / "s.jsonl"
    append_rows(str(path), [{"a": 1}])
    append_rows(str(path), [{"b": "\ud800"}, {}])
    assert path.read_bytes() == b'{"a":1}\n{"b":"\xef\xbf\xbd"}\n{}\n'
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_a_transcript_is_found_in_whichever_folder_it_lies(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert find_transcript(home, "abc") is None
    append_rows(f"{home}/projects/-b/abc.jsonl", [{}])
    append_rows(f"{home}/projects/-a/other.jsonl", [{}])
    assert find_transcript(home, "abc") == f"{home}/projects/-b/abc.jsonl"
    assert find_transcript(home, "ABC") == f"{home}/projects/-b/abc.jsonl"
    assert find_transcript(home, "ab") is None


def test_a_window_leaves_out_what_is_cut_or_broken(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"n":1}\nbroken\n[3]\n{"n":2}\n{"n":')
    assert read_window(str(path)) == ([{"n": 1}, {"n": 2}], True)
    assert read_window(str(path), 15) == ([{"n": 2}], False)


def test_an_empty_transcript(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    assert read_window(str(path)) == ([], True)


# --- who we are -----------------------------------------------------------------------------------------------------


def fake_proc(tmp_path: Path, stat_line: str | None) -> str:
    (tmp_path / "self" / "ns").mkdir(parents=True)
    (tmp_path / "self" / "ns" / "pid").symlink_to("pid:[42]")
    if stat_line is not None:
        (tmp_path / "self" / "stat").write_text(stat_line)
    (tmp_path / "machine-id").write_text("abc\n")
    return str(tmp_path)


def test_identity_of_a_process_with_an_odd_name(tmp_path: Path) -> None:
    fields = " ".join(str(number) for number in range(3, 53))
    proc = fake_proc(tmp_path, f"9 (odd ) name) {fields}")
    identity = own_identity(proc, f"{proc}/machine-id")
    assert (identity.pid, identity.started, identity.domain) == (os.getpid(), "22", "linux:abc:pid:[42]")


def test_identity_where_the_machine_tells_nothing(tmp_path: Path) -> None:
    identity = own_identity(str(tmp_path / "none"), str(tmp_path / "none"))
    assert (identity.started, identity.domain) == (None, None)


def test_identity_without_a_machine_id(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, None)
    assert own_identity(proc, f"{proc}/none").domain is None


def test_identity_of_this_process() -> None:
    with open("/proc/self/stat") as file:
        assert own_identity().started == file.read().rpartition(")")[2].split()[19]
