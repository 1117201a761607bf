"""The registry as what versioned actions work on: which session an id means, whether a pin still holds, stopping."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.fake_clock import START
from tests.support.fake_procfs import FakeProcesses
from tests.support.sandboxed import no_proofs
from tests.support.sessions import ID, House, hosted, house

from switchboard.sessions import lifecycle as module
from switchboard.sessions.lifecycle import LifecycleSessions
from switchboard.sessions.session import Session
from switchboard.sessions.stop import StopError
from switchboard.store.sqlite import GLOBAL, Store, StoreError
from switchboard.triggers.lifecycle_port import HostedSessions

OTHER = "0d6f3a52-0000-4000-8000-00000000000b"


class Rig:
    def __init__(self, root: Path, home: House) -> None:
        self.home = home
        self.store = Store(str(root / "switchboard.db"), START)
        self.running = FakeProcesses(root / "proc")
        self.processes = self.running.door()
        self.jobs: dict[str, str] = {}
        self.proofs = no_proofs(home.registry, self.processes, home.clock)
        self.sessions = LifecycleSessions(
            home.registry, self.processes, self.store, home.clock, self.jobs.get, self.proofs
        )

    async def opens(self, session_id: str = ID) -> Session:
        return await self.home.opens("agent", session_id)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as home:
        made = Rig(tmp_path, home)
        yield made
        made.store.close()


def test_it_is_what_the_actions_want(rig: Rig) -> None:
    wanted: HostedSessions = rig.sessions
    assert wanted.find(ID) is None


async def test_a_session_is_found_by_the_ids_it_has_and_had_and_queues_under_one_key(rig: Rig) -> None:
    session = await rig.opens()
    session.rekeyed(OTHER)
    assert rig.sessions.find(ID.upper()) is session
    assert rig.sessions.find(OTHER) is session
    assert rig.sessions.lock_key(ID) == rig.sessions.lock_key(OTHER.upper()) == f"#{session.handle}"
    assert rig.sessions.lock_key("Unknown") == "unknown"


async def test_a_pin_holds_while_all_of_it_is_as_it_was(rig: Rig) -> None:
    session = await rig.opens()
    assert rig.sessions.holds(session, ID, session.generation)
    assert not rig.sessions.holds(session, OTHER, session.generation)
    assert not rig.sessions.holds(session, ID, session.generation + 1)
    assert not rig.sessions.holds(object(), ID, session.generation)


@pytest.mark.parametrize("what", ["reaped", "another id", "replaced"])
async def test_a_pin_is_lost(rig: Rig, what: str) -> None:
    session = await rig.opens()
    generation = session.generation
    match what:
        case "reaped":
            rig.home.keeper.exits(session.handle)
        case "another id":
            session.rekeyed(OTHER)
        case "replaced":
            rig.home.keeper.exits(session.handle)
            await rig.opens()
    assert not rig.sessions.holds(session, ID, generation)


@pytest.mark.parametrize(
    ("writer", "running", "holds"),
    [
        ((4_000_200, "7"), "7", True),
        ((4_000_200, "7"), None, False),
        ((4_000_200, "7"), "8", False),
        ((4_000_200, ""), None, True),
    ],
    ids=["alive", "ended", "its number is another's", "its start is not known"],
)
async def test_a_pin_holds_while_the_owner_of_the_conversation_lives(
    rig: Rig, writer: tuple[int, str], running: str | None, holds: bool
) -> None:
    """The shell that its CLI was started in may outlive it, and would carry out what is meant for the CLI."""
    session = await rig.opens()
    assert rig.sessions.holds(session, ID, session.generation), "no owner is known yet"
    session.observed_writer(*writer)
    if running is not None:
        rig.running.add(writer[0], start=running)
    assert rig.sessions.holds(session, ID, session.generation) is holds
    # Legacy triggers ask the session itself.
    assert session.is_outlived() is not holds


async def test_an_id_that_the_session_has_left_is_no_pin_although_it_is_found_by_it(rig: Rig) -> None:
    session = await rig.opens()
    session.rekeyed(OTHER)
    assert rig.sessions.holds(session, OTHER, session.generation)
    assert not rig.sessions.holds(session, ID, session.generation)


async def test_only_a_sandboxed_session_needs_a_proof(rig: Rig) -> None:
    assert rig.sessions.proof(await rig.opens()) is None
    sandboxed = await rig.home.opens("agent", OTHER, sandbox="")
    proof = rig.sessions.proof(sandboxed)
    assert proof is not None
    assert proof.look() is not None, "nobody can say where its CLI publishes its state"
    rig.proofs.close()


def test_background_jobs_are_asked_for(rig: Rig) -> None:
    rig.jobs[ID] = "job-1"
    assert (rig.sessions.background_job(ID), rig.sessions.background_job(OTHER)) == ("job-1", None)


def test_remote_sessions_are_those_of_the_store(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.store.add_remote_session(ID, "elsewhere")
    assert rig.sessions.remote(ID.upper())
    assert not rig.sessions.remote(OTHER)

    def broken(_session_id: str) -> list[str]:
        raise StoreError("the database cannot be read")

    monkeypatch.setattr(rig.store, "remote_hosts", broken)
    with pytest.raises(StoreError):
        rig.sessions.remote(OTHER)


def test_legacy_triggers_are_told_of_other_machines_only_where_they_may_go_there(rig: Rig) -> None:
    rig.store.add_remote_session(ID, "office")
    rig.store.add_remote_session(ID, "lab")
    assert rig.sessions.remote_hosts(ID) == ()
    rig.store.change_settings(GLOBAL, lambda _: {"remoteTriggers": True})
    assert rig.sessions.remote_hosts(ID.upper()) == ["lab", "office"]
    assert rig.sessions.remote_hosts(OTHER) == []


async def test_a_stop_is_the_one_of_every_stop(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await rig.opens()
    asked: list[tuple[object, ...]] = []

    def request(*arguments: object) -> str:
        asked.append(arguments)
        return "on its way"

    monkeypatch.setattr(module, "request_stop", request)
    assert str(rig.sessions.request_stop(session, START + 500)) == "on its way"
    assert asked == [(session, rig.processes, rig.home.clock, START + 500)], "by force, or with another deadline"

    def refuse(*_: object) -> None:
        raise StopError("no")

    monkeypatch.setattr(module, "request_stop", refuse)
    with pytest.raises(StopError):
        rig.sessions.request_stop(session, START + 500)


def test_identities_of_a_session() -> None:
    with hosted("shell", pid=4_000_000) as stand:
        session = stand.session
        assert (session.kind, session.publishes, session.launched_at, session.writer) == ("shell", False, START, None)
        assert session.processes == {(4_000_000, "100")}
    with hosted("agent", pid=4_000_000, writer=(77, "9")) as stand:
        assert (stand.session.kind, stand.session.publishes, stand.session.writer) == ("agent", True, (77, "9"))
        assert stand.session.processes == {(4_000_000, "100"), (77, "9")}
