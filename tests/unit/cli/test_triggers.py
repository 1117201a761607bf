"""Exit codes of commands that wait for a result, and what they write."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from switchboard.cli import triggers
from switchboard.cli.triggers import (
    TriggerFolderError,
    UnreadableResult,
    exit_code,
    read_phase,
    read_result,
    result_path,
    wait_result,
    what_helps,
    write_trigger,
)


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"ok": True}, 0),
        ({"ok": True, "uncertain": True}, 0),
        ({"ok": False, "wrote": False}, 1),
        ({"ok": False, "wrote": False, "uncertain": False}, 1),
        ({"ok": False, "wrote": False, "uncertain": True}, 3),
        ({"ok": False, "wrote": True}, 3),
        ({"ok": False}, 3),
        ({"ok": "true"}, 3),
        ({}, 3),
    ],
)
def test_exit_codes(result: dict[str, object], code: int) -> None:
    assert exit_code(result) == code


def test_a_request_is_complete_and_private_when_it_appears(tmp_path: Path) -> None:
    name = write_trigger(str(tmp_path), {"sessionId": "x", "command": "ü\udcff"})
    path = tmp_path / f"{name}.json"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text("ascii")) == {"sessionId": "x", "command": "ü\udcff"}


def test_a_missing_folder_is_said_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(TriggerFolderError, match=r"does not exist; start a host \(`switchboard up`\)"):
        write_trigger(str(tmp_path / "none"), {})


def test_a_result_is_read_once_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "processed").mkdir()
    assert read_result(str(tmp_path), "a") is None
    path = Path(result_path(str(tmp_path), "a"))
    path.write_text('{"ok":true}')
    assert wait_result(str(tmp_path), "a", 0.0, quiet=True) == {"ok": True}


def test_results_that_have_no_folder_are_none_yet_and_one_is_seen_once_they_have(tmp_path: Path) -> None:
    processed = tmp_path / "processed"
    processed.write_text("")
    assert read_result(str(tmp_path), "a") is None
    assert what_helps(str(tmp_path)).startswith(f"{processed} is no folder")

    def mend() -> None:
        processed.unlink()
        processed.mkdir()
        Path(result_path(str(tmp_path), "a")).write_text('{"ok":true}')

    mending = threading.Timer(0.3, mend)
    mending.start()
    assert wait_result(str(tmp_path), "a", 20, quiet=True) == {"ok": True}
    mending.join()
    assert what_helps(str(tmp_path)) == "Is a host running (`switchboard doctor`)?"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "is damaged (Expecting property name"),
        (b"", "is damaged (Expecting value"),
        (b"\xff", "is damaged ('utf-8' codec"),
        (b"[]", "is damaged (no JSON object)"),
        (b"[" * 100_000, "is damaged (Expecting value"),
        (b"[" * 100_000 + b"]" * 100_000, "is damaged (no JSON object)"),
        (None, "cannot be read: Is a directory"),
    ],
    ids=["cut short", "empty", "no text", "a list", "deep and cut short", "a deep list", "a folder"],
)
def test_a_result_that_says_nothing_names_its_file(tmp_path: Path, content: bytes | None, text: str) -> None:
    path = Path(result_path(str(tmp_path), "a"))
    if content is None:
        path.mkdir(parents=True)
    else:
        path.parent.mkdir()
        path.write_bytes(content)
    with pytest.raises(UnreadableResult) as raised:
        read_result(str(tmp_path), "a")
    assert str(raised.value).startswith(f"the result {path} {text}")


@pytest.mark.parametrize("fails", ["write", "rename"])
def test_a_request_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if fails == "rename":
        monkeypatch.setattr(os, "rename", full)
    else:
        opened = os.fdopen

        def open_full(descriptor: int, mode: str) -> object:
            os.close(descriptor)
            return opened(os.open("/dev/full", os.O_WRONLY), mode)

        monkeypatch.setattr(os, "fdopen", open_full)
    with pytest.raises(TriggerFolderError, match="cannot be written: No space left on device"):
        write_trigger(str(tmp_path), {})
    assert list(tmp_path.iterdir()) == []


def test_waiting_wakes_when_the_result_is_renamed_into_place(tmp_path: Path) -> None:
    import threading

    processed = tmp_path / "processed"
    processed.mkdir()

    def publish() -> None:
        (processed / "a.tmp").write_text('{"ok":true}')
        os.rename(processed / "a.tmp", processed / "a.result.json")

    timer = threading.Timer(0.05, publish)
    timer.start()
    assert wait_result(str(tmp_path), "a", 20.0, quiet=True) == {"ok": True}
    timer.join()


def test_waiting_ends_without_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "processed").mkdir()
    assert wait_result(str(tmp_path), "a", 0.01, quiet=False) is None
    assert capsys.readouterr().err == ""


class Waited:
    """Stands in for clock and watch: each wait takes a second at most, and then the next thing happens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, events: list[Callable[[], object]]) -> None:
        self.now = 100.0
        self.waits: list[float] = []
        self._events = events
        monkeypatch.setattr(triggers.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(triggers, "_Changes", lambda _folder: self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += min(seconds, 1.0) if self._events else seconds
        if self._events:
            self._events.pop(0)()


PHASES = {"claimed": "opening", "enter-written": "typed"}


@pytest.mark.parametrize(
    ("quiet", "said"),
    [(False, ["waiting for the result of a (up to 29 s) ...", "opening ...", "typed ..."]), (True, [])],
    ids=["told", "quiet"],
)
def test_who_waits_is_told_how_far_it_is(
    tmp_path: Path, quiet: bool, said: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "processed").mkdir()
    marker = tmp_path / "processed" / "a.action.json"

    def phase(name: object) -> Callable[[], object]:
        return lambda: marker.write_text(json.dumps({"phase": name}))

    def result() -> None:
        Path(result_path(str(tmp_path), "a")).write_text('{"ok":true}')

    Waited(monkeypatch, [phase("claimed"), phase("claimed"), phase("spawned"), phase("enter-written"), result])
    assert wait_result(str(tmp_path), "a", 30.0, quiet, PHASES) == {"ok": True}
    assert capsys.readouterr().err.splitlines() == said


def test_what_is_done_in_a_moment_needs_no_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "processed").mkdir()
    (tmp_path / "processed" / "a.action.json").write_text('{"phase":"claimed"}')
    waited = Waited(monkeypatch, [])
    assert wait_result(str(tmp_path), "a", 0.9, quiet=False, phases=PHASES) is None
    assert capsys.readouterr().err == ""
    assert sum(waited.waits) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "content",
    [None, b"", b"\xff", b"[" * 100_000, b"[]", b"{}", b'{"phase":5}'],
    ids=["none", "empty", "no text", "deep", "a list", "no phase", "a number"],
)
def test_a_phase_that_cannot_be_read_is_none(tmp_path: Path, content: bytes | None) -> None:
    (tmp_path / "processed").mkdir()
    if content is not None:
        (tmp_path / "processed" / "a.action.json").write_bytes(content)
    assert read_phase(str(tmp_path), "a") is None
