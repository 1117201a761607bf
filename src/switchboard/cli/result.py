"""`switchboard result`: print a published result."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from switchboard.cli.output import json_text, say
from switchboard.cli.triggers import (
    EXIT_NO_RESULT,
    EXIT_UNCERTAIN,
    UnreadableResult,
    exit_code,
    read_result,
    triggers_dir,
)
from switchboard.common.settings import SettingsError


def main(argv: Sequence[str]) -> int:
    """Return the exit code that `switchboard send` would have had; 3 for an unreadable result, 4 when there is none."""
    parser = argparse.ArgumentParser(prog="switchboard result", description="Print the result of a trigger as JSON.")
    parser.add_argument("trigger", metavar="ID", help="the request's id: its file name without .json")
    options = parser.parse_args(argv)
    trigger_id = options.trigger.removesuffix(".json")
    if not trigger_id or "/" in trigger_id or "\0" in trigger_id:
        parser.error("the id is a request's file name, without a folder")
    try:
        folder = triggers_dir()
        result = read_result(folder, trigger_id)
    except (UnreadableResult, SettingsError) as error:
        # Not 1, which would say that nothing was written: nobody knows.
        print(f"switchboard result: {error}", file=sys.stderr)
        return EXIT_UNCERTAIN
    if result is None:
        waiting = os.path.lexists(os.path.join(folder, f"{trigger_id}.json"))
        text = "yet; its request is still there" if waiting else f"and no request of that name in {folder}"
        print(f"switchboard result: there is no result of {trigger_id} {text}", file=sys.stderr)
        return EXIT_NO_RESULT
    say("result", json_text(result))
    return exit_code(result)
