"""A sandboxed session as versioned actions see it (driver): the status is the proven one, and each look proves it anew.

Nothing else will do for them: without a proof such a session has no status, whatever was known of it before, and no
fallback stands in for it. What can be lost without an event is looked at again every `SAMPLE_MS` while something waits.
"""

from __future__ import annotations

from dataclasses import replace

from switchboard.common.clock import Clock, Instant
from switchboard.common.facts import Facts
from switchboard.common.feed import Feed
from switchboard.triggers.lifecycle_port import Proof

SAMPLE_MS = 100
"""So often a wait makes sure that the proof still holds: the pace of the contract's samples."""

SEARCH_MS = 500
"""So often it looks for one where there is none, which takes a look at all processes."""


class ProvenFeed(Feed[Facts]):
    """The facts of a sandboxed session, over its own feed. `was_proven`: at some moment since this was made."""

    __slots__ = ("_base", "_proof", "was_proven")

    def __init__(self, base: Feed[Facts], proof: Proof) -> None:
        super().__init__(base.value)
        self._base = base
        self._proof = proof
        self.was_proven = False

    @property
    def value(self) -> Facts:
        """What is known at this moment: reading it looks."""
        self.unproven(thorough=False)
        facts = self._base.value
        return replace(facts, status=facts.proven)

    @property
    def writing(self) -> bool:
        """Whether the CLI's descriptor was half-written at the last look, and nothing else was wrong."""
        return self._proof.writing

    def unproven(self, *, thorough: bool = True) -> str | None:
        """Look now. Returns why nobody is proven to own the conversation, None when somebody is."""
        why = self._proof.look(thorough=thorough)
        self.was_proven = self.was_proven or why is None
        return why

    def proven_now(self) -> Facts:
        """What is known after a thorough look; without a status unless somebody is proven at this very moment."""
        proven = self.unproven() is None
        facts = self._base.value
        return replace(facts, status=facts.proven if proven else None)

    def publish(self, value: Facts) -> None:
        raise TypeError("it only shows what another feed has")

    def poke(self) -> None:
        self._base.poke()

    async def changed(self, seen: Facts, clock: Clock, until: Instant) -> None:
        now = self.value
        if now is seen or now == seen:
            pause = SEARCH_MS if now.status is None else SAMPLE_MS
            await self._base.changed(self._base.value, clock, min(until, clock.now() + pause))
