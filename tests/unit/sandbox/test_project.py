"""Markers in the working directories, on a described host: what the tests with a real git do not reach."""

from __future__ import annotations

import pytest
from tests.support.described_host import Described, Entry

from switchboard.sandbox.control_paths import ControlPaths
from switchboard.sandbox.git_answers import Repository
from switchboard.sandbox.mounts import Mount, Refusal, View
from switchboard.sandbox.planning import Planning
from switchboard.sandbox.policy import CLAUDE, Findings, Missing, SandboxRequest
from switchboard.sandbox.project import Project
from switchboard.sandbox.protect import Protection
from switchboard.sandbox.roots import Root
from switchboard.sandbox.table import Table

REQUEST = SandboxRequest(CLAUDE, (), "/p", "/home/u", {}, ControlPaths("/t", ("/d",)))

PLAIN = Repository("/p/.git", "/p/.git", "/p/.git/hooks", ("/p/.git/config",))

REPOSITORY: dict[str, Entry] = {"/p/.git/config": "", "/p/.git/hooks/": "", "/p/.git/HEAD": ""}


def protected(
    entries: dict[str, Entry],
    git: dict[str, Repository | str] | None,
    locked: frozenset[str] = frozenset(),
    mounts: tuple[Mount, ...] = (),
) -> tuple[Table, Findings]:
    host = Described({"/p/": "", **entries}, git=git, locked=locked)
    table, findings = Table(), Findings()
    for mount in (Mount("rw", "/p", "/p"), *mounts):
        table.add(mount)
    protection = Protection(table, host, findings, "/home/u")
    roots = [Root("/p", "/p", "/p", True), Root("/f", "/f", "/f", False)]
    project = Project(roots, Planning(REQUEST, table, host, findings, protection))
    project.add_claude()
    project.keep_links()
    project.add_git()
    protection.pin_ways()
    return table, findings


def read_only(table: Table) -> set[str]:
    return {mount.destination for mount in table.mounts if mount.access == "ro"}


def test_a_repository() -> None:
    table, findings = protected(REPOSITORY, {"/p/.git": PLAIN})
    assert read_only(table) == {"/p/.git/config", "/p/.git/hooks"}
    assert table.has("/p/.git")
    assert list(findings.missing) == ["/p/.claude"]


def test_where_this_user_cannot_write_nothing_is_made() -> None:
    entries: dict[str, Entry] = {"/p/.git/config": ""}
    _, findings = protected(entries, {"/p/.git": PLAIN}, locked=frozenset({"/p", "/p/.git"}))
    assert findings.missing == {}


def test_without_git_the_usual_places_are_kept() -> None:
    table, findings = protected(REPOSITORY, None)
    assert read_only(table) == {"/p/.git/config", "/p/.git/hooks"}
    assert [text for text in findings.warnings if "git was not found" in text]


def test_worktrees_and_modules_without_gits_help() -> None:
    entries: dict[str, Entry] = {
        **REPOSITORY,
        "/p/.git/worktrees/w/commondir": "../..",
        "/p/.git/worktrees/w/gitdir": "/w/.git",
        "/p/.git/modules/a/b/config": "",
        "/p/.git/modules/a/b/modules/c/hooks/": "",
        "/p/.git/modules/empty/": "",
    }
    table, findings = protected(entries, {"/p/.git": PLAIN})
    assert read_only(table) == {
        *("/p/.git/config", "/p/.git/hooks", "/p/.git/worktrees/w/commondir", "/p/.git/worktrees/w/gitdir"),
        *("/p/.git/modules/a/b/config", "/p/.git/modules/a/b/modules/c/hooks"),
    }
    assert "/p/.git/modules/a/b/hooks" in findings.missing
    assert "/p/.git/worktrees/w/hooks" not in findings.missing


def test_a_submodule_that_a_session_has_led_elsewhere() -> None:
    entries: dict[str, Entry] = {**REPOSITORY, "/p/.git/modules/a/HEAD": "", "/p/.git/modules/a/commondir": "/evil"}
    with pytest.raises(Refusal, match=r"/p/\.git/modules/a/commondir makes git read settings from elsewhere"):
        protected(entries, {"/p/.git": PLAIN})


@pytest.mark.parametrize(
    ("entries", "refused"),
    [
        ({"/p/.git/": ""}, True),
        ({"/p/.git": "gitdir: /gone\n"}, True),
        ({"/p/in/.git/": ""}, False),
        ({"/p/in/.git/config": ""}, True),
        ({"/p/in/.git": "gitdir: /gone\n"}, False),
        ({"/p/in/.git": "gitdir: ../there\n", "/p/there/config": ""}, True),
    ],
    ids=["the first", "the first, a file", "empty", "with settings", "leads nowhere", "leads to settings"],
)
def test_what_git_cannot_read(entries: dict[str, Entry], refused: bool) -> None:
    if refused:
        with pytest.raises(Refusal, match=r"git cannot read the repository at /p.*: no repository"):
            protected(entries, {})
    else:
        protected(entries, {})


def test_what_lies_in_something_read_only_is_not_opened_again() -> None:
    entries: dict[str, Entry] = {"/p/.claude/x/.claude/worktrees/": "", "/p/.claude/worktrees/w/.claude/worktrees/": ""}
    table, _ = protected(entries, None)
    assert table.view("/p/.claude/x/.claude/worktrees") == View("ro", "/p/.claude/x/.claude/worktrees")
    inner = "/p/.claude/worktrees/w/.claude"
    assert table.view(f"{inner}/settings.json") == View("ro", f"{inner}/settings.json")
    assert table.view(f"{inner}/worktrees/v") == View("rw", f"{inner}/worktrees/v")


def test_settings_files_that_git_would_read_are_made_empty() -> None:
    answer = Repository("/p/.git", "/p/.git", "/p/.git/hooks", ("/p/.git/config", "/p/inc", "/home/u/inc"), True)
    _, findings = protected(REPOSITORY, {"/p/.git": answer})
    assert list(findings.missing.values()) == [
        Missing("/p/.claude"),
        Missing("/p/.git/config.worktree", "file"),
        Missing("/p/inc", "file"),
    ]


def test_under_every_name() -> None:
    table, _ = protected(REPOSITORY, {"/p/.git": PLAIN}, mounts=(Mount("rw", "/alias", "/p"),))
    assert {"/alias/.git/config", "/alias/.git/hooks"} <= read_only(table)
    assert table.has("/alias/.git")
