"""`switchboard new`: start a named session in a known project, and type its first prompt."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from switchboard.cli.lifecycle import ask, parser_of
from switchboard.cli.request import add_options, directory_name, given_text

PHASES: Mapping[str, str] = MappingProxyType(
    {
        "claimed": "the page is opening the session",
        "spawned": "the session was started; waiting until it is ready",
        "prompt-attempted": "typing the prompt",
        "enter-written": "the prompt was typed; looking for a sign that it was submitted",
    }
)


def main(argv: Sequence[str]) -> int:
    """Return 0 if started, 1 refused, 2 usage, 3 uncertain or partly written, 4 no result in time."""
    parser = parser_of(
        "new",
        "Start a session in a known project with its saved settings, type the prompt once it is ready, and print the "
        "result as JSON; `sessionId` in it is the new session. Nothing is selected on the page.",
    )
    parser.add_argument("prompt", metavar="PROMPT", help="its first prompt, one line; - reads standard input")
    parser.add_argument(
        "--project",
        type=directory_name,
        required=True,
        metavar="D",
        help="a directory of `switchboard project list`; a relative one counts from here",
    )
    parser.add_argument("--name", required=True, metavar="N", help="the name that is shown")
    add_options(parser, directory=False)
    options = parser.parse_args(argv)
    return ask("new", PHASES, options, lambda: _fields(options))


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "action": "open",
        "new": {"project": os.path.abspath(options.project), "name": options.name},
        "prompt": given_text(options.prompt),
    }
