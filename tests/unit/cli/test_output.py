"""What a command prints reaches whoever is there, and what cannot be printed costs no traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from switchboard import __version__
from switchboard.cli import output

ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}


def run(script: str, *arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command from a shell: `script` says where its streams lead."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    command = f'"$0" -m switchboard.cli.main "$@" {script}'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, *arguments],
        env={**kept, "HOME": str(folder), "SWITCHBOARD_DATA_DIR": str(folder / "dätä"), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


FULL = b"switchboard: the output could not be written: No space left on device\n"


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("ls", "--help"), ("doctor",)], ids=" ".join)
def test_a_full_disk_is_said_in_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = run(">/dev/full", *arguments, folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, FULL)


def test_nobody_who_reads_is_nothing_to_tell() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "switchboard.cli.main", "--version"],
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(closed: str, tmp_path: Path) -> None:
    done = run(closed, "--version", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_error_does_not_stray_into_the_output(tmp_path: Path) -> None:
    """With standard error closed, `print` would take standard output instead."""
    done = run("2>&-", "ls", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")


def test_the_number_of_a_closed_stream_is_taken_by_no_file() -> None:
    script = "from switchboard.cli import output; output.prepare(); import os; print(os.open('/dev/null', 0))"
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" -c "$1" <&- 2>&-', sys.executable, script], capture_output=True, timeout=60, check=True
    )
    assert int(done.stdout) > 2


@pytest.mark.parametrize("arguments", [("doctor",), ("doctor", "--json"), ("ls",), ("result", "ä"), ("send", "s", "ä")])
def test_an_output_of_ascii_is_no_fault(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = run("", *arguments, folder=tmp_path, **ASCII)
    assert done.returncode in (0, 1, 4)
    assert b"Traceback" not in done.stderr
    assert (done.stdout + done.stderr).isascii()


def test_the_doctor_has_an_arrow_everywhere(tmp_path: Path) -> None:
    assert b"-> switchboard up" in run("", "doctor", folder=tmp_path, **ASCII).stdout
    assert "→ switchboard up" in run("", "doctor", folder=tmp_path, PYTHONIOENCODING="utf-8").stdout.decode()


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert run("", "--version", folder=tmp_path).stdout == f"switchboard {__version__}\n".encode()


@pytest.mark.parametrize("streams", ["2>/dev/full", ">/dev/full 2>/dev/full"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("send", "s", "x", "--bound", "1.2"), 4),  # also its note that it waits
        (("send", "s", "x", "--no-wait"), 4),
        (("send", "s"), 2),
        (("result", "nosuch"), 4),
        (("ls",), 1),
        (("nonesuch",), 2),
    ],
    ids=["no result in time", "not waited for", "usage", "no result", "no host", "no command"],
)
def test_errors_that_cannot_be_printed_change_no_exit_code(
    arguments: tuple[str, ...], code: int, streams: str, tmp_path: Path
) -> None:
    (tmp_path / "triggers" / "processed").mkdir(parents=True)
    expected = 0 if "--no-wait" in arguments and not streams.startswith(">") else code
    done = run(streams, *arguments, folder=tmp_path, SWITCHBOARD_TRIGGERS_DIR=str(tmp_path / "triggers"))
    assert (done.returncode, done.stderr) == (expected, b"")


def test_a_result_that_nobody_can_read_keeps_its_exit_code(tmp_path: Path) -> None:
    results = tmp_path / "triggers" / "processed"
    results.mkdir(parents=True)
    for name, ok, code in (("a", "true", 0), ("b", "false", 3)):
        (results / f"{name}.result.json").write_text(f'{{"ok": {ok}, "wrote": true}}')
        done = run(
            ">/dev/full 2>/dev/full",
            "result",
            name,
            folder=tmp_path,
            SWITCHBOARD_TRIGGERS_DIR=str(tmp_path / "triggers"),
        )
        assert done.returncode == code


def test_what_is_said_on_standard_error_arrives(tmp_path: Path) -> None:
    assert run("", "ls", folder=tmp_path).stderr.startswith(b"switchboard: no host is running")


# --- by hand ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", True), ("UTF8", True), ("latin-1", True), ("ascii", False), ("cp437", True)]
)
def test_what_an_encoding_has(encoding: str, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    assert output.can_show("ü") is shown
    monkeypatch.undo()


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_json_stays_json(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own escape of a character that is missing (`\\xfc`, `\\U0001f600`) is none that JSON has."""
    printed = io.BytesIO()
    stream = io.TextIOWrapper(printed, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    output.prepare()
    value = {"name": "ü 😀 €", "half": "\ud83d"}
    assert output.say("x", output.json_text(value))
    assert json.loads(printed.getvalue().decode(encoding)) == value
    monkeypatch.undo()
