"""How a status looks: an icon, a word and a style, never colour alone (pure).

Two tables: `Style` to terminal attributes, and a status to its icon, word and style. The shapes are those of the other
pages. A terminal that may not take UTF-8 gets ASCII shapes, one that asks for no colour gets weight and reversal only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Style(Enum):
    """What a stretch of text is, from which follows how it looks."""

    PLAIN = "plain"
    TITLE = "title"
    QUIET = "quiet"
    IDLE = "idle"
    BUSY = "busy"
    WAITING = "waiting"
    SHELL = "shell"
    FAILED = "failed"
    QUESTION = "question"
    WARNING = "warning"


_ATTRIBUTES: Mapping[Style, tuple[str, str]] = {
    # Style: (with colour, without). Waiting for a person is the loudest: bold, reversed, amber.
    Style.PLAIN: ("", ""),
    Style.TITLE: ("1", "1"),
    Style.QUIET: ("90", "2"),
    Style.IDLE: ("32", ""),
    Style.BUSY: ("34", ""),
    Style.WAITING: ("1;7;33", "1;7"),
    Style.SHELL: ("35", ""),
    Style.FAILED: ("1;31", "1"),
    Style.QUESTION: ("1", "1"),
    Style.WARNING: ("1;33", "1"),
}


@dataclass(frozen=True, slots=True)
class Look:
    """How this terminal is drawn to. `color`: NO_COLOR is not set. `unicode`: its locale says UTF-8."""

    color: bool = True
    unicode: bool = True

    def attributes(self, style: Style) -> str:
        """Return the SGR parameters of a style, empty for none."""
        return _ATTRIBUTES[style][0 if self.color else 1]

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."


@dataclass(frozen=True, slots=True)
class Status:
    """How one status is shown."""

    icon: str
    ascii_icon: str
    word: str
    style: Style


STATUSES: Mapping[str, Status] = {
    "starting": Status("◌", ".", "starting", Style.QUIET),
    "idle": Status("○", "o", "idle", Style.IDLE),
    "busy": Status("◐", "*", "busy", Style.BUSY),
    "waiting": Status("◆", "!", "waiting", Style.WAITING),
    "shell": Status("■", "#", "shell", Style.SHELL),
    "running": Status("●", "@", "running", Style.IDLE),
    "exited": Status("–", "-", "exited", Style.QUIET),
    "failed": Status("▲", "X", "failed", Style.FAILED),
    "closed": Status("·", " ", "closed", Style.QUIET),
    "unknown": Status("?", "?", "unknown", Style.QUIET),
}

WORD_CELLS = max(len(status.word) for status in STATUSES.values())


def look_of(env: Mapping[str, str]) -> Look:
    """Return how a terminal with this environment is drawn to.

    NO_COLOR counts when it is not empty. The first of LC_ALL, LC_CTYPE and LANG that is not empty names the encoding.
    """
    locale = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")
    return Look(color=not env.get("NO_COLOR"), unicode="utf8" in locale.lower().replace("-", ""))


def status_of(state: str, status: str) -> Status:
    """Return how a session in `state` (open, exited, closed) with `status` is shown."""
    if state == "closed":
        return STATUSES["closed"]
    if state == "exited" and status not in {"exited", "failed"}:
        return STATUSES["exited"]
    return STATUSES.get(status, STATUSES["unknown"])
