"""What the folder of results can take (door): asked before a request is carried out, and after a result failed.

Nothing is typed whose result could not be published. Two questions: the cheap one asks the system what it knows (two
calls, a microsecond), the thorough one writes a file, because quotas and some file systems say nothing beforehand.
"""

from __future__ import annotations

import os
from contextlib import suppress

MIN_FREE_BYTES = 128 * 1024
"""Below this (on a tiny disk: an eighth of it) the disk counts as full. A result is hardly larger than its request."""

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4095
"""What Linux allows, where the file system names no limit of its own."""

_LONGEST_ENDING = len(".result.json.tmp")
_TRIAL = ".trial.tmp"
_TRIAL_BYTES = 4096


class Room:
    """Asks about one folder of results. It is never made here."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._inside = f"{folder}/."
        self._longest: int | None = None

    def takes(self, stem: str) -> bool:
        """Whether the result of a request of that name (without `.json`) can be named at all."""
        if self._longest is None:
            self._longest = self.longest_stem()
        return len(os.fsencode(stem)) <= self._longest

    def longest_stem(self) -> int:
        """Return how many bytes a request's name (without `.json`) may have."""
        try:
            in_name = os.pathconf(self._folder, "PC_NAME_MAX")
        except (OSError, ValueError):
            in_name = MAX_NAME_BYTES
        in_path = MAX_PATH_BYTES - len(os.fsencode(self._folder)) - 1
        return min(in_name, in_path) - _LONGEST_ENDING

    def obstacle(self) -> str | None:
        """Say what speaks against publishing now; None when nothing does, as far as the system knows beforehand."""
        try:
            found = os.statvfs(self._inside)
        except FileNotFoundError:
            return self._missing()
        except OSError as error:
            return f"{self._folder} cannot be used ({error.strerror}): move away what is there"
        if found.f_flag & os.ST_RDONLY:
            return f"{self._folder} is on a disk that can only be read: make that disk writable"
        if not os.access(self._inside, os.W_OK | os.X_OK):
            return f"{self._folder} cannot be written: change its owner or mode"
        free = found.f_bavail if os.geteuid() else found.f_bfree
        # Some file systems report no numbers at all.
        if found.f_blocks and free < min(MIN_FREE_BYTES // found.f_frsize, found.f_blocks // 8):
            return f"the disk of {self._folder} is full: make room there"
        if found.f_files and not found.f_ffree:
            return f"the disk of {self._folder} can hold no more files: remove some there"
        return None

    def try_out(self, name: str = _TRIAL) -> OSError | None:
        """Write a file of a result's size, and remove it. Returns what fails. `name`: the file's, nobody else's."""
        path = f"{self._folder}/{name}"
        with suppress(OSError):
            os.unlink(path)  # left by a killed host
        try:
            os.makedirs(self._folder, exist_ok=True)
            trial = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                rest = memoryview(bytes(_TRIAL_BYTES))
                while rest:
                    rest = rest[os.write(trial, rest) :]
            finally:
                os.close(trial)
        except OSError as error:
            return error
        finally:
            with suppress(OSError):
                os.unlink(path)
        return None

    def _missing(self) -> str | None:
        if os.path.islink(self._folder):
            return f"{self._folder} is a link that leads nowhere: remove it"
        above = os.path.dirname(self._folder)
        if os.path.isdir(above) and not os.access(above, os.W_OK | os.X_OK):
            return f"{self._folder} is missing and cannot be made: change the owner or mode of {above}"
        return None  # made when the first result comes
