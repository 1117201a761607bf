"""What is seen inside, asked in two ways that have to agree."""

from __future__ import annotations

from random import Random

import pytest
from tests.support.sandbox_layouts import layout

from switchboard.sandbox.inside import Inside, uppers
from switchboard.sandbox.mounts import Mount, View


def test_the_deepest_mount_decides_and_of_two_the_later() -> None:
    inside = Inside(
        [
            Mount("ro", "/a/b", "/two"),
            Mount("rw", "/a", "/one"),
            Mount("tmpfs", "/a/b/c"),
            Mount("rw", "/a/b", "/three"),
            Mount("dir", "/a/b/c/d"),
        ]
    )
    assert inside.at("/a/x") == View("rw", "/one/x")
    assert inside.at("/a/b/x") == View("rw", "/three/x")
    assert inside.at("/a/b/c/d/e") == View("tmpfs")
    assert inside.at("/other") == View("none")
    assert inside.under("/a/b") == View("rw", "/one/b")
    assert inside.under("/a") == View("none")
    assert inside.is_mount("/a/b")
    assert not inside.is_mount("/a/b/c/d")


def test_sightings_are_the_paths_that_show_it() -> None:
    inside = Inside([Mount("rw", "/w", "/host"), Mount("ro", "/v", "/host/sub"), Mount("tmpfs", "/w/sub")])
    assert inside.sightings("/host/sub/x") == [("/v/x", "ro")]
    assert inside.sightings("/host/y") == [("/w/y", "rw")]
    assert inside.sightings("/other") == []


def test_the_root_of_everything() -> None:
    inside = Inside([Mount("ro", "/", "/"), Mount("rw", "/w", "/w")])
    assert inside.at("/x") == View("ro", "/x")
    assert inside.sightings("/w/x") == [("/w/x", "rw")]
    assert uppers("/a/b") == ["/a/b", "/a"]
    assert uppers("/") == []


@pytest.mark.parametrize("first", range(0, 600, 200))
def test_both_ways_of_asking_agree(first: int) -> None:
    for seed in range(first, first + 200):
        made = layout(Random(seed), "/h")
        quick, plain = Inside(made.mounts), Inside(made.mounts, asked_plainly=True)
        for path in (*made.directories, *made.files, *made.links, *(mount.destination for mount in made.mounts)):
            assert quick.at(path) == plain.at(path)
