"""Mounts while a plan is made: what is visible where, and every path at which something can be written."""

from __future__ import annotations

from random import Random

from switchboard.sandbox.mounts import Mount, View, ordered, view
from switchboard.sandbox.table import Table


def table(*mounts: Mount) -> Table:
    made = Table()
    for mount in mounts:
        made.add(mount)
    return made


def test_the_deepest_mount_decides_whatever_came_first() -> None:
    made = table(Mount("ro", "/p/.claude", "/p/.claude"), Mount("rw", "/p", "/p"), Mount("tmpfs", "/p/.claude/x"))
    assert made.view("/p/a") == View("rw", "/p/a")
    assert made.view("/p/.claude/a") == View("ro", "/p/.claude/a")
    assert made.view("/p/.claude/x/a") == View("tmpfs")
    assert made.view("/q") == View("none")


def test_the_later_of_two_at_one_place_decides() -> None:
    made = table(Mount("rw", "/p", "/p"), Mount("ro", "/p", "/other"))
    assert made.view("/p/a") == View("ro", "/other/a")


def test_a_link_leads_elsewhere() -> None:
    assert table(Mount("symlink", "/bin", "usr/bin")).view("/bin/sh") == View("none")


def test_every_path_at_which_something_can_be_written() -> None:
    made = table(Mount("rw", "/p", "/p"), Mount("rw", "/alias", "/p/sub"), Mount("rw", "/p/sub", "/elsewhere"))
    assert made.writable("/p/sub/x") == ["/alias/x"]
    assert made.writable("/p/x") == ["/p/x"]
    assert made.writable("/elsewhere") == ["/p/sub"]
    assert made.writable("/q") == []


def test_what_is_covered_cannot_be_written() -> None:
    made = table(Mount("rw", "/p", "/p"), Mount("ro", "/p/a", "/p/a"))
    assert made.writable("/p/a/b") == []


def test_a_pin_changes_nothing_that_is_seen() -> None:
    made = table(Mount("rw", "/p", "/p"))
    made.pin("/p/a", "/p/a")
    assert made.has("/p/a")
    assert made.writable("/p/a/b") == ["/p/a/b"]
    assert not made.holds("/p/a")


def test_holds() -> None:
    made = table(Mount("rw", "/p/q", "/h/q"))
    assert [made.holds(path) for path in ("/h/q", "/h", "/", "/h/q/r", "/p")] == [True, True, True, False, False]


def test_it_says_what_the_finished_plan_does() -> None:
    """Against the plain rule, over layouts by chance."""
    chance = Random(5)
    paths = ["/" + "/".join(chance.choices("abc", k=chance.randint(1, 4))) for _ in range(60)]
    kinds = ("ro", "rw", "tmpfs", "dir", "symlink", "file", "dev")
    for _ in range(300):
        mounts = [
            Mount(kind, chance.choice(paths), chance.choice(paths) if kind in ("ro", "rw", "symlink") else None)
            for kind in chance.choices(kinds, weights=(5, 5, 2, 1, 1, 1, 1), k=chance.randint(1, 8))
        ]
        made = table(*mounts)
        for path in paths:
            assert made.view(path) == view(ordered(mounts), path)
