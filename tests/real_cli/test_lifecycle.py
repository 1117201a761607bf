"""Versioned triggers with the real CLI: sessions are resumed, started and stopped, or refused with nothing done."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from switchboard.clis.procfs import ProcFs
from tests.real_cli.conftest import Figure, StartCli
from tests.real_cli.home import RealHome
from tests.real_cli.host import RealHost, frozen, idle, until, until_status
from tests.real_cli.page import TerminalPage
from tests.real_cli.terminal import PtyProgram
from tests.real_cli.text import exact_prompt
from tests.support.messages_api import Gate, MessagesApi, Reply, ToolCall

NEWER = "2.1.332"
DIALOG = "the CLI reports a dialog open (waiting); nothing was written into it"


@pytest.fixture(autouse=True)
def page(host: RealHost, home: RealHome) -> Iterator[TerminalPage]:
    """What opens sessions for triggers. It stands there before a test asks for anything."""
    with TerminalPage(host.environment, home.project) as shown:
        yield shown


def facts(result: dict[str, Any]) -> tuple[Any, ...]:
    spawned = result.get("resumed", result.get("created"))
    return result["outcome"], result["reason"], spawned, result["submitted"], result["wrote"], result["steps_total"]


def resume(host: RealHost, session_id: str, prompt: str | None = None, **more: Any) -> dict[str, Any]:
    text = {} if prompt is None else {"prompt": prompt}
    return host.drop({"version": 1, "action": "open", "sessionId": session_id, **text, **more})


def stop(host: RealHost, session_id: str, **more: Any) -> dict[str, Any]:
    return host.drop({"version": 1, "action": "stop", "sessionId": session_id, **more})


def arguments(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[1:-1]


def open_sessions(host: RealHost) -> list[dict[str, Any]]:
    return [session for session in host.sessions() if session["state"] == "open"]


def elsewhere(start_cli: StartCli, home: RealHome, prompt: str) -> tuple[PtyProgram, str]:
    """A CLI in a terminal that is none of the host's, after one turn, and its session id."""
    session_id = str(uuid.uuid4())
    program = start_cli("--session-id", session_id)

    def rests() -> bool:
        return (home.descriptor(program.pid) or {}).get("status") == "idle"

    program.until("idle", rests)
    program.submit(prompt)
    program.until("a closed turn", lambda: home.closed_turns(session_id) == 1 and rests())
    return program, session_id


def closed(start_cli: StartCli, home: RealHome, prompt: str) -> str:
    """A session that was left in an orderly way, and that no host has ever seen."""
    program, session_id = elsewhere(start_cli, home, prompt)
    program.signal(signal.SIGTERM)
    program.wait_exit()
    assert home.descriptor_files() == []
    return session_id


def until_prompts(host: RealHost, home: RealHome, session_id: str, *prompts: str) -> None:
    """Wait until the transcript, which lags behind the status, has exactly these prompts."""
    until("the prompts", lambda: home.typed_prompts(session_id) == list(prompts), explain=host.log)


@pytest.mark.smoke
def test_closed_session_is_resumed_with_a_prompt(
    host: RealHost, home: RealHome, start_cli: StartCli, figure: Figure
) -> None:
    session_id = closed(start_cli, home, "before the break")
    prompt = exact_prompt(1500)

    begun = time.monotonic()
    resumed = resume(host, session_id.upper(), prompt)
    figure("a closed session resumed and its prompt confirmed", round((time.monotonic() - begun) * 1000))

    assert facts(resumed) == ("opened", None, True, "confirmed", True, 1), resumed
    assert resumed["sessionId"] == session_id
    (shown,) = open_sessions(host)
    assert (shown["id"], shown["cwd"], shown["opened_by"]) == (session_id, str(home.project), "trigger")
    assert arguments(shown["pid"]) == ["--resume", session_id, "--permission-mode", "auto"]
    assert os.readlink(f"/proc/{shown['pid']}/cwd") == str(home.project)
    until("the turn's end", lambda: home.closed_turns(session_id) == 2, explain=host.log)
    assert home.typed_prompts(session_id) == ["before the break", prompt]

    here = resume(host, session_id, "once more")
    assert facts(here) == ("opened", None, False, "confirmed", True, 1), here
    assert facts(resume(host, session_id)) == ("opened", None, False, "no", False, 0)
    until("the turn's end", lambda: home.closed_turns(session_id) == 3, explain=host.log)
    assert home.typed_prompts(session_id) == ["before the break", prompt, "once more"]
    assert [one["pid"] for one in open_sessions(host)] == [shown["pid"]]
    assert home.descriptor_files() == [f"{shown['pid']}.json"]


def test_new_named_session_in_a_known_project(host: RealHost, home: RealHome, figure: Figure) -> None:
    body = {
        "version": 1,
        "action": "open",
        "new": {"project": str(home.project), "name": " Errand "},
        "prompt": "the first prompt",
    }
    unknown = host.drop(body)
    assert facts(unknown) == ("refused", "unknown project", False, "no", False, 1)
    assert host.sessions() == []
    assert host.command("project", "add", str(home.project)).returncode == 0

    begun = time.monotonic()
    made = host.drop(body)
    figure("a new session started and its prompt confirmed", round((time.monotonic() - begun) * 1000))

    assert facts(made) == ("opened", None, True, "confirmed", True, 1), made
    session_id = made["sessionId"]
    shown = host.session(session_id)
    assert (shown["state"], shown["name"], shown["cwd"]) == ("open", "Errand", str(home.project))
    assert arguments(shown["pid"]) == ["--session-id", session_id, "--permission-mode", "auto"]
    until("the turn's end", lambda: home.closed_turns(session_id) == 1, explain=host.log)
    assert home.typed_prompts(session_id) == ["the first prompt"]

    until_status(host, home, shown, "idle")
    stopped = stop(host, session_id)
    assert facts(stopped) == ("closed", None, None, "no", False, 0), stopped
    assert ProcFs().start(shown["pid"]) is None
    assert home.descriptor_files() == []


def test_trust_dialog_of_a_new_session_gets_no_prompt(host: RealHost, home: RealHome, api: MessagesApi) -> None:
    """The CLI reports nothing while it asks, and Enter would pick "No, exit" (new) or "Yes" (old)."""
    project = home.root / "not-trusted"
    project.mkdir()
    assert host.command("project", "add", str(project)).returncode == 0
    new = {"project": str(project), "name": "Asked first"}

    refused = host.drop({"version": 1, "action": "open", "new": new, "prompt": "hello there", "timeout_ms": 4000})

    assert facts(refused) == ("refused", "session readiness unavailable", True, "no", False, 1), refused
    (left,) = open_sessions(host)
    assert (left["id"], left["status"], left["name"]) == (refused["sessionId"], "starting", "Asked first")
    assert home.descriptor_files() == []
    assert not [seen for seen in api.requests if seen.is_turn]


def test_id_from_before_a_clear_finds_the_session_while_it_is_open(host: RealHost, home: RealHome) -> None:
    """And once it is closed, that id is the old conversation's again."""
    session = idle(host, home)
    first = session["id"]
    assert resume(host, first, "before the clear")["submitted"] == "confirmed"
    until("the turn's end", lambda: home.closed_turns(first) == 1, explain=host.log)
    assert resume(host, first, "/clear")["submitted"] == "confirmed"
    descriptor = home.descriptor(session["pid"])
    assert descriptor is not None
    second = descriptor["sessionId"]
    assert second != first

    here = resume(host, first, "through the old id")
    assert facts(here) == ("opened", None, False, "confirmed", True, 1), here
    assert here["sessionId"] == first
    until("the turn's end", lambda: home.closed_turns(second) == 1, explain=host.log)
    assert home.typed_prompts(second)[-1] == "through the old id"
    until_status(host, home, session, "idle")
    stopped = stop(host, first)
    assert (facts(stopped), stopped["sessionId"]) == (("closed", None, None, "no", False, 0), first), stopped

    again = resume(host, first, "the old one goes on")
    assert facts(again) == ("opened", None, True, "confirmed", True, 1), again
    until_prompts(host, home, first, "before the clear", "the old one goes on")
    assert home.typed_prompts(second)[-1] == "through the old id"


def test_busy_session_writes_its_note_and_is_stopped(
    host: RealHost, home: RealHome, api: MessagesApi, figure: Figure
) -> None:
    work, note = Gate(), Gate()
    api.answer("a long one", Reply("Done at last.", gate=work))
    api.answer("save a note", Reply("It is saved.", gate=note))
    session = idle(host, home)
    session_id = session["id"]
    assert resume(host, session_id, "a long one")["submitted"] == "confirmed"
    until_status(host, home, session, "busy")
    busy = stop(host, session_id)
    assert facts(busy) == ("refused", "session busy", None, "no", False, 0)

    name = host.publish({"version": 1, "action": "stop", "sessionId": session_id, "before": "save a note"})
    until_prompts(host, home, session_id, "a long one")
    assert not host.has_result(name)
    work.open()
    api.wait_for(lambda seen: seen.is_turn and "save a note" in seen.prompt, 20)
    assert not host.has_result(name)
    assert ProcFs().start(session["pid"]) is not None, "it lives while its note is written"
    note.open()
    opened_at = time.monotonic()
    result = host.result(name)
    figure("the note's turn answered to the session stopped", round((time.monotonic() - opened_at) * 1000))

    assert facts(result) == ("closed", None, None, "confirmed", True, 1), result
    assert home.typed_prompts(session_id) == ["a long one", "save a note"]
    assert home.closed_turns(session_id) == 2
    assert not [row for row in home.rows(session_id) if row.get("operation") == "enqueue"], "it waited for its turn"
    said = [row["message"]["content"] for row in home.rows(session_id) if row["type"] == "assistant"]
    assert "It is saved." in str(said[-1])
    assert ProcFs().start(session["pid"]) is None
    assert home.descriptor_files() == []


@pytest.mark.parametrize("prompt", [None, "hello there"], ids=["no prompt", "prompt"])
def test_session_live_in_another_terminal_is_refused(
    host: RealHost, home: RealHome, start_cli: StartCli, prompt: str | None
) -> None:
    program, session_id = elsewhere(start_cli, home, "my own words")
    before = home.descriptor(program.pid)

    refused = resume(host, session_id, prompt)

    steps = 0 if prompt is None else 1
    assert facts(refused) == ("refused", "session live elsewhere", False, "no", False, steps), refused
    stopped = stop(host, session_id)
    assert facts(stopped) == ("refused", "session live elsewhere", None, "no", False, 0), stopped
    assert open_sessions(host) == []
    assert program.status is None
    assert home.descriptor(program.pid) == before
    assert home.descriptor_files() == [f"{program.pid}.json"]
    assert home.typed_prompts(session_id) == ["my own words"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"action": "open", "prompt": "this must not say yes", "timeout_ms": 2500}, DIALOG),
        ({"action": "stop"}, "session waiting on a dialog"),
        ({"action": "stop", "before": "nor must this", "timeout_ms": 2500}, "note step not finished"),
    ],
    ids=["prompt", "stop", "note"],
)
def test_nothing_is_written_into_a_permission_dialog(
    host: RealHost, home: RealHome, api: MessagesApi, body: dict[str, Any], reason: str
) -> None:
    host.set("permissionMode", "null")
    call = ToolCall("Bash", {"command": "touch ran.txt", "description": "make a file"})
    api.answer("make the file", Reply("On it.", call))
    session = idle(host, home)
    assert resume(host, session["id"], "make the file")["submitted"] == "confirmed"
    waiting = until_status(host, home, session, "waiting")
    until_prompts(host, home, session["id"], "make the file")
    turns = len([seen for seen in api.requests if seen.is_turn])

    with frozen(session["pid"]) as unread:
        refused = host.drop({"version": 1, "sessionId": session["id"], **body})
        assert unread() == 0, "what was written would lie there"

    told = refused["outcome"], refused["reason"], refused["submitted"], refused["wrote"]
    assert told == ("refused", reason, "no", False), refused
    assert "uncertain" not in refused
    # Nothing has moved: the dialog is the same one, the command did not run, the model heard nothing.
    assert home.descriptor(session["pid"]) == waiting
    assert not (home.project / "ran.txt").exists()
    assert len([seen for seen in api.requests if seen.is_turn]) == turns
    assert host.session(session["id"])["status"] == "waiting"
    assert home.typed_prompts(session["id"]) == ["make the file"]


def test_killed_cli_of_this_host_is_proven_dead(host: RealHost, home: RealHome) -> None:
    """Its descriptor stays and still says idle; the host has started it and seen its exit."""
    session = idle(host, home)
    session_id, pid = session["id"], session["pid"]
    assert resume(host, session_id, "before the kill")["submitted"] == "confirmed"
    until("the turn's end", lambda: home.closed_turns(session_id) == 1, explain=host.log)
    os.kill(pid, signal.SIGKILL)
    until("the exit", lambda: open_sessions(host) == [], explain=host.log)
    assert home.descriptor_files() == [f"{pid}.json"]

    resumed = resume(host, session_id, "after the kill")

    assert facts(resumed) == ("opened", None, True, "confirmed", True, 1), resumed
    (shown,) = open_sessions(host)
    assert arguments(shown["pid"])[:2] == ["--resume", session_id]
    until_prompts(host, home, session_id, "before the kill", "after the kill")


def test_killed_cli_of_another_terminal_needs_a_proof(
    host: RealHost, home: RealHome, start_cli: StartCli, version: str
) -> None:
    """What it left behind says where it ran in the newer version only, and that is proof on a machine seen whole."""
    program, session_id = elsewhere(start_cli, home, "before the kill")
    program.signal(signal.SIGKILL)
    assert program.wait_exit() == 137
    left = home.sessions / f"{program.pid}.json"
    assert home.descriptor_files() == [left.name]

    vantage = ProcFs().vantage()
    if not (version == NEWER and vantage.initial and vantage.unfiltered and vantage.machine_id):
        refused = resume(host, session_id, "after the kill")
        told = ("refused", "session liveness unavailable", False, "no", False, 1)
        assert facts(refused) == told, refused
        assert str(left) in refused["detail"]
        assert open_sessions(host) == []
        assert left.exists()
        doctor = host.command("doctor")
        assert left.name in doctor.stdout, doctor.stdout
        left.unlink()  # what the refusal asks for

    resumed = resume(host, session_id, "after the kill")
    assert facts(resumed) == ("opened", None, True, "confirmed", True, 1), resumed
    until_prompts(host, home, session_id, "before the kill", "after the kill")
