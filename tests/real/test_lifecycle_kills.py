"""Hosts that are killed in the middle of an action: the next one answers truthfully, and repeats nothing.

The moment is seen in what the action leaves behind: its marker, its result, what its session's CLI publishes. Where it
would be over too soon to be met, it is held: the page or the session's process is stopped, the Enter is due much later,
a person has just typed. The host is killed in the callback that sees it. What is expected then follows from what the
dead host has left, so that it counts for every moment in which the kill may have come.

In the end another request is carried out. Requests of a session are done one after another, so whatever the next host
might have gone on with would have been done by then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosting import RunningHost, until
from tests.support.lifecycle_host import (
    PATIENCE,
    asked,
    facts,
    listed,
    new,
    processes,
    prompts,
    told_of,
    transcript,
    watch_page,
)
from tests.support.screens import Screen

LATER = "60000"
"""Milliseconds: not before the host is killed."""
PROMPT = "the one prompt"
NO_EVIDENCE = "no-busy-edge,no-title,late-transcript=1500"
"""A CLI that takes its prompt and shows nothing of it for a while."""


class Kill:
    """A host that is killed once, and the page that stays. `marker`: what the dead host had recorded, {} for nothing;
    `result`: the result that it had published, if any.
    """

    def __init__(self, host: RunningHost, screen: Screen, stack: AsyncExitStack) -> None:
        self.host = host
        self.screen = screen
        self.stack = stack
        self.name = str(uuid.uuid4())
        self.marker: dict[str, Any] = {}
        self.result: bytes | None = None

    @property
    def folder(self) -> Path:
        return self.host.triggers / "processed"

    def effects(self) -> list[str]:
        """What the action has recorded by now."""
        try:
            return list(json.loads((self.folder / f"{self.name}.action.json").read_bytes())["effects"])
        except FileNotFoundError:
            return []

    def kill(self) -> None:
        self.host.kill()
        for file in self.folder.glob(f"{self.name}.action.json"):
            self.marker = json.loads(file.read_bytes())
        for file in self.folder.glob(f"{self.name}.result.json"):
            self.result = file.read_bytes()

    async def at(self, moment: Moment, body: dict[str, Any]) -> None:
        """Send a request, and kill the host at that moment."""
        async with moment.seen(self):
            self.host.trigger({"version": 1, **body}, self.name)

    async def next_host(self) -> dict[str, Any]:
        """Start the next host, without what has held the first one; return the result."""
        for variable in ("BUSY_FALL_SETTLE_MS", "SUBMIT_ENTER_DELAY_MS", "SUBMIT_VERIFY_MS", "AGENT_FAULTS"):
            self.host.environment.pop(f"SWITCHBOARD_{variable}", None)
        self.host.environment["SWITCHBOARD_TRIGGER_QUIET_MS"] = "300"
        said = len(self.screen.raw)
        self.host.start()
        await self.screen.until(lambda: b"connected to the host again" in self.screen.raw[said:], "the page's return")
        return await self.host.result(self.name, PATIENCE)

    def recorded(self, effect: str) -> bool:
        return effect in self.marker["effects"]


@dataclass(frozen=True)
class Moment:
    """When a host is killed. `held` is set before; `sees` says whether an entry of a folder tells of the moment."""

    name: str
    sees: Callable[[Kill, str], bool]
    folder: Callable[[Kill], Path] = lambda kill: kill.folder
    held: dict[str, str] = field(default_factory=dict)
    act: Callable[[Kill], object] = Kill.kill
    phases: tuple[str, ...] = ()
    """The phases in which the kill can have come; none: in any."""

    @asynccontextmanager
    async def seen(self, kill: Kill) -> AsyncIterator[None]:
        async with told_of(self.folder(kill), lambda name: self.sees(kill, name), lambda: self.act(kill)):
            yield


def claimed(kill: Kill, name: str) -> bool:
    """The marker appears."""
    return name == f"{kill.name}.action.json"


def recorded(effect: str) -> Callable[[Kill, str], bool]:
    """The marker has this effect, and may have more by now."""
    return lambda kill, name: claimed(kill, name) and effect in kill.effects()


def published(kill: Kill, name: str) -> bool:
    """The result is written beside its place."""
    return name == f"{kill.name}.result.json.tmp"


def agents(kill: Kill) -> Path:
    return kill.host.root / "agent" / "sessions"


# --- what counts after every kill -------------------------------------------------------------------------------------


def check_result(kill: Kill, result: dict[str, Any]) -> None:
    """One result: the true one that the dead host had published, or what it had recorded and not a bit more."""
    if kill.result is not None:
        assert result == json.loads(kill.result)
        assert result["ok"], result
        assert "uncertain" not in result
        return
    marker = kill.marker
    wrote = kill.recorded("prompt-attempted")
    expected = {
        "version": 1,
        "action": marker["action"],
        "ok": False,
        "outcome": "refused",
        "reason": "interrupted by restart",
        "sessionId": marker["sessionId"],
        "submitted": marker["submitted"],
        "wrote": wrote,
        "steps_total": marker["steps_total"],
        "uncertain": True,
        "detail": f"recorded before the end: {marker['phase']}",
    }
    spawned = {"resume": "resumed", "new": "created"}.get(marker["mode"])
    if spawned is not None:
        expected[spawned] = kill.recorded("spawned")
    if wrote:
        expected["text_written"] = kill.recorded("text-written") or kill.recorded("enter-written")
        expected["enter_written"] = kill.recorded("enter-written")
    assert {key: value for key, value in result.items() if key != "enter_at"} == expected
    assert ("enter_at" in result) is (marker["enter_at"] is not None)


async def check_files(kill: Kill, result: dict[str, Any]) -> None:
    """No request, no marker, nothing half written, and the result as it was first published."""
    assert not list(kill.folder.glob(f"{kill.name}.action.json*"))
    assert not (kill.host.triggers / f"{kill.name}.json").exists()
    # What came afterwards is cleared away after its result has come.
    await until(lambda: [entry.name for entry in kill.host.triggers.iterdir()] == ["processed"], "no request is left")
    await until(lambda: all(file.name.endswith(".result.json") for file in kill.folder.iterdir()), "no marker is left")
    assert json.loads(kill.host.result_path(kill.name).read_bytes()) == result
    if kill.result is not None:
        assert kill.host.result_path(kill.name).read_bytes() == kill.result


async def idle(host: RunningHost, session_id: str) -> dict[str, Any]:
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle", PATIENCE)
    return listed(host, session_id)


def prompt_to(session_id: str, prompt: str) -> dict[str, Any]:
    return {"action": "open", "sessionId": session_id, "prompt": prompt}


async def left_in_the_box(kill: Kill, session_id: str) -> None:
    """The text without its Enter counts as a draft: nothing is typed behind it until a person clears it."""
    host = kill.host
    assert (await idle(host, session_id))["draft"]
    refused = await asked(host, prompt_to(session_id, "behind it") | {"timeout_ms": 1500})
    assert (refused["ok"], refused["wrote"]) == (False, False), refused
    assert "unsubmitted" in refused["reason"], refused
    stopped = await asked(host, {"action": "stop", "sessionId": session_id})
    assert stopped["reason"] == "session has unsubmitted input"
    await select(kill.screen)
    if kill.recorded("text-written"):  # killed before that, the text counts as left although it may never have gone out
        await kill.screen.shows(PROMPT)
    kill.screen.types(b"\x15")
    await until(lambda: not listed(host, session_id)["draft"], "the draft is gone", PATIENCE)


async def select(screen: Screen) -> None:
    """Nothing is selected by a trigger: a person selects the session."""
    screen.types(b"\x1b[B\r")
    await screen.shows("Enter sends")


# --- the host, its page and a session ---------------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    made = RunningHost(tmp_path)
    yield made
    made.cli("down", "--sessions", timeout=PATIENCE)
    made.clean_up()


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def prepared(host: RunningHost, stack: AsyncExitStack, held: dict[str, str]) -> Kill:
    """The host runs, with what will hold it, and its page is there."""
    host.environment |= held
    host.start()
    assert host.cli("config", "set", "cli", "agent").returncode == 0
    assert host.cli("project", "add", str(host.project)).returncode == 0
    screen = await stack.enter_async_context(watch_page(host))
    await screen.shows("connected", "n new")
    return Kill(host, screen, stack)


def turn_is_over(host: RunningHost, session_id: str) -> bool:
    return any(row.get("subtype") == "turn_duration" for row in transcript(host, session_id))


async def closed_session(host: RunningHost) -> str:
    """A session that has had one turn in some terminal, and was left."""
    session_id = str(uuid.uuid4())
    command = [sys.executable, "-m", "switchboard.cli.main", "agent", "--session-id", session_id]
    async with Screen(command, dict(host.environment), cwd=str(host.project)) as agent:
        await agent.shows("Enter sends")
        agent.types(b"hello\r")
        await until(
            lambda: any(row.get("subtype") == "turn_duration" for row in transcript(host, session_id)), "a turn"
        )
        agent.types(b"/exit\r")
        assert await agent.ended() == 0
    return session_id


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process does nothing meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


# --- opening a closed session -----------------------------------------------------------------------------------------

HELD_READINESS = {"SWITCHBOARD_BUSY_FALL_SETTLE_MS": LATER}
HELD_ENTER = {"SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": LATER}

RESUME = [
    Moment("after the spawn", recorded("spawned"), held=HELD_READINESS, phases=("spawned",)),
    Moment("during readiness", lambda _, name: name.endswith(".json"), agents, HELD_READINESS, phases=("spawned",)),
    Moment(
        "at the first byte",
        recorded("prompt-attempted"),
        held=HELD_ENTER,
        phases=("prompt-attempted", "text-written"),
    ),
    Moment("between text and Enter", recorded("text-written"), held=HELD_ENTER, phases=("text-written",)),
    Moment(
        "during verification",
        recorded("enter-written"),
        held={"SWITCHBOARD_AGENT_FAULTS": NO_EVIDENCE, "SWITCHBOARD_SUBMIT_VERIFY_MS": LATER},
        phases=("enter-written",),
    ),
]


def named(moments: list[Moment]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("moment", moments, ids=lambda moment: moment.name)


@named(RESUME)
async def test_opening_a_closed_session(host: RunningHost, stack: AsyncExitStack, moment: Moment) -> None:
    session_id = await closed_session(host)
    kill = await prepared(host, stack, moment.held)
    await kill.at(moment, prompt_to(session_id, PROMPT))
    await goes_on(kill, moment, session_id, ["hello"])


async def goes_on(kill: Kill, moment: Moment, session_id: str, earlier: list[str]) -> None:
    """The session that was spawned is adopted, with what had become of the prompt, and takes the next one."""
    host = kill.host
    assert kill.marker.get("phase") in (moment.phases or (kill.marker.get("phase"),))
    running = processes(session_id)
    assert len(running) == 1
    result = await kill.next_host()
    check_result(kill, result)
    shown = await idle(host, session_id)
    assert (shown["state"], [shown["pid"]]) == ("open", running)
    submitted = kill.result is not None or kill.recorded("enter-written")
    if not submitted and (shown["draft"] or kill.recorded("text-written")):
        await left_in_the_box(kill, session_id)  # with its Enter it is a draft, too, until the transcript shows it
    once = [PROMPT] if submitted else []
    await until(lambda: prompts(host, session_id) == [*earlier, *once], "what was submitted", PATIENCE)
    after = await asked(host, prompt_to(session_id, "afterwards"))
    assert (after["ok"], after["resumed"]) == (True, False), after
    await until(lambda: prompts(host, session_id)[-1:] == ["afterwards"], "the next prompt", PATIENCE)
    assert prompts(host, session_id) == [*earlier, *once, "afterwards"]
    assert processes(session_id) == running
    assert len([one for one in host.sessions() if one["state"] == "open"]) == 1
    await check_files(kill, result)


async def test_opening_when_the_marker_appears(host: RunningHost, stack: AsyncExitStack) -> None:
    """Nothing was started then, and the page, which may have been asked, starts nothing when it is asked no more."""
    kill = await prepared(host, stack, {})
    session_id = (await new(host))["sessionId"]  # so the page is ready
    await idle(host, session_id)
    assert (await asked(host, {"action": "stop", "sessionId": session_id}))["ok"]
    with stopped(kill.screen.pid):
        await kill.at(CLAIMED, prompt_to(session_id, PROMPT))
    assert kill.marker["phase"] == "claimed"
    result = await kill.next_host()
    check_result(kill, result)
    assert facts(result)[2] is False
    assert processes(session_id) == []
    after = await asked(host, prompt_to(session_id, "afterwards"))
    assert (after["ok"], after["resumed"], after["submitted"]) == (True, True, "confirmed"), after
    assert prompts(host, session_id) == ["hello", "afterwards"]
    assert len(processes(session_id)) == 1
    await check_files(kill, result)


CLAIMED = Moment("the marker appears", claimed)

# --- a new session ----------------------------------------------------------------------------------------------------

NEW = [
    Moment("after the spawn", recorded("spawned"), held=HELD_READINESS, phases=("spawned",)),
    Moment("between text and Enter", recorded("text-written"), held=HELD_ENTER, phases=("text-written",)),
    Moment("at the result's rename", published),
]


def new_session(host: RunningHost, prompt: str = PROMPT) -> dict[str, Any]:
    return {"action": "open", "new": {"project": str(host.project), "name": "Errand"}, "prompt": prompt}


@named(NEW)
async def test_a_new_session(host: RunningHost, stack: AsyncExitStack, moment: Moment) -> None:
    kill = await prepared(host, stack, moment.held)
    await kill.at(moment, new_session(host))
    session_id = kill.marker["sessionId"] if kill.result is None else json.loads(kill.result)["sessionId"]
    await goes_on(kill, moment, session_id, [])


async def test_a_new_session_whose_result_is_kept_from_its_place(host: RunningHost, stack: AsyncExitStack) -> None:
    """Everything is done and recorded, the result is written and not yet in its place."""
    kill = await prepared(host, stack, {})
    in_the_way = kill.folder / f"{kill.name}.result.json"
    async with told_of(kill.folder, lambda name: recorded("text-written")(kill, name), in_the_way.mkdir):
        moment = Moment("before the result's rename", published, phases=("enter-written",))
        await kill.at(moment, new_session(host))
    in_the_way.rmdir()
    await goes_on(kill, moment, kill.marker["sessionId"], [])


async def test_a_new_session_when_the_marker_appears(host: RunningHost, stack: AsyncExitStack) -> None:
    """The reserved id is told, and nobody has ever heard of it."""
    kill = await prepared(host, stack, {})
    earlier = (await new(host))["sessionId"]  # so the page is ready
    with stopped(kill.screen.pid):
        await kill.at(CLAIMED, new_session(host))
    assert kill.marker["phase"] == "claimed"
    result = await kill.next_host()
    check_result(kill, result)
    reserved = result["sessionId"]
    after = await asked(host, new_session(host, "another"))
    assert (after["ok"], after["created"], after["submitted"]) == (True, True, "confirmed"), after
    unknown = await asked(host, prompt_to(reserved, "anybody?"))
    assert (unknown["outcome"], unknown["reason"]) == ("not-found", "session not found")
    assert processes(reserved) == []
    assert {one["id"] for one in host.sessions()} == {earlier, after["sessionId"]}
    await check_files(kill, result)


# --- a stop after a note ----------------------------------------------------------------------------------------------

NOTE = "[slow 4s] last words"
"""Its turn lasts long enough for a person to type during it."""


async def open_session(kill: Kill) -> str:
    """A session that is open, idle, and was typed into by nobody since it was opened again."""
    session_id = await closed_session(kill.host)
    opened = await asked(kill.host, {"action": "open", "sessionId": session_id})
    assert facts(opened) == ("opened", None, True, "no", False, 0)
    await idle(kill.host, session_id)
    return session_id


def stop_after(note: str, session_id: str) -> dict[str, Any]:
    return {"action": "stop", "sessionId": session_id, "before": note}


async def still_runs(kill: Kill, session_id: str, running: list[int], *said: str) -> None:
    """The pending stop is not finished by the next host: the session takes the next prompt."""
    host = kill.host
    await idle(host, session_id)
    after = await asked(host, prompt_to(session_id, "afterwards"))
    assert (after["ok"], after["resumed"], after["submitted"]) == (True, False, "confirmed"), after
    assert prompts(host, session_id) == ["hello", *said, "afterwards"]
    assert processes(session_id) == running
    assert listed(host, session_id)["state"] == "open"


async def test_a_stop_between_its_notes_text_and_enter(host: RunningHost, stack: AsyncExitStack) -> None:
    kill = await prepared(host, stack, HELD_ENTER)
    session_id = await open_session(kill)
    running = processes(session_id)
    await kill.at(Moment("", recorded("text-written")), stop_after(PROMPT, session_id))
    assert kill.marker["phase"] == "text-written"
    result = await kill.next_host()
    check_result(kill, result)
    await left_in_the_box(kill, session_id)
    await still_runs(kill, session_id, running)
    await check_files(kill, result)


async def test_a_stop_during_its_notes_turn(host: RunningHost, stack: AsyncExitStack) -> None:
    kill = await prepared(host, stack, {})
    session_id = await open_session(kill)
    running = processes(session_id)
    (place,) = (host.root / "agent" / "projects").iterdir()
    moment = Moment("", lambda _, name: prompts(host, name.removesuffix(".jsonl"))[-1:] == [NOTE], lambda _: place)
    await kill.at(moment, stop_after(NOTE, session_id))
    assert kill.marker["phase"] == "enter-written"
    result = await kill.next_host()
    check_result(kill, result)
    await still_runs(kill, session_id, running, NOTE)
    await check_files(kill, result)


@asynccontextmanager
async def somebody_types(kill: Kill, session_id: str) -> AsyncIterator[None]:
    """During the note's turn a person types a word, and takes it back. The stop waits until they have been quiet."""
    await select(kill.screen)
    yield
    await until(lambda: prompts(kill.host, session_id)[-1:] == [NOTE], "the note's turn", PATIENCE)
    kill.screen.types(b"hmm")
    await kill.screen.shows("hmm")
    kill.screen.types(b"\x15")


async def test_a_stop_between_its_notes_turn_and_the_signal(host: RunningHost, stack: AsyncExitStack) -> None:
    kill = await prepared(host, stack, {"SWITCHBOARD_TRIGGER_QUIET_MS": LATER})
    session_id = await open_session(kill)
    running = processes(session_id)
    finished = Moment("", recorded("note-finished"))
    async with finished.seen(kill), somebody_types(kill, session_id):
        host.trigger({"version": 1, **stop_after(NOTE, session_id)}, kill.name)
    assert kill.marker["phase"] == "note-finished"
    result = await kill.next_host()
    check_result(kill, result)
    await still_runs(kill, session_id, running, NOTE)
    await check_files(kill, result)


DEAF = """
import signal, sys
if "agent" in sys.orig_argv:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
"""
"""Run by every Python at its start: a session's process does not come to its hangup."""


def pending(pid: int) -> bool:
    """Whether a process was told to hang up and has not come to it."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("ShdPnd")]
    return bool(int(line.split()[1], 16) >> (signal.SIGHUP - 1) & 1)


async def test_a_stop_between_the_signal_and_the_exit(host: RunningHost, stack: AsyncExitStack) -> None:
    """The signal is out: the process may still end by it, and is not made to."""
    (host.root / "sitecustomize.py").write_text(DEAF)
    kill = await prepared(host, stack, {"PYTHONPATH": str(host.root)})
    session_id = await open_session(kill)
    (pid,) = processes(session_id)
    assert not pending(pid)
    await kill.at(Moment("", recorded("stop-requested")), stop_after(NOTE, session_id))
    assert kill.marker["phase"] == "stop-requested"
    assert pending(pid)
    result = await kill.next_host()
    check_result(kill, result)
    await still_runs(kill, session_id, [pid], NOTE)
    os.kill(pid, signal.SIGTERM)
    await until(lambda: listed(host, session_id)["state"] != "open", "the end", PATIENCE)
    await check_files(kill, result)


async def test_a_stop_at_its_results_rename(host: RunningHost, stack: AsyncExitStack) -> None:
    kill = await prepared(host, stack, {})
    session_id = await open_session(kill)
    await kill.at(Moment("", published), stop_after(NOTE, session_id))
    assert kill.result is not None or kill.marker["phase"] == "stop-requested"
    assert processes(session_id) == []
    result = await kill.next_host()
    check_result(kill, result)
    await until(lambda: listed(host, session_id)["state"] != "open", "the exit to be told of", PATIENCE)
    await is_closed(kill, session_id)
    await check_files(kill, result)


async def is_closed(kill: Kill, session_id: str) -> None:
    """Its note was said once; it stays closed until somebody opens it."""
    host = kill.host
    assert prompts(host, session_id) == ["hello", NOTE]
    assert processes(session_id) == []
    after = await asked(host, prompt_to(session_id, "afterwards"))
    assert (after["ok"], after["resumed"], after["submitted"]) == (True, True, "confirmed"), after
    assert prompts(host, session_id) == ["hello", NOTE, "afterwards"]
    assert len(processes(session_id)) == 1
