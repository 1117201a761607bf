"""The background jobs of Claude Code, as its jobs folder tells of them (door).

`claude --bg`, and a session that is sent to the background, are recorded in `jobs/<id>/state.json` at once; the process
that goes on with the conversation shows its descriptor 1 to 8 s later (measured in 2.1.197 and 2.1.332). In between the
record is the only sign that somebody has the conversation. It is rewritten when the job is stopped or done, and by
nobody when its processes are killed: then it goes on claiming the conversation until `claude stop` or `claude rm`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from switchboard.clis.liveness import Background, Unknown, Where
from switchboard.common.strict_json import JsonSyntaxError, decode_utf8, parse

OVER = frozenset({"done", "stopped"})
"""States in which a job has let go of its conversation."""

LIVE = frozenset({"starting", "working", "blocked"})
"""States in which it has it."""

MAX_JOBS = 20_000
"""A listing stops there, and then nothing is known of the rest."""

_MAX_BYTES = 1_048_576  # a record is about 700 bytes and repeats the prompt
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job. `sessions`: the conversations that it has, lower case; `state`: as written, None when it says none."""

    job: str
    state: str | None
    sessions: frozenset[str]
    cwd: str | None


def parse_job(job: str, data: bytes) -> JobRecord | None:
    """Return the job that these bytes record, None when they are no record (torn, or something else)."""
    try:
        body = parse(decode_utf8(data))
    except JsonSyntaxError:
        return None
    if not isinstance(body, dict):
        return None
    texts = {field: value for field, value in body.items() if isinstance(value, str) and value}
    sessions = frozenset(texts[field].lower() for field in ("sessionId", "resumeSessionId") if field in texts)
    return JobRecord(job, texts.get("state"), sessions, texts.get("cwd"))


def job_that_has(folders: Callable[[], Sequence[str]], session_id: str) -> Background | Unknown | None:
    """Return the job that has the session, or what cannot be read and may record one; None when no job has it.

    `folders`: the jobs folders, which need not exist. Looks at the files as they are now; never raises.
    """
    key = session_id.lower()
    doubt: Unknown | None = None
    for folder in folders():
        for path, record in _records(folder):
            if record is None:
                doubt = doubt or Unknown(f"{path} cannot be read and may record a background job of this session")
            elif key not in record.sessions or record.state in OVER:
                continue
            elif record.state in LIVE:
                return Background(record.job, Where(None, record.cwd, None, path))
            else:
                said = "no state" if record.state is None else f"the state {record.state!r}"
                doubt = Unknown(f"{path} records a background job of this session in {said}; `claude stop` ends it")
    return doubt


def _records(folder: str) -> Iterator[tuple[str, JobRecord | None]]:
    """Return each file's path and what it records; None for what cannot be read."""
    try:
        with os.scandir(folder) as entries:
            jobs = sorted(entry.name for entry in islice(entries, MAX_JOBS) if _may_be_job(entry))
    except FileNotFoundError:
        return
    except OSError:
        yield folder, None
        return
    if len(jobs) == MAX_JOBS:
        yield folder, None
    for job in jobs:
        path = f"{folder}/{job}/state.json"
        try:
            data = _contents(path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # a link to nowhere, or to a file, records nothing
        except OSError:
            yield path, None
            continue
        yield path, parse_job(job, data)


def _may_be_job(entry: os.DirEntry[str]) -> bool:
    """A folder, or a link: Claude Code follows one, and so does whoever looks what it has recorded."""
    return entry.is_symlink() or entry.is_dir(follow_symlinks=False)


def _contents(path: str) -> bytes:
    file = os.open(path, _FLAGS)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES:
            raise OSError("no regular file, or too large")
        return os.read(file, _MAX_BYTES)
    finally:
        os.close(file)
