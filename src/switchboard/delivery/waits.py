"""The waits before something is written, each as a small machine.

Theory of operation. A driver shows a machine the facts and the time, once at the start, again on every change of the
facts, and at `due` if nothing changed; the machine answers with an `Ending` or with None. Machines hold no clock and
start nothing. Where a contract of sampling every 100 ms is the origin ("seen in a sample"), a state counts as seen
until the look that shows it gone.

Order matters within one look, and differs between the waits: each docstring gives it. A deadline beats a settled state
that becomes true at the same millisecond, except for the composer and the idle flag, which are looked at first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from switchboard.common.clock import FOREVER, Instant
from switchboard.common.facts import Facts
from switchboard.delivery.evidence import (
    WORKING,
    composer_free_at,
    composer_trouble,
    dialog_open,
    usable_status,
)

NEVER = -math.inf
"""An instant before every other."""


class Kind(Enum):
    """How a wait ended."""

    DONE = "done"
    EXITED = "exited"
    TIMED_OUT = "timed out"
    UNAVAILABLE = "unavailable"
    """There is nothing to wait for: the CLI publishes no usable status."""
    WINDOW_OVER = "window over"
    """The verification window passed without a sign; its deadline has not."""
    NO_OWN_ENTRY = "no own entry"


@dataclass(frozen=True, slots=True)
class Ending:
    """What a wait found. `source`: what convinced it. `status`: the CLI's status at the last look, None when lost.

    `dialog`: a dialog was open (see each wait for when). `reason`: the exact text, where the wait itself knows it.
    `activity`: the session did something since the Enter.
    """

    kind: Kind
    source: str | None = None
    status: str | None = None
    dialog: bool = False
    reason: str | None = None
    activity: bool = False


DONE = Ending(Kind.DONE)
EXITED = Ending(Kind.EXITED)


class Wait(Protocol):
    """A machine as described above. `due`: when to look again, valid after `observe` has returned None."""

    due: Instant

    def observe(self, facts: Facts, now: int) -> Ending | None: ...


@dataclass(slots=True)
class DialogMemory:
    """When a dialog was last seen open."""

    _open: bool = False
    _until: Instant = NEVER

    def look(self, facts: Facts, now: int) -> None:
        open_now = dialog_open(facts)
        if open_now or self._open:
            self._until = now
        self._open = open_now

    def within(self, window_ms: Instant, now: int) -> bool:
        """A dialog was open at some moment of the last `window_ms`, both ends included."""
        return self._open or now - self._until <= window_ms

    def clear_at(self, window_ms: int) -> Instant:
        """From when on `within` is false, if no dialog opens again."""
        return FOREVER if self._open else self._until + window_ms + 1


@dataclass(slots=True)
class IdleFlagWait:
    """Until the terminal's busy flag is down: exit, flag, dialog sample, deadline. One look at it down is enough.

    `Ending.dialog`: a dialog was open at any look.
    """

    deadline: Instant
    due: Instant = FOREVER
    _dialog: bool = False

    def observe(self, facts: Facts, now: int) -> Ending | None:
        if not facts.present:
            return EXITED
        if not facts.busy:
            return DONE
        self._dialog = self._dialog or dialog_open(facts)
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT, dialog=self._dialog)
        self.due = self.deadline
        return None


@dataclass(slots=True)
class IdleFlagHold:
    """Until the busy flag has been down for `settle_ms` without interruption: exit, hold, deadline.

    For CLIs that publish no status: their flag drops for some 10 ms between queued turns, and a byte written into such
    a blip goes into the next turn. `down_since`: from when on the flag is known to be down (`NEVER`: from long ago).
    """

    deadline: Instant
    settle_ms: int
    down_since: Instant | None
    due: Instant = FOREVER

    def observe(self, facts: Facts, now: int) -> Ending | None:
        if not facts.present:
            return EXITED
        if facts.busy:
            self.down_since = None
        elif self.down_since is None:
            self.down_since = now
        self.due = self.deadline
        if self.down_since is not None:
            settled_at = max(self.down_since, facts.busy_changed_at) + self.settle_ms
            if settled_at <= now < self.deadline:
                return DONE
            if settled_at > now:
                self.due = min(self.deadline, settled_at)
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT)
        return None


@dataclass(slots=True)
class ComposerWait:
    """Until nobody has unsubmitted input or typed within `quiet_ms`: free, then deadline. Exit is not looked at."""

    deadline: Instant
    quiet_ms: int
    due: Instant = FOREVER

    def observe(self, facts: Facts, now: int) -> Ending | None:
        trouble = composer_trouble(facts.composer, now, self.quiet_ms)
        if trouble is None:
            return DONE
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT, reason=trouble)
        free_at = composer_free_at(facts.composer, self.quiet_ms)
        self.due = self.deadline if free_at is None else min(self.deadline, free_at)
        return None


@dataclass(slots=True)
class StartedWait:
    """Until a CLI that publishes its status has done so: exit, started, deadline.

    Before that it may be showing a dialog that it does not report, and an Enter would pick that dialog's default.
    """

    deadline: Instant
    due: Instant = FOREVER

    def observe(self, facts: Facts, now: int) -> Ending | None:
        if not facts.present:
            return EXITED
        if not facts.starting:
            return DONE
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT)
        self.due = self.deadline
        return None


@dataclass(slots=True)
class NoDialogWait:
    """Until no dialog holds: exit, status, deadline.

    `waiting` takes hold, any other status releases it, and a descriptor that is lost leaves the hold as it was.
    """

    deadline: Instant
    due: Instant = FOREVER
    _held: bool = False

    def observe(self, facts: Facts, now: int) -> Ending | None:
        if not facts.present:
            return EXITED
        if facts.status is not None and facts.status.status is not None:
            self._held = facts.status.status == "waiting"
        if not self._held:
            return DONE
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT, dialog=True)
        self.due = self.deadline
        return None


@dataclass(frozen=True, slots=True)
class TranscriptRule:
    """When a transcript may overrule a CLI that still reports itself working.

    Background agents hold a CLI at `busy` long after its own turn has ended. The turn is over when its last entries
    say so, at or after `anchor`, the file has not changed for `quiet_ms`, and no dialog was open of late.
    """

    anchor: Instant
    quiet_ms: int

    def over_at(self, facts: Facts) -> Instant:
        """From when on the transcript shows the turn over, dialogs aside; `FOREVER` when it does not."""
        status, evidence = usable_status(facts), facts.transcript
        if status is None or status[0] not in WORKING or evidence is None:
            return FOREVER
        if not evidence.closed or evidence.closed_at is None or evidence.closed_at < self.anchor:
            return FOREVER
        return evidence.modified_at + self.quiet_ms


@dataclass(slots=True)
class CliIdleWait:
    """Until the CLI itself has reported idle without interruption for `settle_ms`: exit, availability, idle, deadline.

    Idle must be stamped after `after`, and keep its stamp: another status, a lost descriptor or a new stamp starts the
    time anew. `trust_stamp`: the first idle seen counts from its own stamp. `transcript`: see `TranscriptRule`.
    `startup`: a status may still appear, so that none yet is no reason to give up.
    `Ending.status` at the deadline is the last status seen, None when it was lost; `Ending.dialog`: a dialog was open
    within the last `settle_ms`, or was open when the descriptor was lost.
    """

    after: Instant
    deadline: Instant
    settle_ms: int
    trust_stamp: bool = False
    transcript: TranscriptRule | None = None
    startup: bool = False
    due: Instant = FOREVER
    _read: bool = False
    _idle: tuple[int, Instant] | None = None
    """The stamp of the idle in progress, and from when on it counts."""
    _idle_seen: bool = False
    _dialogs: DialogMemory = field(default_factory=DialogMemory)

    def observe(self, facts: Facts, now: int) -> Ending | None:
        if not facts.present:
            return EXITED
        status = usable_status(facts)
        if status is None and not self._read and not self.startup:
            return Ending(Kind.UNAVAILABLE)
        self._read = self._read or status is not None
        if facts.status is not None and facts.status.status is not None:
            self._dialogs.look(facts, now)
        self._follow_idle(status, now)
        settled = self._settled_at()
        shown = FOREVER if self.transcript is None else self.transcript.over_at(facts)
        shown = max(shown, self._dialogs.clear_at(self.settle_ms))
        if now < self.deadline:
            if now >= settled:
                return Ending(Kind.DONE, source="descriptor")
            if now >= shown:
                return Ending(Kind.DONE, source="transcript")
            self.due = min(self.deadline, settled, shown)
            return None
        last = None if status is None else status[0]
        return Ending(Kind.TIMED_OUT, status=last, dialog=self._dialogs.within(self.settle_ms, now))

    def _follow_idle(self, status: tuple[str, int] | None, now: int) -> None:
        if status is None or status[0] != "idle" or status[1] <= self.after:
            self._idle = None
        elif self._idle is None or self._idle[0] != status[1]:
            trusted = self.trust_stamp and not self._idle_seen
            self._idle = (status[1], min(now, status[1]) if trusted else now)
            self._idle_seen = True

    def _settled_at(self) -> Instant:
        return FOREVER if self._idle is None else self._idle[1] + self.settle_ms
