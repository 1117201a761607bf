"""Labels: what a later host reads back."""

import json

import pytest

from switchboard.sessions.keeper.ring import MAX_LABEL
from switchboard.sessions.labels import MAX_DELIVERY_BYTES, Label, decode_label, encode_label


def full() -> Label:
    return Label(
        key="0d6f3a52-0000-4000-8000-00000000000a",
        profile="claude",
        cwd="/srv/pröject",
        generation=7,
        launched_at=1_700_000_000_000,
        launch="resume",
        project="/srv",
        name="a name",
        past=["old"],
        columns=100,
        rows=30,
        writer=(12, "345"),
        composer={"pending": 3},
        title="✳ title",
        busy=True,
        modes=b"\x1b[?2004h",
        modes_seq=99,
        delivery="hellö".encode(),
        delivery_at=5,
        entered=True,
        opened_by="trigger",
        sandbox=True,
        descriptors="/data/sandboxes/x/sessions",
    )


def test_a_label_comes_back_as_it_was() -> None:
    assert decode_label(encode_label(full())) == full()
    plain = Label("id", "agent", "/", 1, 2)
    assert decode_label(encode_label(plain)) == plain


def test_a_directory_that_is_no_utf8_comes_back_too() -> None:
    label = Label("id", "agent", "/srv/caf\udce9", 1, 2, composer={"draft": "\ud83d"})
    assert decode_label(encode_label(label)) == label


def test_a_label_of_a_later_version_is_read_without_what_is_unknown() -> None:
    fields = json.loads(encode_label(full())) | {"v": 2, "colour": "red"}
    assert decode_label(json.dumps(fields).encode()) == full()


def test_a_label_of_an_earlier_version_has_defaults() -> None:
    fields = {"key": "id", "profile": "agent", "cwd": "/", "generation": 1, "launched_at": 2}
    assert decode_label(json.dumps(fields).encode()) == Label("id", "agent", "/", 1, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"[]",
        b"null",
        b"{}",
        b'{"key":1}',
        b'{"key":"a","profile":"b","cwd":"c","generation":"x"}',
        b"[" * 9999,
    ],
)
def test_what_is_no_label_is_none(data: bytes) -> None:
    assert decode_label(data) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("past", None),
        ("past", ["a", 1]),
        ("past", "text"),
        ("columns", "120"),
        ("rows", None),
        ("title", None),
        ("busy", 1),
        ("name", 5),
        ("project", []),
        ("launch", None),
        ("modes_seq", 1.5),
        ("delivery_at", "0"),
        ("sandbox", 0),
        ("descriptors", 0),
        ("entered", 1),
        ("writer", ["x", "1"]),
        ("writer", [1, 2]),
        ("writer", [1]),
        ("modes", 5),
        ("delivery", "not base64"),
    ],
)
def test_a_field_of_another_type_spoils_the_label(name: str, value: object) -> None:
    """Half a label is worse than none: what is wrong in it would show later, and elsewhere."""
    fields = json.loads(encode_label(full())) | {name: value}
    assert decode_label(json.dumps(fields).encode()) is None


def test_a_composer_of_any_type_is_left_to_the_composer() -> None:
    fields = json.loads(encode_label(full())) | {"composer": ["nonsense"]}
    label = decode_label(json.dumps(fields).encode())
    assert label is not None
    assert label.composer == ["nonsense"]


def test_the_longest_label_fits() -> None:
    label = full()
    label.delivery = b"\xf0\x9f\x98\x80" * MAX_DELIVERY_BYTES
    label.past = ["0d6f3a52-0000-4000-8000-00000000000a"] * 100
    label.name = "ü" * 256
    label.title = "ü" * 120
    label.cwd = "/ü" * 500
    label.composer = {"text": "x" * 1000}
    assert len(encode_label(label)) < MAX_LABEL
