"""Which directories may be bound, and where they lie inside."""

from __future__ import annotations

import pytest
from tests.support.described_host import Described, Entry, Link

from switchboard.sandbox.control_paths import ControlPaths
from switchboard.sandbox.mounts import Refusal
from switchboard.sandbox.policy import CLAUDE, Findings, SandboxRequest
from switchboard.sandbox.roots import add_roots, find_roots, is_marked
from switchboard.sandbox.table import Table

NO_CONTROL = ControlPaths("/t", ("/d",))


def found(entries: dict[str, Entry], *binds: str, cwd: str = "/p") -> tuple[dict[str, str], list[str]]:
    """Where each lies: path inside to path on the host; and the warnings."""
    host, table, findings = Described({"/p/": "", "/home/u/": "", **entries}), Table(), Findings()
    request = SandboxRequest(CLAUDE, (), cwd, "/home/u", {}, NO_CONTROL, binds)
    add_roots(table, find_roots(request, host, findings), host)
    return {mount.destination: mount.source or "" for mount in table.mounts}, list(findings.warnings)


@pytest.mark.parametrize(
    ("entries", "bind", "lies"),
    [
        ({"/q/": ""}, "/q", {"/q": "/q"}),
        ({"/q/": ""}, "/q/", {"/q": "/q"}),
        ({"/q/": ""}, "//q/./", {"/q": "/q"}),
        ({"/p/sub/": ""}, "sub", {"/p/sub": "/p/sub"}),
        ({"/q/": "", "/l": Link("/q")}, "/l", {"/l": "/q"}),
        ({"/q/r/": "", "/l": Link("/q")}, "/l/r", {"/l/r": "/q/r"}),
        ({"/q/r/": "", "/s/": "", "/l": Link("/q/r")}, "/l/../r", {"/q/r": "/q/r"}),
        ({"/q/": "", "/p/l": Link("/q")}, "/p/l", {"/q": "/q"}),
        ({"/q/file": ""}, "/q/file", {"/q/file": "/q/file"}),
        ({}, "/p", {}),
    ],
    ids=[
        "plain",
        "slash",
        "spelt oddly",
        "relative",
        "link",
        "below a link",
        "dots",
        "link in another",
        "file",
        "twice",
    ],
)
def test_where_a_bind_lies(entries: dict[str, Entry], bind: str, lies: dict[str, str]) -> None:
    assert found(entries, bind) == ({"/p": "/p", **lies}, [])


def test_a_missing_bind_is_left_out() -> None:
    assert found({}, "/gone") == ({"/p": "/p"}, ["'/gone' does not exist and is not bound"])


@pytest.mark.parametrize(
    ("entries", "cwd", "why"),
    [
        ({}, "/gone", "does not exist"),
        ({"/file": ""}, "/file", "is not a directory"),
        ({"/l": Link("l")}, "/l", "too many levels"),
    ],
)
def test_a_working_directory_that_is_none(entries: dict[str, Entry], cwd: str, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        found(entries, cwd=cwd)


@pytest.mark.parametrize(
    ("path", "marked"),
    [
        ("/p", False),
        ("/p/.claude", True),
        ("/p/.claude/x", True),
        ("/p/.claude/worktrees", True),
        ("/p/.claude/worktrees/w", False),
        ("/p/.claude/worktrees/w/x", False),
        ("/p/.claude/worktrees/w/.claude", True),
        ("/p/.claude/worktrees/.git", True),
        ("/p/.claude/worktrees/w/.claude/worktrees/v", False),
        ("/p/.git", True),
        ("/p/.git/worktrees/w", True),
        ("/p/.github", False),
        ("/p/x.git", False),
        ("/p/.claude-worktrees/w", False),
        ("/.claude", True),
    ],
)
def test_marked(path: str, marked: bool) -> None:
    assert is_marked(path) is marked
