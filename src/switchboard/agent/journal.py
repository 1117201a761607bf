"""Keeps the conversation and writes its transcript, late or not at all when asked to (driver)."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from switchboard.agent.conversation import Conversation, NewId, Written
from switchboard.agent.faults import Faults
from switchboard.agent.layout import transcript_path
from switchboard.agent.rows import Row
from switchboard.agent.transcript_files import append_rows
from switchboard.common.clock import Clock

Append = Callable[[str, tuple[Row, ...]], None]


def new_uuid() -> str:
    """A fresh id."""
    return str(uuid4())


class Journal:
    """The conversation as it stands, and its file.

    `path`: where an earlier part lies, which is not always where this directory's would; None for a new conversation.
    `before`: rows that go into the file first (a fork's copy).
    """

    def __init__(
        self,
        conversation: Conversation,
        home: str,
        clock: Clock,
        faults: Callable[[], Faults],
        *,
        path: str | None = None,
        before: tuple[Row, ...] = (),
        new_id: NewId = new_uuid,
        append: Append = append_rows,
    ) -> None:
        self.conversation = conversation
        self._home = home
        self._clock = clock
        self._faults = faults
        self._path = path or transcript_path(home, conversation.cwd, conversation.session_id)
        self._before = before
        self._new_id = new_id
        self._append = append
        self.failure: OSError | None = None

    @property
    def now(self) -> tuple[int, NewId]:
        """What every event of the conversation takes: the time, and a source of ids."""
        return self._clock.now(), self._new_id

    def new_id(self) -> str:
        """A fresh id."""
        return self._new_id()

    def record(self, written: Written) -> None:
        """Take over the conversation as it is now, and write its new rows."""
        if written.conversation.session_id != self.conversation.session_id:
            self._path = transcript_path(self._home, written.conversation.cwd, written.conversation.session_id)
        self.conversation = written.conversation
        rows, self._before = (*self._before, *written.rows), ()
        faults = self._faults()
        if not rows or "no-transcript" in faults:
            return
        path, delay = self._path, faults.get("late-transcript")
        if delay:
            self._clock.call_at(self._clock.now() + delay, lambda: self._write(path, rows))
        else:
            self._write(path, rows)

    def _write(self, path: str, rows: tuple[Row, ...]) -> None:
        try:
            self._append(path, rows)
            self.failure = None
        except OSError as error:
            self.failure = error
