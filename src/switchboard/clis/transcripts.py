"""What a transcript proves about a conversation's turns, and whether a prompt in it is the one that was typed (pure).

Theory of operation. A transcript is read forwards, row by row, from some point in the file. The last row of the
conversation proper (`user` or `assistant`, subagents left out) decides whether the last turn is over, and it is over
only when one of three things shows it:

- the assistant stopped of its own accord and the CLI then wrote how long the turn took (without that row, Stop hooks
  may still send it on);
- the row is nothing but the output of a command that the CLI ran itself;
- the row is the summary that directly follows a compaction asked for by hand.

Prompts that were queued after that row and not taken back, a prompt taken from the queue, and anything unreadable after
it leave the turn open. So does everything else: a tool call, a tool's result, a prompt, an interruption. Wrongly open
costs a wait, wrongly closed would type into a running turn.
"""

from __future__ import annotations

import copy
import html
import re
import unicodedata
from collections import deque
from dataclasses import dataclass, field

from switchboard.clis.transcript_rows import Row, is_sidechain, message_of, parse_row, prompt_text, stamp_of, text_of
from switchboard.common.ecma import WHITESPACE, to_well_formed, trim
from switchboard.common.facts import CompactBoundary, PromptEntry, TurnEvidence

MAX_PROMPTS = 50
"""So many of the newest prompts are kept, and as many boundaries."""

MAX_LINE = 1 << 20
"""A longer row is not held: it is read as one that says nothing."""

_FINAL_STOPS = frozenset({"end_turn", "stop_sequence"})
_LONG_ROW_TYPE = re.compile(rb'\{"type": ?"([a-z_-]+)"')
_COMMAND_ELEMENT = re.compile(rf"[{WHITESPACE}]*<(command-[a-z-]+)>")
_BLANK = re.compile(f"[{WHITESPACE}]")
_TAB = "    "
_LINE_END = re.compile("[\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x84\x86-\x9f"  # control characters
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What shows nothing by itself (Unicode's default-ignorable characters): joiners, marks of direction, variants."""
_DECIDING_TYPES = frozenset({b"user", b"assistant", b"system", b"queue-operation"})


class TranscriptReader:
    """Reads a transcript in pieces, as it grows.

    `cut`: the first piece starts inside a row (or on its end), so everything up to the first line end is left out.
    """

    __slots__ = ("_cut", "_held", "_oversize", "_turns")

    def __init__(self, *, cut: bool = False) -> None:
        self._cut = cut
        self._held = b""
        self._oversize = False
        self._turns = _Turns()

    def feed(self, data: bytes) -> None:
        """Take the bytes that follow what was fed before."""
        if self._cut:
            end = data.find(b"\n")
            if end < 0:
                return
            self._cut = False
            data = data[end + 1 :]
        lines = (self._held + data).split(b"\n")
        self._held = lines.pop()
        for line in lines:
            self._end_row(line)
        if len(self._held) > MAX_LINE:
            self._oversize = True
        if self._oversize:
            self._held = self._held[:MAX_LINE]

    def evidence(self, modified_at: int) -> TurnEvidence:
        """Return what has been read so far; `modified_at` is the file's time in wall milliseconds.

        A last row without its line end counts when it is complete. Half of one means that more is being written.
        """
        turns = self._turns
        if self._held.strip() or self._cut:
            turns = turns.copy()
            turns.take(None if self._cut or self._oversize else parse_row(self._held))
        return turns.evidence(modified_at)

    def _end_row(self, line: bytes) -> None:
        if self._oversize or len(line) > MAX_LINE:
            self._oversize = False
            kind = _LONG_ROW_TYPE.match(line)
            # The CLI writes bulky rows about its own requests; they start with their type and end no turn.
            if kind is None or kind[1] in _DECIDING_TYPES:
                self._turns.take(None)
        elif line.strip():
            self._turns.take(parse_row(line))


def turn_evidence(window: bytes, modified_at: int, *, cut: bool = False) -> TurnEvidence:
    """Return what one window of a transcript says; `cut` as for `TranscriptReader`."""
    reader = TranscriptReader(cut=cut)
    reader.feed(window)
    return reader.evidence(modified_at)


@dataclass(slots=True)
class _Turns:
    """The reducer behind the reader: see the theory of operation above."""

    ended: bool = False  # the assistant stopped of its own accord
    closed: bool = False
    decided_at: int | None = None
    queued: int = 0
    disturbed: bool = False  # a prompt left the queue, or something unreadable followed
    after_boundary: bool = False  # the row before this one was a compaction asked for by hand
    last_entry_at: int | None = None
    prompts: deque[PromptEntry] = field(default_factory=lambda: deque(maxlen=MAX_PROMPTS))
    boundaries: deque[CompactBoundary] = field(default_factory=lambda: deque(maxlen=MAX_PROMPTS))

    def copy(self) -> _Turns:
        twin = copy.copy(self)
        twin.prompts = self.prompts.copy()
        twin.boundaries = self.boundaries.copy()
        return twin

    def take(self, row: Row | None) -> None:
        """Take one row; None stands for a line that cannot be read."""
        if row is None:
            self.disturbed = True
            return
        if is_sidechain(row):
            return
        at = stamp_of(row)
        if at is not None:
            self.last_entry_at = at if self.last_entry_at is None else max(at, self.last_entry_at)
        kind = row.get("type")
        if kind == "user":
            self._user(row, at)
        elif kind == "assistant":
            self._decide(at, closed=False)
            self.ended = message_of(row).get("stop_reason") in _FINAL_STOPS
        elif kind == "system":
            self._system(row, at)
        elif kind == "queue-operation":
            self._queue(row, at)

    def evidence(self, modified_at: int) -> TurnEvidence:
        closed = self.closed and self.decided_at is not None and self.queued <= 0 and not self.disturbed
        return TurnEvidence(
            closed=closed,
            closed_at=self.decided_at if closed else None,
            last_entry_at=self.last_entry_at,
            modified_at=modified_at,
            prompts=tuple(self.prompts),
            boundaries=tuple(self.boundaries),
        )

    def _user(self, row: Row, at: int | None) -> None:
        summary = row.get("isCompactSummary") is True and self.after_boundary
        content = text_of(message_of(row), "content")
        output = content is not None and _element(trim(content), "local-command-stdout") is not None
        if not self._is_late(row, at):
            self._decide(at, closed=summary or output)
        text = prompt_text(row)
        if text is not None and at is not None:
            self.prompts.append(PromptEntry(at, text))

    def _system(self, row: Row, at: int | None) -> None:
        subtype = row.get("subtype")
        self.after_boundary = False
        if subtype == "turn_duration":
            self.closed = self.closed or self.ended
        elif subtype == "compact_boundary":
            details = row.get("compactMetadata")
            self.after_boundary = isinstance(details, dict) and details.get("trigger") == "manual"
            if at is not None:
                self.boundaries.append(CompactBoundary(text_of(row, "uuid") or "", at, self.after_boundary))

    def _queue(self, row: Row, at: int | None) -> None:
        operation = row.get("operation")
        if operation == "enqueue":
            self.queued += 1
            text = text_of(row, "content")
            if text is not None and at is not None:
                self.prompts.append(PromptEntry(at, text))
        elif operation == "remove":
            self.queued -= 1
        elif operation == "dequeue":
            self.disturbed = True

    def _is_late(self, row: Row, at: int | None) -> bool:
        """The prompt that starts a conversation is at times written after its own answer (measured in 2.1.197).

        Nothing precedes it, and yet it is older than the row that decides: it does not follow that row.
        """
        starts = "parentUuid" in row and row["parentUuid"] is None
        return starts and at is not None and self.decided_at is not None and at < self.decided_at

    def _decide(self, at: int | None, *, closed: bool) -> None:
        """A row of the conversation: what stood before it decides no longer."""
        self.ended = False
        self.closed = closed
        self.decided_at = at
        self.queued = 0
        self.disturbed = False
        self.after_boundary = False


def prompt_matches(text: str, command: str) -> bool:
    """Tell whether a recorded prompt is `command` as it was typed.

    The CLI changes what it is given: it composes characters (NFC), drops outer blanks, drops tabs or (in a longer text)
    makes four spaces of each, wraps what it took for a paste, and the newer one (measured in 2.1.332) drops characters
    that show nothing and makes line ends of Unicode's own. It records `!cmd` as one `<bash-input>` element, and a slash
    command as `<command-…>` elements of which `<command-name>` is the command's first word.
    """
    recorded, typed = _as_recorded(text), _as_recorded(command)
    if recorded == typed or _element(recorded, "pasted_content") == typed:
        return True
    if typed.startswith("!"):
        shell = _element(recorded, "bash-input")
        return shell is not None and typed[1:].strip(WHITESPACE) in (shell, html.unescape(shell))
    return typed.startswith("/") and _command_name(recorded) == _BLANK.split(typed, maxsplit=1)[0]


def prompt_contains(text: str, command: str) -> bool:
    """Tell whether `command` was entered together with text before or behind it, as one recorded prompt."""
    recorded, typed = _as_recorded(text), _as_recorded(command)
    return recorded.startswith(typed) or recorded.endswith(typed)


def is_prompt(command: str) -> bool:
    """Tell whether a text is a prompt, which the CLI records as it was typed.

    What it carries out itself (`/`, `!`) it does not always record, a single `?` opens its help, and Enter on blanks
    alone does nothing.
    """
    bare = _as_recorded(command)
    return bare != "?" and bare[:1] not in ("", "/", "!")


def is_shell_command(command: str) -> bool:
    """Tell whether the CLI runs this text as a shell command, `!` and something to run, and records it as such."""
    bare = _as_recorded(command)
    return bare[:1] == "!" and bare[1:].strip() != ""


def is_slash_command(command: str) -> bool:
    """Tell whether the CLI may carry this text out itself: it begins with `/`, and so may a prompt about a path."""
    return _as_recorded(command)[:1] == "/"


def is_compact_command(command: str) -> bool:
    """Tell whether a command asks for compaction: `/compact` alone, or followed by white space and instructions."""
    return _is_command(command, "/compact")


def is_clear_command(command: str) -> bool:
    """Tell whether a command asks for a fresh conversation: `/clear` alone, or followed by white space."""
    return _is_command(command, "/clear")


def _is_command(command: str, name: str) -> bool:
    bare = trim(command)
    return bare == name or (bare.startswith(name) and bare[len(name)] in WHITESPACE)


def _as_recorded(text: str) -> str:
    seen = _UNSEEN.sub("", _LINE_END.sub("\n", to_well_formed(text)))
    return trim(unicodedata.normalize("NFC", seen).replace(_TAB, ""))


def _element(text: str, name: str) -> str | None:
    """Return the trimmed inside of a text that is exactly one element of that name, else None."""
    opening = re.match(rf"<{name}(?: [^<>]*)?>", text)
    closing = f"</{name}>"
    if opening is None or not text.endswith(closing) or text.find(closing) != len(text) - len(closing):
        return None
    inside = text[opening.end() : -len(closing)]
    return None if f"<{name}>" in inside else trim(inside)


def _command_name(text: str) -> str | None:
    """Return the inside of `<command-name>` of a text made of `<command-…>` elements and blanks only, else None."""
    name: str | None = None
    position = 0
    while position < len(text):
        found = _COMMAND_ELEMENT.match(text, position)
        closing = f"</{found[1]}>" if found else ""
        end = text.find(closing, found.end()) if found else -1
        if found is None or end < 0:
            return None
        if found[1] == "command-name" and name is None:
            name = trim(text[found.end() : end])
        position = end + len(closing)
    return name
