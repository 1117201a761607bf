"""Mounts as values: their order, bubblewrap's options for them, and paths."""

from __future__ import annotations

import pytest

from switchboard.sandbox.mounts import Mount, View, arguments, is_below, moved, ordered, view


def test_options_of_each_kind() -> None:
    options, files = arguments(
        [
            Mount("dev", "/dev"),
            Mount("proc", "/proc"),
            Mount("tmpfs", "/tmp"),
            Mount("dir", "/var"),
            Mount("ro", "/usr", "/usr"),
            Mount("rw", "/alias", "/real dir"),
            Mount("symlink", "/bin", "usr/bin"),
        ]
    )
    assert options == [
        *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--dir", "/var"),
        *("--ro-bind", "/usr", "/usr", "--bind", "/real dir", "/alias", "--symlink", "usr/bin", "/bin"),
    ]
    assert files == []


def test_private_files_come_from_descriptors_that_count_up_from_nine() -> None:
    options, files = arguments([Mount("file", "/a", content=b"one"), Mount("file", "/b", content=b"")])
    assert options == ["--file", "9", "/a", "--file", "10", "/b"]
    assert files == [b"one", b""]


def test_shallow_first_and_otherwise_as_given() -> None:
    mounts = [Mount("dir", path) for path in ("/a/b/c", "/b", "/a/b", "/", "/a", "/a/c")]
    assert [mount.destination for mount in ordered(mounts)] == ["/", "/b", "/a", "/a/b", "/a/c", "/a/b/c"]


@pytest.mark.parametrize(
    ("path", "folder", "below"),
    [("/a", "/a", True), ("/a/b", "/a", True), ("/ab", "/a", False), ("/a", "/", True), ("/", "/a", False)],
)
def test_is_below(path: str, folder: str, below: bool) -> None:
    assert is_below(path, folder) == below


@pytest.mark.parametrize(
    ("path", "folder", "to", "result"),
    [
        ("/a", "/a", "/b", "/b"),
        ("/a/c", "/a", "/b", "/b/c"),
        ("/a/c", "/", "/b", "/b/a/c"),
        ("/a/c", "/a", "/", "/c"),
    ],
)
def test_moved(path: str, folder: str, to: str, result: str) -> None:
    assert moved(path, folder, to) == result


def test_the_last_mount_that_covers_a_path_decides() -> None:
    mounts = [Mount("rw", "/p", "/h"), Mount("ro", "/p/x", "/h/x"), Mount("symlink", "/l", "p")]
    assert view(mounts, "/p/a") == View("rw", "/h/a")
    assert view(mounts, "/p/x/a") == View("ro", "/h/x/a")
    assert view(mounts, "/l/a") == View("none")
    assert view(mounts, "/q") == View("none")
