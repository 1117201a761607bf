"""Every wait after an Enter, row by row, to the millisecond. The Enter is at `T`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.stage import transcript
from tests.unit.delivery.test_waits import GONE, T, at, kind, play, status

from switchboard.common.clock import FOREVER
from switchboard.common.facts import CliStatus, Facts
from switchboard.delivery.reactions import (
    BusyFallWait,
    CompactionWait,
    GapWait,
    Mode,
    PendingWait,
    Pulse,
    ReactionWait,
)
from switchboard.delivery.waits import Ending, Kind, TranscriptRule

BUSY = Facts(busy=True)


# --- the verification window ------------------------------------------------------------------------------------------


def window(mode: Mode = Mode.EDGE, deadline: float = FOREVER, own: str | None = None) -> ReactionWait:
    return ReactionWait(mode, T, at(2000), deadline if deadline == FOREVER else at(int(deadline)), Pulse(0), own)


class TestEdge:
    @pytest.mark.parametrize("name", ["busy", "idle", "waiting"])
    def test_a_status_stamped_at_the_enter_confirms(self, name: str) -> None:
        assert play(window(), (0, status(name, 0))) == Ending(Kind.DONE, source="descriptor", activity=True)

    @pytest.mark.parametrize(
        "facts",
        [status("idle", -1), status("shell", 5), status("busy", None), status(None, 5), Facts()],
        ids=["stamped before the Enter", "shell", "no usable stamp", "no status", "descriptor lost"],
    )
    def test_anything_else_does_not(self, facts: Facts) -> None:
        assert play(window(), (0, facts)) is None

    def test_the_busy_flag_is_activity_but_no_sign(self) -> None:
        looks = [(0, status("idle", -1)), (10, replace(BUSY, status=CliStatus("idle", at(-1))))]
        assert play(window(), *looks, (2000, status("idle", -1))) == Ending(Kind.WINDOW_OVER, activity=True)

    @pytest.mark.parametrize("name", ["busy", "shell"])
    def test_a_chain_step_is_confirmed_by_its_own_entry_while_the_cli_works(self, name: str) -> None:
        facts = replace(status(name, -1), transcript=transcript((at(0), "do it")))
        assert play(window(own="do it"), (5, facts)) == Ending(Kind.DONE, source="transcript", activity=True)

    @pytest.mark.parametrize(
        ("name", "entry", "own"),
        [("idle", at(0), "do it"), ("busy", at(-1), "do it"), ("busy", at(0), "other"), ("busy", at(0), None)],
        ids=["not working", "entry before the Enter", "another prompt", "single trigger"],
    )
    def test_but_not_otherwise(self, name: str, entry: int, own: str | None) -> None:
        facts = replace(status(name, -1), transcript=transcript((entry, "do it")))
        assert play(window(own=own), (5, facts)) is None


class TestDuringATurn:
    """A turn was running as "do it" was typed: the next status may be the end of that one."""

    def window(self) -> ReactionWait:
        return ReactionWait(Mode.EDGE, T, at(2000), FOREVER, Pulse(0), recorded="do it")

    @pytest.mark.parametrize("name", ["busy", "idle", "waiting"])
    @pytest.mark.parametrize(
        ("prompts", "sign"),
        [([(at(0), "do it")], "descriptor"), ([(at(-1), "do it")], None), ([(at(0), "other")], None), ([], None)],
        ids=["own entry", "entry before the Enter", "another prompt", "no entry"],
    )
    def test_a_readable_transcript_must_show_it(
        self, name: str, prompts: list[tuple[int, str]], sign: str | None
    ) -> None:
        ending = play(self.window(), (5, replace(status(name, 5), transcript=transcript(*prompts))))
        assert (ending and ending.source) == sign

    def test_without_a_transcript_the_status_is_believed(self) -> None:
        assert play(self.window(), (5, status("idle", 5))) == Ending(Kind.DONE, source="descriptor", activity=True)

    def test_the_entry_alone_is_no_sign(self) -> None:
        facts = replace(status("busy", -1), transcript=transcript((at(0), "do it")))
        assert play(self.window(), (5, facts)) is None


class TestLevel:
    def test_the_busy_flag_is_the_sign(self) -> None:
        assert play(window(Mode.LEVEL), (0, BUSY)) == Ending(Kind.DONE, activity=True)

    def test_a_pulse_between_two_looks_is_one_too(self) -> None:
        assert play(window(Mode.LEVEL), (0, Facts()), (9, Facts(busy_changed_at=at(8)))) == Ending(
            Kind.DONE, activity=True
        )

    def test_a_descriptor_does_not_count(self) -> None:
        assert play(window(Mode.LEVEL), (0, status("busy", 0))) is None


class TestOrderInTheWindow:
    """Deadline, exit, sign, end of the window."""

    def test_the_deadline_comes_before_the_exit(self) -> None:
        assert kind(play(window(deadline=5), (5, GONE))) is Kind.TIMED_OUT

    def test_the_deadline_comes_before_the_sign_and_tells_of_it(self) -> None:
        assert play(window(deadline=5), (5, status("busy", 0))) == Ending(Kind.TIMED_OUT, activity=True)

    def test_the_exit_comes_before_the_sign(self) -> None:
        assert kind(play(window(), (0, replace(status("busy", 0), present=False)))) is Kind.EXITED

    def test_the_sign_comes_before_the_end_of_the_window(self) -> None:
        assert kind(play(window(), (2000, status("busy", 0)))) is Kind.DONE

    def test_the_window_ends_to_the_millisecond(self) -> None:
        wait = window()
        assert play(wait, (0, Facts()), (1999, Facts())) is None
        assert wait.due == at(2000)
        assert wait.observe(Facts(), at(2000)) == Ending(Kind.WINDOW_OVER)


# --- /compact ---------------------------------------------------------------------------------------------------------

OLD = ("old", at(-50), True)


def compacting(known: bool = True) -> CompactionWait:
    boundaries = transcript(boundaries=(OLD,)).boundaries
    return CompactionWait(T, at(5000), frozenset(boundaries) if known else None, Pulse(0))


def shows(*boundaries: tuple[str, int, bool]) -> Facts:
    return Facts(transcript=transcript(boundaries=boundaries))


class TestCompaction:
    def test_a_new_manual_boundary_confirms(self) -> None:
        ending = play(compacting(), (0, shows(OLD)), (900, shows(OLD, ("new", at(0), True))))
        assert ending == Ending(Kind.DONE, source="compact_boundary", activity=True)

    @pytest.mark.parametrize(
        "facts",
        [
            shows(OLD),
            shows(OLD, ("new", at(10), False)),
            shows(OLD, ("new", at(-1), True)),
            Facts(transcript=None),
            status("busy", 0),
        ],
        ids=["the old one", "automatic", "stamped before the Enter", "unreadable", "a running turn"],
    )
    def test_nothing_else_does(self, facts: Facts) -> None:
        assert play(compacting(), (900, facts)) is None

    def test_the_same_uuid_at_a_new_time_is_a_new_boundary(self) -> None:
        assert kind(play(compacting(), (9, shows(("old", at(5), True))))) is Kind.DONE

    def test_without_a_first_reading_nothing_can_confirm(self) -> None:
        looks = [(0, shows(("new", at(1), True))), (5000, shows(("new", at(1), True)))]
        assert play(compacting(known=False), *looks) == Ending(Kind.TIMED_OUT)

    def test_the_exit_comes_before_the_deadline(self) -> None:
        assert kind(play(compacting(), (5000, GONE))) is Kind.EXITED

    def test_the_deadline_comes_before_the_boundary(self) -> None:
        assert kind(play(compacting(), (5000, shows(("new", at(0), True))))) is Kind.TIMED_OUT

    @pytest.mark.parametrize("facts", [BUSY, status("busy", 0), Facts(busy_changed_at=at(1))])
    def test_a_turn_is_activity(self, facts: Facts) -> None:
        assert play(compacting(), (5, facts), (5000, Facts())) == Ending(Kind.TIMED_OUT, activity=True)


# --- waitForPendingConfirmation ---------------------------------------------------------------------------------------


def pending(deadline: int = 60_000, bound: int = 30_000) -> PendingWait:
    return PendingWait(T, "do it", at(deadline), at(bound))


def recorded(entry: int = 0, closed_at: int | None = None) -> Facts:
    evidence = transcript((at(entry), "do it"), closed_at=None if closed_at is None else at(closed_at))
    return replace(status("busy", -9), transcript=evidence)


class TestPending:
    def test_a_reaction_confirms(self) -> None:
        assert play(pending(), (5, status("idle", 0))) == Ending(Kind.DONE, source="descriptor", activity=True)

    @pytest.mark.parametrize("closed_at", [7, 8], ids=["closed with the entry", "closed after it"])
    def test_the_own_entry_in_a_closed_turn_confirms(self, closed_at: int) -> None:
        ending = play(pending(), (9, recorded(7, closed_at)))
        assert ending == Ending(Kind.DONE, source="transcript", activity=True)

    @pytest.mark.parametrize(
        "facts",
        [recorded(7, 6), recorded(7, None), recorded(-1, 8)],
        ids=["turn closed before the entry", "turn open", "entry before the Enter"],
    )
    def test_nothing_less_does(self, facts: Facts) -> None:
        assert play(pending(), (9, facts)) is None

    def test_without_an_own_entry_the_bound_ends_it(self) -> None:
        wait = pending()
        assert play(wait, (0, status("busy", -9)), (29_999, status("busy", -9))) is None
        assert wait.due == at(30_000)
        assert wait.observe(status("busy", -9), at(30_000)) == Ending(Kind.NO_OWN_ENTRY)

    def test_with_an_own_entry_only_the_deadline_does(self) -> None:
        assert play(pending(), (0, recorded()), (30_000, recorded()), (60_000, recorded())) == Ending(Kind.TIMED_OUT)

    def test_a_bound_that_is_not_before_the_deadline_counts_as_the_deadline(self) -> None:
        assert kind(play(pending(30_000), (0, status("busy", -9)), (30_000, status("busy", -9)))) is Kind.TIMED_OUT

    def test_evidence_comes_before_the_deadline(self) -> None:
        assert kind(play(pending(), (60_000, recorded(1, 2)))) is Kind.DONE

    def test_the_exit_comes_first(self) -> None:
        assert kind(play(pending(), (9, replace(status("idle", 5), present=False)))) is Kind.EXITED


# --- waitForBusyFall --------------------------------------------------------------------------------------------------


def fall(deadline: int = 60_000, risen: bool = False) -> BusyFallWait:
    return BusyFallWait(T, at(deadline), 300, at(2000), TranscriptRule(T, 3000), Pulse(0, risen))


class TestBusyFall:
    def test_the_deadline_comes_before_the_exit(self) -> None:
        assert kind(play(fall(9), (9, GONE))) is Kind.TIMED_OUT

    def test_the_exit_comes_before_everything_else(self) -> None:
        assert kind(play(fall(), (9000, GONE))) is Kind.EXITED

    def test_descriptor_idle_stamped_at_the_enter_held_for_the_settle_time(self) -> None:
        wait = fall()
        assert play(wait, (0, status("idle", 0)), (299, status("idle", 0))) is None
        assert wait.due == at(300)
        assert wait.observe(status("idle", 0), at(300)) == Ending(Kind.DONE, source="descriptor")

    def test_descriptor_idle_stamped_before_the_enter_proves_nothing(self) -> None:
        assert play(fall(), (0, status("idle", -1)), (1999, status("idle", -1))) is None

    def test_a_new_idle_stamp_starts_the_time_anew(self) -> None:
        wait = fall()
        assert play(wait, (0, status("idle", 0)), (200, status("idle", 200))) is None
        assert wait.due == at(500)

    def test_transcript_closed_after_the_enter_and_quiet(self) -> None:
        facts = replace(status("busy", 1), busy=True, transcript=transcript(closed_at=at(0), modified_at=at(10)))
        assert play(fall(), (5, facts), (3009, facts)) is None
        assert play(fall(), (3010, facts)) == Ending(Kind.DONE, source="transcript")

    def test_busy_flag_rise_then_down_for_the_settle_time(self) -> None:
        wait = fall()
        down = Facts(busy_changed_at=at(700))
        assert play(wait, (0, Facts()), (100, BUSY), (700, down), (999, down)) is None
        assert wait.due == at(1000)
        assert wait.observe(down, at(1000)) == Ending(Kind.DONE, source="busy_flag")

    def test_a_flicker_of_the_flag_starts_the_time_anew(self) -> None:
        wait = fall()
        assert play(wait, (100, BUSY), (200, Facts()), (400, BUSY), (500, Facts()), (799, Facts())) is None
        assert wait.observe(Facts(), at(800)) == Ending(Kind.DONE, source="busy_flag")

    def test_a_flicker_between_two_looks_starts_the_time_anew(self) -> None:
        wait = fall(risen=True)
        assert play(wait, (0, Facts()), (299, Facts(busy_changed_at=at(250)))) is None
        assert wait.due == at(550)

    def test_no_rise_until_the_bound(self) -> None:
        wait = fall()
        assert play(wait, (0, Facts()), (1999, Facts())) is None
        assert wait.due == at(2000)
        assert wait.observe(Facts(), at(2000)) == Ending(Kind.DONE, source="no_rise")

    def test_a_rise_seen_before_need_not_come_again(self) -> None:
        assert play(fall(risen=True), (0, Facts()), (300, Facts())) == Ending(Kind.DONE, source="busy_flag")

    def test_a_running_turn_is_awaited_beyond_the_rise_bound(self) -> None:
        assert play(fall(), (0, BUSY), (59_999, BUSY)) is None

    def test_a_dialog_on_the_way_is_told_at_the_deadline(self) -> None:
        dialog = replace(status("waiting", 5), busy=True)
        assert play(fall(), (5, dialog), (6, BUSY), (60_000, BUSY)) == Ending(Kind.TIMED_OUT, dialog=True)

    def test_the_deadline_beats_a_settle_that_ends_with_it(self) -> None:
        assert kind(play(fall(300), (0, status("idle", 0)), (300, status("idle", 0)))) is Kind.TIMED_OUT


# --- the pause between writes -----------------------------------------------------------------------------------------


def test_the_pause_ends_at_its_time_and_remembers_every_pulse() -> None:
    pulse = Pulse(0)
    wait = GapWait(at(50), pulse)
    assert wait.observe(Facts(), at(0)) is None
    assert not pulse.seen
    assert wait.observe(BUSY, at(10)) is None
    assert wait.observe(Facts(), at(49)) is None
    assert kind(wait.observe(Facts(), at(50))) is Kind.DONE
    assert pulse.seen
