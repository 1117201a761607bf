"""The descriptor on disk (door)."""

from __future__ import annotations

import contextlib
import os


class DescriptorFile:
    """One process's descriptor: written in place and not atomically, as the measured CLI does, so that readers cope.

    Once it was there it is never made again: a descriptor that somebody deleted stays away (measured).
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._created = False

    def write(self, data: bytes) -> None:
        """Put `data` into the file. Raises OSError when the folder or the file cannot be made."""
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        creating = not self._created
        if creating:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            flags |= os.O_CREAT
            self._created = True  # before it is: a signal in between must find it to remove
        try:
            fd = os.open(self._path, flags, 0o644)
        except OSError as error:
            if creating:
                self._created = False
                raise
            if isinstance(error, FileNotFoundError):
                return
            raise
        try:
            if creating:
                os.fchmod(fd, 0o644)  # whatever the umask says, as measured
            os.write(fd, data)
            os.ftruncate(fd, len(data))
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Take the file away, if we made it. Never raises: this is the last thing a process does."""
        if self._created:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
