"""One row of the session list, as it stands on the wire (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec


class ExitStatus(msgspec.Struct, frozen=True):
    """How a process ended: an exit code, or the number of the signal; both null when nobody could see it."""

    code: int | None = None
    signal: int | None = None


class SessionInfo(msgspec.Struct, frozen=True):
    """One session as pages and `switchboard ls` show it.

    `handle` is the session's number in this data directory (null for a closed one); `id` is the CLI's session id and
    may change (`/clear`); `generation` tells two terminals that had the same id apart. `status` is one of starting,
    idle, busy, waiting, shell, running (a CLI that publishes nothing), exited, failed, unknown. Times are wall
    milliseconds. `draft`: a person's unsubmitted input is in the composer. `opened_by`: null when a person opened it.
    `sandbox`: it was started in a sandbox; false for a closed one, whose next start goes by the settings.
    `cli_version`: of the program that runs, as it says itself; null when it does not.
    """

    id: str
    state: Literal["open", "exited", "closed"]
    cli: str
    status: str
    handle: int | None = None
    generation: int = 0
    kind: Literal["agent", "shell", "attach"] = "agent"
    name: str | None = None
    title: str | None = None
    project: str | None = None
    cwd: str | None = None
    pid: int | None = None
    waiting_for: str | None = None
    status_since: int | None = None
    opened_at: int | None = None
    modified_at: int | None = None
    columns: int = 120
    rows: int = 40
    draft: bool = False
    attention: bool = False
    exit: ExitStatus | None = None
    opened_by: Literal["trigger"] | None = None
    sandbox: bool = False
    cli_version: str | None = None


def each_once(sessions: Iterable[SessionInfo]) -> list[SessionInfo]:
    """Leave out the ended terminal of a conversation that is open again: it is no session of its own."""
    listed = list(sessions)
    running = {session.id.lower() for session in listed if session.state == "open"}
    return [session for session in listed if session.state != "exited" or session.id.lower() not in running]
