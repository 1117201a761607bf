"""Carries out a turn, a shell command or a compaction, and records it (driver)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeAlias

from switchboard.agent import dialogs
from switchboard.agent.commands import split_background
from switchboard.agent.directives import Ask, Exit, Fail, Pause, Print, Query
from switchboard.agent.faults import FaultSwitch
from switchboard.agent.journal import Journal
from switchboard.agent.script import Context, Plan, compaction_ms, plan
from switchboard.agent.shell import Outcome, Shell
from switchboard.agent.stage import Stage
from switchboard.agent.work import Interrupted, Work

Begun: TypeAlias = "Coroutine[None, None, None]"
"""The rest of something that has begun."""

SLICE = 100
"""Lines printed in one go; between two slices keys are read and an Escape is heard."""

STREAM_STEP_MS = 50

QUERIES = "\x1b[6n\x1b[c\x1b]11;?\x07"
"""Cursor position, device attributes, background colour."""


@dataclass(slots=True)
class Desk:
    """What carrying something out needs. `end`: leave with an exit code, None: die at once.

    `start_job`: run a command in the background and return its number. `allowed`: commands that need no permission.
    """

    stage: Stage
    journal: Journal
    shell: Shell
    faults: FaultSwitch
    end: Callable[[int | None], Awaitable[None]]
    start_job: Callable[[str], Awaitable[int]]
    allowed: set[str] = field(default_factory=set)


def run_turn(desk: Desk, work: Work, text: str) -> Begun:
    """Answer a prompt, which is on record when this returns."""
    journal = desk.journal
    started, _ = journal.now
    previous = journal.conversation.last_prompt
    journal.record(journal.conversation.prompted(text, *journal.now))
    conversation = journal.conversation
    todo = plan(text, Context(conversation.turns, conversation.session_id, conversation.cwd, previous))
    return _turn(desk, work, todo, started)


async def _turn(desk: Desk, work: Work, todo: Plan, started: int) -> None:
    journal = desk.journal
    try:
        await _follow(desk, work, todo)
    except Interrupted as interrupted:
        journal.record(journal.conversation.interrupted(*journal.now, in_dialog=interrupted.in_dialog))
        desk.stage.partial("")
        desk.stage.say("\u23bf Interrupted by you.")
        return
    if not isinstance(todo.ending, Fail):
        _close_turn(desk, started)


def run_shell(desk: Desk, work: Work, entered: str) -> Begun:
    """Run a `!` command, which is on record when this returns; with `&` at its end, in the background."""
    started, _ = desk.journal.now
    desk.journal.record(desk.journal.conversation.shell_started(entered, *desk.journal.now))
    return _shell(desk, work, entered, started)


async def _shell(desk: Desk, work: Work, entered: str, started: int) -> None:
    journal, stage = desk.journal, desk.stage
    command, background = split_background(entered)
    try:
        if background:
            number = await desk.start_job(command)
            outcome = Outcome(f"[{number}] runs in the background", "", 0)
        else:
            outcome = await work.wait(desk.shell.run(command))
    except OSError as error:
        outcome = Outcome("", f"cannot run it: {error.strerror}", 1)
    except Interrupted:
        journal.record(journal.conversation.interrupted(*journal.now))
        stage.say("\u23bf Interrupted by you.")
        return
    stage.say(f"\u23bf {outcome.text or '(no output)'}")
    journal.record(journal.conversation.shell_ended(outcome.stdout, outcome.stderr, *journal.now))
    # A word from the model closes the turn: a transcript that ends with the output would look unfinished for ever.
    journal.record(journal.conversation.answered(f"The command ended with exit code {outcome.code}.", *journal.now))
    _close_turn(desk, started)


async def compact(desk: Desk, work: Work, argument: str) -> None:
    """Replace the conversation by a summary. Nothing is recorded when there is nothing to compact or it is stopped."""
    journal, stage = desk.journal, desk.stage
    if journal.conversation.turns == 0:
        stage.say("\u23bf Not enough messages to compact.")
        return
    try:
        await work.pause(compaction_ms(argument))
    except Interrupted:
        stage.say("\u23bf Compaction interrupted by you.")
        return
    journal.record(journal.conversation.compacted(argument, *journal.now))
    stage.say("\u23bf Compacted.")


async def _follow(desk: Desk, work: Work, todo: Plan) -> None:
    blip, refused = desk.faults().get("idle-blip"), False
    for step in todo.steps:
        match step:
            case Pause(ms):
                await work.pause(ms // 2)
                if blip:
                    await work.wait(desk.stage.blip(blip))
                    blip = 0
                await work.pause(ms - ms // 2)
            case Print(lines):
                await _print(desk, work, lines)
            case Ask(command):
                refused |= not await _ask(desk, work, command)
            case Query():
                desk.stage.control(QUERIES)
            case Exit(code):
                await work.wait(_end(desk, code))
    await _finish(desk, work, todo, "\nYou said no, so I did not run it." if refused else "")


async def _finish(desk: Desk, work: Work, todo: Plan, remark: str) -> None:
    journal, stage = desk.journal, desk.stage
    if isinstance(todo.ending, Fail):
        text = f"API Error: {todo.ending.text}"
        journal.record(journal.conversation.failed(text, *journal.now))
        stage.say(f"\u23bf {text}")
        return
    text = todo.ending.text + remark
    if todo.stream_ms:
        words = text.split(" ")
        count = min(len(words), max(1, todo.stream_ms // STREAM_STEP_MS))
        for step in range(1, count + 1):
            stage.partial(" ".join(words[: len(words) * step // count]))
            await work.pause(todo.stream_ms // count)
        stage.partial("")
    stage.say(f"\u25cf {text}")
    journal.record(journal.conversation.answered(text, *journal.now))


async def _print(desk: Desk, work: Work, lines: int | None) -> None:
    number = 0
    while lines is None or number < lines:
        last = number + SLICE if lines is None else min(lines, number + SLICE)
        total = "" if lines is None else f" of {lines}"
        desk.stage.say("\n".join(f"line {count}{total}" for count in range(number + 1, last + 1)))
        number = last
        await work.pause(0)


async def _ask(desk: Desk, work: Work, command: str) -> bool:
    """Return whether the command was allowed, and run it when it was."""
    journal, stage = desk.journal, desk.stage
    tool_id = f"toolu_{journal.new_id()}"
    journal.record(journal.conversation.asked(command, tool_id, *journal.now))
    answer: str | None = dialogs.YES
    if command not in desk.allowed:
        answer = await work.wait(stage.ask(dialogs.permission(command)))
    if answer in (dialogs.YES, dialogs.ALWAYS):
        if answer == dialogs.ALWAYS:
            desk.allowed.add(command)
        try:
            outcome = await work.wait(desk.shell.run(command))
        except OSError as error:
            outcome = Outcome("", f"cannot run it: {error.strerror}", 1)
        stage.say(f"\u25cf Bash({command})\n\u23bf {outcome.text or '(no output)'}")
        ended = journal.conversation.tool_ended(tool_id, outcome.text, *journal.now, failed=outcome.code != 0)
        journal.record(ended)
        return True
    journal.record(
        journal.conversation.tool_ended(tool_id, "The user did not allow this command.", *journal.now, failed=True)
    )
    if answer is None:
        raise Interrupted(in_dialog=True)
    return False


async def _end(desk: Desk, code: int | None) -> None:
    await desk.end(code)


def _close_turn(desk: Desk, started: int) -> None:
    if "no-turn-duration" not in desk.faults():
        now, new_id = desk.journal.now
        desk.journal.record(desk.journal.conversation.closed(now - started, now, new_id))
