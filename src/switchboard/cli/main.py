"""The `switchboard` command: finds the subcommand and hands over."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from switchboard.cli import output

COMMANDS = {
    "up": "start the host in the foreground",
    "down": "stop the host; sessions go on unless --sessions is given",
    "url": "print a fresh address of the browser page",
    "ls": "list sessions",
    "watch": "the terminal page: see and use sessions",
    "send": "send a prompt, a chain or Escape to a session through a trigger file",
    "result": "print a trigger's result",
    "doctor": "say what is found, what is missing and what to do",
    "demo": "a guided tour in a throw-away folder",
    "agent": "the built-in agent",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit code: 2 for a usage error."""
    output.prepare()
    try:
        try:
            return _run(list(sys.argv[1:] if argv is None else argv))
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        output.discard()  # the reader of our output has gone; there is nobody to tell
        return 141
    except OSError as error:
        output.discard()
        what = os.fsdecode(error.filename) if error.filename else "the output could not be written"
        print(f"switchboard: {what}: {error.strerror or error}", file=sys.stderr)
        return 1


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] in COMMANDS:
        module = importlib.import_module(f"switchboard.cli.{arguments[0]}")
        return int(module.main(arguments[1:]))
    listing = "\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="switchboard",
        description="One host for coding-agent sessions that people, scripts and other agents can reach.",
        epilog=f"commands:\n{listing}\n\n`switchboard COMMAND --help` explains each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("command", nargs="?", metavar="COMMAND")
    options = parser.parse_args(arguments)
    if options.version:
        from switchboard import __version__

        print(f"switchboard {__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 0
    parser.error(f"unknown command {options.command!r}; known: {', '.join(COMMANDS)}")
    return 2  # not reached: the parser exits


if __name__ == "__main__":
    sys.exit(main())
