"""`switchboard open`: have a session shown, resumed if it is closed, and type a prompt into it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from switchboard.cli.lifecycle import ask, parser_of, session_id
from switchboard.cli.request import add_options, given_text

PHASES: Mapping[str, str] = MappingProxyType(
    {
        "claimed": "the page is opening the session",
        "spawned": "the session was resumed; waiting until it is ready",
        "prompt-attempted": "typing the prompt",
        "enter-written": "the prompt was typed; looking for a sign that it was submitted",
    }
)


def main(argv: Sequence[str]) -> int:
    """Return 0 if opened, 1 refused, 2 usage, 3 uncertain or partly written, 4 no result in time."""
    parser = parser_of(
        "open",
        "Have a session shown, resumed if it is closed, type a prompt into it if there is one, and print the result as "
        "JSON. Nothing is selected on the page.",
    )
    parser.add_argument("session", type=session_id, metavar="ID", help="the session's id, from `switchboard ls`")
    parser.add_argument("--prompt", metavar="TEXT", help="type this once the session is idle; - reads standard input")
    add_options(parser)
    options = parser.parse_args(argv)
    return ask("open", PHASES, options, lambda: _fields(options))


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    fields: dict[str, Any] = {"action": "open", "sessionId": options.session}
    if options.prompt is not None:
        fields["prompt"] = given_text(options.prompt)
    return fields
