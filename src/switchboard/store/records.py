"""Rows of the database as values (pure). Times in wall milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HiddenKind = Literal["archive", "delete"]

HIDDEN_KINDS: tuple[HiddenKind, ...] = ("archive", "delete")
"""Why a person hid a project. Older entries have no kind; all of them hide."""


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One start of a session, as later proof of what became of its process.

    `pid` and `start` name the process that the keeper started, in the PID namespace `pid_namespace` of the boot
    `boot_id`; `init_start` is the start of that namespace's first process, because the kernel gives the names of
    namespaces out again. `ended_at`: when the process was seen to have ended.
    """

    session_id: str
    generation: int
    profile: str
    cwd: str
    launched_at: int
    pid: int | None = None
    start: str | None = None
    boot_id: str | None = None
    pid_namespace: str | None = None
    init_start: str | None = None
    ended_at: int | None = None


@dataclass(frozen=True, slots=True)
class ProjectRecord:
    """What people have said about one project of this machine. None: nothing.

    Archiving a project sorts its sessions away; hiding takes the project itself off every list.
    """

    path: str
    added_at: int | None = None
    hidden_at: int | None = None
    hidden_kind: HiddenKind | None = None
    archived_at: int | None = None


@dataclass(frozen=True, slots=True)
class WorkingSetEntry:
    """A session that was open, for the next start. At most one is `active`."""

    session_id: str
    profile: str
    project: str
    active: bool = False
