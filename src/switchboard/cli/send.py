"""`switchboard send`: a trigger file from the command line, with a bounded wait for its result."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from switchboard.cli.output import json_text, say
from switchboard.cli.triggers import (
    EXIT_FAILED,
    EXIT_NO_RESULT,
    EXIT_UNCERTAIN,
    EXIT_USAGE,
    TriggerFolderError,
    UnreadableResult,
    exit_code,
    result_path,
    triggers_dir,
    wait_result,
    what_helps,
    write_trigger,
)
from switchboard.common.settings import SettingsError, TriggerSettings

MAX_TIMEOUT_SECONDS = 600
MAX_INPUT = 64 * 1024
"""A request file has no more bytes."""

MARGIN_SECONDS = 30.0
"""Beyond the trigger's own budget: earlier requests to the same session come first, outside that budget."""


def main(argv: Sequence[str]) -> int:
    """Return 0 if delivered, 1 refused, 2 usage, 3 uncertain or partly written, 4 no result in time."""
    options, text = _parse(argv)
    try:
        body = _body(options, text)
    except (OSError, ValueError, RecursionError) as error:
        _complain(_words(error))
        return EXIT_USAGE
    try:
        folder = triggers_dir()
        trigger_id = write_trigger(folder, body)
    except (TriggerFolderError, SettingsError) as error:
        _complain(str(error))
        return EXIT_FAILED
    if options.no_wait:
        if say("send", trigger_id):
            return 0
        _complain(_stays(folder, trigger_id))
        return EXIT_NO_RESULT
    return _await(options, folder, trigger_id)


def _await(options: argparse.Namespace, folder: str, trigger_id: str) -> int:
    """Print the result of a request that is written, and return the exit code. Raises `KeyboardInterrupt`."""
    budget = options.timeout if options.timeout is not None else _default_budget()
    bound = options.bound if options.bound is not None else budget + MARGIN_SECONDS
    try:
        result = wait_result(folder, trigger_id, bound, options.quiet)
    except UnreadableResult as error:
        _complain(str(error))
        return EXIT_UNCERTAIN
    except KeyboardInterrupt:
        _complain(f"not waited for any longer. {_stays(folder, trigger_id)}")
        raise
    if result is None:
        _complain(f"no result within {bound:g} s. {_stays(folder, trigger_id)}. {what_helps(folder)}")
        return EXIT_NO_RESULT
    say("send", json_text(result))
    return exit_code(result)


def _stays(folder: str, trigger_id: str) -> str:
    return (
        f"The request {trigger_id} stays and may still be carried out: see `switchboard result {trigger_id}` "
        f"({result_path(folder, trigger_id)}), or delete {folder}/{trigger_id}.json"
    )


def _complain(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # the exit code says what matters
        print(f"switchboard send: {text}", file=sys.stderr)


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


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
    parser.add_argument("--timeout", type=_budget, metavar="S", help="the trigger's budget in seconds, up to 600")
    parser.add_argument(
        "--expected-cwd",
        type=_directory,
        metavar="D",
        help="refuse unless the session was started in this directory; a relative one counts from here",
    )
    parser.add_argument("--bound", type=_seconds, metavar="S", help="how long to wait for the result at most")
    parser.add_argument("--no-wait", action="store_true", help="print the request's id and do not wait")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    options = parser.parse_args(argv)
    given = [what for what in (options.text, options.chain, options.key) if what is not None]
    if len(given) != 1:
        parser.error("give exactly one of TEXT, --chain FILE and --key Escape")
    return options, options.text


def _body(options: argparse.Namespace, text: str | None) -> dict[str, Any]:
    """Return the request. Raises `ValueError` or `OSError` for a command line that makes none."""
    body: dict[str, Any] = {"sessionId": options.session}
    if text is not None:
        body["command"] = _standard_input() if text == "-" else text
    elif options.chain is not None:
        body["chain"] = [{"command": step} if isinstance(step, str) else step for step in _chain(options.chain)]
    else:
        body["key"] = options.key
    if options.wait is not None:
        body["wait"] = options.wait
    if options.timeout is not None:
        body["timeout_ms"] = max(1, round(options.timeout * 1000))
    if options.expected_cwd is not None:
        body["expectedCwd"] = os.path.abspath(options.expected_cwd)
    return body


def _standard_input() -> str:
    """Return what is sent for `-`. Raises `ValueError` or `OSError`."""
    try:
        text = sys.stdin.read(MAX_INPUT + 1)
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input is no text: {error}") from error
    if len(text) > MAX_INPUT:
        raise ValueError("standard input is too large: a request has 64 KiB at most")
    return text.rstrip("\n")


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


def _default_budget() -> float:
    return TriggerSettings(os.environ).idle_timeout_ms / 1000


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _budget(text: str) -> float:
    seconds = _seconds(text)
    if seconds > MAX_TIMEOUT_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MAX_TIMEOUT_SECONDS} seconds")
    return seconds


def _directory(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty: name a directory")  # or an unset variable would guard nothing
    return text
