"""What a submitted line is (pure): a prompt, a shell command, one of our commands, or a command we do not have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from switchboard.agent.activity import Activity, Submission

COMMANDS: Mapping[str, str] = {
    "clear": "start a fresh conversation under a new id",
    "compact": "replace the conversation by a summary",
    "cost": "open a panel that has to be closed",
    "exit": "leave",
    "fault": "misbehave on request: /fault name[=number], /fault off, /fault alone lists them",
    "help": "list what can be typed here",
}

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_:-]*)(?:\s+(.*))?", re.DOTALL)
_WORK = {"compact": Activity.COMPACTION, "clear": Activity.CLEARING}
_ALIASES = {"quit": "exit"}


@dataclass(frozen=True, slots=True)
class Immediate:
    """A command of ours that is carried out at once, whatever is going on."""

    name: str
    argument: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A command that does not exist: a message, and no turn."""

    name: str


def classify(text: str) -> Submission | Immediate | Unknown:
    """Tell what `text` is. A path such as `/tmp/x is full` is a prompt, and so is anything after `#`."""
    if text.startswith("!") and text[1:].strip():
        return Submission(Activity.SHELL, text, text[1:].strip())
    match = _COMMAND.fullmatch(text)
    if match is None:
        return Submission(Activity.TURN, text, text)
    name, argument = match.group(1), (match.group(2) or "").strip()
    name = _ALIASES.get(name, name)
    if name not in COMMANDS:
        return Unknown(name)
    if name in _WORK:
        return Submission(_WORK[name], text, argument)
    return Immediate(name, argument)


def matching(box: str) -> list[str]:
    """The commands that a half-typed command may become; none when the box holds something else."""
    if not re.fullmatch(r"/[A-Za-z]*", box):
        return []
    return [f"/{name}" for name in COMMANDS if name.startswith(box[1:])]


def split_background(command: str) -> tuple[str, bool]:
    """The command without a `&` at its end, and whether it had one."""
    if command.endswith("&") and not command.endswith("&&"):
        return command[:-1].rstrip(), True
    return command, False
