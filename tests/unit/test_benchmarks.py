"""What the benchmarks make of what they measure. Nothing is timed here, and no figure can fail a test."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Literal

import pytest
from benchmarks import actions, actions_side, delivery, machine
from benchmarks.figures import Aim, Figure, alone, paired, single, table

from switchboard.triggers import legacy_schema
from switchboard.triggers.v1_schema import OpenResume, validate

ID = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (single("x", 100, "MB", aim=Aim("value", "at most", 100)), True),
        (single("x", 100.5, "MB", aim=Aim("value", "at most", 100)), False),
        (paired("x", [1, 2, 3], [2, 2, 2], "ms", "y", Aim("ratio", "at most", 1)), True),
        (paired("x", [1, 2, 3], [1, 1, 1], "/s", "y", Aim("ratio", "at least", 2)), True),
        (paired("x", [1, 2, 3], [1, 1, 1], "/s", "y", Aim("ratio", "at least", 2.1)), False),
        (paired("x", [130, 130], [10, 10], "ms", "y", Aim("more", "at most", 120)), True),
        (paired("x", [131, 131], [10, 10], "ms", "y", Aim("more", "at most", 120)), False),
        (single("x", 100, "MB"), None),
        (Figure("x", 1.0, "ms", aim=Aim("ratio", "at most", 1)), None),
    ],
    ids=["limit", "over", "ratio", "at least", "below", "more", "too much more", "no aim", "no peer"],
)
def test_an_aim_is_judged(figure: Figure, met: bool | None) -> None:
    assert figure.met is met
    assert figure.as_json()["met"] is met


def test_paired_rounds_are_compared_with_each_other() -> None:
    """The machine was slow in the second round, for both."""
    figure = paired("x", [1.0, 10.0, 1.2], [2.0, 20.0, 2.0], "ms", "y")
    assert figure.ratio == 0.5
    assert (figure.value, figure.peer, figure.least, figure.most) == (1.2, 2.0, 1.0, 10.0)


def test_the_table_says_what_was_missed_and_what_could_not_be_compared() -> None:
    text = table(
        {
            "one": [single("memory", 120, "MB", 8, "a bare python", Aim("value", "at most", 100))],
            "two": [alone("burst", [1000.0, 3000.0], "/s", "no peer: Node is not on PATH")],
        }
    )
    memory, burst = [line for line in text.splitlines() if line.startswith(("  memory", "  burst"))]
    assert "MISSED" in memory
    assert "15.0" in memory
    assert "2000 /s (1000..3000)" in burst
    assert "burst: no peer: Node is not on PATH" in text


@pytest.mark.parametrize("named", ["nothing", "a file that is not there", "by the environment"])
def test_without_a_peer_its_lack_is_told(named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(delivery.PEER, raising=False)
    given = None
    if named == "a file that is not there":
        given = str(tmp_path / "peer.js")
    elif named == "by the environment":
        monkeypatch.setenv(delivery.PEER, str(tmp_path / "peer.js"))
    script, lack = delivery.find_peer(given)
    assert script is None
    assert (delivery.PEER if named == "nothing" else "peer.js") in lack


def test_without_node_its_lack_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "peer.js").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert delivery.find_peer(str(tmp_path / "peer.js")) == (None, "no peer: Node is not on PATH")


def test_a_peer_that_does_not_work_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "peer.js").write_text("")
    (tmp_path / "node").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    script, lack = delivery.find_peer(str(tmp_path / "peer.js"))
    assert script is None
    assert "exit status 3" in lack


def test_versioned_requests_are_compared_with_the_legacy_ones_of_their_turn() -> None:
    """The machine was slow in the second turn, for both."""
    pick = actions.Pick("paced", "lat_p50", "first byte p50", "ms", Aim("ratio", "at most", 3))
    turns = [
        {"versioned": {"lat_p50": 1.0}, "legacy": {"lat_p50": 0.5}},
        {"versioned": {"lat_p50": 8.0}, "legacy": {"lat_p50": 4.0}},
        {"versioned": {"lat_p50": 1.5}, "legacy": {"lat_p50": 0.5}},
    ]
    figure = actions.figure(pick, turns)
    assert (figure.value, figure.peer, figure.ratio, figure.met) == (1.5, 0.5, 2.0, True)
    assert figure.against == "a legacy request"


def test_a_turn_s_kinds_take_turns_at_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    numbers = {"lat_p50": 1.0, "lat_p99": 2.0, "total_ms": 3.0}

    def run(command: list[str], **_options: object) -> subprocess.CompletedProcess[bytes]:
        begun.append(" ".join(command[2:]))
        return subprocess.CompletedProcess(command, 0, json.dumps({"versioned": numbers, "legacy": numbers}).encode())

    monkeypatch.setattr(subprocess, "run", run)
    figures = actions.measure(2, count=10)
    assert {figure.ratio for figure in figures} == {1.0}
    assert [figure.name for figure in figures] == [
        pick.name for pick in actions.PICKS if pick.below is None or os.access(pick.below, os.W_OK)
    ]
    for pace in ("paced", "burst"):
        assert begun.index(f"10 10 {pace} versioned") < begun.index(f"10 10 {pace} legacy")


@pytest.mark.parametrize("kind", ["versioned", "legacy"])
def test_both_kinds_ask_for_the_same(kind: Literal["versioned", "legacy"]) -> None:
    body = json.loads(actions_side.body(kind, ID, 7))
    if kind == "versioned":
        assert validate(body, ID) == OpenResume(ID, "hello 7")
    else:
        assert legacy_schema.validate(body, ID) == legacy_schema.LegacyRequest(ID, "hello 7", wait_idle=True)


def test_what_a_process_takes_is_read() -> None:
    used = machine.memory(os.getpid())
    assert used.rss >= used.pss > 1
    before = machine.activity(os.getpid())
    sum(range(2_000_000))
    assert machine.activity(os.getpid()).since(before).cpu_ms > 0
