"""`switchboard project`: which projects there are, and what people want of them."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence

from switchboard.cli.saved import Trouble, directory_of, fail, now_ms, opened, transcript_indexes
from switchboard.clis.project_snapshot import ProjectSnapshots
from switchboard.clis.projects import ProjectSnapshot, SnapshotUnavailable
from switchboard.common.system_clock import SystemClock
from switchboard.sessions.saved import project_marks
from switchboard.store.records import HIDDEN_KINDS
from switchboard.store.sqlite import Store

EPILOG = """A directory is a project as soon as a transcript of a session in it is on disk, or once it was added.
A worktree that a CLI made for itself counts as its repository."""


def main(argv: Sequence[str]) -> int:
    """Return 0, 1 when it cannot be done, 2 for a usage error."""
    options = _parser().parse_args(argv)
    try:
        with opened() as store:
            return _list(store, options) if options.action == "list" else _change(store, options)
    except Trouble as error:
        return fail("project", error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchboard project",
        description="List projects, and say which to show.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="projects, in the order of their paths")
    listing.add_argument("--all", action="store_true", help="the hidden ones too")
    texts = {
        "add": "have a directory on the list, before any session ran in it, or hidden no longer",
        "hide": "take a project off every list; sessions and files stay",
        "archive": "put a project's sessions away; new ones can still be opened",
        "unarchive": "take that back",
    }
    for name, text in texts.items():
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument("directory", metavar="DIRECTORY")
        action.add_argument("--json", action="store_true", help="print the project as JSON")
        if name == "hide":
            action.add_argument("--kind", choices=HIDDEN_KINDS, default="archive", help="why (default: archive)")
    listing.add_argument("--json", action="store_true", help="print a JSON array, one object per project")
    return parser


def _snapshot(store: Store) -> ProjectSnapshot | SnapshotUnavailable:
    return ProjectSnapshots(transcript_indexes(), project_marks(store), SystemClock()).take_now()


def _list(store: Store, options: argparse.Namespace) -> int:
    snapshot = _snapshot(store)
    if isinstance(snapshot, SnapshotUnavailable):
        return fail("project", f"the projects cannot be told: {snapshot.detail}")
    paths = sorted({*snapshot.known, *(snapshot.hidden if options.all else ())})
    rows = [describe(snapshot, path) for path in paths]
    if options.json:
        print(json.dumps(rows, indent=2))
    elif not rows:
        print("No projects yet. Add one with `switchboard project add DIRECTORY`, or open a session in it.")
    else:
        for row in rows:
            print(f"{row['state']:<9} {row['path']}{'' if row['exists'] else '  (the directory is missing)'}")
    for folder in snapshot.unread:
        fail("project", f"the folder of transcripts {folder} cannot be read; its project may be missing above")
    return 0


def describe(snapshot: ProjectSnapshot, path: str) -> dict[str, object]:
    """Return one project as the list tells of it. Times in wall milliseconds."""
    mark = snapshot.marks.get(path)
    project = snapshot.known.get(path)
    hidden = path in snapshot.hidden
    archived_at = mark.archived_at if mark else None
    return {
        "path": path,
        "state": "hidden" if hidden else "archived" if archived_at is not None else "shown" if project else "unknown",
        "exists": os.path.isdir(path),
        "added_at": mark.added_at if mark else None,
        "hidden_at": mark.hidden_at if mark else None,
        "hidden_kind": mark.hidden_kind if mark else None,
        "archived_at": archived_at,
        "directories": list(project.directories) if project else [],
    }


def _change(store: Store, options: argparse.Namespace) -> int:
    path = directory_of(options.directory)
    if options.action == "add":
        if not os.path.isdir(path):
            return fail("project", f"{path} is no directory; make it first")
        # Sessions record where links lead, so that is what the project is called.
        path = os.path.realpath(path)
        store.add_project(path, now_ms())
    else:
        before = _snapshot(store)
        if isinstance(before, SnapshotUnavailable):
            return fail("project", f"the projects cannot be told: {before.detail}")
        known = {*before.known, *before.marks}
        path = path if path in known else os.path.realpath(path)
        if path not in known:
            return fail("project", f"{path} is no known project; `switchboard project list --all` shows them")
        if options.action == "hide":
            store.hide_project(path, now_ms(), options.kind)
        else:
            store.archive_project(path, now_ms() if options.action == "archive" else None)
    after = _snapshot(store)
    if isinstance(after, SnapshotUnavailable):
        return fail("project", f"it is recorded, but the projects cannot be told: {after.detail}")
    row = describe(after, path)
    print(json.dumps(row, indent=2) if options.json else f"{row['state']:<9} {path}")
    return 0
