"""What is proven of a sandboxed session is kept current by events, is its alone, and is nobody else's news."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.lifecycle import ID, OTHER
from tests.support.sandboxed import (
    HOST_SPACE,
    OTHER_SPACE,
    OUTER,
    OWNER,
    START,
    SandboxHouse,
    sandbox_house,
    status,
    unproven,
)
from tests.support.sessions import make_label

from switchboard.common.facts import CliStatus
from switchboard.sessions import sandbox_status as module
from switchboard.sessions.labels import encode_label
from switchboard.sessions.sandbox_status import AGAIN_MS, BURST, BURST_MS, MAX_AGAIN
from switchboard.sessions.session import Session
from switchboard.sessions.status_binding import SILENT_MS


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SandboxHouse]:
    with sandbox_house(tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each look, thorough or not."""
    made: list[int] = []
    look = module.SessionProof.look

    def counted(proof: module.SessionProof, *, thorough: bool = False) -> str | None:
        made.append(len(made))
        return look(proof, thorough=thorough)

    monkeypatch.setattr(module.SessionProof, "look", counted)
    return made


# --- following --------------------------------------------------------------------------------------------------------


async def test_each_status_is_shown_as_it_is_published(house: SandboxHouse) -> None:
    session = await house.opens()
    assert status(session) is None
    house.runs()
    for word in ("busy", "waiting", "idle"):
        await house.publish(word, waitingFor="approval")
        assert session.facts.value.proven == CliStatus(word, house.clock.now(), "approval")
        assert unproven(session) is None
    assert session.label.writer == (OWNER, START)


async def test_what_was_there_before_it_was_followed_is_found(house: SandboxHouse) -> None:
    house.runs()
    house.show("busy")
    assert status(await house.opens()) == "busy"


async def test_nobody_else_is_followed(house: SandboxHouse) -> None:
    session = await house.home.opens("claude", OTHER)
    house.proofs.take_up(session)
    assert house.proofs.proof(session) is None
    assert str(house.own) not in house.watcher.watched


async def test_the_end_of_the_owner_is_heard(house: SandboxHouse) -> None:
    session = await house.proven()
    assert sorted(house.ends) == [OUTER, OWNER]
    house.ends_process(OWNER)
    await house.clock.settle()
    assert status(session) is None
    assert session.label.writer == (OWNER, START), "a Stop asks whether it lives"
    assert house.ends == {}


async def test_the_end_of_what_holds_it_is_heard(house: SandboxHouse) -> None:
    session = await house.proven()
    house.process(OWNER, parent=1)
    house.ends_process(OUTER)
    await house.clock.settle()
    assert status(session) is None


async def test_the_descriptor_goes(house: SandboxHouse) -> None:
    session = await house.proven()
    house.withdraw()
    await house.clock.settle()
    assert status(session) is None


async def test_a_new_owner_after_the_end_of_the_first(house: SandboxHouse) -> None:
    session = await house.proven()
    house.process(4_000_009, inner=9, start="900")
    house.show("busy", name="9.json", pid=9, procStart="900")
    await house.clock.settle()
    assert status(session) is None, "two of them"
    house.ends_process(OWNER)
    await house.clock.settle()
    assert (status(session), session.label.writer) == ("busy", (4_000_009, "900"))


async def test_a_cleared_conversation_goes_on_under_its_new_id(house: SandboxHouse) -> None:
    session = await house.proven()
    await house.publish("idle", sessionId=OTHER.upper())
    assert (session.key, session.label.past, status(session)) == (OTHER, [ID], "idle")


async def test_no_sandbox_takes_over_the_id_of_another_open_session(house: SandboxHouse) -> None:
    victim = await house.home.opens("claude", OTHER)
    session = await house.proven()
    await house.publish("idle", sessionId=OTHER)
    assert (session.key, status(session)) == (ID, None)
    assert house.real.find(OTHER) is victim
    house.home.keeper.exits(victim.handle)
    await house.publish("idle", sessionId=OTHER, name="2.json", cwd="/changed")
    assert session.key == OTHER


@pytest.mark.parametrize(
    ("folder", "goes_on"),
    [
        ("-srv-other", False),
        ("-srv-project-two", False),
        ("-srv-project", True),
        ("-srv-project--claude-worktrees-x", True),
    ],
)
async def test_nor_that_of_a_closed_conversation_of_another_project(
    house: SandboxHouse, folder: str, goes_on: bool
) -> None:
    """In its own project it can read and write them anyway, and its CLI can resume one."""
    (house.transcripts / folder).mkdir()
    (house.transcripts / folder / f"{OTHER}.jsonl").write_text("{}\n")
    session = await house.proven()
    await house.publish("idle", sessionId=OTHER)
    assert (session.key == OTHER, status(session) == "idle") == (goes_on, goes_on)
    assert unproven(session) is None


async def test_nor_what_is_no_id_at_all(house: SandboxHouse) -> None:
    session = await house.proven()
    await house.publish("idle", sessionId=f"../{OTHER}")
    assert (session.key, status(session)) == (ID, None)


async def test_two_that_a_person_has_opened_under_one_id_take_nothing_over(house: SandboxHouse) -> None:
    await house.home.opens("claude", ID)
    assert status(await house.proven("busy")) == "busy"


async def test_a_fork_shows_its_own_id(house: SandboxHouse) -> None:
    session = await house.opens(launch="fork")
    house.runs()
    await house.publish("idle", sessionId=OTHER)
    assert (session.key, status(session)) == (OTHER, "idle")


@pytest.mark.parametrize("how", ["exits", "removed", "closed"])
async def test_nothing_is_left_when_it_is_over(house: SandboxHouse, how: str) -> None:
    session = await house.proven()
    match how:
        case "exits":
            house.home.keeper.exits(session.handle)
            assert session.facts.value.proven is None
        case "removed":
            house.home.registry.remove(session)
        case "closed":
            house.proofs.close()
    assert str(house.own) not in house.watcher.watched
    assert house.ends == {}
    house.show("busy")
    await house.clock.advance(1000)
    assert status(session) != "busy"


async def test_an_ended_session_has_no_proof(house: SandboxHouse) -> None:
    session = await house.proven()
    house.home.keeper.exits(session.handle)
    proof = house.proofs.proof(session)
    assert proof is not None
    assert proof.look() is not None


# --- folders ----------------------------------------------------------------------------------------------------------


async def test_without_a_folder_of_its_own_the_shared_one_is_read_raw(house: SandboxHouse) -> None:
    house.descriptors = None
    session = await house.opens()
    house.runs()
    await house.publish("idle")
    assert (status(session), unproven(session)) == ("idle", None)
    await house.publish("idle", procStart="999")
    assert status(session) is None, "another sandbox has written over it"


async def test_two_sandboxes_with_a_folder_each(house: SandboxHouse) -> None:
    """Both CLIs are process 2 in theirs."""
    first = await house.proven("busy")
    house.descriptors = house.root / "own-2"
    house.descriptors.mkdir()
    terminal, outer, owner = 5_000_000, 5_000_001, 5_000_002
    second = await house.opens(OTHER, pid=terminal)
    house.process(outer, parent=terminal, inner=1, start="490", space=OTHER_SPACE)
    house.process(owner, parent=outer, space=OTHER_SPACE)
    await house.publish("waiting", sessionId=OTHER)
    assert (status(first), status(second)) == ("busy", "waiting")
    assert (first.label.writer, second.label.writer) == ((OWNER, START), (owner, START))


async def test_a_folder_that_cannot_be_watched_is_looked_at_when_asked_for(house: SandboxHouse) -> None:
    house.watcher.refused.add(str(house.own))
    session = await house.opens()
    house.runs()
    house.show("idle")
    await house.clock.settle()
    assert status(session) is None
    assert any("cannot be watched" in line for line in house.home.log.lines)
    proof = house.proofs.proof(session)
    assert proof is not None
    assert (proof.look(), status(session)) == (None, "idle")


async def test_where_no_folder_is_known_nothing_is_proven(house: SandboxHouse) -> None:
    proof = house.proofs.proof(await house.home.opens("codex", ID, sandbox=""))
    assert proof is not None
    assert proof.look() == "it is not known where its CLI publishes its state"


# --- half-written, and other things that pass -------------------------------------------------------------------------


async def test_half_a_descriptor_is_no_news_for_a_moment(house: SandboxHouse) -> None:
    session = await house.proven("busy")
    proof = house.proofs.proof(session)
    assert proof is not None
    house.write('{"pid": 2')
    await house.clock.settle()
    assert (status(session), proof.writing) == ("busy", True)
    assert proof.look(thorough=True) is not None, "and nothing may be done on the strength of it"
    await house.publish("idle")
    assert (status(session), proof.writing) == ("idle", False)
    house.write('{"pid": 2')
    await house.clock.advance(module.AGAIN_MS * 25)
    assert (status(session), proof.writing) == (None, False), "nobody completes it"


async def test_whoever_waits_for_the_end_of_a_writing_is_woken(house: SandboxHouse) -> None:
    session = await house.proven(
        "busy",
    )
    facts = session.facts.value
    house.write('{"pid": 2')
    await house.clock.settle()
    waiting = house.clock.run(session.facts.changed(facts, house.clock, house.clock.now() + 60_000))
    house.at(house.elapsed + 30, lambda: house.show("busy", statusUpdatedAt=facts.proven and facts.proven.updated_at))
    await waiting
    assert (house.elapsed, session.facts.value) == (30, facts)


async def test_what_passes_without_an_event_is_looked_at_again_and_not_for_ever(
    house: SandboxHouse, looks: list[int]
) -> None:
    session = await house.opens()
    await house.publish("idle")
    assert status(session) is None, "its process is not there yet"
    await house.clock.advance(AGAIN_MS * 10)
    house.runs()
    await house.clock.advance(AGAIN_MS)
    assert status(session) == "idle"
    house.running.end(OWNER)
    house.withdraw()
    house.show("idle")
    await house.clock.advance(AGAIN_MS * (MAX_AGAIN + 5))
    before = len(looks)
    await house.clock.advance(3_600_000)
    assert len(looks) == before, "an idle host sets no timer"


async def test_a_proven_session_at_rest_sets_no_timer(house: SandboxHouse) -> None:
    await house.proven()
    await house.clock.advance(1000)
    timers = house.clock.timers_set
    await house.clock.advance(3_600_000)
    assert house.clock.timers_set == timers


async def test_the_events_of_one_rewrite_cost_one_look(house: SandboxHouse, looks: list[int]) -> None:
    await house.proven()
    before = len(looks)
    for _ in range(3):
        house.show("busy")
    await house.clock.settle()
    assert len(looks) == before + 1


async def test_a_sandbox_that_writes_all_the_time_does_not_keep_the_host_busy(
    house: SandboxHouse, looks: list[int]
) -> None:
    session = await house.proven()
    await house.clock.advance(BURST_MS)
    before = len(looks)
    for _ in range(BURST * 3):
        await house.publish("busy")
    assert len(looks) == before + BURST
    await house.publish("waiting")
    await house.clock.advance(BURST_MS)
    assert (status(session), len(looks)) == ("waiting", before + BURST + 1)


# --- the start --------------------------------------------------------------------------------------------------------


async def test_the_first_proven_status_ends_the_start(house: SandboxHouse) -> None:
    session = await house.opens()
    house.runs()
    await house.publish(None, statusUpdatedAt=None)
    assert (session.facts.value.starting, session.label.writer) == (True, (OWNER, START))
    await house.publish("idle")
    assert not session.facts.value.starting
    house.withdraw()
    await house.clock.settle()
    assert not session.facts.value.starting


@pytest.mark.parametrize("proven", [True, False])
async def test_a_cli_that_is_up_and_shows_no_status_does_not_start_for_ever(house: SandboxHouse, proven: bool) -> None:
    """Nor one of which nothing can be proven: a legacy trigger goes on as if it published nothing, then."""
    session = await house.opens()
    await house.clock.advance(SILENT_MS * 2)
    assert session.facts.value.starting, "nothing is published: it may be showing a dialog"
    if proven:
        house.runs()
    await house.publish(None if proven else "idle")
    await house.clock.advance(SILENT_MS - 1)
    assert session.facts.value.starting
    await house.clock.advance(1)
    assert not session.facts.value.starting
    assert status(session) is None


async def test_in_the_shared_folder_the_time_begins_with_the_session(house: SandboxHouse) -> None:
    """Its file may have been another's before anybody looked."""
    house.descriptors = None
    session = await house.opens()
    await house.clock.advance(SILENT_MS)
    assert not session.facts.value.starting


async def test_the_start_that_has_ended_sets_no_timer(house: SandboxHouse) -> None:
    session = await house.opens()
    await house.publish("idle")
    house.runs()
    await house.publish("idle")
    assert status(session) == "idle"
    house.withdraw()
    await house.clock.advance(SILENT_MS * 2)
    assert not session.facts.value.starting


# --- adoption ---------------------------------------------------------------------------------------------------------


async def adopted(house: SandboxHouse, **label: object) -> Session:
    """A session that an earlier host has opened."""
    import os

    given = make_label("claude", ID, sandbox=True, descriptors=str(house.own), **label)
    house.running.add(os.getpid(), start="100", name="bwrap", namespace=HOST_SPACE)
    house.home.keeper.held.append(house.home.keeper.make(pid=os.getpid(), label=encode_label(given)))
    await house.home.registry.connect()
    session = house.real.find(ID)
    assert session is not None
    house.proofs.take_up(session)
    return session


async def test_a_later_host_proves_it_anew(house: SandboxHouse) -> None:
    house.runs()
    house.show("busy")
    session = await adopted(house, writer=(OWNER, START))
    assert status(session) == "busy"
    assert not session.facts.value.starting


async def test_a_later_host_does_not_believe_what_an_earlier_one_knew(house: SandboxHouse) -> None:
    house.runs(start="501")
    house.show("busy")
    assert status(await adopted(house, writer=(OWNER, START))) is None


async def test_an_adopted_session_whose_cli_has_shown_no_status_starts_as_well(house: SandboxHouse) -> None:
    house.runs()
    house.show(None, statusUpdatedAt=None)
    session = await adopted(house, writer=(OWNER, START))
    assert session.facts.value.starting
    await house.clock.advance(SILENT_MS)
    assert not session.facts.value.starting


# --- the readers of the shared folders --------------------------------------------------------------------------------


async def test_the_shared_readers_do_not_speak_for_a_sandboxed_session(house: SandboxHouse) -> None:
    """A descriptor in the shared folder may have the number of a process below its terminal."""
    session = await house.opens()
    house.running.add(2, parent=OUTER, start=START)
    house.running.add(OUTER, parent=session.pid, start="490")
    house.descriptors = None
    await house.publish("busy")
    assert house.reader.by_pid(2) is not None, "the reader has it"
    house.binding.take_up(session)
    assert (unproven(session), session.label.writer) == (None, None)


async def test_nor_for_the_session_around_it(house: SandboxHouse) -> None:
    """The nearest terminal counts, and that one is sandboxed."""
    outer = await house.home.opens("claude", OTHER)
    house.running.add(outer.pid, start="50")
    house.running.add(4_200_000, parent=outer.pid, start="60")
    inner = await house.opens(ID, pid=4_200_000)
    house.running.add(4_200_000, parent=outer.pid, start="100")
    house.running.add(77, parent=4_200_000, start="70")
    house.descriptors = None
    house.show("busy", pid=77, procStart="70", sessionId=OTHER, name="77.json")
    await house.clock.settle()
    assert (unproven(outer), unproven(inner), inner.label.writer, outer.label.writer) == (None, None, None, None)
