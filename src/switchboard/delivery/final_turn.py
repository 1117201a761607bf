"""The wait for the last turn before a stop, as a small machine of the kind described in `waits`.

Theory of operation. A session is ended after it was given a last text, so two things have to be proven, both since that
text's Enter: the CLI took the text, and the turn that it began is over. Silence proves neither. A busy flag that never
rose, an old idle status, an empty composer: none of them lets this wait end well.

Where the transcript can be read it has to show the text itself, whatever the status says: a status can change for
reasons of its own, with the text still in the box. Where it cannot, and for what the CLI carries out itself (`/`, `!`)
and does not always record, the CLI's status or the flag's rise and fall count.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from switchboard.common.clock import FOREVER, Instant
from switchboard.common.ecma import trim
from switchboard.common.facts import Facts
from switchboard.delivery.evidence import WORKING, dialog_open, own_entry, reacted, usable_status
from switchboard.delivery.reactions import Pulse, Rest
from switchboard.delivery.waits import EXITED, DialogMemory, Ending, Kind


@dataclass(slots=True)
class FinalTurnWait:
    """Until the turn of a text has provably ended: deadline, exit, status, transcript, busy flag.

    `enter_at`: wall time of its first Enter. `confirmed`: its submission is proven already. `quiet_ms`: so long must
    the transcript have been left alone where the CLI goes on reporting work. `pulse`: the busy flag since the text was
    begun. Ends well with the source `descriptor` (idle stamped at or after the Enter, held `settle_ms`), `transcript`
    (the text's own entry, then a closed turn, quiet) or `busy_flag` (risen, then down for `settle_ms`; only where the
    CLI publishes no status). `Ending.dialog`: a dialog was open within the last `settle_ms`.
    """

    enter_at: int
    command: str
    confirmed: bool
    deadline: Instant
    settle_ms: int
    quiet_ms: int
    pulse: Pulse
    due: Instant = FOREVER
    _rest: Rest = field(init=False)
    _dialogs: DialogMemory = field(default_factory=DialogMemory)

    def __post_init__(self) -> None:
        self._rest = Rest(self.enter_at, self.pulse)

    def observe(self, facts: Facts, now: int) -> Ending | None:
        self._dialogs.look(facts, now)
        self._follow(facts, now)
        status = usable_status(facts)
        last = None if status is None else status[0]
        if now >= self.deadline:
            return Ending(Kind.TIMED_OUT, status=last, dialog=self._dialogs.within(self.settle_ms, now))
        if not facts.present:
            return EXITED
        ends = (
            (self._idle_at(facts), "descriptor"),
            (self._shown_at(facts), "transcript"),
            (self._flag_at(facts), "busy_flag"),
        )
        for at, source in ends:
            if now >= at:
                return Ending(Kind.DONE, source=source, status=last, activity=True)
        self.due = min(self.deadline, *(at for at, _ in ends))
        return None

    def _follow(self, facts: Facts, now: int) -> None:
        if facts.transcript is None or self._own_doing:
            self.confirmed = self.confirmed or reacted(facts, self.enter_at)
        self._rest.look(facts, now)

    def _taken(self, facts: Facts) -> bool:
        """Whether it is proven that the CLI has the text."""
        if own_entry(facts, self.command, self.enter_at) is not None:
            return True
        return self.confirmed and (facts.transcript is None or self._own_doing)

    @property
    def _own_doing(self) -> bool:
        return trim(self.command)[:1] in ("/", "!")

    def _idle_at(self, facts: Facts) -> Instant:
        return self._rest.idle_since + self.settle_ms if self._taken(facts) else FOREVER

    def _shown_at(self, facts: Facts) -> Instant:
        """When the transcript shows the text and, after it, a turn that is over, with nobody writing any more."""
        status, evidence = usable_status(facts), facts.transcript
        entry = own_entry(facts, self.command, self.enter_at)
        if entry is None or evidence is None or not evidence.closed or evidence.closed_at is None:
            return FOREVER
        if evidence.closed_at < entry.at or dialog_open(facts) or (status is not None and status[0] not in WORKING):
            return FOREVER
        return max(evidence.modified_at + self.quiet_ms, self._dialogs.clear_at(self.settle_ms))

    def _flag_at(self, facts: Facts) -> Instant:
        # A status whose stamp cannot be used proves nothing, and holds back.
        silent = facts.status is None or (usable_status(facts) is None and facts.status.status in (None, "idle"))
        if not silent or not self.pulse.seen:
            return FOREVER
        if facts.transcript is not None and not self._taken(facts):
            return FOREVER
        return self._rest.down_since(facts) + self.settle_ms
