"""Names of transcripts, kept between questions: nothing is listed twice for nothing, and nothing new is missed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from switchboard.clis import transcript_index
from switchboard.clis.transcript_index import TranscriptIndex

ID = "0d6f3a52-0000-4000-8000-00000000000a"


def place(root: Path, folder: str, name: str = f"{ID}.jsonl") -> Path:
    path = root / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def age(root: Path, seconds: float = 60) -> None:
    """As if nothing below had changed for a while."""
    for folder in (root, *root.iterdir()):
        at = folder.stat().st_mtime - seconds
        os.utime(folder, (at, at))


def refresh(index: TranscriptIndex) -> TranscriptIndex:
    for _ in index.refresh():
        pass
    return index


def test_every_spelling_in_every_folder_is_found(tmp_path: Path) -> None:
    lower, upper = place(tmp_path, "-a"), place(tmp_path, "-b", f"{ID.upper()}.jsonl")
    place(tmp_path, "-b", "agent-x.jsonl")
    place(tmp_path, "-b", f"{ID}.json")
    place(tmp_path, f"-b/{ID}/subagents")
    (tmp_path / "a-file").touch()
    index = refresh(TranscriptIndex(str(tmp_path)))
    assert index.paths(ID.upper()) == [str(lower), str(upper)]
    assert sorted(index.folders()) == ["-a", "-b"]
    assert index.transcripts("-b") == [upper.name]
    assert index.transcripts("-c") == []
    assert index.paths(ID[:-1] + "b") == []


@pytest.mark.parametrize(
    "make", [Path.mkdir, lambda path: path.symlink_to("nowhere"), os.mkfifo], ids=["folder", "link", "pipe"]
)
def test_an_entry_of_that_name_counts_whatever_it_is(tmp_path: Path, make: object) -> None:
    (tmp_path / "-a").mkdir()
    make(tmp_path / "-a" / f"{ID}.jsonl")  # type: ignore[operator] # one of the functions above
    assert len(refresh(TranscriptIndex(str(tmp_path))).paths(ID)) == 1


def test_a_missing_folder_is_empty_and_a_file_in_its_place_is_a_problem(tmp_path: Path) -> None:
    index = refresh(TranscriptIndex(str(tmp_path / "projects")))
    assert (index.folders(), index.problem) == ([], None)
    (tmp_path / "projects").touch()
    assert refresh(index).problem is not None
    (tmp_path / "projects").unlink()
    place(tmp_path / "projects", "-a")
    assert len(refresh(index).paths(ID)) == 1
    assert index.problem is None


def test_what_has_not_changed_is_not_listed_again(tmp_path: Path) -> None:
    for number in range(5):
        place(tmp_path, f"-{number}")
    age(tmp_path)
    index = refresh(TranscriptIndex(str(tmp_path)))
    assert index.listings == 6
    refresh(index)
    assert index.listings == 6
    versions = [index.version(f"-{number}") for number in range(5)]
    place(tmp_path, "-3", "another.jsonl")
    refresh(index)
    assert index.listings == 7
    assert [index.version(f"-{number}") == versions[number] for number in range(5)] == [True, True, True, False, True]


def test_a_folder_that_has_just_changed_is_listed_again(tmp_path: Path) -> None:
    """It may have changed once more within the same tick of the file system's clock."""
    place(tmp_path, "-a")
    index = refresh(TranscriptIndex(str(tmp_path)))
    (tmp_path / "-a" / f"{ID}.jsonl").rename(tmp_path / "-a" / "b.jsonl")
    os.utime(tmp_path / "-a", ns=(0, index._folders["-a"].state[2]))  # as if within the same tick
    assert refresh(index).paths(ID) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "-a" / f"{ID}.jsonl").unlink(),
        lambda root: (root / "-a" / f"{ID}.jsonl").rename(root / "moved.jsonl"),
        lambda root: shutil.rmtree(root / "-a"),
        lambda root: (root / "-a").rename(root.parent / "away"),
    ],
    ids=["deleted", "renamed", "folder deleted", "folder moved away"],
)
def test_what_goes_is_gone(tmp_path: Path, change: object) -> None:
    root = tmp_path / "projects"
    place(root, "-a")
    age(root)
    index = refresh(TranscriptIndex(str(root)))
    assert len(index.paths(ID)) == 1
    change(root)  # type: ignore[operator] # one of the functions above
    assert refresh(index).paths(ID) == []


def test_a_linked_folder_is_followed_even_when_its_target_comes_later(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    root.mkdir()
    (root / "-a").symlink_to(tmp_path / "target")
    age(tmp_path)
    at = root.stat().st_mtime - 60
    os.utime(root, (at, at))
    index = refresh(TranscriptIndex(str(root)))
    assert index.folders() == []
    place(tmp_path, "target")
    assert len(refresh(index).paths(ID)) == 1


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path, "-a")
    place(tmp_path, "-b")
    real = os.scandir

    def refusing(path: str) -> object:
        if path.endswith("/-a"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(transcript_index.os, "scandir", refusing)
    index = refresh(TranscriptIndex(str(tmp_path)))
    assert index.unreadable == {"-a": "Permission denied"}
    assert index.paths(ID) == [str(tmp_path / "-b" / f"{ID}.jsonl")]
    monkeypatch.setattr(transcript_index.os, "scandir", real)
    assert len(refresh(index).paths(ID)) == 2
    assert index.unreadable == {}


NAMES = [f"{ID}.jsonl", f"{ID.upper()}.jsonl", "b.jsonl"]
FOLDERS = ["-a", "-b", "-c"]


class Changes(RuleBasedStateMachine):
    """Whatever happens to the folders, and in however quick succession, the index says what a full listing says."""

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.holder = tempfile.TemporaryDirectory(prefix="index-")
        self.root = Path(self.holder.name)
        self.index = TranscriptIndex(str(self.root))

    @rule(folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES))
    def put(self, folder: str, name: str) -> None:
        place(self.root, folder, name)

    @rule(folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES))
    def remove(self, folder: str, name: str) -> None:
        (self.root / folder / name).unlink(missing_ok=True)

    @rule(folder=st.sampled_from(FOLDERS))
    def remove_folder(self, folder: str) -> None:
        shutil.rmtree(self.root / folder, ignore_errors=True)

    @rule()
    def look(self) -> None:
        refresh(self.index)

    @rule()
    def time_passes(self) -> None:
        age(self.root, 1)

    @invariant()
    def says_what_is_there(self) -> None:
        refresh(self.index)
        found = sorted(str(path) for path in self.root.glob("*/*.jsonl") if path.name.lower() == f"{ID}.jsonl")
        assert self.index.paths(ID) == found

    def teardown(self) -> None:
        if hasattr(self, "holder"):
            self.holder.cleanup()


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
