"""What a session's output says: modes as they stand, title, busy, attention (a driver of the pure readers)."""

from __future__ import annotations

from dataclasses import replace

from switchboard.sessions.activity import TerminalActivity, TitleRule
from switchboard.sessions.modes import TerminalModes
from switchboard.sessions.sequences import SequenceReader


class Screen:
    """Follows one terminal's output."""

    def __init__(self, rule: TitleRule) -> None:
        self._reader = SequenceReader()
        self._rule = rule
        self.activity = TerminalActivity()
        self.modes = TerminalModes()

    @property
    def undecided(self) -> int:
        """How many of the last bytes belong to a sequence that is not finished."""
        return self._reader.undecided

    def feed(self, data: bytes) -> tuple[bool, bool]:
        """Take output; return whether (activity, modes) have changed."""
        events = self._reader.feed(data)
        if not events:
            return False, False
        activity, modes = self.activity, self.modes
        for event in events:
            activity = activity.after(event, self._rule)
            modes = modes.after(event)
        changed = (activity != self.activity, modes != self.modes)
        self.activity, self.modes = activity, modes
        return changed

    def take_up(self, modes: bytes, title: str, busy: bool) -> None:
        """Continue from what an earlier host had read. `modes`: what brings a fresh terminal to the modes of then."""
        self.feed(modes)
        if title:
            self.feed(b"\x1b]0;" + title.encode() + b"\x07")
        # A progress report makes busy, too, and the title may not say so.
        self.activity = replace(self.activity, busy=busy)
