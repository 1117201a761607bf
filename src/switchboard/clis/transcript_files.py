"""Reads transcripts (door): finds a session's file, reads bounded windows of it, lists what has been recorded.

A transcript can hold hundreds of megabytes, so nothing here reads a whole file. Every file is opened without following
a link in its last component, and is judged by what was opened.
"""

from __future__ import annotations

import errno
import heapq
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from switchboard.clis.project_folders import RecordedCwd, find_cwd, folder_name
from switchboard.clis.recorded_sessions import RecordedSession, describe
from switchboard.clis.transcript_rows import Row, rows_backwards, rows_of
from switchboard.clis.transcripts import TranscriptReader
from switchboard.common.facts import TurnEvidence

WINDOW = 262_144
"""Bytes read at either end of a transcript: several turns, in about two milliseconds."""

MAX_GROWTH = 1_048_576
"""A file that grew by more since it was last read is read from its last window again."""

LISTING_WINDOW = 65_536
"""Bytes read at either end when many transcripts are listed."""

MAX_ENTRIES = 100_000
"""No listing looks at more directory entries, in all folders together."""

MAX_SILENT = 200
"""A listing gives up after so many files in which nobody says anything."""

_SUFFIX = ".jsonl"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def project_folders(projects_dir: str) -> list[str]:
    """Return the paths of the project folders; none when the projects folder cannot be read."""
    return [entry.path for entry in _entries(projects_dir) if _is_folder(entry)]


def newest_folders(projects_dir: str, limit: int, preferred: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the paths of the project folders changed last, at most `limit`; those of `preferred` names come first."""

    def rank(path: str) -> tuple[bool, int]:
        try:
            changed = os.stat(path).st_mtime_ns
        except OSError:
            changed = 0
        return (os.path.basename(path) not in preferred, -changed)

    return tuple(heapq.nsmallest(limit, project_folders(projects_dir), key=rank))


def folder_of(cwd: str) -> str:
    """Return the name of the folder in which a session started in `cwd` keeps its transcript, links resolved."""
    return folder_name(os.path.realpath(cwd))


def find_transcript(projects_dir: str, session_id: str, preferred: Sequence[str] = ()) -> str | None:
    """Return the path of a session's transcript, as written or in lower case; None when there is none.

    The `preferred` folders' names come first; of several files elsewhere the one written last counts.
    """
    names = _file_names(session_id)
    for folder in preferred:
        for name in names:
            path = f"{projects_dir}/{folder}/{name}"
            if _modified(path) is not None:
                return path
    found: list[tuple[int, str]] = []
    for folder in project_folders(projects_dir):
        for name in names:
            modified = _modified(f"{folder}/{name}")
            if modified is not None:
                found.append((modified, f"{folder}/{name}"))
    return max(found)[1] if found else None


def find_transcripts(projects_dir: str, session_id: str) -> list[str]:
    """Return every transcript whose name is that id in any spelling, sorted; more than one means ambiguity."""
    wanted = session_id.lower() + _SUFFIX
    if not _file_names(session_id):
        return []
    found = [
        entry.path
        for folder in project_folders(projects_dir)
        for entry in _entries(folder)
        if entry.name.lower() == wanted and _modified(entry.path) is not None
    ]
    return sorted(found)


def read_evidence(path: str) -> TurnEvidence | None:
    """Return what the last window of a transcript says now, None when it cannot be read."""
    return TranscriptTail(path).read()


class TranscriptTail:
    """Reads one transcript again and again: the last window first, afterwards only what was added.

    What was added counts however much it is (up to `MAX_GROWTH` at a time), so a compaction is seen even when its
    boundary has left the last window by the time the file is read. Truncation, replacement and a change in place start
    over.
    """

    __slots__ = ("_identity", "_modified", "_offset", "_reader", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None
        self._offset = 0
        self._modified = 0
        self._reader = TranscriptReader()

    def read(self) -> TurnEvidence | None:
        """Return what is known now; None when the file is missing, no regular file, or may not be read."""
        try:
            file, found = open_transcript(self.path)
        except OSError:
            self._identity = None
            return None
        try:
            self._catch_up(file, found)
        except OSError:
            self._identity = None
            return None
        finally:
            os.close(file)
        return self._reader.evidence(found.st_mtime_ns // 1_000_000)

    def _catch_up(self, file: int, found: os.stat_result) -> None:
        identity = (found.st_dev, found.st_ino)
        growth = found.st_size - self._offset
        changed_in_place = growth == 0 and found.st_mtime_ns != self._modified
        if identity != self._identity or not 0 <= growth <= MAX_GROWTH or changed_in_place:
            # One byte more than the window: when it is a line end, the window's first row is whole.
            self._offset = max(0, found.st_size - WINDOW - 1)
            self._reader = TranscriptReader(cut=self._offset > 0)
            self._identity = identity
        self._modified = found.st_mtime_ns
        data = read_at(file, self._offset, found.st_size - self._offset)
        self._offset += len(data)
        self._reader.feed(data)


@dataclass(frozen=True, slots=True)
class TranscriptProbe:
    """What the two ends of one transcript show.

    `identity`: device and inode. `usable`: there is a row in it. `cwd`: the directory that it records, see
    `project_folders`.
    """

    identity: tuple[int, int]
    usable: bool
    cwd: RecordedCwd


def probe_transcript(path: str, remap: str | None = None) -> TranscriptProbe:
    """Look into a transcript, the last window only when the first does not decide. Raises OSError.

    `remap` as for `recorded_cwd`.
    """
    folder = os.path.basename(os.path.dirname(path))
    file, found = open_transcript(path)
    identity = (found.st_dev, found.st_ino)
    try:
        rows = _Noted(rows_of(read_at(file, 0, WINDOW)))
        head = find_cwd(rows, folder, remap)
        if head.ended or found.st_size <= WINDOW:
            return TranscriptProbe(identity, rows.any, head)
        rows = _Noted(rows_backwards(read_at(file, found.st_size - WINDOW, WINDOW)), rows.any)
        tail = find_cwd(rows, folder, remap)
    finally:
        os.close(file)
    return TranscriptProbe(identity, rows.any, RecordedCwd(tail.cwd, head.rejected or tail.rejected, ended=True))


class _Noted:
    """Rows that pass through, noting whether there was any."""

    __slots__ = ("_rows", "any")

    def __init__(self, rows: Iterator[Row], seen: bool = False) -> None:
        self._rows = rows
        self.any = seen

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.any = True
            yield row


def recorded_cwd(path: str, remap: str | None = None) -> RecordedCwd:
    """Return the directory that a transcript records, as far as it can be believed (see `project_folders`).

    `remap` is the directory a person has recorded for the transcript's folder. `complete` is false when the file could
    not be read.
    """
    try:
        return probe_transcript(path, remap).cwd
    except OSError:
        return RecordedCwd(complete=False)


def resolve_session_cwd(
    projects_dir: str,
    session_id: str,
    preferred: Sequence[str] = (),
    remaps: Mapping[str, str] | None = None,
) -> str | None:
    """Return the directory in which a closed session is to be resumed, None when no believable one is recorded.

    The `preferred` folders' transcripts come first, then every other folder's with that id.
    """
    paths = find_transcripts(projects_dir, session_id)
    paths.sort(key=lambda path: os.path.basename(os.path.dirname(path)) not in preferred)
    for path in paths:
        remap = (remaps or {}).get(os.path.basename(os.path.dirname(path)))
        cwd = recorded_cwd(path, remap).cwd
        if cwd is not None:
            return cwd
    return None


def list_sessions(projects_dir: str, limit: int, remaps: Mapping[str, str] | None = None) -> list[RecordedSession]:
    """Return the sessions written last, newest first, at most `limit`.

    Files that cannot be read, and transcripts in which nobody has said anything, are left out.
    """
    candidates = _transcripts(projects_dir)
    heapq.heapify(candidates)
    found: list[RecordedSession] = []
    silent = 0
    while candidates and len(found) < limit and silent <= MAX_SILENT:
        _, folder, name = heapq.heappop(candidates)
        session = _describe(f"{projects_dir}/{folder}/{name}", folder, (remaps or {}).get(folder))
        if session is None:
            silent += 1
        else:
            found.append(session)
    return found


def _transcripts(projects_dir: str) -> list[tuple[int, str, str]]:
    """Return (negative time, folder, name) of every session's file."""
    found: list[tuple[int, str, str]] = []
    looked_at = 0
    for folder in project_folders(projects_dir):
        for entry in _entries(folder):
            looked_at += 1
            if looked_at > MAX_ENTRIES:
                return found
            # Older versions keep subagents beside the sessions, as agent-<id>.jsonl.
            if entry.name.endswith(_SUFFIX) and not entry.name.startswith("agent-"):
                modified = _modified(entry.path)
                if modified is not None:
                    found.append((-modified, os.path.basename(folder), entry.name))
    return found


def _describe(path: str, folder: str, remap: str | None) -> RecordedSession | None:
    try:
        file, found = open_transcript(path)
    except OSError:
        return None
    try:
        head = read_at(file, 0, LISTING_WINDOW)
        rest = max(len(head), found.st_size - LISTING_WINDOW)
        tail = read_at(file, rest, found.st_size - rest)
    except OSError:
        return None
    finally:
        os.close(file)
    return describe(path, found.st_mtime_ns // 1_000_000, head, tail, find_cwd(rows_of(head), folder, remap).cwd)


def _file_names(session_id: str) -> list[str]:
    """Return the names a session's file may have; none for an id that is no file name."""
    if not session_id or "/" in session_id or "\0" in session_id or len(session_id) > 200:
        return []
    return list(dict.fromkeys((session_id + _SUFFIX, session_id.lower() + _SUFFIX)))


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _modified(path: str) -> int | None:
    """Return the time of a regular file in nanoseconds, None when there is none of that name."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


def open_transcript(path: str) -> tuple[int, os.stat_result]:
    """Open a transcript for reading, and return what was opened. Raises OSError: also for what is no regular file."""
    file = os.open(path, _FLAGS)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return file, found


def read_at(file: int, offset: int, length: int) -> bytes:
    """Return up to `length` bytes; fewer when the file ends, or is cut short meanwhile."""
    pieces: list[bytes] = []
    while length > 0:
        piece = os.pread(file, length, offset)
        if not piece:
            break
        pieces.append(piece)
        offset += len(piece)
        length -= len(piece)
    return b"".join(pieces)
