"""What a person's unsubmitted input amounts to: how many code points stand before and behind the cursor.

Theory of operation. Deleting a word needs to know where words end, nothing needs to know which words they are, so the
text itself is not kept: each side of the cursor is a row of runs (whitespace, word) in text order. Backslashes are runs
of their own within a word, because an Enter behind one does not submit. A draft therefore holds no secrets, and 300 KB
of pasted prose cost a few thousand small integers.

The count may be too high, never too low: doubt resolves to "occupied". Where the runs are not known (more of them than
`MAX_RUNS`, or a state restored from a snapshot), text is a *blurred* run. Deleting a word out of a blurred run takes
one code point, so at most what really went. Moving by a word into one puts the cursor at an unknown place, and while
the place is unknown nothing can be deleted but everything at once; Home and End make it known again. A draft whose
history was lost (`occupy`) counts as text until it is cleared.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from typing import Final

from switchboard.common.ecma import WHITESPACE, as_integer

MAX_RUNS: Final = 16_384
"""Runs kept exactly on one side of the cursor: some 50,000 characters of prose, 128 KiB of references at the most."""

MAX_EXACT_INSERT: Final = 32_768
"""Code points of one insertion whose runs are looked at; what stands before them is blurred. Keeps a paste in one piece
under a few milliseconds."""

KEPT_RUNS: Final = 128
"""Runs of one side in a snapshot, which stays under 8 KiB so that it can be stored at every keystroke."""

MAX_WORD_RUNS: Final = 64
"""Runs that one step over a word looks at. A word with more backslashes than that is no longer known exactly, so that
steps over it stay cheap."""

MAX_COUNT: Final = 2**53
"""Beyond any text that was ever typed; a larger number in a snapshot is no count."""

_WORD, _SPACE, _BLURRED, _BACKSLASH = 0, 1, 2, 3
_KINDS = 4  # a run is the integer `length * _KINDS + kind`

_RUN = re.compile(rf"[{WHITESPACE}]+|\\+|[^{WHITESPACE}\\]+")


class Draft:
    """Unsubmitted text with a cursor. Operations take time in proportion to the text they are given, if any."""

    __slots__ = ("_after", "_before", "_lost", "_place_known")

    def __init__(self) -> None:
        self._before = _Side(near_right=True)
        self._after = _Side(near_right=False)
        self._place_known = True  # while False, all text is blurred and stands in `_before`
        self._lost = False

    def __len__(self) -> int:
        """Code points of text; at least 1 while the draft is lost."""
        return max(self._before.total + self._after.total, int(self._lost))

    def insert(self, text: str) -> None:
        """Insert at the cursor."""
        if not self._place_known:
            self._before.push(_BLURRED, len(text))
            return
        start = max(0, len(text) - MAX_EXACT_INSERT)
        self._before.push(_BLURRED, start)
        for run in _RUN.finditer(text, start):
            piece = run.group()
            self._before.push(_kind(piece[0]), len(piece))

    def clear(self) -> None:
        """Everything was submitted or thrown away."""
        self._before.clear()
        self._after.clear()
        self._place_known = True
        self._lost = False

    def occupy(self) -> None:
        """There is text of which nothing is known: only `clear` empties the draft."""
        self._lose_place()
        self._lost = True

    def escaped(self, *, in_pairs: bool = False) -> bool:
        """Whether a backslash is known to stand before the cursor or at the end of the text.

        `in_pairs`: the first of two quotes the second, so that only an odd number of them counts.
        """
        return self._before.escaped(in_pairs, near=True) or self._after.escaped(in_pairs, near=False)

    def break_line(self, *, in_pairs: bool = False) -> None:
        """Make the backslash of `escaped` a line break."""
        if not self._before.escaped(in_pairs, near=True):
            self.end()
        self._before.take(1)
        self.insert("\n")

    def delete_behind(self) -> None:
        """Delete one code point before the cursor."""
        if self._place_known:
            self._before.take(1)

    def delete_ahead(self) -> None:
        """Delete one code point after the cursor."""
        if self._place_known:
            self._after.take(1)

    def delete_word_behind(self) -> None:
        """Delete the whitespace before the cursor, then the word before that."""
        if not self._place_known:
            return
        if self._before.near() == _SPACE:
            self._before.take(MAX_COUNT)
        if self._before.near() == _BLURRED:
            self._before.take(1)
            return
        for _ in range(MAX_WORD_RUNS):
            if self._before.near() not in (_WORD, _BACKSLASH):
                break
            self._before.take(MAX_COUNT)

    def delete_to_end(self) -> None:
        """Delete everything after the cursor."""
        if self._place_known:
            self._after.clear()

    def home(self) -> None:
        """Move the cursor before all text."""
        self._gather(at_end=False)

    def end(self) -> None:
        """Move the cursor after all text."""
        self._gather(at_end=True)

    def left(self) -> None:
        """Move over one code point."""
        if self._place_known:
            self._after.push(*self._before.take(1))

    def right(self) -> None:
        """Move over one code point."""
        if self._place_known:
            self._before.push(*self._after.take(1))

    def word_left(self) -> None:
        """Move over whitespace, then over a word."""
        self._move_word(self._before, self._after)

    def word_right(self) -> None:
        """Move over whitespace, then over a word."""
        self._move_word(self._after, self._before)

    def snapshot(self) -> dict[str, object]:
        """The draft as a small JSON object; text far from the cursor comes back blurred."""
        return {
            "before": self._before.snapshot(),
            "after": self._after.snapshot(),
            "place_known": self._place_known,
            "lost": self._lost,
        }

    @classmethod
    def restored(cls, snapshot: object) -> Draft:
        """The draft of a snapshot. Raises `ValueError` for anything that `snapshot` does not return."""
        draft = cls()
        match snapshot:
            case {"before": before, "after": after, "place_known": bool(place_known), "lost": bool(lost)}:
                draft._before.restore(before)
                draft._after.restore(after)
            case _:
                raise ValueError("not a draft's snapshot")
        if not place_known or lost:
            draft._lose_place()
        draft._lost = lost
        return draft

    def _move_word(self, source: _Side, target: _Side) -> None:
        if not self._place_known:
            return
        if source.near() == _SPACE:
            target.push(*source.take(MAX_COUNT))
        for _ in range(MAX_WORD_RUNS):
            if source.near() not in (_WORD, _BACKSLASH):
                break
            target.push(*source.take(MAX_COUNT))
        if source.near() not in (_SPACE, None):
            self._lose_place()

    def _lose_place(self) -> None:
        total = self._before.total + self._after.total
        self._before.clear()
        self._after.clear()
        self._before.push(_BLURRED, total)
        self._place_known = False

    def _gather(self, *, at_end: bool) -> None:
        if self._lost:
            return
        self._place_known = True
        if at_end:
            self._before.take_over(self._after)
        else:
            self._after.take_over(self._before)


def _kind(character: str) -> int:
    if character in WHITESPACE:
        return _SPACE
    return _BACKSLASH if character == "\\" else _WORD


class _Side:
    """The text on one side of the cursor: its runs in text order, and the sum of their lengths."""

    __slots__ = ("_near_right", "_runs", "total")

    def __init__(self, *, near_right: bool) -> None:
        self._near_right = near_right
        self._runs: deque[int] = deque()
        self.total = 0

    def near(self) -> int | None:
        """The kind of the run next to the cursor; None when there is no text."""
        return self._runs[-1 if self._near_right else 0] % _KINDS if self._runs else None

    def escaped(self, in_pairs: bool, *, near: bool) -> bool:
        """Whether the run next to the cursor (else the one farthest from it) is of backslashes, see `Draft.escaped`."""
        if not self._runs:
            return False
        length, kind = divmod(self._runs[-1 if near is self._near_right else 0], _KINDS)
        return kind == _BACKSLASH and (length % 2 == 1 or not in_pairs)

    def push(self, kind: int, length: int) -> None:
        """Put `length` code points of one kind next to the cursor."""
        if length <= 0:
            return
        runs, near = self._runs, -1 if self._near_right else 0
        self.total += length
        if runs and runs[near] % _KINDS == kind:
            runs[near] += length * _KINDS
            return
        if self._near_right:
            runs.append(length * _KINDS + kind)
        else:
            runs.appendleft(length * _KINDS + kind)
        if len(runs) > MAX_RUNS:
            self._blur(len(runs) - MAX_RUNS // 2)

    def take(self, limit: int) -> tuple[int, int]:
        """Take at most `limit` code points of the one run next to the cursor: their kind and number (0: no text)."""
        if not self._runs:
            return _WORD, 0
        near = -1 if self._near_right else 0
        length, kind = divmod(self._runs[near], _KINDS)
        taken = min(length, limit)
        if taken < length:
            self._runs[near] -= taken * _KINDS
        elif self._near_right:
            self._runs.pop()
        else:
            self._runs.popleft()
        self.total -= taken
        return kind, taken

    def clear(self) -> None:
        self._runs.clear()
        self.total = 0

    def take_over(self, other: _Side) -> None:
        """Take all text of the other side, next to the cursor. Moves the shorter row, so Home and End stay cheap."""
        first, second = (self._runs, other._runs) if self._near_right else (other._runs, self._runs)
        if first and second and first[-1] % _KINDS == second[0] % _KINDS:
            kind = second[0] % _KINDS
            second[0] += first.pop() - kind
        if len(first) > len(second):
            first.extend(second)
            joined = first
        else:
            second.extendleft(reversed(first))
            joined = second
        self._runs = joined
        self.total += other.total
        other._runs = deque()
        other.total = 0

    def snapshot(self) -> list[int]:
        """The runs next to the cursor in text order; all that is farther away is one blurred run."""
        if self._near_right:
            kept = list(islice(reversed(self._runs), KEPT_RUNS))[::-1]
        else:
            kept = list(islice(self._runs, KEPT_RUNS))
        hidden = self.total - sum(run // _KINDS for run in kept)
        if not hidden:
            return kept
        blurred = hidden * _KINDS + _BLURRED
        return [blurred, *kept] if self._near_right else [*kept, blurred]

    def restore(self, runs: object) -> None:
        """Take the runs of a snapshot into an empty side. Raises `ValueError` for anything else."""
        if not isinstance(runs, list) or len(runs) > KEPT_RUNS + 1:
            raise ValueError("not a draft's runs")
        for run in runs if self._near_right else reversed(runs):
            number = as_integer(run)
            if number is None or not _KINDS <= number < MAX_COUNT * _KINDS:
                raise ValueError("not a draft's run")
            self.push(number % _KINDS, number // _KINDS)

    def _blur(self, number: int) -> None:
        """Make one blurred run of the `number` runs that are farthest from the cursor."""
        take = self._runs.popleft if self._near_right else self._runs.pop
        length = sum(take() // _KINDS for _ in range(number))
        if self._near_right:
            self._runs.appendleft(length * _KINDS + _BLURRED)
        else:
            self._runs.append(length * _KINDS + _BLURRED)
