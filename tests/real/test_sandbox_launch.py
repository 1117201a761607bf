"""Sandboxed sessions of a real host: real bubblewrap, the built-in agent in it, triggers and the terminal page."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosting import RunningHost, until
from tests.support.lifecycle_host import asked, facts, listed, listing_page, new, prompts, watch_page
from tests.support.screens import Screen

from switchboard.clis.procfs import ProcFs
from switchboard.page.local_client import request
from switchboard.page.messages import Done, OpenSession


class SandboxHost(RunningHost):
    """A host whose sessions are sandboxed. `started_in`: the host's own working directory, None for the test's."""

    started_in: Path | None = None

    @property
    def launcher(self) -> tuple[str, ...]:  # type: ignore[override]  # a value of its own for each host
        return () if self.started_in is None else ("env", "-C", str(self.started_in))

    def set_up(self) -> None:
        """Save what its sessions are started with."""
        for key, value in (("cli", "agent"), ("sandbox", "true")):
            done = self.cli("config", "set", "--project", str(self.project), key, value)
            assert done.returncode == 0, done.stderr
        assert self.cli("project", "add", str(self.project)).returncode == 0

    @property
    def folders(self) -> list[Path]:
        """The descriptor folders of its sandboxes."""
        return sorted((self.data / "sandboxes").glob("*/sessions"))

    def descriptors(self) -> list[dict[str, Any]]:
        """Those of all sandboxes."""
        found = [path for folder in self.folders for path in folder.glob("*.json")]
        return [json.loads(path.read_text()) for path in found]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SandboxHost]:
    yield from running(SandboxHost(tmp_path, {"SWITCHBOARD_SANDBOX_PODMAN": "0"}))


def running(made: SandboxHost) -> Iterator[SandboxHost]:
    made.start()
    made.set_up()
    yield made
    made.cli("down", "--sessions")
    made.clean_up()


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def screen(stack: AsyncExitStack, host: SandboxHost) -> Screen:
    """The page: it has drawn its list."""
    return await stack.enter_async_context(listing_page(host))


async def idle(host: RunningHost, session_id: str) -> dict[str, Any]:
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    return listed(host, session_id)


async def attempts(host: RunningHost, session_id: str, script: str) -> dict[str, str]:
    """Have the agent run a shell script in its sandbox; return what it wrote down of each attempt."""
    report = host.project / "report"
    report.unlink(missing_ok=True)
    helper = (
        'try() { name=$1; shift; if sh -c "$1" 2>>errors; then echo "$name: done"; else echo "$name: failed"; fi; }\n'
    )
    (host.project / "attempts.sh").write_text(f"{helper}(\n{script}\n) >report.new\nmv report.new report\n")
    result = await asked(
        host, {"action": "open", "sessionId": session_id, "prompt": f"!sh attempts.sh && echo {os.urandom(4).hex()}"}
    )
    assert result["ok"], result
    await until(report.exists, "the report of the attempts")
    return dict(line.split(": ", 1) for line in report.read_text().splitlines())


# --- as it should be ----------------------------------------------------------------------------------------------


async def test_a_new_session_and_a_resumed_one_get_their_prompts(host: SandboxHost, screen: Screen) -> None:
    made = await new(host, "write it down")
    assert facts(made) == ("opened", None, True, "confirmed", True, 1)
    session_id = made["sessionId"]
    shown = await idle(host, session_id)
    assert (shown["state"], shown["sandbox"], shown["cli"]) == ("open", True, "agent")
    await screen.shows("Errand · sandbox")

    # Its descriptor lies in a folder of its own, with the number that it has inside.
    [descriptor] = host.descriptors()
    assert descriptor["sessionId"] == session_id
    assert descriptor["pid"] not in (shown["pid"], *listed_numbers(shown["pid"]))
    assert list((host.root / "agent").glob("sessions/*")) == []
    assert prompts(host, session_id) == ["write it down"]

    stopped = await asked(host, {"action": "stop", "sessionId": session_id})
    assert facts(stopped) == ("closed", None, None, "no", False, 0)
    await until(lambda: host.folders == [], "the end of the folder")

    resumed = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "and now?"})
    assert facts(resumed) == ("opened", None, True, "confirmed", True, 1)
    again = await idle(host, session_id)
    assert (again["sandbox"], again["pid"] != shown["pid"]) == (True, True)
    assert len(host.folders) == 1
    assert prompts(host, session_id) == ["write it down", "and now?"]

    noted = await asked(host, {"action": "stop", "sessionId": session_id, "before": "[slow 500ms] last words"})
    assert facts(noted) == ("closed", None, None, "confirmed", True, 1)
    await until(lambda: host.folders == [], "the end of the folder")


def listed_numbers(pid: int) -> list[int]:
    """The process and its descendants, by their numbers here."""
    processes = ProcFs()
    return [number for number in processes.numbers() if processes.is_descendant(number, pid)]


async def test_two_sessions_side_by_side_get_their_own_prompts(host: SandboxHost, screen: Screen) -> None:
    """In their sandboxes they have the same numbers."""
    ids = [(await new(host, f"for number {number}", f"Errand {number}"))["sessionId"] for number in range(2)]
    assert len(host.folders) == 2
    for session_id in ids:
        await idle(host, session_id)
    numbers = [one["pid"] for one in host.descriptors()]
    assert numbers[0] == numbers[1]
    for number, session_id in enumerate(ids):
        result = await asked(host, {"action": "open", "sessionId": session_id, "prompt": f"again, {number}"})
        assert facts(result) == ("opened", None, False, "confirmed", True, 1)
    for number, session_id in enumerate(ids):
        assert prompts(host, session_id) == [f"for number {number}", f"again, {number}"]


async def test_it_goes_on_under_the_next_host(host: SandboxHost, stack: AsyncExitStack) -> None:
    page = await stack.enter_async_context(watch_page(host))
    await page.shows("Press n to start a session")
    session_id = (await new(host))["sessionId"]
    before = await idle(host, session_id)
    [folder] = host.folders
    # What a host that was killed in the middle of a start leaves, and of a session that ended meanwhile.
    (host.data / "sandboxes" / "half").mkdir()
    left = host.data / "sandboxes" / "left" / "sessions"
    left.mkdir(parents=True)
    (left / "2.json").write_text(json.dumps({"pid": 2, "sessionId": session_id, "procStart": "1", "status": "idle"}))
    host.kill()
    host.start()
    await until(lambda: host.folders == [folder] and not (host.data / "sandboxes" / "half").exists(), "the sweep")
    after = await idle(host, session_id)
    assert (after["pid"], after["sandbox"]) == (before["pid"], True)
    await until(lambda: "NOT CONNECTED" not in page.text, "the page is back")
    result = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "still there?"})
    assert facts(result) == ("opened", None, False, "confirmed", True, 1)
    await idle(host, session_id)
    stopped = await asked(host, {"action": "stop", "sessionId": session_id})
    assert facts(stopped) == ("closed", None, None, "no", False, 0)
    await until(lambda: host.folders == [], "the end of the folder")


async def test_a_killed_sandbox_leaves_nothing_in_the_way(host: SandboxHost, screen: Screen) -> None:
    session_id = (await new(host))["sessionId"]
    shown = await idle(host, session_id)
    os.kill(shown["pid"], signal.SIGKILL)
    await until(lambda: host.folders == [], "the end of the folder")
    resumed = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "once more"})
    assert facts(resumed) == ("opened", None, True, "confirmed", True, 1)


async def test_another_host_does_not_resume_what_runs_in_a_sandbox(
    host: SandboxHost, screen: Screen, tmp_path: Path
) -> None:
    """It has another data directory and another triggers folder; the conversations are the same."""
    session_id = (await new(host))["sessionId"]
    await idle(host, session_id)
    (tmp_path / "another").mkdir()
    another = SandboxHost(tmp_path / "another", {"SWITCHBOARD_AGENT_HOME": str(tmp_path / "agent")})
    another.start()
    try:
        async with watch_page(another) as page:
            await page.shows("closed")
            wish = OpenSession(1, "resume", profile="agent", session_id=session_id)
            clicked = await asyncio.to_thread(request, another.socket, wish, 20)
            assert isinstance(clicked, Done)
            assert (clicked.ok, clicked.reason) == (False, "session live elsewhere")
            for body in ({}, {"prompt": "hello from there"}):
                result = await asked(another, {"action": "open", "sessionId": session_id, **body})
                assert (result["outcome"], result["reason"]) == ("refused", "session live elsewhere"), result
                assert result["resumed"] is False
            assert [one["state"] for one in another.sessions()] == ["closed"]
            stopped = await asked(host, {"action": "stop", "sessionId": session_id})
            assert stopped["ok"], (stopped, host.sessions())
            await until(lambda: host.folders == [], "the end of the folder")
            opened = await asked(another, {"action": "open", "sessionId": session_id, "prompt": "hello from there"})
            assert facts(opened) == ("opened", None, True, "confirmed", True, 1)
            assert prompts(host, session_id) == ["hello", "hello from there"]
    finally:
        another.cli("down", "--sessions")
        another.clean_up()


async def test_added_directories_and_the_rest(host: SandboxHost, screen: Screen) -> None:
    extra, other = host.root / "extra dir", host.root / "other"
    for folder in (extra, other):
        folder.mkdir()
    done = host.cli("config", "set", "--project", str(host.project), "addDirs", f"{extra},{host.root}/missing")
    assert done.returncode == 0
    session_id = (await new(host))["sessionId"]
    script = f"""
    try extra 'echo x >"{extra}/file"'
    try other 'echo x >"{other}/file"'
    try home 'echo x >"$HOME/.profile"'
    try variables 'env | grep ^SWITCHBOARD_SANDBOX_'
    try others 'cat /proc/{os.getpid()}/cmdline'
    """
    found = await attempts(host, session_id, script)
    assert (found["extra"], found["variables"], found["others"]) == ("done", "failed", "failed")
    assert (extra / "file").read_text() == "x\n"
    assert list(other.iterdir()) == []
    assert not (host.root / "home" / ".profile").exists()
    assert not (host.root / "missing").exists()


# --- what it cannot do --------------------------------------------------------------------------------------------


def escapes(host: SandboxHost, triggers: Path) -> str:
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect({host.socket!r})"
    return f"""
    try create 'echo {{}} >"{triggers}/evil.json"'
    try rename-in 'echo {{}} >mine.json && mv mine.json "{triggers}/evil.json"'
    try result 'echo {{}} >"{triggers}/processed/kept.result.json"'
    try marker 'rm "{triggers}/processed/kept.action.json"'
    try replace-folder 'mv "{triggers}" "{triggers}.old" && mkdir "{triggers}"'
    try replace-processed 'mv "{triggers}/processed" "{triggers}/old" && mkdir "{triggers}/processed"'
    try data 'ls "{host.data}" | grep .'
    try connect '"{sys.executable}" -c "{connect.replace(chr(39), chr(92) + chr(34))}"'
    try project 'echo x >written'
    """


ESCAPES = ("create", "rename-in", "result", "marker", "replace-folder", "replace-processed", "data", "connect")


async def no_escape(host: SandboxHost, triggers: Path) -> None:
    """Try all of it from inside: nothing works, nothing has changed, and the project is as usable as ever."""
    session_id = (await new(host))["sessionId"]
    processed = triggers / "processed"
    for name in ("kept.result.json", "kept.action.json"):
        (processed / name).write_text("kept")
    identities = [path.stat().st_ino for path in (triggers, processed)]
    found = await attempts(host, session_id, escapes(host, triggers))
    assert found == {**dict.fromkeys(ESCAPES, "failed"), "project": "done"}
    assert (host.project / "written").read_text() == "x\n"
    assert [path.stat().st_ino for path in (triggers, processed)] == identities
    assert [(processed / name).read_text() for name in ("kept.result.json", "kept.action.json")] == ["kept"] * 2
    assert [path.name for path in triggers.iterdir() if path.name != "processed"] == []
    assert not (processed / "evil.result.json").exists()


async def test_no_trigger_from_inside(host: SandboxHost, screen: Screen) -> None:
    await no_escape(host, host.triggers)


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[SandboxHost]:
    """A host that was started elsewhere, whose triggers folder lies in the project and is named relative to there."""
    made = SandboxHost(tmp_path, {"SWITCHBOARD_TRIGGERS_DIR": "project/the box"})
    made.triggers = made.project / "the box"
    made.started_in = tmp_path
    yield from running(made)


async def test_nor_where_the_project_has_the_triggers_folder_in_it(inside: SandboxHost, stack: AsyncExitStack) -> None:
    page = await stack.enter_async_context(watch_page(inside))
    await page.shows("Press n to start a session")
    await no_escape(inside, inside.triggers)


async def test_a_module_in_the_project_is_not_what_starts_the_sandbox(host: SandboxHost, screen: Screen) -> None:
    """It was written from inside, perhaps, and the start happens outside."""
    package = host.project / "switchboard"
    package.mkdir()
    for name in ("__init__.py", "sandbox.py"):
        (package / name).write_text(f"open({str(host.root / 'escaped')!r}, 'w').close()\n")
    assert facts(await new(host))[0] == "opened"
    assert not (host.root / "escaped").exists()


# --- when it cannot be --------------------------------------------------------------------------------------------


async def test_a_session_in_the_triggers_folder_is_refused_in_its_terminal(host: SandboxHost, screen: Screen) -> None:
    """The sandbox command says why and ends; nothing is started without it."""
    inside = host.triggers / "project"
    inside.mkdir()
    assert host.cli("config", "set", "sandbox", "true").returncode == 0
    assert host.cli("config", "set", "cli", "agent").returncode == 0
    assert host.cli("project", "add", str(inside)).returncode == 0
    body = {
        "action": "open",
        "new": {"project": str(inside), "name": "Errand"},
        "prompt": "hello",
        "timeout_ms": 20_000,
    }
    result = await asked(host, body)
    assert (result["ok"], result["created"], result["wrote"]) == (False, True, False), result
    shown = listed(host, result["sessionId"])
    assert shown["exit"] == {"code": 125, "signal": None}
    await until(lambda: host.folders == [], "the end of the folder")
    assert prompts(host, result["sessionId"]) == []


async def test_without_bubblewrap_nothing_is_started(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "env"):
        (programs / name).symlink_to(f"/bin/{name}")
    made = SandboxHost(tmp_path, {"PATH": str(programs)})
    made.start()
    try:
        made.set_up()
        async with watch_page(made) as page:
            await page.shows("Press n to start a session")
            body = {"action": "open", "new": {"project": str(made.project), "name": "Errand"}, "prompt": "hello"}
            result = await asked(made, body)
            assert (result["outcome"], result["reason"]) == ("refused", "session open failed")
            assert "bwrap was not found" in result["detail"]
            assert made.sessions() == []
            assert made.folders == []
    finally:
        made.clean_up()


def test_the_doctor_says_whether_sandboxes_can_be_made(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "switchboard.cli.main", "doctor", "--json"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    texts = [one["text"] for one in json.loads(done.stdout)]
    assert [text for text in texts if text.startswith("Sandboxes: ") and text.endswith("makes them")], texts
