"""The interactive agent (driver): what is submitted is carried out, one thing after the other."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine

from switchboard.agent import dialogs
from switchboard.agent.activity import Activity, Floor, Submission
from switchboard.agent.commands import COMMANDS, Immediate, Unknown, classify
from switchboard.agent.faults import FaultError, FaultSwitch, describe_faults
from switchboard.agent.journal import Journal
from switchboard.agent.publisher import Publisher
from switchboard.agent.script import DIRECTIVES_HELP
from switchboard.agent.shell import Command, Shell
from switchboard.agent.stage import Stage
from switchboard.agent.turn import Begun, Desk, compact, run_shell, run_turn
from switchboard.agent.work import Work
from switchboard.common.clock import Clock

HELP = "\n".join(
    (
        "Type a prompt, or one of these:",
        *(f"  /{name:<19} {meaning}" for name, meaning in COMMANDS.items()),
        "  !command             run a shell command; with & at its end, in the background",
        "",
        DIRECTIVES_HELP,
        "",
        "Keys: Enter sends, also while I am busy (it waits its turn). Alt+Enter, or a \\ before Enter: new line.",
        "Esc interrupts. Esc twice or Ctrl-C clears the box. Up: earlier prompts, or the one that waits.",
        "Ctrl-D, or Ctrl-C twice: leave.",
    )
)


class Repl:
    """Who has the floor, what waits for it, and the commands in the background. `leave`: end with an exit code."""

    def __init__(
        self,
        stage: Stage,
        journal: Journal,
        shell: Shell,
        faults: FaultSwitch,
        publisher: Publisher,
        clock: Clock,
        leave: Callable[[int], None],
    ) -> None:
        self._desk = Desk(stage, journal, shell, faults, self._end, self._start_job)
        self._publisher = publisher
        self._clock = clock
        self._leave = leave
        self._floor = Floor()
        self._work: Work | None = None
        self._jobs: dict[int, Command] = {}
        self._last_job = 0
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._left = False

    async def run(self, show: Coroutine[None, None, int], opening: Coroutine[None, None, None]) -> int:
        """Run until somebody leaves: `show` is the screen's life, `opening` what has to happen first."""
        async with asyncio.TaskGroup() as self._group:
            screen = self._group.create_task(show, name="agent-screen")  # first: keys need a screen to go to
            self._spawn(opening, "agent-opening")
            code = await screen
            for task in self._tasks:
                task.cancel()
        return code

    # -- what the box asks for

    @property
    def busy(self) -> bool:
        """Whether something goes on."""
        return self._floor.busy

    @property
    def queued(self) -> bool:
        """Whether something waits."""
        return bool(self._floor.queue)

    def submit(self, text: str) -> None:
        """A person, or a program in a person's place, pressed Enter on this. After `leave` nothing begins any more."""
        if self._left:
            return
        match classify(text):
            case Unknown(name):
                self._echo(text)
                self._desk.stage.say(f"\u23bf Unknown command: /{name}. /help lists the commands.")
            case Immediate(name, argument):
                self._echo(text)
                self._immediate(name, argument)
            case Submission() as submission:
                self._floor, granted = self._floor.submitted(submission)
                if granted is not None:
                    self._spawn(self._carry_out(self._begin(granted)), "agent-work")
                else:
                    self._journal_queue("enqueue", text)

    def interrupt(self) -> None:
        """Stop what goes on; what waits comes next."""
        if self._work is not None:
            self._work.stop()

    def unqueue(self) -> str:
        """Take the newest that waits back; return its text."""
        self._floor, taken = self._floor.withdrawn()
        if taken is None:
            return ""
        self._journal_queue("remove", taken.text)
        return taken.text

    def leave(self, code: int) -> None:
        """End the agent."""
        self._left = True
        self._leave(code)

    # -- carrying out

    async def _carry_out(self, begun: Begun) -> None:
        going: Begun | None = begun
        while going is not None:
            await going
            self._work = None
            self._report_failures()
            self._floor, following = self._floor.ended()
            if following is not None:
                self._journal_queue("dequeue")
                blip = self._desk.faults().get("idle-blip")
                if blip:
                    await self._desk.stage.blip(blip)
            going = None if following is None else self._begin(following)
        self._desk.stage.rest()

    def _begin(self, submission: Submission) -> Begun:
        """Show, publish and record that this begins; return the rest of it."""
        self._echo(submission.text)
        work = self._work = Work(self._clock)
        if submission.activity is Activity.CLEARING:
            return self._clear()  # over at once, and the status does not move (measured)
        self._desk.stage.begin(submission.activity)
        match submission.activity:
            case Activity.TURN:
                return run_turn(self._desk, work, submission.argument)
            case Activity.SHELL:
                return run_shell(self._desk, work, submission.argument)
            case _:
                return compact(self._desk, work, submission.argument)

    async def _clear(self) -> None:
        journal = self._desk.journal
        journal.record(journal.conversation.cleared(journal.new_id(), *journal.now))
        self._publisher.rekey(journal.conversation.session_id)
        self._desk.stage.say("\u23bf A fresh conversation.")

    def _immediate(self, name: str, argument: str) -> None:
        match name:
            case "help":
                self._desk.stage.say(HELP)
                if not self.busy:  # what stands behind a turn's rows ends it, for whoever reads them
                    journal = self._desk.journal
                    journal.record(journal.conversation.commanded(name, *journal.now))
            case "exit":
                self.leave(0)
            case "fault":
                self._fault(argument)
            case _:
                self._spawn(self._cost(), "agent-panel")

    def _fault(self, argument: str) -> None:
        faults = self._desk.faults
        try:
            faults.change(argument)
        except FaultError as error:
            self._desk.stage.say(f"\u23bf {error}")
            return
        self._desk.stage.say(f"\u23bf Faults: {faults()}" if argument else describe_faults(faults()))

    async def _cost(self) -> None:
        if not self._desk.stage.dialog_open:
            await self._desk.stage.ask(dialogs.cost(self._desk.journal.conversation.turns))

    async def _end(self, code: int | None) -> None:
        if code is None:
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            self.leave(code)
        await asyncio.get_running_loop().create_future()  # until the end comes, nothing more of the turn happens

    # -- commands in the background

    async def _start_job(self, command: str) -> int:
        process = await self._desk.shell.start(command)
        self._last_job += 1
        number = self._last_job
        self._jobs[number] = process
        self._desk.stage.jobs(len(self._jobs))
        self._spawn(self._watch_job(number, process, command), "agent-job")
        return number

    async def _watch_job(self, number: int, process: Command, command: str) -> None:
        code = await self._desk.shell.wait_for(process)
        del self._jobs[number]
        self._desk.stage.say(f"[{number}] ended with exit code {code}: {command}")
        self._desk.stage.jobs(len(self._jobs))

    # -- small things

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> None:
        assert self._group is not None
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _echo(self, text: str) -> None:
        self._desk.stage.say(f"> {text}")

    def _journal_queue(self, operation: str, text: str | None = None) -> None:
        journal = self._desk.journal
        journal.record(journal.conversation.queued(operation, journal.now[0], text))
        self._desk.stage.queue(tuple(waiting.text for waiting in self._floor.queue))

    def _report_failures(self) -> None:
        for what, failure in (
            ("transcript", self._desk.journal.failure),
            ("descriptor", self._publisher.failure),
        ):
            if failure is not None:
                self._desk.stage.say(f"\u23bf The {what} cannot be written: {failure.strerror} ({failure.filename})")
