"""Reporting that cannot do harm and does not repeat itself."""

from __future__ import annotations

from tests.support.spool_stage import Notes

from switchboard.triggers.say import REMEMBERED, LeftAlone, Problems, Reporter, Silent


def test_levels_reach_the_log() -> None:
    notes = Notes()
    reporter = Reporter(notes)
    reporter.info("a")
    reporter.warning("b")
    reporter.error("c")
    assert notes.lines == ["info triggers: a", "warning triggers: b", "error triggers: c"]


def test_the_very_same_is_said_once_and_memory_is_bounded() -> None:
    notes = Notes()
    reporter = Reporter(notes)
    for number in [*range(REMEMBERED + 1), 5, 5, 0]:
        reporter.once(f"<{number}>")
    assert len(notes.about("<5>")) == 1
    assert len(notes.about("<0>")) == 2, "the oldest is forgotten"


def test_a_log_that_raises_is_survived() -> None:
    class Broken(Notes):
        def warning(self, message: str) -> None:
            raise OSError

    Reporter(Broken()).once("a")


def test_the_first_that_is_left_alone_is_named_until_it_is_gone_and_the_others_are_counted() -> None:
    told: list[str | None] = []
    there = {"a.json", "b.json", "c.json"}
    left = LeftAlone(Problems(told.append), there.__contains__)
    left.look()
    assert told == []
    for name in sorted(there):
        left.add(name, "why")
    assert told[-1] == "trigger 'a.json' (and 2 more) is left alone: why"
    left.look("b.json")
    assert list(left) == ["a.json", "b.json", "c.json"], "it is still there"
    there -= {"b.json"}
    left.look("b.json")
    assert told[-1] == "trigger 'a.json' (and 1 more) is left alone: why"
    there.clear()
    left.look()
    assert told[-1] is None
    assert "c.json" not in left


def test_silence() -> None:
    Reporter(Silent()).error("a")
