"""What a session that is not open turns out to be, from its transcript on disk (pure).

Strict: exactly one file may carry the id, it has to be readable and hold rows, and one of its rows has to record a
directory that can be believed. Nothing is guessed: not the newest of several files, not the parent of a directory that
is gone, not a fresh start under the same id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class FoundTranscript:
    """One file that is named after the session, and what was seen in it.

    `problem`: why it cannot be used (unreadable, no regular file, empty, no row), None when it can.
    """

    profile: str
    path: str
    identity: tuple[int, int] | None = None
    cwd: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ClosedSession:
    """A session that can be resumed. `cwd`: as recorded, a worktree's own. `identity`: device and inode of the file."""

    session_id: str
    profile: str
    path: str
    identity: tuple[int, int]
    cwd: str


@dataclass(frozen=True, slots=True)
class SessionNotFound:
    """Nobody here has heard of it."""


@dataclass(frozen=True, slots=True)
class NoReadableTranscript:
    """It is known, or may be, and its transcript cannot be used."""

    detail: str


@dataclass(frozen=True, slots=True)
class AmbiguousTranscript:
    """More than one file carries the id."""

    detail: str


@dataclass(frozen=True, slots=True)
class CwdUnavailable:
    """The transcript records no directory that can be believed."""

    detail: str


ClosedOutcome: TypeAlias = ClosedSession | SessionNotFound | NoReadableTranscript | AmbiguousTranscript | CwdUnavailable


def closed_outcome(
    session_id: str, found: Sequence[FoundTranscript], *, known: bool, unread: Sequence[str]
) -> ClosedOutcome:
    """Return what is known of a session that is not open.

    `known`: it has been named, launched or open here. `unread`: folders that could not be looked into; they matter only
    when nothing was found, because a CLI of the same user cannot read them either.
    """
    if not found:
        if unread:
            return NoReadableTranscript(f"a transcript may be where nothing can be read: {'; '.join(unread)}")
        if known:
            return NoReadableTranscript("there is no transcript: the session was closed before its first prompt")
        return SessionNotFound()
    usable = [one for one in found if one.problem is None]
    if not usable:
        return NoReadableTranscript("; ".join(f"{one.path}: {one.problem}" for one in found))
    if len(found) > 1:
        paths = ", ".join(one.path for one in found)
        return AmbiguousTranscript(f"these files carry the id: {paths}; move away all but one")
    [one] = usable
    if one.cwd is None or one.identity is None:
        return CwdUnavailable(f"{one.path} records no directory that spells the name of its folder")
    return ClosedSession(session_id, one.profile, one.path, one.identity, one.cwd)


def same_session(before: ClosedSession, now: ClosedOutcome) -> bool:
    """Tell whether a session looked up again is still in the same file and directory."""
    return now == before
