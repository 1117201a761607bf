"""All sessions of a host: opened, adopted, found by id, dropped; and a keeper that dies under them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
from tests.support.fake_clock import START
from tests.support.sessions import ID, House, house, make_label, prints

from switchboard.clis.profiles import AGENT, SHELL
from switchboard.common.facts import ComposerView
from switchboard.sessions.keeper_client import ExitReport, KeeperError, KeeperGoneError
from switchboard.sessions.labels import decode_label, encode_label
from switchboard.sessions.registry import MAX_EXITED, OpenError
from switchboard.sessions.session import Session


class Listener:
    """What a listener was told, as (what, handle)."""

    def __init__(self, fault: str = "") -> None:
        self.told: list[tuple[str, int]] = []
        self._fault = fault

    def session_changed(self, session: Session) -> None:
        self._note("changed", session)

    def session_printed(self, session: Session) -> None:
        self._note("printed", session)

    def session_removed(self, session: Session) -> None:
        assert not session.holding.mapping.closed, "a listener may still read the ring"
        self._note("removed", session)

    def _note(self, what: str, session: Session) -> None:
        self.told.append((what, session.handle))
        if what == self._fault:
            raise RuntimeError(f"a fault on {what}")


@pytest.fixture
async def home() -> AsyncIterator[House]:
    with house() as made:
        yield made


# --- opening ------------------------------------------------------------------------------------------------------


async def test_a_session_is_opened_with_its_plan_and_its_label(home: House) -> None:
    listener = Listener()
    home.registry.listen(listener)
    session = await home.opens(session_id=ID.upper(), launch="fork", name="a name", project="/srv")
    (spawn,) = home.keeper.spawned
    assert (spawn.argv, spawn.cwd, spawn.env, spawn.size) == (("/bin/prog", "x"), "/srv/project", {"A": "1"}, (100, 30))
    label = decode_label(spawn.label)
    assert label == make_label(
        key=ID, generation=START, launch="fork", name="a name", project="/srv", columns=100, rows=30
    )
    assert session.key == ID
    assert session.profile is AGENT
    assert list(home.registry) == [session]
    assert home.registry.by_handle(session.handle) is session
    assert listener.told == [("changed", session.handle)]
    assert decode_label(session.ring.load_label()) == label


@pytest.mark.parametrize(
    ("fields", "deadline"),
    [({}, START + 10_000), ({"deadline": START + 300}, START + 300), ({"deadline": START + 60_000}, START + 10_000)],
    ids=["the keeper's own", "a sooner one", "a later one"],
)
async def test_the_keeper_is_told_until_when_it_may_start_it(
    home: House, fields: dict[str, int], deadline: int
) -> None:
    await home.opens(**fields)
    assert [spawn.deadline for spawn in home.keeper.spawned] == [deadline]


async def test_an_opened_session_is_followed(home: House) -> None:
    listener = Listener()
    home.registry.listen(listener)
    session = await home.opens()
    await prints(session, home.terminal(session), b"hello")
    assert listener.told[-1] == ("printed", session.handle)


async def test_each_start_has_a_generation_of_its_own_and_later_ones_are_larger(home: House) -> None:
    first = await home.opens()
    second = await home.opens()
    home.clock.sleep(-5)
    third = await home.opens()
    home.clock.sleep(100)
    fourth = await home.opens()
    generations = [session.generation for session in (first, second, third, fourth)]
    assert generations == [START, START + 1, START + 2, START + 95_000]


@pytest.mark.parametrize(
    ("unreachable", "refusal", "text"),
    [
        (None, "could not run x: no such program", "could not run x: no such program"),
        (KeeperError("see keeper.log"), None, "see keeper.log"),
        (TimeoutError(), None, "the session keeper did not answer in time"),
    ],
    ids=["not started", "no keeper", "silent keeper"],
)
async def test_what_cannot_be_opened_says_why_and_leaves_nothing(
    home: House, unreachable: Exception | None, refusal: str | None, text: str
) -> None:
    home.keeper.unreachable, home.keeper.refusal = unreachable, refusal
    with pytest.raises(OpenError) as refused:
        await home.opens()
    assert str(refused.value) == text
    assert list(home.registry) == []


async def test_the_keeper_is_reached_once(home: House) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(home.registry.connect())
    await home.registry.connect()
    assert home.keeper.connections == 1


# --- finding ------------------------------------------------------------------------------------------------------


async def test_a_session_is_found_by_its_id_in_any_letter_case(home: House) -> None:
    session = await home.opens()
    assert home.registry.find(ID) is session
    assert home.registry.find(ID.upper()) is session
    assert home.registry.find("another") is None


async def test_a_session_is_found_by_an_id_that_it_had(home: House) -> None:
    session = await home.opens(session_id="one")
    session.rekeyed("two")
    session.rekeyed("three")
    for key in ("one", "two", "three"):
        assert home.registry.find(key) is session


async def test_who_has_an_id_comes_before_who_had_it_also_when_older(home: House) -> None:
    has_it = await home.opens(session_id="one")
    had_it = await home.opens(session_id="two")
    had_it.label.past = ["one"]
    assert home.registry.find("one") is has_it


async def test_of_several_the_newest_is_found(home: House) -> None:
    await home.opens(session_id="one")
    newest = await home.opens(session_id="one")
    assert home.registry.find("one") is newest
    for number in range(2):
        old = await home.opens(session_id=f"was-{number}")
        old.rekeyed(f"is-{number}")
        old.label.past.append("zero")
    assert home.registry.find("zero") is old


async def test_an_ended_session_is_not_found_and_still_listed(home: House) -> None:
    session = await home.opens()
    home.keeper.exits(session.handle)
    assert home.registry.find(ID) is None
    assert home.registry.by_handle(session.handle) is session
    again = await home.opens()
    assert home.registry.find(ID) is again


async def test_an_ended_session_gives_way_to_one_that_had_the_id(home: House) -> None:
    had_it = await home.opens(session_id="one")
    had_it.rekeyed("two")
    ended = await home.opens(session_id="one")
    home.keeper.exits(ended.handle)
    assert home.registry.find("one") is had_it


# --- the end ------------------------------------------------------------------------------------------------------


async def test_an_exit_is_told_and_the_keeper_may_forget(home: House) -> None:
    listener = Listener()
    session = await home.opens()
    home.registry.listen(listener)
    home.keeper.exits(session.handle, 3, None, START + 9)
    assert session.exit == ExitReport(3, None, START + 9)
    assert listener.told == [("changed", session.handle)]
    assert home.keeper.told == [("forget", session.handle)]


async def test_an_exit_of_an_unknown_session_is_none_of_ours(home: House) -> None:
    await home.registry.connect()
    home.keeper.exits(99)
    assert home.keeper.told == []


async def test_ended_sessions_are_kept_up_to_a_number_and_the_oldest_goes_first(home: House) -> None:
    listener = Listener()
    home.registry.listen(listener)
    running = await home.opens()
    ended = []
    for _ in range(MAX_EXITED + 2):
        session = await home.opens()
        home.keeper.exits(session.handle)
        ended.append(session)
    assert list(home.registry) == [running, *ended[2:]]
    assert [handle for what, handle in listener.told if what == "removed"] == [s.handle for s in ended[:2]]
    assert ended[0].holding.mapping.closed
    assert not ended[2].holding.mapping.closed


async def test_a_removed_session_is_told_and_closed_once(home: House) -> None:
    listener = Listener()
    session = await home.opens()
    home.registry.listen(listener)
    home.keeper.exits(session.handle)
    home.registry.remove(session)
    home.registry.remove(session)
    assert listener.told == [("changed", session.handle), ("removed", session.handle)]
    assert session.holding.mapping.closed
    assert home.registry.by_handle(session.handle) is None


@pytest.mark.parametrize("what", ["changed", "printed", "removed"])
async def test_a_fault_of_one_listener_reaches_nobody_else(home: House, what: str) -> None:
    broken, good = Listener(fault=what), Listener()
    home.registry.listen(broken)
    home.registry.listen(good)
    session = await home.opens()
    await prints(session, home.terminal(session), b"text")
    home.keeper.exits(session.handle)
    home.registry.remove(session)
    assert good.told == broken.told
    assert {told for told, _ in good.told} == {"changed", "printed", "removed"}
    assert session.holding.mapping.closed
    assert f"error session {session.handle}: RuntimeError: a fault on {what}" in home.log.lines


async def test_a_fault_in_following_one_session_is_logged(home: House) -> None:
    session = await home.opens()
    session.rekeyed("x" * 70_000)
    (line,) = home.log.lines
    assert line.startswith(f"error session {session.handle}: following it failed: LabelTooLongError: a label of 70")
    assert "xxxx" not in line


async def test_closing_leaves_running_sessions_to_the_keeper(home: House) -> None:
    session = await home.opens()
    home.registry.close()
    assert home.keeper.told == []
    assert not home.keeper.connected
    assert session.exit is None
    assert session.holding.mapping.closed
    assert list(home.registry) == []


# --- adoption -----------------------------------------------------------------------------------------------------


async def test_what_the_keeper_holds_is_adopted(home: House) -> None:
    label = make_label("claude", "the-id", name="kept", past=["old-id"], delivery=b"text")
    home.keeper.held = [home.keeper.make(handle=4, label=encode_label(label), pid=77)]
    await home.registry.connect()
    (session,) = home.registry
    assert (session.handle, session.pid, session.key, session.label.name) == (4, 77, "the-id", "kept")
    assert home.registry.find("old-id") is session
    assert session.facts.value.composer == ComposerView(4, START)
    await prints(session, home.terminal(session), b"followed")
    assert home.keeper.told == []


@pytest.mark.parametrize(
    "label",
    [b"", b"garbage", encode_label(make_label("no-such-cli")), encode_label(make_label(past=None))],
    ids=["none", "garbage", "unknown profile", "a field of another type"],
)
async def test_a_session_without_a_readable_label_is_a_terminal_with_a_draft(home: House, label: bytes) -> None:
    home.keeper.held = [home.keeper.make(handle=4, label=label)]
    await home.registry.connect()
    (session,) = home.registry
    assert session.profile is SHELL
    assert session.key == "unknown-4"
    assert home.registry.find("unknown-4") is session
    composer = session.facts.value.composer
    assert composer is not None
    assert composer.pending == 1
    assert home.log.lines == ["warning session 4 has an unreadable label; it is shown as a plain terminal"]


async def test_a_session_that_ended_while_no_host_was_there_is_shown_and_may_be_forgotten(home: House) -> None:
    label = encode_label(make_label())
    home.keeper.held = [home.keeper.make(handle=4, label=label, ended=ExitReport(7, None, START))]
    await home.registry.connect()
    (session,) = home.registry
    assert session.exit == ExitReport(7, None, START)
    assert home.keeper.told == [("forget", 4)]


async def test_generations_go_on_after_those_of_adopted_sessions(home: House) -> None:
    label = make_label(generation=START + 1_000_000)
    home.keeper.held = [home.keeper.make(label=encode_label(label))]
    await home.registry.connect()
    assert (await home.opens(session_id="new")).generation == START + 1_000_001


# --- the keeper goes ----------------------------------------------------------------------------------------------


async def test_a_lost_keeper_is_said_and_its_successor_gets_what_runs(home: House) -> None:
    lost = []
    home.registry.on_keeper_lost = lambda: lost.append(True)
    running = await home.opens()
    ended = await home.opens()
    home.keeper.exits(ended.handle)
    home.keeper.dies()
    assert lost == [True]
    assert home.log.lines == ["error the session keeper has gone; sessions go on, and a new keeper takes them over"]
    home.keeper.told.clear()
    await home.registry.connect()
    assert home.keeper.told == [("adopt", running.handle)]
    assert list(home.registry) == [running, ended]
    await prints(running, home.terminal(running), b"still read")


async def test_an_exit_without_a_keeper_is_taken_all_the_same(home: House) -> None:
    session = await home.opens()
    home.keeper.dies()
    home.keeper.exits(session.handle)
    assert session.exit is not None


async def test_a_new_keeper_may_give_out_the_number_of_an_ended_session(home: House) -> None:
    listener = Listener()
    ended = await home.opens(session_id="one")
    home.registry.listen(listener)
    home.keeper.exits(ended.handle)
    home.keeper.dies()
    fresh = await home.opens(session_id="two")
    assert fresh.handle == ended.handle
    assert ended.holding.mapping.closed
    assert list(home.registry) == [fresh]
    assert listener.told == [("changed", 1), ("removed", 1), ("changed", 1)]


async def test_a_connection_that_broke_over_a_living_keeper_adopts_nothing_twice(home: House) -> None:
    running = await home.opens(session_id="one")
    ended = await home.opens(session_id="two")
    exits = ExitReport(1, None, START)
    home.keeper.connected = False
    again = [home.keeper.make(handle=running.handle), home.keeper.make(handle=ended.handle, ended=exits)]
    home.keeper.held = list(again)
    other = home.keeper.make(handle=9, label=encode_label(make_label(key="three")))
    home.keeper.held.append(other)
    await home.registry.connect()
    assert [session.key for session in home.registry] == ["one", "two", "three"]
    assert home.registry.by_handle(running.handle) is running
    assert all(holding.mapping.closed for holding in again)
    assert (running.exit, ended.exit) == (None, exits)
    assert home.keeper.told == [("forget", ended.handle)]


async def test_a_keeper_that_goes_again_at_once_costs_nothing(home: House) -> None:
    running = await home.opens(session_id="one")
    home.keeper.dies()
    home.keeper.held = [home.keeper.make(handle=9, label=encode_label(make_label(key="two")))]

    def gone(_holding: object) -> None:
        raise KeeperGoneError("gone again")

    adopt, home.keeper.adopt = home.keeper.adopt, gone  # type: ignore[method-assign]  # it dies at this message
    with pytest.raises(KeeperGoneError):
        await home.registry.connect()
    home.keeper.dies()
    home.keeper.adopt = adopt  # type: ignore[method-assign]  # the next one does not
    await home.registry.connect()
    assert home.keeper.told == [("adopt", running.handle), ("adopt", 9)]
    assert [session.key for session in home.registry] == ["one", "two"]


async def test_a_closing_host_does_not_mourn_its_keeper(home: House) -> None:
    lost = []
    home.registry.on_keeper_lost = lambda: lost.append(True)
    await home.opens()
    home.registry.close()
    home.keeper.dies()
    assert lost == []
    assert home.log.lines == []


async def test_an_interruption_is_told_to_whoever_waits_for_its_end(home: House) -> None:
    session = await home.opens()
    session.untaken(b"nobody yet", START)
    told = []
    home.registry.on_interrupted = told.append
    session.untaken(b"text", START)
    assert told == [session]


# --- transcripts --------------------------------------------------------------------------------------------------


async def test_transcripts_are_followed_by_whoever_the_host_names(home: House) -> None:
    session = await home.opens()
    with session.transcript():
        pass  # nobody yet
    followed = []

    @contextmanager
    def follow(one: Session) -> Iterator[None]:
        followed.append(one)
        yield

    home.registry.transcripts = follow
    with session.transcript():
        assert followed == [session]


@pytest.mark.parametrize(
    ("sandbox", "sandboxed", "folder"), [(None, False, None), ("", True, None), ("/own", True, "/own")]
)
async def test_a_session_in_a_sandbox_knows_where_its_descriptors_are(
    sandbox: str | None, sandboxed: bool, folder: str | None
) -> None:
    with house() as home:
        session = await home.opens(sandbox=sandbox)
        assert (session.label.sandbox, session.label.descriptors) == (sandboxed, folder)
        spawned = decode_label(home.keeper.spawned[-1].label)
        assert spawned is not None
        assert (spawned.sandbox, spawned.descriptors) == (sandboxed, folder)
