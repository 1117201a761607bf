"""The descriptor folders of sandboxed starts: made, listed, removed, and never by following what lies in them."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from switchboard.host import sandbox_folders
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


def test_one_that_is_nested_as_deeply_as_can_be_is_removed(folders: SandboxFolders) -> None:
    folder = folders.of("deep")
    folders.make(folder, None)
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    folders.drop(folder)
    assert not os.path.exists(os.path.dirname(folder))


CLOSED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from switchboard.host import sandbox_folders
from switchboard.host.sandbox_folders import SandboxFolders
import encodings.ascii
os.chdir(sys.argv[2])
os.chown(".", 65534, 65534)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
folders = SandboxFolders("data", [], lambda folder: True)
os.mkdir("data")
folder = folders.of("one")
folders.make(folder, None)
os.makedirs(f"{folder}/outer/inner")
open(f"{folder}/outer/inner/file", "w").close()
for path in ("outer/inner", "outer", ""):
    os.chmod(f"{folder}/{path}", 0)
folders.drop(folder)
print(os.listdir("data/sandboxes"))
"""


def test_one_that_is_closed_to_its_owner_is_removed(tmp_path: Path) -> None:
    source = str(Path(sandbox_folders.__file__).parents[2])
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        command = [sys.executable, "-c", CLOSED, source, place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_what_cannot_be_removed_is_named(folders: SandboxFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folders.of("one")
    folders.make(folder, None)
    Path(folder, "2.json").write_text("{}")
    assert folders.stuck() == []
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    monkeypatch.setattr(os, "access", lambda path, _mode: path != os.path.dirname(folder))
    assert folders.stuck() == [(folder, f"{os.path.dirname(folder)} belongs to another user")]


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
