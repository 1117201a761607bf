"""The composer model: is a person's unsubmitted input standing in an agent's input box?

Theory of operation. The model is fed what people type (and what their terminals report) on the way to the session, in
pieces of any size, and follows the line editor of the agent: text is inserted at a cursor, keys delete and move, Enter
submits. It answers with a number of code points and the time of the last keystroke; a delivery waits until the number
is 0 and the keyboard has been quiet. Doubt resolves to "occupied".

Not every line break submits. Behind a backslash it begins a new line. An agent's box takes LF (Ctrl+J) for a new line,
too, and guesses from what comes in one go whether it was typed or pasted: then Enter together with its text is a part
of the text (`ComposerRule`). Of such a piece the number is never too low, and an Enter that comes by itself, as people
press it, clears all.

An escape sequence that is not complete at the end of a piece is held and read again together with the next piece, so
for keys it does not matter where the pieces are cut. It is held up to `MAX_HELD` characters; beyond that it becomes one
placeholder and what was held is dropped. A lone ESC is held for `ESCAPE_MS`: what comes later does not belong to it,
and it was the Escape key, unless it is the rest of a sequence as only terminals send it, whole in one piece. No timer
ends it, because a key that changes no text looks the same before and after; the next piece finds out by the time at
which it comes.
Reports that a terminal sends by itself (mouse in SGR form, focus, extended cursor position) are no keystrokes: they do
not move the clock, unless they are cut by the end of a piece, when nobody can tell yet. The X10 mouse report and the
plain cursor report are not exempt: they cannot be told from typed keys.

What the model does not see or gets wrong is part of the contract:
- input that comes from elsewhere than a page, and drafts that the agent itself puts into its box;
- Enter that accepts a completion empties the model while the agent refills its box (the quiet time covers it);
- keys that are not modelled leave the number too high until Enter, Ctrl+U or Ctrl+C;
- Ctrl+U clears all here and one line in the agent: the number may be too low after it;
- pieces that the agent finds in one read, although they came one by one, count as they came;
- the mouse wheel on the alternate screen sends Up, which counts as recalled history;
- Escape and a key within `ESCAPE_MS` (a letter: `ESCAPE_LETTER_MS`) read as Alt with that key, as in every CLI: a
  letter then does not count, and Enter does not clear. A CLI that was away for longer takes two keys for one.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from switchboard.common.ecma import as_integer, utf16_length
from switchboard.common.facts import ComposerView
from switchboard.sessions.draft import Draft

MAX_HELD: Final = 32
"""Characters of an incomplete escape sequence that are held (the legacy composer contract)."""

ESCAPE_MS: Final = 100
"""How long a lone ESC waits for the rest of a sequence. Terminals send a sequence whole, and a line that cuts it in two
brings the rest within a few milliseconds; vim and readline wait 50 to 500 ms, and nobody presses Enter so soon after
Escape."""

ESCAPE_LETTER_MS: Final = 25
"""A letter after a lone ESC counts as text from here on: some CLIs wait less than `ESCAPE_MS`; doubt is occupied."""

PLACEHOLDER: Final = "\ufffc"
"""Stands for input whose text is not known: recalled history, a pasted image, an endless escape sequence."""

BURST_MS: Final = 100
"""What follows a paste without markers sooner than this belongs to it, except a lone Enter."""

PASTE_OVER: Final = 800
PASTE_LINES: Final = 3
"""A piece of more characters (UTF-16 units), or of more lines, is a paste without markers, and may be its beginning."""


@dataclass(frozen=True, slots=True)
class ComposerRule:
    """What a program's line editor makes of line breaks (decision data of its profile).

    `line_feed_submits`: LF is another Enter; otherwise it begins a new line. `enter_kept_from`: so many characters
    (UTF-16 units) in one piece with an Enter make that Enter a line break, and so do several lines in one piece. None:
    an Enter is an Enter, whatever comes along with it. `backslashes_pair`: of two backslashes before Enter the first
    quotes the second, and the Enter submits.
    """

    line_feed_submits: bool = False
    enter_kept_from: int | None = None
    backslashes_pair: bool = False


PLAIN: Final = ComposerRule(line_feed_submits=True, backslashes_pair=True)

COMPOSER_RULES: Final[Mapping[str, ComposerRule]] = {
    "plain": PLAIN,
    # Measured: 60 characters with their Enter in one write are submitted, 64 stay in the box. Between them is doubt.
    "agent": ComposerRule(enter_kept_from=61),
    # Measured: any text with its Enter in one write stays in the box.
    "burst": ComposerRule(enter_kept_from=1),
}
"""By the names that profiles use."""

_PASTE_START = "\x1b[200~"
_PASTE_END = "\x1b[201~"

_TEXT = re.compile(r"[^\x00-\x1f\x7f]+")
_CSI = re.compile(r"\x1b\[([0-?]*)([ -/]*)([@-~])")
_SS3 = re.compile(r"\x1bO([ -~])")
# Terminals answer queries with these strings. They hold no control characters: a string that is broken by one was
# typed (Alt+] and then text), and what follows its first two characters counts.
_STRING = re.compile(r"\x1b(?:\][^\x00-\x1f\x7f]*(?:\x07|\x1b\\)|P[ -?][^\x00-\x1f\x7f]*(?=\x1b))")
_INCOMPLETE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O|\][^\x00-\x1f\x7f]*\x1b?|P(?:[ -?][^\x00-\x1f\x7f]*)?)?")

# Reports that terminals send by themselves: SGR mouse, focus, and the cursor position with its question mark.
_REPORT = re.compile(
    r"\x1b\[(?:<[0-9]{1,10};[0-9]{1,10};[0-9]{1,10}[Mm]|[IO]|\?[0-9]{1,4};[0-9]{1,4}(?:;[0-9]{1,4})?R)"
)

# What is no typed text: pastes between markers, sequences, keys with Alt, control characters other than line breaks.
_NOT_TYPED = re.compile(
    rf"\x1b\[200~(?s:.*?)(?:\x1b\[201~|\Z)|{_CSI.pattern}|{_SS3.pattern}|{_STRING.pattern}"
    r"|\x1b(?!\x1b)(?s:.)|[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]"
)
_INTRODUCERS = "[O]P"  # behind ESC they begin a sequence, which may be cut again
_LINE_BREAKS = re.compile(r"[\r\n]+")

_CONTROLS = {
    "\x15": Draft.clear,  # Ctrl+U
    "\x03": Draft.clear,  # Ctrl+C
    "\x7f": Draft.delete_behind,
    "\x08": Draft.delete_behind,
    "\x17": Draft.delete_word_behind,  # Ctrl+W
    "\x0b": Draft.delete_to_end,  # Ctrl+K
    "\x01": Draft.home,  # Ctrl+A
    "\x05": Draft.end,  # Ctrl+E
}

_BRINGS_BACK = "\x19\x1f"  # Ctrl+Y, Ctrl+_: what was deleted comes back

_CURSOR_KEYS = {"C": Draft.right, "D": Draft.left, "H": Draft.home, "F": Draft.end}  # after CSI or SS3
_EDIT_KEYS = {"1": Draft.home, "7": Draft.home, "4": Draft.end, "8": Draft.end}  # CSI n ~
_WORD_KEYS = {"C": Draft.word_right, "D": Draft.word_left}  # CSI 1;m C


class Composer:
    """The model of one session's input box. Not for what the host itself types."""

    __slots__ = (
        *("_burst_at", "_decoder", "_deleted", "_draft", "_held", "_in_paste", "_keeps_enter", "_last_input_at"),
        "_rule",
    )

    def __init__(self, rule: ComposerRule = PLAIN) -> None:
        self._rule = rule
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._draft = Draft()
        self._held = ""
        self._in_paste = False
        self._last_input_at = 0
        self._deleted = False  # something was deleted, ever: it may be brought back
        self._burst_at: int | None = None  # the last piece of a paste without markers
        self._keeps_enter = False  # the line breaks of the piece that is being read are text

    @property
    def pending(self) -> int:
        """Code points of unsubmitted text. The bytes of a character that has not wholly arrived count as one."""
        return len(self._draft) + bool(self._decoder.getstate()[0])

    @property
    def last_input_at(self) -> int:
        """Wall milliseconds of the last keystroke; 0 when there was none. Submitting and deleting do not reset it."""
        return self._last_input_at

    def view(self) -> ComposerView:
        """What a delivery looks at."""
        return ComposerView(self.pending, self._last_input_at)

    def feed(self, data: bytes, now: int) -> None:
        """Take what a person typed, cut anywhere. `now`: wall milliseconds."""
        if not data:
            return
        text = self._held + self._decoder.decode(data)
        if self._held == "\x1b" and self._escape_is_over(text, now):
            text = text[1:]
        self._held = ""
        self._keeps_enter = self._is_pasted(text, now)
        counted = bool(self._decoder.getstate()[0])
        position = 0
        while position < len(text):
            if self._in_paste:
                position = self._pasted(text, position)
                counted = True
                continue
            run = _TEXT.match(text, position)
            if run:
                self._draft.insert(run.group())
                position = run.end()
            elif text[position] == "\x1b":
                report = _REPORT.match(text, position)
                if report:
                    position = report.end()
                    continue
                position = self._escape(text, position)
            else:
                self._control(text[position])
                position += 1
            counted = True
        if counted:
            self._last_input_at = now

    def clear(self) -> None:
        """The box is known to be empty: what stood in it was seen submitted. The clock does not move."""
        self._draft.clear()

    def occupy(self) -> None:
        """Text of unknown length stands in the box: count as occupied until a person clears it, or `clear`."""
        self._draft.occupy()

    def snapshot(self) -> dict[str, object]:
        """Return the state as a JSON object of less than 8 KiB, without any of the text.

        Of long text only the part near the cursor comes back exactly; deleting by words in the rest is then counted as
        one code point at a time, never as more than what really went.
        """
        return {
            "draft": self._draft.snapshot(),
            "held": self._held,
            "undecoded": self._decoder.getstate()[0].hex(),
            "in_paste": self._in_paste,
            "last_input_at": self._last_input_at,
            "deleted": self._deleted,
        }

    def restore(self, snapshot: object) -> None:
        """Take over the state of a snapshot. Anything else leaves a box that counts as occupied until it is cleared."""
        try:
            state = _State.read(snapshot)
        except ValueError:
            state = _State()
            state.draft.occupy()
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._decoder.decode(state.undecoded)
        self._draft = state.draft
        self._held = state.held
        self._in_paste = state.in_paste
        self._last_input_at = state.last_input_at
        self._deleted = state.deleted
        self._burst_at = None

    def _escape_is_over(self, text: str, now: int) -> bool:
        """Whether the lone ESC that `text` begins with was a key, and what follows it stands for itself."""
        # The ESC has moved the clock, and nothing has since. Of a clock that was set back nobody knows how far.
        letter = _TEXT.match(text, 1) and text[1] not in _INTRODUCERS
        in_time = 0 <= now - self._last_input_at < (ESCAPE_LETTER_MS if letter else ESCAPE_MS)
        return not (in_time or self._in_paste or _CSI.match(text) or _STRING.match(text))

    def _is_pasted(self, text: str, now: int) -> bool:
        """Whether the program takes the line breaks of this piece for a part of its text. Notes where bursts begin."""
        limit = self._rule.enter_kept_from
        if limit is None:
            return False
        within = self._burst_at is not None and 0 <= now - self._burst_at <= BURST_MS and text != "\r"
        if within:
            self._burst_at = now
            return True
        if len(text) <= PASTE_OVER and "\r" not in text and "\n" not in text:
            return False
        typed = _NOT_TYPED.sub("", text.partition(_PASTE_END)[2] if self._in_paste else text)
        lines = [line for line in _LINE_BREAKS.split(typed) if line]
        length = sum(map(utf16_length, lines))
        if length > PASTE_OVER or len(lines) > PASTE_LINES:
            self._burst_at = now
        return length >= limit or len(lines) > 1

    def _pasted(self, text: str, position: int) -> int:
        """Read pasted text, where nothing but the end marker has a meaning. Returns where reading goes on."""
        escape = text.find("\x1b", position)
        if escape < 0:
            self._draft.insert(text[position:])
            return len(text)
        self._draft.insert(text[position:escape])
        if text.startswith(_PASTE_END, escape):
            self._in_paste = False
            return escape + len(_PASTE_END)
        if len(text) - escape < len(_PASTE_END) and _PASTE_END.startswith(text[escape:]):
            self._held = text[escape:]
            return len(text)
        self._draft.insert("\x1b")
        return escape + 1

    def _control(self, character: str) -> None:
        if character == "\x16":  # Ctrl+V: an image, or a literal character
            self._draft.insert(PLACEHOLDER)
            return
        if character in "\r\n":
            self._line_break(character)
        elif character in _BRINGS_BACK:
            if self._deleted:
                self._draft.occupy()
        elif edit := _CONTROLS.get(character):
            self._edit(edit)

    def _line_break(self, character: str) -> None:
        if self._keeps_enter or (character == "\n" and not self._rule.line_feed_submits):
            self._draft.insert(character)
        elif self._draft.escaped(in_pairs=self._rule.backslashes_pair):
            self._draft.break_line(in_pairs=self._rule.backslashes_pair)
        else:
            self._draft.clear()

    def _edit(self, edit: Callable[[Draft], None]) -> None:
        before = len(self._draft)
        edit(self._draft)
        self._deleted = self._deleted or len(self._draft) < before

    def _escape(self, text: str, position: int) -> int:
        """Read an escape sequence. Returns where reading goes on."""
        csi = _CSI.match(text, position)
        if csi:
            self._csi(*csi.groups())
            return csi.end()
        ss3 = _SS3.match(text, position)
        if ss3:
            self._cursor_key(ss3[1])
            return ss3.end()
        string = _STRING.match(text, position)
        if string:
            return string.end()
        if _INCOMPLETE.fullmatch(text, position):
            if len(text) - position <= MAX_HELD:
                self._held = text[position:]
            else:
                self._draft.insert(PLACEHOLDER)
            return len(text)
        following = text[position + 1]
        if following == "\x1b":
            return position + 1
        if following in "\x7f\x08":
            self._edit(Draft.delete_word_behind)
        return position + 2

    def _csi(self, parameters: str, intermediates: str, final: str) -> None:
        if intermediates:
            return
        if not parameters:
            self._cursor_key(final)
        elif final in _WORD_KEYS:
            key = _WORD_KEYS if ";" in parameters else _CURSOR_KEYS
            key[final](self._draft)
        elif final == "~":
            self._edit_key(parameters)
        elif final == "u" and parameters.startswith("13;"):
            self._draft.insert("\n")

    def _cursor_key(self, final: str) -> None:
        if final == "A":
            self._draft.insert(PLACEHOLDER)
        elif final in _CURSOR_KEYS:
            _CURSOR_KEYS[final](self._draft)

    def _edit_key(self, parameters: str) -> None:
        if parameters == "200":
            self._in_paste = True
        elif parameters.partition(";")[0] == "3":
            self._edit(Draft.delete_ahead)
        elif parameters in _EDIT_KEYS:
            _EDIT_KEYS[parameters](self._draft)


@dataclass
class _State:
    """What a snapshot holds, checked."""

    draft: Draft = field(default_factory=Draft)
    held: str = ""
    undecoded: bytes = b""
    in_paste: bool = False
    last_input_at: int = 0
    deleted: bool = True

    @classmethod
    def read(cls, snapshot: object) -> _State:
        """Raises `ValueError` for anything that `Composer.snapshot` does not return."""
        match snapshot:
            case {
                "draft": draft,
                "held": str(held),
                "undecoded": str(undecoded),
                "in_paste": bool(in_paste),
                "last_input_at": last_input_at,
                **others,
            }:
                state = cls(Draft.restored(draft), held, bytes.fromhex(undecoded), in_paste)
            case _:
                raise ValueError("not a composer's snapshot")
        incomplete = _PASTE_END.startswith(held) if in_paste else not held or _INCOMPLETE.fullmatch(held)
        if not incomplete or len(held) > MAX_HELD:
            raise ValueError("not held input")
        if getincrementaldecoder("utf-8")("replace").decode(state.undecoded):
            raise ValueError("not an unfinished character")
        at = as_integer(last_input_at)
        if at is None or at < 0:
            raise ValueError("not an instant")
        state.last_input_at = at
        # A snapshot of before this was kept says nothing, and a box that counts as unknown may have lost anything.
        state.deleted = others.get("deleted") is not False
        return state
