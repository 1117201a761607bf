"""The terminals that delivery writes to, as a protocol.

The host implements it over its sessions. A harness, a test or a benchmark can implement it over anything that takes
bytes: `switchboard.delivery.memory` is the smallest complete example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from switchboard.common.facts import Facts, Typing
from switchboard.common.feed import Feed
from switchboard.common.writing import Check, WriteRefused

__all__ = ["Check", "Line", "Target", "Terminals", "WriteRefused"]


class Line(Protocol):
    """Exclusive use of one terminal's input, from a delivery's first byte to its Enter.

    People's keystrokes that arrive after the first byte are held, and released in order when the line closes.
    """

    async def write(self, data: bytes, check: Check, out: Callable[[], None] = lambda: None) -> None:
        """Write all of `data`, as one write where the terminal takes it.

        `out` is called once the terminal has all of it, before any wait for the program to read it: whatever this
        raises then, all of it is out.
        `check` sees the facts immediately before every real write, also before a tail that had to wait for room.
        Raises `WriteRefused` (with `partial` bytes possibly out only when the terminal had taken a part before the
        permission was lost), `OSError` when the terminal fails. Cancelling it drops what was not written.
        """

    def release(self) -> None:
        """Let people's held keystrokes through although no Enter was sent: a dialog opened, and is theirs to answer.

        What was typed counts as a person's unsubmitted input from here on, until an Enter on this line or a person
        clears it. Ending a line whose text got no Enter does the same.
        """


class Target(Protocol):
    """One session's terminal, pinned when it was looked up: a replacement is another target."""

    @property
    def key(self) -> str:
        """The id the session has now (it changes when the CLI re-keys, e.g. on `/clear`)."""

    @property
    def cwd(self) -> str | None:
        """The directory the session was started in; None when unknown."""

    @property
    def typing(self) -> Typing:
        """How its CLI takes text now: `bracketed_paste` is on only while the terminal has mode 2004 on."""

    @property
    def facts(self) -> Feed[Facts]:
        """What is known now; waits follow it.

        One feed belongs to one terminal for its whole life: two targets are the same session exactly when their feeds
        are the same object.
        """

    def is_alive(self) -> bool:
        """Ask the system whether the process exists (one that may not be signalled counts as alive)."""

    def is_outlived(self) -> bool:
        """Ask whether its program has ended and something else has the terminal: a shell that it was started through.

        What is typed then goes there, and would be carried out. False where that cannot be told, and where the program
        is a shell.
        """

    def line(self) -> AbstractAsyncContextManager[Line]:
        """Take the terminal's input for one delivery; others wait their turn."""

    def unproven(self, text: bytes, since: int) -> None:
        """The Enter of this text is written next (`since`, wall milliseconds), and then its effect is looked for.

        Called where the effect shows itself in a transcript; again when the write has to be repeated, and for nothing
        when it is refused. Once the Enter is out, the text may stand in the box until `settled` or `untaken` is called.
        Nobody who looks is told of it, but sessions that outlive their host must keep it: a host that adopts one
        meanwhile counts the text as `untaken`.
        """

    def settled(self) -> None:
        """The effect of the last Enter was seen, or is looked for no longer: the text is not in the box."""

    def untaken(self, text: bytes, since: int) -> None:
        """A delivery's text shows no sign of having been taken with its Enter: as far as is known it is in the box.

        It counts as a person's unsubmitted input until a person clears it, or the transcript shows it as entered at
        `since` (wall milliseconds) or later.
        """

    def transcript(self) -> AbstractContextManager[None]:
        """While entered, `facts.value.transcript` is kept up to date; its first reading is made on entering."""


class Terminals(Protocol):
    """Where sessions are looked up."""

    def find(self, session_id: str) -> Target | None:
        """The open session of that id, or of a session that had that id before; None when there is none."""

    def lock_key(self, session_id: str) -> str:
        """The key under which work for this session queues: old and new ids of one session give the same key."""

    def remote_hosts(self, session_id: str) -> Sequence[str]:
        """The machines that list this session, where triggers may be meant for other machines at all; else none.

        Nothing connects to one: it is for the refusal. Raises what keeps it from being known.
        """

    def background_job(self, session_id: str) -> str | None:
        """The job id when a live background process, attached nowhere here, owns this session."""
