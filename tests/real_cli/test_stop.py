"""Stop with the real CLI: it ends cleanly, in its turn as well, and takes away what it has published."""

from __future__ import annotations

from pathlib import Path

import pytest

from switchboard.cli.reach import socket_path
from switchboard.page.local_client import request
from switchboard.page.messages import Done, StopSession
from tests.real_cli.home import RealHome
from tests.real_cli.host import RealHost, until
from tests.support.messages_api import Gate, MessagesApi, Reply


@pytest.mark.parametrize("how", ["stop", "down"])
@pytest.mark.parametrize("when", ["at once", "idle", "in its turn"])
def test_it_ends_cleanly(host: RealHost, home: RealHome, api: MessagesApi, how: str, when: str) -> None:
    gate = Gate()
    api.answer("a long one", Reply("One.", gate=gate))
    session = host.open(home.project)

    def reaches(status: str) -> None:
        until(status, lambda: (home.descriptor(session["pid"]) or {}).get("status") == status, explain=host.log)

    if when != "at once":
        reaches("idle")
    if when == "in its turn":
        host.drop({"sessionId": session["id"], "command": "a long one", "wait": "idle"})
        reaches("busy")
    if how == "stop":
        answer = request(socket_path(host.environment), StopSession(1, session["handle"]), timeout=15)
        assert isinstance(answer, Done)
        assert answer.ok, answer
        assert answer.session is not None
        assert answer.session.exit is not None
    else:
        ended = host.command("down", "--sessions")
        assert ended.returncode == 0, ended.stderr
        assert host.process.wait(10) == 0
    gate.open()
    assert not Path(f"/proc/{session['pid']}").exists()
    assert not home.sessions.is_dir() or list(home.sessions.iterdir()) == []
