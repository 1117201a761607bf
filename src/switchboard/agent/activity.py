"""Whose turn it is (pure).

Theory of operation. One `Activity` value says what the agent is doing, and busy is `activity is not IDLE`. Whoever
wants something done submits it: when nothing is going on the submission is granted and becomes the activity, otherwise
it waits in the queue. When an activity ends, the next submission is granted in the same step, so nothing can slip in
between. A dialog and a background job are not activities: the first belongs to the turn that opened it, the second to
nobody. What this machine refuses to know: what a turn does, how long it takes, whether it succeeded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto


class Activity(Enum):
    """What the agent is doing."""

    IDLE = auto()
    TURN = auto()
    SHELL = auto()
    COMPACTION = auto()
    CLEARING = auto()


@dataclass(frozen=True, slots=True)
class Submission:
    """Work to do. `text`: as it was entered; `argument`: what the activity needs of it."""

    activity: Activity
    text: str
    argument: str


class NothingToEnd(ValueError):
    """`ended` was called although nothing is going on."""


@dataclass(frozen=True, slots=True)
class Floor:
    """Who has the floor and who waits for it, first come first."""

    activity: Activity = Activity.IDLE
    queue: tuple[Submission, ...] = ()

    @property
    def busy(self) -> bool:
        """Whether something is going on."""
        return self.activity is not Activity.IDLE

    def submitted(self, submission: Submission) -> tuple[Floor, Submission | None]:
        """Return the floor and what to start now: the submission, or None when it has to wait."""
        if self.busy:
            return replace(self, queue=(*self.queue, submission)), None
        return replace(self, activity=submission.activity), submission

    def ended(self) -> tuple[Floor, Submission | None]:
        """The activity is over: return the floor and what to start next. Raises `NothingToEnd`."""
        if not self.busy:
            raise NothingToEnd
        if not self.queue:
            return Floor(), None
        following = self.queue[0]
        return Floor(following.activity, self.queue[1:]), following

    def withdrawn(self) -> tuple[Floor, Submission | None]:
        """The newest submission that waits is taken back; None when none does."""
        if not self.queue:
            return self, None
        return replace(self, queue=self.queue[:-1]), self.queue[-1]


def status_of(activity: Activity, dialog: str | None, jobs: int) -> tuple[str, str | None]:
    """The descriptor's `status` and `waitingFor`: an open dialog, then an activity, then background jobs, else idle."""
    if dialog is not None:
        return "waiting", dialog
    if activity is not Activity.IDLE:
        return "busy", None
    return ("shell" if jobs else "idle"), None
