from __future__ import annotations

import pytest

from switchboard.agent.activity import Activity, Submission
from switchboard.agent.commands import Immediate, Unknown, classify, matching, split_background


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("hello", Submission(Activity.TURN, "hello", "hello")),
        ("# a note", Submission(Activity.TURN, "# a note", "# a note")),
        ("/tmp/foo is a path", Submission(Activity.TURN, "/tmp/foo is a path", "/tmp/foo is a path")),
        ("/", Submission(Activity.TURN, "/", "/")),
        ("/123", Submission(Activity.TURN, "/123", "/123")),
        ("!", Submission(Activity.TURN, "!", "!")),
        ("!ls -l", Submission(Activity.SHELL, "!ls -l", "ls -l")),
        ("! ls", Submission(Activity.SHELL, "! ls", "ls")),
        ("/compact", Submission(Activity.COMPACTION, "/compact", "")),
        ("/compact on tests", Submission(Activity.COMPACTION, "/compact on tests", "on tests")),
        ("/clear", Submission(Activity.CLEARING, "/clear", "")),
        ("/help", Immediate("help", "")),
        ("/exit", Immediate("exit", "")),
        ("/quit", Immediate("exit", "")),
        ("/fault idle-blip=3", Immediate("fault", "idle-blip=3")),
        ("/cost", Immediate("cost", "")),
        ("/nosuch x", Unknown("nosuch")),
        ("/compacted", Unknown("compacted")),
        ("/my:command", Unknown("my:command")),
    ],
)
def test_what_a_line_is(text: str, kind: object) -> None:
    assert classify(text) == kind


def test_commands_that_a_half_typed_one_may_become() -> None:
    assert matching("/c") == ["/clear", "/compact", "/cost"]
    assert matching("/com") == ["/compact"]
    assert matching("/nosuch") == []
    assert matching("/compact now") == []
    assert matching("c") == []


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("sleep 5 &", ("sleep 5", True)),
        ("sleep 5&", ("sleep 5", True)),
        ("a & b", ("a & b", False)),
        ("a &&", ("a &&", False)),
        ("a", ("a", False)),
    ],
)
def test_background(command: str, parts: tuple[str, bool]) -> None:
    assert split_background(command) == parts
