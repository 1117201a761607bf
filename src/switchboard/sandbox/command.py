"""`claude-sandbox`: the installed command (driver).

What makes the sandbox is loaded late: a search path in the environment may name a directory that sessions write.
"""

import os
import sys

FAILED = 125

ALONE = ("-E", "-P")
"""Without the environment, and without the working directory in the search path: a host starts it so too."""


def main(argv: list[str] | None = None) -> int:
    """`claude-sandbox`: every argument is Claude Code's. Returns only when it fails, with 125."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not sys.flags.ignore_environment and any(name.startswith("PYTHON") for name in os.environ):
        return _again_alone(arguments)
    from switchboard.sandbox.making import guarded

    return guarded("claude", arguments)


def _again_alone(arguments: list[str]) -> int:
    """Start over without what the environment says to Python: where to find modules, above all."""
    command = [sys.executable, *ALONE, "-m", "switchboard.sandbox", "--cli", "claude", "--", *arguments]
    try:
        os.execv(sys.executable, command)
    except OSError as error:
        sys.stderr.write(f"claude-sandbox: {sys.executable} cannot be run: {error.strerror}\n")
        return FAILED
