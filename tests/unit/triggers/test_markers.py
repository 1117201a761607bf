"""The marker of an action: which effects may follow which, and reading whatever stands in its place."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.delivery.submission import Submitted
from switchboard.triggers.markers import EFFECTS, Effect, IllegalEffect, Marker, decode_marker, encode_marker
from switchboard.triggers.v1_schema import Mode, Subject

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
ID = "01234567-89ab-cdef-0123-456789abcdef"
DEADLINE = 1_800_000_300_000


def marker(mode: Mode = Mode.RESUME, *effects: Effect, steps: int = 1) -> Marker:
    made = Marker(STEM, mode, ID, DEADLINE, steps)
    for effect in effects:
        made = made.after(effect)
    return made


SPAWNED, ATTEMPTED, TEXT, ENTER, NOTE, STOPPING = Effect

_TYPED = [(ATTEMPTED, TEXT, ENTER), (ATTEMPTED, ENTER)]
LEGAL: dict[tuple[Mode, int], list[tuple[Effect, ...]]] = {
    (Mode.RESUME, 1): [*_TYPED, *((SPAWNED, *typed) for typed in _TYPED)],
    (Mode.RESUME, 0): [(SPAWNED,)],
    (Mode.NEW, 1): [(SPAWNED, *typed) for typed in _TYPED],
    (Mode.STOP, 1): [(*typed, NOTE, STOPPING) for typed in _TYPED],
    (Mode.STOP, 0): [(STOPPING,)],
}
"""Every whole story."""


@pytest.mark.parametrize(
    ("mode", "steps", "story"), [(mode, steps, story) for (mode, steps), stories in LEGAL.items() for story in stories]
)
def test_legal_stories(mode: Mode, steps: int, story: tuple[Effect, ...]) -> None:
    made = marker(mode, *story, steps=steps)
    assert made.effects == story
    assert made.phase == story[-1].value


@pytest.mark.parametrize(("mode", "steps"), LEGAL)
def test_anything_else_is_illegal_and_changes_nothing(mode: Mode, steps: int) -> None:
    begun = {story[:length] for story in LEGAL[mode, steps] for length in range(len(story) + 1)}
    for before, effect in itertools.product(begun, Effect):
        made = marker(mode, *before, steps=steps)
        if (*before, effect) in begun:
            continue
        with pytest.raises(IllegalEffect, match=f"{effect.value} cannot follow {made.phase}"):
            made.after(effect)
        assert made.effects == before


def test_every_mode_has_its_table() -> None:
    assert set(EFFECTS) == set(Mode)


def test_a_marker_without_effects_is_claimed() -> None:
    assert marker().phase == "claimed"


def test_an_enter_is_at_least_assumed_and_never_falls() -> None:
    made = marker(Mode.STOP, ATTEMPTED, TEXT)
    assert made.submitted is Submitted.NO
    made = made.after(ENTER, enter_at=5)
    assert (made.submitted, made.enter_at) == (Submitted.ASSUMED, 5)
    made = made.after(NOTE, Submitted.CONFIRMED).after(STOPPING)
    assert (made.submitted, made.enter_at) == (Submitted.CONFIRMED, 5)


def test_what_a_result_says_of_its_request() -> None:
    assert marker(Mode.STOP).subject == Subject(1, "stop", Mode.STOP, ID, 1)


def test_what_is_written() -> None:
    data = encode_marker(marker(Mode.RESUME, SPAWNED, ATTEMPTED).after(ENTER, enter_at=DEADLINE - 1))
    assert data.endswith(b"}\n")
    assert json.loads(data) == {
        "version": 1,
        "action": "open",
        "mode": "resume",
        "request": STEM,
        "sessionId": ID,
        "deadline": DEADLINE,
        "steps_total": 1,
        "phase": "enter-written",
        "effects": ["spawned", "prompt-attempted", "enter-written"],
        "submitted": "assumed",
        "enter_at": DEADLINE - 1,
    }


@pytest.mark.parametrize(
    ("mode", "steps", "story"),
    [
        (mode, steps, story[:length])
        for (mode, steps), stories in LEGAL.items()
        for story in stories
        for length in range(len(story) + 1)
    ],
)
def test_what_was_written_is_read_back(mode: Mode, steps: int, story: tuple[Effect, ...]) -> None:
    made = marker(mode, *story, steps=steps)
    assert decode_marker(encode_marker(made), STEM) == made


def changed(**fields: Any) -> bytes:
    return json.dumps({**json.loads(encode_marker(marker())), **fields}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"[" * 30_000,
        b"[" * 30_000 + b"]" * 30_000,
        changed(request="another"),
        changed(request=None),
        changed(mode="fork"),
        changed(mode=None),
        changed(sessionId=5),
        changed(sessionId="name"),
        changed(sessionId="\ud800"),
        changed(deadline="soon"),
        changed(deadline=1.5),
        changed(steps_total=2),
        changed(steps_total=-1),
        changed(steps_total=True),
        changed(effects=None),
        changed(effects=["enter-written"]),
        changed(effects=["spawned", "spawned"]),
        changed(effects=["flown"]),
        changed(effects=[[]]),
        changed(submitted="surely"),
        changed(submitted=1),
        changed(enter_at=1e300),
        changed(enter_at=-1),
        changed(enter_at="now"),
        json.dumps({"request": STEM}).encode(),
    ],
)
def test_garbage_is_no_marker_of_ours(data: bytes) -> None:
    assert decode_marker(data, STEM) is None


def test_a_submission_without_an_effect_is_not_believed() -> None:
    found = decode_marker(changed(submitted="confirmed"), STEM)
    assert found is not None
    assert found.submitted is Submitted.NO


def test_fields_of_a_later_version_are_ignored() -> None:
    assert decode_marker(changed(later={"a": 1}), STEM) == marker()


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_reading_never_fails(data: bytes) -> None:
    decode_marker(data, STEM)


@given(
    st.dictionaries(
        st.sampled_from(list(json.loads(encode_marker(marker())))),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    )
)
def test_reading_what_is_nearly_right_never_fails(fields: dict[str, Any]) -> None:
    decode_marker(changed(**fields), STEM)
