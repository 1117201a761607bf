"""The deadline of a versioned action (pure): one absolute instant, from validation on.

It covers everything: the wait for the session's turn, for the page, the launch, the name, the terminal's input, the
delivery, a last turn and the proof of an end. No phase has a budget of its own, and nothing is begun at or after it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ActionDeadline:
    """`at`: a wall instant in milliseconds, so that it also passes while the machine sleeps, and fits a marker."""

    at: int

    @classmethod
    def of(cls, now: int, timeout_ms: int | None, default_ms: int) -> ActionDeadline:
        """The deadline of a request that was found valid at `now`; `default_ms` counts where it names no timeout."""
        return cls(now + (default_ms if timeout_ms is None else timeout_ms))

    def passed(self, now: int) -> bool:
        """Whether time is up: at the very instant it is."""
        return now >= self.at

    def left(self, now: int) -> int:
        """Milliseconds that are left, 0 once it has passed."""
        return max(0, self.at - now)

    def sooner(self, instant: int) -> int:
        """The end of a wait that would last until `instant` by itself."""
        return min(self.at, instant)
