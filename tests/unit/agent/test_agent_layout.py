from __future__ import annotations

import pytest

from switchboard.agent import layout


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/home/user/my_project", "-home-user-my-project"),
        ("/a.b/c d", "-a-b-c-d"),
        ("/caf\u00e9", "-caf-"),
        ("/\U0001f600", "---"),
        ("/", "-"),
        ("/" + "a" * 199, "-" + "a" * 199),
    ],
    ids=["underscore", "dot and space", "accent", "two utf-16 units", "root", "200 characters"],
)
def test_folder_names(path: str, folder: str) -> None:
    assert layout.encode_folder(path) == folder


def javascript_hash(path: str) -> int:
    value = 0
    for character in path:
        value = (value * 31 + ord(character)) % 2**32
    value = value - 2**32 if value >= 2**31 else value
    return abs(value)


@pytest.mark.parametrize("path", ["/" + "a" * 200, "/x" * 150, "/" + "b_" * 180])
def test_a_long_path_is_cut_and_told_apart_by_a_hash(path: str) -> None:
    head, _, tail = layout.encode_folder(path).rpartition("-")
    assert len(head) == 200
    assert int(tail, 36) == javascript_hash(path)
    assert layout.encode_folder(path + "c") != layout.encode_folder(path)


def test_paths() -> None:
    assert layout.descriptor_path("/home", 17) == "/home/sessions/17.json"
    assert layout.transcript_path("/home", "/a b", "id") == "/home/projects/-a-b/id.jsonl"
