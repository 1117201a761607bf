"""Names of project folders, and which recorded directory is believed."""

from __future__ import annotations

import pytest

from switchboard.clis.project_folders import RecordedCwd, find_cwd, folder_name, is_verified, worktree_root
from switchboard.clis.transcript_rows import Row


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("/home/ada/work", "-home-ada-work", id="3.6 separators"),
        pytest.param("/a.b_c d-e", "-a-b-c-d-e", id="3.6 everything outside letters and digits"),
        pytest.param("/repo/.claude/worktrees/x", "-repo--claude-worktrees-x", id="3.6 worktree"),
        pytest.param("/größe", "-gr--e", id="3.6 one unit, one dash"),
        pytest.param("/a😀b", "-a--b", id="3.6 a character of two UTF-16 units is two dashes"),
        pytest.param("/" + "x" * 199, "-" + "x" * 199, id="3.6 200 units: not cut"),
    ],
)
def test_folder_name(path: str, name: str) -> None:
    assert folder_name(path) == name


def test_3_6_a_longer_name_is_cut_and_hashed_over_the_raw_path() -> None:
    # The hashes are those of `h = (h * 31 + charCodeAt(i)) | 0; Math.abs(h).toString(36)` run in Node over each path.
    assert folder_name("/" + "x" * 200) == "-" + "x" * 199 + "-" + HASH_OF_X200
    assert folder_name("/tmp/" + "längé-" * 40) == ("-tmp-" + "l-ng--" * 40)[:200] + "-" + HASH_OF_ACCENTS
    assert folder_name("/" + "😀" * 120) == "-" * 200 + "-" + HASH_OF_EMOJI


HASH_OF_X200 = "d0i18x"
HASH_OF_ACCENTS = "m2gwlt"
HASH_OF_EMOJI = "fp2zqh"


@pytest.mark.parametrize(
    ("cwd", "folder", "remap", "believed"),
    [
        pytest.param("/home/ada/work", "-home-ada-work", None, True, id="3.6 spells the folder"),
        pytest.param("/home/ada/./x/../jobs/", "-home-ada-jobs", None, True, id="3.6 spells it once resolved"),
        pytest.param("//home//ada/work", "-home-ada-work", None, True, id="3.6 doubled separators"),
        pytest.param("home/ada/work", "-home-ada-work", None, False, id="3.6 relative"),
        pytest.param("", "-home-ada-work", None, False, id="3.6 empty"),
        pytest.param("/home/ada/other", "-home-ada-work", None, False, id="3.6 another directory"),
        pytest.param("/moved/here", "-home-ada-work", "/moved/here", True, id="3.6 recorded remap"),
        pytest.param("/moved/there", "-home-ada-work", "/moved/here", False, id="3.6 not the recorded remap"),
        pytest.param("moved", "-x", "moved", False, id="3.6 a relative remap"),
        pytest.param("/a\0b", "-a-b", None, False, id="3.6 no path"),
        pytest.param("/" + "a" * 5_000, folder_name("/" + "a" * 5_000), None, False, id="3.6 too long to exist"),
        pytest.param("/" + "b" * 300, folder_name("/" + "b" * 300), None, True, id="3.6 long, with the right hash"),
        pytest.param("/" + "b" * 301, folder_name("/" + "b" * 300), None, False, id="3.6 long, same beginning"),
    ],
)
def test_verified_cwd(cwd: str, folder: str, remap: str | None, believed: bool) -> None:
    assert is_verified(cwd, folder, remap) is believed


def rows(*cwds: str | None) -> list[Row]:
    return [{"type": "user"} if cwd is None else {"type": "user", "cwd": cwd} for cwd in cwds]


@pytest.mark.parametrize(
    ("cwds", "folder", "expected"),
    [
        pytest.param([None, "/w", "/other"], "-w", RecordedCwd("/w", None, ended=True), id="3.6 first verified wins"),
        pytest.param([None, None], "-w", RecordedCwd(), id="3.6 none recorded: the search goes on elsewhere"),
        pytest.param(
            ["/forged", "/w"], "-w", RecordedCwd(None, "/forged", ended=True), id="3.6 the first rejected ends it"
        ),
        pytest.param(
            ["/w", "/w/.claude/worktrees/t"],
            "-w--claude-worktrees-t",
            RecordedCwd("/w/.claude/worktrees/t", "/w", ended=True),
            id="3.6 rejected, but the folder may be a worktree of it",
        ),
        pytest.param(
            ["/w/sub", "/w/.worktrees/t"],
            "-w--worktrees-t",
            RecordedCwd("/w/.worktrees/t", "/w/sub", ended=True),
            id="3.6 rejected, but the folder may be a worktree of its ancestor",
        ),
        pytest.param(
            ["/w/sub", "/w"], "-w", RecordedCwd("/w", "/w/sub", ended=True), id="3.6 rejected, the folder lies above"
        ),
        pytest.param(["/w/sub", "/x"], "-w", RecordedCwd(None, "/w/sub"), id="3.6 moved, nothing verified here"),
        pytest.param(["w"], "-w", RecordedCwd(None, "w", ended=True), id="3.6 a relative one"),
    ],
)
def test_extraction(cwds: list[str | None], folder: str, expected: RecordedCwd) -> None:
    assert find_cwd(rows(*cwds), folder) == expected


def test_extraction_believes_the_recorded_remap() -> None:
    assert find_cwd(rows("/new"), "-old", "/new").cwd == "/new"


def test_extraction_survives_hostile_directories() -> None:
    hostile = ["/" + "a/" * 2_000, "/" * 100_000, "\0", "/" + "é" * 4_000, "/x" * 2_000]
    assert find_cwd(rows(*hostile), "-w").cwd is None


@pytest.mark.parametrize(
    ("cwd", "root"),
    [
        pytest.param("/repo/.claude/worktrees/t", "/repo", id="3.6 .claude/worktrees"),
        pytest.param("/repo/.claude-worktrees/t", "/repo", id="3.6 .claude-worktrees"),
        pytest.param("/repo/.worktrees/t", "/repo", id="3.6 .worktrees"),
        pytest.param("/repo/.worktrees/t/", "/repo", id="3.6 trailing separator"),
        pytest.param("C:\\repo\\.claude\\worktrees\\t", "C:\\repo", id="3.6 the other separator"),
        pytest.param("/repo/.worktrees/t/sub", None, id="3.6 two levels"),
        pytest.param("/repo/.worktrees", None, id="3.6 no level"),
        pytest.param("/repo/worktrees/t", None, id="3.6 another folder"),
        pytest.param("/.worktrees/t", None, id="3.6 no repository"),
    ],
)
def test_worktree_collapse(cwd: str, root: str | None) -> None:
    asked: list[str] = []

    def exists(path: str) -> bool:
        asked.append(path)
        return True

    assert worktree_root(cwd, exists) == (root or cwd)
    assert asked == ([root] if root else [])


def test_3_6_a_worktree_whose_repository_is_gone_stays_itself() -> None:
    assert worktree_root("/repo/.worktrees/t", lambda _: False) == "/repo/.worktrees/t"
