"""Every wait before a write, row by row, to the millisecond. Times are relative to `T`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.common.clock import FOREVER
from switchboard.common.facts import CliStatus, ComposerView, Facts, TurnEvidence
from switchboard.delivery import reasons
from switchboard.delivery.reactions import BusyFallWait, CompactionWait, Mode, PendingWait, Pulse, ReactionWait
from switchboard.delivery.waits import (
    NEVER,
    CliIdleWait,
    ComposerWait,
    Ending,
    IdleFlagHold,
    IdleFlagWait,
    Kind,
    NoDialogWait,
    StartedWait,
    TranscriptRule,
    Wait,
)

T = 1_000_000
GONE = Facts(present=False)


def at(ms: int) -> int:
    return T + ms


def status(name: str | None, stamp: int | None = 0) -> Facts:
    return Facts(status=CliStatus(name, None if stamp is None else at(stamp)))


def play(wait: Wait, *looks: tuple[int, Facts]) -> Ending | None:
    """Show the machine each value at its time; all but the last must leave it waiting."""
    for ms, facts in looks[:-1]:
        assert wait.observe(facts, at(ms)) is None, f"ended at {ms}"
        assert wait.due > at(ms), f"asks to look again at {ms} at once"
    ms, facts = looks[-1]
    return wait.observe(facts, at(ms))


def kind(ending: Ending | None) -> Kind | None:
    return None if ending is None else ending.kind


# --- a CLI that was just started --------------------------------------------------------------------------------------


class TestStarted:
    STARTING = Facts(starting=True)

    def test_one_that_has_reported_itself_is_ready(self) -> None:
        assert kind(play(StartedWait(at(100)), (0, self.STARTING), (9, Facts()))) is Kind.DONE

    def test_exit_comes_before_started(self) -> None:
        assert kind(play(StartedWait(at(100)), (0, GONE))) is Kind.EXITED

    def test_started_comes_before_the_deadline(self) -> None:
        assert kind(play(StartedWait(at(100)), (100, Facts()))) is Kind.DONE

    def test_the_deadline_ends_it_to_the_millisecond(self) -> None:
        wait = StartedWait(at(100))
        assert play(wait, (0, self.STARTING), (99, self.STARTING)) is None
        assert wait.due == at(100)
        assert wait.observe(self.STARTING, at(100)) == Ending(Kind.TIMED_OUT)


# --- waitForIdle ------------------------------------------------------------------------------------------------------


class TestIdleFlag:
    def test_a_single_look_at_a_lowered_flag_is_enough(self) -> None:
        assert kind(play(IdleFlagWait(at(100)), (0, Facts()))) is Kind.DONE

    def test_exit_comes_before_the_flag(self) -> None:
        assert kind(play(IdleFlagWait(at(100)), (0, GONE))) is Kind.EXITED

    def test_the_flag_comes_before_the_deadline(self) -> None:
        assert kind(play(IdleFlagWait(at(100)), (100, Facts()))) is Kind.DONE

    def test_busy_one_millisecond_before_the_deadline_waits(self) -> None:
        wait = IdleFlagWait(at(100))
        assert play(wait, (99, Facts(busy=True))) is None
        assert wait.due == at(100)

    def test_busy_at_the_deadline_times_out(self) -> None:
        assert play(IdleFlagWait(at(100)), (0, Facts(busy=True)), (100, Facts(busy=True))) == Ending(Kind.TIMED_OUT)

    def test_a_dialog_seen_at_any_look_is_reported(self) -> None:
        dialog = replace(status("waiting"), busy=True)
        ending = play(IdleFlagWait(at(900)), (0, dialog), (1, Facts(busy=True)), (900, Facts(busy=True)))
        assert ending == Ending(Kind.TIMED_OUT, dialog=True)

    def test_a_dialog_first_seen_at_the_deadline_is_reported(self) -> None:
        assert play(IdleFlagWait(at(9)), (9, replace(status("waiting"), busy=True))) == Ending(
            Kind.TIMED_OUT, dialog=True
        )


class TestIdleFlagHold:
    """The busy flag of a CLI without a status must hold: a 10 ms blip never counts as idle."""

    def test_down_for_long_is_enough_at_once(self) -> None:
        assert kind(play(IdleFlagHold(at(900), 300, NEVER), (0, Facts()))) is Kind.DONE

    def test_a_flag_that_fell_is_believed_after_the_settle_time(self) -> None:
        wait = IdleFlagHold(at(900), 300, at(0))
        assert play(wait, (299, Facts())) is None
        assert wait.due == at(300)
        assert kind(wait.observe(Facts(), at(300))) is Kind.DONE

    def test_a_blip_starts_the_time_anew(self) -> None:
        wait = IdleFlagHold(at(900), 300, NEVER)
        busy, idle = Facts(busy=True, busy_changed_at=at(0)), Facts(busy_changed_at=at(100))
        assert play(wait, (0, busy), (100, idle), (110, busy), (120, Facts(busy_changed_at=at(120)))) is None
        assert wait.due == at(420)

    def test_a_pulse_between_two_looks_starts_the_time_anew(self) -> None:
        wait = IdleFlagHold(at(900), 300, at(0))
        assert play(wait, (0, Facts(busy_changed_at=at(0))), (300, Facts(busy_changed_at=at(290)))) is None
        assert wait.due == at(590)

    def test_a_flag_that_changed_just_before_the_first_look_is_not_believed(self) -> None:
        assert play(IdleFlagHold(at(900), 300, NEVER), (0, Facts(busy_changed_at=at(-10)))) is None

    def test_the_deadline_beats_a_hold_that_ends_with_it(self) -> None:
        assert kind(play(IdleFlagHold(at(300), 300, at(0)), (0, Facts()), (300, Facts()))) is Kind.TIMED_OUT

    def test_exit(self) -> None:
        assert kind(play(IdleFlagHold(at(300), 300, NEVER), (0, GONE))) is Kind.EXITED


# --- waitForComposerFree ----------------------------------------------------------------------------------------------

QUIET = 3000


def composer(pending: int, last: int) -> Facts:
    return Facts(composer=ComposerView(pending, at(last)))


class TestComposer:
    @pytest.mark.parametrize(
        ("ms", "facts", "free"),
        [
            pytest.param(QUIET - 1, composer(0, 0), False, id="1 ms before the quiet window ends"),
            pytest.param(QUIET, composer(0, 0), True, id="the end of the quiet window itself is free"),
            pytest.param(9 * QUIET, composer(1, 0), False, id="pending text is never free"),
            pytest.param(9 * QUIET, Facts(composer=None), False, id="an unobservable composer is never free"),
            pytest.param(0, Facts(composer=ComposerView(0, 0)), True, id="nobody ever typed"),
        ],
    )
    def test_free(self, ms: int, facts: Facts, free: bool) -> None:
        assert (play(ComposerWait(FOREVER, QUIET), (ms, facts)) is not None) is free

    def test_free_comes_before_the_deadline(self) -> None:
        assert kind(play(ComposerWait(at(QUIET), QUIET), (0, composer(0, 0)), (QUIET, composer(0, 0)))) is Kind.DONE

    def test_it_is_looked_at_again_when_the_quiet_window_ends(self) -> None:
        wait = ComposerWait(at(9000), QUIET)
        assert play(wait, (0, composer(0, 0))) is None
        assert wait.due == at(QUIET)

    def test_typing_moves_the_end_of_the_quiet_window(self) -> None:
        wait = ComposerWait(at(9000), QUIET)
        assert play(wait, (0, composer(0, 0)), (2999, composer(0, 2999)), (3000, composer(0, 2999))) is None
        assert wait.due == at(5999)

    def test_exit_is_not_looked_at(self) -> None:
        assert play(ComposerWait(at(9), QUIET), (0, replace(composer(4, 0), present=False))) is None

    @pytest.mark.parametrize(
        ("facts", "reason"),
        [
            (
                Facts(composer=None),
                "the composer of this session cannot be observed, and doubt resolves to busy",
            ),
            (composer(7, 0), "7 byte(s) of input are sitting unsubmitted in the composer"),
            (composer(0, 900), "the last keystroke landed 100 ms ago, inside the 3000 ms quiet window"),
        ],
        ids=["unobservable", "pending", "quiet window"],
    )
    def test_the_deadline_gives_the_reason(self, facts: Facts, reason: str) -> None:
        assert play(ComposerWait(at(1000), QUIET), (999, facts), (1000, facts)) == Ending(Kind.TIMED_OUT, reason=reason)


# --- waitForNoDialog --------------------------------------------------------------------------------------------------


class TestNoDialog:
    @pytest.mark.parametrize("facts", [Facts(), status("idle"), status("busy"), status("shell"), status("idle", None)])
    def test_without_a_dialog_it_ends_at_once(self, facts: Facts) -> None:
        assert kind(play(NoDialogWait(at(0)), (0, facts))) is Kind.DONE

    @pytest.mark.parametrize("stamp", [0, None], ids=["stamped", "without a usable stamp"])
    def test_waiting_holds_until_the_deadline(self, stamp: int | None) -> None:
        facts = status("waiting", stamp)
        assert play(NoDialogWait(at(100)), (0, facts), (99, facts), (100, facts)) == Ending(Kind.TIMED_OUT, dialog=True)

    @pytest.mark.parametrize("other", ["idle", "busy", "shell"])
    def test_any_other_status_releases(self, other: str) -> None:
        assert kind(play(NoDialogWait(at(100)), (0, status("waiting")), (1, status(other)))) is Kind.DONE

    @pytest.mark.parametrize("lost", [Facts(), status(None)], ids=["no descriptor", "descriptor without a status"])
    def test_a_lost_descriptor_keeps_the_hold(self, lost: Facts) -> None:
        wait = NoDialogWait(at(100))
        assert kind(play(wait, (0, status("waiting")), (1, lost), (99, lost), (100, lost))) is Kind.TIMED_OUT

    def test_exit_comes_first(self) -> None:
        assert kind(play(NoDialogWait(at(0)), (0, replace(status("waiting"), present=False)))) is Kind.EXITED

    def test_a_status_that_releases_at_the_deadline_is_in_time(self) -> None:
        assert kind(play(NoDialogWait(at(100)), (0, status("waiting")), (100, status("idle")))) is Kind.DONE


# --- waitForCliIdleAfter ----------------------------------------------------------------------------------------------

SETTLE = 300


def cli_idle(deadline: int = 10_000, **options: object) -> CliIdleWait:
    values: dict[str, object] = {"after": NEVER, "deadline": at(deadline), "settle_ms": SETTLE, **options}
    return CliIdleWait(**values)  # type: ignore[arg-type]  # the options of single tests


class TestCliIdle:
    def test_exit_comes_first(self) -> None:
        assert kind(play(cli_idle(), (0, replace(status("idle"), present=False)))) is Kind.EXITED

    @pytest.mark.parametrize("facts", [Facts(), status("idle", None), status(None)])
    def test_no_usable_descriptor_ever_is_unavailable(self, facts: Facts) -> None:
        assert kind(play(cli_idle(), (0, facts))) is Kind.UNAVAILABLE

    def test_unavailable_comes_before_the_deadline(self) -> None:
        assert kind(play(cli_idle(0), (0, Facts()))) is Kind.UNAVAILABLE

    def test_a_starting_cli_is_waited_for(self) -> None:
        wait = cli_idle(startup=True)
        assert play(wait, (0, Facts()), (500, status("idle", 500))) is None
        assert wait.due == at(800)

    def test_idle_is_held_for_the_settle_time_from_the_first_look(self) -> None:
        wait = cli_idle()
        assert play(wait, (0, status("idle", -5000)), (299, status("idle", -5000))) is None
        assert wait.due == at(300)
        assert wait.observe(status("idle", -5000), at(300)) == Ending(Kind.DONE, source="descriptor")

    def test_a_trusted_stamp_counts_from_itself(self) -> None:
        assert kind(play(cli_idle(trust_stamp=True), (0, status("idle", -300)))) is Kind.DONE

    def test_a_trusted_stamp_that_is_one_millisecond_too_young(self) -> None:
        wait = cli_idle(trust_stamp=True)
        assert play(wait, (0, status("idle", -299))) is None
        assert wait.due == at(1)

    def test_a_trusted_stamp_of_the_future_counts_from_now(self) -> None:
        wait = cli_idle(trust_stamp=True)
        assert play(wait, (0, status("idle", 5000))) is None
        assert wait.due == at(300)

    def test_only_the_first_idle_is_trusted(self) -> None:
        wait = cli_idle(trust_stamp=True)
        assert play(wait, (0, status("idle", -10)), (5, status("busy", 5)), (400, status("idle", 50))) is None
        assert wait.due == at(700)

    @pytest.mark.parametrize(
        "interruption",
        [status("busy", 100), status("shell", 100), status("waiting", 100), Facts(), status("idle", 100)],
        ids=["busy", "shell", "waiting", "lost", "a new stamp"],
    )
    def test_an_interruption_starts_the_time_anew(self, interruption: Facts) -> None:
        wait = cli_idle()
        again = status("idle", 200)
        assert play(wait, (0, status("idle", 0)), (100, interruption), (200, again), (499, again)) is None
        assert kind(wait.observe(again, at(500))) is Kind.DONE

    def test_a_ten_millisecond_blip_is_never_idle(self) -> None:
        wait = cli_idle(trust_stamp=True)
        looks = [(0, status("busy", -100)), (50, status("idle", 50)), (60, status("busy", 60))]
        assert play(wait, *looks, (9999, status("busy", 60))) is None

    @pytest.mark.parametrize(("stamp", "counts"), [(100, False), (101, True)], ids=["equal", "later"])
    def test_the_stamp_must_be_later_than_after(self, stamp: int, counts: bool) -> None:
        wait = cli_idle(after=at(100))
        assert play(wait, (150, status("idle", stamp))) is None
        assert (wait.due == at(450)) is counts

    def test_the_deadline_beats_a_settle_that_ends_with_it(self) -> None:
        ending = play(cli_idle(300), (0, status("idle")), (300, status("idle")))
        assert ending == Ending(Kind.TIMED_OUT, status="idle")

    def test_a_settle_that_ends_one_millisecond_before_the_deadline_is_in_time(self) -> None:
        assert kind(play(cli_idle(301), (0, status("idle")), (300, status("idle")))) is Kind.DONE

    @pytest.mark.parametrize(
        ("looks", "expected"),
        [
            pytest.param([status("busy")], Ending(Kind.TIMED_OUT, status="busy"), id="busy"),
            pytest.param([status("shell")], Ending(Kind.TIMED_OUT, status="shell"), id="shell"),
            pytest.param([status("waiting")], Ending(Kind.TIMED_OUT, status="waiting", dialog=True), id="waiting"),
            pytest.param([status("busy"), Facts()], Ending(Kind.TIMED_OUT), id="lost after busy"),
            pytest.param([status("waiting"), Facts()], Ending(Kind.TIMED_OUT, dialog=True), id="lost in a dialog"),
        ],
    )
    def test_the_deadline_tells_the_last_status(self, looks: list[Facts], expected: Ending) -> None:
        timed = [(index, facts) for index, facts in enumerate(looks)]
        assert play(cli_idle(5000), *timed, (5000, looks[-1])) == expected

    @pytest.mark.parametrize(("closed", "seen"), [(4700, True), (4699, False)], ids=["within settle", "before it"])
    def test_a_dialog_of_the_last_settle_time_is_told(self, closed: int, seen: bool) -> None:
        looks = [(0, status("waiting")), (closed, status("busy", closed)), (5000, status("busy", closed))]
        assert play(cli_idle(5000), *looks) == Ending(Kind.TIMED_OUT, status="busy", dialog=seen)


class TestTranscriptFallback:
    """4.1: a closed turn in an unchanged transcript overrules a CLI that reports itself working."""

    RULE = TranscriptRule(at(-1000), 3000)

    def facts(self, name: str = "busy", closed_at: int | None = 0, modified: int = 0, closed: bool = True) -> Facts:
        evidence = TurnEvidence(closed, None if closed_at is None else at(closed_at), None, at(modified))
        return Facts(status=CliStatus(name, at(-9000)), transcript=evidence)

    def done(self, facts: Facts, ms: int = 3000) -> Ending | None:
        return play(cli_idle(transcript=self.RULE), (ms, facts))

    @pytest.mark.parametrize("name", ["busy", "shell"])
    def test_a_working_cli_is_overruled(self, name: str) -> None:
        assert self.done(self.facts(name)) == Ending(Kind.DONE, source="transcript")

    @pytest.mark.parametrize("name", ["idle", "waiting"])
    def test_no_other_status_is(self, name: str) -> None:
        assert self.done(self.facts(name)) is None

    def test_not_before_the_file_was_quiet(self) -> None:
        wait = cli_idle(transcript=self.RULE)
        assert play(wait, (2999, self.facts())) is None
        assert wait.due == at(3000)

    def test_not_when_the_turn_is_open(self) -> None:
        assert self.done(self.facts(closed=False)) is None

    @pytest.mark.parametrize(("closed_at", "counts"), [(-1000, True), (-1001, False)])
    def test_the_turn_must_not_be_older_than_the_anchor(self, closed_at: int, counts: bool) -> None:
        assert (self.done(self.facts(closed_at=closed_at)) is not None) is counts

    def test_not_within_the_settle_time_of_a_dialog(self) -> None:
        wait = cli_idle(transcript=self.RULE)
        looks = [(4000, replace(self.facts(), status=CliStatus("waiting", at(0)))), (4100, self.facts())]
        assert play(wait, *looks, (4400, self.facts())) is None
        assert kind(wait.observe(self.facts(), at(4401))) is Kind.DONE

    def test_the_deadline_beats_it(self) -> None:
        assert kind(play(cli_idle(3000, transcript=self.RULE), (3000, self.facts()))) is Kind.TIMED_OUT

    def test_a_single_trigger_has_no_fallback(self) -> None:
        assert play(cli_idle(), (3000, self.facts())) is None


# --- what all machines have in common ---------------------------------------------------------------------------------

statuses = st.none() | st.builds(
    CliStatus,
    st.sampled_from(["busy", "idle", "waiting", "shell", None]),
    st.none() | st.integers(at(-500), at(500)),
)
evidence = st.none() | st.builds(
    TurnEvidence, st.booleans(), st.none() | st.integers(at(-500), at(500)), st.none(), st.integers(at(-500), at(500))
)
some_facts = st.builds(
    Facts,
    st.sampled_from([True, True, True, False]),
    st.booleans(),
    st.integers(at(-500), at(500)),
    st.none() | st.builds(ComposerView, st.integers(0, 2), st.integers(at(-500), at(500))),
    statuses,
    evidence,
)
rule = TranscriptRule(at(-100), 200)
machines = st.sampled_from(
    [
        lambda: IdleFlagWait(at(400)),
        lambda: IdleFlagHold(at(400), 100, NEVER),
        lambda: ComposerWait(at(400), 200),
        lambda: NoDialogWait(at(400)),
        lambda: CliIdleWait(at(-50), at(400), 100, trust_stamp=True, transcript=rule),
        lambda: CliIdleWait(NEVER, at(400), 100, startup=True),
        lambda: ReactionWait(Mode.EDGE, at(0), at(200), at(400), Pulse(0), "x"),
        lambda: ReactionWait(Mode.LEVEL, at(0), at(200), at(400), Pulse(0)),
        lambda: CompactionWait(at(0), at(400), frozenset(), Pulse(0)),
        lambda: PendingWait(at(0), "x", at(400), at(200)),
        lambda: BusyFallWait(at(0), at(400), 100, at(200), rule, Pulse(0)),
    ]
)


@given(machines, st.lists(st.tuples(st.integers(0, 150), some_facts), max_size=12))
def test_a_machine_that_goes_on_waiting_asks_for_a_later_look_and_never_outlives_its_deadline(
    make: object, looks: list[tuple[int, Facts]]
) -> None:
    wait: Wait = make()  # type: ignore[operator]  # one of the constructors above
    now = 0
    for pause, facts in looks:
        now += pause
        ending = wait.observe(facts, at(now))
        if ending is not None:
            return
        assert at(now) < wait.due <= at(400)


def test_the_reasons_of_the_composer_are_those_of_the_catalogue() -> None:
    assert reasons.composer_pending("7").startswith("7 byte(s)")
