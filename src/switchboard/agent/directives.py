"""Directives (pure): `[word …]` in a prompt, which drive the scripted model. Anything else in brackets is just text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

MAX_PAUSE_MS = 3_600_000
STREAM_MS = 2_000


@dataclass(frozen=True, slots=True)
class Pause:
    """Think for that long."""

    ms: int


@dataclass(frozen=True, slots=True)
class Print:
    """Print numbered lines; None: without end."""

    lines: int | None


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask for permission to run a shell command, and run it when it is given."""

    command: str


@dataclass(frozen=True, slots=True)
class Stream:
    """Let the answer appear word by word, over that long."""

    ms: int


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Fail:
    """End the turn as if the model could not be reached."""

    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """Ask the terminal for its cursor position, attributes and background colour, and ignore what it answers."""


@dataclass(frozen=True, slots=True)
class Exit:
    """Leave with that exit code in the middle of the turn; None: die without cleaning up."""

    code: int | None


Directive: TypeAlias = "Pause | Print | Ask | Stream | Say | Fail | Query | Exit"

_BRACKETS = re.compile(r"\[([a-z]+)(?:\s+([^\]]*))?\]")
_DURATION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*(ms|s|m)?")
_COUNT = re.compile(r"([0-9]{1,7})(?:\s+lines?)?")
_UNITS = {"ms": 1, "s": 1000, "m": 60_000}


def parse_directives(text: str) -> tuple[tuple[Directive, ...], str]:
    """Return the directives in their order, and the text without them."""
    found: list[Directive] = []

    def take(match: re.Match[str]) -> str:
        reader = _READERS.get(match.group(1))
        directive = reader((match.group(2) or "").strip()) if reader else None
        if directive is None:
            return match.group(0)
        found.append(directive)
        return ""

    rest = _BRACKETS.sub(take, text)
    return tuple(found), " ".join(rest.split()) if found else rest


def duration_ms(text: str) -> int | None:
    """`3s`, `250ms`, `1.5 m` or plain seconds, in milliseconds; None when it is none of them."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    return min(MAX_PAUSE_MS, round(float(match.group(1)) * _UNITS[match.group(2) or "s"]))


def _slow(text: str) -> Directive | None:
    ms = duration_ms(text or "3s")
    return None if ms is None else Pause(ms)


def _print(text: str) -> Directive | None:
    if text == "forever":
        return Print(None)
    match = _COUNT.fullmatch(text)
    return None if match is None else Print(int(match.group(1)))


def _stream(text: str) -> Directive | None:
    ms = duration_ms(text) if text else STREAM_MS
    return None if ms is None else Stream(ms)


def _exit(text: str) -> Directive | None:
    return Exit(int(text or "0")) if re.fullmatch(r"[0-9]{0,2}", text) else None


_READERS: dict[str, Callable[[str], Directive | None]] = {
    "slow": _slow,
    "ask": lambda text: Ask(text) if text else None,
    "print": _print,
    "stream": _stream,
    "say": lambda text: Say(text) if text else None,
    "error": lambda text: Fail(text or "Connection error."),
    "query": lambda text: None if text else Query(),
    "exit": _exit,
    "crash": lambda text: None if text else Exit(None),
}
