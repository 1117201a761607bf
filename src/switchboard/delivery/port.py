"""The terminals that delivery writes to, as a protocol.

The host implements it over its sessions. A harness, a test or a benchmark can implement it over anything that takes
bytes: `switchboard.delivery.memory` is the smallest complete example.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from switchboard.common.facts import Facts, Typing
from switchboard.common.feed import Feed

Check = Callable[[Facts], str | None]
"""Evaluated immediately before a real write: None permits it, a text is the reason of the refusal."""


class WriteRefused(Exception):
    """A write was not made because its check, or the gate's own (target replaced, gone), said no.

    `reason` is the exact text for the result. Nothing of this write reached the terminal.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Line(Protocol):
    """Exclusive use of one terminal's input, from a delivery's first byte to its Enter.

    People's keystrokes that arrive after the first byte are held, and released in order when the line closes.
    """

    async def write(self, data: bytes, check: Check) -> None:
        """Write all of `data`, as one write where the terminal takes it.

        `check` sees the facts immediately before every real write, also before a tail that had to wait for room.
        Raises `WriteRefused` (with `partial` bytes possibly out only when the terminal had taken a part before the
        permission was lost), `OSError` when the terminal fails.
        """


class Target(Protocol):
    """One session's terminal, pinned when it was looked up: a replacement is another target."""

    @property
    def key(self) -> str:
        """The id the session has now (it changes when the CLI re-keys, e.g. on `/clear`)."""

    @property
    def cwd(self) -> str | None:
        """The directory the session was started in; None when unknown."""

    @property
    def typing(self) -> Typing:
        """How its CLI takes text."""

    @property
    def facts(self) -> Feed[Facts]:
        """What is known now; waits follow it."""

    def is_alive(self) -> bool:
        """Ask the system whether the process exists (one that may not be signalled counts as alive)."""

    def line(self) -> AbstractAsyncContextManager[Line]:
        """Take the terminal's input for one delivery; others wait their turn."""

    def transcript(self) -> AbstractContextManager[None]:
        """While entered, `facts.value.transcript` is kept up to date."""


class Terminals(Protocol):
    """Where sessions are looked up."""

    def find(self, session_id: str) -> Target | None:
        """The open session of that id, or of a session that had that id before; None when there is none."""

    def lock_key(self, session_id: str) -> str:
        """The key under which work for this session queues: old and new ids of one session give the same key."""

    def background_job(self, session_id: str) -> str | None:
        """The job id when a live background process, attached nowhere here, owns this session."""
