"""Starting a session with the settings that are saved for its project, and writing the start down (driver)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from switchboard.clis.git_folders import in_git_repository
from switchboard.clis.launch_options import NO_OPTIONS, LaunchOptions, launch_options
from switchboard.clis.launch_settings import InvalidSetting
from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import PROFILES, CliProfile, UnsupportedStart
from switchboard.clis.project_snapshot import MarksUnavailable
from switchboard.clis.projects import project_of
from switchboard.common.clock import FOREVER, Instant
from switchboard.common.paths import normalise_directory
from switchboard.sessions.launch import FRESH_MODES, LaunchRequest, Mode, plan_launch
from switchboard.sessions.registry import OpenError, Registry
from switchboard.sessions.saved import launch_record, project_marks, saved_launch_defaults
from switchboard.sessions.session import Session
from switchboard.store.sqlite import Store, StoreError


class StartFailed(Exception):
    """The session could not be started. The text says why and what to do. `uncertain`: it may have been, unseen."""

    def __init__(self, text: str, *, uncertain: bool = False) -> None:
        super().__init__(text)
        self.uncertain = uncertain


@dataclass(frozen=True, slots=True)
class Start:
    """One start. `key`: the session's id here; `argument`: the id that the CLI is given. `cwd` must be a directory.

    `project`: whose settings count; None: those of the project that the directory belongs to. `opened_by`: "trigger",
    or None for a person. `deadline`: at it or later nothing is started.
    """

    mode: Mode
    profile: CliProfile
    key: str
    argument: str
    cwd: str
    name: str | None
    columns: int
    rows: int
    project: str | None = None
    opened_by: str | None = None
    deadline: Instant = FOREVER


@dataclass(frozen=True, slots=True)
class Started:
    """A session that was just started. `warnings`: what was left out, in sentences for people."""

    session: Session
    warnings: tuple[str, ...]


class Launcher:
    """Starts sessions. `environment` is the host's own, read at each start."""

    def __init__(self, registry: Registry, store: Store, processes: ProcFs, environment: Mapping[str, str]) -> None:
        self._registry = registry
        self._store = store
        self._processes = processes
        self._environment = environment

    async def start(self, wanted: Start, last_look: Callable[[], None] = lambda: None) -> Started:
        """Start it. `last_look` is called right before the process is made; what it raises ends the attempt.

        Raises `StartFailed`.
        """
        profile = wanted.profile
        try:
            project = wanted.project or self.projects_of()(wanted.cwd)
            options = self._options(wanted, project)
            request = LaunchRequest(
                wanted.mode,
                profile,
                wanted.argument,
                wanted.cwd,
                self._environment,
                sys.executable,
                wanted.columns,
                wanted.rows,
                options=options,
            )
            plan = plan_launch(request)
        except (UnsupportedStart, InvalidSetting, StoreError, MarksUnavailable) as error:
            raise StartFailed(str(error)) from error
        program = shutil.which(plan.argv[0], path=plan.environment.get("PATH"))
        if program is None:
            hint = f", or set {profile.program_variable}" if profile.program_variable else ""
            raise StartFailed(
                f"{plan.argv[0]} was not found; install {profile.title}{hint}, or choose another CLI "
                "(`switchboard config set cli agent`), and try again"
            )
        plan = replace(plan, argv=(os.path.abspath(program), *plan.argv[1:]))
        try:
            names = (wanted.key, wanted.mode, wanted.name, project)
            session = await self._registry.open(profile, plan, *names, last_look, wanted.opened_by, wanted.deadline)
        except OpenError as error:
            raise StartFailed(str(error), uncertain=error.uncertain) from error
        return Started(session, options.warnings)

    def cli_of(self, project: str) -> CliProfile:
        """Return the CLI that a new session of the project runs. Raises `StartFailed`."""
        try:
            return PROFILES[saved_launch_defaults(self._store, project).cli]
        except (InvalidSetting, StoreError) as error:
            raise StartFailed(str(error)) from error

    def record(self, session: Session) -> None:
        """Write a start down, for what a later host has to know of its process. Raises `StoreError`."""
        label = session.label
        process = (session.pid, session.holding.start)
        self._store.record_launch(
            launch_record(
                session.key,
                session.generation,
                session.profile.name,
                label.cwd,
                label.launched_at,
                process,
                self._processes.vantage(),
            )
        )

    def projects_of(self) -> Callable[[str], str]:
        """Return what tells the project of a directory, as people have marked them now. Raises `MarksUnavailable`."""
        marks = {normalise_directory(mark.path): mark for mark in project_marks(self._store)()}
        return lambda directory: project_of(directory, marks, os.path.isdir)

    def _options(self, wanted: Start, project: str) -> LaunchOptions:
        if wanted.profile.kind != "agent":
            return NO_OPTIONS  # a person's own shell, and a look at a job that runs already
        return launch_options(
            saved_launch_defaults(self._store, project),
            wanted.profile,
            fresh=wanted.mode in FRESH_MODES,
            in_git=in_git_repository(wanted.cwd),
            login_shell=self._environment.get("SHELL") or "/bin/sh",
        )
