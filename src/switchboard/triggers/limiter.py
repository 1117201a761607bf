"""How often triggers may start new sessions (pure): a bucket of three tokens that refills one in 20 s.

A token is reserved in one step, after a request was found valid and before the page is asked, and given back only when
it is certain that nothing was spawned for it. There is no queue: without a token the request is refused at once. The
bucket belongs to one watcher and starts full; it bounds how fast sessions are made, not how many there are.

The level is kept in milliseconds of refill, so that it is exact. Time that goes backwards (a corrected clock) refills
nothing and takes nothing away.
"""

from __future__ import annotations

CAPACITY = 3
REFILL_MS = 20_000
"""Fixed by the contract, as is the capacity: no setting."""


class Limiter:
    """The bucket. `now` is a wall instant in milliseconds."""

    def __init__(self, now: int) -> None:
        self._level = CAPACITY * REFILL_MS
        self._as_of = now

    def reserve(self, now: int) -> Reservation | None:
        """Take a token; None when there is no whole one."""
        self._refill(now)
        if self._level < REFILL_MS:
            return None
        self._level -= REFILL_MS
        return Reservation(self)

    def give_back(self, now: int) -> None:
        """Put a token back (a `Reservation` does this, at most once); the bucket never holds more than it can."""
        self._refill(now)
        self._level = min(CAPACITY * REFILL_MS, self._level + REFILL_MS)

    def _refill(self, now: int) -> None:
        self._level = min(CAPACITY * REFILL_MS, self._level + max(0, now - self._as_of))
        self._as_of = now


class Reservation:
    """A token that was taken. It is spent for good once a spawn may have happened."""

    __slots__ = ("_limiter",)

    def __init__(self, limiter: Limiter) -> None:
        self._limiter: Limiter | None = limiter

    def spend(self) -> None:
        """A spawn has happened, or may have: the token does not come back."""
        self._limiter = None

    def refund(self, now: int) -> bool:
        """Certainly nothing was spawned: give the token back. Returns False when it is spent or given back already."""
        limiter, self._limiter = self._limiter, None
        if limiter is None:
            return False
        limiter.give_back(now)
        return True
