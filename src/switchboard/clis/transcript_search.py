"""Looks through a transcript for what was recorded since an instant (door), however much has been written after it.

Window by window from the end, so that a caller can do something else in between: no look reads more than a window. Of
a file that has grown beyond `MAX_BACK` since then, the end of the search is not the end of the file.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

from switchboard.clis.transcript_files import WINDOW, open_transcript, read_at
from switchboard.clis.transcript_rows import Row, parse_row, stamp_of
from switchboard.clis.transcripts import MAX_LINE, TranscriptReader
from switchboard.common.facts import TurnEvidence

MAX_BACK = 268_435_456
"""So many bytes are looked through at most: 1,024 windows, two to three seconds of work in all."""

_TELLING = (b'"user"', b'"queue-operation"', b'"compact_boundary"')
"""What can record a prompt or a compaction; other rows are read for their time alone, and only one of them."""


def entries_since(path: str, since: int) -> Generator[TurnEvidence]:
    """Give the prompts and compactions of one window after the other, the last one first, back to `since`.

    `since`: wall milliseconds. Only `prompts` and `boundaries` mean anything. Ends where the file cannot be read.
    """
    try:
        file, found = open_transcript(path)
    except OSError:
        return
    try:
        yield from _windows(file, found.st_size, since)
    except OSError:
        return
    finally:
        os.close(file)


def _windows(file: int, size: int, since: int) -> Iterator[TurnEvidence]:
    position, cut = size, b""
    while position > max(0, size - MAX_BACK):
        start = max(0, position - WINDOW)
        lines = (read_at(file, start, position - start) + cut).split(b"\n")
        position = start
        cut = lines.pop(0) if start else b""
        if len(cut) > MAX_LINE:
            cut = b""  # no prompt is as long, and what is left of the row is none
        yield from _told(lines)
        if _all_before(lines, since):
            return


def _told(lines: list[bytes]) -> Iterator[TurnEvidence]:
    """A few rows at a time: a reader keeps the newest of many prompts."""
    telling = [line for line in lines if any(word in line for word in _TELLING)]
    for first in range(0, len(telling), 50):
        reader = TranscriptReader()
        reader.feed(b"\n".join(telling[first : first + 50]) + b"\n")
        yield reader.evidence(0)


def _all_before(lines: list[bytes], since: int) -> bool:
    """Whether the newest row with a time is older. A window without one says nothing."""
    rows: Iterator[Row | None] = (parse_row(line) for line in reversed(lines) if line)
    at = next((stamp for row in rows if row is not None and (stamp := stamp_of(row)) is not None), None)
    return at is not None and at < since
