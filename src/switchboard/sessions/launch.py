"""One launch plan for every kind of start (pure).

A start differs from another only in the values of its request; nothing else in the house builds an argument list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from switchboard.clis.profiles import CliProfile
from switchboard.sessions.environment import child_environment

Mode = Literal["new", "resume", "fork", "restore", "schedule", "shell"]


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """What somebody wants started.

    `session_id`: the id of the new session, or the one to resume or fork. `cwd`: absolute directory to start in. For a
    resume it is the directory that the transcript records. `environment`: the host's own. `python`: the interpreter of
    this installation. `arguments`: further CLI flags from saved settings.
    """

    mode: Mode
    profile: CliProfile
    session_id: str
    cwd: str
    environment: Mapping[str, str]
    python: str
    columns: int = 120
    rows: int = 40
    arguments: Sequence[str] = ()
    extra_environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What the keeper is told: program and arguments, directory, whole environment, size."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    columns: int
    rows: int


def plan_launch(request: LaunchRequest) -> LaunchPlan:
    """Return the plan for a request. Raises `UnsupportedStart` when the CLI cannot be started in that way."""
    profile = request.profile
    command = profile.command(request.environment, request.python)
    if request.mode in ("resume", "restore"):
        argv = profile.resume(command, request.session_id, request.arguments)
    elif request.mode == "fork":
        argv = profile.fork(command, request.session_id, request.arguments)
    else:
        argv = profile.new(command, request.session_id, request.arguments)
    extra = dict(profile.environment) | dict(request.extra_environment)
    return LaunchPlan(
        tuple(argv),
        request.cwd,
        child_environment(request.environment, extra),
        request.columns,
        request.rows,
    )
