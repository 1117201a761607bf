"""Which projects there are, and whether a session may be opened in one (pure).

A project is known as soon as a transcript of it is on disk, or a person has added it. A worktree that a CLI made for
itself counts as its repository, as long as that exists, unless a person has recorded the worktree as a project of its
own. What a person has hidden is on no list; that it was hidden stays beside the list, because "hidden" is another
answer than "unknown". Archiving a project sorts its sessions away and forbids nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from switchboard.clis.project_folders import folder_name, worktree_root
from switchboard.common.paths import normalise_directory


@dataclass(frozen=True, slots=True)
class ProjectMark:
    """What people have said about a directory. Times in wall milliseconds; None: nothing."""

    path: str
    added_at: int | None = None
    hidden_at: int | None = None
    hidden_kind: str | None = None
    archived_at: int | None = None

    @property
    def own(self) -> bool:
        """Whether somebody took this very directory for a project."""
        return self.added_at is not None or self.hidden_at is not None


@dataclass(frozen=True, slots=True)
class Project:
    """One project. `directories`: where its recorded sessions ran, worktrees included. `added`: a person added it."""

    path: str
    directories: tuple[str, ...] = ()
    added: bool = False
    archived_at: int | None = None


@dataclass(frozen=True, slots=True)
class ProjectSnapshot:
    """All projects at one moment. `known` without the hidden ones; `hidden` as people have marked them.

    `unread`: names of folders of transcripts that could not be read, each of which may be that of a project.
    """

    known: Mapping[str, Project]
    hidden: Mapping[str, ProjectMark] = field(default_factory=dict)
    marks: Mapping[str, ProjectMark] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SnapshotUnavailable:
    """The projects cannot be told. Never to be taken for "there are none"."""

    detail: str


@dataclass(frozen=True, slots=True)
class Admitted:
    """A session may be opened in it."""

    project: Project


@dataclass(frozen=True, slots=True)
class ProjectHidden:
    """A person has hidden it."""

    mark: ProjectMark


@dataclass(frozen=True, slots=True)
class UnknownProject:
    """No transcript and nobody names it."""


@dataclass(frozen=True, slots=True)
class NoDirectory:
    """It is known, and the directory is not there."""


Admission: TypeAlias = Admitted | ProjectHidden | UnknownProject | NoDirectory | SnapshotUnavailable


def assemble(
    directories: Iterable[str], marks: Iterable[ProjectMark], exists: Callable[[str], bool], unread: Iterable[str] = ()
) -> ProjectSnapshot:
    """Return the projects of recorded directories and of people's marks."""
    by_path = {normalise_directory(mark.path): mark for mark in marks}
    places: dict[str, set[str]] = {}
    for directory in directories:
        normal = normalise_directory(directory)
        places.setdefault(project_of(normal, by_path, exists), set()).add(normal)
    for path, mark in by_path.items():
        if mark.added_at is not None:
            places.setdefault(path, set())
    hidden = {path: mark for path, mark in by_path.items() if mark.hidden_at is not None}
    nothing = ProjectMark("")
    known = {
        path: Project(
            path,
            tuple(sorted(found)),
            by_path.get(path, nothing).added_at is not None,
            by_path.get(path, nothing).archived_at,
        )
        for path, found in sorted(places.items())
        if path not in hidden
    }
    return ProjectSnapshot(known, hidden, by_path, tuple(unread))


def project_of(cwd: str, marks: Mapping[str, ProjectMark], exists: Callable[[str], bool]) -> str:
    """Return the project that a directory belongs to."""
    normal = normalise_directory(cwd)
    mark = marks.get(normal)
    return normal if mark is not None and mark.own else normalise_directory(worktree_root(normal, exists))


def admission(
    snapshot: ProjectSnapshot | SnapshotUnavailable, path: str, directory: str, exists: Callable[[str], bool]
) -> Admission:
    """Return whether a session may be opened: hidden first, then known, then whether the directory is there.

    `path`: the project; `directory`: where the session runs, which for a resumed one may be a worktree of it.
    """
    if isinstance(snapshot, SnapshotUnavailable):
        return snapshot
    normal = normalise_directory(path)
    if (mark := snapshot.hidden.get(normal)) is not None:
        return ProjectHidden(mark)
    project = snapshot.known.get(normal)
    if project is None:
        concealing = [name for name in snapshot.unread if may_be_of(normal, name)]
        if concealing:
            return SnapshotUnavailable(f"transcripts of {path} may lie where nothing can be read: {concealing[0]}")
        return UnknownProject()
    return Admitted(project) if exists(directory) else NoDirectory()


def may_be_of(path: str, folder: str) -> bool:
    """Tell whether a folder of transcripts can be that of a project or of a worktree of it, by its name."""
    name = folder_name(normalise_directory(path))
    return folder == name or folder.startswith(f"{name}-")
