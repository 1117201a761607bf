"""One launch plan for every kind of start (pure).

A start differs from another only in the values of its request; nothing else in the house builds an argument list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from switchboard.clis.launch_options import NO_OPTIONS, LaunchOptions
from switchboard.clis.profiles import CliProfile, through_login_shell
from switchboard.sessions.environment import child_environment
from switchboard.sessions.sandbox_start import SandboxPlace, check_sandbox, sandbox_command

Mode = Literal["new", "resume", "fork", "restore", "schedule", "shell"]

FRESH_MODES: frozenset[Mode] = frozenset({"new", "schedule"})
"""They begin a conversation; the others go on with one, or have none."""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """What somebody wants started.

    `session_id`: the id of the new session, or the one to resume or fork. `cwd`: absolute directory to start in. For a
    resume it is the directory that the transcript records. `environment`: the host's own. `python`: the interpreter of
    this installation. `arguments`: further CLI flags. `options`: what saved settings add (see `launch_options`).
    `sandbox`: what a sandbox is made with, for options that ask for one.
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
    options: LaunchOptions = NO_OPTIONS
    sandbox: SandboxPlace | None = None


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What the keeper is told: program and arguments, directory, whole environment, size."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    columns: int
    rows: int


def plan_launch(request: LaunchRequest) -> LaunchPlan:
    """Return the plan for a request. Raises `UnsupportedStart` when the CLI cannot be started in that way.

    A sandbox is asked for or not; there is no way from here to a start without one that was asked for.
    """
    profile = request.profile
    options = request.options
    extra = dict(profile.environment) | dict(request.extra_environment)
    command = profile.command(request.environment, request.python)
    if options.sandbox:
        assert request.sandbox is not None, "a sandbox is made with something"
        check_sandbox(profile, request.sandbox.platform)
        command = sandbox_command(profile, request.python)
        extra |= request.sandbox.environment
    arguments = [*options.arguments, *request.arguments]
    if request.mode in ("resume", "restore"):
        argv = profile.resume(command, request.session_id, arguments)
    elif request.mode == "fork":
        argv = profile.fork(command, request.session_id, arguments)
    else:
        argv = profile.new(command, request.session_id, arguments)
    if options.shell is not None and profile.kind != "shell":
        argv = through_login_shell(options.shell, request.cwd, argv, options.prefix)
    return LaunchPlan(
        tuple(argv),
        request.cwd,
        child_environment(request.environment, extra),
        request.columns,
        request.rows,
    )
