"""The built-in agent in a real terminal: what a person sees, and what it publishes for the product."""

from __future__ import annotations

import os
import re
import signal
import stat
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.agent_terminal import AgentTerminal

Start = Callable[..., AgentTerminal]

IDLE, BUSY = "\u2733", ("\u25d0", "\u25d1")
ESCAPE = "\x1b"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    terminals: list[AgentTerminal] = []

    def run(*arguments: str, **options: object) -> AgentTerminal:
        terminals.append(AgentTerminal(tmp_path, *arguments, **options))  # type: ignore[arg-type]  # passed through
        return terminals[-1]

    yield run
    for terminal in terminals:
        terminal.close()


@pytest.fixture
def agent(start: Start) -> AgentTerminal:
    agent = start()
    agent.wait_ready()
    return agent


def kinds(rows: list[dict[str, object]]) -> list[object]:
    return [row.get("subtype") or row.get("operation") or row["type"] for row in rows]


# --- start ----------------------------------------------------------------------------------------------------------


def test_the_descriptor(start: Start, tmp_path: Path) -> None:
    session = str(uuid.uuid4())
    agent = start("--session-id", session)
    agent.wait(lambda: agent.descriptor_path.exists(), "descriptor")
    agent.wait_ready()
    fields = agent.descriptor
    assert fields is not None
    pid = agent.process.pid
    assert (fields["pid"], fields["sessionId"], fields["kind"], fields["entrypoint"]) == (
        pid,
        session,
        "interactive",
        "cli",
    )
    assert fields["cwd"] == os.path.realpath(agent.cwd)
    with open(f"/proc/{pid}/stat") as file:
        assert fields["procStart"] == file.read().rpartition(")")[2].split()[19]
    assert fields["pidDomain"].endswith(os.readlink(f"/proc/{pid}/ns/pid"))
    assert fields["startedAt"] <= fields["statusUpdatedAt"]
    assert stat.S_IMODE(agent.descriptor_path.stat().st_mode) == 0o644
    # nothing was said, so there is no transcript
    assert not (agent.home / "projects").exists()


def test_a_session_can_be_typed_into_as_soon_as_its_descriptor_is_there(start: Start) -> None:
    agent = start()
    agent.wait(lambda: agent.descriptor is not None, "descriptor")
    agent.send("first thing")
    agent.wait(lambda: b"first thing" in agent.raw, "text in the box")
    agent.send("\r")
    agent.wait(lambda: agent.prompts() == ["first thing"], "prompt")


def test_an_id_is_used_once(start: Start) -> None:
    first = start("--session-id", str(uuid.uuid4()))
    first.wait_ready()
    session = first.session_id
    first.submit("hello")
    first.wait(lambda: bool(first.rows()), "transcript")
    second = start("--session-id", session)
    assert second.wait_exit() == 1
    assert "already in use" in second.shown


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--session-id", "nonsense"], 1, "Invalid session ID"),
        (["--resume", "00000000-0000-4000-8000-000000000000"], 1, "No conversation found with session ID: 00000000"),
        (["--cwd", "/no/such/folder"], 1, "No such file or directory: /no/such/folder"),
        (["--nonsense"], 2, "unknown argument"),
        (["--version"], 0, "."),
    ],
)
def test_starts_that_end_at_once(start: Start, arguments: list[str], code: int, text: str) -> None:
    agent = start(*arguments)
    assert agent.wait_exit() == code
    assert text in agent.shown
    assert "Traceback" not in agent.shown
    assert not (agent.home / "sessions").exists()


def test_an_id_closed_before_its_first_prompt_can_be_used_again(start: Start) -> None:
    session = str(uuid.uuid4())
    for _ in range(2):
        agent = start("--session-id", session)
        agent.wait_ready()
        agent.send("\x04")
        assert agent.wait_exit() == 0
    resumed = start("--resume", session)
    assert resumed.wait_exit() == 1


def test_a_home_that_cannot_be_used(start: Start, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("in the way")
    agent = start()
    assert agent.wait_exit() == 1
    assert "Error: " in agent.shown
    assert "Traceback" not in agent.shown


# --- turns ----------------------------------------------------------------------------------------------------------


def test_a_turn(agent: AgentTerminal) -> None:
    agent.submit("hello there")
    agent.wait_shown("\u25cf Hello! Type /help")
    agent.wait(lambda: kinds(agent.rows())[-1:] == ["turn_duration"], "closing row")
    agent.wait_status("idle")
    rows = agent.rows()
    assert kinds(rows) == ["mode", "permission-mode", "file-history-snapshot", "user", "assistant", "turn_duration"]
    [folder] = (agent.home / "projects").iterdir()
    assert folder.name == re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(agent.cwd))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / f"{agent.session_id}.jsonl").stat().st_mode) == 0o600
    agent.wait(lambda: agent.titles[-1] == IDLE, "idle title")
    assert agent.titles[0] == IDLE
    assert set(agent.titles[1:-1]) <= set(BUSY)
    assert agent.titles[1] == BUSY[0]


def test_the_title_turns_over_while_a_turn_runs(agent: AgentTerminal) -> None:
    agent.submit("[slow 1m]")
    agent.wait(lambda: len([title for title in agent.titles if title in BUSY]) >= 3, "three busy titles")
    assert [title for title in agent.titles if title in BUSY][:3] == ["\u25d0", "\u25d1", "\u25d0"]
    assert b"\x1b]9;" not in agent.raw


def test_progress_for_terminals_that_know_it(start: Start) -> None:
    agent = start(env={"TERM_PROGRAM": "iTerm.app"})
    agent.wait_ready()
    agent.submit("[ask true]")
    agent.wait_status("waiting")
    agent.send(ESCAPE)
    agent.wait_status("idle")
    agent.wait(lambda: agent.raw.endswith(b"\x1b]9;4;0;\x07") or b"\x1b]9;4;0;\x07" in agent.raw, "progress off")
    assert agent.raw.index(b"\x1b]9;4;3;\x07") < agent.raw.index(b"\x1b]9;4;0;\x07")


def test_an_interrupted_turn(agent: AgentTerminal) -> None:
    agent.submit("[slow 1m]")
    agent.wait_status("busy")
    agent.send(ESCAPE)
    agent.wait_status("idle")
    agent.wait_shown("Interrupted by you.")
    assert agent.rows()[-1]["message"]["content"] == [{"type": "text", "text": "[Request interrupted by user]"}]
    assert "turn_duration" not in kinds(agent.rows())


def test_output_above_a_half_typed_prompt(agent: AgentTerminal) -> None:
    agent.submit("[slow 0] [print 2000 lines] [slow 0]")
    agent.send("half a thought")
    agent.wait_shown("Done: I thought")
    agent.wait_shown("> half a thought")
    assert "line 2000 of 2000" in agent.shown
    assert b"line 1 of 2000" in agent.raw


def test_a_long_prompt_in_paced_chunks_is_recorded_exactly(agent: AgentTerminal) -> None:
    text = "".join(f"{number:04d} " for number in range(820))[:4096].rstrip() + "."
    for at in range(0, len(text), 512):
        agent.send(text[at : at + 512])
        # Two pieces in one reading would be a paste, however long the pause between them.
        agent.wait_shown(text[: at + 512].split()[-2])
    agent.wait_shown(text[-40:])
    agent.send("\r")
    agent.wait(lambda: agent.prompts() == [text], "prompt")


def test_one_write_too_long_is_a_paste(agent: AgentTerminal) -> None:
    agent.send("x" * 1000)
    agent.wait_shown("> [Pasted text #1]")
    agent.send("\r")
    agent.wait(lambda: agent.prompts() == [f'<pasted_content id="1">\n{"x" * 1000}\n</pasted_content>'], "prompt")


def test_long_text_and_enter_in_one_write_stay_in_the_box(agent: AgentTerminal) -> None:
    agent.send("y" * 64 + "\r")
    agent.wait_shown("> " + "y" * 64)
    agent.send("and more")
    agent.wait_shown("  and more")
    assert agent.rows() == []


def test_several_lines(agent: AgentTerminal) -> None:
    agent.send("one")
    agent.send("\x1b\r")
    agent.send("two")
    agent.wait_shown("  two")
    agent.send("\r")
    agent.wait(lambda: agent.prompts() == ["one\ntwo"], "prompt")


def test_editing_and_history(agent: AgentTerminal) -> None:
    agent.send("hxllo")
    agent.wait_shown("> hxllo")
    agent.send("\x1b[D\x1b[D\x1b[D\x7f")
    agent.send("e")
    agent.wait_shown("> hello")
    agent.send("\r")
    agent.wait(lambda: agent.prompts() == ["hello"], "prompt")
    agent.wait_status("idle")
    agent.send("\x1b[A")
    agent.wait(lambda: agent.shown.count("> hello") == 2, "the earlier prompt in the box")
    agent.send("\x15")
    agent.wait(lambda: agent.shown.count("> hello") == 1, "an empty box")


# --- the permission dialog ------------------------------------------------------------------------------------------


def test_enter_in_a_permission_dialog_really_runs_the_command(agent: AgentTerminal) -> None:
    agent.submit("[ask touch made]")
    agent.wait_status("waiting")
    assert agent.descriptor is not None
    assert agent.descriptor["waitingFor"] == "permission prompt"
    agent.wait_shown("> 1. Yes")
    assert agent.titles[-1] == IDLE
    # letters are ignored, Enter picks the default: this is what the product must never do
    agent.send("please do not")
    agent.send("\r")
    agent.wait_status("idle")
    assert (agent.cwd / "made").exists()
    assert "please do not" not in agent.shown
    assert [kind for kind in kinds(agent.rows()) if kind in ("user", "assistant", "turn_duration")] == [
        *("user", "assistant", "user", "assistant", "turn_duration")
    ]


@pytest.mark.parametrize(
    ("keys", "runs"), [("1", True), ("3", False), ("\x1b[A\r", False), ("\x1b[B\r", True), (ESCAPE, False)]
)
def test_choosing_in_a_permission_dialog(agent: AgentTerminal, keys: str, runs: bool) -> None:
    agent.submit("[ask touch made]")
    agent.wait_shown("> 1. Yes")
    agent.send(keys)
    agent.wait_status("idle")
    assert (agent.cwd / "made").exists() is runs


# --- queue ----------------------------------------------------------------------------------------------------------


def test_prompts_wait_their_turn(agent: AgentTerminal) -> None:
    agent.submit("[slow 1s] [say one]")
    agent.wait_status("busy")
    agent.submit("[slow 0] [say two]")
    agent.wait_shown("queued: [slow 0] [say two]")
    agent.submit("[slow 0] [say three]")
    agent.wait_shown("\u25cf three")
    agent.wait_status("idle")
    said = [line for line in agent.shown.split("\n") if line.startswith("\u25cf")]
    assert said == ["\u25cf one", "\u25cf two", "\u25cf three"]
    turn = ["user", "assistant", "turn_duration"]
    assert kinds(agent.rows())[3:] == ["user", "enqueue", "enqueue", *turn[1:], "dequeue", *turn, "dequeue", *turn]


# --- commands -------------------------------------------------------------------------------------------------------


def test_clear(agent: AgentTerminal) -> None:
    before = agent.descriptor
    assert before is not None
    agent.submit("/clear")
    agent.wait(lambda: (agent.descriptor or before)["sessionId"] != before["sessionId"], "new id")
    after = agent.descriptor
    assert after is not None
    assert after["statusUpdatedAt"] == before["statusUpdatedAt"]
    assert after["pid"] == before["pid"]
    assert kinds(agent.rows())[:3] == ["mode", "permission-mode", "file-history-snapshot"]
    agent.submit("hello")
    agent.wait(lambda: agent.prompts(after["sessionId"]) == ["hello"], "prompt in the new transcript")
    assert agent.rows(before["sessionId"]) == []


def test_compact(agent: AgentTerminal) -> None:
    agent.submit("hello")
    agent.wait_shown("\u25cf Hello!")
    agent.submit("/compact")
    agent.wait_shown("Compacted.")
    boundaries = [row for row in agent.rows() if row.get("subtype") == "compact_boundary"]
    assert [row["compactMetadata"]["trigger"] for row in boundaries] == ["manual"]
    at = agent.rows().index(boundaries[0])
    assert agent.rows()[at + 1]["isCompactSummary"] is True


def test_help_and_unknown_commands(agent: AgentTerminal) -> None:
    agent.submit("/help")
    agent.wait_shown("[ask touch x]")
    agent.submit("/nosuch thing")
    agent.wait_shown("Unknown command: /nosuch")
    assert agent.status == "idle"
    assert agent.rows() == []


def test_a_background_command(agent: AgentTerminal) -> None:
    agent.submit("!until [ -e stop ]; do sleep 0.01; done &")
    agent.wait_status("shell")
    (agent.cwd / "stop").touch()
    agent.wait_status("idle")
    agent.wait_shown("[1] ended with exit code 0")


def test_a_shell_command(agent: AgentTerminal) -> None:
    agent.submit("!echo $((6 * 7))")
    agent.wait_shown("\u23bf 42")
    agent.wait_status("idle")
    assert agent.prompts() == ["<bash-input>echo $((6 * 7))</bash-input>"]


def test_another_size(agent: AgentTerminal) -> None:
    agent.send("draft")
    agent.wait_shown("> draft")
    agent.resize(50, 20)
    agent.wait(lambda: "\n" + "\u2500" * 50 + "\n> draft" in agent.shown, "the box at its new width")


# --- resuming -------------------------------------------------------------------------------------------------------


def test_a_conversation_goes_on(start: Start) -> None:
    first = start()
    first.wait_ready()
    session = first.session_id
    first.submit("my first words")
    first.wait_shown("You wrote 14 characters")
    first.wait_status("idle")
    first.send("\x04")
    assert first.wait_exit() == 0
    assert f"--resume {session}" in first.shown

    second = start("--resume", session)
    second.wait_ready()
    assert second.session_id == session
    second.wait_shown(f"Resumed conversation {session}: 1 prompt so far.")
    second.wait_shown("> my first words")
    second.submit("what did I say?")
    second.wait_shown("Before this you wrote: my first words")
    second.wait(lambda: kinds(second.rows())[-1] == "turn_duration", "closing row")
    assert second.prompts() == ["my first words", "what did I say?"]
    linked = [row for row in second.rows() if "uuid" in row]
    assert [row["parentUuid"] for row in linked] == [None, *(row["uuid"] for row in linked[:-1])]


def test_a_fork(start: Start) -> None:
    first = start()
    first.wait_ready()
    session = first.session_id
    first.submit("hello")
    first.wait_shown("\u25cf Hello!")
    first.wait(lambda: kinds(first.rows())[-1] == "turn_duration", "closing row")
    second = start("--resume", session, "--fork-session")
    second.wait_ready()
    assert second.session_id != session
    assert second.rows() == []
    second.submit("more")
    second.wait(lambda: second.prompts() == ["hello", "more"], "copied conversation")
    assert {row["sessionId"] for row in second.rows() if "sessionId" in row} == {second.session_id}
    assert first.prompts() == ["hello"]


# --- leaving --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)],
    ids=["SIGTERM", "SIGHUP", "SIGINT"],
)
@pytest.mark.parametrize("prompt", [None, "[slow 1m]", "[ask true]", "!sleep 100", "!sleep 100 &"])
def test_signals(agent: AgentTerminal, number: int, code: int, prompt: str | None) -> None:
    if prompt is not None:
        agent.submit(prompt)
        agent.wait(lambda: agent.status in ("busy", "waiting", "shell") and bool(agent.rows()), "something going on")
    os.kill(agent.process.pid, number)
    assert agent.wait_exit() == code
    assert not agent.descriptor_path.exists()


def test_sigkill_leaves_the_descriptor(agent: AgentTerminal) -> None:
    agent.submit("[crash]")
    assert agent.wait_exit() == -signal.SIGKILL
    assert agent.descriptor_path.exists()


def test_a_signal_while_nobody_reads_the_terminal(agent: AgentTerminal) -> None:
    agent.submit("[print forever]")
    agent.wait_shown("line 100")
    os.kill(agent.process.pid, signal.SIGTERM)
    assert agent.process.wait(30) == 143
    assert not agent.descriptor_path.exists()


def test_the_terminal_is_closed(agent: AgentTerminal) -> None:
    agent.hang_up()
    assert agent.process.wait(30) in (0, 129)
    assert not agent.descriptor_path.exists()


@pytest.mark.parametrize(
    "keys",
    ["\x04", "\x03\x03", "/exit\r", "\x04too late\r"],
    ids=["Ctrl-D", "Ctrl-C twice", "/exit", "with more typed after it"],
)
def test_leaving_by_hand(agent: AgentTerminal, keys: str) -> None:
    agent.send(keys)
    assert agent.wait_exit() == 0
    assert not agent.descriptor_path.exists()
    assert agent.raw.rstrip().endswith(b"\x1b[?2004l\x1b[?25h\x1b[0m\x1b]0;\x07")
    assert b"Traceback" not in agent.raw


def test_leaving_in_the_middle_of_a_turn(agent: AgentTerminal) -> None:
    agent.submit("[exit 3]")
    assert agent.wait_exit() == 3
    assert not agent.descriptor_path.exists()


def test_ctrl_c_clears_the_box_and_warns(agent: AgentTerminal) -> None:
    agent.send("some text")
    agent.wait_shown("> some text")
    agent.send("\x03")
    agent.wait(lambda: "some text" not in agent.shown, "empty box")
    agent.send("\x03")
    agent.wait_shown("Press Ctrl-C again to leave")
    assert agent.process.poll() is None


# --- at rest --------------------------------------------------------------------------------------------------------


def switches(pid: int) -> dict[str, str]:
    """Of every thread, how often it has been running."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as file:
            text = file.read()
        found[thread] = "".join(re.findall(r"ctxt_switches:\s*\d+", text))
    return found


def test_nothing_runs_at_rest(agent: AgentTerminal) -> None:
    agent.submit("hello")
    agent.wait_shown("\u25cf Hello!")
    agent.wait_status("idle")
    pid = agent.process.pid
    # Whatever the turn left to do is over once nothing has run for a while; then nothing does for longer still.
    quiet = switches(pid)
    for _ in range(50):
        agent.read(0.2)
        before, quiet = quiet, switches(pid)
        if before == quiet:
            break
    agent.read(2)
    assert switches(pid) == quiet
