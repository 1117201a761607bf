"""What a submission proves (the legacy trigger contract's ladder), as pure rules.

Theory of operation. A text and its Enter are written; then the session either shows that it took them or not. What
counts as showing depends on what the CLI publishes, which is decided once, before the text is written:

- `EDGE`: a status stamped at or after the Enter proves it. No stamp, no proof.
- `LEVEL`: the busy flag rising in the first window proves it only if it was down before the text, stayed down until
  the Enter, and the composer was seen empty right after it. Otherwise it is mere activity.
- `COMPACT`: only the compaction itself proves it. A turn that runs is activity.

Nothing here ever raises what was seen to more than it shows: an empty composer is no proof, silence is `assumed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from switchboard.clis.transcripts import is_compact_command
from switchboard.common.facts import ComposerView, Facts
from switchboard.delivery.evidence import usable_status
from switchboard.delivery.reactions import Mode


class Submitted(IntEnum):
    """How sure it is that a prompt was submitted; a chain is as sure as its weakest step."""

    NO = 0
    ASSUMED = 1
    ACTIVITY = 2
    CONFIRMED = 3

    @property
    def wire(self) -> str:
        """The word in results."""
        return self.name.lower()


def weakest(steps: list[Submitted]) -> Submitted:
    """The chain's own rank; `NO` when there is no step."""
    return min(steps, default=Submitted.NO)


def choose_mode(command: str, facts: Facts) -> Mode:
    """Decide, before the text is written, by what the submission will be judged."""
    if is_compact_command(command):
        return Mode.COMPACT
    return Mode.LEVEL if usable_status(facts) is None else Mode.EDGE


def classify(*, confirmed: bool, activity: bool) -> Submitted:
    """Rank a text whose Enter was written."""
    if confirmed:
        return Submitted.CONFIRMED
    return Submitted.ACTIVITY if activity else Submitted.ASSUMED


@dataclass(frozen=True, slots=True)
class LevelGate:
    """What must hold for the busy flag to prove anything.

    `busy_before`: the flag was up before the text. `busy_between`: at some moment between text and Enter.
    `composer`: as seen once, right after the Enter.
    """

    busy_before: bool
    busy_between: bool
    composer: ComposerView | None

    def open(self) -> bool:
        return (
            not self.busy_before and not self.busy_between and self.composer is not None and self.composer.pending == 0
        )


def level_confirms(gate: LevelGate, *, attempt: int, seen: bool) -> bool:
    """Whether the busy flag seen in the window of that attempt (0: before any recovery Enter) is proof."""
    return seen and attempt == 0 and gate.open()
