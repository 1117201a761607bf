"""A disk that is full for the files below one folder, as far as this process can tell. Without mounting anything."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest


class FullDisk:
    """Writes below `folder` fail while `full`; the system admits it beforehand unless `silent` (as with a quota).

    `takes` bytes of a write still find room, so that half a file is left behind.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self.silent = False
        self.takes = 0
        self.asked = 0
        """How often the system was asked for its room."""
        self._folder = str(folder)
        self._write = os.write
        self._statvfs = os.statvfs
        monkeypatch.setattr(os, "write", self._on_write)
        monkeypatch.setattr(os, "statvfs", self._on_statvfs)

    def _on_write(self, descriptor: int, data: bytes) -> int:
        if not self.full or not os.readlink(f"/proc/self/fd/{descriptor}").startswith(self._folder):
            return self._write(descriptor, data)
        if os.fstat(descriptor).st_size >= self.takes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(descriptor, bytes(data)[: self.takes])

    def _on_statvfs(self, path: str) -> os.statvfs_result:
        found = self._statvfs(path)
        if not path.startswith(self._folder):
            return found
        self.asked += 1
        if not self.full or self.silent:
            return found
        fields = list(found)
        fields[3] = fields[4] = 0  # blocks that are free, and free for us
        return os.statvfs_result(fields)
