"""The permission for one page to have, or to open, one session (pure).

Theory of operation. The host issues a permit with its `session_action`, to one page (its epoch) and for one session. A
start is asked for with it once (`OPENING`). While the host prepares the start the permit can still be taken back; the
last look at it, right before the process is made, ends that (`STARTING`). Once the session is there (`OPENED`), its
generation belongs to what the page's answer must name. The answer counts when all of it is right: permit, page, mode,
both ids and generation. Whatever is not right, comes a second time, or comes at the deadline or later, is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from switchboard.common.clock import Instant
from switchboard.page.action_messages import ActionMode, SessionActionResult


class Phase(Enum):
    """How far an action has come. `REVOKED`: it was given up; nothing may start any more."""

    ISSUED = auto()
    OPENING = auto()
    STARTING = auto()
    OPENED = auto()
    SETTLED = auto()
    REVOKED = auto()


_MOVES: Mapping[Phase, frozenset[Phase]] = {
    Phase.ISSUED: frozenset({Phase.OPENING, Phase.SETTLED, Phase.REVOKED}),
    # From OPENING to OPENED: somebody else has opened it meanwhile.
    Phase.OPENING: frozenset({Phase.STARTING, Phase.OPENED, Phase.REVOKED}),
    Phase.STARTING: frozenset({Phase.OPENED, Phase.REVOKED}),
    Phase.OPENED: frozenset({Phase.SETTLED, Phase.REVOKED}),
    Phase.SETTLED: frozenset(),
    Phase.REVOKED: frozenset(),
}


class IllegalMove(Exception):
    """The permit is not in a state in which this can happen. Nothing has changed."""


class Judgment(Enum):
    """What a page's answer is worth."""

    IGNORED = auto()
    FAILED = auto()
    CONFIRMED = auto()


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked of which page. `generation`: of the session to reattach, None where one is to be opened."""

    permit: str
    epoch: str
    mode: ActionMode
    requested_id: str | None
    tab_key: str
    generation: int | None
    deadline: Instant


class Permit:
    """One permit, from its issue to its end."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.phase = Phase.ISSUED
        self.generation = order.generation
        """What the page's answer must name; None while there is no session yet."""

    @property
    def live(self) -> bool:
        """Whether it is not settled or revoked."""
        return self.phase not in (Phase.SETTLED, Phase.REVOKED)

    def redeem(self, epoch: str, mode: str, session_id: str | None, now: Instant) -> bool:
        """A page asks for the start. False: not it, not this, not any more; then nothing has changed."""
        order = self.order
        fits = (epoch, mode, session_id) == (order.epoch, order.mode, order.tab_key)
        if self.phase is not Phase.ISSUED or order.mode == "reattach" or not fits or now >= order.deadline:
            return False
        self._move(Phase.OPENING)
        return True

    def start(self, now: Instant) -> bool:
        """The process is about to be made. False: it must not be."""
        if self.phase is not Phase.OPENING or now >= self.order.deadline:
            return False
        self._move(Phase.STARTING)
        return True

    def opened(self, generation: int) -> None:
        """The session is there."""
        self._move(Phase.OPENED)
        self.generation = generation

    def settle(self) -> None:
        """The page has the session."""
        self._move(Phase.SETTLED)

    def revoke(self) -> None:
        """Given up. Harmless when it has ended already."""
        if self.live:
            self._move(Phase.REVOKED)

    def judge(self, answer: SessionActionResult, epoch: str, now: Instant) -> Judgment:
        """Return what an answer from the page of that epoch is worth; changes nothing."""
        order = self.order
        asked = (order.permit, order.epoch, order.mode, order.requested_id, order.tab_key)
        named = (answer.permit, answer.epoch, answer.mode, answer.requested_id, answer.tab_key)
        if named != asked or epoch != order.epoch or not self.live or now >= order.deadline:
            return Judgment.IGNORED
        if not answer.ok:
            return Judgment.FAILED if answer.generation in (None, self.generation) else Judgment.IGNORED
        done = Phase.ISSUED if order.mode == "reattach" else Phase.OPENED
        right = self.phase is done and answer.generation is not None and answer.generation == self.generation
        return Judgment.CONFIRMED if right else Judgment.IGNORED

    def _move(self, phase: Phase) -> None:
        if phase not in _MOVES[self.phase]:
            raise IllegalMove(f"a permit that is {self.phase.name} cannot become {phase.name}")
        self.phase = phase
