"""Whether a page is there, or to be expected (pure).

Theory of operation. A page loads from its `hello` to its `ready`, and of the ready ones one holds the renderer role.
One that went without saying so (a reload, a lost connection, a frozen tab) is expected back for a while; the next page
that connects is taken for it. So is the page of a host that was told to open one. Who left on purpose is not expected,
and what comes by itself nobody waits for: then there is no page, and whoever wants one is told so at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from switchboard.common.clock import FOREVER, Instant

RETURN_MS = 10_000
"""So long a page that ended uncleanly is expected back."""

START_MS = 30_000
"""So long the page is expected that a host was told to open when it started."""


@dataclass(frozen=True, slots=True)
class Ready:
    """This page holds the renderer role."""

    epoch: str


@dataclass(frozen=True, slots=True)
class Expected:
    """A page is loading (`until` is FOREVER), or expected until then."""

    until: Instant


Outlook: TypeAlias = Ready | Expected | Literal["absent"]


@dataclass(frozen=True, slots=True)
class Presence:
    """What is known of pages. `expected`: for each page that should come, until when; the longest awaited first."""

    loading: frozenset[str] = frozenset()
    renderer: str | None = None
    expected: tuple[Instant, ...] = ()

    def told_to_open(self, now: Instant) -> Presence:
        """The host has started, and a page is being opened for it."""
        return replace(self, expected=(*self._awaited(now), now + START_MS))

    def connected(self, epoch: str, now: Instant) -> Presence:
        """A page has introduced itself; if one was expected, this is it."""
        return replace(self, loading=self.loading | {epoch}, expected=self._awaited(now)[1:])

    def ready(self, epoch: str) -> Presence:
        """A page has drawn its list."""
        return replace(self, loading=self.loading - {epoch})

    def role(self, renderer: str | None) -> Presence:
        """The renderer role is with this page now; None: with none."""
        return replace(self, renderer=renderer)

    def ended(self, epoch: str, *, on_purpose: bool, now: Instant) -> Presence:
        """A page's connection has ended."""
        back = () if on_purpose else (now + RETURN_MS,)
        return replace(self, loading=self.loading - {epoch}, expected=(*self._awaited(now), *back))

    def outlook(self, now: Instant) -> Outlook:
        """Return what there is to wait for."""
        if self.renderer is not None:
            return Ready(self.renderer)
        if self.loading:
            return Expected(FOREVER)
        awaited = self._awaited(now)
        return Expected(max(awaited)) if awaited else "absent"

    def _awaited(self, now: Instant) -> tuple[Instant, ...]:
        return tuple(until for until in self.expected if now < until)
