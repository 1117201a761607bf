"""Every misbehaviour that can be asked for, seen from outside."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.agent_terminal import AgentTerminal

Start = Callable[..., AgentTerminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    terminals: list[AgentTerminal] = []

    def run(faults: str) -> AgentTerminal:
        terminals.append(AgentTerminal(tmp_path, faults=faults))
        return terminals[-1]

    yield run
    for terminal in terminals:
        terminal.close()


def test_an_unknown_fault_is_refused(start: Start) -> None:
    agent = start("nonsense")
    assert agent.wait_exit() == 1
    assert "unknown fault 'nonsense'; known:" in agent.shown


def test_exit_at_start(start: Start) -> None:
    agent = start("exit-at-start=4")
    assert agent.wait_exit() == 4
    assert b"garbage" in agent.raw
    assert not agent.descriptor_path.exists()


def test_slow_start(start: Start) -> None:
    agent = start("slow-start=1500")
    began = time.monotonic()
    agent.send("too early\r")
    agent.wait_ready()
    assert time.monotonic() - began >= 1.5
    # the Enter was typed into a terminal that was not raw yet: the text is left in the box
    agent.wait_shown("> too early")
    assert agent.rows() == []


def test_late_descriptor(start: Start) -> None:
    agent = start("late-descriptor=1500")
    agent.wait_shown("Enter sends")
    assert not agent.descriptor_path.exists()
    agent.wait_status("idle")


def test_no_descriptor(start: Start) -> None:
    agent = start("no-descriptor")
    agent.wait_shown("Enter sends")
    agent.submit("hello")
    agent.wait_shown("\u25cf Hello!")
    assert not agent.descriptor_path.exists()


def test_half_written_descriptor(start: Start) -> None:
    agent = start("half-written-descriptor=400")
    agent.wait(lambda: agent.descriptor_path.exists(), "descriptor")
    assert agent.descriptor is None
    assert agent.descriptor_path.read_bytes().startswith(b'{"pid":')
    agent.wait_status("idle")


def test_trust_dialog_refused_by_enter(start: Start) -> None:
    agent = start("trust-dialog")
    agent.wait_shown("> 1. No, exit")
    assert not agent.descriptor_path.exists()
    agent.send("hello")
    agent.send("\r")
    assert agent.wait_exit() == 1


def test_trust_dialog_accepted(start: Start) -> None:
    agent = start("trust-dialog")
    agent.wait_shown("> 1. No, exit")
    agent.send("2")
    agent.wait_ready()
    agent.submit("hello")
    agent.wait_shown("\u25cf Hello!")


def test_swallow_enter(start: Start) -> None:
    agent = start("swallow-enter=1")
    agent.wait_ready()
    agent.submit("hello")
    agent.send("!")  # after the swallowed Enter the text is still there
    agent.wait_shown("> hello!")
    agent.send("\r")
    agent.wait(lambda: agent.prompts() == ["hello!"], "prompt")


def test_no_busy_edge(start: Start) -> None:
    agent = start("no-busy-edge")
    agent.wait_ready()
    before = agent.descriptor
    agent.submit("hello")
    agent.wait_shown("\u25cf Hello!")
    assert agent.descriptor == before
    assert agent.prompts() == ["hello"]


def test_stuck_busy(start: Start) -> None:
    agent = start("stuck-busy")
    agent.wait_ready()
    agent.submit("hello")
    agent.wait(lambda: any(row.get("subtype") == "turn_duration" for row in agent.rows()), "closing row")
    agent.wait_shown("Enter sends")
    assert agent.status == "busy"


def test_idle_blip(start: Start) -> None:
    agent = start("idle-blip=200")
    agent.wait_ready()
    agent.submit("[slow 2s]")
    agent.wait_status("busy")
    agent.wait_status("idle")
    assert not any(row.get("subtype") == "turn_duration" for row in agent.rows())
    agent.wait_status("busy")
    agent.wait_status("idle")
    assert any(row.get("subtype") == "turn_duration" for row in agent.rows())


def test_late_transcript(start: Start) -> None:
    agent = start("late-transcript=1000")
    agent.wait_ready()
    agent.submit("hello")
    agent.wait_shown("\u25cf Hello!")
    assert agent.rows() == []
    agent.wait(lambda: agent.prompts() == ["hello"], "prompt")


def test_no_transcript_and_no_title(start: Start) -> None:
    agent = start("no-transcript,no-title")
    agent.wait_ready()
    agent.submit("hello")
    agent.wait_shown("\u25cf Hello!")
    agent.wait_status("idle")
    assert agent.rows() == []
    assert agent.titles == []


def test_slow_read(start: Start) -> None:
    agent = start("slow-read=5")
    agent.wait_ready()
    text = "z" * 700
    agent.send(text)
    agent.wait(lambda: agent.shown.count("z") == 700, "text in the box")
    agent.send("\r")
    agent.wait(lambda: agent.prompts() == [text], "prompt")


def test_slow_read_while_it_runs(start: Start) -> None:
    agent = start("")
    agent.wait_ready()
    agent.submit("/fault slow-read=200")
    agent.wait_shown("Faults: slow-read=200")
    began = time.monotonic()
    agent.send("z" * 257)
    agent.wait(lambda: agent.shown.count("z") == 257, "text in the box")
    assert time.monotonic() - began >= 0.8  # five reads, four pauses
    agent.send("\x15")
    agent.wait(lambda: "z" not in agent.shown, "an empty box")


def test_ignore_sigterm(start: Start) -> None:
    agent = start("ignore-sigterm")
    agent.wait_ready()
    os.kill(agent.process.pid, signal.SIGTERM)
    agent.submit("hello")
    agent.wait_shown("\u25cf Hello!")


def test_faults_while_it_runs(start: Start) -> None:
    agent = start("")
    agent.wait_ready()
    agent.submit("/fault swallow-enter=1")
    agent.wait_shown("Faults: swallow-enter=1")
    agent.submit("hello")
    agent.send("?")
    agent.wait_shown("> hello?")
    agent.send("\r")
    agent.wait(lambda: agent.prompts() == ["hello?"], "prompt")
