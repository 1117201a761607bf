"""Puts together what versioned requests need of this host (driver)."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from functools import partial

from switchboard.clis.liveness import LiveElsewhere
from switchboard.clis.namespace_resolver import NamespaceResolver
from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import PROFILES
from switchboard.clis.project_snapshot import ProjectSnapshots
from switchboard.clis.session_lookup import SessionLookup
from switchboard.clis.transcript_index import TranscriptIndex
from switchboard.common.clock import Clock
from switchboard.common.folder_watch import FolderWatcher
from switchboard.host.sandboxes import Sandboxes
from switchboard.page.broker import PageBroker
from switchboard.sessions.lifecycle import LifecycleSessions
from switchboard.sessions.liveness_check import LivenessCheck, LivenessSources
from switchboard.sessions.saved import known_session, project_marks, recorded_launches
from switchboard.sessions.schedules import Schedules
from switchboard.store.sqlite import Store
from switchboard.triggers.lifecycle_port import Lifecycle


def lifecycle(
    sessions: LifecycleSessions,
    broker: PageBroker,
    store: Store,
    processes: ProcFs,
    schedules: Schedules,
    watcher: FolderWatcher,
    clock: Clock,
    environment: Mapping[str, str],
    sandboxes: Sandboxes,
) -> Lifecycle:
    """Return it. `environment` is the host's own; where CLIs keep their files is read from it once."""
    indexes = {
        profile.name: TranscriptIndex(folder)
        for profile in PROFILES.values()
        if (folder := profile.projects_dir(environment)) is not None
    }
    sources = LivenessSources(
        folders=partial(descriptor_folders, environment, sandboxes),
        processes=processes,
        schedules=schedules,
        launches=recorded_launches(store),
        resolver=NamespaceResolver(processes),
        jobs=partial(job_folders, environment),
        sandboxed=sandboxes.folders,
    )
    return Lifecycle(
        sessions=sessions,
        page=broker,
        liveness=LivenessCheck(sources, watcher, clock),
        closed=SessionLookup(indexes, clock, known_session(store)),
        projects=ProjectSnapshots(indexes, project_marks(store), clock),
        new_id=lambda: str(uuid.uuid4()),
        is_directory=os.path.isdir,
    )


def seen_elsewhere(house: Lifecycle, session_id: str) -> str | None:
    """Say for a person which process has a session open, a sandbox's too; None where none is proven to."""
    answer = house.liveness.check_now(session_id)
    if isinstance(answer, LiveElsewhere):
        return f"process {answer.where.pid} has it open ({answer.where.path})"
    return None


def sandbox_homes(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the own folders of the CLIs that can be sandboxed."""
    homes = (one.config_folder(environment) for one in PROFILES.values() if one.starts.sandbox is not None)
    return tuple(dict.fromkeys(os.path.abspath(home) for home in homes if home is not None))


def descriptor_folders(environment: Mapping[str, str], sandboxes: Sandboxes) -> Sequence[str]:
    """Return the folders in which CLIs say which session a process has open; those of sandboxes as they are now."""
    shared = (profile.sessions_dir(environment) for profile in PROFILES.values())
    return tuple(dict.fromkeys([*(folder for folder in shared if folder is not None), *sandboxes.folders()]))


def job_folders(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the folders in which CLIs record their background jobs."""
    folders = (profile.jobs_dir(environment) for profile in PROFILES.values())
    return tuple(dict.fromkeys(folder for folder in folders if folder is not None))
