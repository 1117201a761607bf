"""Input that is refused: as a whole, told once, and no program stays inside a paste."""

from __future__ import annotations

import pytest

from switchboard.sessions.input_run import PASTE_END, PASTE_START, PAUSE_MS, TELL_AGAIN_MS, InputRun


def typed(run: InputRun, *frames: tuple[bytes, int], more: bool = False, now: int = 10_000) -> tuple[bytes, list[str]]:
    """Take frames, each with its room, one millisecond apart; return what is written and what is told."""
    written, told = b"", []
    for number, (data, room) in enumerate(frames):
        written += run.take(data, room, now + number, more=more)
        if run.refusal is not None:
            told.append(run.refusal)
    return written, told


def test_what_there_is_room_for_passes() -> None:
    assert typed(InputRun(), (b"a", 1), (PASTE_START + b"b" + PASTE_END, 99)) == (b"a\x1b[200~b\x1b[201~", [])


def test_a_paste_that_was_refused_in_its_middle_is_over_for_the_program() -> None:
    run = InputRun()
    frames = [(PASTE_START + b"one", 99), (b"two", 2), (b"three", 99), (b"four" + PASTE_END + b"x", 99), (b"y", 99)]
    assert typed(run, *frames) == (b"\x1b[200~one\x1b[201~xy", ["rest"])


def test_a_paste_that_was_refused_from_its_start_leaves_nothing() -> None:
    frames = [(PASTE_START + b"one", 2), (b"two", 99), (PASTE_END, 99), (b"x", 99)]
    assert typed(InputRun(), *frames) == (b"x", ["all"])


@pytest.mark.parametrize("cut", range(1, 6))
def test_markers_are_found_wherever_they_are_cut(cut: int) -> None:
    frames = [
        (PASTE_START[:cut], 99),
        (PASTE_START[cut:] + b"one", 99),
        (b"two", 0),
        (b"three" + PASTE_END[:cut], 99),
        (PASTE_END[cut:] + b"x", 99),
    ]
    assert typed(InputRun(), *frames) == (b"\x1b[200~one\x1b[201~x", ["rest"])


def test_text_with_half_a_marker_ends_no_paste() -> None:
    frames = [(PASTE_START, 99), (b"two", 0), (b"\x1b[201", 99), (b"x", 99), (PASTE_END, 99), (b"y", 99)]
    assert typed(InputRun(), *frames) == (PASTE_START + PASTE_END + b"y", ["rest"])


def test_after_the_refused_paste_another_may_be_refused_and_is_told() -> None:
    run = InputRun()
    frames = [(PASTE_START + b"one", 99), (b"two", 0), (PASTE_END + b"more", 0), (b"again", 99)]
    assert typed(run, *frames) == (PASTE_START + b"one" + PASTE_END, ["rest", "all"])
    assert typed(run, (b"later", 99), now=20_000) == (b"later", [])


def test_a_run_without_markers_goes_on_until_a_pause() -> None:
    run = InputRun()
    assert typed(run, (b"one", 3), (b"two", 2), (b"three", 99)) == (b"one", ["all"])
    assert run.take(b"early", 99, 10_002 + PAUSE_MS - 1) == b""
    assert run.take(b"key", 99, 10_001 + 2 * PAUSE_MS) == b"key"


def test_a_run_whose_frames_say_that_more_follows_waits_for_its_last_one() -> None:
    run = InputRun()
    assert typed(run, (b"one", 3), (b"two", 2), more=True) == (b"one", ["rest"])
    assert run.take(b"three", 99, 90_000, more=True) == b""
    assert run.take(b"last", 99, 180_000) == b""
    assert run.refusal is None
    assert run.take(b"key", 99, 270_000) == b"key"


def test_a_clock_that_was_set_back_holds_nobody_up() -> None:
    run = InputRun()
    assert typed(run, (b"one", 0)) == (b"", ["all"])
    assert run.take(b"key", 99, 5) == b"key"


def test_who_types_on_is_told_again_after_a_while() -> None:
    run = InputRun()
    told = []
    for now in range(10_000, 10_000 + TELL_AGAIN_MS + 200, 100):
        assert run.take(b"k", 0, now) == b""
        told.append(run.refusal)
    assert told.count("all") == 2
    assert told[0] == told[TELL_AGAIN_MS // 100] == "all"


def test_a_page_that_leaves_within_a_paste_owes_the_end_once() -> None:
    run = InputRun()
    assert typed(run, (PASTE_START + b"one", 99)) == (PASTE_START + b"one", [])
    assert [run.leave(), run.leave()] == [PASTE_END, b""]
