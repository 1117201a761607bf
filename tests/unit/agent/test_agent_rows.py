from __future__ import annotations

import pytest

from switchboard.agent import rows


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_796_064_352_007, "2026-11-30T18:45:52.007Z"),
        (999, "1970-01-01T00:00:00.999Z"),
    ],
)
def test_stamps(at: int, text: str) -> None:
    assert rows.iso_time(at) == text


def test_the_first_rows_name_no_directory() -> None:
    opening = rows.opening_rows("s", "m", 0)
    assert [row["type"] for row in opening] == ["mode", "permission-mode", "file-history-snapshot"]
    assert not any("cwd" in row or "timestamp" in row for row in opening)


def test_what_every_row_of_the_conversation_carries() -> None:
    row = rows.linked(rows.typed_body("hi", "p"), uuid="u", parent="q", at=1, session_id="s", cwd="/c", version="1")
    assert row == {
        "type": "user",
        "message": {"role": "user", "content": "hi"},
        "promptId": "p",
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "permissionMode": "default",
        "isSidechain": False,
        "parentUuid": "q",
        "uuid": "u",
        "timestamp": "1970-01-01T00:00:00.001Z",
        "userType": "external",
        "entrypoint": "cli",
        "cwd": "/c",
        "sessionId": "s",
        "version": "1",
    }


def test_queue_rows() -> None:
    assert rows.queue_row("enqueue", "s", 1, "text") == {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": "1970-01-01T00:00:00.001Z",
        "sessionId": "s",
        "content": "text",
    }
    assert "content" not in rows.queue_row("dequeue", "s", 1)


def test_an_interruption_is_no_text_prompt() -> None:
    # Readers take string contents of user rows for prompts.
    message = rows.interrupted_body("p", in_dialog=False)["message"]
    assert message == {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}
    message = rows.interrupted_body("p", in_dialog=True)["message"]
    assert message == {
        "role": "user",
        "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}],
    }


def test_an_error_is_marked() -> None:
    assert rows.error_body("m", "no")["isApiErrorMessage"] is True


def test_commands_and_shell() -> None:
    assert rows.command_text("compact", "x") == (
        "<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args>x</command-args>"
    )
    assert rows.command_output_text("a<b") == "<local-command-stdout>a&lt;b</local-command-stdout>"
    assert rows.shell_text("echo a & echo b") == "<bash-input>echo a & echo b</bash-input>"
    assert rows.shell_output_text("</bash-stdout>", "") == (
        "<bash-stdout>&lt;/bash-stdout&gt;</bash-stdout><bash-stderr></bash-stderr>"
    )
