"""`switchboard send`: a trigger file from the command line, with a bounded wait for its result."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from switchboard.cli.request import MAX_INPUT, Way, add_options, carry_out, common_fields, given_text
from switchboard.cli.triggers import wait_result

MARGIN_SECONDS = 30.0
"""Beyond the trigger's own budget: earlier requests to the same session come first, outside that budget."""


def main(argv: Sequence[str]) -> int:
    """Return 0 if delivered, 1 refused, 2 usage, 3 uncertain or partly written, 4 no result in time."""
    options = _parse(argv)
    return carry_out(Way("send", MARGIN_SECONDS, wait_result), options, lambda: _body(options))


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="switchboard send",
        description="Send text, a chain of steps or Escape to an open session, and print the result as JSON.",
        epilog="exit codes: 0 delivered, 1 refused and nothing written, 2 usage, 3 uncertain or partly written, "
        "4 no result within the bound (the request stays)",
    )
    parser.add_argument("session", metavar="ID", help="the session's id, from `switchboard ls`")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the prompt, one line; - reads standard input")
    parser.add_argument("--chain", metavar="FILE", help="JSON array of steps, each a text or {command, timeout_ms}")
    parser.add_argument("--key", choices=["Escape"], help="press a key instead of typing a prompt")
    parser.add_argument("--wait", choices=["none", "idle"], help="wait until the session is idle (default: none)")
    add_options(parser)
    options = parser.parse_args(argv)
    given = [what for what in (options.text, options.chain, options.key) if what is not None]
    if len(given) != 1:
        parser.error("give exactly one of TEXT, --chain FILE and --key Escape")
    return options


def _body(options: argparse.Namespace) -> dict[str, Any]:
    """Return the request. Raises `ValueError` or `OSError` for a command line that makes none."""
    body: dict[str, Any] = {"sessionId": options.session}
    if options.text is not None:
        body["command"] = given_text(options.text)
    elif options.chain is not None:
        body["chain"] = [{"command": step} if isinstance(step, str) else step for step in _chain(options.chain)]
    else:
        body["key"] = options.key
    if options.wait is not None:
        body["wait"] = options.wait
    return body | common_fields(options)


def _chain(path: str) -> list[Any]:
    """Return the steps in a file. Raises `ValueError` or `OSError`; the text names the file."""
    with open(path, "rb") as file:
        data = file.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise ValueError(f"{path} is too large: a request has 64 KiB at most")
    try:
        chain = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if isinstance(chain, dict):
        chain = chain.get("chain")
    if not isinstance(chain, list):
        raise ValueError(f"{path} must hold a JSON array of steps")  # noqa: TRY004 - a value of the person's, no fault of ours
    return chain


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
