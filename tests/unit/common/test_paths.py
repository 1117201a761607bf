"""Where files lie, and how directories compare."""

import pytest

from switchboard.common.paths import MAX_SOCKET_PATH, normalise_directory, runtime_folder, short_title


def test_sockets_lie_in_the_data_directory() -> None:
    assert runtime_folder("/home/me/.switchboard", 1000, "/tmp") == "/home/me/.switchboard/run"


def test_a_deep_data_directory_has_its_sockets_in_a_short_place_of_its_own() -> None:
    deep = "/home/me/" + "deep/" * 30
    one, other = runtime_folder(deep + "a", 1000, "/tmp"), runtime_folder(deep + "b", 1000, "/tmp")
    assert one != other
    assert one.startswith("/tmp/switchboard-1000/")
    assert len(f"{one}/keeper.sock") <= MAX_SOCKET_PATH
    assert runtime_folder("/ü" * 40, 1, "/tmp").startswith("/tmp/")


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("/a//b/./c/..", "/a/b"),
        ("/", "/"),
        ("//", "/"),
        ("//a", "/a"),
        ("/A", "/A"),
        ("", ""),
    ],
)
def test_directories_compare_normalised(path: str, normal: str) -> None:
    assert normalise_directory(path) == normal


@pytest.mark.parametrize(
    ("path", "title"), [("/home/me/src/thing", "src/thing"), ("/thing", "thing"), ("/", "/"), ("/a/b/", "a/b")]
)
def test_lists_show_the_last_two_segments(path: str, title: str) -> None:
    assert short_title(path) == title
