"""The whole plan of a sandbox: what is mounted where, what has to be made first, what is run (pure).

Everything writable comes first. What must not be changed is then covered wherever it could be written, the way to it is
pinned, and last the host's control directories are protected against all of that. The plan is built from nothing but
reads, anew each time: between two buildings anything may have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from switchboard.sandbox.control import protect_control, refuse_binds
from switchboard.sandbox.mounts import FLAGS, Mount, Refusal, arguments, ordered
from switchboard.sandbox.path_walk import Unresolved, walk
from switchboard.sandbox.planning import Planning
from switchboard.sandbox.policy import Findings, Missing
from switchboard.sandbox.programs import Programs
from switchboard.sandbox.project import Project
from switchboard.sandbox.protect import Protection
from switchboard.sandbox.roots import add_roots, find_roots
from switchboard.sandbox.state import State
from switchboard.sandbox.system import add_system
from switchboard.sandbox.table import Table

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import PlanFiles
    from switchboard.sandbox.policy import SandboxRequest

SHELL = "/bin/bash"
"""The person's own shell may not exist inside."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`mounts` in the order they are made. `missing`: what to create on the host first; it is not mounted yet."""

    mounts: tuple[Mount, ...]
    command: tuple[str, ...]
    cwd: str
    missing: tuple[Missing, ...] = ()
    warnings: tuple[str, ...] = ()

    def options(self) -> tuple[list[str], list[bytes]]:
        """Return all of bubblewrap's options, and what the descriptors of its private files hold."""
        options, files = arguments(self.mounts)
        return [*FLAGS, *options, "--chdir", self.cwd, "--setenv", "SHELL", SHELL], files


def build(request: SandboxRequest, files: PlanFiles) -> Plan:
    """Return the plan as the host's files are now. Raises `Refusal`."""
    try:
        return _build(request, files)
    except (OSError, Unresolved) as error:
        raise Refusal(f"the host's files cannot be read: {error}") from error


def _build(request: SandboxRequest, files: PlanFiles) -> Plan:
    table, findings = Table(), Findings()
    home = walk(request.home, files)
    if home.found is None or home.found.kind != "directory":
        raise Refusal(f"$HOME ({request.home}) is not a directory")
    protection = Protection(table, files, findings, home.real)
    roots = find_roots(request, files, findings)
    refuse_binds([root.named if root.named.startswith("/") else root.path for root in roots], request.control, files)
    add_system(table, files, request)
    add_roots(table, roots, files)
    planning = Planning(request, table, files, findings, protection)
    state = State(planning)
    state.add()
    project = Project(roots, planning)
    for root in roots:
        protection.check_chain(root.path)
    project.add_claude()
    state.protect()
    project.keep_links()
    project.add_git()
    command = Programs(planning).command()
    protection.pin_ways()
    mounts = [*table.mounts, *protect_control(table.mounts, request.control, files)]
    return Plan(
        tuple(ordered(mounts)),
        (*command, *request.arguments),
        roots[0].path,
        tuple(findings.missing.values()),
        tuple(findings.warnings),
    )
