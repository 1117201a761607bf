"""Background jobs of the real CLI: refused from the moment the job is recorded, resumed once it has been stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.real_cli.home import RealHome
from tests.real_cli.host import RealHost, until
from tests.real_cli.page import TerminalPage
from tests.support.messages_api import MessagesApi

REASON = "background session is not supported"


@pytest.fixture
def daemon(home: RealHome, api: MessagesApi) -> Iterator[None]:
    """Jobs belong to a daemon that stays; it is ended before the API and the HOME go, with all that it runs."""
    yield
    mark = f"HOME={home.home}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


def job_record(home: RealHome) -> dict[str, Any]:
    (path,) = home.config.glob("jobs/*/state.json")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def claude_says(claude: Path, home: RealHome, *arguments: str) -> None:
    subprocess.run(
        [str(claude), *arguments],
        env=home.environment(),
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )


def test_a_background_job_is_refused_until_it_is_stopped(
    daemon: None, host: RealHost, home: RealHome, claude: Path
) -> None:
    def ask(**more: Any) -> dict[str, Any]:
        return host.drop({"version": 1, "action": "open", "sessionId": session_id, **more})

    with TerminalPage(host.environment, home.project):
        claude_says(claude, home, "--bg", "think about it")
        session_id = job_record(home)["sessionId"]
        # Its process shows itself up to 8 s later; the record is there at once.
        starting = ask(prompt="me too")
        assert (starting["outcome"], starting["reason"], starting["wrote"]) == ("refused", REASON, False), starting
        until("the job's process", lambda: home.descriptor_files() != [], explain=host.log)
        running = ask()
        assert (running["outcome"], running["reason"]) == ("refused", REASON), running
        stopping = host.drop({"version": 1, "action": "stop", "sessionId": session_id})
        assert (stopping["outcome"], stopping["reason"]) == ("refused", REASON), stopping
        until("its prompt", lambda: home.typed_prompts(session_id) != [], explain=host.log)
        assert not any(one["state"] == "open" for one in host.sessions())

        claude_says(claude, home, "stop", job_record(home)["daemonShort"])
        until("the end of its process", lambda: home.descriptor_files() == [], explain=host.log)
        resumed = ask(prompt="back in a terminal")
        assert (resumed["outcome"], resumed["resumed"], resumed["submitted"]) == ("opened", True, "confirmed"), resumed
        assert home.typed_prompts(session_id)[-1] == "back in a terminal"
