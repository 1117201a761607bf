"""How much a page may send (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.common.clock import Instant


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
