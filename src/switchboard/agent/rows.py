"""The rows of a transcript (pure), in the shapes that the measured CLI writes.

A *body* is what makes a row of its kind; `linked` adds what every row of the conversation carries. Opening rows and
queue operations stand outside the conversation: they have no place in its chain of uuids, and no working directory.
"""

from __future__ import annotations

import html
from datetime import UTC, datetime
from typing import TypeAlias

from switchboard.common.strict_json import JsonValue

Row: TypeAlias = "dict[str, JsonValue]"

MODEL = "switchboard-scripted"


def iso_time(at: int) -> str:
    """Wall milliseconds as ISO 8601 in UTC, to the millisecond."""
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"


def linked(body: Row, *, uuid: str, parent: str | None, at: int, session_id: str, cwd: str, version: str) -> Row:
    """A row of the conversation: the body, its place in the chain, and where and when it was written."""
    return {
        "parentUuid": parent,
        "isSidechain": False,
        **body,
        "uuid": uuid,
        "timestamp": iso_time(at),
        "userType": "external",
        "entrypoint": "cli",
        "cwd": cwd,
        "sessionId": session_id,
        "version": version,
    }


def opening_rows(session_id: str, message_id: str, at: int) -> tuple[Row, ...]:
    """The rows a transcript begins with; they say nothing of a directory."""
    return (
        {"type": "mode", "mode": "normal", "sessionId": session_id},
        {"type": "permission-mode", "permissionMode": "default", "sessionId": session_id},
        {
            "type": "file-history-snapshot",
            "messageId": message_id,
            "snapshot": {"messageId": message_id, "trackedFileBackups": {}, "timestamp": iso_time(at)},
            "isSnapshotUpdate": False,
        },
    )


def queue_row(operation: str, session_id: str, at: int, content: str | None = None) -> Row:
    """A message waits (`enqueue`), is taken up (`dequeue`), or is taken back (`remove`)."""
    row: Row = {"type": "queue-operation", "operation": operation, "timestamp": iso_time(at), "sessionId": session_id}
    if content is not None:
        row["content"] = content
    return row


def typed_body(text: str, prompt_id: str) -> Row:
    """Something a person, or a program in a person's place, typed."""
    return {
        "promptId": prompt_id,
        "type": "user",
        "message": {"role": "user", "content": text},
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "permissionMode": "default",
    }


def local_body(text: str, prompt_id: str) -> Row:
    """What the CLI itself put into the conversation on a person's behalf: a command, its output."""
    return {"promptId": prompt_id, "type": "user", "message": {"role": "user", "content": text}}


def assistant_body(message_id: str, content: list[JsonValue], stop_reason: str, words: int) -> Row:
    """A message of the model."""
    return {
        "type": "assistant",
        "message": {
            "model": MODEL,
            "id": f"msg_{message_id}",
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": words, "output_tokens": words},
        },
        "requestId": f"req_{message_id}",
    }


def text_block(text: str) -> JsonValue:
    """A piece of a message that is text."""
    return {"type": "text", "text": text}


def tool_use_body(message_id: str, tool_id: str, command: str) -> Row:
    """The model asks for a shell command."""
    block: JsonValue = {"type": "tool_use", "id": tool_id, "name": "Bash", "input": {"command": command}}
    return assistant_body(message_id, [block], "tool_use", len(command.split()))


def tool_result_body(tool_id: str, text: str, *, failed: bool, prompt_id: str) -> Row:
    """What came of the shell command."""
    block: JsonValue = {"tool_use_id": tool_id, "type": "tool_result", "content": text, "is_error": failed}
    return {"promptId": prompt_id, "type": "user", "message": {"role": "user", "content": [block]}}


def interrupted_body(prompt_id: str, *, in_dialog: bool) -> Row:
    """The person stopped the turn."""
    text = "[Request interrupted by user for tool use]" if in_dialog else "[Request interrupted by user]"
    return {
        "promptId": prompt_id,
        "type": "user",
        "message": {"role": "user", "content": [text_block(text)]},
        "interruptedMessageId": None,
    }


def error_body(message_id: str, text: str) -> Row:
    """The model could not be reached."""
    body = assistant_body(message_id, [text_block(text)], "stop_sequence", 0)
    body["isApiErrorMessage"] = True
    body["error"] = "unknown"
    return body


def turn_duration_body(duration_ms: int) -> Row:
    """The turn is over; this row closes it."""
    return {"type": "system", "subtype": "turn_duration", "durationMs": duration_ms, "isMeta": False}


def boundary_body(logical_parent: str | None, tokens: int) -> Row:
    """What stood above was compacted because a person asked for it."""
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "level": "info",
        "isMeta": False,
        "logicalParentUuid": logical_parent,
        "compactMetadata": {"trigger": "manual", "preTokens": tokens},
    }


def summary_body(text: str, prompt_id: str) -> Row:
    """What is left of the conversation after compaction."""
    return {
        "promptId": prompt_id,
        "type": "user",
        "message": {"role": "user", "content": text},
        "isCompactSummary": True,
        "isVisibleInTranscriptOnly": True,
    }


def command_text(name: str, arguments: str) -> str:
    """A slash command as the transcript names it."""
    return (
        f"<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n"
        f"<command-args>{arguments}</command-args>"
    )


def command_output_text(text: str) -> str:
    """What a slash command answered."""
    return f"<local-command-stdout>{html.escape(text, quote=False)}</local-command-stdout>"


def shell_text(command: str) -> str:
    """A `!` command as the transcript names it; raw, because the record is compared with what was typed."""
    return f"<bash-input>{command}</bash-input>"


def shell_output_text(stdout: str, stderr: str) -> str:
    """What a `!` command printed."""
    out, err = html.escape(stdout, quote=False), html.escape(stderr, quote=False)
    return f"<bash-stdout>{out}</bash-stdout><bash-stderr>{err}</bash-stderr>"
