"""`switchboard watch`: how it is started, and what it says when it cannot be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from switchboard.cli.output import Nowhere
from switchboard.cli.watch import main
from switchboard.host.instance import HostRecord, Instance
from switchboard.page.local_client import HostUnavailable, unavailable
from switchboard.page.terminal import app


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_host_whose_socket_was_deleted_is_no_missing_host(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page that waits for it is told what helps."""
    given: list[tuple[str, str | None]] = []
    said: list[str] = []

    async def run(path: str, wanted: str | None, *, explain: Callable[[Exception], str], **_: Any) -> int:
        given.append((path, wanted))
        said.append(explain(unavailable(path, FileNotFoundError(2, "No such file or directory"))))
        said.append(explain(HostUnavailable("something else")))
        return 7

    monkeypatch.setattr(app, "run", run)
    monkeypatch.setattr("sys.stdin", Nowhere(0))
    monkeypatch.setattr("sys.stdout", Nowhere(1))
    assert main(["0d6f"]) == 7
    assert said[0] == "no host is running; start one with: switchboard up"
    instance = Instance(str(data))
    instance.acquire()
    instance.publish(HostRecord(os.getpid(), "u", 1, "v"))
    assert main([]) == 7
    instance.release()
    assert given == [(f"{data}/run/host.sock", "0d6f"), (f"{data}/run/host.sock", None)]
    assert f"the host (process {os.getpid()}) runs, but its socket {data}/run/host.sock is not there" in said[2]
    assert f"kill {os.getpid()}" in said[2]


def test_without_a_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("SWITCHBOARD_DATA_DIR", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("switchboard: HOME is not set")
