"""`switchboard stop`: end an open session, after a last prompt if there is one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from switchboard.cli.lifecycle import ask, parser_of, session_id
from switchboard.cli.request import add_options, given_text

PHASES: Mapping[str, str] = MappingProxyType(
    {
        "prompt-attempted": "typing the last prompt",
        "enter-written": "the last prompt was typed; waiting for its turn to end",
        "note-finished": "its turn is over; the session is ended as soon as nobody is typing",
        "stop-requested": "the session was asked to end; waiting for its process",
    }
)


def main(argv: Sequence[str]) -> int:
    """Return 0 if ended, 1 refused, 2 usage, 3 uncertain or partly written, 4 no result in time."""
    parser = parser_of(
        "stop",
        "End an open session that is idle and in which nobody is typing, and print the result as JSON. With --before "
        "it may be busy: then the text is typed when it is idle, and the session ends when that turn is over.",
    )
    parser.add_argument("session", type=session_id, metavar="ID", help="the session's id, from `switchboard ls`")
    parser.add_argument("--before", metavar="TEXT", help="have this done first; - reads standard input")
    add_options(parser)
    options = parser.parse_args(argv)
    return ask("stop", PHASES, options, lambda: _fields(options))


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    fields: dict[str, Any] = {"action": "stop", "sessionId": options.session}
    if options.before is not None:
        fields["before"] = given_text(options.before)
    return fields
