"""The descriptor folders of sandboxed sessions (door): one for each start, `sandboxes/<launch>/sessions`.

CLIs in sandboxes all believe that they are process 2 or 3, so in one folder they would write over each other's files.
What a folder holds was written from inside a sandbox: it is never followed out of here, and it may be anything.

Where a folder lies is noted in the CLI's own folder, beside the conversations: another host, with another data
directory, may be asked to resume one of them, and has to see that it is open. Inside a sandbox the notes are read-only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress

NAME = "sandboxes"
NOTES = "switchboard-sandboxes"
LONGEST_NOTE = 8_192
"""Twice the longest path."""


class SandboxFolders:
    """Those of one data directory. `homes`: the CLIs' own folders, where notes are.

    `is_unused(folder)`: provably no living process wrote a descriptor in there.
    """

    def __init__(self, data_dir: str, homes: Sequence[str], is_unused: Callable[[str], bool]) -> None:
        self._base = os.path.join(data_dir, NAME)
        self._notes = [os.path.join(home, NOTES) for home in homes]
        self._is_unused = is_unused

    def of(self, launch: str) -> str:
        """Return the folder of a launch, by its id."""
        return os.path.join(self._base, launch, "sessions")

    def make(self, folder: str, home: str | None) -> None:
        """Make the folder of a launch, for its owner alone, and note it in the CLI's own folder, if there is one.

        Raises OSError, also when there is one already, and then there may be half of it.
        """
        with suppress(FileExistsError):
            os.mkdir(self._base, 0o700)
        os.mkdir(os.path.dirname(folder), 0o700)
        os.mkdir(folder, 0o700)
        if home is not None:
            notes = os.path.join(home, NOTES)
            os.makedirs(notes, 0o700, exist_ok=True)
            note = os.open(_note(notes, folder), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(note, "wb") as file:
                file.write(os.fsencode(folder))

    def everyone(self) -> list[str]:
        """Return all of them, other hosts' too, as they are now.

        What cannot be listed or read stands for itself, and so does the note of a folder that is not there, which may
        be in a container: whoever reads descriptors finds that it cannot be read, and does not take it for nothing.
        """
        found = dict.fromkeys(self._own(at_least=True))
        for note, folder in self._noted():
            elsewhere = folder is not None and not self._is_own(folder)
            found[note if folder is None or (elsewhere and not os.path.isdir(folder)) else folder] = None
        return list(found)

    def lost(self) -> list[tuple[str, str]]:
        """Return notes of other hosts' folders that are not there, and those folders."""
        return [
            (note, folder)
            for note, folder in self._noted()
            if folder is not None and not self._is_own(folder) and not os.path.isdir(folder)
        ]

    def drop(self, folder: str) -> None:
        """Remove the folder of a launch that came to nothing, and first of all its note. Raises OSError."""
        for notes in self._notes:
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(_note(notes, folder))
        with suppress(FileNotFoundError, NotADirectoryError):
            _remove(os.path.dirname(folder))

    def retire(self, folder: str) -> bool:
        """Remove it unless a living process may have a descriptor in it; tell whether it is gone. Raises OSError."""
        if os.path.isdir(folder) and not self._is_unused(folder):
            return False
        self.drop(folder)
        return True

    def left(self) -> list[str]:
        """Return those with descriptors that no living process wrote: of sessions that have ended, or been killed."""

        def is_filled(folder: str) -> bool:
            try:
                return bool(os.listdir(folder))
            except OSError:
                return False

        return [folder for folder in self._own() if is_filled(folder) and self._is_unused(folder)]

    def stuck(self) -> list[tuple[str, str]]:
        """Return those of `left` that the host cannot remove, and why."""
        found = []
        for folder in self.left():
            for path in (folder, os.path.dirname(folder), self._base):
                if os.stat(path).st_uid != os.geteuid() and not os.access(path, os.W_OK | os.X_OK):
                    found.append((folder, f"{path} belongs to another user"))
                    break
        return found

    def others(self, in_use: Container[str | None]) -> list[str]:
        """Return those of this data directory that no session uses: left by a host that was killed."""
        noted = (folder for _, folder in self._noted() if folder is not None and self._is_own(folder))
        return [folder for folder in dict.fromkeys([*self._own(), *noted]) if folder not in in_use]

    def _is_own(self, folder: str) -> bool:
        return folder.startswith(f"{self._base}/")

    def _own(self, *, at_least: bool = False) -> list[str]:
        """Return this data directory's; `at_least`: what holds them, where they cannot be listed."""
        try:
            with os.scandir(self._base) as entries:
                return sorted(os.path.join(entry.path, "sessions") for entry in entries)
        except FileNotFoundError:
            return []
        except OSError:
            return [self._base] if at_least else []

    def _noted(self) -> Iterator[tuple[str, str | None]]:
        """Yield notes with the folders they name; None: it cannot be read, or names none. Or what cannot be listed."""
        for notes in self._notes:
            try:
                names = sorted(os.listdir(notes))
            except FileNotFoundError:
                continue
            except OSError:
                yield notes, None
                continue
            for name in names:
                path = os.path.join(notes, name)
                try:
                    with open(path, "rb") as file:
                        folder = os.fsdecode(file.read(LONGEST_NOTE))
                except FileNotFoundError:
                    continue
                except OSError:
                    yield path, None
                    continue
                if folder:  # else it is being written, and its session has not been started
                    yield path, folder if os.path.isabs(folder) else None


def _remove(folder: str) -> None:
    """Remove a directory with what is in it, whatever it is: at any depth, closed to its owner, or a link. No link is
    followed. Raises OSError.

    Directories that are not empty are moved up until they are.
    """
    top = _opened(folder, None)
    try:
        mark, serial = os.urandom(8).hex(), 0  # what is there has no such name
        while names := os.listdir(top):
            for name in names:
                if not _is_directory(name, top):
                    os.unlink(name, dir_fd=top)
                    continue
                inner = _opened(name, top)
                try:
                    for below in os.listdir(inner):
                        if _is_directory(below, inner):
                            os.close(_opened(below, inner))
                            serial += 1
                            os.rename(below, f"{mark}-{serial}", src_dir_fd=inner, dst_dir_fd=top)
                        else:
                            os.unlink(below, dir_fd=inner)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(folder)


def _opened(path: str, folder: int | None) -> int:
    """Open a directory for its owner to read and change, whatever its mode was."""
    closed = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if os.fstat(closed).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{closed}", 0o700)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=closed)
    finally:
        os.close(closed)


def _is_directory(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _note(notes: str, folder: str) -> str:
    return os.path.join(notes, os.path.basename(os.path.dirname(folder)))
