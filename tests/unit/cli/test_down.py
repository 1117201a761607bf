"""`switchboard down`: what is asked, and when it counts as done."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.answering import answering_host

from switchboard.cli.down import main
from switchboard.page.messages import Done, Problem, Shutdown


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("arguments", "asked", "text"),
    [
        ([], Shutdown(1, sessions=False), "The host is ending; sessions go on.\n"),
        (["--sessions"], Shutdown(1, sessions=True), "The host is ending.\n"),
    ],
    ids=["the host alone", "with its sessions"],
)
async def test_what_is_asked(
    data: Path, arguments: list[str], asked: Shutdown, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with answering_host(data) as host:
        code, heard = await host.answers(main, arguments, Shutdown, Done(1, ok=True))
    assert (code, heard, capsys.readouterr().out) == (0, asked, text)


async def test_going_away_is_an_answer(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with answering_host(data) as host:
        code, _ = await host.answers(main, [], Shutdown, None)
    assert (code, capsys.readouterr().out) == (0, "The host is ending; sessions go on.\n")


async def test_a_host_that_goes_on_says_why(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = Done(1, ok=False, reason="session stop not confirmed", detail="still running: x")
    async with answering_host(data) as host:
        code, _ = await host.answers(main, ["--sessions"], Shutdown, answer)
    printed = capsys.readouterr()
    assert (code, printed.out) == (1, "")
    assert printed.err == "switchboard: session stop not confirmed: still running: x\n"


async def test_a_host_that_refuses(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with answering_host(data) as host:
        code, _ = await host.answers(main, [], Shutdown, Problem("use the same version"))
    assert (code, capsys.readouterr().err) == (1, "switchboard: use the same version\n")


def test_without_a_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err == "switchboard: no host is running; start one with: switchboard up\n"


def test_without_a_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("SWITCHBOARD_DATA_DIR", "HOME"):
        monkeypatch.delenv(name)
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("switchboard: HOME is not set")
