"""What versioned requests need of the host, as protocols.

Three things: the host's sessions, the page that shows them, and the signal that ends one. The host implements them over
its registry and its pages; tests implement them over terminals in memory.

Theory of operation. Every open, also of a session that is open already, is acknowledged by the page that holds the
renderer role: it has the session's row and terminal then, and has selected nothing. A start happens on the host's side
of that conversation, while the page's own opening is under way; `Spawn` tells the two moments of it that count. What
the page answers is no proof by itself: the answer is compared with the host's own session before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from switchboard.common.clock import Instant
from switchboard.delivery.lifecycle import Create, Guards, HostedTarget, PageRefused, Resume, Trouble
from switchboard.delivery.port import Terminals

__all__ = [
    "Create",
    "Guards",
    "HostedSessions",
    "HostedTarget",
    "Page",
    "PageRefused",
    "Resume",
    "Trouble",
]


class HostedSessions(Terminals, Protocol):
    """The host's sessions."""

    def find(self, session_id: str) -> HostedTarget | None:
        """As `Terminals.find`."""

    def holds(self, target: HostedTarget, key: str, generation: int) -> bool:
        """Whether that very object still stands under `key` with that generation, its process not reaped."""

    def remote(self, session_id: str) -> bool:
        """Whether another machine lists the session. Raises `StoreError` when that cannot be read."""

    def request_stop(self, target: HostedTarget) -> None:
        """Ask the session to end, as every Stop does. Returns at once; the exit shows in its facts (`present`).

        Raises `StopError` when it could not be asked.
        """


class Page(Protocol):
    """The page that holds the renderer role, and what is asked of it."""

    async def ready(self, deadline: Instant) -> None:
        """Return when a page is there, has drawn its list, and answers. Raises `PageRefused`.

        No page and none to be expected: `window not available`, at once. One that is not ready by the deadline:
        `renderer not ready`.
        """

    async def reattach(self, requested_id: str, target: HostedTarget, deadline: Instant) -> None:
        """Return when the page has the entry of an open session. Starts nothing. Raises `PageRefused`.

        When the session leaves its key meanwhile, or another one stands there: `session target changed`.
        """

    async def open(
        self,
        what: Resume | Create,
        guards: Guards,
        spawned: Callable[[HostedTarget], None],
        deadline: Instant,
    ) -> HostedTarget:
        """Have the page open a session, and return it once the page shows it and the host has it.

        `spawned` is called in the same step in which the process was started, before anything else happens: it may be
        followed by a `PageRefused` all the same. Raises `PageRefused`; before `spawned` was called nothing was started,
        except where it says `uncertain`. A cancelled call takes the permission back: nothing starts later.
        """
