"""The real CLI without Switchboard: proves the harness, and pins down the measured behaviour that the product uses."""

from __future__ import annotations

import signal
import time
import unicodedata
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.real_cli.conftest import Figure, StartCli
from tests.real_cli.home import RealHome, build_home
from tests.real_cli.terminal import PtyProgram
from tests.real_cli.text import exact_prompt
from tests.support.messages_api import Gate, MessagesApi, Reply, ToolCall

NEWER = "2.1.332"


def now() -> int:
    return time.time_ns() // 1_000_000


def until_status(program: PtyProgram, home: RealHome, status: str) -> dict[str, Any]:
    """The descriptor as soon as it says `status`."""

    def reached() -> dict[str, Any] | None:
        descriptor = home.descriptor(program.pid)
        return descriptor if descriptor and descriptor.get("status") == status else None

    return program.until(f"status {status}", reached)


def started(start_cli: StartCli, home: RealHome, *arguments: str) -> tuple[PtyProgram, str]:
    """A CLI at its first idle, and its session id."""
    program = start_cli(*arguments)
    return program, until_status(program, home, "idle")["sessionId"]


def finish_turn(program: PtyProgram, home: RealHome, session: str, turns: int) -> None:
    program.until(f"{turns} closed turns", lambda: home.closed_turns(session) >= turns)
    until_status(program, home, "idle")


def test_start_publishes_a_descriptor(start_cli: StartCli, home: RealHome, version: str, figure: Figure) -> None:
    session = str(uuid.uuid4())
    program = start_cli("--session-id", session)
    program.until("a descriptor", lambda: home.descriptor(program.pid))
    figure("spawn to descriptor", now() - program.spawned_at)

    descriptor = until_status(program, home, "idle")
    figure("spawn to idle", now() - program.spawned_at)

    stat = Path(f"/proc/{program.pid}/stat").read_text()
    expected = {
        "pid": program.pid,
        "sessionId": session,
        "cwd": str(home.project),
        "procStart": stat.rpartition(")")[2].split()[19],
        "version": version,
        "kind": "interactive",
    }
    assert {name: descriptor[name] for name in expected} == expected
    assert type(descriptor["statusUpdatedAt"]) is int
    assert descriptor["statusUpdatedAt"] >= program.spawned_at
    assert home.transcript(session) is None, "a transcript exists only after the first prompt"
    assert program.title.startswith("✳")


def test_trust_dialog_hides_the_session(claude: Path, api: MessagesApi, folder: Path, version: str) -> None:
    untrusted = build_home(folder, api.url, trusted=False)
    with PtyProgram([str(claude)], untrusted.project, untrusted.environment()) as program:
        program.until_screen("❯ No, exit" if version == NEWER else "❯ 1. Yes, I trust this folder")
        assert untrusted.descriptor_files() == []


def test_prompt_is_recorded_exactly(
    start_cli: StartCli, home: RealHome, api: MessagesApi, version: str, figure: Figure
) -> None:
    program, session = started(start_cli, home)
    gate = Gate()
    api.answer("say hello", Reply("Hello from the loopback.", gate=gate))

    entered_at = program.submit("please say hello")
    busy = until_status(program, home, "busy")
    figure("Enter to busy", busy["statusUpdatedAt"] - entered_at)
    program.until("a busy title", lambda: program.title[:1] in ("◐◑" if version == NEWER else "⠂⠐"))
    program.until("a transcript", lambda: home.typed_prompts(session))
    figure("Enter to prompt in transcript (seen with the reply held)", now() - entered_at)
    assert home.closed_turns(session) == 0

    gate.open()
    finish_turn(program, home, session, turns=1)
    program.until_screen("Hello from the loopback.")
    assert home.typed_prompts(session) == ["please say hello"]
    row = next(row for row in home.rows(session) if row.get("type") == "user")
    assert row["cwd"] == str(home.project)
    assert row["isSidechain"] is False


def test_long_prompt_in_chunks_is_exact(start_cli: StartCli, home: RealHome, figure: Figure) -> None:
    program, session = started(start_cli, home)
    text = exact_prompt(4096)

    begun_at = now()
    figure("4,096 characters typed", program.submit(text) - begun_at)

    finish_turn(program, home, session, turns=1)
    assert home.typed_prompts(session) == [text]


def test_long_prompt_into_a_stalling_cli_is_exact(start_cli: StartCli, home: RealHome) -> None:
    """Waiting for the reader, not for a time, keeps the chunks apart, and the Enter from the text."""
    program, session = started(start_cli, home)
    text = exact_prompt(4096)
    program.write_taken(text[:1024].encode())

    program.stall(0.3)
    program.write_taken(text[1024:3000].encode())
    program.stall(0.3)
    program.submit(text[3000:])

    finish_turn(program, home, session, turns=1)
    assert home.typed_prompts(session) == [text]


def test_chunks_read_at_once_become_a_paste(start_cli: StartCli, home: RealHome) -> None:
    """Why a pause between chunks is not enough: what counts is how much the CLI reads in one go."""
    program, _ = started(start_cli, home)
    text = exact_prompt(1024).encode()

    with program.stalled():
        program.write(text[:512])
        program.pause(0.15)
        program.write(text[512:])

    program.until_screen("[Pasted text #1")


def test_enter_read_together_with_its_text_is_a_line_break(start_cli: StartCli, home: RealHome) -> None:
    """Why the Enter waits for the text to be read: this one was its own write, 50 ms later, and submits nothing."""
    program, session = started(start_cli, home)
    text = exact_prompt(200)

    with program.stalled():
        program.write(text.encode())
        program.pause(0.05)
        program.enter()
    program.until_screen(text[-20:])
    program.pause(1.0)
    assert home.typed_prompts(session) == []

    program.enter()
    finish_turn(program, home, session, turns=1)
    assert home.typed_prompts(session) == [text]


def test_long_prompt_in_one_write_becomes_a_paste(start_cli: StartCli, home: RealHome, version: str) -> None:
    """Why the profile chunks: the recorded prompt may not be what was typed."""
    program, session = started(start_cli, home)
    text = exact_prompt(1000)

    program.write(text.encode())
    program.until_screen("[Pasted text #1")
    program.pause(0.05)
    program.enter()

    finish_turn(program, home, session, turns=1)
    (recorded,) = home.typed_prompts(session)
    assert ("<pasted_content" in recorded) == (version == NEWER)
    assert text in recorded


def test_recorded_prompt_is_normalised(start_cli: StartCli, home: RealHome) -> None:
    """Why evidence is matched after the same normalisation."""
    program, session = started(start_cli, home)
    decomposed = "cafe\N{COMBINING ACUTE ACCENT} a\tb   "

    program.submit(decomposed)

    finish_turn(program, home, session, turns=1)
    assert home.typed_prompts(session) == [unicodedata.normalize("NFC", "cafe\N{COMBINING ACUTE ACCENT} ab")]


def test_enter_in_a_permission_dialog_runs_the_command(start_cli: StartCli, home: RealHome, api: MessagesApi) -> None:
    """Why nothing may be typed while the CLI waits: the letters vanish and the Enter says yes."""
    program, session = started(start_cli, home)
    call = ToolCall("Bash", {"command": "touch ran.txt", "description": "make a file"})
    api.answer("make the file", Reply("On it.", call))

    program.submit("make the file")
    waiting = until_status(program, home, "waiting")
    assert waiting["waitingFor"] == "permission prompt"
    program.until_screen("Do you want to proceed?")
    assert program.title.startswith("✳"), "the title of a waiting session looks idle"

    program.pause(0.5)  # the newer version ignores keys for a moment after a dialog has opened
    program.submit("this was meant as a prompt")
    program.until("the command ran", (home.project / "ran.txt").exists)
    finish_turn(program, home, session, turns=1)
    assert home.typed_prompts(session) == ["make the file"]


def test_clear_gives_the_tab_a_new_session_id(start_cli: StartCli, home: RealHome, figure: Figure) -> None:
    program, first = started(start_cli, home)
    program.submit("remember this")
    finish_turn(program, home, first, turns=1)
    before = home.descriptor(program.pid)
    assert before is not None

    entered_at = program.submit("/clear")

    def changed() -> dict[str, Any] | None:
        descriptor = home.descriptor(program.pid)
        return descriptor if descriptor and descriptor["sessionId"] != first else None

    after = program.until("a new session id", changed)
    figure("/clear to the new id", now() - entered_at)
    assert after["statusUpdatedAt"] == before["statusUpdatedAt"]
    assert home.descriptor_files() == [f"{program.pid}.json"]
    program.until("the new transcript", lambda: home.transcript(after["sessionId"]))

    program.submit("and this is new")
    finish_turn(program, home, after["sessionId"], turns=1)
    assert "and this is new" in home.typed_prompts(after["sessionId"])
    assert "and this is new" not in home.typed_prompts(first)


def test_compact_leaves_a_manual_boundary(start_cli: StartCli, home: RealHome, api: MessagesApi) -> None:
    program, session = started(start_cli, home)
    program.submit("something to remember")
    finish_turn(program, home, session, turns=1)
    program.submit("and something more")  # the older version refuses to compact a single turn
    finish_turn(program, home, session, turns=2)

    entered_at = program.submit("/compact")

    def boundary() -> dict[str, Any] | None:
        return next((row for row in home.rows(session) if row.get("subtype") == "compact_boundary"), None)

    row = program.until("a compact boundary", boundary)
    assert row["compactMetadata"]["trigger"] == "manual"
    assert row["isSidechain"] is False
    assert api.wait_for(lambda request: request.is_summary, 1).at >= entered_at


def test_prompt_typed_while_busy_is_queued(start_cli: StartCli, home: RealHome, api: MessagesApi) -> None:
    program, session = started(start_cli, home)
    gate = Gate()
    api.answer("first", Reply("One.", gate=gate))
    program.submit("the first prompt")
    busy = until_status(program, home, "busy")

    program.submit("the second prompt")

    def queued() -> bool:
        return any(row.get("operation") == "enqueue" for row in home.rows(session))

    program.until("a queue row", queued)
    assert home.descriptor(program.pid) == busy, "the descriptor changes only when the prompt leaves the queue"
    gate.open()
    api.wait_for(lambda request: request.is_turn and "the second prompt" in request.prompt, 20)
    until_status(program, home, "idle")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGHUP"])
def test_signal_removes_the_descriptor(
    start_cli: StartCli, home: RealHome, figure: Figure, number: int, status: int
) -> None:
    program, _ = started(start_cli, home)
    assert home.descriptor_files() == [f"{program.pid}.json"]

    sent_at = now()
    program.signal(number)

    assert program.wait_exit() == status
    figure(f"{signal.Signals(number).name} to exit", now() - sent_at)
    assert home.descriptor_files() == []


def test_kill_leaves_the_descriptor(start_cli: StartCli, home: RealHome) -> None:
    program, _ = started(start_cli, home)

    program.signal(signal.SIGKILL)

    assert program.wait_exit() == 137
    assert home.descriptor_files() == [f"{program.pid}.json"]


def test_second_start_with_a_taken_id_is_refused(start_cli: StartCli, home: RealHome) -> None:
    program, session = started(start_cli, home)
    program.submit("take the id")
    finish_turn(program, home, session, turns=1)

    second = start_cli("--session-id", session)

    assert second.wait_exit() == 1
    assert "already in use" in second.screen


def test_resume_continues_the_same_file(start_cli: StartCli, home: RealHome) -> None:
    program, session = started(start_cli, home)
    program.submit("before the break")
    finish_turn(program, home, session, turns=1)
    program.signal(signal.SIGTERM)
    program.wait_exit()

    again, resumed = started(start_cli, home, "--resume", session)

    assert resumed == session
    again.submit("after the break")
    finish_turn(again, home, session, turns=2)
    assert home.typed_prompts(session) == ["before the break", "after the break"]
