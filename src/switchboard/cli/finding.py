"""One thing that `switchboard doctor` has looked at (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found. `remedy` says what to do about a note or a problem."""

    level: Level
    text: str
    remedy: str | None = None
