"""When a session may be ended, row by row, to the millisecond. The stop is asked for at `T`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.delivery.test_waits import GONE, T, at, kind, play

from switchboard.common.facts import CliStatus, ComposerView, Facts
from switchboard.delivery import reasons as delivery
from switchboard.delivery.waits import DONE, Ending, Kind
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.v1_stop_gate import AccountedFor, StopGate, StopRefused

QUIET, SETTLE, DEADLINE = 3_000, 300, 60_000
LONG_AGO = -3_600_000


def gate(deadline: int = DEADLINE, quiet: int = QUIET, accounted: AccountedFor | None = None) -> StopGate:
    return StopGate(at(deadline), quiet, SETTLE, accounted)


def session(
    name: str | None = "idle",
    stamp: int | None = LONG_AGO,
    *,
    busy: bool = False,
    pending: int = 0,
    last: int = LONG_AGO,
    waiting_for: str | None = None,
) -> Facts:
    status = None if name is None else CliStatus(name, None if stamp is None else at(stamp), waiting_for)
    return Facts(busy=busy, status=status, composer=ComposerView(pending, at(last)))


def refused(ending: Ending | None) -> tuple[str | None, str | None]:
    assert isinstance(ending, StopRefused), ending
    return ending.reason, ending.detail


class TestAtOnce:
    def test_an_idle_session_with_an_empty_quiet_composer(self) -> None:
        assert play(gate(), (0, session())) == DONE

    def test_nobody_has_ever_typed(self) -> None:
        assert play(gate(), (0, replace(session(), composer=ComposerView(0, 0)))) == DONE

    def test_a_zero_stamp_of_the_last_key_needs_no_time_of_day(self) -> None:
        """`lastInputAt || 0`: the epoch counts as a time long ago, also right after it."""
        wait = StopGate(10_000, QUIET, SETTLE)
        facts = Facts(status=CliStatus("idle", 0), composer=ComposerView(0, 0))
        assert wait.observe(facts, 3_000) == DONE

    @pytest.mark.parametrize(
        ("facts", "reason"),
        [
            (session(busy=True), reasons.BUSY),
            (session("busy"), reasons.BUSY),
            (session("busy", None), reasons.BUSY),
            (session("waiting"), reasons.DIALOG),
            (session("waiting", None), reasons.DIALOG),
            (session("shell"), reasons.SHELL),
            (session("shell", None), reasons.SHELL),
            (session(None), reasons.STATE_UNAVAILABLE),
            (session("idle", None), reasons.STATE_UNAVAILABLE),
            (Facts(status=CliStatus(None, T)), reasons.STATE_UNAVAILABLE),
            (session(pending=1), reasons.UNSUBMITTED),
            (session(pending=1, last=0), reasons.UNSUBMITTED),
            (replace(session(), composer=None), reasons.COMPOSER_UNAVAILABLE),
        ],
        ids=[
            *("busy flag", "busy", "busy without a stamp", "waiting", "waiting without a stamp", "shell"),
            *("shell without a stamp", "no descriptor", "idle without a stamp", "no known status"),
            *("unsubmitted", "unsubmitted and recent", "composer unseen"),
        ],
    )
    def test_is_refused(self, facts: Facts, reason: str) -> None:
        assert refused(play(gate(), (0, facts)))[0] == reason

    @pytest.mark.parametrize(
        ("facts", "reason"),
        [
            (session("waiting", busy=True), reasons.BUSY),
            (session("busy", pending=3), reasons.BUSY),
            (session("waiting", pending=3), reasons.DIALOG),
            (replace(session("shell"), composer=None), reasons.SHELL),
            (replace(session(None), composer=None), reasons.STATE_UNAVAILABLE),
        ],
        ids=["busy before waiting", "busy before composer", "waiting before composer", "shell", "unknown"],
    )
    def test_the_order_of_the_looks(self, facts: Facts, reason: str) -> None:
        assert refused(play(gate(), (0, facts)))[0] == reason

    def test_the_composers_own_words_are_the_detail(self) -> None:
        assert refused(play(gate(), (0, session(pending=7))))[1] == delivery.composer_pending("7")
        assert refused(play(gate(), (0, replace(session(), composer=None))))[1] == delivery.COMPOSER_UNSEEN

    def test_the_dialogs_name_is_the_detail(self) -> None:
        facts = session("waiting", waiting_for="permission prompt")
        assert refused(play(gate(), (0, facts))) == (reasons.DIALOG, "permission prompt")

    def test_an_ended_process_is_told(self) -> None:
        assert kind(play(gate(), (0, GONE))) is Kind.EXITED


class TestQuiet:
    def test_the_quiet_window_is_waited_for_and_its_end_is_quiet(self) -> None:
        recent = session(last=-100)
        assert play(gate(), (0, recent), (QUIET - 101, recent), (QUIET - 100, recent)) == DONE

    def test_admission_exactly_at_its_end(self) -> None:
        assert play(gate(), (0, session(last=-QUIET))) == DONE

    def test_a_window_of_another_length(self) -> None:
        recent = session(last=0)
        assert play(gate(quiet=700), (0, recent), (699, recent), (700, recent)) == DONE

    @pytest.mark.parametrize("deadline", [QUIET - 1, QUIET])
    def test_a_deadline_before_or_at_its_end_refuses(self, deadline: int) -> None:
        recent = session(last=0)
        reason, detail = refused(play(gate(deadline), (0, recent), (deadline, recent)))
        assert reason == reasons.NOT_QUIET
        if deadline < QUIET:
            assert detail == delivery.composer_recent(str(deadline), str(QUIET))

    def test_a_deadline_just_after_its_end_does_not(self) -> None:
        recent = session(last=0)
        assert play(gate(QUIET + 1), (0, recent), (QUIET, recent)) == DONE

    def test_another_key_that_leaves_it_empty_starts_the_window_anew(self) -> None:
        looks = [(0, session(last=-100)), (2_000, session(last=2_000)), (4_999, session(last=2_000))]
        assert play(gate(), *looks, (5_000, session(last=2_000))) == DONE

    @pytest.mark.parametrize(
        ("then", "reason"),
        [
            (session(pending=1, last=1_000), reasons.UNSUBMITTED),
            (replace(session(), composer=None), reasons.COMPOSER_UNAVAILABLE),
            (session("busy", 1_000), reasons.BUSY),
            (session(busy=True), reasons.BUSY),
            (session("waiting", 1_000), reasons.DIALOG),
            (session("shell", 1_000), reasons.SHELL),
            (session(None), reasons.STATE_UNAVAILABLE),
        ],
        ids=["text", "composer lost", "busy", "busy flag", "dialog", "shell", "descriptor lost"],
    )
    def test_what_comes_meanwhile_refuses_at_once(self, then: Facts, reason: str) -> None:
        assert refused(play(gate(), (0, session(last=-100)), (1_000, then)))[0] == reason

    def test_while_waiting_the_deadline_beats_what_is_seen_then(self) -> None:
        looks = [(0, session(last=-100)), (1_000, session("busy", 1_000, pending=1))]
        assert refused(play(gate(1_000), *looks))[0] == reasons.NOT_QUIET

    def test_at_the_first_look_what_is_seen_counts(self) -> None:
        assert refused(play(gate(0), (0, session("busy"))))[0] == reasons.BUSY


class TestSettling:
    """An idle of some milliseconds between two queued turns is none."""

    def test_a_young_idle_is_waited_for(self) -> None:
        young = session("idle", -5)
        assert play(gate(), (0, young), (294, young), (295, young)) == DONE

    def test_and_refused_when_the_next_turn_begins(self) -> None:
        assert refused(play(gate(), (0, session("idle", -5)), (10, session("busy", 10))))[0] == reasons.BUSY

    def test_a_new_stamp_starts_the_time_anew(self) -> None:
        looks = [(0, session("idle", -5)), (200, session("idle", 190)), (499, session("idle", 190))]
        assert play(gate(), *looks, (500, session("idle", 190))) == DONE

    def test_a_stamp_of_the_future_counts_from_now(self) -> None:
        ahead = session("idle", 9_000)
        assert play(gate(), (0, ahead), (299, ahead), (300, ahead)) == DONE

    def test_a_deadline_before_it_has_settled_is_no_matter_of_input(self) -> None:
        young = session("idle", -5)
        assert refused(play(gate(200), (0, young), (200, young))) == (reasons.TIMED_OUT, delivery.IDLE_TOO_BRIEF)

    def test_unless_the_quiet_window_lasts_as_long(self) -> None:
        young = session("idle", -5, last=200 - QUIET)
        assert refused(play(gate(200), (0, young), (200, young)))[0] == reasons.NOT_QUIET


class TestAfterTheNote:
    """The transcript has shown the last turn to be over while background work holds the CLI at busy."""

    HELD = Facts(busy=True, busy_changed_at=at(-50), status=CliStatus("busy", at(-40)))
    KNOWN = AccountedFor(CliStatus("busy", at(-40)), at(-50))

    def test_what_is_accounted_for_does_not_hold(self) -> None:
        assert play(gate(accounted=self.KNOWN), (0, self.HELD)) == DONE

    @pytest.mark.parametrize(
        ("facts", "reason"),
        [
            (replace(HELD, status=CliStatus("busy", at(5))), reasons.BUSY),
            (replace(HELD, busy_changed_at=at(5)), reasons.BUSY),
            (replace(HELD, busy=False, status=CliStatus("waiting", at(5))), reasons.DIALOG),
            (replace(HELD, busy=False, status=CliStatus("shell", at(5))), reasons.SHELL),
            (replace(HELD, busy=False, status=None), reasons.STATE_UNAVAILABLE),
            (replace(HELD, composer=ComposerView(2, at(1))), reasons.UNSUBMITTED),
            (replace(HELD, composer=None), reasons.COMPOSER_UNAVAILABLE),
        ],
        ids=["a newer busy", "the flag changed", "a dialog", "a shell", "descriptor lost", "new text", "composer lost"],
    )
    def test_anything_newer_does(self, facts: Facts, reason: str) -> None:
        assert refused(play(gate(accounted=self.KNOWN), (10, facts)))[0] == reason
