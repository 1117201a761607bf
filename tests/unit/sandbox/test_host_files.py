"""This machine's files, as a plan asks about them."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
from tests.support.sandbox_rig import Rig

from switchboard.sandbox import run
from switchboard.sandbox.git_answers import Repository
from switchboard.sandbox.host_files import RealHostFiles


@pytest.fixture
def files() -> RealHostFiles:
    return RealHostFiles(shutil.which("git"))


def test_kinds(tmp_path: Path, files: RealHostFiles) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    kinds = {}
    for name in ("", "file", "link", "pipe", "gone", "file/below"):
        found = files.look(f"{tmp_path}/{name}")
        kinds[name] = found and found.kind
    assert kinds == {
        "": "directory",
        "file": "file",
        "link": "link",
        "pipe": "other",
        "gone": None,
        "file/below": None,
    }
    assert files.readlink(f"{tmp_path}/link") == "file"


def test_one_thing_has_one_identity(tmp_path: Path, files: RealHostFiles) -> None:
    (tmp_path / "a").write_text("")
    os.link(tmp_path / "a", tmp_path / "b")
    (tmp_path / "c").write_text("")
    a, b, c = (files.look(f"{tmp_path}/{name}") for name in "abc")
    assert a == b != c


def test_what_was_seen_stays_for_one_plan(tmp_path: Path, files: RealHostFiles) -> None:
    assert files.look(f"{tmp_path}/x") is None
    (tmp_path / "x").write_text("")
    assert files.look(f"{tmp_path}/x") is None
    assert RealHostFiles().look(f"{tmp_path}/x") is not None


def test_markers_at_any_depth(tmp_path: Path, files: RealHostFiles) -> None:
    for path in (
        *(".git/objects", ".git/modules/x/.git", "a/b/.claude/skills/.git", "node_modules/x/.git", "a/.git.d"),
        *("c/node_modules/.claude", "d"),
    ):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "d/.git").write_text("gitdir: x")
    (tmp_path / "d/.claude").symlink_to("..")
    (tmp_path / "around").symlink_to(".")
    found = [path.removeprefix(f"{tmp_path}/") for path in files.markers(str(tmp_path))]
    assert found == [".git", "d/.claude", "d/.git", "a/b/.claude", "a/b/.claude/skills/.git"]


def test_a_search_is_made_once_for_all_plans_of_a_start(tmp_path: Path) -> None:
    searched: dict[str, list[str]] = {}
    (tmp_path / "a/.git").mkdir(parents=True)
    first = RealHostFiles(None, searched).markers(str(tmp_path))
    (tmp_path / "b/.git").mkdir(parents=True)
    assert RealHostFiles(None, searched).markers(str(tmp_path)) == first == [f"{tmp_path}/a/.git"]
    assert len(RealHostFiles().markers(str(tmp_path))) == 2


def test_links_at_any_depth(tmp_path: Path, files: RealHostFiles) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "open/c").mkdir(parents=True)
    for path in ("a/b/one", "two", "open/c/three"):
        (tmp_path / path).symlink_to("..")
    found = files.links(str(tmp_path), {f"{tmp_path}/open"})
    assert found == [f"{tmp_path}/a/b/one", f"{tmp_path}/two"]
    assert files.links(f"{tmp_path}/gone", frozenset()) == []


def test_reading(tmp_path: Path, files: RealHostFiles) -> None:
    (tmp_path / "file").write_text("abc")
    assert files.read(f"{tmp_path}/file", 2) == b"ab"
    with pytest.raises(FileNotFoundError):
        files.read(f"{tmp_path}/gone", 2)
    assert files.names(str(tmp_path)) == ["file"]


def test_programs_and_sockets(tmp_path: Path, files: RealHostFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "program").write_text("")
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "link").symlink_to("program")
    names = ("plain", "program", "link", ".", "gone")
    assert [files.is_program(f"{tmp_path}/{name}") for name in names] == [False, True, True, False, False]
    assert files.may_write(str(tmp_path))
    assert not files.may_write(f"{tmp_path}/gone")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
    assert [files.is_socket(f"{tmp_path}/{name}") for name in ("s", "plain", "gone")] == [True, False, False]


def test_the_table_of_mounts(files: RealHostFiles) -> None:
    assert " / / " in files.mountinfo()


def test_git_is_asked(tmp_path: Path, files: RealHostFiles) -> None:
    rig = Rig(tmp_path)
    folder = str(rig.repository(rig.project))
    found = files.git(folder)
    assert isinstance(found, Repository)
    assert (found.folder, found.common, found.hooks) == (folder, folder, f"{folder}/hooks")
    assert f"{folder}/config" in found.settings


def test_git_of_a_directory_that_is_no_repository(tmp_path: Path, files: RealHostFiles) -> None:
    (tmp_path / ".git").mkdir()
    assert "not a git repository" in str(files.git(f"{tmp_path}/.git"))


def test_without_git(tmp_path: Path) -> None:
    assert RealHostFiles().git(f"{tmp_path}/.git") is None


def test_only_regular_files_are_read(tmp_path: Path, files: RealHostFiles) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="not a regular file"):
            files.read(f"{tmp_path}/{name}", 10)
    with pytest.raises(OSError, match="not a regular file"):
        files.read("/dev/zero", 10)


def test_a_git_that_waits(tmp_path: Path, files: RealHostFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting may lead it to a pipe anywhere."""
    monkeypatch.setattr(run, "SECONDS", 0.3)
    rig = Rig(tmp_path)
    marker = rig.repository(rig.project)
    rig.git(rig.project, "config", "include.path", f"{tmp_path}/pipe")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        TimeoutError, match="git did not end within 0 seconds, asked about the repository there"
    ) as late:
        files.git(str(marker))
    assert late.value.filename == str(marker)
