"""The programs that make a sandbox run outside of it: never one that a session could have put there (pure)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from switchboard.common.paths import normalise_directory
from switchboard.sandbox.mounts import Refusal, is_below
from switchboard.sandbox.path_walk import Unresolved, walk
from switchboard.sandbox.policy import CLIS, SandboxRequest, cli_folder
from switchboard.sandbox.system import find_program

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import PlanFiles


def work_places(request: SandboxRequest, files: PlanFiles) -> list[str]:
    """Return the directories that the session works in, as they are named and as the host resolves them."""
    named = (posixpath.join(request.cwd, path) for path in (request.cwd, *request.binds))
    return _forms(named, files)


def find_outside(name: str, request: SandboxRequest, files: PlanFiles) -> str | None:
    """Return the first program of that name in `PATH` that no session of these directories can write or lead elsewhere.

    None when there is none at all. Raises `Refusal` when there are none but such.
    """
    state = [cli_folder(cli, request) for cli in CLIS.values()]
    state += [posixpath.join(request.home, folder) for cli in CLIS.values() for folder in cli.folders]
    closed = [*work_places(request, files), *_forms(state, files)]
    found = find_program(name, request.environment, files, lambda path: not _is_in(path, closed, files))
    if found is None and (other := find_program(name, request.environment, files)) is not None:
        raise Refusal(
            f"{name} was found nowhere in PATH but at {other}, where sessions can write, and it would run outside of "
            "the sandbox; install it for the whole machine, or put another directory in PATH"
        )
    return found


def find_inside(name: str, request: SandboxRequest, files: PlanFiles) -> str | None:
    """Return the first program of that name in `PATH` outside of the working directories: its place will be shown."""
    closed = work_places(request, files)
    return find_program(
        name, request.environment, files, lambda path: not _is_in(posixpath.dirname(path), closed, files)
    )


def _is_in(path: str, folders: Sequence[str], files: PlanFiles) -> bool:
    """Whether a path leads into one of these directories, or on the way through one."""
    try:
        way = walk(path, files)
    except Unresolved:
        return True
    return any(is_below(at, folder) for at in (path, way.real, *way.directories, *way.links) for folder in folders)


def _forms(paths: Iterable[str], files: PlanFiles) -> list[str]:
    found: dict[str, None] = {}
    for path in paths:
        found[normalise_directory(path)] = None
        with suppress(Unresolved):  # the plan says what is wrong with it
            found[walk(path, files).real] = None
    return list(found)
