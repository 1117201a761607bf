"""`switchboard result`: print a published result."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from switchboard.cli.triggers import (
    EXIT_FAILED,
    EXIT_NO_RESULT,
    EXIT_USAGE,
    TriggerFolderError,
    exit_code,
    read_result,
    triggers_dir,
)
from switchboard.common.settings import SettingsError


def main(argv: Sequence[str]) -> int:
    """Return the exit code that `switchboard send` would have had; 4 when there is no result."""
    parser = argparse.ArgumentParser(prog="switchboard result", description="Print the result of a trigger as JSON.")
    parser.add_argument("trigger", metavar="ID", help="the request's id: its file name without .json")
    options = parser.parse_args(argv)
    trigger_id = options.trigger.removesuffix(".json")
    if "/" in trigger_id or "\0" in trigger_id:
        print("switchboard result: the id is a file name without a folder", file=sys.stderr)
        return EXIT_USAGE
    try:
        result = read_result(triggers_dir(), trigger_id)
    except (TriggerFolderError, SettingsError) as error:
        print(f"switchboard result: {error}", file=sys.stderr)
        return EXIT_FAILED
    if result is None:
        print(f"switchboard result: there is no result of {trigger_id} (yet)", file=sys.stderr)
        return EXIT_NO_RESULT
    print(json.dumps(result, indent=2))
    return exit_code(result)
