"""The waits after an Enter, each as a small machine of the kind described in `waits`.

They look for evidence that the Enter was taken and that the turn it began has ended. Evidence is always stamped at or
after that Enter: what was true before it proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from switchboard.clis.transcripts import is_clear_command, is_prompt
from switchboard.common.clock import FOREVER, Instant
from switchboard.common.facts import CompactBoundary, Facts
from switchboard.delivery.evidence import (
    WORKING,
    dialog_open,
    new_boundary,
    own_entry,
    reacted,
    rekeyed,
    unrecorded,
    usable_status,
)
from switchboard.delivery.waits import EXITED, DialogMemory, Ending, Kind, TranscriptRule


class Mode(Enum):
    """By what a submission is judged.

    `EDGE`: the CLI publishes a stamped status, so only a status stamped at or after the Enter counts. `LEVEL`: there
    is only the terminal's busy flag. `COMPACT`: the command's effect, a compaction boundary in the transcript.
    """

    EDGE = "edge"
    LEVEL = "level"
    COMPACT = "compact"


@dataclass(slots=True)
class Pulse:
    """Whether the busy flag has been up at any moment since `mark`, the flag's last change known at the start."""

    mark: int
    seen: bool = False

    def look(self, facts: Facts) -> bool:
        self.seen = self.seen or facts.busy or facts.busy_changed_at != self.mark
        return self.seen


@dataclass(slots=True)
class GapWait:
    """The pause between two writes: ends at `due`, and sees every change of the busy flag on the way."""

    due: Instant
    pulse: Pulse

    def observe(self, facts: Facts, now: int) -> Ending | None:
        self.pulse.look(facts)
        return Ending(Kind.DONE) if now >= self.due else None


@dataclass(slots=True)
class ReactionWait:
    """Until the Enter shows an effect: deadline, exit, sign, end of the window.

    In `EDGE` mode the sign is a reacting status stamped at or after the Enter or, with `own_command` and while the CLI
    reports itself working, that command's own transcript entry. In `LEVEL` mode it is the busy flag.
    `recorded`: the command, where the CLI may change its state for another reason with the command still in the box;
    a transcript that can be read must show it as well. `entry_proves`: that entry is a sign by itself, looked for when
    the window is over (a turn can be too short to be published). `rekeys`: the command is `/clear`, of which only the
    session's new id is a sign. `Ending.activity`: the session has done something since the Enter.
    """

    mode: Mode
    enter_at: int
    window_end: int
    deadline: Instant
    pulse: Pulse
    own_command: str | None = None
    due: Instant = FOREVER
    recorded: str | None = None
    entry_proves: bool = False
    rekeys: bool = False

    def observe(self, facts: Facts, now: int) -> Ending | None:
        source = self._sign(facts)
        activity = self.pulse.look(facts) or source is not None
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT, activity=activity)
        if not facts.present:
            return Ending(Kind.EXITED, activity=activity)
        flagged = self.mode is Mode.LEVEL and activity
        if source is not None or (flagged and not self._contradicted(facts)):
            return Ending(Kind.DONE, source=source or self._entry(facts), activity=True)
        if now >= self.window_end:
            source = self._entry(facts)
            if source is not None or flagged:
                return Ending(Kind.DONE, source=source, activity=True)
            return Ending(Kind.WINDOW_OVER, activity=activity)
        self.due = min(self.deadline, self.window_end)
        return None

    def _sign(self, facts: Facts) -> str | None:
        if self.rekeys and rekeyed(facts, self.enter_at):
            return "descriptor"
        if self.mode is not Mode.EDGE:
            return None
        if not self.rekeys and reacted(facts, self.enter_at) and not self._contradicted(facts):
            return "descriptor"
        status = usable_status(facts)
        if self.own_command is None or status is None or status[0] not in WORKING:
            return None
        return None if own_entry(facts, self.own_command, self.enter_at) is None else "transcript"

    def _contradicted(self, facts: Facts) -> bool:
        return self.recorded is not None and unrecorded(facts, self.recorded, self.enter_at)

    def _entry(self, facts: Facts) -> str | None:
        if not self.entry_proves or self.recorded is None:
            return None
        return None if own_entry(facts, self.recorded, self.enter_at) is None else "transcript"


@dataclass(slots=True)
class CompactionWait:
    """Until a compaction that was asked for has ended: exit, deadline, boundary.

    `known`: the boundaries that stood in the transcript before the command was typed; None when it could not be read,
    and then nothing can ever prove that a boundary is new.
    """

    enter_at: int
    deadline: Instant
    known: frozenset[CompactBoundary] | None
    pulse: Pulse
    due: Instant = FOREVER
    _activity: bool = False

    def observe(self, facts: Facts, now: int) -> Ending | None:
        self._activity = self._activity or self.pulse.look(facts) or reacted(facts, self.enter_at)
        if not facts.present:
            return Ending(Kind.EXITED, activity=self._activity)
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT, activity=self._activity)
        if self.known is not None and new_boundary(facts, self.enter_at, self.known):
            return Ending(Kind.DONE, source="compact_boundary", activity=True)
        self.due = self.deadline
        return None


@dataclass(slots=True)
class PendingWait:
    """Until a step that went into a busy CLI is proven: exit, reaction, own entry in a closed turn, bound, deadline.

    The CLI queues what is typed while it works, without a sign of its own. A reaction may as well be the end of that
    work: of a prompt, a transcript that can be read must show the entry, too, and of `/clear` only the session's new id
    counts. `entry_until`: by when the step must at least appear in the transcript; `FOREVER` for a command that never
    does.
    """

    enter_at: int
    command: str
    deadline: Instant
    entry_until: Instant
    due: Instant = FOREVER

    def observe(self, facts: Facts, now: int) -> Ending | None:
        if not facts.present:
            return EXITED
        if self._reacted(facts):
            return Ending(Kind.DONE, source="descriptor", activity=True)
        entry, evidence = own_entry(facts, self.command, self.enter_at), facts.transcript
        closed_at = evidence.closed_at if evidence is not None and evidence.closed else None
        if entry is not None and closed_at is not None and closed_at >= entry.at:
            return Ending(Kind.DONE, source="transcript", activity=True)
        bound = FOREVER if entry is not None or self.entry_until >= self.deadline else self.entry_until
        if now >= bound:
            return Ending(Kind.NO_OWN_ENTRY)
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT)
        self.due = min(self.deadline, bound)
        return None

    def _reacted(self, facts: Facts) -> bool:
        if is_clear_command(self.command):
            return rekeyed(facts, self.enter_at)
        contradicted = is_prompt(self.command) and unrecorded(facts, self.command, self.enter_at)
        return reacted(facts, self.enter_at) and not contradicted


@dataclass(slots=True)
class Rest:
    """Since when a session has been at rest after the Enter at `enter_at`, by its status and by its busy flag."""

    enter_at: int
    pulse: Pulse
    _idle: tuple[int, int] | None = None
    """The stamp of the idle in progress, and since when it was seen."""
    _down_since: int | None = None

    def look(self, facts: Facts, now: int) -> None:
        status = usable_status(facts)
        if status is None or status[0] != "idle" or status[1] < self.enter_at:
            self._idle = None
        elif self._idle is None or self._idle[0] != status[1]:
            self._idle = (status[1], now)
        self.pulse.look(facts)
        if facts.busy:
            self._down_since = None
        elif self._down_since is None:
            self._down_since = now

    @property
    def idle_since(self) -> Instant:
        """Since when the idle was seen that is stamped at or after the Enter; `FOREVER` while there is none."""
        return FOREVER if self._idle is None else self._idle[1]

    def down_since(self, facts: Facts) -> Instant:
        """Since when the busy flag has been down; `FOREVER` while it is up."""
        return FOREVER if self._down_since is None else max(self._down_since, facts.busy_changed_at)


@dataclass(slots=True)
class BusyFallWait:
    """Until the turn of an Enter has ended: deadline, exit, status, transcript, busy flag, no rise.

    `descriptor`: idle stamped at or after the Enter, held `settle_ms`. `transcript`: see `TranscriptRule`.
    `busy_flag`: the flag rose (or `risen` says so already) and has been down for `settle_ms` without interruption.
    `no_rise`: the flag did not rise until `rise_until`, which is no proof that a turn took place.
    `Ending.dialog`: a dialog was open at any look.
    """

    enter_at: int
    deadline: Instant
    settle_ms: int
    rise_until: int
    transcript: TranscriptRule
    pulse: Pulse
    due: Instant = FOREVER
    _rest: Rest = field(init=False)
    _dialogs: DialogMemory = field(default_factory=DialogMemory)
    _dialog: bool = False

    def __post_init__(self) -> None:
        self._rest = Rest(self.enter_at, self.pulse)

    def observe(self, facts: Facts, now: int) -> Ending | None:
        self._dialogs.look(facts, now)
        self._dialog = self._dialog or dialog_open(facts)
        self._rest.look(facts, now)
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT, dialog=self._dialog)
        if not facts.present:
            return EXITED
        idle_at = self._rest.idle_since + self.settle_ms
        shown_at = max(self.transcript.over_at(facts), self._dialogs.clear_at(self.settle_ms))
        flag_at, flag_source = self._flag(facts)
        for at, source in ((idle_at, "descriptor"), (shown_at, "transcript"), (flag_at, flag_source)):
            if now >= at:
                return Ending(Kind.DONE, source=source, dialog=self._dialog)
        self.due = min(self.deadline, idle_at, shown_at, flag_at)
        return None

    def _flag(self, facts: Facts) -> tuple[Instant, str]:
        if not self.pulse.seen:
            return self.rise_until, "no_rise"
        return self._rest.down_since(facts) + self.settle_ms, "busy_flag"
