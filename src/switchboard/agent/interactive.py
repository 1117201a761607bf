"""Puts the pieces of the interactive agent together and runs them (driver)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

from switchboard.agent import dialogs
from switchboard.agent.box import Box
from switchboard.agent.faults import FaultSwitch
from switchboard.agent.journal import Journal
from switchboard.agent.keystrokes import Keystrokes
from switchboard.agent.presence import Presence
from switchboard.agent.publisher import Publisher
from switchboard.agent.repl import Repl
from switchboard.agent.screen import Screen, key_sequences
from switchboard.agent.shell import Shell
from switchboard.agent.stage import Stage
from switchboard.agent.start import Start
from switchboard.agent.titles import PROGRESS_TERMINALS
from switchboard.agent.tty import TerminalReader
from switchboard.common.system_clock import SystemClock

SWITCH_INTERVAL_S = 0.0005
"""The reading thread has to get its turn before the next chunk of a paced sender comes."""


async def run_interactive(
    start: Start,
    home: str,
    env: Mapping[str, str],
    clock: SystemClock,
    faults: FaultSwitch,
    publisher: Publisher,
    reader: TerminalReader,
) -> int:
    """Run the agent in its terminal until somebody leaves; return the exit code."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # a terminal's text stream
    screen = Screen(sys.stdout, clock.now, env.get("TERM"))
    presence = Presence(
        publisher,
        clock,
        screen.control,
        screen.redraw,
        has_titles=lambda: "no-title" not in faults(),
        has_progress=env.get("TERM_PROGRAM") in PROGRESS_TERMINALS,
    )
    stage = Stage(screen, presence, clock)
    journal = Journal(start.conversation, home, clock, faults, path=start.path, before=start.before)
    shell = Shell(start.conversation.cwd)
    repl = Repl(stage, journal, shell, faults, publisher, clock, screen.leave)
    box = Box(screen, stage, repl, Keystrokes(key_sequences()), clock, faults)

    async def opening() -> None:
        loop = asyncio.get_running_loop()
        reader.attach(loop, box.on_read)
        asks = "trust-dialog" in faults()
        if asks and await stage.ask(dialogs.trust(start.conversation.cwd)) != dialogs.YES:
            screen.leave(1)
            return
        if asks or "late-descriptor" in faults():
            publisher.appear_later(faults().get("late-descriptor"))
        stage.rest()

    for line in _greeting(start):
        screen.print(line)
    for prompt in start.prompts:
        screen.remember(prompt)
    code = await repl.run(screen.run(), opening())
    presence.stop()
    if journal.conversation.opened:
        screen.print(f"Resume this conversation with: switchboard agent --resume {journal.conversation.session_id}")
    return code


def _greeting(start: Start) -> tuple[str, ...]:
    return (
        f"\u2733 Switchboard agent {start.conversation.version} \u00b7 offline, scripted answers \u00b7 /help",
        f"  {start.conversation.cwd}",
        *start.recap,
    )
