"""What a key does (pure): a table of the keys that mean something here; every other key edits the box."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

TWICE_MS = 2_000
"""The second Ctrl-C within this long leaves."""

DOUBLE_ESCAPE_MS = 600

NEVER = -1_000_000


class Deed(Enum):
    """What a key makes the agent do."""

    EDIT = auto()
    SUBMIT = auto()
    NEWLINE = auto()
    BREAK_LINE = auto()  # a backslash before Enter becomes a line break
    CLEAR = auto()
    INTERRUPT = auto()
    WARN = auto()  # one more Ctrl-C leaves
    LEAVE = auto()
    COMPLETE = auto()
    PREVIOUS = auto()
    NEXT = auto()
    UNQUEUE = auto()
    CHOOSE = auto()  # the highlighted option
    CANCEL = auto()  # close the dialog without an answer
    OPTION_UP = auto()
    OPTION_DOWN = auto()
    REDRAW = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Situation:
    """What the meaning of a key depends on."""

    box: str = ""
    busy: bool = False
    dialog: bool = False
    queued: bool = False


_IN_DIALOG = {
    "c-m": Deed.CHOOSE,
    "escape": Deed.CANCEL,
    "c-c": Deed.CANCEL,
    "up": Deed.OPTION_UP,
    "down": Deed.OPTION_DOWN,
    "c-p": Deed.OPTION_UP,
    "c-n": Deed.OPTION_DOWN,
    "c-l": Deed.REDRAW,
}

_IN_BOX = {
    "c-j": Deed.NEWLINE,
    "c-i": Deed.COMPLETE,
    "down": Deed.NEXT,
    "c-l": Deed.REDRAW,
    # The line editor would take the next character raw, search, or insert a control character.
    "c-q": Deed.NOTHING,
    "c-v": Deed.NOTHING,
    "c-r": Deed.NOTHING,
    "c-s": Deed.NOTHING,
    "c-z": Deed.NOTHING,
}


_WITH_ALT = frozenset({"b", "f", "d", "c-h", "delete", "left", "right"})
"""Keys that mean something together with Alt: they move or delete. The line editor would insert the others."""


@dataclass(frozen=True, slots=True)
class Keyboard:
    """The keys pressed last that matter: an Escape, and a Ctrl-C into an empty box (wall milliseconds)."""

    escape_at: int = NEVER
    warned_at: int = NEVER

    def pressed(self, names: tuple[str, ...], situation: Situation, now: int) -> tuple[Keyboard, Deed]:
        """Return the keyboard and what the key does."""
        name = names[0] if len(names) == 1 else ""
        if situation.dialog:
            return Keyboard(), _IN_DIALOG.get(name, Deed.NOTHING)
        following = replace(self, escape_at=NEVER)
        if len(names) > 1:
            return following, Deed.EDIT if names[0] == "escape" and names[1] in _WITH_ALT else Deed.NOTHING
        match name:
            case "escape":
                return self._escape(situation, now)
            case "c-c":
                return self._interrupt(situation, now)
            case "c-m":
                return following, _enter(situation.box)
            case "c-d":
                return following, Deed.EDIT if situation.box else Deed.LEAVE
            case "up":
                return following, Deed.UNQUEUE if situation.queued and not situation.box else Deed.PREVIOUS
            case _:
                return following, _IN_BOX.get(name, Deed.EDIT)

    def _escape(self, situation: Situation, now: int) -> tuple[Keyboard, Deed]:
        if situation.busy:
            return replace(self, escape_at=NEVER), Deed.INTERRUPT
        if situation.box and now - self.escape_at <= DOUBLE_ESCAPE_MS:
            return replace(self, escape_at=NEVER), Deed.CLEAR
        return replace(self, escape_at=now), Deed.NOTHING

    def _interrupt(self, situation: Situation, now: int) -> tuple[Keyboard, Deed]:
        if situation.box:
            return replace(self, escape_at=NEVER), Deed.CLEAR
        if now - self.warned_at <= TWICE_MS:
            return self, Deed.LEAVE
        return Keyboard(warned_at=now), Deed.INTERRUPT if situation.busy else Deed.WARN


def _enter(box: str) -> Deed:
    if not box.strip():
        return Deed.NOTHING
    return Deed.BREAK_LINE if box.endswith("\\") else Deed.SUBMIT
