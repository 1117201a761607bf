"""The wait for the last turn before a stop, row by row, to the millisecond. The Enter is at `T`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.stage import transcript
from tests.unit.delivery.test_waits import GONE, T, at, kind, play, status

from switchboard.common.clock import FOREVER
from switchboard.common.facts import CliStatus, Facts, TurnEvidence
from switchboard.delivery.final_turn import FinalTurnWait
from switchboard.delivery.reactions import Pulse
from switchboard.delivery.waits import Ending, Kind

NOTE = "write your note"
SETTLE, QUIET, DEADLINE = 300, 5_000, 60_000


def final(command: str = NOTE, confirmed: bool = False, deadline: int = DEADLINE, risen: bool = False) -> FinalTurnWait:
    return FinalTurnWait(T, command, confirmed, at(deadline), SETTLE, QUIET, Pulse(0, risen))


def shown(facts: Facts, evidence: TurnEvidence | None) -> Facts:
    return replace(facts, transcript=evidence)


TAKEN = transcript((at(1), NOTE), modified_at=at(1))
CLOSED = transcript((at(1), NOTE), closed_at=at(900), modified_at=at(1_000))


def done(source: str, name: str | None = None) -> Ending:
    return Ending(Kind.DONE, source=source, status=name, activity=True)


class TestDescriptor:
    def test_idle_since_the_enter_that_holds_ends_the_turn_of_a_confirmed_text(self) -> None:
        looks = [(10, status("busy", 5)), (500, status("idle", 490)), (799, status("idle", 490))]
        assert play(final(confirmed=True), *looks, (800, status("idle", 490))) == done("descriptor", "idle")

    def test_a_status_since_the_enter_is_proof_of_the_text_where_no_transcript_can_be_read(self) -> None:
        looks = [(10, status("busy", 5)), (500, status("idle", 490))]
        assert play(final(), *looks, (800, status("idle", 490))) == done("descriptor", "idle")

    def test_a_blip_of_idle_starts_the_time_anew(self) -> None:
        looks = [(500, status("idle", 490)), (510, status("busy", 510)), (900, status("idle", 890))]
        assert play(final(confirmed=True), *looks, (1_199, status("idle", 890))) is None

    def test_a_new_stamp_of_idle_starts_the_time_anew(self) -> None:
        looks = [(500, status("idle", 490)), (700, status("idle", 700)), (800, status("idle", 700))]
        assert play(final(confirmed=True), *looks, (999, status("idle", 700))) is None

    @pytest.mark.parametrize(
        "facts",
        [status("idle", -1), status("idle", None), status("waiting", 5), status("shell", 5), status("busy", 5)],
        ids=["an old idle", "no usable stamp", "dialog", "shell", "busy"],
    )
    def test_anything_else_does_not(self, facts: Facts) -> None:
        assert play(final(confirmed=True), (0, facts), (5_000, facts)) is None

    def test_a_readable_transcript_without_the_text_contradicts_the_status(self) -> None:
        """Something else made the CLI work and go idle: the text may be in the box still."""
        other = transcript((at(1), "another prompt"), closed_at=at(900), modified_at=at(1_000))
        looks = [(10, shown(status("busy", 5), other)), (500, shown(status("idle", 490), other))]
        assert play(final(confirmed=True), *looks, (50_000, shown(status("idle", 490), other))) is None

    def test_the_text_in_the_transcript_and_idle(self) -> None:
        looks = [(500, shown(status("idle", 490), TAKEN))]
        assert play(final(), *looks, (800, shown(status("idle", 490), TAKEN))) == done("descriptor", "idle")

    def test_an_entry_of_before_the_enter_is_another_one(self) -> None:
        before = transcript((at(-1), NOTE), modified_at=at(1))
        looks = [(500, shown(status("idle", 490), before))]
        assert play(final(confirmed=True), *looks, (9_000, shown(status("idle", 490), before))) is None

    @pytest.mark.parametrize("command", ["/wrap-up now", " !git stash", "/compact"])
    def test_what_the_cli_does_itself_need_not_be_recorded(self, command: str) -> None:
        other = transcript((at(1), "another prompt"), modified_at=at(1))
        looks = [(10, shown(status("busy", 5), other)), (500, shown(status("idle", 490), other))]
        assert play(final(command), *looks, (800, shown(status("idle", 490), other))) == done("descriptor", "idle")

    def test_an_unconfirmed_text_and_an_old_status_end_nothing(self) -> None:
        assert play(final(), (0, status("idle", -50)), (59_999, status("idle", -50))) is None


class TestTranscript:
    """A CLI whose background work holds it at busy."""

    @pytest.mark.parametrize("name", ["busy", "shell"])
    def test_the_text_then_a_closed_turn_then_quiet(self, name: str) -> None:
        facts = shown(status(name, 5), CLOSED)
        assert play(final(), (5_000, facts), (6_000, facts)) == done("transcript", name)

    def test_not_before_it_is_quiet(self) -> None:
        facts = shown(status("busy", 5), CLOSED)
        assert play(final(), (5_000, facts), (5_999, facts)) is None

    def test_a_turn_that_closed_before_the_text_is_another_one(self) -> None:
        early = transcript((at(950), NOTE), closed_at=at(900), modified_at=at(1_000))
        assert play(final(), (6_000, shown(status("busy", 5), early)), (9_000, shown(status("busy", 5), early))) is None

    def test_an_open_turn_is_not_over(self) -> None:
        facts = shown(status("busy", 5), TAKEN)
        assert play(final(), (6_000, facts), (50_000, facts)) is None

    def test_a_dialog_holds_it_back_and_its_time_must_have_passed(self) -> None:
        looks = [(6_000, shown(status("waiting", 5_900), CLOSED)), (7_000, shown(status("busy", 6_990), CLOSED))]
        assert play(final(), *looks, (7_300, shown(status("busy", 6_990), CLOSED))) is None
        assert final().observe(shown(status("waiting", 6_000), CLOSED), at(20_000)) is None

    def test_an_idle_cli_is_judged_by_its_status(self) -> None:
        """Idle stamped before the Enter: the CLI publishes more slowly than it writes, so its word is waited for."""
        facts = shown(status("idle", -5), CLOSED)
        assert play(final(), (6_000, facts), (9_000, facts)) is None

    def test_a_cli_without_a_status_is_judged_by_its_transcript(self) -> None:
        facts = shown(Facts(), CLOSED)
        assert play(final(), (5_999, facts), (6_000, facts)) == done("transcript")


class TestFlag:
    def test_a_rise_and_a_fall_that_holds(self) -> None:
        looks = [(10, Facts(busy=True, busy_changed_at=at(10))), (700, Facts(busy_changed_at=at(690)))]
        wait = final()
        assert play(wait, *looks, (999, Facts(busy_changed_at=at(690)))) is None
        assert wait.observe(Facts(busy_changed_at=at(690)), at(1_000)) == done("busy_flag")

    def test_a_flag_that_never_rose_is_no_turn(self) -> None:
        assert play(final(confirmed=True), (0, Facts()), (59_999, Facts())) is None

    def test_one_that_rose_before_the_wait_began_need_not_rise_again(self) -> None:
        assert play(final(risen=True), (0, Facts()), (300, Facts())) == done("busy_flag")

    def test_it_says_nothing_where_the_cli_publishes_a_status(self) -> None:
        facts = status("busy", 5)
        assert play(final(risen=True), (0, facts), (5_000, facts)) is None

    @pytest.mark.parametrize(
        "held",
        [CliStatus("waiting", None), CliStatus("busy", None), CliStatus("shell", None)],
        ids=lambda it: it.status,
    )
    def test_a_status_without_a_usable_stamp_proves_nothing_and_holds_back(self, held: CliStatus) -> None:
        facts = Facts(status=held)
        assert play(final(risen=True), (0, facts), (50_000, facts)) is None
        assert play(final(risen=True), (0, Facts(status=CliStatus("idle", None))), (300, Facts())) is not None

    @pytest.mark.parametrize("confirmed", [True, False])
    def test_what_the_cli_does_itself_need_not_be_recorded_once_it_is_confirmed(self, confirmed: bool) -> None:
        other = shown(Facts(), transcript((at(1), "another prompt"), modified_at=at(1)))
        ending = play(final("/wrap-up", confirmed, risen=True), (0, other), (300, other))
        assert ending == (done("busy_flag") if confirmed else None)

    def test_a_readable_transcript_must_show_the_text(self) -> None:
        other = transcript((at(1), "another prompt"), modified_at=at(1))
        assert play(final(risen=True), (0, shown(Facts(), other)), (50_000, shown(Facts(), other))) is None


class TestEnds:
    def test_the_deadline_comes_first(self) -> None:
        facts = status("idle", 1)
        wait = final(confirmed=True, deadline=400)
        assert play(wait, (100, facts), (400, facts)) == Ending(Kind.TIMED_OUT, status="idle")

    def test_a_dialog_at_the_deadline_is_told(self) -> None:
        ending = play(final(), (100, status("waiting", 50)), (DEADLINE, status("waiting", 50)))
        assert ending == Ending(Kind.TIMED_OUT, status="waiting", dialog=True)

    def test_an_exit_finishes_no_turn(self) -> None:
        assert kind(play(final(confirmed=True), (5, status("busy", 1)), (10, GONE))) is Kind.EXITED

    def test_it_looks_again_only_when_something_could_be_true(self) -> None:
        wait = final(confirmed=True)
        assert wait.observe(status("busy", 5), at(10)) is None
        assert wait.due == at(DEADLINE)
        assert wait.observe(status("idle", 20), at(30)) is None
        assert wait.due == at(330)
        assert wait.due != FOREVER
