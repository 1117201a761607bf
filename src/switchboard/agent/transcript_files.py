"""Transcripts on disk (door)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from switchboard.agent.layout import projects_folder
from switchboard.agent.rows import Row
from switchboard.common.strict_json import JsonSyntaxError, decode_utf8, dump, parse

TAIL_BYTES = 256 * 1024
"""How much of an earlier conversation is read for its recap."""

COPY_BYTES = 64 * 1024 * 1024
"""How much of a conversation is copied when it is forked."""


class Window(NamedTuple):
    """Rows from the end of a transcript. `complete`: there are none before them."""

    rows: list[Row]
    complete: bool


def find_transcript(home: str, session_id: str) -> str | None:
    """The transcript of a conversation in whichever folder it lies, None when there is none.

    Folders are searched rather than computed: a conversation may be taken up from another directory.
    """
    projects = projects_folder(home)
    try:
        folders = sorted(os.listdir(projects))
    except (FileNotFoundError, NotADirectoryError):
        return None
    for folder in folders:
        for name in dict.fromkeys((session_id, session_id.lower())):
            path = f"{projects}/{folder}/{name}.jsonl"
            if os.path.isfile(path):
                return path
    return None


def append_rows(path: str, rows: Iterable[Row]) -> None:
    """Add rows to a transcript, making it and its folder when needed. Raises OSError."""
    data = b"".join(dump(row) + b"\n" for row in rows)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def read_window(path: str, limit: int = TAIL_BYTES) -> Window:
    """The rows in the last `limit` bytes; a row that was cut and lines that are no JSON object are left out.

    Raises OSError.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = max(0, size - limit)
        file.seek(start)
        lines = file.read(limit).split(b"\n")
    rows = (_row(line) for line in (lines[1:] if start else lines))
    return Window([row for row in rows if row is not None], start == 0)


def _row(line: bytes) -> Row | None:
    try:
        value = parse(decode_utf8(line))
    except JsonSyntaxError:
        return None
    return value if isinstance(value, dict) else None
