"""The terminal's title and progress (pure), as the measured CLI sets them."""

from __future__ import annotations

TICK_MS = 960
"""How long each busy glyph stands (measured: 0.96 s)."""

IDLE_GLYPH = "\u2733"
BUSY_GLYPHS = ("\u25d0", "\u25d1")
PROGRESS_TERMINALS = frozenset({"iTerm.app", "ghostty"})
"""`TERM_PROGRAM` values that are sent progress (OSC 9;4) and notifications (OSC 9)."""

_CONTROLS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))


def title(name: str, glyph: str) -> str:
    """The sequence that sets the window title to a glyph and a name."""
    return f"\x1b]0;{glyph} {name.translate(_CONTROLS)}\x07"


def busy_title(name: str, tick: int) -> str:
    """The title of a running turn; the glyph alternates with the tick number."""
    return title(name, BUSY_GLYPHS[tick % 2])


def idle_title(name: str) -> str:
    """The title while nothing runs, and while a dialog is open."""
    return title(name, IDLE_GLYPH)


def progress(busy: bool) -> str:
    """The progress sequence: indeterminate while busy, else none."""
    return f"\x1b]9;4;{3 if busy else 0};\x07"


def notification(text: str) -> str:
    """A desktop notification."""
    return f"\x1b]9;{text.translate(_CONTROLS)}\x07"
