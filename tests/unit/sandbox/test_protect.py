"""Keeping things from a sandbox: under every name, with the way pinned, and no link on it that could be replaced."""

from __future__ import annotations

import pytest
from tests.support.described_host import Described, Entry, Link

from switchboard.sandbox.mounts import Mount, Refusal, View
from switchboard.sandbox.policy import Findings
from switchboard.sandbox.protect import Protection
from switchboard.sandbox.table import Table


def made(
    entries: dict[str, Entry], *binds: tuple[str, str], findings: Findings | None = None
) -> tuple[Protection, Table]:
    table = Table()
    for destination, source in binds or (("/p", "/p"),):
        table.add(Mount("rw", destination, source))
    host = Described({"/p/": "", "/home/u/": "", **entries})
    return Protection(table, host, findings or Findings(), "/home/u"), table


def pins(table: Table) -> set[str]:
    return {mount.destination for mount in table.mounts if mount.why == "pin"}


def test_kept_under_every_name_and_each_way_pinned() -> None:
    protection, table = made({"/p/a/b/x": ""}, ("/p", "/p"), ("/alias", "/p/a"))
    assert protection.keep("/p/a/b/x", "why") == ["/p/a/b/x", "/alias/b/x"]
    protection.pin_ways()
    assert table.view("/p/a/b/x") == View("ro", "/p/a/b/x")
    assert table.view("/alias/b/x") == View("ro", "/p/a/b/x")
    assert pins(table) == {"/p/a", "/p/a/b", "/alias/b"}


def test_ways_are_pinned_up_to_the_outermost_writable_directory() -> None:
    protection, table = made({"/p/a/b/c/x": ""}, ("/p", "/p"), ("/p/a/b", "/p/a/b"))
    protection.keep("/p/a/b/c/x", "why")
    protection.pin_ways()
    assert pins(table) == {"/p/a", "/p/a/b/c"}


def test_what_is_read_only_already_needs_nothing() -> None:
    protection, table = made({"/p/a/x": ""})
    table.add(Mount("ro", "/p/a", "/p/a"))
    assert protection.keep("/p/a/x", "why") == []
    protection.pin_ways()
    assert pins(table) == set()


def test_a_directory_is_held() -> None:
    protection, table = made({"/p/a/.git/": ""})
    protection.hold("/p/a/.git")
    protection.pin_ways()
    assert pins(table) == {"/p/a", "/p/a/.git"}
    assert table.view("/p/a/.git/x") == View("rw", "/p/a/.git/x")


CHAINS: list[tuple[dict[str, Entry], str, str | None]] = [
    ({"/p/x": ""}, "/p/x", "/p/x"),
    ({"/p/x": "", "/l": Link("/p/x")}, "/l", "/p/x"),
    ({"/p/x": "", "/p/l": Link("x")}, "/p/l", None),
    ({"/p/d/x": "", "/p/l": Link("d")}, "/p/l/x", None),
    ({"/p/x": "", "/p/l": Link("x"), "/o": Link("/p/l")}, "/o", None),
    ({"/p/ro/x": "", "/p/ro/l": Link("x")}, "/p/ro/l", "/p/ro/x"),
]


@pytest.mark.parametrize(
    ("entries", "path", "real"),
    CHAINS,
    ids=["no link", "outside", "inside", "on the way", "link to link", "in what is kept"],
)
def test_chains(entries: dict[str, Entry], path: str, real: str | None) -> None:
    protection, table = made(entries)
    table.add(Mount("ro", "/p/ro", "/p/ro"))
    if real is not None:
        assert protection.check_chain(path).real == real
        return
    with pytest.raises(Refusal, match="what: /p/l is a symbolic link in a directory the sandbox can write"):
        protection.check_chain(path, "what")


def test_a_loop_of_links_is_refused() -> None:
    protection, _ = made({"/l": Link("m"), "/m": Link("l")})
    with pytest.raises(Refusal, match="too many levels of symbolic links"):
        protection.check_chain("/l")


def test_what_links_lead_to_is_kept_to_the_end() -> None:
    protection, table = made(
        {
            "/home/u/.claude/skills/deep/one": Link("/p/dir"),
            "/p/dir/two": Link("/home/u/dotfiles"),
            "/home/u/dotfiles/three": Link("/p/file"),
            "/home/u/dotfiles/again": Link("/p/dir"),
            "/p/file": "",
        }
    )
    protection.keep_links_below("/home/u/.claude/skills")
    assert [mount.destination for mount in table.mounts if mount.access == "ro"] == ["/p/dir", "/p/file"]


def test_the_machine_and_home_are_not_searched() -> None:
    protection, table = made({"/etc/x": Link("/p/file"), "/home/u/x": Link("/p/file"), "/p/file": ""})
    for target in ("/etc", "/home/u", "/home"):
        protection, table = made(
            {"/c/l": Link(target), "/etc/x": Link("/p/file"), "/home/u/x": Link("/p/file"), "/p/file": ""}
        )
        protection.keep_links_below("/c")
        assert table.view("/p/file").access == "rw"


def test_what_is_left_open_is_not_searched() -> None:
    protection, table = made({"/p/.claude/worktrees/l": Link("/p/file"), "/p/.claude/up": Link("."), "/p/file": ""})
    protection.keep("/p/.claude", "why")
    protection.leave_open("/p/.claude/worktrees")
    table.add(Mount("rw", "/p/.claude/worktrees", "/p/.claude/worktrees"))
    protection.keep_links_below("/p/.claude")
    assert table.view("/p/file").access == "rw"


def test_a_link_to_what_does_not_exist_yet() -> None:
    protection, _ = made({"/c/l": Link("/p/new/file")})
    with pytest.raises(Refusal, match="/c/l links to /p/new/file, which does not exist and"):
        protection.keep_link("/c/l")
    protection, _ = made({"/c/l": Link("/q/new")})
    protection.keep_link("/c/l")


def test_a_link_to_a_working_directory_is_reported() -> None:
    findings = Findings()
    protection, table = made({"/c/l": Link("/p")}, findings=findings)
    protection.keep_link("/c/l")
    assert list(findings.warnings) == ["/c/l links to /p, where the session works: it can change what is there"]
    assert table.view("/p/x").access == "rw"
