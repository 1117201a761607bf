"""From what is in the box to what the transcript records (pure)."""

from __future__ import annotations

import re
import unicodedata

_PLACEHOLDER = re.compile(r"\[Pasted text #([0-9]+)(?: \+[0-9]+ lines)?\]")
_PASTED = re.compile(r"<pasted_content id=\"[0-9]+\">\n.*?\n</pasted_content>", re.DOTALL)
_CONTROLS = {code: "\u241b" if code == 0x1B else "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    0x09: "    ",
    0x0A: "\n",
    0x0D: "\n",
}


def normalise(text: str) -> str:
    """The text as the transcript shows it: NFC, and without white space at its end (measured)."""
    return unicodedata.normalize("NFC", text).rstrip()


def placeholder(number: int, text: str) -> str:
    """What stands in the box for a long paste."""
    lines = text.count("\n")
    return f"[Pasted text #{number} +{lines} lines]" if lines else f"[Pasted text #{number}]"


def expand_pastes(box: str, pastes: tuple[str, ...]) -> str:
    """Put the pasted texts, wrapped, where their placeholders still stand. So the record is not what was pasted."""

    def wrapped(match: re.Match[str]) -> str:
        number = int(match.group(1))
        if not 1 <= number <= len(pastes):
            return match.group(0)
        text = pastes[number - 1]
        if match.group(0) != placeholder(number, text):
            return match.group(0)
        return f'<pasted_content id="{number}">\n{text}\n</pasted_content>'

    return _PLACEHOLDER.sub(wrapped, box)


def without_pastes(text: str) -> str:
    """The typed part of a prompt: directives in a pasted document are quotations, not requests."""
    return _PASTED.sub("", text)


def printable(text: str) -> str:
    """The text with nothing in it that a terminal would obey; line breaks stay, tabs become spaces."""
    return text.replace("\r\n", "\n").translate(_CONTROLS)


def shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "\u2026"
