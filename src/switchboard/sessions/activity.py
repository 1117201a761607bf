"""What a session's titles and notifications say: busy or not, and does it want a person?

The rule is the one of the legacy trigger contract: a title whose first character is one of the CLI's spinner glyphs
means busy, its resting glyph means idle, and only that clears the flag; a progress report (OSC 9;4) means busy; other
OSC 9 texts are notifications, of which some ask for attention and one says that the CLI waits for input. How much of it
applies is data of the CLI's profile (`TITLE_RULES`).

Only OSC 0 speaks for the CLI. Programs that it starts set OSC 2 as well, so that one is of no account here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from switchboard.common.names import one_line
from switchboard.sessions.vocabulary import Osc, TerminalEvent

MAX_TEXT: Final = 120
"""Characters of a title or notification that are read and kept."""

_ATTENTION = re.compile(r"attention|approval|permission|needs your|wants to enter", re.IGNORECASE)
_WAITING = re.compile(r"waiting for your input", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TitleRule:
    """How a CLI's terminal is read.

    `idle`, `busy`: ranges of first code points of a title, both ends included. `attention`: beginnings of a title that
    says that a dialog is open, which counts as busy: text typed now would answer it. `symbol_is_busy`: any other
    character beyond ASCII that stands alone before a space and more text means busy. `text_is_idle`: every other title
    means idle, else it decides nothing. `progress_ends`: OSC 9;4;0 clears the flag. `reports_state`: OSC 7501 is
    believed.
    """

    idle: tuple[tuple[int, int], ...] = ()
    busy: tuple[tuple[int, int], ...] = ()
    attention: tuple[str, ...] = ()
    symbol_is_busy: bool = False
    text_is_idle: bool = False
    progress_ends: bool = False
    reports_state: bool = False

    def verdict(self, title: str) -> bool | None:
        """Return True for busy, False for idle, None when the title decides nothing."""
        first = title[:1]
        if _within(first, self.idle):
            return False
        if _within(first, self.busy) or self.wants_attention(title):
            return True
        if self.symbol_is_busy and not first.isascii() and title[1:2] == " " and title[2:].strip():
            return True
        return False if self.text_is_idle and title else None

    def name(self, title: str) -> str:
        """Return the title without the glyph that carries the state: what the CLI calls the session."""
        first = title[:1]
        marked = _within(first, self.idle) or _within(first, self.busy)
        return title[1:].strip() if marked else title.strip()

    def wants_attention(self, title: str) -> bool:
        """Tell whether the title says that a person must decide something."""
        return title.startswith(self.attention)


_RESTING = ((0x2733, 0x2733),)
_SPINNERS = ((0x2800, 0x28FF), (0x25D0, 0x25D3))  # braille patterns; circles that are half black

TITLE_RULES: Final = {
    "claude": TitleRule(idle=_RESTING, busy=_SPINNERS, symbol_is_busy=True),
    # A shell's titles are texts of any kind, so a symbol says nothing. The programs in it rest on no glyph of theirs:
    # were the end of a progress bar ignored as elsewhere, one build would make the terminal busy for ever.
    "plain": TitleRule(idle=_RESTING, busy=_SPINNERS, progress_ends=True),
    # Measured: Codex draws a braille spinner before its title, takes it away, and publishes its state beside.
    "codex": TitleRule(busy=_SPINNERS, attention=("[ ! ]", "[ . ]"), text_is_idle=True, reports_state=True),
    # Measured: Gemini CLI has a glyph for ready, for working and for a dialog.
    "gemini": TitleRule(idle=((0x25C7, 0x25C7),), busy=((0x2726, 0x2726),), attention=("\u270b",)),
}
"""The rules by the name that a CLI's profile gives."""


@dataclass(frozen=True, slots=True)
class TerminalActivity:
    """What is known from the terminal. A new value is a session that has said nothing.

    `busy`: the flag that deliveries wait for. `title`: the last title, printable, "" when there was none. `attention`:
    the CLI has asked for a person since `seen`. `waiting`: it has said that it waits for input since it was last busy
    (a view may show it as ready; the flag stays). `notification`: the last notification's text, and `notifications`
    how many there were.
    """

    busy: bool = False
    title: str = ""
    attention: bool = False
    waiting: bool = False
    notification: str = ""
    notifications: int = 0

    def after(self, event: TerminalEvent, rule: TitleRule) -> TerminalActivity:
        """Return the activity after an event of the output; the same object when nothing has changed."""
        if not isinstance(event, Osc):
            return self
        payload = event.payload[:MAX_TEXT]
        match event.number:
            case 0:
                after = self._titled(payload, rule)
            case 9:
                after = self._notified(payload, rule)
            case 7501 if rule.reports_state:
                after = self._reported(payload)
            case _:
                return self
        return self if after == self else after

    def seen(self) -> TerminalActivity:
        """Return the activity after a person has looked at the session."""
        return replace(self, attention=False, waiting=False)

    def ended(self) -> TerminalActivity:
        """Return the activity after the process has exited: nothing runs and nothing is asked for any more."""
        return replace(self, busy=False, attention=False, waiting=False)

    def _decided(self, busy: bool | None) -> TerminalActivity:
        if busy is None:
            return self
        return replace(self, busy=busy, waiting=self.waiting and not busy)

    def _titled(self, payload: str, rule: TitleRule) -> TerminalActivity:
        after = replace(self._decided(rule.verdict(payload)), title=one_line(payload))
        return replace(after, attention=True) if rule.wants_attention(payload) else after

    def _notified(self, payload: str, rule: TitleRule) -> TerminalActivity:
        kind, _, rest = payload.partition(";")
        if kind == "4":
            state = rest.partition(";")[0]
            if state in ("1", "2", "3"):
                return self._decided(True)
            return self._decided(False) if rule.progress_ends and state == "0" else self
        return replace(
            self,
            attention=self.attention or bool(_ATTENTION.search(payload)),
            waiting=self.waiting or bool(_WAITING.search(payload)),
            notification=one_line(payload),
            notifications=self.notifications + 1,
        )

    def _reported(self, payload: str) -> TerminalActivity:
        """Read a program status report (OSC 7501): pairs of key and value, of the program itself or of a part of it."""
        pairs = dict(pair.partition("=")[::2] for pair in payload.split(":"))
        if "id" in pairs:
            return self
        match pairs.get("state"):
            case "working":
                return self._decided(True)
            case "blocked":
                # The turn goes on, and text typed now would answer the dialog.
                return replace(self._decided(True), attention=True)
            case "idle" | "done" | "error" | "clear":
                return self._decided(False)
        return self


def _within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return bool(character) and any(first <= ord(character) <= last for first, last in ranges)
