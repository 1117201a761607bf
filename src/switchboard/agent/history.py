"""Earlier prompts, as Up and Down walk through them (pure)."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class History:
    """`entries`: oldest first. `position`: the entry shown, None while the draft is. `draft`: what was typed before."""

    entries: tuple[str, ...] = ()
    position: int | None = None
    draft: str = ""

    def added(self, text: str) -> History:
        """Something was submitted; the same thing twice in a row is kept once."""
        if not text or self.entries[-1:] == (text,):
            return History(self.entries)
        return History((*self.entries, text))

    def moved(self, step: int, shown: str) -> tuple[History, str | None]:
        """Go to the entry before (-1) or after (1); return what to show, None when there is nothing there.

        After the newest comes the draft again. `shown` is what is shown now: the draft, when no entry is.
        """
        if self.position is None:
            if step > 0 or not self.entries:
                return self, None
            following = History(self.entries, len(self.entries) - 1, shown)
            return following, self.entries[-1]
        position = self.position + step
        if position < 0:
            return self, None
        if position >= len(self.entries):
            return History(self.entries), self.draft
        return replace(self, position=position), self.entries[position]
