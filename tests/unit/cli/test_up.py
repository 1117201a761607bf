"""`switchboard up` and the browser: where the page may be served, and how a browser gets its ticket."""

from __future__ import annotations

import io
import os
import queue
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from switchboard.cli import browser, up
from switchboard.host.host import HostConfig
from switchboard.host.instance import HostRecord
from switchboard.page.web_files import read_credential

GOOD = "0123456789abcdef0123456789abcdef"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert up.main(["--no-open", *arguments]) == 1
    return capsys.readouterr().err


@pytest.fixture
def credential(tmp_path: Path) -> Path:
    path = tmp_path / "credential"
    path.write_text(f"{GOOD}\n", "utf-8")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("address", ["192.168.1.7", "10.0.0.1", "fe80::1", "host.example"])
def test_an_address_beyond_loopback_needs_a_credential(capsys: pytest.CaptureFixture[str], address: str) -> None:
    said = refused(capsys, "--host", address)
    assert "--credential" in said
    assert "SSH" in said


@pytest.mark.parametrize("address", ["0.0.0.0", "::", ""])
def test_every_address_at_once_is_none(capsys: pytest.CaptureFixture[str], address: str, credential: Path) -> None:
    assert "name one address" in refused(capsys, "--host", address, "--credential", str(credential))


def test_a_credential_is_one_long_word_in_a_private_file(credential: Path) -> None:
    assert read_credential(str(credential)) == GOOD


@pytest.mark.parametrize("text", ["", "short", "x" * 31, "a" * 20 + " " + "b" * 20])
def test_a_weak_credential_is_refused(capsys: pytest.CaptureFixture[str], credential: Path, text: str) -> None:
    credential.write_text(text, "utf-8")
    assert "32 characters" in refused(capsys, "--credential", str(credential))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_credential_that_others_can_read_is_refused(
    capsys: pytest.CaptureFixture[str], credential: Path, mode: int
) -> None:
    credential.chmod(mode)
    assert "chmod 600" in refused(capsys, "--credential", str(credential))


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_a_credential_in_no_regular_file_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, make: Callable[[str], None]
) -> None:
    path = str(tmp_path / "odd")
    make(path)
    assert "no regular file" in refused(capsys, "--credential", path)


def test_a_missing_credential_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "cannot be read" in refused(capsys, "--credential", str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
    ],
)
def test_a_browser_is_opened_where_there_is_a_screen(
    environment: dict[str, str], platform: str, expected: bool
) -> None:
    assert browser.has_screen(environment, platform) is expected


def test_the_ticket_does_not_stand_on_a_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(browser.webbrowser, "open", opened.put)
    url = "http://127.0.0.1:1/#ticket=secret&more"
    browser.open_browser(url, {"DISPLAY": ":0", "SWITCHBOARD_DATA_DIR": str(tmp_path)})
    address = opened.get(timeout=20)
    assert "secret" not in address
    lead = Path(address.removeprefix("file://"))
    assert stat.S_IMODE(lead.stat().st_mode) == 0o600
    assert "#ticket=secret&amp;more" in lead.read_text("utf-8")


def test_a_browser_that_is_waited_for_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(browser.webbrowser, "open", lambda _address: ended.wait(20))
    browser.open_browser("http://x/", {"DISPLAY": ":0", "SWITCHBOARD_DATA_DIR": str(tmp_path)})
    (waiting,) = [thread for thread in threading.enumerate() if thread.name == "opening a browser"]
    assert waiting.daemon, "it does not keep the host from ending either"
    ended.set()
    waiting.join(20)


def test_without_a_screen_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(browser.webbrowser, "open", opened.append)
    browser.open_browser("http://x/", {"SWITCHBOARD_DATA_DIR": str(tmp_path)})
    assert opened == []
    assert list(tmp_path.iterdir()) == []


# --- what it says -------------------------------------------------------------------------------------------------


class Full(io.StringIO):
    """A log on a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("page", [True, False], ids=["with a browser page", "without one"])
def test_a_host_whose_output_goes_nowhere_is_ready_all_the_same(
    page: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    announced: list[str] = []

    async def run_host(config: HostConfig) -> None:
        record = HostRecord(1, "http://127.0.0.1:1/", 1, "1")
        config.announce(record, (lambda: "http://127.0.0.1:1/#t") if page else None)
        announced.append(record.url)

    monkeypatch.setattr("switchboard.host.host.run_host", run_host)
    monkeypatch.setattr(sys, "stdout", Full())
    code = up.main(["--no-open"])
    monkeypatch.undo()
    assert (code, announced) == (0, ["http://127.0.0.1:1/"])
    said = capsys.readouterr().err
    assert said.startswith(
        "switchboard: the output could not be written: No space left on device. Switchboard is ready"
    )
    assert "#t" not in said
