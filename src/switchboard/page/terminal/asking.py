"""Questions on the bottom line of the list: a line of text, or yes and no (pure).

A question takes every key until it is answered or dropped. Only `y` is a yes: Enter and everything else mean no, so
that nothing is ended by a key that was meant for something else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from switchboard.page.messages import OpenSession
from switchboard.page.terminal.keys import Key
from switchboard.page.terminal.text import plain


class Answer(Enum):
    """How a question ended."""

    GIVEN = "given"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class NewProfile:
    """Which CLI a new session runs."""


@dataclass(frozen=True, slots=True)
class NewFolder:
    """Where a new session of `profile` works."""

    profile: str


@dataclass(frozen=True, slots=True)
class NewName:
    """What a session is called."""

    handle: int


@dataclass(frozen=True, slots=True)
class End:
    """Whether to end a session. `back`: it was asked from the session, to which a no returns."""

    handle: int
    force: bool = False
    back: bool = False


@dataclass(frozen=True, slots=True)
class OpenAnyway:
    """Whether to open although the conversation is live elsewhere."""

    request: OpenSession


@dataclass(frozen=True, slots=True)
class Line:
    """A question answered with text; an empty answer is `default`. `limit`: characters."""

    about: NewProfile | NewFolder | NewName
    label: str
    text: str = ""
    default: str = ""
    limit: int = 4096

    @property
    def value(self) -> str:
        return self.text.strip() or self.default


@dataclass(frozen=True, slots=True)
class YesNo:
    """A question answered with one key."""

    about: End | OpenAnyway
    text: str
    yes: bool = False


Question = Line | YesNo


def answer(question: Question, key: Key) -> tuple[Question, Answer | None]:
    """Return the question after a key, and how it ended if it did."""
    if isinstance(question, YesNo):
        yes = key.name == "text" and key.text in "yY"
        return replace(question, yes=yes), Answer.GIVEN if yes else Answer.DROPPED
    if key.name == "enter":
        return question, Answer.GIVEN
    if key.name in {"escape", "ctrl-c"}:
        return question, Answer.DROPPED
    return replace(question, text=_edited(question.text, key)[: question.limit]), None


def _edited(text: str, key: Key) -> str:
    if key.name in {"text", "paste"}:
        return text + plain(key.text)
    if key.name == "backspace":
        return text[:-1]
    if key.name == "ctrl-u":
        return ""
    if key.name == "ctrl-w":
        kept = text.rstrip()
        return kept[: kept.rfind(" ") + 1]
    return text
