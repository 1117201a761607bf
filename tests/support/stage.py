"""A scripted session for conversations: when this is written, then, after so long, that happens.

    stage = Stage()
    stage.at(100, busy=False)                        # 100 ms after the start
    stage.when("\\r", after=40, status=busy)          # 40 ms after an Enter was written
    result = await stage.ask({"sessionId": "S", "command": "hello"})
    stage.finish()                                   # fails when a part of the script was not played

`status` values may be words: they are stamped with the time at which they are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from switchboard.common.facts import CliStatus, CompactBoundary, PromptEntry, TurnEvidence
from switchboard.common.settings import TriggerSettings
from switchboard.delivery.desk import Desk
from switchboard.delivery.memory import MemoryTerminal, MemoryTerminals
from switchboard.triggers.fifo import SessionFifo
from switchboard.triggers.legacy import LegacyAction
from switchboard.triggers.results import Result
from tests.support.fake_clock import FakeClock

SESSION = "11111111-2222-3333-4444-555555555555"


@dataclass
class _Cue:
    data: bytes
    nth: int
    after: int
    act: Callable[[], None]
    used: bool = False


class Stage:
    """One session `SESSION` in memory, a clock, and what was written to it."""

    def __init__(self, *, cwd: str | None = "/srv/project", **env: str) -> None:
        self.clock = FakeClock()
        self.start = self.clock.now()
        self.env: dict[str, str] = {"SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "50", **env}
        self.terminals = MemoryTerminals(self.clock)
        self.terminal: MemoryTerminal = self.terminals.add(SESSION, cwd=cwd, on_write=self._written)
        self.desk = Desk(self.clock, TriggerSettings(self.env))
        self.fifo = SessionFifo(self.terminals.lock_key)
        self.writes: list[tuple[int, bytes]] = []
        self.fail_on: dict[bytes, OSError] = {}
        self._cues: list[_Cue] = []
        self._pending: list[str] = []

    @property
    def typed(self) -> bytes:
        return b"".join(data for _, data in self.writes)

    @property
    def elapsed(self) -> int:
        return self.clock.now() - self.start

    def stamp(self, ms: int) -> int:
        """The instant `ms` after the start."""
        return self.start + ms

    def show(self, **facts: Any) -> None:
        """Publish facts now."""
        if isinstance(facts.get("status"), str):
            facts["status"] = CliStatus(facts["status"], self.clock.now())
        self.terminal.update(**facts)

    def at(self, ms: int, act: Callable[[], None] | None = None, **facts: Any) -> None:
        """Something happens `ms` after the start."""
        self._schedule(self.stamp(ms), act or (lambda: self.show(**facts)), f"at {ms}: {facts}")

    def when(
        self, data: str, *, nth: int = 1, after: int = 0, act: Callable[[], None] | None = None, **facts: Any
    ) -> None:
        """Something happens `after` ms after the n-th write of exactly this (0: within it)."""
        self._cues.append(_Cue(data.encode(), nth, after, act or (lambda: self.show(**facts))))

    async def ask(self, body: Any) -> Result:
        """Carry out one request to its end; the session id is filled in."""
        return await self.clock.run(self.carry_out(body))

    async def carry_out(self, body: Any) -> Result:
        action = LegacyAction({"sessionId": SESSION, **body}, self.terminals, self.fifo, self.desk)
        try:
            return await action.run()
        finally:
            action.release()

    def finish(self) -> None:
        """The whole script was played."""
        left = [f"when {cue.data!r} was written" for cue in self._cues if not cue.used] + self._pending
        assert not left, f"never happened: {left}"

    def _written(self, data: bytes) -> None:
        if data in self.fail_on:
            raise self.fail_on[data]
        self.writes.append((self.elapsed, data))
        nth = sum(written == data for _, written in self.writes)
        for cue in self._cues:
            if cue.data == data and cue.nth == nth:
                cue.used = True
                if cue.after:
                    self._schedule(self.clock.now() + cue.after, cue.act, f"{cue.after} ms after {data!r}")
                else:
                    cue.act()

    def _schedule(self, when: int, act: Callable[[], None], label: str) -> None:
        self._pending.append(label)

        def happen() -> None:
            self._pending.remove(label)
            act()

        self.clock.call_at(when, happen)


def transcript(
    *prompts: tuple[int, str],
    closed_at: int | None = None,
    modified_at: int = 0,
    boundaries: tuple[tuple[str, int, bool], ...] = (),
) -> TurnEvidence:
    """Evidence as a reader would give it."""
    return TurnEvidence(
        closed=closed_at is not None,
        closed_at=closed_at,
        last_entry_at=None,
        modified_at=modified_at,
        prompts=tuple(PromptEntry(at, text) for at, text in prompts),
        boundaries=tuple(CompactBoundary(uuid, at, manual) for uuid, at, manual in boundaries),
    )
