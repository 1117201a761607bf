"""A conversation and the rows it grows by (pure).

A `Conversation` is a frozen value; each method answers with the next one and the rows to append. The transcript begins
with its opening rows at the first thing said, so a conversation in which nothing was said leaves no file. Time and ids
come in as arguments: `new_id` gives a fresh UUID at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from switchboard.agent import rows
from switchboard.agent.prompt_text import shorten
from switchboard.agent.rows import Row

NewId = Callable[[], str]


class Written(NamedTuple):
    """The conversation after something happened, and the rows that record it."""

    conversation: Conversation
    rows: tuple[Row, ...]

    def then(self, bodies: Iterable[Row], at: int, new_id: NewId) -> Written:
        """The same, with more rows of the conversation after them."""
        following = self.conversation.appended(bodies, at, new_id)
        return Written(following.conversation, (*self.rows, *following.rows))


@dataclass(frozen=True, slots=True)
class Conversation:
    """Where a conversation stands.

    `opened`: its transcript has rows. `parent`: the uuid of its last row. `prompt_id`: the prompt that the current
    rows belong to. `turns`: prompts so far, those before a compaction included.
    """

    session_id: str
    cwd: str
    version: str
    opened: bool = False
    parent: str | None = None
    prompt_id: str = ""
    turns: int = 0
    last_prompt: str = ""

    def prompted(self, text: str, at: int, new_id: NewId) -> Written:
        """A prompt starts a turn."""
        prompt_id = new_id()
        following = replace(self, turns=self.turns + 1, last_prompt=text, prompt_id=prompt_id)
        return following.opening(at, new_id).then([rows.typed_body(text, prompt_id)], at, new_id)

    def queued(self, operation: str, at: int, text: str | None = None) -> Written:
        """A message joined or left the queue; no part of the conversation yet."""
        return Written(self, (rows.queue_row(operation, self.session_id, at, text),))

    def answered(self, text: str, at: int, new_id: NewId) -> Written:
        """The model's last word in a turn."""
        body = rows.assistant_body(new_id(), [rows.text_block(text)], "end_turn", len(text.split()))
        return self.appended([body], at, new_id)

    def closed(self, duration_ms: int, at: int, new_id: NewId) -> Written:
        """The turn ended of itself."""
        return self.appended([rows.turn_duration_body(duration_ms)], at, new_id)

    def failed(self, text: str, at: int, new_id: NewId) -> Written:
        """The turn ended because the model could not be reached."""
        return self.appended([rows.error_body(new_id(), text)], at, new_id)

    def interrupted(self, at: int, new_id: NewId, *, in_dialog: bool = False) -> Written:
        """The turn ended because the person stopped it."""
        return self.appended([rows.interrupted_body(self.prompt_id, in_dialog=in_dialog)], at, new_id)

    def asked(self, command: str, tool_id: str, at: int, new_id: NewId) -> Written:
        """The model wants to run a command."""
        return self.appended([rows.tool_use_body(new_id(), tool_id, command)], at, new_id)

    def tool_ended(self, tool_id: str, text: str, at: int, new_id: NewId, *, failed: bool) -> Written:
        """The command ran, or was refused."""
        body = rows.tool_result_body(tool_id, text, failed=failed, prompt_id=self.prompt_id)
        return self.appended([body], at, new_id)

    def shell_started(self, command: str, at: int, new_id: NewId) -> Written:
        """A `!` command starts."""
        prompt_id = new_id()
        following = replace(self, prompt_id=prompt_id)
        return following.opening(at, new_id).then([rows.typed_body(rows.shell_text(command), prompt_id)], at, new_id)

    def shell_ended(self, stdout: str, stderr: str, at: int, new_id: NewId) -> Written:
        """A `!` command ended."""
        return self.appended([rows.local_body(rows.shell_output_text(stdout, stderr), self.prompt_id)], at, new_id)

    def commanded(self, name: str, at: int, new_id: NewId) -> Written:
        """A command of the CLI's own was carried out. A conversation without a transcript gets none for it."""
        if not self.opened:
            return Written(self, ())
        prompt_id = new_id()
        texts = (rows.command_text(name, ""), rows.command_output_text(""))
        return self.appended([rows.local_body(text, prompt_id) for text in texts], at, new_id)

    def compacted(self, arguments: str, at: int, new_id: NewId) -> Written:
        """The person had the conversation compacted; its rows begin a new chain."""
        prompt_id = new_id()
        tokens = 100 * self.turns  # a number that grows; there is no tokenizer behind a scripted model
        summary = (
            "This session is being continued from a previous conversation that was compacted. "
            f"It had {self.turns} prompts; the last one was: {shorten(self.last_prompt, 200)}"
        )
        start = replace(self, parent=None, prompt_id=prompt_id)
        return start.appended(
            [
                rows.boundary_body(self.parent, tokens),
                rows.summary_body(summary, prompt_id),
                rows.local_body(rows.command_text("compact", arguments), prompt_id),
                rows.local_body(rows.command_output_text("Compacted"), prompt_id),
            ],
            at,
            new_id,
        )

    def cleared(self, session_id: str, at: int, new_id: NewId) -> Written:
        """A fresh conversation takes this one's place, with a transcript at once."""
        prompt_id = new_id()
        fresh = Conversation(session_id, self.cwd, self.version, prompt_id=prompt_id)
        return fresh.opening(at, new_id).then(
            [
                rows.local_body(rows.command_text("clear", ""), prompt_id),
                rows.local_body(rows.command_output_text(""), prompt_id),
            ],
            at,
            new_id,
        )

    def opening(self, at: int, new_id: NewId) -> Written:
        """The transcript's first rows, when it has none yet."""
        if self.opened:
            return Written(self, ())
        return Written(replace(self, opened=True), rows.opening_rows(self.session_id, new_id(), at))

    def appended(self, bodies: Iterable[Row], at: int, new_id: NewId) -> Written:
        """Rows of the conversation, each the child of the one before."""
        parent, written = self.parent, []
        for body in bodies:
            uuid = new_id()
            row = rows.linked(
                body,
                uuid=uuid,
                parent=parent,
                at=at,
                session_id=self.session_id,
                cwd=self.cwd,
                version=self.version,
            )
            written.append(row)
            parent = uuid
        return Written(replace(self, parent=parent), tuple(written))


def forked(source: Iterable[Row], session_id: str) -> tuple[Row, ...]:
    """The rows of a conversation as the beginning of a copy under another id."""
    return tuple({**row, "sessionId": session_id} if "sessionId" in row else row for row in source)
