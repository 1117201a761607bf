"""The rows of a transcript, one JSON object a line, as far as this product reads them (pure).

Rows are undocumented output of a CLI: a field that is missing or of another type means that the row says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

Row = dict[str, object]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LONGEST_STAMP = 40  # an ISO-8601 instant with microseconds and an offset has 32 characters


def parse_row(line: bytes) -> Row | None:
    """Return the row in one line, None when the line is no JSON object.

    The standard parser does: it is lenient where nothing here looks, and a row nested too deeply for it is none.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def rows_of(window: bytes) -> Iterator[Row]:
    """Return the rows of a window that starts with the file. A last line that is only half there is no row."""
    return _rows(window.split(b"\n"))


def rows_backwards(window: bytes) -> Iterator[Row]:
    """Return the rows of a window that starts inside the file, last one first, without its cut first line."""
    return _rows(window.split(b"\n")[:0:-1])


def _rows(lines: list[bytes]) -> Iterator[Row]:
    for line in lines:
        row = parse_row(line) if line else None
        if row is not None:
            yield row


def text_of(row: Row, field: str) -> str | None:
    """Return a text field that is not empty."""
    value = row.get(field)
    return value if isinstance(value, str) and value else None


def stamp_of(row: Row) -> int | None:
    """Return the row's `timestamp` in whole wall milliseconds; None when it is no instant with a time zone."""
    value = row.get("timestamp")
    if not isinstance(value, str) or len(value) > _LONGEST_STAMP:
        return None
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return None
    return None if instant.tzinfo is None else (instant - _EPOCH) // _MILLISECOND


def message_of(row: Row) -> Row:
    """Return the row's `message`, an empty one when it has none."""
    message = row.get("message")
    return message if isinstance(message, dict) else {}


def prompt_text(row: Row) -> str | None:
    """Return what a `user` row says in plain text: None for tool results, and for rows that the CLI made itself."""
    if row.get("type") != "user" or row.get("isMeta") is True:
        return None
    return text_of(message_of(row), "content")


def is_sidechain(row: Row) -> bool:
    """Tell whether the row belongs to a subagent and not to the conversation."""
    return row.get("isSidechain") is True
