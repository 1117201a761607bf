"""Whether a session may be ended now, as a small machine of the kind described in `switchboard.delivery.waits`.

Theory of operation. A stop needs an idle CLI, no busy flag, and a composer that is empty and has been left alone for
the quiet window. Only silence is waited for: everything else refuses at once, because it is what the caller has to know
before he decides again. A CLI's idle that is younger than the settle time is waited for as well, because an idle of
some milliseconds between two queued turns is none; if the CLI goes on working then, that is `session busy`.

Each look goes: deadline (not at the first look), exit, busy, the CLI's other states, composer. A deadline at the very
end of the quiet window is a deadline. It is told as such: `session input not quiet` where the window would have lasted
to the deadline or beyond, else the action has timed out.
"""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.common.clock import FOREVER, Instant
from switchboard.common.facts import CliStatus, ComposerView, Facts
from switchboard.delivery import reasons as delivery
from switchboard.delivery.evidence import composer_trouble, usable_status
from switchboard.delivery.waits import DONE, EXITED, NEVER, Ending, Kind
from switchboard.triggers import v1_reasons as reasons


@dataclass(frozen=True, slots=True)
class StopRefused(Ending):
    """The session may not be ended. `reason` is the contract's, `detail` the composer's own diagnosis."""

    detail: str | None = None


@dataclass(frozen=True, slots=True)
class AccountedFor:
    """What a CLI reported when its last turn was proven to be over by something else than its status.

    Background work holds it, or it publishes no status (None). As long as neither its status nor its busy flag has
    changed since, neither says that another turn runs.
    """

    status: CliStatus | None
    busy_changed_at: int

    def covers(self, facts: Facts) -> bool:
        return facts.status == self.status and facts.busy_changed_at == self.busy_changed_at


@dataclass(slots=True)
class StopGate:
    """Until the session may be ended. `accounted`: after a last turn that the transcript has shown to be over."""

    deadline: Instant
    quiet_ms: int
    settle_ms: int
    accounted: AccountedFor | None = None
    due: Instant = FOREVER
    _waiting: bool = False
    _idle: tuple[int, Instant] | None = None
    """The stamp of the idle in progress, and from when on it counts."""
    _quiet_at: Instant = NEVER
    """When the quiet window ends, as of the last look."""

    def observe(self, facts: Facts, now: int) -> Ending | None:
        if self._waiting and now >= self.deadline:
            return self._too_late(facts, now)
        if not facts.present:
            return EXITED
        settled_at = self._idle_until(facts, now)
        if isinstance(settled_at, StopRefused):
            return settled_at
        if facts.composer is None:
            return _refused(reasons.COMPOSER_UNAVAILABLE, _diagnosis(None, now, self.quiet_ms))
        if facts.composer.pending:
            return _refused(reasons.UNSUBMITTED, _diagnosis(facts.composer, now, self.quiet_ms))
        self._quiet_at = facts.composer.last_input_at + self.quiet_ms
        free_at = max(settled_at, self._quiet_at)
        if now >= free_at:
            return DONE
        self._waiting = True
        self.due = min(self.deadline, free_at)
        return None

    def _too_late(self, facts: Facts, now: int) -> StopRefused:
        if self._quiet_at >= self.deadline:
            return _refused(reasons.NOT_QUIET, _diagnosis(facts.composer, now, self.quiet_ms))
        return _refused(reasons.TIMED_OUT, delivery.IDLE_TOO_BRIEF)

    def _idle_until(self, facts: Facts, now: int) -> Instant | StopRefused:
        """From when on the CLI counts as idle, if nothing changes; or why it does not."""
        if self.accounted is not None and self.accounted.covers(facts):
            return now
        status = facts.status
        if facts.busy or (status is not None and status.status == "busy"):
            return _refused(reasons.BUSY)
        if status is not None and status.status == "waiting":
            return _refused(reasons.DIALOG, status.waiting_for)
        if status is not None and status.status == "shell":
            return _refused(reasons.SHELL)
        usable = usable_status(facts)
        if usable is None:
            return _refused(reasons.STATE_UNAVAILABLE)
        if self._idle is None or self._idle[0] != usable[1]:
            # The first one is believed to be as old as it says: a stop of a session at rest waits for nothing.
            self._idle = (usable[1], min(now, usable[1]) if self._idle is None else now)
        return self._idle[1] + self.settle_ms


def _refused(reason: str, detail: str | None = None) -> StopRefused:
    return StopRefused(Kind.TIMED_OUT, reason=reason, detail=detail)


def _diagnosis(composer: ComposerView | None, now: int, quiet_ms: int) -> str | None:
    return composer_trouble(composer, now, quiet_ms)
