"""`switchboard send`: a trigger file from the command line, with a bounded wait for its result."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from switchboard.cli.triggers import (
    EXIT_FAILED,
    EXIT_NO_RESULT,
    EXIT_USAGE,
    TriggerFolderError,
    exit_code,
    triggers_dir,
    wait_result,
    write_trigger,
)
from switchboard.common.settings import SettingsError, TriggerSettings

MARGIN_SECONDS = 30.0
"""Beyond the trigger's own budget: earlier requests to the same session come first, outside that budget."""


def main(argv: Sequence[str]) -> int:
    """Return 0 if delivered, 1 refused, 2 usage, 3 uncertain or partly written, 4 no result in time."""
    options, text = _parse(argv)
    try:
        body = _body(options, text)
    except (OSError, ValueError) as error:
        print(f"switchboard send: {error}", file=sys.stderr)
        return EXIT_USAGE
    try:
        folder = triggers_dir()
        trigger_id = write_trigger(folder, body)
        if options.no_wait:
            print(trigger_id)
            return 0
        budget = options.timeout if options.timeout is not None else _default_budget()
        bound = options.bound if options.bound is not None else budget + MARGIN_SECONDS
        result = wait_result(folder, trigger_id, bound, options.quiet)
    except (TriggerFolderError, SettingsError) as error:
        print(f"switchboard send: {error}", file=sys.stderr)
        return EXIT_FAILED
    if result is None:
        print(
            f"switchboard send: no result within {bound:g} s. The request {trigger_id} stays and may still be carried "
            f"out: see `switchboard result {trigger_id}`, or delete {folder}/{trigger_id}.json. Is a host running "
            "(`switchboard doctor`)?",
            file=sys.stderr,
        )
        return EXIT_NO_RESULT
    _say(result)
    return exit_code(result)


def _say(result: dict[str, Any]) -> None:
    """Print the result. Where that fails, the exit code still says what happened: a repetition could do it twice."""
    try:
        print(json.dumps(result, indent=2, ensure_ascii=not _unicode_output()), flush=True)
    except (OSError, ValueError, AttributeError) as error:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            print(f"switchboard send: the result could not be printed: {error}", file=sys.stderr)
        # What is left in the buffer must not fail once more when the interpreter ends.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the interpreter ends


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, str | None]:
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
    parser.add_argument("--timeout", type=_seconds, metavar="S", help="the trigger's budget in seconds, up to 600")
    parser.add_argument("--expected-cwd", metavar="D", help="refuse unless the session was started in this directory")
    parser.add_argument("--bound", type=_seconds, metavar="S", help="how long to wait for the result at most")
    parser.add_argument("--no-wait", action="store_true", help="print the request's id and do not wait")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    options = parser.parse_args(argv)
    given = [what for what in (options.text, options.chain, options.key) if what is not None]
    if len(given) != 1:
        parser.error("give exactly one of TEXT, --chain FILE and --key Escape")
    return options, options.text


def _body(options: argparse.Namespace, text: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {"sessionId": options.session}
    if text is not None:
        body["command"] = sys.stdin.read().rstrip("\n") if text == "-" else text
    elif options.chain is not None:
        with open(options.chain, encoding="utf-8") as file:
            chain = json.load(file)
        if isinstance(chain, dict):
            chain = chain.get("chain")
        if not isinstance(chain, list):
            raise ValueError(f"{options.chain} must hold a JSON array of steps")
        body["chain"] = [{"command": step} if isinstance(step, str) else step for step in chain]
    else:
        body["key"] = options.key
    if options.wait is not None:
        body["wait"] = options.wait
    if options.timeout is not None:
        body["timeout_ms"] = round(options.timeout * 1000)
    if options.expected_cwd is not None:
        body["expectedCwd"] = options.expected_cwd
    return body


def _default_budget() -> float:
    return TriggerSettings(os.environ).idle_timeout_ms / 1000


def _unicode_output() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds
