"""What the agent was asked to do on its command line (pure).

The options and their refusals are those of the measured CLI: `--session-id` must be a UUID, `--resume` continues a
conversation under its own id, `--fork-session` continues it under a new one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

USAGE = """usage: switchboard agent [--session-id UUID | --resume UUID [--fork-session]] [--cwd DIR]

The built-in agent: an interactive command-line agent with an offline, scripted model. It needs no account and no
network, and it publishes its state the way Claude Code does.

  --session-id UUID   start a new conversation under this id
  --resume UUID       continue an earlier conversation
  --fork-session      with --resume: continue it under a new id (or under --session-id)
  --cwd DIR           work in this directory
  --version           print the version
  --help              print this text

Inside: /help lists what a prompt can make it do. Environment: SWITCHBOARD_AGENT_HOME (where it keeps its files),
SWITCHBOARD_AGENT_FAULTS (how it should misbehave)."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_WITH_VALUE = {"--session-id": "session_id", "--resume": "resume", "-r": "resume", "--cwd": "cwd"}
_FLAGS = {"--fork-session": "fork", "--help": "help", "-h": "help", "--version": "version"}


class UsageError(ValueError):
    """The command line asks for something impossible. `code` is the process's exit code."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Options:
    """A checked command line."""

    session_id: str | None = None
    resume: str | None = None
    fork: bool = False
    cwd: str | None = None
    help: bool = False
    version: bool = False


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID in its usual form, in either letter case."""
    return _UUID.fullmatch(text) is not None


def parse_options(argv: Sequence[str]) -> Options:
    """Read the command line. Raises `UsageError`: 1 for an id that is none (as measured), 2 for anything else."""
    values: dict[str, str] = {}
    flags: set[str] = set()
    left = list(argv)
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name in _FLAGS and not equals:
            flags.add(_FLAGS[name])
        elif name not in _WITH_VALUE:
            raise UsageError(f"unknown argument '{name}'\n\n{USAGE}")
        elif not equals and not left:
            raise UsageError(f"{name} needs a value\n\n{USAGE}")
        else:
            values[_WITH_VALUE[name]] = value if equals else left.pop(0)
    options = Options(
        session_id=values.get("session_id"),
        resume=values.get("resume"),
        cwd=values.get("cwd"),
        fork="fork" in flags,
        help="help" in flags,
        version="version" in flags,
    )
    if not (options.help or options.version):
        _check(options)
    return options


def _check(options: Options) -> None:
    if options.session_id is not None and not is_uuid(options.session_id):
        raise UsageError("Invalid session ID. Must be a valid UUID.", 1)
    if options.resume is not None and not is_uuid(options.resume):
        # The measured CLI opens a picker here and stays alive; there is nobody to pick in a script.
        raise UsageError(f"--resume takes a session ID (a UUID), not '{options.resume}'.", 1)
    if options.fork and options.resume is None:
        raise UsageError("--fork-session is used together with --resume")
    if options.session_id is not None and options.resume is not None and not options.fork:
        raise UsageError("--session-id can be used with --resume only together with --fork-session", 1)
