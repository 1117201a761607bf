"""What the database says, as the values that other rooms take (driver)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from switchboard.clis.launch_settings import LaunchDefaults, launch_defaults
from switchboard.clis.liveness import EvidenceUnavailable, LaunchEvidence, Vantage
from switchboard.clis.project_snapshot import MarksUnavailable
from switchboard.clis.projects import ProjectMark
from switchboard.common.paths import normalise_directory
from switchboard.store.records import LaunchRecord
from switchboard.store.sqlite import GLOBAL, Store, StoreError, project_scope


def recorded_launches(store: Store) -> Callable[[int, str], Sequence[LaunchEvidence]]:
    """Return the look-up that `LivenessSources.launches` wants. It raises `EvidenceUnavailable`."""

    def launches(pid: int, start: str) -> Sequence[LaunchEvidence]:
        try:
            records = store.launches_of_process(pid, start)
        except StoreError as error:
            raise EvidenceUnavailable(str(error)) from error
        return [
            LaunchEvidence(
                record.session_id.lower(),
                pid,
                start,
                record.boot_id,
                record.pid_namespace,
                record.init_start,
                record.ended_at is not None,
            )
            for record in records
        ]

    return launches


def known_session(store: Store) -> Callable[[str], bool]:
    """Return what `SessionLookup` wants to be told. A database that cannot be read says that a session may be known:

    then its missing transcript is a refusal, and not the claim that nobody has heard of it.
    """

    def known(session_id: str) -> bool:
        try:
            return store.knows_session(session_id)
        except StoreError:
            return True

    return known


def project_marks(store: Store) -> Callable[[], Sequence[ProjectMark]]:
    """Return what `ProjectSnapshots` wants to be told of people's wishes. It raises `MarksUnavailable`."""

    def marks() -> Sequence[ProjectMark]:
        try:
            records = store.projects()
        except StoreError as error:
            raise MarksUnavailable(str(error)) from error
        return [
            ProjectMark(record.path, record.added_at, record.hidden_at, record.hidden_kind, record.archived_at)
            for record in records
        ]

    return marks


def saved_launch_defaults(store: Store, project: str) -> LaunchDefaults:
    """Return what a session of the project is started with, as saved now.

    Raises `StoreError`, and `InvalidSetting` when a stored value that counts is not allowed.
    """
    everywhere, here = store.settings(GLOBAL, project_scope(normalise_directory(project)))
    return launch_defaults(everywhere, here)


def remote_triggers(store: Store) -> bool:
    """Return whether legacy triggers may go to sessions on other machines. Raises as above."""
    [everywhere] = store.settings(GLOBAL)
    return everywhere.get("remoteTriggers") is True


def launch_record(
    session_id: str,
    generation: int,
    profile: str,
    cwd: str,
    launched_at: int,
    process: tuple[int, str | None],
    vantage: Vantage,
) -> LaunchRecord:
    """Return what to record of a process (number, start) that was started, as seen from `vantage` (see `ProcFs`)."""
    pid, start = process
    return LaunchRecord(
        session_id,
        generation,
        profile,
        cwd,
        launched_at,
        pid,
        start,
        vantage.boot_id,
        vantage.namespace,
        vantage.init_start,
    )
