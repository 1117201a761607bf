"""What versioned actions and the page say to each other: small values that both know.

The actions hand a `Resume` or a `Create` to the page with the guards of the start; the page hands an open session back,
or raises `PageRefused`. The protocols stand in the actions' own room.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from switchboard.clis.closed_sessions import ClosedSession
from switchboard.delivery.port import Target


class HostedTarget(Target, Protocol):
    """An open session with the identities that a lifecycle action needs. The object itself is the pin."""

    @property
    def kind(self) -> Literal["agent", "shell", "attach"]:
        """Agent CLI, plain terminal, or a terminal that is attached to a background job."""

    @property
    def publishes(self) -> bool:
        """Whether its CLI publishes its state. Of one that does not, nobody can tell that no dialog is open."""

    @property
    def generation(self) -> int:
        """Tells two terminals apart that had the same id."""

    @property
    def launched_at(self) -> int:
        """Wall milliseconds immediately before its process was started."""

    @property
    def writer(self) -> tuple[int, str] | None:
        """(number, start) of the process that owns the conversation, once its descriptor has shown it."""

    @property
    def processes(self) -> Collection[tuple[int, str]]:
        """(number, start) of its own processes that a liveness check leaves out: the writer, and what was started."""


NO_WINDOW = "window not available"
NOT_READY = "renderer not ready"
PAGE_GONE = "renderer unavailable"
PAGE_TIMED_OUT = "renderer action timed out"
ACTION_TIMED_OUT = "session action timed out"
OPEN_FAILED = "session open failed"
NAME_NOT_SAVED = "session name could not be saved"
# The reasons of the contract that come from the page's side; `TARGET_CHANGED` and `CLOSING` are delivery's own, too.


class PageRefused(Exception):
    """The page could not be had, or did not do what it was asked for.

    `reason`: one of the contract's texts (`v1_reasons`). `detail`: for a person. `uncertain`: a start may have happened
    that was not seen.
    """

    def __init__(self, reason: str, detail: str | None = None, *, uncertain: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.uncertain = uncertain


Trouble: TypeAlias = tuple[str, str | None]
"""A reason of the contract, and a detail for a person."""


@dataclass(frozen=True, slots=True)
class Guards:
    """What must still hold while a start is prepared. Each returns None, or (reason, detail) and then nothing starts.

    `prepare` is awaited after the page has asked for the start; `final` is asked without any wait, immediately before
    the process is made (deadline, closing, liveness, transcript, project).
    """

    prepare: Callable[[], Awaitable[Trouble | None]]
    final: Callable[[], Trouble | None]


@dataclass(frozen=True, slots=True)
class Resume:
    """Resume exactly this closed session, in the directory that its transcript records. `project`: whose defaults."""

    session: ClosedSession
    project: str


@dataclass(frozen=True, slots=True)
class Create:
    """Start a session under an id that the host has reserved, as the project's saved settings say, under a name."""

    session_id: str
    project: str
    name: str
