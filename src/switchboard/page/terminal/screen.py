"""A picture of the whole screen, and the bytes that put it there (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from switchboard.page.terminal.look import Look, Style
from switchboard.page.terminal.text import ascii_only, clip, plain, width


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text in one style."""

    text: str
    style: Style = Style.PLAIN


Row = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows from the top; rows beyond them are empty. `cursor`: (row, column) from 0, None hides it."""

    rows: tuple[Row, ...] = ()
    cursor: tuple[int, int] | None = None


def row(*spans: Span | str) -> Row:
    """Return a row; bare text is in the plain style."""
    return tuple(Span(span) if isinstance(span, str) else span for span in spans)


def cells_of(spans: Sequence[Span]) -> int:
    """Return how many cells a row takes."""
    return sum(width(span.text) for span in spans)


def paint(picture: Picture, before: Picture | None, columns: int, rows: int, look: Look) -> bytes:
    """Return the bytes that change a screen showing `before` (None: anything) into `picture`.

    Each row is erased before it is written, not after: erasing behind a full row would take its last character.
    """
    out: list[str] = ["\x1b[?25l"]
    if before is None:
        out.append("\x1b[0m\x1b[2J")
    for number in range(rows):
        wanted = picture.rows[number] if number < len(picture.rows) else ()
        shown = () if before is None else before.rows[number] if number < len(before.rows) else ()
        if wanted != shown:
            out.append(f"\x1b[{number + 1};1H\x1b[K{_styled(wanted, columns, look)}")
    if picture.cursor is not None:
        line, column = picture.cursor
        out.append(f"\x1b[{min(line, rows - 1) + 1};{min(column, columns - 1) + 1}H\x1b[?25h")
    return "".join(out).encode("utf-8", "replace")


def notice(text: str, columns: int, look: Look) -> bytes:
    """Return the bytes that lay a notice over the first row of a session's screen, leaving the cursor where it is.

    At the right, because screens begin at the left; on the first row, because people type on the last.
    """
    text = f" {clip(_taken(text, look), max(0, columns - 2), look.ellipsis)} "
    if columns < 3:
        return b""
    start = max(1, columns - width(text) + 1)
    return f"\x1b7\x1b[0m\x1b[1;{start}H\x1b[{look.attributes(Style.WAITING)}m{text}\x1b[0m\x1b8".encode(
        "utf-8", "replace"
    )


def fitted(spans: Row, columns: int, look: Look) -> Row:
    """Return a row as this terminal can show it: nothing in it is obeyed, and it ends at the last column."""
    out: list[Span] = []
    room = columns
    for span in spans:
        text = clip(_taken(span.text, look), room, look.ellipsis)
        room -= width(text)
        out.append(Span(text, span.style))
    return tuple(out)


def _styled(spans: Row, columns: int, look: Look) -> str:
    out: list[str] = []
    for span in fitted(spans, columns, look):
        attributes = look.attributes(span.style)
        out.append(f"\x1b[{attributes}m{span.text}\x1b[0m" if attributes and span.text else span.text)
    return "".join(out)


def _taken(text: str, look: Look) -> str:
    return plain(text) if look.unicode else ascii_only(plain(text))
