"""The composer model: is a person's unsubmitted input standing in an agent's input box?

Theory of operation. The model is fed what people type (and what their terminals report) on the way to the session, in
pieces of any size, and follows the line editor of the agent: text is inserted at a cursor, keys delete and move, Enter
submits. It answers with a number of code points and the time of the last keystroke; a delivery waits until the number
is 0 and the keyboard has been quiet. Doubt resolves to "occupied".

An escape sequence that is not complete at the end of a piece is held and read again together with the next piece, so
where the pieces are cut does not matter. It is held up to `MAX_HELD` characters; beyond that it becomes one placeholder
and what was held is dropped. A lone ESC is held for `ESCAPE_MS`: what comes later does not belong to it, and it was the
Escape key, unless it is the rest of a sequence as only terminals send it, whole in one piece. No timer ends it, because
a key that changes no text looks the same before and after; the next piece finds out by the time at which it comes.
Reports that a terminal sends by itself (mouse in SGR form, focus, extended cursor position) are no keystrokes: they do
not move the clock, unless they are cut by the end of a piece, when nobody can tell yet. The X10 mouse report and the
plain cursor report are not exempt: they cannot be told from typed keys.

What the model does not see or gets wrong is part of the contract:
- input that comes from elsewhere than a page, and drafts that the agent itself puts into its box;
- Enter that accepts a completion empties the model while the agent refills its box (the quiet time covers it);
- keys that are not modelled leave the number too high until Enter, Ctrl+U or Ctrl+C;
- Ctrl+U clears all here and one line in the agent: the number may be too low after it;
- the mouse wheel on the alternate screen sends Up, which counts as recalled history;
- Escape and a key within `ESCAPE_MS` read as Alt with that key, as in every CLI: a character then does not count, and
  Enter does not clear. A CLI that was away for longer sees Alt where the model saw two keys.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from dataclasses import dataclass, field
from typing import Final

from switchboard.common.ecma import as_integer
from switchboard.common.facts import ComposerView
from switchboard.sessions.draft import Draft

MAX_HELD: Final = 32
"""Characters of an incomplete escape sequence that are held (the legacy composer contract)."""

ESCAPE_MS: Final = 100
"""How long a lone ESC waits for the rest of a sequence. Terminals send a sequence whole, and a line that cuts it in two
brings the rest within a few milliseconds; vim and readline wait 50 to 500 ms, and nobody presses Enter so soon after
Escape."""

PLACEHOLDER: Final = "\ufffc"
"""Stands for input whose text is not known: recalled history, a pasted image, an endless escape sequence."""

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

_CONTROLS = {
    "\r": Draft.clear,
    "\n": Draft.clear,
    "\x15": Draft.clear,  # Ctrl+U
    "\x03": Draft.clear,  # Ctrl+C
    "\x7f": Draft.delete_behind,
    "\x08": Draft.delete_behind,
    "\x17": Draft.delete_word_behind,  # Ctrl+W
    "\x0b": Draft.delete_to_end,  # Ctrl+K
    "\x01": Draft.home,  # Ctrl+A
    "\x05": Draft.end,  # Ctrl+E
}

_CURSOR_KEYS = {"C": Draft.right, "D": Draft.left, "H": Draft.home, "F": Draft.end}  # after CSI or SS3
_EDIT_KEYS = {"1": Draft.home, "7": Draft.home, "4": Draft.end, "8": Draft.end}  # CSI n ~
_WORD_KEYS = {"C": Draft.word_right, "D": Draft.word_left}  # CSI 1;m C


class Composer:
    """The model of one session's input box. Not for what the host itself types."""

    __slots__ = ("_decoder", "_draft", "_held", "_in_paste", "_last_input_at")

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._draft = Draft()
        self._held = ""
        self._in_paste = False
        self._last_input_at = 0

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

    def _escape_is_over(self, text: str, now: int) -> bool:
        """Whether the lone ESC that `text` begins with was a key, and what follows it stands for itself."""
        # The ESC has moved the clock, and nothing has since. Of a clock that was set back nobody knows how far.
        in_time = 0 <= now - self._last_input_at < ESCAPE_MS
        return not (in_time or self._in_paste or _CSI.match(text) or _STRING.match(text))

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
        edit = _CONTROLS.get(character)
        if edit:
            edit(self._draft)

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
            self._draft.delete_word_behind()
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
            self._draft.delete_ahead()
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
        return state
