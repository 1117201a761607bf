"""The directories that a session works in: which may be bound writable, and where they lie inside (pure)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from switchboard.common.paths import normalise_directory
from switchboard.sandbox.mounts import Mount, Refusal, is_below
from switchboard.sandbox.path_walk import Unresolved, walk
from switchboard.sandbox.policy import CLIS, cli_folder
from switchboard.sandbox.table import Table

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import PlanFiles
    from switchboard.sandbox.policy import Findings, SandboxRequest

SYSTEM = ("/proc", "/sys")
OWN_PLACES = ("/dev", "/usr", "/etc", "/run")
"""What the sandbox makes for itself, and the place of the machine's sockets."""

MARKED = ".claude or .git directory"


@dataclass(frozen=True, slots=True)
class Root:
    """A directory (or a file) to be writable. `named`: as it was asked for. `path`: inside. `source`: on the host."""

    named: str
    path: str
    source: str
    is_directory: bool


def find_roots(request: SandboxRequest, files: PlanFiles, findings: Findings) -> list[Root]:
    """Return the working directory and the further ones. Raises `Refusal`.

    A further directory that does not exist is reported and left out.
    """
    homes = forms(request.home, files)
    folders = [form for cli in CLIS.values() for form in forms(cli_folder(cli, request), files)]
    roots: list[Root] = []
    for named in (request.cwd, *request.binds):
        if "\n" in named:
            raise Refusal(f"{named!r} contains a newline, and such a path cannot be bound")
        try:
            way = walk(posixpath.join(request.cwd, named), files)
        except Unresolved as why:
            raise Refusal(f"refusing to bind '{named}': {why}") from why
        if "\n" in way.real:
            raise Refusal(f"{way.real!r} contains a newline, and such a path cannot be bound")
        lexical = normalise_directory(posixpath.join(request.cwd, named))
        for form in (lexical, way.real):
            refuse_place(named, form, homes, folders)
        if named == request.cwd and way.links:
            # The kernel names the directory that this process is in without any.
            raise Refusal(f"the working directory '{named}' was just exchanged for a symbolic link")
        if way.found is None:
            if named == request.cwd:
                raise Refusal(f"the working directory '{named}' does not exist")
            findings.warn(f"'{named}' does not exist and is not bound")
            continue
        # With `..` behind a link the text means another place than the host does.
        path = way.real if named == request.cwd or ".." in named.split("/") else lexical
        roots.append(Root(named, path, way.real, way.found.kind == "directory"))
    if not roots[0].is_directory:
        raise Refusal(f"the working directory '{request.cwd}' is not a directory")
    return roots


def refuse_place(named: str, path: str, homes: Iterable[str], folders: Iterable[str]) -> None:
    """Raise `Refusal` when a directory must not be bound writable.

    `path`: one form of it. `homes`: forms of the home directory. `folders`: forms of the folders of all CLIs.
    """
    why = ""
    if path == "/":
        why = "it is the filesystem root"
    elif path in homes:
        why = "it is $HOME itself"
    elif any(is_below(form, path) for form in homes):
        why = "it is a parent of $HOME"
    elif is_marked(path):
        why = f"it is at or inside a {MARKED}"
    elif any(is_below(path, system) for system in SYSTEM) or path in OWN_PLACES:
        why = "it belongs to the system"
    for folder in folders:
        if is_below(path, folder):
            why = why or f"it is at or inside {folder}, where a CLI keeps its files"
        elif is_below(folder, path):
            why = why or f"it contains {folder}, where a CLI keeps its files"
    if why:
        raise Refusal(f"refusing to bind '{named}': {why}")


def forms(path: str, files: PlanFiles) -> set[str]:
    """Return a path as written and as the host resolves it."""
    try:
        return {normalise_directory(path), walk(path, files).real}
    except Unresolved as why:
        raise Refusal(f"'{path}' cannot be resolved: {why}") from why


def is_marked(path: str) -> bool:
    """Tell whether a path is at or inside a `.claude` or `.git`. A CLI's worktree (`.claude/worktrees/x`) is not."""
    names = [name for name in path.split("/") if name]
    at = 0
    while at < len(names):
        if names[at] == ".git":
            return True
        if names[at] == ".claude":
            if names[at + 1 : at + 2] != ["worktrees"] or len(names) <= at + 2:
                return True
            at += 1  # the worktree's own name is looked at like any other
        at += 1
    return False


def add_roots(table: Table, roots: list[Root], files: PlanFiles) -> None:
    """Add them, shallow first. One whose path inside would lead through a link of another is bound at its real path."""
    for root in sorted(roots, key=lambda root: root.path.count("/")):
        path = root.path
        if path != root.source and _leads_through_a_link(table, path, files):
            path = root.source
        table.add(Mount("rw", path, root.source, why="working directory"))


def _leads_through_a_link(table: Table, path: str, files: PlanFiles) -> bool:
    while path != "/":
        host = table.view(path).host
        there = files.look(host) if host is not None else None
        if there is not None and there.kind == "link":
            return True
        path = posixpath.dirname(path)
    return False
