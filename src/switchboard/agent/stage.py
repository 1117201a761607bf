"""What a person sees of the agent's work, and the dialogs it opens (driver)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Protocol

from switchboard.agent.activity import Activity
from switchboard.agent.dialogs import Dialog
from switchboard.agent.presence import Presence
from switchboard.agent.prompt_text import printable
from switchboard.agent.view import View
from switchboard.common.clock import Clock, sleep_until


class Display(Protocol):
    """The part of the screen that this needs."""

    def show(self, view: View) -> None: ...
    def print(self, text: str) -> None: ...
    def control(self, sequence: str) -> None: ...


LABELS = {
    Activity.TURN: "Working",
    Activity.SHELL: "Running",
    Activity.COMPACTION: "Compacting conversation",
    Activity.CLEARING: "Clearing",
}


class Stage:
    """Keeps the screen and the published status in step with what is going on."""

    def __init__(self, display: Display, presence: Presence, clock: Clock) -> None:
        self._display = display
        self._presence = presence
        self._clock = clock
        self._view = View()
        self._activity = Activity.IDLE
        self._jobs = 0
        self._answer: asyncio.Future[str | None] | None = None

    @property
    def dialog_open(self) -> bool:
        """Whether keys go to a dialog."""
        return self._view.dialog is not None

    def say(self, text: str) -> None:
        """Add lines to what has been said."""
        self._display.print(printable(text))

    def control(self, sequence: str) -> None:
        """Send the terminal a sequence that does not move its cursor."""
        self._display.control(sequence)

    def partial(self, text: str) -> None:
        """Show an answer that is still growing; '' takes it away."""
        self._change(partial=text)

    def notice(self, text: str) -> None:
        """Put something under the box; '' takes it away."""
        if text != self._view.notice:
            self._change(notice=text)

    def queue(self, texts: tuple[str, ...]) -> None:
        """Show what waits."""
        self._change(queued=texts)

    def begin(self, activity: Activity) -> None:
        """Something starts; it is published as new even right after something else."""
        self._activity = activity
        self._change(working=LABELS[activity], since=self._clock.now())
        self._present(anew=True)

    def rest(self) -> None:
        """Nothing goes on any more."""
        self._activity = Activity.IDLE
        self._change(working=None, partial="")
        self._present()

    def jobs(self, count: int) -> None:
        """So many commands run in the background."""
        self._jobs = count
        self._present()

    async def blip(self, ms: int) -> None:
        """Look idle for a moment in the middle of things."""
        activity, self._activity = self._activity, Activity.IDLE
        self._present()
        try:
            await sleep_until(self._clock, self._clock.now() + ms)
        finally:
            self._activity = activity
            self._present(anew=True)

    async def ask(self, dialog: Dialog) -> str | None:
        """Open a dialog and return its answer, None when it was cancelled."""
        self._answer = asyncio.get_running_loop().create_future()
        self._change(dialog=dialog)
        self._present()
        try:
            return await self._answer
        finally:
            self._answer = None
            self._change(dialog=None)
            self._present()

    # -- keys of an open dialog

    def typed(self, text: str) -> None:
        """Characters: a digit that names an option answers, the rest is ignored."""
        if self._view.dialog is not None:
            answer = self._view.dialog.typed(text)
            if answer is not None:
                self._close(answer)

    def choose(self) -> None:
        """Enter."""
        if self._view.dialog is not None:
            self._close(self._view.dialog.entered())

    def cancel(self) -> None:
        """Escape."""
        self._close(None)

    def move(self, step: int) -> None:
        """An arrow."""
        if self._view.dialog is not None:
            self._change(dialog=self._view.dialog.moved(step))

    def _close(self, answer: str | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _change(self, **changes: object) -> None:
        self._view = replace(self._view, **changes)  # type: ignore[arg-type]  # fields of View, by name
        self._display.show(self._view)

    def _present(self, *, anew: bool = False) -> None:
        dialog = self._view.dialog
        self._presence.show(self._activity, dialog.waiting_for if dialog else None, self._jobs, anew=anew)
