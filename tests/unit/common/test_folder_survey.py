"""Following a path over real folders and links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from switchboard.common.folder_survey import absolute, survey


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def names(path: Path) -> set[tuple[str, str]]:
    return set(survey(str(path)).names)


def test_an_existing_folder(root: Path) -> None:
    seen = survey(f"{root}//./")
    status = root.stat()
    assert seen.target == str(root)
    assert seen.folders[-1] == (str(root), status.st_dev, status.st_ino)
    assert [path for path, _, _ in seen.folders] == [str(p) for p in [*reversed(root.parents), root]][1:]
    assert seen.names == {(str(root.parent), root.name)}


def test_the_root_itself() -> None:
    assert survey("/").target == "/"
    assert survey("/").names == frozenset()


def test_a_missing_folder_is_awaited_at_its_nearest_ancestor(root: Path) -> None:
    (root / "a").mkdir()
    seen = survey(str(root / "a" / "b" / "c"))
    assert seen.target is None
    assert seen.names == {(str(root / "a"), "b"), (str(root), "a")}
    assert seen.folders[-1][0] == str(root / "a")


def test_a_file_in_the_way_counts_as_missing(root: Path) -> None:
    (root / "f").write_text("")
    assert survey(str(root / "f")).target is None
    assert (str(root), "f") in names(root / "f" / "g")


def test_links_are_followed_and_named(root: Path) -> None:
    (root / "real" / "in").mkdir(parents=True)
    (root / "absolute").symlink_to(root / "real")
    (root / "relative").symlink_to("absolute/in/..")
    seen = survey(str(root / "relative" / "in"))
    assert seen.target == str(root / "real" / "in")
    assert seen.names == {
        (str(root), "relative"),
        (str(root), "absolute"),
        (str(root / "real"), "in"),
    }


def test_dots_go_up_from_where_the_link_leads(root: Path) -> None:
    (root / "far" / "away").mkdir(parents=True)
    (root / "link").symlink_to("far/away")
    assert survey(f"{root}/link/..").target == str(root / "far")


@pytest.mark.parametrize("target", ["nowhere", "loop"], ids=["dangling", "loop"])
def test_links_that_lead_nowhere(root: Path, target: str) -> None:
    (root / "loop").symlink_to("loop")
    (root / "link").symlink_to(target)
    assert survey(str(root / "link")).target is None
    assert (str(root), "link") in names(root / "link")


def test_a_name_that_no_system_takes_counts_as_missing(root: Path) -> None:
    assert survey(str(root / ("x" * 300))).target is None


def test_only_a_relative_path_needs_the_working_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert absolute("a/../b") == f"{root}/a/../b"
    assert absolute("/a/../b") == "/a/../b"
    gone = root / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert absolute("/a") == "/a"
    with pytest.raises(FileNotFoundError):
        absolute("a")
    os.chdir(root)
