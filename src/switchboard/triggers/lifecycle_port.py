"""What versioned requests need of the host, as protocols.

Three things: the host's sessions, the page that shows them, and the signal that ends one. The host implements them over
its registry and its pages; tests implement them over terminals in memory.

Theory of operation. Every open, also of a session that is open already, is acknowledged by the page that holds the
renderer role: it has the session's row and terminal then, and has selected nothing. A start happens on the host's side
of that conversation, while the page's own opening is under way; `Guards` are asked then, and `spawned` is told. What
the page answers is no proof by itself: the answer is compared with the host's own session before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from switchboard.clis.closed_sessions import ClosedOutcome, ClosedSession
from switchboard.clis.liveness import Liveness
from switchboard.clis.projects import Admission
from switchboard.common.clock import Instant
from switchboard.delivery.lifecycle import Create, Guards, HostedTarget, PageRefused, Resume, Trouble
from switchboard.delivery.port import Terminals

__all__ = [
    "ClosedSessions",
    "Create",
    "Guards",
    "HostedSessions",
    "HostedTarget",
    "Lifecycle",
    "LivenessQuestion",
    "Page",
    "PageRefused",
    "Projects",
    "Proof",
    "Resume",
    "Stopping",
    "Trouble",
]


class HostedSessions(Terminals, Protocol):
    """The host's sessions."""

    def find(self, session_id: str) -> HostedTarget | None:
        """As `Terminals.find`."""

    def holds(self, target: HostedTarget, key: str, generation: int) -> bool:
        """Whether that very object still stands under `key` with that generation, its owner alive."""

    def proof(self, target: HostedTarget) -> Proof | None:
        """What proves who owns the conversation of a sandboxed session; None where that needs no proof."""

    def remote(self, session_id: str) -> bool:
        """Whether another machine lists the session. Raises `StoreError` when that cannot be read."""

    def request_stop(self, target: HostedTarget, deadline: Instant) -> Stopping:
        """Ask the session to end, as every Stop does: the request is sent when this returns.

        Raises `StopError` when it could not be asked.
        """


class Proof(Protocol):
    """Whether it is proven which process inside a sandbox owns a session's conversation, at the moment of asking."""

    def look(self, *, thorough: bool = False) -> str | None:
        """Look now; return None when it is proven, else why not. The session's `Facts.proven` follows.

        `thorough`: look for others as well, instead of only whether everything is as it was.
        """

    @property
    def writing(self) -> bool:
        """Whether the last look found all as it was, except that what the CLI publishes was half-written."""


class Stopping(Protocol):
    """A session that was asked to end."""

    async def finished(self) -> bool:
        """Return whether its process was reaped by the deadline; nothing is sent to it after that."""


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


class LivenessQuestion(Protocol):
    """Whether a session is live elsewhere: `sessions.liveness_check.LivenessCheck`."""

    async def check(self, session_id: str, deadline: Instant, exclude: Collection[tuple[int, str]] = ()) -> Liveness:
        """Return the answer; unknown when it is not certain by `deadline`."""

    def check_now(self, session_id: str, exclude: Collection[tuple[int, str]] = ()) -> Liveness:
        """Return the same without any wait, for the moment before a start."""


class ClosedSessions(Protocol):
    """What sessions that are not open turn out to be: `clis.session_lookup.SessionLookup`."""

    async def resolve(self, session_id: str, deadline: Instant) -> ClosedOutcome:
        """Return what a session that is not open is."""

    def recheck(self, session: ClosedSession) -> ClosedOutcome:
        """Return the session when nothing has changed about it, else what it is now. Waits for nothing."""


class Projects(Protocol):
    """Where sessions may be opened: `clis.project_snapshot.ProjectSnapshots`."""

    async def admit(self, project: str, directory: str, deadline: Instant) -> Admission:
        """Return whether a session may be opened in a project; `directory`: where it is to run."""

    async def admit_resume(self, cwd: str, deadline: Instant) -> Admission:
        """Return whether a session may be resumed in its recorded directory."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """All that versioned requests need. `sessions` are the very terminals that the watcher delivers to.

    `new_id` makes an id that no session has, a lower-case UUID. `is_directory`: whether one is there now.
    """

    sessions: HostedSessions
    page: Page
    liveness: LivenessQuestion
    closed: ClosedSessions
    projects: Projects
    new_id: Callable[[], str]
    is_directory: Callable[[str], bool]
