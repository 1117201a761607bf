"""How many pages there may be, and how much each may send (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from switchboard.common.clock import Instant

MAX_PAGES = 64
"""Connected pages; beside them as many commands, which help (`url`, `down`) where pages are too many."""


def too_many(kind: str, connected: Iterable[str]) -> str | None:
    """Return why there is no room for one more of this kind among those connected; None: there is."""
    command = kind == "command"
    if sum((other == "command") is command for other in connected) < MAX_PAGES:
        return None
    return f"{MAX_PAGES} {'commands' if command else 'pages'} are connected; close one"


@dataclass(slots=True)
class Bucket:
    """An allowance that fills at `per_second` up to `burst`. It may be overdrawn once; then its user has to wait.

    Overdrawing instead of refusing: a large paste is one message, and it is the next one that waits.
    """

    per_second: float
    burst: float
    level: float
    at: Instant

    @classmethod
    def full(cls, per_second: float, burst: float, now: Instant) -> Bucket:
        """Return a bucket that nothing has been taken from."""
        return cls(per_second, burst, burst, now)

    def take(self, amount: float, now: Instant) -> int:
        """Take `amount`; return for how many milliseconds nothing more should be taken."""
        # A wall clock may go back; then nothing has been earned.
        earned = max(0, now - self.at) * self.per_second / 1000
        self.level = min(self.burst, self.level + earned) - amount
        self.at = now
        return 0 if self.level >= 0 else int(-self.level * 1000 / self.per_second) + 1
