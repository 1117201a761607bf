"""Whether a directory is in a repository."""

from pathlib import Path

import pytest

from switchboard.clis.git_folders import in_git_repository


@pytest.mark.parametrize("kind", ["folder", "file of a worktree"])
def test_in_a_repository_at_any_depth(tmp_path: Path, kind: str) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    git = tmp_path / ".git"
    if kind == "folder":
        git.mkdir()
    else:
        git.write_text("gitdir: elsewhere\n")
    assert in_git_repository(str(tmp_path))
    assert in_git_repository(str(deep))


def test_outside(tmp_path: Path) -> None:
    (tmp_path / "gitfolder").mkdir()
    (tmp_path / "x.git").mkdir()
    assert not in_git_repository(str(tmp_path))
    assert not in_git_repository(str(tmp_path / "missing"))
    assert not in_git_repository("/")
