"""Versioned requests and sandboxed sessions: nothing happens to one whose owner is not proven at that very moment.

The descriptors are real files, read by the real reader, and the processes stand in a described /proc. The CLI believes
that it is process 2; here it is another, and at 2 there is nobody, or somebody else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.lifecycle import CWD, ID, OTHER
from tests.support.sandboxed import (
    HOST_SPACE,
    INNER,
    OTHER_SPACE,
    OUTER,
    OWNER,
    SPACE,
    START,
    TERMINAL,
    SandboxHouse,
    sandbox_house,
    status,
    unproven,
)

from switchboard.delivery import reasons as delivery
from switchboard.sessions.session import Session
from switchboard.triggers import v1_reasons as reasons
from switchboard.triggers.results import Result

OPEN: dict[str, Any] = {"action": "open", "sessionId": ID}
PROMPT: dict[str, Any] = {**OPEN, "prompt": "hello"}
NEW: dict[str, Any] = {"action": "open", "new": {"project": CWD, "name": "n"}, "prompt": "hello"}
STOP: dict[str, Any] = {"action": "stop", "sessionId": ID}
NOTE: dict[str, Any] = {**STOP, "before": "write your note"}
NEW_ID = "000000a0-0000-4000-8000-000000000000"
LIMIT = 20_000

Act = Callable[[SandboxHouse], object]


@pytest.fixture(params=[False, True], ids=["host 2 absent", "host 2 occupied"])
async def house(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[SandboxHouse]:
    with sandbox_house(tmp_path, monkeypatch) as made:
        if request.param:
            made.running.add(INNER, parent=0, start="1", name="kthreadd")
        yield made


@pytest.fixture(params=[PROMPT, NEW], ids=["resumed", "created"])
def start(request: pytest.FixtureRequest, house: SandboxHouse) -> dict[str, Any]:
    """A request that starts a session in a sandbox; what its CLI shows is the test's to say."""
    house.closed()
    house.on_start = lambda _session: None
    return {**request.param, "timeout_ms": LIMIT}


def ours(body: dict[str, Any]) -> str:
    """The id of the session that the request is about."""
    return ID if "sessionId" in body else NEW_ID


def text_of(house: SandboxHouse) -> list[bytes]:
    return [data for _, data in house.writes]


async def ended(task: asyncio.Task[Result]) -> Result:
    return await task


def found(house: SandboxHouse, session_id: str = ID) -> Session:
    session = house.home.registry.find(session_id)
    assert session is not None
    return session


async def changes_nothing_later(house: SandboxHouse, result: Result, session_id: str = ID) -> None:
    """A valid mapping comes late, and time passes: the session stands as it is, untouched, and the result too."""
    before, writes, signals = dict(result), list(house.writes), list(house.signals)
    session = house.home.registry.find(session_id)
    house.runs()
    house.folder.joinpath("2.json").unlink(missing_ok=True)
    house.show("idle", sessionId=session_id)
    await house.clock.advance(60_000)
    assert (dict(result), house.writes, house.signals) == (before, writes, signals)
    assert session is None or session.exit is None


# --- readiness of a started session -----------------------------------------------------------------------------------


async def test_only_proven_settled_idle_of_this_launch_will_do(house: SandboxHouse, start: dict[str, Any]) -> None:
    """Absent, old idle, busy, waiting, then idle that holds: one text, one Enter."""
    key = ours(start)
    task = house.begin(start)

    async def until(ms: int) -> None:
        await house.clock.advance(ms - house.elapsed)
        assert house.writes == []

    await until(1000)
    house.runs()
    house.show("idle", ago=5000, sessionId=key)
    await until(3000)
    session = found(house, key)
    assert (status(session), unproven(session)) == ("idle", None)
    house.show("busy", sessionId=key)
    await until(5000)
    house.show("waiting", sessionId=key)
    await until(7000)
    house.show("idle", sessionId=key)
    await until(7010)
    house.show("busy", sessionId=key)
    await until(9000)
    house.show("idle", sessionId=key)
    await until(9299)
    house.on_write = lambda data: house.show("busy", sessionId=key) if data == b"\r" else None
    result = await house.clock.run(ended(task))
    assert house.writes == [(9300, b"hello"), (9350, b"\r")]
    assert (result["outcome"], result["reason"], result["sessionId"]) == ("opened", None, key)
    assert result.get("resumed", result.get("created")) is True
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("confirmed", True, 1)
    assert unproven(session) is None, "the readers of the shared folders have learnt what is for versioned actions"
    assert session.label.writer == (OWNER, START)


async def test_a_status_of_the_very_millisecond_of_the_launch_counts(
    house: SandboxHouse, start: dict[str, Any]
) -> None:
    def up(_session: Session) -> None:
        house.runs()
        house.show("idle", sessionId=ours(start))

    house.on_start = up
    await house.clock.run(ended(house.begin(start)))
    assert text_of(house)[:1] == [b"hello"]


def nothing_published(house: SandboxHouse, key: str) -> None:
    house.runs()


def no_process(house: SandboxHouse, key: str) -> None:
    house.show(sessionId=key)


def numbers(value: tuple[int, ...]) -> Callable[[SandboxHouse, str], None]:
    def act(house: SandboxHouse, key: str) -> None:
        house.runs()
        house.running.add(OWNER, parent=OUTER, start=START, ns_pids=value, namespace=SPACE)
        house.show(sessionId=key)

    return act


def no_numbers(house: SandboxHouse, key: str) -> None:
    house.runs()
    house.running.root.joinpath(str(OWNER), "status").write_text("Name:\tclaude\n")
    house.show(sessionId=key)


def runs(**fields: Any) -> Callable[[SandboxHouse, str], None]:
    def act(house: SandboxHouse, key: str) -> None:
        house.runs(**fields)
        house.show(sessionId=key)

    return act


def shows(**fields: Any) -> Callable[[SandboxHouse, str], None]:
    def act(house: SandboxHouse, key: str) -> None:
        house.runs()
        house.show(**{"sessionId": key, **fields})

    return act


def no_start(house: SandboxHouse, key: str) -> None:
    house.runs()
    house.show(sessionId=key, procStart=None)


def other_terminal(house: SandboxHouse, key: str) -> None:
    """The number of the terminal's process is another one's by now."""
    shows()(house, key)
    house.running.add(TERMINAL, start="101", namespace=HOST_SPACE)


def hidden_terminal(house: SandboxHouse, key: str) -> None:
    shows()(house, key)
    house.running.root.joinpath(str(TERMINAL), "ns", "pid").unlink()


def unreadable_stat(house: SandboxHouse, key: str) -> None:
    shows()(house, key)
    stat = house.running.root / str(OWNER) / "stat"
    stat.unlink()
    stat.mkdir()


def broken_line(house: SandboxHouse, key: str) -> None:
    """A process between it and the terminal cannot be read."""
    shows()(house, key)
    stat = house.running.root / str(OUTER) / "stat"
    stat.unlink()
    stat.mkdir()


def no_proc(house: SandboxHouse, key: str) -> None:
    shows()(house, key)
    house.running.root.rename(house.root / "proc-away")


def hiding_proc(house: SandboxHouse, key: str) -> None:
    shows()(house, key)
    house.running.machine(mount="rw,hidepid=2")


def not_a_file(house: SandboxHouse, key: str) -> None:
    house.runs()
    (house.folder / "2.json").mkdir()


def link(house: SandboxHouse, key: str) -> None:
    """What is written in a sandbox is not followed out of it."""
    house.runs()
    house.show(sessionId=key, name="real.txt")
    (house.folder / "2.json").symlink_to(house.folder / "real.txt")
    house.watcher.tell(str(house.folder), "2.json")


def half_a_file(house: SandboxHouse, key: str) -> None:
    house.runs()
    house.write('{"pid": 2, "sess')


def a_job(house: SandboxHouse, key: str) -> None:
    shows(kind="bg", jobId="j")(house, key)


def below_another(house: SandboxHouse, key: str) -> None:
    """It has the session's id, and another CLI in there has started it."""
    house.runs()
    house.process(4_000_003, inner=9, parent=OWNER, start="600")
    house.show(sessionId=OTHER)
    house.show(name="9.json", pid=9, procStart="600", sessionId=key)


def below_a_job(house: SandboxHouse, key: str) -> None:
    house.runs()
    house.process(4_000_003, inner=9, parent=OWNER, start="600")
    house.show(sessionId=OTHER, kind="bg", jobId="j")
    house.show(name="9.json", pid=9, procStart="600", sessionId=key)


def second_owner(house: SandboxHouse, key: str) -> None:
    shows()(house, key)
    house.process(4_000_003, inner=9, start="600")
    house.show(name="9.json", pid=9, procStart="600", sessionId=key)


def second_process(house: SandboxHouse, key: str) -> None:
    """A sandbox within the terminal, of the same tick: two processes of the same figures."""
    shows()(house, key)
    house.process(4_000_003, parent=OUTER, space=OTHER_SPACE)


def two_files(house: SandboxHouse, key: str) -> None:
    shows()(house, key)
    house.show(name="3.json", sessionId=key)


def beside(house: SandboxHouse, key: str) -> None:
    """A process with that number runs, and its file cannot be read: it might be a second owner."""
    shows()(house, key)
    house.process(4_000_003, inner=9, start="600")
    house.write("{", "9.json")
    os.utime(house.folder / "9.json", (1, 1))


def elsewhere(house: SandboxHouse, key: str) -> None:
    """The CLI of another sandbox, which shares the folder."""
    house.runs()
    house.process(4_000_003, inner=INNER, parent=1, start="600", space=OTHER_SPACE)
    house.process(OWNER)
    house.show(sessionId=key, procStart="600")


UNPROVEN: dict[str, Callable[[SandboxHouse, str], None]] = {
    "no descriptor": nothing_published,
    "no process": no_process,
    "NSpid missing": no_numbers,
    "NSpid of another": numbers((OWNER, 3)),
    "NSpid of one namespace only": numbers((OWNER,)),
    "the terminal's own namespace": runs(space=HOST_SPACE),
    "namespace unreadable": runs(space=None),
    "procStart of another": shows(procStart="501"),
    "no procStart": no_start,
    "it started at another time": runs(start="501"),
    "not below the terminal": runs(parent=1),
    "terminal's number is another's": other_terminal,
    "terminal's namespace unreadable": hidden_terminal,
    "stat unreadable": unreadable_stat,
    "a process in between unreadable": broken_line,
    "no /proc": no_proc,
    "/proc hides others": hiding_proc,
    "descriptor of another session": shows(sessionId=OTHER),
    "descriptor is no file": not_a_file,
    "descriptor is a link": link,
    "descriptor is half of one": half_a_file,
    "background job": a_job,
    "nested": below_another,
    "nested below a job": below_a_job,
    "second owner": second_owner,
    "second process": second_process,
    "two files of one process": two_files,
    "unreadable file of a living process": beside,
    "another sandbox's": elsewhere,
    "its namespace is another than the descriptor's": shows(pidDomain=f"linux:m1:{OTHER_SPACE}"),
}


@pytest.mark.parametrize("shape", UNPROVEN.values(), ids=UNPROVEN)
async def test_without_a_proof_a_started_session_gets_nothing(
    house: SandboxHouse, start: dict[str, Any], shape: Callable[[SandboxHouse, str], None]
) -> None:
    """The descriptor says that it is idle, and is as fresh as can be."""
    key = ours(start)
    house.at(100, lambda: shape(house, key))
    result = await house.ask(start)
    assert (result["outcome"], result["reason"], result["error"]) == (
        *("refused", reasons.READINESS_UNAVAILABLE),
        delivery.NOT_SENT,
    )
    assert (result["sessionId"], result.get("resumed", result.get("created"))) == (key, True)
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("no", False, 1)
    assert "uncertain" not in result
    assert (house.elapsed, house.writes, house.signals) == (LIMIT, [], [])
    if shape is no_proc:
        (house.root / "proc-away").rename(house.running.root)
    for leftover in house.folder.iterdir():
        leftover.rmdir() if leftover.is_dir() and not leftover.is_symlink() else leftover.unlink()
    house.running.machine()
    house.running.add(TERMINAL, start="100", namespace=HOST_SPACE)
    await changes_nothing_later(house, result, key)


def another_sandbox(house: SandboxHouse) -> None:
    """Of the same tick even, with a CLI of the same figures."""
    house.process(4_000_003, inner=INNER, parent=1, space=OTHER_SPACE)


def stale_file(house: SandboxHouse) -> None:
    """A CLI that was killed in there has left half a file, and another a whole one."""
    house.write("{", "9.json")
    house.show(name="12.json", pid=12, procStart="510", sessionId=ID)


def nested_cli(house: SandboxHouse) -> None:
    """The session's own CLI has started another one."""
    house.process(4_000_003, inner=9, parent=OWNER, start="600")
    house.show("busy", name="9.json", pid=9, procStart="600", sessionId=OTHER)


def nested_with_its_id(house: SandboxHouse) -> None:
    house.process(4_000_003, inner=9, parent=OWNER, start="600")
    house.show("busy", name="9.json", pid=9, procStart="600", sessionId=ID)


def a_job_beside(house: SandboxHouse) -> None:
    house.process(4_000_003, inner=9, start="600")
    house.show("busy", name="9.json", pid=9, procStart="600", sessionId=ID, kind="bg", jobId="j")


def cli_beside(house: SandboxHouse) -> None:
    """Another conversation in the same sandbox."""
    house.process(4_000_003, inner=9, start="600")
    house.show("busy", name="9.json", pid=9, procStart="600", sessionId=OTHER)


def other_files(house: SandboxHouse) -> None:
    house.write("secret", "2.0123.key")
    house.write("{}", "notes.json")


BYSTANDERS: dict[str, Act] = {
    "another sandbox": another_sandbox,
    "files of ended CLIs": stale_file,
    "nested CLI": nested_cli,
    "nested CLI with its id": nested_with_its_id,
    "background job": a_job_beside,
    "another conversation": cli_beside,
    "other files": other_files,
}


@pytest.mark.parametrize("others", BYSTANDERS.values(), ids=BYSTANDERS)
async def test_who_cannot_be_the_owner_does_not_stand_in_the_way(house: SandboxHouse, others: Act) -> None:
    house.closed()

    def up(_session: Session) -> None:
        house.runs()
        others(house)
        house.show("idle")
        house.reacts()

    house.on_start = up
    result = await house.ask(PROMPT)
    assert (result["outcome"], result["submitted"], text_of(house)) == ("opened", "confirmed", [b"hello", b"\r"])


async def test_a_mapping_that_comes_in_time_is_found_without_any_event(house: SandboxHouse) -> None:
    house.closed()
    house.on_start = lambda _session: house.show("idle")
    house.reacts()
    house.at(5000, house.runs)
    result = await house.ask(PROMPT)
    assert (result["ok"], text_of(house)) == (True, [b"hello", b"\r"])
    assert 5000 < house.writes[0][0] <= 5000 + 500 + 300


# --- losses while it is waited for ------------------------------------------------------------------------------------


def owner_gone(house: SandboxHouse) -> None:
    house.running.end(OWNER)


def number_given_out_again(house: SandboxHouse) -> None:
    house.process(OWNER, start="900")


def other_namespace(house: SandboxHouse) -> None:
    house.process(OWNER, space=OTHER_SPACE)


def namespace_unreadable(house: SandboxHouse) -> None:
    house.running.root.joinpath(str(OWNER), "ns", "pid").unlink()


def other_number(house: SandboxHouse) -> None:
    house.process(OWNER, inner=7)


def left_the_terminal(house: SandboxHouse) -> None:
    house.process(OWNER, parent=1)


def outer_is_another(house: SandboxHouse) -> None:
    house.running.add(OUTER, parent=1, start="491", ns_pids=(OUTER, 1), namespace=SPACE)


def terminal_is_another(house: SandboxHouse) -> None:
    house.running.add(TERMINAL, start="101", namespace=HOST_SPACE)


def descriptor_gone(house: SandboxHouse) -> None:
    (house.folder / "2.json").unlink()


def descriptor_of_another(house: SandboxHouse) -> None:
    house.show("idle", procStart="777")


def descriptor_unreadable(house: SandboxHouse) -> None:
    descriptor_gone(house)
    (house.folder / "2.json").mkdir()


def second_appears(house: SandboxHouse) -> None:
    house.process(4_000_003, inner=9, start="600")
    house.show("idle", name="9.json", pid=9, procStart="600", sessionId=ID)


def twin_appears(house: SandboxHouse) -> None:
    house.process(4_000_003, space=OTHER_SPACE)


def zombie(house: SandboxHouse) -> None:
    house.running.add(OWNER, parent=OUTER, start=START, state="Z", ns_pids=(OWNER, INNER), namespace=SPACE)


LOSSES: dict[str, Act] = {
    "owner ended": owner_gone,
    "owner waits to be collected": zombie,
    "its number is another's": number_given_out_again,
    "NSpid": other_number,
    "namespace": other_namespace,
    "namespace unreadable": namespace_unreadable,
    "parent": left_the_terminal,
    "a process in between": outer_is_another,
    "terminal": terminal_is_another,
    "descriptor gone": descriptor_gone,
    "descriptor identity": descriptor_of_another,
    "descriptor unreadable": descriptor_unreadable,
    "second owner": second_appears,
}
"""Each of them is seen at the next look, whether an event tells of it or not."""


def again(house: SandboxHouse) -> None:
    """All is as it was."""
    if (house.running.root / "4000003").exists():
        house.running.end(4_000_003)
        (house.folder / "9.json").unlink(missing_ok=True)
    house.running.add(TERMINAL, start="100", namespace=HOST_SPACE)
    house.runs()
    if (house.folder / "2.json").is_dir():
        (house.folder / "2.json").rmdir()


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
async def test_a_lost_proof_takes_the_settled_time_with_it(house: SandboxHouse, loss: Act) -> None:
    """Idle at 1000 ms, lost at 1200, there again at 1400 with the same stamp: 300 ms begin anew."""
    house.closed()
    house.on_start = lambda _session: house.runs()
    house.reacts()
    stamp: list[int] = []

    def idle() -> None:
        stamp.append(house.clock.now())
        house.show("idle")

    def regained() -> None:
        again(house)
        house.show("idle", statusUpdatedAt=stamp[0])

    house.at(1000, idle)
    house.at(1200, lambda: house.unheard(lambda: loss(house)))
    house.at(1400, regained)
    result = await house.ask(PROMPT)
    assert (result["ok"], text_of(house)) == (True, [b"hello", b"\r"])
    assert 1700 <= house.writes[0][0] <= 1700 + 500, "the idle from before the loss was counted"


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
async def test_lost_for_good_before_the_first_byte(house: SandboxHouse, start: dict[str, Any], loss: Act) -> None:
    key = ours(start)

    def lose() -> None:
        loss(house)
        for path in house.folder.glob("*.json"):
            if path.is_file():
                path.write_text(path.read_text().replace(ID, key))

    house.on_start = lambda _session: house.runs()
    house.at(1000, lambda: house.show("busy", sessionId=key))
    house.at(2000, lambda: house.unheard(lose))
    result = await house.ask(start)
    assert (result["reason"], result.get("resumed", result.get("created"))) == (reasons.READINESS_UNAVAILABLE, True)
    assert (house.writes, house.elapsed) == ([], LIMIT)
    again(house)
    await changes_nothing_later(house, result, key)


@pytest.mark.parametrize("what", ["replaced", "generation"])
async def test_another_terminal_is_not_the_one_that_was_started(
    house: SandboxHouse, start: dict[str, Any], what: str
) -> None:
    key = ours(start)
    house.on_start = lambda _session: house.runs()
    task = house.begin(start)
    await house.clock.advance(1000)
    session = found(house, key)
    if what == "generation":
        session.label.generation += 1
    else:
        house.home.keeper.exits(session.handle)
        await house.opens(key)
    house.show("idle", sessionId=key)
    result = await house.clock.run(ended(task))
    assert result["reason"] in (reasons.READINESS_UNAVAILABLE, delivery.EXITED)
    assert (result.get("resumed", result.get("created")), house.writes) == (True, [])


# --- open here --------------------------------------------------------------------------------------------------------


async def test_an_open_session_gets_its_prompt(house: SandboxHouse) -> None:
    session = await house.proven()
    house.reacts()
    result = await house.ask(PROMPT)
    assert (result["outcome"], result["resumed"], result["submitted"]) == ("opened", False, "confirmed")
    assert house.writes == [(0, b"hello"), (50, b"\r")]
    assert unproven(session) is None


@pytest.mark.parametrize("shape", UNPROVEN.values(), ids=UNPROVEN)
async def test_an_open_session_has_no_fallback(house: SandboxHouse, shape: Callable[[SandboxHouse, str], None]) -> None:
    await house.opens()
    shape(house, ID)
    result = await house.ask({**PROMPT, "timeout_ms": 5000})
    assert (result["outcome"], result["reason"], result["wrote"]) == ("refused", reasons.READINESS_UNAVAILABLE, False)
    assert (house.elapsed, house.writes) == (5000, [])


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
async def test_nor_one_whose_proof_was_lost_before(house: SandboxHouse, loss: Act) -> None:
    """It has long started, and to everybody else its CLI publishes nothing."""
    await house.proven()
    loss(house)
    await house.clock.advance(1000)
    result = await house.ask({**PROMPT, "timeout_ms": 5000})
    assert result["reason"] in (reasons.READINESS_UNAVAILABLE, reasons.NOT_RUNNING)
    waited = result["reason"] == reasons.READINESS_UNAVAILABLE
    assert (result["wrote"], house.elapsed, house.writes) == (False, 6000 if waited else 1000, [])


async def test_an_open_session_without_a_proof_is_opened_without_a_prompt(house: SandboxHouse) -> None:
    await house.opens()
    result = await house.ask(OPEN)
    assert (result["outcome"], result["resumed"], result["wrote"], house.writes) == ("opened", False, False, [])


async def test_a_closed_session_is_opened_without_a_prompt_whatever_it_shows(house: SandboxHouse) -> None:
    house.closed()
    result = await house.ask(OPEN)
    assert (result["outcome"], result["resumed"], house.writes) == ("opened", True, [])


async def test_somebodys_draft_is_told_before_the_missing_proof(house: SandboxHouse) -> None:
    session = await house.opens()
    session.type(b"draft")
    house.writes.clear()
    result = await house.ask({**PROMPT, "timeout_ms": 5000})
    assert result["reason"] == delivery.composer_pending("5")
    assert house.writes == []


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
async def test_lost_while_an_open_session_is_waited_for(house: SandboxHouse, loss: Act) -> None:
    await house.proven("busy")
    house.at(1000, lambda: house.unheard(lambda: loss(house)))
    result = await house.ask({**PROMPT, "timeout_ms": 5000})
    assert (result["error"], result["wrote"]) == (delivery.NOT_SENT, False)
    assert result["reason"] in (reasons.WRITER_CHANGED, reasons.TARGET_CHANGED)
    assert (house.elapsed, house.writes) == (5000, [])
    again(house)
    await changes_nothing_later(house, result)


# --- between text and Enter, and after --------------------------------------------------------------------------------

SUDDEN = {**LOSSES, "twin": twin_appears}
"""Before a write all is looked at, others too."""


@pytest.mark.parametrize("loss", SUDDEN.values(), ids=SUDDEN)
async def test_lost_at_the_first_byte(house: SandboxHouse, loss: Act) -> None:
    """In the very moment in which the line was taken: it is waited for, and comes back in time, or not."""
    session = await house.proven()
    line = session.line

    def taken() -> Any:
        house.unheard(lambda: loss(house))
        return line()

    session.line = taken  # type: ignore[method-assign]  # the moment to be met
    result = await house.ask({**PROMPT, "timeout_ms": 5000})
    assert (result["outcome"], result["wrote"], house.writes) == ("refused", False, [])
    assert result["reason"] in (reasons.WRITER_CHANGED, reasons.TARGET_CHANGED)
    again(house)
    await changes_nothing_later(house, result)


@pytest.mark.parametrize("loss", SUDDEN.values(), ids=SUDDEN)
async def test_lost_between_text_and_enter(house: SandboxHouse, loss: Act) -> None:
    await house.proven()
    house.on_write = lambda _data: house.unheard(lambda: loss(house))
    result = await house.ask(PROMPT)
    assert result["outcome"] == "refused"
    assert result["reason"] in (reasons.WRITER_CHANGED, reasons.TARGET_CHANGED)
    assert (result["submitted"], result["wrote"], result["text_written"], result["enter_written"]) == (
        *("no", True),
        *(True, False),
    )
    assert text_of(house) == [b"hello"]
    again(house)
    await changes_nothing_later(house, result)


@pytest.mark.parametrize("loss", SUDDEN.values(), ids=SUDDEN)
async def test_lost_before_the_recovery_enter(house: SandboxHouse, loss: Act) -> None:
    await house.proven()
    house.on_write = lambda data: house.unheard(lambda: loss(house)) if data == b"\r" else None
    result = await house.ask(PROMPT)
    assert (result["outcome"], result["submitted"], result["submit_retries"]) == ("refused", "assumed", 0)
    assert result["reason"] in (reasons.WRITER_CHANGED, reasons.TARGET_CHANGED)
    assert (result["enter_written"], result["uncertain"]) == (True, True)
    assert text_of(house) == [b"hello", b"\r"]
    again(house)
    await changes_nothing_later(house, result)


async def test_without_a_loss_the_recovery_enter_is_pressed(house: SandboxHouse) -> None:
    await house.proven()
    result = await house.ask(PROMPT)
    assert (result["submit_retries"], text_of(house)) == (1, [b"hello", b"\r", b"\r"])


async def test_a_descriptor_that_is_half_written_at_the_enter_is_waited_for(house: SandboxHouse) -> None:
    await house.proven()

    def written(data: bytes) -> None:
        if data == b"hello":
            house.write('{"pid": 2, "ses')
            house.at(house.elapsed + 70, lambda: house.show("idle"))
        elif data == b"\r":
            house.show("busy")

    house.on_write = written
    result = await house.ask(PROMPT)
    assert (result["ok"], house.writes) == (True, [(0, b"hello"), (70, b"\r")])


async def test_half_a_descriptor_that_nobody_completes_gets_no_enter(house: SandboxHouse) -> None:
    await house.proven()
    house.on_write = lambda _data: house.write('{"pid": 2, "ses')
    result = await house.ask(PROMPT)
    assert (result["reason"], text_of(house)) == (reasons.WRITER_CHANGED, [b"hello"])
    assert house.elapsed < 3000


async def test_a_cleared_conversation_is_the_same_session(house: SandboxHouse) -> None:
    session = await house.proven()
    house.on_write = lambda data: house.show("idle", sessionId=OTHER) if data == b"\r" else None
    result = await house.ask({**OPEN, "prompt": "/clear"})
    assert (result["ok"], result["sessionId"], session.key) == (True, ID, OTHER)


async def test_another_process_owns_the_conversation_now(house: SandboxHouse) -> None:
    """The CLI was started again in its sandbox while its text was being typed."""
    await house.proven()

    def restarted(_data: bytes) -> None:
        house.running.end(OWNER)
        house.process(4_000_009, start="950")
        house.show("idle", procStart="950")

    house.on_write = restarted
    result = await house.ask(PROMPT)
    assert (result["reason"], text_of(house)) == (reasons.WRITER_CHANGED, [b"hello"])


# --- stopping ---------------------------------------------------------------------------------------------------------


async def test_a_stop_signals_the_owner_inside_the_sandbox(house: SandboxHouse) -> None:
    session = await house.proven()
    house.at(house.elapsed + 300, lambda: house.home.keeper.exits(session.handle))
    result = await house.ask(STOP)
    assert (result["outcome"], {pid for pid, _ in house.signals}) == ("closed", {OWNER})


@pytest.mark.parametrize("shape", UNPROVEN.values(), ids=UNPROVEN)
async def test_without_a_proof_nothing_is_stopped(
    house: SandboxHouse, shape: Callable[[SandboxHouse, str], None]
) -> None:
    await house.opens()
    shape(house, ID)
    result = await house.ask(STOP)
    assert (result["outcome"], result["reason"]) == ("refused", reasons.STATE_UNAVAILABLE)
    assert (house.signals, house.writes) == ([], [])


@pytest.mark.parametrize("loss", SUDDEN.values(), ids=SUDDEN)
async def test_lost_in_the_quiet_time_before_a_stop(house: SandboxHouse, loss: Act) -> None:
    session = await house.proven()
    session.type(b"x\x7f")
    house.at(house.elapsed + 1000, lambda: house.unheard(lambda: loss(house)))
    result = await house.ask(STOP)
    assert (result["outcome"], result["reason"]) == ("refused", reasons.STATE_UNAVAILABLE)
    assert house.signals == []
    again(house)
    await changes_nothing_later(house, result)


async def test_a_last_text_and_then_the_stop(house: SandboxHouse) -> None:
    session = await house.proven()
    house.reacts(1000)
    house.at(house.elapsed + 5000, lambda: house.home.keeper.exits(session.handle))
    result = await house.ask(NOTE)
    assert (result["outcome"], result["submitted"]) == ("closed", "confirmed")
    assert {pid for pid, _ in house.signals} == {OWNER}
    assert text_of(house) == [b"write your note", b"\r"]


@pytest.mark.parametrize("shape", UNPROVEN.values(), ids=UNPROVEN)
async def test_without_a_proof_there_is_no_last_text(
    house: SandboxHouse, shape: Callable[[SandboxHouse, str], None]
) -> None:
    await house.opens()
    shape(house, ID)
    result = await house.ask({**NOTE, "timeout_ms": 5000})
    assert (result["outcome"], result["reason"]) == ("refused", reasons.NOTE_NOT_FINISHED)
    assert result["delivery"]["reason"] == reasons.READINESS_UNAVAILABLE
    assert (house.signals, house.writes) == ([], [])


@pytest.mark.parametrize("at", [200, 1200], ids=["during its turn", "while its end settles"])
@pytest.mark.parametrize("loss", SUDDEN.values(), ids=SUDDEN)
async def test_lost_after_the_last_text(house: SandboxHouse, loss: Act, at: int) -> None:
    await house.proven()
    house.reacts(1000)
    house.at(house.elapsed + at, lambda: house.unheard(lambda: loss(house)))
    result = await house.ask(NOTE)
    assert (result["outcome"], result["reason"]) == ("refused", reasons.NOTE_NOT_FINISHED)
    assert (house.signals, text_of(house)) == ([], [b"write your note", b"\r"])
    again(house)
    await changes_nothing_later(house, result)


@pytest.mark.parametrize("loss", SUDDEN.values(), ids=SUDDEN)
async def test_lost_between_the_end_of_the_last_text_and_the_stop(house: SandboxHouse, loss: Act) -> None:
    session = await house.proven()
    house.reacts(1000)
    house.at(house.elapsed + 1300, lambda: session.type(b"x\x7f"))
    house.at(house.elapsed + 2000, lambda: house.unheard(lambda: loss(house)))
    result = await house.ask(NOTE)
    assert (result["outcome"], result["submitted"]) == ("refused", "confirmed")
    assert result["reason"] in (reasons.WRITER_CHANGED, reasons.TARGET_CHANGED)
    assert house.signals == []
    again(house)
    await changes_nothing_later(house, result)


# --- everybody else ---------------------------------------------------------------------------------------------------


async def test_a_legacy_request_goes_by_what_it_went_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not see that a dialog is open: to it the CLI publishes nothing."""
    with sandbox_house(tmp_path, monkeypatch, real_time=True) as house:
        session = await house.proven("waiting")
        assert (status(session), unproven(session)) == ("waiting", None)
        assert not session.facts.value.starting, "the first proven status ends the start for everybody"
        async with house.watching():
            house.put("a-trigger", {"sessionId": ID, "command": "hello"})
            result = await house.until_result("a-trigger")
        assert (result["ok"], text_of(house)[:2]) == (True, [b"hello", b"\r"])
        assert unproven(session) is None


async def test_the_real_watcher_delivers_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sandbox_house(tmp_path, monkeypatch, real_time=True) as house:
        await house.proven()
        house.reacts()
        async with house.watching():
            stem = "0d6f3a52-0000-4000-8000-00000000000c"
            house.put(stem, {"version": 1, **PROMPT})
            result = await house.until_result(stem)
        assert (result["outcome"], result["submitted"], text_of(house)) == ("opened", "confirmed", [b"hello", b"\r"])
