"""From a command line to a conversation (driver): looks up what is to be resumed before anything is shown."""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.agent.conversation import Conversation, forked
from switchboard.agent.journal import new_uuid
from switchboard.agent.options import Options, UsageError
from switchboard.agent.recap import recap_of
from switchboard.agent.rows import Row
from switchboard.agent.transcript_files import COPY_BYTES, TAIL_BYTES, find_transcript, read_window


@dataclass(frozen=True, slots=True)
class Start:
    """Where the agent begins. `path`: the earlier transcript that goes on; `before`: rows a fork copies."""

    conversation: Conversation
    path: str | None = None
    before: tuple[Row, ...] = ()
    recap: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


def begin(options: Options, home: str, cwd: str, version: str) -> Start:
    """Find the conversation that is asked for. Raises `UsageError` with the texts of the measured CLI, or OSError."""
    if options.session_id is not None and find_transcript(home, options.session_id) is not None:
        raise UsageError(f"Session ID {options.session_id} is already in use.", 1)
    if options.resume is None:
        return Start(Conversation(options.session_id or new_uuid(), cwd, version))
    path = find_transcript(home, options.resume)
    if path is None:
        raise UsageError(f"No conversation found with session ID: {options.resume}", 1)
    window = read_window(path, COPY_BYTES if options.fork else TAIL_BYTES)
    recap = recap_of(window.rows)
    conversation = Conversation(
        session_id=(options.session_id or new_uuid()) if options.fork else options.resume,
        cwd=cwd,
        version=version,
        opened=True,
        parent=recap.parent,
        turns=len(recap.exchanges),
        last_prompt=recap.exchanges[-1].prompt if recap.exchanges else "",
    )
    return Start(
        conversation,
        path=None if options.fork else path,
        before=forked(window.rows, conversation.session_id) if options.fork else (),
        recap=tuple(recap.lines(options.resume, complete=window.complete)),
        prompts=tuple(exchange.prompt for exchange in recap.exchanges),
    )
