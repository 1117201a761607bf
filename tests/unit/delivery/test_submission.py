"""The ladder: what a submission proves, for each mode."""

from __future__ import annotations

import pytest

from switchboard.common.facts import CliStatus, ComposerView, Facts
from switchboard.delivery.reactions import Mode
from switchboard.delivery.submission import (
    LevelGate,
    Submitted,
    choose_mode,
    classify,
    level_confirms,
    weakest,
)

EMPTY = ComposerView(0, 0)


@pytest.mark.parametrize(
    ("command", "status", "mode"),
    [
        ("hello", CliStatus("idle", 5), Mode.EDGE),
        ("hello", CliStatus("busy", 5), Mode.EDGE),
        ("hello", CliStatus("idle", None), Mode.LEVEL),
        ("hello", CliStatus(None, 5), Mode.LEVEL),
        ("hello", None, Mode.LEVEL),
        ("/compact", CliStatus("idle", 5), Mode.COMPACT),
        ("/compact", None, Mode.COMPACT),
        (" /compact\u00a0now ", None, Mode.COMPACT),
        ("/compacted", CliStatus("idle", 5), Mode.EDGE),
        ("say /compact", None, Mode.LEVEL),
    ],
)
def test_mode(command: str, status: CliStatus | None, mode: Mode) -> None:
    assert choose_mode(command, Facts(status=status)) is mode


@pytest.mark.parametrize(
    ("confirmed", "activity", "rank"),
    [
        (True, True, Submitted.CONFIRMED),
        (True, False, Submitted.CONFIRMED),
        (False, True, Submitted.ACTIVITY),
        (False, False, Submitted.ASSUMED),
    ],
)
def test_rank(confirmed: bool, activity: bool, rank: Submitted) -> None:
    assert classify(confirmed=confirmed, activity=activity) is rank


@pytest.mark.parametrize(
    ("gate", "attempt", "seen", "confirms"),
    [
        pytest.param(LevelGate(False, False, EMPTY), 0, True, True, id="all gates open"),
        pytest.param(LevelGate(True, False, EMPTY), 0, True, False, id="preBusy"),
        pytest.param(LevelGate(False, True, EMPTY), 0, True, False, id="midBusy"),
        pytest.param(LevelGate(False, False, None), 0, True, False, id="composer not observable"),
        pytest.param(LevelGate(False, False, ComposerView(3, 0)), 0, True, False, id="pending after the Enter"),
        pytest.param(LevelGate(False, False, EMPTY), 1, True, False, id="seen only after the retry"),
        pytest.param(LevelGate(False, False, EMPTY), 0, False, False, id="nothing seen"),
    ],
)
def test_level_proof(gate: LevelGate, attempt: int, seen: bool, confirms: bool) -> None:
    assert level_confirms(gate, attempt=attempt, seen=seen) is confirms


def test_a_chain_is_as_sure_as_its_weakest_step() -> None:
    assert weakest([Submitted.CONFIRMED, Submitted.ASSUMED, Submitted.ACTIVITY]) is Submitted.ASSUMED
    assert weakest([]) is Submitted.NO


def test_the_words_on_the_wire() -> None:
    assert [rank.wire for rank in sorted(Submitted)] == ["no", "assumed", "activity", "confirmed"]
