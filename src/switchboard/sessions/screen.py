"""What a session's output says: modes as they stand, title, busy, attention (a driver of the pure readers)."""

from __future__ import annotations

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
