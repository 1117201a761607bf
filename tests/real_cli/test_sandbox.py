"""The real CLI in a sandbox: it gets its prompts, is not resumed a second time, and ends cleanly."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real_cli.home import RealHome
from tests.real_cli.host import RealHost, until
from tests.real_cli.page import TerminalPage


@pytest.fixture(autouse=True)
def page(host: RealHost, home: RealHome) -> Iterator[TerminalPage]:
    """What opens sessions for triggers, once everything is to be sandboxed."""
    host.set("sandbox", "true")
    assert host.command("project", "add", str(home.project)).returncode == 0
    with TerminalPage(host.environment, home.project) as shown:
        yield shown


def facts(result: dict[str, Any]) -> tuple[Any, ...]:
    spawned = result.get("resumed", result.get("created"))
    return result["outcome"], result["reason"], spawned, result["submitted"], result["wrote"], result["steps_total"]


def new(host: RealHost, home: RealHome, prompt: str) -> dict[str, Any]:
    wanted = {"project": str(home.project), "name": "Errand"}
    return host.drop({"version": 1, "action": "open", "new": wanted, "prompt": prompt})


def resume(host: RealHost, session_id: str, prompt: str) -> dict[str, Any]:
    return host.drop({"version": 1, "action": "open", "sessionId": session_id, "prompt": prompt})


def descriptors(host: RealHost) -> list[Path]:
    return sorted((host.data / "sandboxes").glob("*/sessions/*.json"))


@pytest.mark.smoke
def test_a_sandboxed_session_from_its_start_to_its_end(host: RealHost, home: RealHome) -> None:
    made = new(host, home, "the first prompt")
    assert facts(made) == ("opened", None, True, "confirmed", True, 1), made
    session_id = made["sessionId"]
    shown = host.session(session_id)
    assert (shown["state"], shown["sandbox"], shown["cwd"]) == ("open", True, str(home.project))
    until("the turn's end", lambda: home.closed_turns(session_id) == 1, explain=host.log)
    assert home.typed_prompts(session_id) == ["the first prompt"]
    assert len(descriptors(host)) == 1
    assert home.descriptor_files() == []

    # Another host of the same person, with folders of its own.
    other = {"SWITCHBOARD_DATA_DIR": str(home.root / "other"), "SWITCHBOARD_TRIGGERS_DIR": str(home.root / "others")}
    second = RealHost({**host.environment, **other}, home.root / "others", home.root / "other")
    with second, TerminalPage(second.environment, home.project, first="closed"):
        refused = resume(second, session_id, "me too")
        assert facts(refused) == ("refused", "session live elsewhere", False, "no", False, 1), refused

    until("idle", lambda: host.session(session_id)["status"] == "idle", explain=host.log)
    stopped = host.drop({"version": 1, "action": "stop", "sessionId": session_id})
    assert facts(stopped) == ("closed", None, None, "no", False, 0), stopped
    assert descriptors(host) == [], "it has ended by itself, and taken its descriptor along"
    until("the end of the folder", lambda: list((host.data / "sandboxes").iterdir()) == [], explain=host.log)

    again = resume(host, session_id, "the second prompt")
    assert facts(again) == ("opened", None, True, "confirmed", True, 1), again
    until("the turn's end", lambda: home.closed_turns(session_id) == 2, explain=host.log)
    assert home.typed_prompts(session_id) == ["the first prompt", "the second prompt"]


def test_a_worktree_of_its_own(host: RealHost, home: RealHome) -> None:
    """The CLI makes it inside, and its transcript, which lies under the worktree's name, is there afterwards."""
    for command in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        person = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        subprocess.run(["git", *person, *command], cwd=home.project, env=home.environment(), check=True)
    host.set("worktree", "true")
    made = new(host, home, "work over there")
    assert facts(made) == ("opened", None, True, "confirmed", True, 1), made
    session_id = made["sessionId"]
    until("the turn's end", lambda: home.closed_turns(session_id) == 1, explain=host.log)
    (tree,) = (home.project / ".claude" / "worktrees").iterdir()
    assert tree.name.startswith("sandbox-")
    transcript = home.transcript(session_id)
    assert transcript is not None
    assert transcript.parent.name.endswith(f"-worktrees-{tree.name}")
