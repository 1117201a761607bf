"""What sessions are called (pure). Names and titles are anybody's to choose: a person's, a program's, a file's."""

from __future__ import annotations

import unicodedata

JOINER = "\u200d"
"""Invisible, and left in place: emoji are made with it."""

HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
"""Categories of characters that act on a terminal or on the text around them, or that nobody sees."""


def one_line(text: str) -> str:
    """Return `text` as one line that only shows: what would act or hide is a blank, and blanks in a row are one."""
    if not text.isprintable():
        text = "".join(" " if _hides(character) else character for character in text)
    return " ".join(text.split())


def display_name(text: str | None) -> str | None:
    """Return a name as it is kept and shown; None when nothing of it is left."""
    return one_line(text or "") or None


def _hides(character: str) -> bool:
    return character != JOINER and unicodedata.category(character) in HIDDEN
