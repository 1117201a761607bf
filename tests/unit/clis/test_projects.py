"""Which projects there are, and whether a session may be opened in one: a row for each of the contract's cases."""

from __future__ import annotations

import pytest

from switchboard.clis.project_folders import folder_name
from switchboard.clis.projects import (
    Admission,
    Admitted,
    NoDirectory,
    Project,
    ProjectHidden,
    ProjectMark,
    ProjectSnapshot,
    SnapshotUnavailable,
    UnknownProject,
    admission,
    assemble,
    may_be_of,
    project_of,
)

REPO = "/srv/repo"
WORKTREE = "/srv/repo/.claude/worktrees/fix"


def there(_path: str) -> bool:
    return True


def gone(_path: str) -> bool:
    return False


def snapshot(*directories: str, marks: tuple[ProjectMark, ...] = (), unread: tuple[str, ...] = ()) -> ProjectSnapshot:
    return assemble(directories, marks, there, unread)


def added(path: str, **fields: object) -> ProjectMark:
    return ProjectMark(path, added_at=1, **fields)  # type: ignore[arg-type] # the fields of one row


def hidden(path: str, kind: str | None = None, **fields: object) -> ProjectMark:
    return ProjectMark(path, hidden_at=1, hidden_kind=kind, **fields)  # type: ignore[arg-type] # the fields of one row


def test_a_project_is_known_by_its_transcripts_or_because_it_was_added() -> None:
    found = snapshot("/a", "/a/", "//b", marks=(added("/c/"), ProjectMark("/d", archived_at=1)))
    assert found.known == {
        "/a": Project("/a", ("/a",)),
        "/b": Project("/b", ("/b",)),
        "/c": Project("/c", added=True),
    }


@pytest.mark.parametrize("place", [".claude/worktrees", ".claude-worktrees", ".worktrees"])
def test_a_worktree_counts_as_its_repository(place: str) -> None:
    worktree = f"{REPO}/{place}/fix"
    assert snapshot(worktree).known == {REPO: Project(REPO, (worktree,))}
    assert list(assemble([worktree], (), gone).known) == [worktree], "its repository does not exist"
    assert list(snapshot(f"{worktree}/deeper").known) == [f"{worktree}/deeper"]


def test_a_worktree_that_somebody_recorded_is_a_project_of_its_own() -> None:
    assert list(snapshot(WORKTREE, marks=(added(WORKTREE),)).known) == [WORKTREE]
    assert project_of(WORKTREE, {WORKTREE: hidden(WORKTREE)}, there) == WORKTREE
    assert project_of(WORKTREE, {WORKTREE: ProjectMark(WORKTREE, archived_at=1)}, there) == REPO


ARCHIVED = ProjectMark("/p", archived_at=1)


@pytest.mark.parametrize("exists", [there, gone], ids=["directory there", "directory missing"])
@pytest.mark.parametrize("kind", ["archive", "delete", None])
@pytest.mark.parametrize("archived_at", [None, 5], ids=["", "with a group archive"])
def test_5_hidden_comes_before_known_and_before_the_directory(
    exists: object, kind: str | None, archived_at: int | None
) -> None:
    mark = hidden("/p", kind, archived_at=archived_at)
    for directories in ((), ("/p",)):
        found = snapshot(*directories, marks=(mark,))
        assert "/p" not in found.known
        assert admission(found, "/p/", "/p", exists) == ProjectHidden(mark)  # type: ignore[arg-type] # a function above


@pytest.mark.parametrize(
    ("found", "path", "exists", "answer"),
    [
        pytest.param(snapshot("/p"), "/p", there, Admitted, id="5 known"),
        pytest.param(snapshot("/p"), "/p/x/..", there, Admitted, id="5 compared normalised"),
        pytest.param(snapshot(marks=(added("/p"),)), "/p", there, Admitted, id="5 added"),
        pytest.param(snapshot("/p", marks=(ARCHIVED,)), "/p", there, Admitted, id="5 only a group archive"),
        pytest.param(snapshot("/p"), "/p", gone, NoDirectory, id="5 directory missing"),
        pytest.param(snapshot(), "/p", there, UnknownProject, id="5 unknown"),
        pytest.param(snapshot(), "/p", gone, UnknownProject, id="5 unknown before missing"),
        pytest.param(snapshot(marks=(ARCHIVED,)), "/p", there, UnknownProject, id="5 a group archive knows nothing"),
        pytest.param(snapshot("/p"), "/p/below", there, UnknownProject, id="5 not by its prefix"),
        pytest.param(snapshot("/p/below"), "/p", there, UnknownProject, id="5 not by what lies below"),
        pytest.param(snapshot("/P"), "/p", there, UnknownProject, id="5 letter case counts"),
        pytest.param(
            snapshot("/p", marks=(ProjectMark("/p", hidden_kind="archive"),)),
            "/p",
            there,
            Admitted,
            id="5 a kind without an entry denies nothing",
        ),
        pytest.param(
            snapshot(WORKTREE, marks=(hidden(REPO), added(WORKTREE))),
            WORKTREE,
            there,
            Admitted,
            id="5 only the repository above is hidden",
        ),
        pytest.param(
            snapshot(WORKTREE, marks=(hidden(REPO),)), REPO, there, ProjectHidden, id="5 the repository itself"
        ),
        pytest.param(SnapshotUnavailable("x"), "/p", there, SnapshotUnavailable, id="5 lookup unavailable"),
        pytest.param(snapshot(unread=("-p",)), "/p", there, SnapshotUnavailable, id="5 its folder cannot be read"),
        pytest.param(
            snapshot(unread=(folder_name(WORKTREE),)), REPO, there, SnapshotUnavailable, id="5 nor that of a worktree"
        ),
        pytest.param(snapshot(unread=("-q",)), "/p", there, UnknownProject, id="5 another folder cannot be read"),
        pytest.param(snapshot("/p", unread=("-p",)), "/p", there, Admitted, id="5 known in spite of that"),
    ],
)
def test_admission(
    found: ProjectSnapshot | SnapshotUnavailable, path: str, exists: object, answer: type[Admission]
) -> None:
    assert type(admission(found, path, path, exists)) is answer  # type: ignore[arg-type] # a function above


def test_5_a_missing_worktree_does_not_fall_back_to_its_repository() -> None:
    only_repo = admission(snapshot(WORKTREE), REPO, WORKTREE, lambda path: path == REPO)
    assert only_repo == NoDirectory()


@pytest.mark.parametrize(
    ("folder", "yes"),
    [("-srv-repo", True), (folder_name(WORKTREE), True), ("-srv-repository", False), ("-srv", False)],
)
def test_which_folders_may_be_a_projects(folder: str, yes: bool) -> None:
    assert may_be_of(REPO, folder) is yes
