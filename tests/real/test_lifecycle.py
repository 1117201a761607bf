"""Opening and stopping by trigger, end to end: a real host, the real terminal page, the built-in agent in real PTYs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.boxed_cli import boxed_cli
from tests.support.hosting import RunningHost, page, until
from tests.support.lifecycle_host import agent_host, asked, facts, listed, listing_page, new, prompts
from tests.support.screens import Screen

from switchboard.clis.procfs import ProcFs
from switchboard.delivery import reasons as delivery
from switchboard.page import messages


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    yield from agent_host(tmp_path)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def screen(stack: AsyncExitStack, host: RunningHost) -> Screen:
    """The page: it has drawn its list."""
    return await stack.enter_async_context(listing_page(host))


async def test_a_new_session_is_stopped_opened_again_and_stopped_after_a_note(
    host: RunningHost, screen: Screen
) -> None:
    made = await new(host, "write it down")
    assert facts(made) == ("opened", None, True, "confirmed", True, 1)
    session_id = made["sessionId"]
    shown = listed(host, session_id)
    assert (shown["state"], shown["name"], shown["cwd"]) == ("open", "Errand", str(host.project))
    await screen.shows("Errand")

    await until(lambda: listed(host, session_id)["status"] == "idle", "the first turn's end")
    stopped = await asked(host, {"action": "stop", "sessionId": session_id})
    assert facts(stopped) == ("closed", None, None, "no", False, 0)
    assert listed(host, session_id)["state"] in ("exited", "closed")
    assert not ProcFs().start(shown["pid"])
    assert list((host.root / "agent" / "sessions").iterdir()) == []

    resumed = await asked(host, {"action": "open", "sessionId": session_id.upper(), "prompt": "and now?"})
    assert facts(resumed) == ("opened", None, True, "confirmed", True, 1)
    assert resumed["sessionId"] == session_id
    again = listed(host, session_id)
    assert again["state"] == "open"
    assert again["pid"] != shown["pid"]

    here = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "[slow 1s] once more"})
    assert facts(here) == ("opened", None, False, "confirmed", True, 1)
    assert listed(host, session_id)["pid"] == again["pid"]
    assert prompts(host, session_id) == ["write it down", "and now?", "[slow 1s] once more"]

    noted = await asked(host, {"action": "stop", "sessionId": session_id, "before": "[slow 700ms] last words"})
    assert facts(noted) == ("closed", None, None, "confirmed", True, 1)
    assert prompts(host, session_id)[-1] == "[slow 700ms] last words"
    rows = next((host.root / "agent" / "projects").glob(f"*/{session_id}.jsonl")).read_text()
    assert rows.rindex("turn_duration") > rows.rindex("last words"), "its turn was written to its end"
    assert list((host.root / "agent" / "sessions").iterdir()) == []
    assert host.sessions()[0]["state"] != "open"


async def test_nothing_is_selected(host: RunningHost, screen: Screen) -> None:
    """Keys go nowhere before, and nowhere after: the page has the row, and nobody has chosen it."""
    made = await new(host)
    await screen.shows("Errand")
    screen.types(b"lost keys\r")
    await until(lambda: listed(host, made["sessionId"])["status"] == "idle", "the first turn's end")
    assert not listed(host, made["sessionId"])["draft"]
    assert prompts(host, made["sessionId"]) == ["hello"]


async def test_an_open_without_a_prompt_types_nothing(host: RunningHost, screen: Screen) -> None:
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    assert (await asked(host, {"action": "stop", "sessionId": session_id}))["ok"]
    opened = await asked(host, {"action": "open", "sessionId": session_id})
    assert facts(opened) == ("opened", None, True, "no", False, 0)
    assert facts(await asked(host, {"action": "open", "sessionId": session_id})) == (
        *("opened", None, False, "no", False, 0),
    )
    assert prompts(host, session_id) == ["hello"]


async def test_two_requests_for_one_closed_session_resume_it_once(host: RunningHost, screen: Screen) -> None:
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    assert (await asked(host, {"action": "stop", "sessionId": session_id}))["ok"]
    names = [
        host.trigger({"version": 1, "action": "open", "sessionId": one, "prompt": f"number {number}"})
        for number, one in enumerate((session_id, session_id.upper()))
    ]
    results = [await host.result(name, 30) for name in names]
    assert sorted(result["resumed"] for result in results) == [False, True]
    assert all(result["submitted"] == "confirmed" for result in results)
    assert sorted(prompts(host, session_id)) == ["hello", "number 0", "number 1"]
    assert len([one for one in host.sessions() if one["state"] == "open"]) == 1


async def test_one_result_for_one_request_however_often_it_comes(host: RunningHost, screen: Screen) -> None:
    session_id = (await new(host))["sessionId"]
    name = host.trigger({"version": 1, "action": "open", "sessionId": session_id, "prompt": "just once"})
    first = await host.result(name)
    host.trigger({"version": 1, "action": "stop", "sessionId": session_id}, name)
    await until(lambda: not (host.triggers / f"{name}.json").exists(), "the repetition is removed")
    assert await host.result(name) == first
    assert listed(host, session_id)["state"] == "open"
    assert prompts(host, session_id).count("just once") == 1


@pytest.mark.parametrize("prompt", [None, "hello?"])
async def test_a_session_that_runs_in_another_terminal(
    host: RunningHost, screen: Screen, stack: AsyncExitStack, prompt: str | None
) -> None:
    session_id = str(uuid.uuid4())
    command = [sys.executable, "-m", "switchboard.cli.main", "agent", "--session-id", session_id]
    agent = await stack.enter_async_context(Screen(command, dict(host.environment), cwd=str(host.project)))
    await agent.shows("Enter sends")
    agent.types(b"my own words\r")
    await agent.shows("my own words")
    body = {"action": "open", "sessionId": session_id} | ({} if prompt is None else {"prompt": prompt})
    refused = await asked(host, body)
    assert facts(refused)[:3] == ("refused", "session live elsewhere", False)
    assert not refused["wrote"]
    stopped = await asked(host, {"action": "stop", "sessionId": session_id})
    assert stopped["reason"] == "session live elsewhere"
    assert host.sessions() == [] or all(one["state"] != "open" for one in host.sessions())
    assert prompts(host, session_id) == ["my own words"]


@pytest.mark.parametrize("prompt", [None, "hello?"])
async def test_a_session_that_runs_in_a_sandbox_elsewhere(host: RunningHost, prompt: str | None) -> None:
    """It has another number there; here, that number is another process's."""
    session_id = str(uuid.uuid4())
    folder = host.root / "agent" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    body = {"action": "open", "sessionId": session_id} | ({} if prompt is None else {"prompt": prompt})
    taken = min(number for number in ProcFs().numbers() if number > 2)
    with boxed_cli(folder, session_id, taken) as cli:
        refused = await asked(host, body)
        assert facts(refused)[:3] == ("refused", "session live elsewhere", False)
        assert (refused["wrote"], f"process {cli.pid} has it open" in refused["detail"]) == (False, True)
        stopped = await asked(host, {"action": "stop", "sessionId": session_id})
        assert stopped["reason"] == "session live elsewhere"
    unproven = await asked(host, body)
    assert (unproven["reason"], unproven["wrote"]) == ("session liveness unavailable", False)
    assert host.sessions() == []


async def test_a_terminal_does_not_answer_for_a_conversation_that_it_has_left(
    host: RunningHost, screen: Screen, stack: AsyncExitStack
) -> None:
    """It was cleared, and the conversation goes on in a terminal elsewhere: nothing is typed or ended here."""
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    await host.result(host.trigger({"sessionId": session_id, "command": "/clear", "wait": "idle"}))
    (here,) = [one for one in host.sessions() if one["state"] == "open"]
    assert here["id"] != session_id
    command = [sys.executable, "-m", "switchboard.cli.main", "agent", "--resume", session_id]
    agent = await stack.enter_async_context(Screen(command, dict(host.environment), cwd=str(host.project)))
    await agent.shows("Enter sends")
    for body in (
        {"action": "open", "prompt": "for the old one"},
        {"action": "stop", "before": "bye"},
        {"action": "stop"},
    ):
        refused = await asked(host, {"sessionId": session_id, **body})
        assert (refused["outcome"], refused["reason"]) == ("refused", "session live elsewhere"), refused
    assert prompts(host, session_id) == ["hello"]
    assert not {"for the old one", "bye"} & set(prompts(host, here["id"]))
    assert [one["id"] for one in host.sessions() if one["state"] == "open"] == [here["id"]]


@pytest.mark.parametrize(
    ("meanwhile", "body", "reason"),
    [
        (b"[ask touch x]\r", {"action": "stop"}, "session waiting on a dialog"),
        (b"[slow 20s]\r", {"action": "stop"}, "session busy"),
        (b"half a sent", {"action": "stop"}, "session has unsubmitted input"),
        (
            b"[ask touch x]\r",
            {"action": "open", "prompt": "go on", "timeout_ms": 1500},
            "the CLI reports a dialog open (waiting); nothing was written into it",
        ),
        (b"[ask touch x]\r", {"action": "stop", "before": "bye", "timeout_ms": 1500}, "note step not finished"),
    ],
    ids=["stop in a dialog", "stop while busy", "stop with a draft", "prompt into a dialog", "note into a dialog"],
)
async def test_what_an_open_session_is_doing(
    host: RunningHost, screen: Screen, meanwhile: bytes, body: dict[str, Any], reason: str
) -> None:
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    screen.types(b"\x1b[B\r")  # nothing is selected: a person selects it
    await screen.shows("Enter sends")
    screen.types(meanwhile)
    doing = {b"[ask": "waiting", b"[slo": "busy", b"half": "idle"}[meanwhile[:4]]
    await until(
        lambda: (one := listed(host, session_id))["status"] == doing and one["draft"] == (doing == "idle"), doing
    )
    refused = await asked(host, {"sessionId": session_id, **body})
    assert (refused["outcome"], refused["reason"], refused["wrote"]) == ("refused", reason, False)
    assert listed(host, session_id)["state"] == "open"
    assert not (host.project / "x").exists(), "nobody has answered the dialog"
    assert prompts(host, session_id)[:1] == ["hello"]


async def test_without_a_page_there_is_no_window(host: RunningHost) -> None:
    body = {"action": "open", "new": {"project": str(host.project), "name": "x"}, "prompt": "x"}
    refused = await asked(host, body)
    assert facts(refused)[:3] == ("refused", "window not available", False)
    assert refused["sessionId"] is None
    unknown = await asked(host, {"action": "open", "sessionId": str(uuid.uuid4())})
    assert (unknown["outcome"], unknown["reason"]) == ("not-found", "session not found")


async def test_a_killed_host_repeats_nothing(host: RunningHost, screen: Screen) -> None:
    """Killed while the prompt's effect is looked for: the next one answers, and the session has the prompt once."""
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    pid = listed(host, session_id)["pid"]
    name = host.trigger({"version": 1, "action": "stop", "sessionId": session_id, "before": "[slow 30s] long note"})
    await until(lambda: prompts(host, session_id)[-1:] == ["[slow 30s] long note"], "the note is in its turn")
    # The agent can be quicker than the host is with writing down that the Enter is out.
    folder = host.triggers / "processed"
    await until(lambda: any("enter-written" in path.read_text() for path in folder.glob(f"{name}*")), "the marker")
    host.kill()
    host.start()
    result = await host.result(name)
    assert facts(result)[:2] == ("refused", "interrupted by restart")
    assert result["uncertain"] is True
    assert (result["wrote"], result["text_written"], result["enter_written"]) == (True, True, True)
    assert result["sessionId"] == session_id
    assert listed(host, session_id)["pid"] == pid
    assert os.path.exists(f"/proc/{pid}"), "the pending stop was not finished"
    assert prompts(host, session_id).count("[slow 30s] long note") == 1
    assert not list((host.triggers / "processed").glob("*.action.json"))
    os.kill(pid, signal.SIGHUP)


async def test_a_text_that_a_stopped_cli_has_not_read_is_written(host: RunningHost, screen: Screen) -> None:
    """The terminal has all of it at the deadline, so all of it is in the box once the CLI goes on."""
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    pid = listed(host, session_id)["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        result = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "not yet", "timeout_ms": 1500})
    finally:
        os.kill(pid, signal.SIGCONT)
    assert facts(result) == ("refused", "session action timed out", False, "no", True, 1)
    assert (result["text_written"], result["enter_written"]) == (True, False)
    assert result["detail"] == delivery.enter_withheld(delivery.TOO_LATE)
    assert "uncertain" not in result
    assert listed(host, session_id)["draft"]
    assert prompts(host, session_id) == ["hello"]


async def test_a_cli_that_was_killed_is_proven_dead(host: RunningHost, screen: Screen) -> None:
    """Its descriptor stays; the host has launched it and seen it reaped, so the session is resumed."""
    session_id = (await new(host))["sessionId"]
    pid = listed(host, session_id)["pid"]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: listed(host, session_id)["state"] != "open", "the exit")
    assert (host.root / "agent" / "sessions" / f"{pid}.json").exists()
    resumed = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "still there?"})
    assert facts(resumed) == ("opened", None, True, "confirmed", True, 1)


async def test_what_a_command_prefix_leaves_of_a_session_is_said_and_ended_by_a_person(
    host: RunningHost, screen: Screen
) -> None:
    """The shell that the CLI was started through goes on. Nothing is typed there, and Stop on a page brings it back."""
    prefix = host.root / "goes-on"
    prefix.write_text('#!/bin/sh\n"$@"\nexec cat\n')
    prefix.chmod(0o755)
    assert host.cli("config", "set", "preLaunchCmd", str(prefix)).returncode == 0
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "the first turn's end")
    (descriptor,) = (host.root / "agent" / "sessions").glob("*.json")
    os.kill(int(descriptor.stem), signal.SIGKILL)
    await until(lambda: not ProcFs().start(int(descriptor.stem)), "the CLI's end")

    for body in ({"action": "open"}, {"action": "open", "prompt": "rm -r x"}, {"action": "stop", "before": "bye"}):
        result = await asked(host, {**body, "sessionId": session_id})
        assert (result["outcome"], result["reason"], result["wrote"]) == ("refused", delivery.NOT_RUNNING, False)
        assert f"process {descriptor.stem}" in result["detail"]
    stopped = await asked(host, {"action": "stop", "sessionId": session_id})
    assert (stopped["reason"], stopped.get("uncertain")) == ("session state unavailable", None)
    assert listed(host, session_id)["state"] == "open"

    async with page(host) as shown:
        handle = next(one.handle for one in shown.sessions.values() if one.id == session_id and one.handle is not None)
        done: Any = await shown.ask(lambda number: messages.StopSession(number, handle, False))
        assert done.ok, done
    assert host.cli("config", "set", "preLaunchCmd", "").returncode == 0
    resumed = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "and now?"})
    assert facts(resumed) == ("opened", None, True, "confirmed", True, 1)
    assert prompts(host, session_id) == ["hello", "and now?"]


async def test_commands(host: RunningHost, screen: Screen) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return host.cli(*arguments, timeout=60)

    loop = asyncio.get_running_loop()

    async def cli(*arguments: str) -> tuple[int, dict[str, Any], str]:
        done = await loop.run_in_executor(None, lambda: run(*arguments))
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    code, made, said = await cli("new", "--project", str(host.project), "--name", "By hand", "first words")
    assert (code, made["outcome"], made["created"]) == (0, "opened", True), said
    session_id = made["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    code, stopped, _ = await cli("stop", session_id, "--before", "last words")
    assert (code, stopped["outcome"]) == (0, "closed")
    code, opened, _ = await cli("open", session_id, "--prompt", "again")
    assert (code, opened["resumed"]) == (0, True)
    code, refused, said = await cli("stop", session_id, "--expected-cwd", "/")
    assert (code, refused["reason"]) == (1, "expectedCwd does not match this session's actual cwd")
    assert "expectedCwd" in said
    assert prompts(host, session_id) == ["first words", "last words", "again"]
