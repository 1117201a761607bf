"""Following paths: the end, and the way that was taken."""

from __future__ import annotations

import pytest
from tests.support.host_tree import HostTree

from switchboard.sandbox.path_walk import Unresolved, quoted, unrepresentable, walk


@pytest.fixture
def host() -> HostTree:
    made = HostTree()
    made.make_directory("/a/b/c")
    made.make_directory("/x/y")
    made.make_file("/a/file")
    made.make_link("/a/up", "../x")
    made.make_link("/x/abs", "/a/b")
    made.make_link("/x/chain", "abs/../up/y")
    made.make_link("/x/dangling", "/a/none/deep")
    return made


@pytest.mark.parametrize(
    ("path", "real", "directories", "links"),
    [
        ("/a/b", "/a/b", ("/a", "/a/b"), ()),
        ("//a/./b//", "/a/b", ("/a", "/a/b"), ()),
        ("/", "/", (), ()),
        ("/..", "/", (), ()),
        ("/a/file", "/a/file", ("/a",), ()),
        ("/a/b/..", "/a", ("/a", "/a/b"), ()),
        ("/a/up/y", "/x/y", ("/a", "/x", "/x/y"), ("/a/up",)),
        ("/a/up/..", "/", ("/a", "/x"), ("/a/up",)),
        ("/x/abs/c", "/a/b/c", ("/x", "/a", "/a/b", "/a/b/c"), ("/x/abs",)),
        ("/x/chain", "/x/y", ("/x", "/a", "/a/b", "/x/y"), ("/x/chain", "/x/abs", "/a/up")),
    ],
)
def test_where_a_path_leads(
    host: HostTree, path: str, real: str, directories: tuple[str, ...], links: tuple[str, ...]
) -> None:
    way = walk(path, host)
    assert (way.real, way.directories, way.links) == (real, directories, links)
    assert way.found == host.look(real)
    assert way.existing == real


@pytest.mark.parametrize(
    ("path", "real", "existing"),
    [
        ("/a/none", "/a/none", "/a"),
        ("/none/deep/er", "/none/deep/er", "/"),
        ("/x/dangling/more", "/a/none/deep/more", "/a"),
    ],
)
def test_what_is_not_there_yet(host: HostTree, path: str, real: str, existing: str) -> None:
    way = walk(path, host)
    assert (way.real, way.found, way.existing) == (real, None, existing)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/a/file/x", "'/a/file' is not a directory"),
        ("/a/file/..", "'/a/file' is not a directory"),
        ("/a/none/..", "'/a/none' does not exist, and the path goes back through it"),
        ("/a/locked/in", "'/a/locked/in' cannot be read"),
        ("/self", "too many levels of symbolic links at '/self'"),
        ("/a\nb", "contains a newline"),
        ("/broken", "the target of '/broken': it contains a NUL"),
    ],
)
def test_what_leads_nowhere(host: HostTree, path: str, why: str) -> None:
    host.make_directory("/a/locked/in")
    host.lock("/a/locked")
    host.make_link("/self", "self")
    host.make_link("/broken", "a\0b")
    with pytest.raises(Unresolved) as caught:
        walk(path, host)
    assert why in str(caught.value)


@pytest.mark.parametrize("path", ["/a b", "/ü", "/tab\t", "/\udcff", "/x'y"])
def test_a_name_that_can_be_handed_on(path: str) -> None:
    assert unrepresentable(path) == ""


@pytest.mark.parametrize("path", ["/a\n", "/a\0", "/\ud800"])
def test_a_name_that_cannot(path: str) -> None:
    assert unrepresentable(path)


def test_a_quoted_path_is_one_printable_line() -> None:
    assert quoted("/a b'c") == "'/a b'c'"
    assert quoted("/a\tb\n\udcff") == r"'/a\tb\n\udcff'"
