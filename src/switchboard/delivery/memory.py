"""Terminals in memory: the smallest complete implementation of `switchboard.delivery.port`.

For harnesses, tests and benchmarks that want the real trigger watcher over terminals of their own, in one process and
without a host::

    terminals = MemoryTerminals()
    terminal = terminals.add("my-session", on_write=lambda data: print(data))
    async with TriggerWatcher(terminals, folder):
        ...                          # drop <folder>/<name>.json, read <folder>/processed/<name>.result.json

`on_write` is called with every write, at once. What the session's program would show is published with `update`:
`terminal.update(busy=True)`, `terminal.update(status=CliStatus("idle", now))`, and so on; waits follow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Self

from switchboard.clis.transcripts import prompt_matches
from switchboard.common.clock import Clock
from switchboard.common.facts import ComposerView, Facts, Typing
from switchboard.common.feed import Feed
from switchboard.common.system_clock import SystemClock
from switchboard.common.writing import Check, WriteRefused
from switchboard.delivery.keystrokes import ENTER, ESCAPE


class MemoryTerminal:
    """One session's terminal. `alive`, `outlived` and `typing` may be changed at any time."""

    def __init__(self, key: str, cwd: str | None, on_write: Callable[[bytes], None], clock: Clock) -> None:
        self.key = key
        self.cwd = cwd
        self.typing = Typing()
        self.alive = True
        self.outlived = False
        self.facts: Feed[Facts] = Feed(Facts())
        self.refusal: str | None = None
        """Set it to make every further write fail with this reason, as a host does for a replaced session."""
        self.in_doubt: tuple[str, int] | None = None
        """The text whose effect is being looked for, and since when. Nothing here outlives its process, so this is for
        whoever wants to see it."""
        self._on_write = on_write
        self._clock = clock
        self._mutex = asyncio.Lock()
        self._untaken: tuple[str, int] | None = None

    def update(self, **changes: Any) -> None:
        """Publish new facts: any field of `Facts`. A change of `busy` is stamped with the time."""
        facts = self.facts.value
        if "busy" in changes and changes["busy"] != facts.busy:
            changes.setdefault("busy_changed_at", self._clock.now())
        self.facts.publish(replace(facts, **changes))
        if "transcript" in changes:
            self._look_for_texts()

    def exit(self) -> None:
        """The program ends."""
        self.alive = False
        self.update(present=False)

    def is_alive(self) -> bool:
        return self.alive

    def is_outlived(self) -> bool:
        return self.outlived

    def line(self) -> AbstractAsyncContextManager[MemoryLine]:
        return MemoryLine(self, self._mutex, self._on_write)

    def unproven(self, text: bytes, since: int) -> None:
        self.in_doubt = (text.decode("utf-8", "replace"), since)

    def settled(self) -> None:
        self.in_doubt = None

    def untaken(self, text: bytes, since: int) -> None:
        self.in_doubt = None
        self._untaken = (text.decode("utf-8", "replace"), since)
        self.count_input(len(self._untaken[0]))

    def _look_for_texts(self) -> None:
        if self._shown(self.in_doubt):
            self.in_doubt = None
        if self._untaken is not None and self._shown(self._untaken):
            (text, _), self._untaken = self._untaken, None
            self.count_input(-len(text))

    def _shown(self, typed: tuple[str, int] | None) -> bool:
        evidence = self.facts.value.transcript
        if typed is None or evidence is None:
            return False
        text, since = typed
        return any(prompt.at >= since and prompt_matches(prompt.text, text) for prompt in evidence.prompts)

    def transcript(self) -> AbstractContextManager[None]:
        return nullcontext()

    def count_input(self, characters: int) -> None:
        """So many characters more (or fewer) are now somebody's unsubmitted input."""
        composer = self.facts.value.composer
        if composer is not None and characters:
            self.update(composer=ComposerView(max(0, composer.pending + characters), self._clock.now()))


class MemoryLine:
    """The input of a `MemoryTerminal` for one delivery. Nobody else types there, so nothing has to be held."""

    def __init__(self, terminal: MemoryTerminal, mutex: asyncio.Lock, on_write: Callable[[bytes], None]) -> None:
        self._terminal = terminal
        self._mutex = mutex
        self._on_write = on_write
        self._typed = b""
        self._released = 0

    async def __aenter__(self) -> Self:
        await self._mutex.acquire()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.release()
        self._mutex.release()

    async def write(self, data: bytes, check: Check, out: Callable[[], None] = lambda: None) -> None:
        refusal = self._terminal.refusal or check(self._terminal.facts.value)
        if refusal is not None:
            raise WriteRefused(refusal)
        self._on_write(data)
        if data == ENTER:
            self._typed = b""
            self._terminal.count_input(-self._released)
            self._released = 0
        elif data != ESCAPE:
            self._typed += data
        out()

    def release(self) -> None:
        typed, self._typed = len(self._typed.decode("utf-8", "replace")), b""
        self._released += typed
        self._terminal.count_input(typed)


class MemoryTerminals:
    """Any number of `MemoryTerminal`s by session id. Ids compare without regard to letter case."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = SystemClock() if clock is None else clock
        self._terminals: dict[str, MemoryTerminal] = {}
        self._jobs: dict[str, str] = {}
        self._remote: dict[str, tuple[str, ...]] = {}

    def add(
        self, session_id: str, *, cwd: str | None = None, on_write: Callable[[bytes], None] = lambda _data: None
    ) -> MemoryTerminal:
        """Open a session. One that had the id is forgotten, not ended: deliveries to it still go there."""
        terminal = MemoryTerminal(session_id.lower(), cwd, on_write, self._clock)
        self._terminals[terminal.key] = terminal
        return terminal

    def remove(self, session_id: str) -> None:
        """Forget a session under all its ids, as a host does some time after its program ended."""
        gone = self._terminals.pop(session_id.lower())
        self._terminals = {key: terminal for key, terminal in self._terminals.items() if terminal is not gone}

    def rekey(self, session_id: str, new_id: str) -> None:
        """The program changed the session's id; the old one goes on meaning the same session."""
        terminal = self._terminals[session_id.lower()]
        terminal.key = new_id.lower()
        self._terminals[terminal.key] = terminal
        terminal.update(rekeyed_at=self._clock.now())

    def add_background_job(self, session_id: str, job_id: str) -> None:
        """A background process owns that session, and no terminal here does."""
        self._jobs[session_id.lower()] = job_id

    def add_remote(self, session_id: str, *hosts: str) -> None:
        """Other machines list that session, and no terminal here has it."""
        self._remote[session_id.lower()] = hosts

    def find(self, session_id: str) -> MemoryTerminal | None:
        return self._terminals.get(session_id.lower())

    def lock_key(self, session_id: str) -> str:
        terminal = self._terminals.get(session_id.lower())
        return session_id.lower() if terminal is None else terminal.key

    def remote_hosts(self, session_id: str) -> Sequence[str]:
        return self._remote.get(session_id.lower(), ())

    def background_job(self, session_id: str) -> str | None:
        return self._jobs.get(session_id.lower())
