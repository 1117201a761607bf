"""`.claude` and `.git` in the directories that a session works in: what people's programs obey stays as it is (pure).

Read-only are the settings, hooks and skills in `.claude`, and of a repository its settings and hooks, wherever they
are in effect. A session can commit, and can make what it likes of a repository that it creates itself.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from switchboard.sandbox.git_answers import NEWLINE, Repository
from switchboard.sandbox.mounts import Mount, Refusal
from switchboard.sandbox.planning import Planning
from switchboard.sandbox.policy import Missing
from switchboard.sandbox.roots import Root

OPEN = ("worktrees", "agent-memory", "agent-memory-local")
"""What in a project's `.claude` the CLI itself writes."""

HOOKS_SETTING = "core.hooksPath"

READ_BY_GIT = ("HEAD", "config", "config.worktree", "commondir", "gitdir", "packed-refs")
"""What git opens when it is asked about a repository."""


class Project:
    """Protects all markers below the working directories."""

    def __init__(self, roots: Sequence[Root], planning: Planning) -> None:
        self._roots = [root for root in roots if root.is_directory]
        self._table = planning.table
        self._files = planning.files
        self._findings = planning.findings
        self._protection = planning.protection
        found = {path: None for root in self._roots for path in planning.files.markers(root.source)}
        found |= {f"{root.source}/{name}": None for root in self._roots for name in (".claude", ".git")}
        self._markers = sorted(found, key=lambda path: (path.count("/"), path))
        self._directories: list[str] = []
        self._done: set[str] = set()

    def add_claude(self) -> None:
        """Make every `.claude` read-only, and what the CLI writes in it writable again."""
        for path in self._markers:
            if posixpath.basename(path) == ".claude":
                self._add_claude(path)
        for root in self._roots:
            path = f"{root.source}/.claude"
            if self._files.look(path) is None and self._files.may_write(root.source):
                # Else the session could make one, and the next start outside would obey it.
                self._findings.lacks(Missing(path))

    def keep_links(self) -> None:
        """Protect what links in a `.claude` lead to."""
        for folder in self._directories:
            self._protection.keep_links_below(folder)

    def add_git(self) -> None:
        """Protect the settings and hooks of every repository."""
        own = {f"{root.source}/.git" for root in self._roots}
        for path in self._markers:
            if posixpath.basename(path) == ".git":
                self._add_git(path, first=path in own)

    # --- .claude ---

    def _add_claude(self, path: str) -> None:
        there = self._files.look(path)
        if there is None:
            return
        spots = self._table.writable(path)
        if there.kind == "link":
            if spots:
                raise Refusal(f"{path} is a symbolic link, which the sandbox could replace; make it a directory")
            return
        self._protection.keep(path, why="settings of the project")
        if there.kind != "directory" or not spots:
            return
        for name in OPEN:
            inner = self._files.look(f"{path}/{name}")
            if inner is not None and inner.kind == "directory":
                self._protection.leave_open(f"{path}/{name}")
                for spot in spots:
                    self._table.add(Mount("rw", f"{spot}/{name}", f"{path}/{name}"))
        self._directories.append(path)

    # --- .git ---

    def _add_git(self, path: str, first: bool) -> None:
        there = self._files.look(path)
        if there is None or not self._table.writable(path):
            return
        if there.kind == "link":
            raise Refusal(f"{path} is a symbolic link, which the sandbox could replace; make it a directory")
        if there.kind == "directory":
            self._protection.hold(path)
        else:
            self._protection.keep(path, why="the place of the repository")
        self._refuse_pipes(path)
        answer = self._files.git(path)
        if isinstance(answer, Repository):
            self._add_repository(path, answer)
            return
        if answer is None:
            self._findings.warn("git was not found: which hooks are in effect is not known, the usual ones are kept")
        elif NEWLINE in answer:
            raise Refusal(f"{path}: {answer}")
        elif first or self._exists(f"{self._git_place(path)}/config"):
            raise Refusal(f"git cannot read the repository at {posixpath.dirname(path)}: {answer}")
        if there.kind == "directory":
            self._add_git_folder(path, per_worktree=False)

    def _refuse_pipes(self, marker: str) -> None:
        """Refuse what would keep git waiting: a pipe in a file's place."""
        for path in (marker, *(f"{marker}/{name}" for name in READ_BY_GIT)):
            there = self._files.look(path)
            if there is not None and there.kind == "other":
                raise Refusal(f"{path} is neither a file nor a directory, and git would wait for it; remove it")

    def _git_place(self, marker: str) -> str:
        """Return the directory that a `.git` is, or names, without git's help."""
        if self._is_directory(marker):
            return marker
        text = self._files.read(marker, 4_096).decode("utf-8", "surrogateescape")
        return posixpath.join(posixpath.dirname(marker), text.removeprefix("gitdir:").strip())

    def _add_repository(self, marker: str, repository: Repository) -> None:
        for folder in dict.fromkeys((repository.common, repository.folder)):
            self._add_git_folder(self._protection.check_chain(folder).real, repository.per_worktree)
        for path in repository.settings:
            self._keep(path, "file", f"{marker}: settings of git")
        if repository.hooks != f"{repository.common}/hooks":
            self._keep(repository.hooks, "directory", f"{marker}: {HOOKS_SETTING}")

    def _add_git_folder(self, folder: str, per_worktree: bool) -> None:
        if folder in self._done:
            return
        self._done.add(folder)
        linked = posixpath.basename(posixpath.dirname(folder)) == "worktrees"
        if not linked and self._exists(f"{folder}/commondir") and self._table.writable(folder):
            raise Refusal(f"{folder}/commondir makes git read settings from elsewhere; remove it if it is not yours")
        for name in ("config", "commondir", "gitdir", "config.worktree"):
            if self._exists(f"{folder}/{name}"):
                self._keep(f"{folder}/{name}", "file", "")
        if per_worktree:
            self._keep(f"{folder}/config.worktree", "file", "")
        if not linked:  # that of a linked worktree has no hooks of its own
            self._keep(f"{folder}/hooks", "directory", f"hooks (see also {HOOKS_SETTING})")
        for inner in self._git_folders(folder):
            self._add_git_folder(inner, per_worktree)

    def _git_folders(self, folder: str) -> list[str]:
        """Return what a git directory keeps for linked worktrees and for submodules, whose names may have levels.

        By any of its parts: a session may have removed the others.
        """
        found = [f"{folder}/worktrees/{name}" for name in self._names(f"{folder}/worktrees")]
        waiting = [f"{folder}/modules/{name}" for name in self._names(f"{folder}/modules")]
        while waiting:
            at = waiting.pop()
            if any(self._exists(f"{at}/{name}") for name in ("HEAD", "config", "hooks")):
                found.append(at)
            else:
                waiting += [f"{at}/{name}" for name in self._names(at)]
        return [path for path in found if self._is_directory(path)]

    def _names(self, path: str) -> list[str]:
        return self._files.names(path) if self._is_directory(path) else []

    def _keep(self, path: str, kind: str, what: str) -> None:
        """Keep something that git obeys; where it is missing and the sandbox could make it, have it made empty."""
        way = self._protection.check_chain(path, what)
        if self._table.holds(way.real):
            raise Refusal(f"{what or path}: {way.real} contains a directory that the session is to write")
        if way.found is not None:
            self._protection.keep(way.real, why="obeyed by git")
        elif self._table.writable(way.existing) and self._files.may_write(way.existing):
            self._findings.lacks(Missing(way.real, "directory" if kind == "directory" else "file"))

    def _exists(self, path: str) -> bool:
        return self._files.look(path) is not None

    def _is_directory(self, path: str) -> bool:
        there = self._files.look(path)
        return there is not None and there.kind == "directory"
