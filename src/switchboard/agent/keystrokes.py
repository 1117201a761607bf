"""From what a terminal sends to keys, text and pastes (pure).

Theory of operation. What matters is not only which characters arrive but how many come in one read, because the
measured CLI guesses from that whether a person typed or pasted. A read that opens a burst (nothing came in the last
`BURST_MS`) and is long, or has many lines, is a paste without markers; what follows without a pause belongs to it,
until a lone Enter. Within a burst that began short nothing is a paste: a sender that paces its chunks is never
mistaken, even when a busy machine lets two chunks arrive at once. A text of some length with Enter in the same read
is left in the box with a line break.

Sequences that are no key here (answers to queries, focus and mouse reports) are dropped. A cut sequence is held until
the rest comes; `flush` gives up waiting, which is how a lone Escape becomes a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from switchboard.common.ecma import utf16_length

BURST_MS = 100
NEWLINE_FROM = 64  # measured: text and Enter in one write submit up to 60 characters; from 64 Enter is a line break
PASTE_OVER = 800  # measured: one write of more characters is a paste
PASTE_LINES = 3  # measured: so is one of more lines
HOLD_LIMIT = 4096  # no answer of a terminal is longer
PASTE_LIMIT = 1_000_000

_SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[\[[A-E]"  # function keys of the Linux console
    r"|\[[0-?]*[ -/]*[@-Z\\-~]"
    r"|O[ -~]"
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
    r")"
)
_CUT = re.compile(r"\x1b(?:\[\[?|\[[0-?]*[ -/]*|O|[\]PX^_][^\x07\x1b]*\x1b?)?")
_TEXT = re.compile(r"[^\x00-\x1f\x7f]+")
_MODIFIED_ENTER = re.compile(r"\x1b\[(?:13;[0-9:]+u|27;[0-9]+;13~)")
_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
_NEWLINE = ("c-j",)


@dataclass(frozen=True, slots=True)
class Text:
    """Characters typed."""

    text: str


@dataclass(frozen=True, slots=True)
class Key:
    """A key that is no character, by the line editor's names; two names: Alt and a key."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Paste:
    """Text pasted. `continues`: it belongs to the paste before."""

    text: str
    continues: bool = False


Stroke: TypeAlias = "Text | Key | Paste"


class Keystrokes:
    """Turns reads into strokes. `sequences`: the line editor's names for control characters and escape sequences."""

    def __init__(self, sequences: Mapping[str, tuple[str, ...]]) -> None:
        self._sequences = sequences
        self._held = ""
        self._pasting: list[str] | None = None
        self._bulk = False
        self._last_read_at = -BURST_MS - 1

    @property
    def held(self) -> bool:
        """Whether a cut sequence waits for its rest."""
        return bool(self._held)

    def read(self, text: str, at: int) -> list[Stroke]:
        """Take what one read gave, at wall milliseconds `at`."""
        opening = at - self._last_read_at > BURST_MS
        self._last_read_at = at
        if not self._held and self._pasting is None and "\x1b" not in text:
            continues = self._bulk and not opening and text != "\r"
            self._bulk = continues or (opening and _is_bulk(text))
            if self._bulk:
                return [Paste(_lines(text), continues)]
            text = _soften(text)
        else:
            self._bulk = False
        return self._split(text)

    def flush(self) -> list[Stroke]:
        """Nothing more came: a lone Escape is the key, any other cut sequence is dropped."""
        if self._pasting is not None:
            return []  # the rest of a paste may take its time
        held, self._held = self._held, ""
        return [Key(("escape",))] if held == "\x1b" else []

    def _split(self, text: str) -> list[Stroke]:
        text, self._held = self._held + text, ""
        strokes: list[Stroke] = []
        at = 0
        while at < len(text):
            if self._pasting is not None:
                at = self._paste(text, at, strokes)
            elif text[at] == "\x1b":
                at = self._escape(text, at, strokes)
            elif match := _TEXT.match(text, at):
                strokes.append(Text(match.group()))
                at = match.end()
            else:
                names = self._sequences.get(text[at])
                strokes.extend([Key(names)] if names else [])
                at += 1
        return strokes

    def _escape(self, text: str, at: int, strokes: list[Stroke]) -> int:
        if match := _SEQUENCE.match(text, at):
            sequence = match.group()
            if sequence == _PASTE_START:
                self._pasting = []
            elif _MODIFIED_ENTER.fullmatch(sequence):
                strokes.append(Key(_NEWLINE))
            elif names := self._sequences.get(sequence):
                strokes.append(Key(names))
            return match.end()
        if _CUT.fullmatch(text, at):
            # Beyond the limit it is no sequence of any terminal: drop it rather than keep it for ever.
            self._held = text[at:] if len(text) - at <= HOLD_LIMIT else ""
            return len(text)
        following = text[at + 1]
        if following in "\r\n":
            strokes.append(Key(_NEWLINE))
        elif following == "\x1b":
            strokes.append(Key(("escape",)))
            return at + 1
        else:
            strokes.append(Key(("escape", *self._sequences.get(following, (following,)))))
        return at + 2

    def _paste(self, text: str, at: int, strokes: list[Stroke]) -> int:
        assert self._pasting is not None
        end = text.find(_PASTE_END, at)
        if end >= 0:
            content = _lines("".join((*self._pasting, text[at:end])))[:PASTE_LIMIT]
            self._pasting = None
            strokes.append(Paste(content))
            return end + len(_PASTE_END)
        # The end marker may be cut: keep what may be its beginning.
        keep = next((n for n in range(len(_PASTE_END) - 1, 0, -1) if text.endswith(_PASTE_END[:n], at)), 0)
        self._held = text[len(text) - keep :]
        if sum(map(len, self._pasting)) < PASTE_LIMIT:
            self._pasting.append(text[at : len(text) - keep])
        return len(text)


def is_long(text: str) -> bool:
    """Whether a pasted text is shown as a placeholder rather than in full."""
    return utf16_length(text) > PASTE_OVER or text.count("\n") >= PASTE_LINES


def _is_bulk(text: str) -> bool:
    typed = text.rstrip("\r\n")
    if any((character < " " and character not in "\t\r\n") or character == "\x7f" for character in typed):
        return False
    return utf16_length(typed) > PASTE_OVER or len(typed.splitlines()) > PASTE_LINES


def _soften(text: str) -> str:
    if text.endswith("\r") and utf16_length(text) - 1 >= NEWLINE_FROM:
        return text.replace("\r", "\n")
    return text


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
