"""What `switchboard open`, `new` and `stop` share (driver): one versioned request, and words for its result."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from switchboard.cli.request import Way, carry_out, common_fields
from switchboard.cli.triggers import wait_result
from switchboard.common.settings import TriggerSettings

VERSION = 1

PUBLICATION_SECONDS = 10.0
"""For what comes after the request's own deadline: the last write of the result, on a machine that is busy."""

UNKNOWN = ". Whether it was done is not known by then: look at the session, and do not ask again under a new name"

CODES = (
    "exit codes: 0 done, 1 not done and nothing was typed, 2 usage, 3 uncertain, or not done after something was "
    "typed, 4 no result within the bound (the request stays)"
)

_SESSION_ID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


def parser_of(command: str, description: str) -> argparse.ArgumentParser:
    """Return the beginning of a command's parser."""
    return argparse.ArgumentParser(prog=f"switchboard {command}", description=description, epilog=CODES)


def session_id(text: str) -> str:
    """The type of an argument that names a session. Anything but an id is refused here, before it waits for a host."""
    if not _SESSION_ID.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no session's id; `switchboard ls` prints them")
    return text


def ask(
    command: str,
    phases: Mapping[str, str],
    options: argparse.Namespace,
    fields: Callable[[], dict[str, Any]],
) -> int:
    """Write the request with these fields, wait, and return the exit code. Raises `KeyboardInterrupt`.

    `phases`: words for how far the request is. `fields` may raise `OSError` or `ValueError`. Without a bound it is
    waited for as long as a result can be expected: the age at which a host would refuse to begin the request, its own
    budget from then on, and the time to publish.
    """
    margin = max(0, TriggerSettings(os.environ).max_age_ms) / 1000 + PUBLICATION_SECONDS
    way = Way(command, margin, partial(wait_result, phases=phases), _explain, UNKNOWN)
    return carry_out(way, options, lambda: {"version": VERSION, **fields(), **common_fields(options)})


def _explain(result: dict[str, Any]) -> str | None:
    from switchboard.cli.remedies import explain  # only a refusal needs all those words

    return explain(result)
