"""The database, for commands: they work with a host running and without one (driver)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from switchboard.cli.reach import host_data_dir
from switchboard.clis.profiles import PROFILES
from switchboard.clis.transcript_index import TranscriptIndex
from switchboard.common.paths import normalise_directory
from switchboard.common.settings import SettingsError
from switchboard.host.instance import StartError, own_folder
from switchboard.store.sqlite import Store, StoreError

Trouble = (StoreError, StartError, SettingsError)
"""What `opened` may raise; each text says what to do."""


def now_ms() -> int:
    """Return the wall time in whole milliseconds."""
    return time.time_ns() // 1_000_000


@contextmanager
def opened() -> Iterator[Store]:
    """Open the database of the data directory, making both where they are missing."""
    folder = host_data_dir()
    own_folder(folder, "the data directory (SWITCHBOARD_DATA_DIR)", private=False)
    store = Store(os.path.join(folder, "switchboard.db"), now_ms())
    try:
        yield store
    finally:
        store.close()


def transcript_indexes() -> dict[str, TranscriptIndex]:
    """Return an index for each profile that keeps transcripts, by the profile's name."""
    found = {name: profile.projects_dir(os.environ) for name, profile in PROFILES.items()}
    return {name: TranscriptIndex(folder) for name, folder in found.items() if folder is not None}


def directory_of(argument: str) -> str:
    """Return the absolute, normalised path that a person means."""
    return normalise_directory(os.path.abspath(argument))


def fail(command: str, error: object, code: int = 1) -> int:
    """Say an error and return the exit code."""
    print(f"switchboard {command}: {error}", file=sys.stderr)
    return code
