"""Starting a session with the settings that are saved for its project, and writing the start down (driver)."""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from switchboard.clis.git_folders import in_git_repository
from switchboard.clis.launch_options import NO_OPTIONS, LaunchOptions, launch_options
from switchboard.clis.launch_settings import InvalidSetting
from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import PROFILES, CliProfile, UnsupportedStart
from switchboard.clis.project_folders import worktree_root
from switchboard.clis.project_snapshot import MarksUnavailable
from switchboard.clis.projects import project_of
from switchboard.clis.transcript_files import folder_of
from switchboard.common.clock import FOREVER, Instant
from switchboard.common.paths import normalise_directory
from switchboard.host.sandboxes import Sandboxes
from switchboard.sandbox.policy import CLIS
from switchboard.sessions.launch import FRESH_MODES, LaunchPlan, LaunchRequest, Mode, plan_launch
from switchboard.sessions.registry import OpenError, Registry
from switchboard.sessions.sandbox_start import SandboxPlace, binds
from switchboard.sessions.saved import launch_record, project_marks, saved_launch_defaults
from switchboard.sessions.session import Session
from switchboard.store.sqlite import Store, StoreError

NO_BWRAP = (
    "bwrap was not found; install bubblewrap, or take the sandbox back (`switchboard config set sandbox false`); "
    "nothing was started without it"
)


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

    def __init__(
        self,
        registry: Registry,
        store: Store,
        processes: ProcFs,
        environment: Mapping[str, str],
        sandboxes: Sandboxes,
    ) -> None:
        self._registry = registry
        self._store = store
        self._processes = processes
        self._environment = environment
        self._sandboxes = sandboxes

    async def start(self, wanted: Start, last_look: Callable[[], None] = lambda: None) -> Started:
        """Start it. `last_look` is called right before the process is made; what it raises ends the attempt.

        Raises `StartFailed`.
        """
        try:
            project = wanted.project or self.projects_of()(wanted.cwd)
            options = self._options(wanted, project)
            place, left_out = self._sandbox(wanted, options)
            plan = self._planned(wanted, options, place)
            if place is not None:
                if options.worktree:
                    _make_room(wanted.cwd)
                self._sandboxes.prepare(place, self._home(wanted.profile))
        except (UnsupportedStart, InvalidSetting, StoreError, MarksUnavailable, OSError) as error:
            raise StartFailed(str(error)) from error
        names = (wanted.key, wanted.mode, wanted.name, project)
        folder = None if place is None else place.sessions_dir
        try:
            session = await self._registry.open(
                wanted.profile, plan, *names, last_look, wanted.opened_by, wanted.deadline, sandbox=folder
            )
        except Exception as error:
            uncertain = isinstance(error, OpenError) and error.uncertain
            # What may have been started after all needs its folder; then the next host looks.
            if place is not None and not uncertain:
                self._sandboxes.withdraw(place)
            if isinstance(error, OpenError):
                raise StartFailed(str(error), uncertain=uncertain) from error
            raise
        return Started(session, (*options.warnings, *left_out))

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
            spare_name=f"sandbox-{uuid.uuid4().hex[:8]}",
        )

    def _planned(self, wanted: Start, options: LaunchOptions, place: SandboxPlace | None) -> LaunchPlan:
        """Return the plan, with the program by its absolute path. Raises `UnsupportedStart` or `StartFailed`."""
        profile = wanted.profile
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
            sandbox=place,
        )
        plan = plan_launch(request)
        environment = dict(plan.environment)
        if place is not None and options.shell is None:
            # Inside it is looked for once more, from the session's directory; a shell may have another PATH by then.
            cli = self._found(profile.command(self._environment, sys.executable)[0], profile, environment)
            if profile.program_variable and self._environment.get(profile.program_variable):
                environment[profile.program_variable] = cli
            if shutil.which("bwrap", path=environment.get("PATH")) is None:
                raise StartFailed(NO_BWRAP)
        program = self._found(plan.argv[0], profile, environment)
        return replace(plan, argv=(program, *plan.argv[1:]), environment=environment)

    @staticmethod
    def _found(command: str, profile: CliProfile, environment: Mapping[str, str]) -> str:
        """Return a program's absolute path. Raises `StartFailed` when there is none."""
        program = shutil.which(command, path=environment.get("PATH"))
        if program is None:
            hint = f", or set {profile.program_variable}" if profile.program_variable else ""
            raise StartFailed(
                f"{command} was not found; install {profile.title}{hint}, or choose another CLI "
                "(`switchboard config set cli agent`), and try again"
            )
        return os.path.abspath(program)

    def _home(self, profile: CliProfile) -> str | None:
        """Return the CLI's own folder; None when it has none yet and has to make it by itself, outside a sandbox."""
        home = profile.config_folder(self._environment)
        first_run = profile.starts.sandbox is not None and CLIS[profile.starts.sandbox].first_run
        return None if home is None or (first_run and not os.path.isdir(home)) else os.path.abspath(home)

    def _sandbox(self, wanted: Start, options: LaunchOptions) -> tuple[SandboxPlace | None, tuple[str, ...]]:
        """Return what the sandbox is made with, if there is to be one, and what it goes without, in sentences."""
        if not options.sandbox:
            return None, ()
        root = worktree_root(normalise_directory(wanted.cwd), os.path.isdir)
        folders = options.folders if root == normalise_directory(wanted.cwd) else (root, *options.folders)
        fit, left_out = binds(folders, os.path.exists)
        # Where it makes a worktree for itself, it keeps the transcript as if it had been started in there.
        works_in = os.path.join(wanted.cwd, ".claude/worktrees", options.worktree) if options.worktree else wanted.cwd
        return self._sandboxes.place(folder_of(works_in), fit), left_out


def _make_room(directory: str) -> None:
    """Make the folder in which the CLI makes its worktrees: what is not there yet, it cannot make in a sandbox.

    Raises OSError. A link on the way is left alone; the sandbox refuses it.
    """
    own = os.path.join(directory, ".claude")
    if not os.path.islink(own):
        os.makedirs(os.path.join(own, "worktrees"), exist_ok=True)
