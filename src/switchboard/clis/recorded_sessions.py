"""A recorded session as a list shows it, from the two ends of its transcript (pure)."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from switchboard.clis.transcript_rows import Row, is_sidechain, parse_row, prompt_text, rows_of, text_of
from switchboard.common.ecma import trim

_LONGEST_TEXT = 200  # what a list can show of a prompt

# Rows that name the conversation, the most deliberate first: given by a person, made up by the CLI, an old summary.
_TITLE_FIELDS = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))

_BOOKKEEPING = ("<command-", "<local-command-", "<bash-", "[Request interrupted")


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """One transcript. `cwd`: its directory when that can be believed. `modified_at`: wall milliseconds.

    `first_prompt` and `title` are cut to what a list can show, without line ends; None when the ends of the transcript
    do not have one.
    """

    session_id: str
    path: str
    cwd: str | None
    modified_at: int
    first_prompt: str | None = None
    title: str | None = None

    @property
    def name(self) -> str | None:
        """What to call the conversation."""
        return self.title or self.first_prompt


def describe(path: str, modified_at: int, head: bytes, tail: bytes, cwd: str | None) -> RecordedSession | None:
    """Return what the first and last bytes of a transcript show; `tail` is empty when `head` is all of it.

    None when nobody has said anything in it: only rows of bookkeeping, and no answer.
    """
    session = RecordedSession(posixpath.basename(path).removesuffix(".jsonl"), path, cwd, modified_at)
    titles: dict[str, str] = {}
    first_prompt: str | None = None
    answered = False
    for row in rows_of(head):
        if is_sidechain(row):
            continue
        _note_title(row, titles)
        answered = answered or row.get("type") == "assistant"
        first_prompt = first_prompt or _spoken(row)
    for line in tail.split(b"\n"):
        # A name can stand anywhere; only lines that may be one are worth parsing.
        if any(f'"{kind}"'.encode() in line for kind, _ in _TITLE_FIELDS):
            _note_title(parse_row(line) or {}, titles)
    if first_prompt is None and not answered and not tail:
        return None
    title = next((titles[kind] for kind, _ in _TITLE_FIELDS if kind in titles), None)
    return replace(session, first_prompt=first_prompt, title=title)


def _note_title(row: Row, titles: dict[str, str]) -> None:
    for kind, field in _TITLE_FIELDS:
        if row.get("type") == kind:
            text = _line(text_of(row, field) or "")
            if text:
                titles[kind] = text


def _spoken(row: Row) -> str | None:
    """Return what a person said in this row, without what the CLI records for its own book-keeping."""
    text = prompt_text(row)
    if text is None or row.get("isCompactSummary") is True or trim(text).startswith(_BOOKKEEPING):
        return None
    return _line(text) or None


def _line(text: str) -> str:
    return trim(" ".join(text[: 4 * _LONGEST_TEXT].split()))[:_LONGEST_TEXT]
