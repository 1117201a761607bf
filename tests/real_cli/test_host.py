"""Switchboard with the real CLI: the main job, end to end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.real_cli.conftest import Figure, real_host
from tests.real_cli.home import RealHome, build_home
from tests.real_cli.host import RealHost, end, idle, stalled, until, until_status
from tests.real_cli.text import exact_prompt
from tests.support.messages_api import Gate, MessagesApi, Reply, ToolCall

STARTING = (
    "the CLI has not reported its state since it was started (it may be showing a trust, login or theme dialog); "
    "nothing was written"
)
DIALOG = "the CLI reports a dialog open (waiting); nothing was written into it"


def delivered(code: int, result: dict[str, Any]) -> bool:
    """Whether a result says, in each of its fields, that the prompt was submitted and seen to be."""
    told = {name: result.get(name) for name in ("ok", "submitted", "submit_confirmed", "wrote", "submit_retries")}
    wanted = {"ok": True, "submitted": "confirmed", "submit_confirmed": True, "wrote": True, "submit_retries": 0}
    assert (code, told) == (0, wanted), result
    return True


@pytest.mark.smoke
def test_new_session_is_listed_with_its_status(host: RealHost, home: RealHome) -> None:
    session = host.open(home.project)
    descriptor = until_status(host, home, session, "idle")

    expected = {"state": "open", "cli": "claude", "cwd": str(home.project), "pid": descriptor["pid"]}
    assert {name: session[name] for name in expected} == expected
    assert descriptor["sessionId"] == session["id"]
    until("idle in the listing", lambda: host.session(session["id"])["status"] == "idle", explain=host.log)


@pytest.mark.smoke
def test_trigger_that_waits_for_idle_is_confirmed(
    host: RealHost, home: RealHome, api: MessagesApi, figure: Figure
) -> None:
    """The second is dropped while the first one's turn runs, and must wait for its end."""
    session = idle(host, home)
    gate = Gate()
    api.answer("first prompt", Reply("One.", gate=gate))

    first = host.drop({"sessionId": session["id"], "command": "the first prompt", "wait": "idle"})
    assert delivered(0, first)
    figure("first trigger's waited_ms", first["waited_ms"])
    until_status(host, home, session, "busy")
    api.wait_for(lambda seen: seen.is_turn and "the first prompt" in seen.prompt, 20)
    held = host.drop({"sessionId": session["id"], "command": "too early", "wait": "idle", "timeout_ms": 1500})
    assert (held["ok"], held["submitted"], held["error"], held["wrote"]) == (False, "no", "not sent", False), held

    gate.open()
    code, second = host.send(session["id"], "the second prompt", "--wait", "idle")
    assert delivered(code, second)
    until("two closed turns", lambda: home.closed_turns(session["id"]) == 2)
    assert home.typed_prompts(session["id"]) == ["the first prompt", "the second prompt"]


@pytest.mark.smoke
def test_prompt_of_4096_characters_is_exact(host: RealHost, home: RealHome, figure: Figure) -> None:
    session = idle(host, home)
    text = exact_prompt(4096)

    begun = time.monotonic()
    code, result = host.send(session["id"], text, "--wait", "idle")
    figure("send of 4,096 characters", round((time.monotonic() - begun) * 1000))

    assert delivered(code, result)
    until("a closed turn", lambda: home.closed_turns(session["id"]), explain=host.log)
    assert home.typed_prompts(session["id"]) == [text]


UNSEEN = (
    "a heart \u2764\ufe0f, a family \U0001f468\u200d\U0001f469, an empty\u200b space, cafe\u0301, "
    "a\ttab and\u2028a line end "
)


def test_text_that_the_cli_records_otherwise_is_proven_all_the_same(host: RealHost, home: RealHome) -> None:
    """The transcript has to show each prompt but a session's first, and the newer CLI drops what shows nothing."""
    session = idle(host, home)
    for text in ("the first prompt", UNSEEN, "? what", "a\ttab", "# no note"):
        code, result = host.send(session["id"], text, "--wait", "idle")
        assert delivered(code, result)
    until("five closed turns", lambda: home.closed_turns(session["id"]) == 5, explain=host.log)


def test_clear_is_proven_by_the_new_id(host: RealHost, home: RealHome) -> None:
    session = idle(host, home)
    assert delivered(*host.send(session["id"], "the first prompt", "--wait", "idle"))

    assert delivered(*host.send(session["id"], "/clear", "--wait", "idle"))

    # The old id still finds it.
    assert delivered(*host.send(session["id"], "the next prompt", "--wait", "idle"))
    descriptor = home.descriptor(session["pid"])
    assert descriptor is not None
    assert descriptor["sessionId"] != session["id"]


def test_cli_that_stalls_gets_text_and_enter_apart(host: RealHost, home: RealHome) -> None:
    """What it reads in one go after the stall must be neither a paste nor a text that ends in a line break."""
    session = idle(host, home)
    text = exact_prompt(1500)

    with stalled(session["pid"], seconds=1.2):
        code, result = host.send(session["id"], text, "--wait", "idle")

    assert delivered(code, result)
    until("a closed turn", lambda: home.closed_turns(session["id"]), explain=host.log)
    assert home.typed_prompts(session["id"]) == [text]


@pytest.mark.smoke
@pytest.mark.parametrize("wait", ["none", "idle"])
def test_trigger_during_a_permission_dialog_writes_nothing(
    host: RealHost, home: RealHome, api: MessagesApi, wait: str
) -> None:
    host.set("permissionMode", "null")
    session = idle(host, home)
    call = ToolCall("Bash", {"command": "touch ran.txt", "description": "make a file"})
    api.answer("make the file", Reply("On it.", call))
    code, asked = host.send(session["id"], "make the file", "--wait", "idle")
    assert delivered(code, asked)
    waiting = until_status(host, home, session, "waiting")
    assert waiting["waitingFor"] == "permission prompt"
    turns = len([seen for seen in api.requests if seen.is_turn])

    code, refused = host.send(session["id"], "this must not say yes", "--wait", wait, "--timeout", "2")

    told = {name: refused.get(name) for name in ("ok", "submitted", "error", "reason", "wrote")}
    assert told == {"ok": False, "submitted": "no", "error": "not sent", "reason": DIALOG, "wrote": False}
    assert code == 1
    # Nothing has moved: the dialog is the same one, the command did not run, the model heard nothing.
    assert home.descriptor(session["pid"]) == waiting
    assert not (home.project / "ran.txt").exists()
    assert len([seen for seen in api.requests if seen.is_turn]) == turns
    assert host.session(session["id"])["status"] == "waiting"


def test_trigger_during_the_trust_dialog_writes_nothing(claude: Path, api: MessagesApi, folder: Path) -> None:
    """The CLI reports nothing while it asks, and Enter picks "No, exit" (new) or "Yes" (old)."""
    home = build_home(folder, api.url, trusted=False)
    with real_host(home, claude) as host:
        session = host.open(home.project)
        result = host.drop({"sessionId": session["id"], "command": "hello there", "timeout_ms": 4000})
        assert (result["error"], result["reason"], result["wrote"]) == ("not sent", STARTING, False), result
        assert host.session(session["id"])["status"] == "starting"
        assert home.descriptor_files() == []
    assert not [request for request in api.requests if request.is_turn]


def test_prompts_typed_into_a_turn_are_queued_and_no_draft(host: RealHost, home: RealHome, api: MessagesApi) -> None:
    session = idle(host, home)
    gate = Gate()
    api.answer("first prompt", Reply("One.", gate=gate))
    host.drop({"sessionId": session["id"], "command": "the first prompt", "wait": "idle"})
    until_status(host, home, session, "busy")
    for text in ("typed into the turn", "and one more"):
        result = host.drop({"sessionId": session["id"], "command": text})
        assert (result["ok"], result["submitted"]) == (True, "assumed"), result
        assert not host.session(session["id"])["draft"]
    gate.open()
    last = "and one more"
    until("all of them", lambda: any(last in request.prompt for request in api.requests if request.is_turn))
    until_status(host, home, session, "idle")


def test_clear_rekeys_the_session(host: RealHost, home: RealHome, figure: Figure) -> None:
    session = idle(host, home)
    first = session["id"]
    code, result = host.send(first, "before the clear", "--wait", "idle")
    assert delivered(code, result)
    until("a closed turn", lambda: home.closed_turns(first))

    host.send(first, "/clear", "--wait", "idle")

    def rekeyed() -> str | None:
        descriptor = home.descriptor(session["pid"])
        return descriptor["sessionId"] if descriptor and descriptor["sessionId"] != first else None

    second = until("a new id in the descriptor", rekeyed, explain=host.log)
    seen_at = time.monotonic()
    until("the new id in the listing", lambda: second in [one["id"] for one in host.sessions()], explain=host.log)
    figure("new id in the descriptor to the listing", round((time.monotonic() - seen_at) * 1000))
    assert host.session(second)["pid"] == session["pid"]

    for session_id, prompt in ((first, "through the old id"), (second, "through the new id")):
        code, result = host.send(session_id, prompt, "--wait", "idle")
        assert delivered(code, result)
    until("both prompts", lambda: home.closed_turns(second) >= 2, explain=host.log)
    assert home.typed_prompts(second)[-2:] == ["through the old id", "through the new id"]
    assert home.typed_prompts(first) == ["before the clear"]


def test_sigterm_leaves_no_descriptor(host: RealHost, home: RealHome) -> None:
    session = idle(host, home)

    end(session["pid"])

    until("no descriptor", lambda: not home.descriptor_files(), explain=host.log)
    exited = until("an exited session", lambda: _exited(host, session["id"]), explain=host.log)
    assert exited["exit"] == {"code": 143, "signal": None}
    code, refused = host.send(session["id"], "nobody there")
    assert (code, refused["ok"], refused["error"]) == (1, False, "session not found")


def test_down_with_sessions_leaves_nothing(host: RealHost, home: RealHome) -> None:
    session = idle(host, home)

    assert host.command("down", "--sessions").returncode == 0

    assert host.process.wait(10) == 0
    assert home.descriptor_files() == []
    until("the CLI's end", lambda: not Path(f"/proc/{session['pid']}").exists())


def _exited(host: RealHost, session_id: str) -> dict[str, Any] | None:
    found = [one for one in host.sessions() if one["id"] == session_id and one["state"] == "exited"]
    return found[0] if found else None
