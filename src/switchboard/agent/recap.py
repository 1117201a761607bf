"""What an earlier transcript says when its conversation is taken up again (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from switchboard.agent.prompt_text import shorten
from switchboard.agent.rows import Row

SHOWN = 3
"""Exchanges in a recap: enough to recognise the conversation by."""

WIDTH = 72


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt and what was answered ('' while nothing was)."""

    prompt: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Recap:
    """`exchanges`: oldest first, of the rows that were read. `parent`: the uuid of the last row that has one."""

    exchanges: tuple[Exchange, ...]
    parent: str | None

    def lines(self, session_id: str, *, complete: bool) -> list[str]:
        """The recap as text; `complete`: the rows were the whole transcript."""
        count = len(self.exchanges)
        least = "" if complete else "at least "
        lines = [f"Resumed conversation {session_id}: {least}{count} prompt{'' if count == 1 else 's'} so far."]
        for exchange in self.exchanges[-SHOWN:]:
            lines.append(f"  > {shorten(exchange.prompt, WIDTH)}")
            lines.extend([f"    {shorten(exchange.answer, WIDTH)}"] if exchange.answer else [])
        return lines


def recap_of(transcript: Sequence[Row]) -> Recap:
    """Read the exchanges out of a transcript's rows; rows of other kinds and side threads are passed over."""
    exchanges: list[Exchange] = []
    parent: str | None = None
    for row in transcript:
        if row.get("isSidechain") is True:
            continue
        uuid = row.get("uuid")
        parent = uuid if isinstance(uuid, str) else parent
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if row.get("type") == "user" and row.get("promptSource") == "typed" and isinstance(content, str):
            exchanges.append(Exchange(content))
        elif row.get("type") == "assistant" and exchanges and isinstance(content, list):
            text = _text(content)
            if text:
                exchanges[-1] = Exchange(exchanges[-1].prompt, text)
    return Recap(tuple(exchanges), parent)


def _text(content: Sequence[object]) -> str:
    pieces = (block.get("text") for block in content if isinstance(block, dict))
    return " ".join(piece for piece in pieces if isinstance(piece, str))
