"""The descriptor folders of sandboxed starts: made, listed, removed, and never by following what lies in them."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from switchboard.host.sandbox_folders import SandboxFolders


@pytest.fixture
def used() -> set[str]:
    return set()


@pytest.fixture
def folders(tmp_path: Path, used: set[str]) -> SandboxFolders:
    (tmp_path / "data").mkdir()
    return SandboxFolders(str(tmp_path / "data"), [str(tmp_path / "cli")], lambda folder: folder not in used)


def test_one_is_made_for_its_owner_alone(folders: SandboxFolders, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folders.make(folders.of("one"), None)
    finally:
        os.umask(before)
    assert folders.of("one") == str(tmp_path / "data" / "sandboxes" / "one" / "sessions")
    for path in ("sandboxes", "sandboxes/one", "sandboxes/one/sessions"):
        assert stat.S_IMODE((tmp_path / "data" / path).stat().st_mode) == 0o700


def test_one_that_is_there_already_is_nobodys_to_take(folders: SandboxFolders) -> None:
    folders.make(folders.of("one"), None)
    with pytest.raises(FileExistsError):
        folders.make(folders.of("one"), None)


def test_all_are_listed_as_they_are_now(folders: SandboxFolders) -> None:
    assert folders.everyone() == []
    for name in ("two", "one"):
        folders.make(folders.of(name), None)
    assert folders.everyone() == [folders.of("one"), folders.of("two")]
    folders.drop(folders.of("two"))
    assert folders.everyone() == [folders.of("one")]
    assert folders.others({folders.of("one")}) == []
    assert folders.others(set()) == [folders.of("one")]


def test_what_cannot_be_listed_is_not_taken_for_nothing(folders: SandboxFolders, tmp_path: Path) -> None:
    (tmp_path / "data" / "sandboxes").write_text("")
    assert folders.everyone() == [str(tmp_path / "data" / "sandboxes")]
    assert folders.others(set()) == []


def test_it_stays_while_a_living_process_may_be_named_in_it(folders: SandboxFolders, used: set[str]) -> None:
    folder = folders.of("one")
    folders.make(folder, None)
    Path(folder, "2.json").write_text("{}")
    used.add(folder)
    assert folders.retire(folder) is False
    assert os.listdir(folder) == ["2.json"]
    used.clear()
    assert folders.retire(folder) is True
    assert not os.path.exists(os.path.dirname(folder))


def test_half_of_one_goes_and_so_does_one_that_has_gone(folders: SandboxFolders, used: set[str]) -> None:
    folder = folders.of("one")
    os.makedirs(os.path.dirname(folder))
    used.add(folder)  # nobody is asked about what is not there
    assert folders.retire(folder) is True
    assert folders.everyone() == []
    assert folders.retire(folder) is True
    folders.drop(folder)


def test_those_that_are_left_hold_descriptors_of_nobody(folders: SandboxFolders, used: set[str]) -> None:
    for name in ("left", "lives", "starts"):
        folders.make(folders.of(name), None)
    for name in ("left", "lives"):
        Path(folders.of(name), "2.json").write_text("{}")
    used.add(folders.of("lives"))
    os.makedirs(os.path.dirname(folders.of("half")))
    assert folders.left() == [folders.of("left")]


def test_links_in_it_are_removed_and_not_followed(folders: SandboxFolders, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    folder = folders.of("one")
    folders.make(folder, None)
    os.symlink(kept, f"{folder}/2.json")
    os.symlink(kept / "file", f"{folder}/3.json")
    os.mkfifo(f"{folder}/4.json")
    assert folders.retire(folder) is True
    assert (kept / "file").read_text() == "mine"


def test_what_cannot_be_removed_says_so(folders: SandboxFolders) -> None:
    folder = folders.of("deep")
    folders.make(folder, None)
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    with pytest.raises(OSError, match="nested too deeply"):
        folders.drop(folder)
    os.system(f"rm -rf {os.path.dirname(folder)}")


# --- notes for other hosts ----------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "cli")


@pytest.fixture
def another(tmp_path: Path, home: str) -> SandboxFolders:
    """Those of a host with another data directory, of the same person."""
    (tmp_path / "another").mkdir()
    return SandboxFolders(str(tmp_path / "another"), [str(tmp_path / "no such"), home], lambda _folder: True)


def test_another_host_sees_where_they_are(folders: SandboxFolders, another: SandboxFolders, home: str) -> None:
    folder, theirs = folders.of("one"), another.of("two")
    folders.make(folder, home)
    another.make(theirs, home)
    assert folders.everyone() == [folder, theirs]
    assert another.everyone() == [theirs, folder]
    # Each has to do with its own alone.
    assert folders.others(set()) == folders.others({theirs}) == [folder]
    assert folders.left() == another.left() == []
    assert folders.retire(folder) is True
    assert another.everyone() == [theirs]
    assert os.listdir(f"{home}/switchboard-sandboxes") == ["two"]


def test_a_note_is_for_its_owner_alone_and_nobody_writes_over_one(folders: SandboxFolders, home: str) -> None:
    os.makedirs(f"{home}/switchboard-sandboxes")
    folders.make(folders.of("one"), home)
    note = f"{home}/switchboard-sandboxes/one"
    assert stat.S_IMODE(os.stat(note).st_mode) == 0o600
    os.symlink("/etc/passwd", f"{home}/switchboard-sandboxes/two")
    with pytest.raises(FileExistsError):
        folders.make(folders.of("two"), home)


def test_the_folder_of_another_host_that_is_not_there_may_be_somewhere(
    folders: SandboxFolders, another: SandboxFolders, home: str
) -> None:
    """In a container, say. Its note stands for it, which is no folder that could be read."""
    theirs = another.of("two")
    another.make(theirs, home)
    shutil.rmtree(os.path.dirname(theirs))
    note = f"{home}/switchboard-sandboxes/two"
    assert folders.everyone() == [note]
    assert folders.lost() == [(note, theirs)]
    # Whose it is knows that it is gone, and takes the note away.
    assert (another.everyone(), another.lost()) == ([theirs], [])
    assert another.others(set()) == [theirs]
    assert another.retire(theirs) is True
    assert folders.everyone() == []


@pytest.mark.parametrize("content", [b"not absolute", b"\0", b"../x"])
def test_a_note_that_names_no_folder_stands_for_itself(folders: SandboxFolders, home: str, content: bytes) -> None:
    os.makedirs(f"{home}/switchboard-sandboxes")
    Path(f"{home}/switchboard-sandboxes/two").write_bytes(content)
    assert folders.everyone() == [f"{home}/switchboard-sandboxes/two"]
    assert (folders.lost(), folders.others(set())) == ([], [])


def test_a_note_that_is_being_written_names_nothing_that_runs(folders: SandboxFolders, home: str) -> None:
    os.makedirs(f"{home}/switchboard-sandboxes")
    Path(f"{home}/switchboard-sandboxes/two").touch()
    assert folders.everyone() == []


def test_notes_that_cannot_be_listed_are_not_taken_for_none(folders: SandboxFolders, home: str) -> None:
    os.makedirs(home)
    Path(f"{home}/switchboard-sandboxes").touch()
    assert folders.everyone() == [f"{home}/switchboard-sandboxes"]
    folders.drop(folders.of("one"))
