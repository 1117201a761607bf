"""Terminals in memory."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.fake_clock import FakeClock
from tests.support.stage import transcript

from switchboard.common.facts import ComposerView, Facts
from switchboard.common.writing import WriteRefused
from switchboard.delivery.memory import MemoryTerminal, MemoryTerminals
from switchboard.delivery.port import Target, Terminals


def allow(_facts: Facts) -> None:
    return None


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def terminals(clock: FakeClock) -> MemoryTerminals:
    return MemoryTerminals(clock)


def test_they_are_what_deliveries_write_to(terminals: MemoryTerminals) -> None:
    port: Terminals = terminals
    terminal = terminals.add("S", cwd="/srv")
    target: Target | None = port.find("s")
    assert target is terminal
    assert (terminal.key, terminal.cwd, terminal.is_alive()) == ("s", "/srv", True)


async def test_writes_reach_the_callback_as_they_are(terminals: MemoryTerminals) -> None:
    written: list[bytes] = []
    async with terminals.add("S", on_write=written.append).line() as line:
        await line.write(b"one", allow)
        await line.write(b"\r", allow)
    assert written == [b"one", b"\r"]


@pytest.mark.parametrize("refusal", [None, "session target changed"])
async def test_the_check_is_asked_before_each_write(terminals: MemoryTerminals, refusal: str | None) -> None:
    written: list[bytes] = []
    terminal = terminals.add("S", on_write=written.append)
    terminal.refusal = refusal
    async with terminal.line() as line:
        with pytest.raises(WriteRefused) as refused:
            await line.write(b"one", lambda facts: "no" if facts.busy is False else None)
    assert (refused.value.reason, refused.value.partial, written) == (refusal or "no", False, [])


async def test_a_line_is_taken_by_one_delivery_at_a_time(terminals: MemoryTerminals, clock: FakeClock) -> None:
    terminal, order = terminals.add("S"), []

    async def deliver(name: str) -> None:
        async with terminal.line() as line:
            order.append(name)
            await asyncio.sleep(0)
            await line.write(b"x\r", allow)
            order.append(name)

    await asyncio.gather(deliver("a"), deliver("b"))
    assert order == ["a", "a", "b", "b"]


async def test_text_without_its_enter_counts_as_unsubmitted_input(terminals: MemoryTerminals, clock: FakeClock) -> None:
    terminal = terminals.add("S")
    async with terminal.line() as line:
        await line.write("né".encode(), allow)
    assert terminal.facts.value.composer == ComposerView(2, clock.now())


async def test_an_enter_after_the_release_takes_it_back(terminals: MemoryTerminals) -> None:
    terminal = terminals.add("S")
    async with terminal.line() as line:
        await line.write(b"abc", allow)
        line.release()
        assert terminal.facts.value.composer is not None
        assert terminal.facts.value.composer.pending == 3
        await line.write(b"\r", allow)
    assert terminal.facts.value.composer is not None
    assert terminal.facts.value.composer.pending == 0


async def test_an_escape_is_no_text(terminals: MemoryTerminals) -> None:
    terminal = terminals.add("S")
    async with terminal.line() as line:
        await line.write(b"\x1b", allow)
    assert terminal.facts.value.composer == ComposerView(0, 0)


def test_a_change_of_the_busy_flag_is_stamped(terminals: MemoryTerminals, clock: FakeClock) -> None:
    terminal = terminals.add("S")
    terminal.update(busy=True)
    assert terminal.facts.value == Facts(busy=True, busy_changed_at=clock.now())
    clock.sleep(1)
    terminal.update(busy=True)
    assert terminal.facts.value.busy_changed_at == clock.now() - 1000


def test_an_exit(terminals: MemoryTerminals) -> None:
    terminal = terminals.add("S")
    terminal.exit()
    assert (terminal.is_alive(), terminal.facts.value.present) == (False, False)


def test_old_and_new_id_mean_the_same_session(terminals: MemoryTerminals) -> None:
    terminal: MemoryTerminal = terminals.add("Old")
    terminals.rekey("OLD", "New")
    assert terminals.find("old") is terminals.find("new") is terminal
    assert terminals.lock_key("OLD") == terminals.lock_key("NEW") == "new"
    terminals.remove("old")
    assert terminals.find("new") is None


def test_unknown_sessions(terminals: MemoryTerminals) -> None:
    terminals.add_background_job("B", "job")
    assert terminals.find("x") is None
    assert terminals.lock_key("X") == "x"
    assert (terminals.background_job("b"), terminals.background_job("x")) == ("job", None)


def test_a_text_that_was_not_taken_is_unsubmitted_until_the_transcript_shows_it(terminals: MemoryTerminals) -> None:
    terminal = terminals.add("S")
    terminal.untaken("n\u00e9".encode(), 100)
    assert terminal.facts.value.composer is not None
    assert terminal.facts.value.composer.pending == 2
    for evidence, left in [(transcript((99, "n\u00e9")), 2), (None, 2), (transcript((100, "n\u00e9")), 0)]:
        terminal.update(transcript=evidence)
        assert terminal.facts.value.composer.pending == left
    terminal.count_input(3)
    terminal.update(transcript=transcript((101, "n\u00e9")))
    assert terminal.facts.value.composer.pending == 3


def test_a_text_is_in_doubt_until_that_has_an_end(terminals: MemoryTerminals) -> None:
    terminal = terminals.add("S")
    terminal.unproven("n\u00e9".encode(), 100)
    assert terminal.facts.value.composer is not None
    assert (terminal.in_doubt, terminal.facts.value.composer.pending) == (("n\u00e9", 100), 0)
    terminal.update(transcript=transcript((99, "n\u00e9")))
    assert terminal.in_doubt is not None
    terminal.update(transcript=transcript((100, "n\u00e9")))
    assert terminal.in_doubt is None
    for end in (terminal.settled, lambda: terminal.untaken(b"x", 100)):
        terminal.unproven(b"x", 100)
        end()
        assert terminal.in_doubt is None


def test_a_new_id_is_stamped(terminals: MemoryTerminals, clock: FakeClock) -> None:
    terminal = terminals.add("S")
    terminals.rekey("S", "T")
    assert terminal.facts.value.rekeyed_at == clock.now()
