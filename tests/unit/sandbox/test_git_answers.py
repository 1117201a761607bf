"""Reading what git says of a repository."""

from __future__ import annotations

import pytest

from switchboard.sandbox.git_answers import Repository, repository
from switchboard.sandbox.run import Said


def said(out: str, code: int = 0, errors: str = "") -> Said:
    return Said(code, out.encode("utf-8", "surrogateescape"), errors.encode())


PLACES = said("/p/.git\n/p/.git\n/p/.git/hooks\n")


def settings(*entries: tuple[str, str, str]) -> Said:
    return said("".join(f"{origin}\0{key}\n{value}\0" for origin, key, value in entries))


def read(places: Said = PLACES, answers: Said | None = None) -> Repository | str:
    return repository("/p", "/home/u", places, answers or settings())


def test_a_plain_repository() -> None:
    found = read(answers=settings(("file:/p/.git/config", "core.bare", "false"), ("command line:", "a.b", "c")))
    assert found == Repository("/p/.git", "/p/.git", "/p/.git/hooks", ("/p/.git/config",))


def test_relative_paths_are_relative_to_where_git_was_asked() -> None:
    found = read(said(".git\n../main/.git\ntools/hooks\n"))
    assert found == Repository("/p/.git", "/p/../main/.git", "/p/tools/hooks")


@pytest.mark.parametrize(
    ("key", "origin", "value", "path"),
    [
        ("include.path", "file:/p/.git/config", "/inc", "/inc"),
        ("include.path", "file:/p/.git/config", "../inc", "/p/.git/../inc"),
        ("include.path", "file:/p/.git/config", "~/inc", "/home/u/inc"),
        ("includeif.gitdir:/x/.path", "file:/p/.git/config", "inc", "/p/.git/inc"),
        ("include.path", "file:/p/.git/config", "~other/inc", None),
        ("include.path", "file:/p/.git/config", "", None),
        ("include.path", "command line:", "inc", None),
        ("other.path", "file:/p/.git/config", "/inc", None),
    ],
)
def test_included_files(key: str, origin: str, value: str, path: str | None) -> None:
    found = read(answers=settings((origin, key, value)))
    assert isinstance(found, Repository)
    assert [name for name in found.settings if name != "/p/.git/config"] == ([path] if path else [])


@pytest.mark.parametrize(("value", "on"), [("true", True), ("", True), ("1", True), ("no", False), ("false", False)])
def test_settings_for_each_worktree(value: str, on: bool) -> None:
    found = read(answers=settings(("file:/p/.git/config", "extensions.worktreeconfig", value)))
    assert isinstance(found, Repository)
    assert found.per_worktree is on


def test_a_value_with_line_breaks_and_unusual_bytes() -> None:
    found = read(said("/p/.git\n/p/.git\n/p/h\udcff\n"), settings(("file:/a\nb", "alias.x", "one\ntwo")))
    assert found == Repository("/p/.git", "/p/.git", "/p/h\udcff", ("/a\nb",))


def test_a_path_with_a_newline() -> None:
    assert read(said("/p/.git\n/p/.git\n/p/a\nb\n")) == "one of its paths contains a newline"


@pytest.mark.parametrize(
    ("places", "answers", "why"),
    [
        (
            said("", 128, "fatal: not a git repository: '/p/.git'\nmore\n"),
            None,
            "fatal: not a git repository: '/p/.git'",
        ),
        (PLACES, said("", 128, "fatal: bad config line 1\n"), "fatal: bad config line 1"),
        (said("", -9), None, "git ended with -9"),
    ],
)
def test_what_git_cannot_read(places: Said, answers: Said | None, why: str) -> None:
    assert read(places, answers) == why
