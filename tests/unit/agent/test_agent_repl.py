"""What is submitted is carried out, recorded and published, one thing after the other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.support.agent_desk import AgentDesk
from tests.support.hand_clock import turns

from switchboard.agent.repl import Repl
from switchboard.agent.rows import Row

THINKING = 300


class Rig:
    """The agent from its box inward; `left` is how it ended."""

    def __init__(self, folder: Path, faults: str = "") -> None:
        self.desk = AgentDesk(folder, faults)
        self.left: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.repl = Repl(
            self.desk.stage,
            self.desk.journal,
            self.desk.shell,
            self.desk.faults,
            self.desk.publisher,
            self.desk.clock,
            self.leave,
        )
        self.task = asyncio.create_task(self.repl.run(self.show(), self.opening()))

    def leave(self, code: int) -> None:
        if not self.left.done():
            self.left.set_result(code)

    async def show(self) -> int:
        return await self.left

    async def opening(self) -> None:
        self.desk.stage.rest()

    async def submit(self, *texts: str) -> None:
        await turns()
        for text in texts:
            self.repl.submit(text)
        await turns()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Real processes take real time: let the loop wait for them, while the clock stands still."""
        async with asyncio.timeout(30):
            while not condition():
                self.desk.screen.changed.clear()
                await self.desk.screen.changed.wait()

    @property
    def said(self) -> str:
        return "\n".join(self.desk.screen.printed)


Start = Callable[..., Rig]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    rigs: list[Rig] = []

    def begin(faults: str = "") -> Rig:
        rigs.append(Rig(tmp_path, faults))
        return rigs[-1]

    yield begin
    for rig in rigs:
        rig.leave(0)
        await asyncio.wait({rig.task})


def messages(rows: list[Row], kind: str) -> list[Row]:
    return [row for row in rows if row.get("type") == kind]


# --- turns ----------------------------------------------------------------------------------------------------------


async def test_a_turn(start: Start) -> None:
    # when
    rig = start()
    await rig.submit("do it")
    # then it is busy, and the prompt is on record
    assert rig.desk.descriptor["status"] == "busy"
    assert rig.desk.kinds == ["user"]
    await rig.desk.clock.advance(THINKING - 1)
    assert rig.repl.busy
    # after
    await rig.desk.clock.advance(1)
    assert not rig.repl.busy
    assert rig.desk.kinds == ["user", "assistant", "turn_duration"]
    assert rig.desk.rows[-1]["durationMs"] == THINKING
    assert rig.desk.publisher.statuses == [None, "idle", "busy", "idle"]
    assert "> do it" in rig.said
    assert "You wrote 5 characters" in rig.said
    assert not rig.desk.clock.armed


async def test_an_instant_turn(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 0][say now]")
    await rig.desk.clock.advance(0)
    assert rig.desk.texts == ["[slow 0][say now]", "now"]


async def test_a_slow_turn_is_interrupted(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 1m]")
    await rig.desk.clock.advance(1000)
    rig.repl.interrupt()
    await turns()
    assert rig.desk.texts[-1] == "[Request interrupted by user]"
    assert rig.desk.kinds == ["user", "user"]
    assert rig.desk.descriptor["status"] == "idle"
    assert not rig.desk.clock.armed


async def test_interrupting_nothing_does_nothing(start: Start) -> None:
    rig = start()
    await turns()
    rig.repl.interrupt()
    await rig.submit("[slow 0]")
    await rig.desk.clock.advance(0)
    assert "turn_duration" in rig.desk.kinds


async def test_an_error(start: Start) -> None:
    rig = start()
    await rig.submit("[error 529 overloaded]")
    await rig.desk.clock.advance(THINKING)
    assert rig.desk.kinds == ["user", "assistant"]
    assert rig.desk.rows[-1]["isApiErrorMessage"] is True
    assert "API Error: 529 overloaded" in rig.said
    assert rig.desk.descriptor["status"] == "idle"


async def test_printing(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 0][print 250 lines]")
    await rig.desk.clock.advance(0)
    lines = rig.said.split("\n")
    assert [line for line in lines if line.startswith("line ")] == [f"line {n} of 250" for n in range(1, 251)]


async def test_printing_without_end_stops_at_an_escape(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 0][print forever]")
    while "line 200\n" not in rig.said:
        await turns(1)
    assert rig.repl.busy
    rig.repl.interrupt()
    await turns()
    assert not rig.repl.busy


async def test_an_answer_that_appears_word_by_word(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 0][stream 200ms][say one two three four]")
    await rig.desk.clock.advance(0)
    seen = []
    for _ in range(4):
        seen.append(rig.desk.screen.view.partial)
        await rig.desk.clock.advance(50)
    assert seen == ["one", "one two", "one two three", "one two three four"]
    assert rig.desk.screen.view.partial == ""
    assert "\u25cf one two three four" in rig.said


async def test_queries_go_to_the_terminal(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 0][query]")
    await rig.desk.clock.advance(0)
    assert "\x1b[6n\x1b[c\x1b]11;?\x07" in rig.desk.screen.sent


async def test_leaving_in_the_middle(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 0][exit 3]")
    await rig.desk.clock.advance(0)
    assert await rig.task == 3
    assert "assistant" not in rig.desk.kinds


async def test_the_turn_that_is_not_closed(start: Start) -> None:
    rig = start("no-turn-duration")
    await rig.submit("x")
    await rig.desk.clock.advance(THINKING)
    assert rig.desk.kinds == ["user", "assistant"]


async def test_a_blip_in_the_middle_of_a_turn(start: Start) -> None:
    rig = start("idle-blip=10")
    await rig.submit("[slow 1s]")
    await rig.desk.clock.advance(505)
    assert rig.desk.descriptor["status"] == "idle"
    await rig.desk.clock.advance(10)
    assert rig.desk.descriptor["status"] == "busy"
    await rig.desk.clock.advance(500)
    assert rig.desk.publisher.statuses == [None, "idle", "busy", "idle", "busy", "idle"]


# --- the permission dialog ------------------------------------------------------------------------------------------


async def test_an_allowed_command_really_runs(start: Start, tmp_path: Path) -> None:
    rig = start()
    await rig.submit("[slow 0][ask touch x; echo made]")
    await rig.desk.clock.advance(0)
    assert rig.desk.descriptor["status"] == "waiting"
    assert not (tmp_path / "x").exists()
    rig.desk.stage.choose()
    await rig.until(lambda: not rig.repl.busy)
    assert rig.desk.publisher.statuses[2:] == ["busy", "waiting", "busy", "idle"]
    assert (tmp_path / "x").exists()
    assert rig.desk.kinds == ["user", "assistant", "user", "assistant", "turn_duration"]
    [use, answer] = messages(rig.desk.rows, "assistant")
    assert "'stop_reason': 'tool_use'" in str(use)
    assert "'stop_reason': 'end_turn'" in str(answer)
    assert "'content': 'made'" in str(messages(rig.desk.rows, "user")[1])


async def test_a_refused_command_does_not_run(start: Start, tmp_path: Path) -> None:
    rig = start()
    await rig.submit("[slow 0][ask touch x]")
    await rig.desk.clock.advance(0)
    rig.desk.stage.typed("3")
    await rig.until(lambda: not rig.repl.busy)
    assert not (tmp_path / "x").exists()
    assert "You said no, so I did not run it." in rig.said
    assert rig.desk.kinds[-1] == "turn_duration"


async def test_a_cancelled_dialog_interrupts_the_turn(start: Start, tmp_path: Path) -> None:
    rig = start()
    await rig.submit("[slow 0][ask touch x]")
    await rig.desk.clock.advance(0)
    rig.desk.stage.cancel()
    await rig.until(lambda: not rig.repl.busy)
    assert not (tmp_path / "x").exists()
    assert rig.desk.texts[-1] == "[Request interrupted by user for tool use]"
    assert "turn_duration" not in rig.desk.kinds


async def test_a_command_allowed_for_good_is_not_asked_for_again(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 0][ask true]")
    await rig.desk.clock.advance(0)
    rig.desk.stage.typed("2")
    await rig.until(lambda: not rig.repl.busy)
    await rig.submit("[slow 0][ask true]")
    await rig.desk.clock.advance(0)
    await rig.until(lambda: not rig.repl.busy)
    await rig.submit("[slow 0][ask false]")
    await rig.desk.clock.advance(0)
    assert rig.desk.stage.dialog_open
    rig.desk.stage.cancel()


# --- the queue ------------------------------------------------------------------------------------------------------


async def test_what_is_submitted_while_busy_waits_its_turn(start: Start) -> None:
    rig = start()
    await rig.submit("first", "second", "third")
    assert rig.desk.screen.view.queued == ("second", "third")
    assert "> second" not in rig.said
    stamp = rig.desk.descriptor["statusUpdatedAt"]
    await rig.desk.clock.advance(THINKING)
    # the next one starts in the same breath, and the status says that it did
    assert rig.desk.descriptor["status"] == "busy"
    assert rig.desk.descriptor["statusUpdatedAt"] > stamp
    await rig.desk.clock.advance(2 * THINKING)
    turn = ["user", "assistant", "turn_duration"]
    assert rig.desk.kinds == ["user", "enqueue", "enqueue", *turn[1:], "dequeue", *turn, "dequeue", *turn]
    queued = [row.get("content") for row in messages(rig.desk.rows, "queue-operation")]
    assert queued == ["second", "third", None, None]
    assert rig.desk.publisher.statuses == [None, "idle", "busy", "busy", "busy", "idle"]


async def test_a_blip_between_queued_turns(start: Start) -> None:
    rig = start("idle-blip=10")
    await rig.submit("[slow 0][say a]", "[slow 0][say b]")
    await rig.desk.clock.advance(10)
    assert rig.desk.publisher.statuses[-2:] == ["busy", "idle"]
    assert rig.repl.busy
    await rig.desk.clock.advance(30)
    assert not rig.repl.busy


async def test_what_waits_can_be_taken_back(start: Start) -> None:
    rig = start()
    await rig.submit("first", "second")
    assert rig.repl.queued
    assert rig.repl.unqueue() == "second"
    assert rig.repl.unqueue() == ""
    await rig.desk.clock.advance(THINKING)
    assert rig.desk.kinds == ["user", "enqueue", "remove", "assistant", "turn_duration"]


async def test_an_interrupted_turn_is_followed_by_what_waits(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 1m]", "next")
    rig.repl.interrupt()
    await rig.desk.clock.advance(THINKING)
    assert rig.desk.kinds == ["user", "enqueue", "user", "dequeue", "user", "assistant", "turn_duration"]


# --- commands -------------------------------------------------------------------------------------------------------


async def test_compaction(start: Start) -> None:
    rig = start()
    await rig.submit("x")
    await rig.desk.clock.advance(THINKING)
    await rig.submit("/compact [slow 2s]")
    await rig.desk.clock.advance(1999)
    assert rig.desk.descriptor["status"] == "busy"
    assert "compact_boundary" not in rig.desk.kinds
    await rig.desk.clock.advance(1)
    assert rig.desk.kinds[3:] == ["compact_boundary", "user", "user", "user"]
    assert rig.desk.descriptor["status"] == "idle"


async def test_an_interrupted_compaction_leaves_no_boundary(start: Start) -> None:
    rig = start()
    await rig.submit("x")
    await rig.desk.clock.advance(THINKING)
    await rig.submit("/compact [slow 2s]")
    rig.repl.interrupt()
    await turns()
    assert "compact_boundary" not in rig.desk.kinds
    assert "interrupted" in rig.said
    assert not rig.repl.busy


async def test_there_is_nothing_to_compact(start: Start) -> None:
    rig = start()
    await rig.submit("/compact")
    assert "Not enough messages to compact." in rig.said
    assert rig.desk.rows == []


async def test_clear(start: Start) -> None:
    rig = start()
    await rig.submit("x")
    await rig.desk.clock.advance(THINKING)
    before = rig.desk.descriptor
    rows = len(rig.desk.rows)
    await rig.desk.clock.advance(5)
    await rig.submit("/clear")
    after = rig.desk.descriptor
    assert after["sessionId"] != before["sessionId"]
    assert {row["sessionId"] for row in rig.desk.rows[rows:] if "sessionId" in row} == {after["sessionId"]}
    assert rig.desk.journal.conversation.turns == 0


async def test_clear_does_not_move_the_status(start: Start) -> None:
    rig = start()
    await turns()
    before = rig.desk.descriptor
    await rig.desk.clock.advance(5)
    await rig.submit("/clear")
    after = rig.desk.descriptor
    assert (after["status"], after["statusUpdatedAt"]) == ("idle", before["statusUpdatedAt"])
    assert after["updatedAt"] > before["updatedAt"]


async def test_help_and_unknown_commands_are_no_turns(start: Start) -> None:
    rig = start()
    await rig.submit("/help", "/nosuch x")
    assert "[slow 3s]" in rig.said
    assert "Unknown command: /nosuch" in rig.said
    assert rig.desk.rows == []
    assert rig.desk.publisher.statuses == [None, "idle"]


async def test_help_is_recorded_where_there_is_a_transcript_and_never_ends_a_turn(start: Start) -> None:
    """Whoever sent it can see that it was taken."""
    rig = start()
    await rig.submit("hello")
    await rig.desk.clock.advance(5000)
    rows = len(rig.desk.rows)
    await rig.submit("/help")
    assert [row["message"]["content"].split("</")[0] for row in rig.desk.rows[rows:]] == [  # type: ignore[index,call-overload]  # JSON
        "<command-name>/help",
        "<local-command-stdout>",
    ]
    await rig.submit("[slow 1m]")
    rows = len(rig.desk.rows)
    await rig.submit("/help")
    assert len(rig.desk.rows) == rows


async def test_a_path_is_a_prompt(start: Start) -> None:
    rig = start()
    await rig.submit("/tmp/foo is a path")
    assert rig.desk.kinds == ["user"]


async def test_exit_leaves_even_while_busy(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 1m]", "/exit")
    assert await rig.task == 0


async def test_after_leaving_nothing_begins(start: Start) -> None:
    rig = start()
    await turns()
    rig.repl.leave(0)
    await rig.submit("too late")
    assert await rig.task == 0
    assert rig.desk.rows == []


async def test_the_cost_panel(start: Start) -> None:
    rig = start()
    await rig.submit("/cost")
    assert (rig.desk.descriptor["status"], rig.desk.descriptor["waitingFor"]) == ("waiting", "dialog open")
    await rig.submit("/cost")
    rig.desk.stage.choose()
    await turns()
    assert rig.desk.descriptor["status"] == "idle"


async def test_faults_on_request(start: Start) -> None:
    rig = start()
    await rig.submit("/fault", "/fault no-busy-edge", "/fault nonsense")
    assert "In force: none" in rig.said
    assert "Faults: no-busy-edge" in rig.said
    assert "unknown fault 'nonsense'" in rig.said
    await rig.submit("x")
    await rig.desk.clock.advance(THINKING)
    assert rig.desk.kinds == ["user", "assistant", "turn_duration"]
    assert rig.desk.publisher.statuses == [None, "idle"]


# --- shell commands -------------------------------------------------------------------------------------------------


async def test_a_shell_command(start: Start, tmp_path: Path) -> None:
    rig = start()
    os.mkfifo(tmp_path / "go")
    command = "read word < go; echo $word; echo err >&2; exit 2"
    await rig.submit(f"!{command}")
    assert rig.desk.descriptor["status"] == "busy"
    await asyncio.to_thread((tmp_path / "go").write_text, "out\n")
    await rig.until(lambda: not rig.repl.busy)
    assert rig.desk.texts == [
        f"<bash-input>{command}</bash-input>",
        "<bash-stdout>out\n</bash-stdout><bash-stderr>err\n</bash-stderr>",
        "The command ended with exit code 2.",
    ]
    assert rig.desk.kinds == ["user", "user", "assistant", "turn_duration"]
    assert "out\nerr\n(exit code 2)" in rig.said
    assert rig.desk.descriptor["status"] == "idle"


async def test_a_shell_command_is_interrupted(start: Start) -> None:
    rig = start()
    await rig.submit("!sleep 100")
    rig.repl.interrupt()
    await rig.until(lambda: not rig.repl.busy)
    assert rig.desk.texts[-1] == "[Request interrupted by user]"


async def test_a_command_in_the_background(start: Start, tmp_path: Path) -> None:
    rig = start()
    await rig.submit("!until [ -e stop ]; do sleep 0.01; done &")
    await rig.until(lambda: not rig.repl.busy)
    assert rig.desk.descriptor["status"] == "shell"
    assert rig.desk.kinds[-1] == "turn_duration"
    # a turn in between is a turn
    await rig.submit("x")
    assert rig.desk.descriptor["status"] == "busy"
    await rig.desk.clock.advance(THINKING)
    assert rig.desk.descriptor["status"] == "shell"
    # after
    (tmp_path / "stop").touch()
    await rig.until(lambda: rig.desk.descriptor["status"] == "idle")
    assert "[1] ended with exit code 0" in rig.said


async def test_background_commands_end_with_the_agent(start: Start) -> None:
    rig = start()
    await rig.submit("!sleep 100 &")
    await rig.until(lambda: not rig.repl.busy)
    rig.leave(0)
    assert await rig.task == 0


async def test_a_directory_that_is_gone(start: Start, tmp_path: Path) -> None:
    rig = start()
    rig.desk.shell._cwd = str(tmp_path / "gone")
    await rig.submit("!true")
    await rig.until(lambda: not rig.repl.busy)
    assert "cannot run it: No such file or directory" in rig.said


# --- trouble --------------------------------------------------------------------------------------------------------


async def test_a_transcript_that_cannot_be_written_is_reported(start: Start) -> None:
    rig = start()

    def refuse(path: str, rows: tuple[Row, ...]) -> None:
        raise OSError(28, "No space left on device", path)

    rig.desk.journal._append = refuse
    await rig.submit("x")
    await rig.desk.clock.advance(THINKING)
    assert "The transcript cannot be written: No space left on device" in rig.said
    assert not rig.repl.busy


async def test_an_error_of_ours_ends_the_agent(start: Start) -> None:
    rig = start()
    await rig.submit("[slow 1s]")

    def fail(text: str) -> None:
        raise RuntimeError(text)

    rig.desk.screen.print = fail  # type: ignore[method-assign]  # the fault
    await rig.desk.clock.advance(1000)
    with pytest.raises(ExceptionGroup):
        await rig.task
