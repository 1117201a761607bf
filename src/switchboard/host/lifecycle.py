"""Puts together what versioned requests need of this host (driver)."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import PROFILES
from switchboard.clis.project_snapshot import ProjectSnapshots
from switchboard.clis.session_lookup import SessionLookup
from switchboard.clis.transcript_index import TranscriptIndex
from switchboard.common.clock import Clock
from switchboard.common.folder_watch import FolderWatcher
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
) -> Lifecycle:
    """Return it. `environment` is the host's own; where CLIs keep their files is read from it once."""
    indexes = {
        profile.name: TranscriptIndex(folder)
        for profile in PROFILES.values()
        if (folder := profile.projects_dir(environment)) is not None
    }
    sources = LivenessSources(partial(descriptor_folders, environment), processes, schedules, recorded_launches(store))
    sources = replace(sources, jobs=partial(job_folders, environment))
    return Lifecycle(
        sessions=sessions,
        page=broker,
        liveness=LivenessCheck(sources, watcher, clock),
        closed=SessionLookup(indexes, clock, known_session(store)),
        projects=ProjectSnapshots(indexes, project_marks(store), clock),
        new_id=lambda: str(uuid.uuid4()),
        is_directory=os.path.isdir,
    )


def descriptor_folders(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the folders in which CLIs say which session a process has open."""
    folders = (profile.sessions_dir(environment) for profile in PROFILES.values())
    return tuple(dict.fromkeys(folder for folder in folders if folder is not None))


def job_folders(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the folders in which CLIs record their background jobs."""
    folders = (profile.jobs_dir(environment) for profile in PROFILES.values())
    return tuple(dict.fromkeys(folder for folder in folders if folder is not None))
