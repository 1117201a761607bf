"""The draft against a plain string with a cursor: exact while it is small, never too low when it is not."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switchboard.sessions import draft as draft_module
from switchboard.sessions.draft import KEPT_RUNS, MAX_RUNS, MAX_WORD_RUNS, Draft

SPACE = r"[\s\ufeff]"


class Plain:
    """The obvious editor, which keeps the text."""

    def __init__(self) -> None:
        self.before = ""
        self.after = ""

    def __len__(self) -> int:
        return len(self.before) + len(self.after)

    def insert(self, text: str) -> None:
        self.before += text

    def clear(self) -> None:
        self.before = self.after = ""

    @property
    def escaped(self) -> bool:
        return self.before.endswith("\\") or self.after.endswith("\\")

    def break_line(self) -> None:
        if not self.before.endswith("\\"):
            self.end()
        self.before = self.before[:-1] + "\n"

    def delete_behind(self) -> None:
        self.before = self.before[:-1]

    def delete_ahead(self) -> None:
        self.after = self.after[1:]

    def delete_word_behind(self) -> None:
        self.before = re.sub(rf"[^\s\ufeff]*{SPACE}*\Z", "", self.before, count=1)

    def delete_to_end(self) -> None:
        self.after = ""

    def home(self) -> None:
        self.before, self.after = "", self.before + self.after

    def end(self) -> None:
        self.before, self.after = self.before + self.after, ""

    def left(self) -> None:
        self.before, self.after = self.before[:-1], self.before[-1:] + self.after

    def right(self) -> None:
        self.before, self.after = self.before + self.after[:1], self.after[1:]

    def word_left(self) -> None:
        moved = re.search(rf"[^\s\ufeff]*{SPACE}*\Z", self.before).group()
        self.before, self.after = self.before[: len(self.before) - len(moved)], moved + self.after

    def word_right(self) -> None:
        moved = re.match(rf"{SPACE}*[^\s\ufeff]*", self.after).group()
        self.before, self.after = self.before + moved, self.after[len(moved) :]


EDITS = [
    "delete_behind",
    "delete_ahead",
    "delete_word_behind",
    "delete_to_end",
    "home",
    "end",
    "left",
    "right",
    "word_left",
    "word_right",
]
TEXTS = st.text("ab \n\u00a0é\ufeff\ufffc\\", min_size=1, max_size=12)
STEPS = st.lists(TEXTS.map(lambda text: ("insert", text)) | st.sampled_from([(name,) for name in EDITS]), max_size=60)


def play(editor: Draft | Plain, step: tuple[str, ...]) -> None:
    getattr(editor, step[0])(*step[1:])


@given(STEPS)
@settings(max_examples=400, deadline=None)
def test_counts_like_a_plain_editor(steps: list[tuple[str, ...]]) -> None:
    draft, plain = Draft(), Plain()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draft_module, "MAX_WORD_RUNS", 1000)
        for step in steps:
            play(draft, step)
            play(plain, step)
            assert len(draft) == len(plain), step
            assert draft.escaped() == plain.escaped, step
            if draft.escaped() and step == ("end",):
                draft.break_line()
                plain.break_line()


def test_a_line_break_takes_the_place_of_its_backslash() -> None:
    draft = Draft()
    draft.insert("one two\\\\")
    draft.break_line()
    assert (len(draft), draft.escaped()) == (9, False)
    draft.delete_behind()
    assert (len(draft), draft.escaped()) == (8, True)
    draft.home()
    draft.break_line()  # the one at the end of the text
    draft.insert("x")
    draft.delete_word_behind()
    assert (len(draft), draft.escaped()) == (8, False)
    draft.delete_word_behind()
    assert len(draft) == 4


@pytest.mark.parametrize(("count", "odd"), [(0, False), (1, True), (2, False), (3, True)])
def test_backslashes_in_pairs(count: int, odd: bool) -> None:
    draft = Draft()
    draft.insert("a\\b" + "\\" * count)
    assert draft.escaped(in_pairs=True) is odd
    assert draft.escaped() is (count > 0)
    draft.home()
    assert draft.escaped(in_pairs=True) is odd
    if odd:
        draft.break_line(in_pairs=True)
        assert (len(draft), draft.escaped(in_pairs=True)) == (3 + count, False)


def test_a_backslash_survives_a_snapshot() -> None:
    draft = Draft()
    draft.insert("a\\")
    assert Draft.restored(json.loads(json.dumps(draft.snapshot()))).escaped()


def test_a_step_over_a_word_of_many_backslashes_is_bounded_and_never_too_low() -> None:
    draft = Draft()
    draft.insert("a\\" * 1000)
    draft.delete_word_behind()
    assert len(draft) == 2000 - MAX_WORD_RUNS
    draft.word_left()
    draft.delete_to_end()  # the place is unknown now
    assert len(draft) == 2000 - MAX_WORD_RUNS


@given(STEPS, st.data())
@settings(max_examples=400, deadline=None)
def test_never_counts_less_than_there_is_when_runs_are_blurred(
    steps: list[tuple[str, ...]], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draft_module, "MAX_RUNS", data.draw(st.integers(2, 6)))
        patch.setattr(draft_module, "KEPT_RUNS", data.draw(st.integers(1, 4)))
        patch.setattr(draft_module, "MAX_EXACT_INSERT", data.draw(st.integers(1, 8)))
        draft, plain = Draft(), Plain()
        for number, step in enumerate(steps):
            play(draft, step)
            play(plain, step)
            assert len(draft) >= len(plain), (number, step)
            if data.draw(st.booleans()):
                before = len(draft)
                draft = Draft.restored(json.loads(json.dumps(draft.snapshot())))
                assert len(draft) == before


def test_a_word_in_blurred_text_goes_one_code_point_at_a_time() -> None:
    draft = Draft()
    draft.insert("word " * MAX_RUNS)
    full = len(draft)
    restored = Draft.restored(draft.snapshot())
    for _ in range(KEPT_RUNS // 2):
        restored.delete_word_behind()
    assert len(restored) == full - 5 * KEPT_RUNS // 2
    restored.delete_word_behind()
    assert len(restored) == full - 5 * KEPT_RUNS // 2 - 1


def test_at_an_unknown_place_only_clearing_deletes() -> None:
    draft = Draft.restored({"before": [402, 12], "after": [], "place_known": True, "lost": False})
    assert len(draft) == 103
    draft.word_left()
    for name in ("delete_to_end", "delete_behind", "delete_word_behind", "delete_ahead", "left", "right"):
        getattr(draft, name)()
        assert len(draft) == 103, name
    draft.insert("xy")
    assert len(draft) == 105


def test_an_unknown_place_survives_a_snapshot() -> None:
    draft = Draft.restored({"before": [402], "after": [], "place_known": False, "lost": False})
    draft = Draft.restored(draft.snapshot())
    draft.delete_behind()
    assert len(draft) == 100


def test_what_is_inserted_at_an_unknown_place_is_blurred() -> None:
    """It may have gone anywhere, so it is not the word that Ctrl+W takes at the end."""
    draft = Draft.restored({"before": [402], "after": [], "place_known": False, "lost": False})
    draft.insert("long-word")
    draft.end()
    draft.delete_word_behind()
    assert len(draft) == 108


@pytest.mark.parametrize(
    ("key", "kill"), [("home", "delete_to_end"), ("home", "delete_ahead"), ("end", "delete_behind")]
)
def test_home_and_end_make_the_place_known_again(key: str, kill: str) -> None:
    draft = Draft.restored({"before": [402, 12], "after": [], "place_known": False, "lost": False})
    getattr(draft, key)()
    getattr(draft, kill)()
    assert len(draft) == (0 if kill == "delete_to_end" else 102)


def test_a_lost_draft_is_text_until_it_is_cleared() -> None:
    draft = Draft()
    draft.occupy()
    for name in EDITS * 2:
        getattr(draft, name)()
        assert len(draft) == 1, name
    draft = Draft.restored(draft.snapshot())
    draft.home()
    draft.delete_to_end()
    assert len(draft) == 1
    draft.clear()
    assert len(draft) == 0


@pytest.mark.parametrize(
    "snapshot",
    [
        None,
        [],
        {},
        {"before": [], "after": [], "place_known": 1, "lost": False},
        {"before": [], "after": [], "place_known": True},
        {"before": "ab", "after": [], "place_known": True, "lost": False},
        {"before": [4, "4"], "after": [], "place_known": True, "lost": False},
        {"before": [True], "after": [], "place_known": True, "lost": False},
        {"before": [0], "after": [], "place_known": True, "lost": False},
        {"before": [-4], "after": [], "place_known": True, "lost": False},
        {"before": [3], "after": [], "place_known": True, "lost": False},
        {"before": [4 * 2**60], "after": [], "place_known": True, "lost": False},
        {"before": [], "after": [4] * 1000, "place_known": True, "lost": False},
    ],
)
def test_garbage_is_no_draft(snapshot: object) -> None:
    with pytest.raises(ValueError, match="not a draft"):
        Draft.restored(snapshot)


def test_memory_and_snapshot_stay_small() -> None:
    draft = Draft()
    for _ in range(300):
        draft.insert("a " * 1000)
    draft.home()
    assert len(draft) == 600_000
    assert len(draft._after._runs) <= MAX_RUNS + 1
    assert len(json.dumps(draft.snapshot())) < 4096


def test_home_and_end_do_not_walk_through_the_text() -> None:
    """100,000 times over 16,000 runs: minutes if each walked, well under a second when rows are swapped."""
    draft = Draft()
    draft.insert("a " * (MAX_RUNS // 2))
    started = time.process_time()
    for _ in range(100_000):
        draft.home()
        draft.end()
    assert time.process_time() - started < 10
