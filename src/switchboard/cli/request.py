"""Commands that write a trigger: their options, their text, and the bounded wait for the result (driver).

What a command says is the same whatever becomes of it: the result on standard output, everything else on standard
error, and an exit code that tells "ask again" from "look first". From the moment a request is written, nothing that
goes wrong with the command itself may look like a refusal.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

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
    what_helps,
    write_trigger,
)
from switchboard.common.settings import SettingsError, TriggerSettings

MAX_TIMEOUT_SECONDS = 600
MAX_INPUT = 64 * 1024
"""A request file has no more bytes."""


def _no_words(_result: dict[str, Any]) -> str | None:
    return None


class Way(NamedTuple):
    """How a command asks. `margin`: seconds that it waits for a result beyond the request's own budget.

    `wait(folder, id, seconds, quiet)` returns the result, or None; `explain(result)`: one line for a person, or None;
    `unknown`: what else to say without a result, from the full stop before it on.
    """

    command: str
    margin: float
    wait: Callable[[str, str, float, bool], dict[str, Any] | None]
    explain: Callable[[dict[str, Any]], str | None] = _no_words
    unknown: str = ""


def add_options(parser: argparse.ArgumentParser, *, directory: bool = True) -> None:
    """Add the options that every such command has. `directory`: also what guards against the wrong session."""
    parser.add_argument("--timeout", type=_budget, metavar="S", help="the trigger's budget in seconds, up to 600")
    if directory:
        parser.add_argument(
            "--expected-cwd",
            type=directory_name,
            metavar="D",
            help="refuse unless the session was started in this directory; a relative one counts from here",
        )
    parser.add_argument("--bound", type=_seconds, metavar="S", help="how long to wait for the result at most")
    parser.add_argument("--no-wait", action="store_true", help="print the request's id and do not wait")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def given_text(text: str) -> str:
    """Return the text of an argument; `-` stands for standard input. Raises `ValueError` or `OSError`."""
    if text != "-":
        return text
    try:
        text = sys.stdin.read(MAX_INPUT + 1)
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input is no text: {error}") from error
    if len(text) > MAX_INPUT:
        raise ValueError("standard input is too large: a request has 64 KiB at most")
    return text.rstrip("\n")


def common_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the common options put into a request. Raises `OSError`."""
    fields: dict[str, Any] = {}
    if options.timeout is not None:
        fields["timeout_ms"] = max(1, round(options.timeout * 1000))
    if getattr(options, "expected_cwd", None) is not None:
        fields["expectedCwd"] = os.path.abspath(options.expected_cwd)
    return fields


def directory_name(text: str) -> str:
    """The type of an argument that names a directory."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: name a directory")  # or an unset variable would guard nothing
    return text


def carry_out(way: Way, options: argparse.Namespace, body: Callable[[], dict[str, Any]]) -> int:
    """Write the request, wait for its result, print it, and return the exit code. Raises `KeyboardInterrupt`.

    `body` returns the request; it may raise `OSError`, `ValueError` or `RecursionError` for what makes none.
    """
    try:
        request = body()
    except (OSError, ValueError, RecursionError) as error:
        _complain(way, _words(error))
        return EXIT_USAGE
    try:
        folder = triggers_dir()
        trigger_id = write_trigger(folder, request)
    except (TriggerFolderError, SettingsError) as error:
        _complain(way, str(error))
        return EXIT_FAILED
    if options.no_wait:
        if say(way.command, trigger_id):
            return 0
        _complain(way, _stays(folder, trigger_id))
        return EXIT_NO_RESULT
    return _await(way, options, folder, trigger_id)


def _await(way: Way, options: argparse.Namespace, folder: str, trigger_id: str) -> int:
    """Print the result of a request that is written, and return the exit code. Raises `KeyboardInterrupt`."""
    budget = options.timeout if options.timeout is not None else TriggerSettings(os.environ).idle_timeout_ms / 1000
    bound = options.bound if options.bound is not None else budget + way.margin
    try:
        result = way.wait(folder, trigger_id, bound, options.quiet)
    except UnreadableResult as error:
        _complain(way, str(error))
        return EXIT_UNCERTAIN
    except KeyboardInterrupt:
        _complain(way, f"not waited for any longer. {_stays(folder, trigger_id)}{way.unknown}")
        raise
    if result is None:
        _complain(way, f"no result within {bound:g} s. {_stays(folder, trigger_id)}{way.unknown}. {what_helps(folder)}")
        return EXIT_NO_RESULT
    say(way.command, json_text(result))
    words = None if options.quiet else way.explain(result)
    if words is not None:
        _complain(way, words)
    return exit_code(result)


def _stays(folder: str, trigger_id: str) -> str:
    return (
        f"The request {trigger_id} stays and may still be carried out: see `switchboard result {trigger_id}` "
        f"({result_path(folder, trigger_id)}), or delete {folder}/{trigger_id}.json"
    )


def _complain(way: Way, text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # the exit code says what matters
        print(f"switchboard {way.command}: {text}", file=sys.stderr)


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


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
