"""What each kind of CLI may see and write in a sandbox, as data, and what a sandbox is asked for (pure).

The CLI's own folder is rebuilt inside from its entries: state that has to outlive the session is writable, what the CLI
runs or obeys (settings, hooks, skills, plugins) is read-only, and a few entries are private to the sandbox. What the
CLI adds to the folder beside those vanishes with the sandbox.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from switchboard.common.paths import normalise_directory

if TYPE_CHECKING:
    from switchboard.sandbox.control_paths import ControlPaths

CliName = Literal["claude", "agent"]


@dataclass(frozen=True, slots=True)
class SandboxCli:
    """One kind of CLI. `title`: for messages.

    `home_variable`, `home_name`: what names its folder, and the folder's path below the home directory when nothing
    does. `first_run`: the folder has to exist already. `state`: names of entries in it that are writable. `private`:
    names of entries that each sandbox has of its own, empty. `made`: directories in it that are created when missing.
    `settings`: the name of a file of which each sandbox gets a copy; it lies in the home directory, or in the folder
    when that is named by the variable. `folders`: further writable directories, below the home directory.
    """

    name: CliName
    title: str
    home_variable: str
    home_name: str
    first_run: bool
    state: frozenset[str]
    private: frozenset[str] = frozenset()
    made: tuple[str, ...] = ()
    settings: str | None = None
    folders: tuple[str, ...] = ()


CLAUDE = SandboxCli(
    name="claude",
    title="claude",
    home_variable="CLAUDE_CONFIG_DIR",
    home_name=".claude",
    first_run=True,
    state=frozenset(
        {
            *("todos", "statsig", "file-history", "sessions", "plans", "tasks", "cache", "paste-cache", "image-cache"),
            *("downloads", "feedback", "debug", "telemetry", "jobs", "usage-data", "agent-memory"),
            *(".credentials.json", "history.jsonl", ".last-cleanup", ".last-update-result.json"),
            *("mcp-needs-auth-cache.json", "policy-limits.json", "policy-limits.json.stamp.json", "stats-cache.json"),
        }
    ),
    private=frozenset({"shell-snapshots", "session-env", "backups", "state"}),
    made=("projects", "todos", "statsig", "file-history", "sessions", "plans", "tasks", "ide"),
    settings=".claude.json",
    folders=(".config/claude", ".cache/claude", ".local/share/claude"),
)

AGENT = SandboxCli(
    name="agent",
    title="the Switchboard agent",
    home_variable="SWITCHBOARD_AGENT_HOME",
    home_name=".switchboard-agent",
    first_run=False,
    state=frozenset({"sessions"}),
    made=("projects", "sessions"),
)

CLIS: Mapping[str, SandboxCli] = {cli.name: cli for cli in (CLAUDE, AGENT)}

PROJECTS = "projects"
SESSIONS = "sessions"


@dataclass(frozen=True, slots=True)
class PythonPlace:
    """The interpreter that runs this: as called, its environment, its installation, package folders, our own package.

    All absolute. `packages`: directories of installed packages that lie in neither. `searched`: every directory that
    it imports from.
    """

    executable: str
    prefix: str
    base_prefix: str
    package: str
    packages: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """What is wanted. `cwd`, `home`: absolute. `binds`: further directories to be writable, as they were named.

    `environment`: what names programs and folders. `project_folder`: the name of the transcript's folder, None to
    derive it. `control`: what the sandbox must not reach. `podman`: show Podman's socket. `user`: this user's number.
    """

    cli: SandboxCli
    arguments: tuple[str, ...]
    cwd: str
    home: str
    environment: Mapping[str, str]
    control: ControlPaths
    binds: tuple[str, ...] = ()
    project_folder: str | None = None
    podman: bool = False
    user: int = 0
    python: PythonPlace | None = None


def cli_folder(cli: SandboxCli, request: SandboxRequest) -> str:
    """Return a CLI's own folder, absolute and normal, as the CLI itself would find it."""
    named = request.environment.get(cli.home_variable)
    path = posixpath.join(request.cwd, named) if named else posixpath.join(request.home, cli.home_name)
    return normalise_directory(path)


def settings_file(cli: SandboxCli, request: SandboxRequest) -> str | None:
    """Return the path of the file of which a sandbox gets a copy."""
    if cli.settings is None:
        return None
    named = request.environment.get(cli.home_variable)
    return posixpath.join(cli_folder(cli, request) if named else request.home, cli.settings)


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that a sandbox needs on the host and that is made when everything else has been found to be well."""

    path: str
    kind: Literal["directory", "file"] = "directory"
    private: bool = False


@dataclass(slots=True)
class Findings:
    """What turned up while a plan was built, beside its mounts."""

    missing: dict[str, Missing] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)

    def lacks(self, missing: Missing) -> None:
        self.missing.setdefault(missing.path, missing)

    def warn(self, text: str) -> None:
        self.warnings.setdefault(text)
