"""`switchboard trigger`: what a program that writes triggers by itself wants to know."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from switchboard.triggers.v1_json_schema import request_schema, result_schema


def main(argv: Sequence[str]) -> int:
    """Return 0; a usage error exits with 2."""
    parser = argparse.ArgumentParser(prog="switchboard trigger", description="About trigger files.")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    schema = actions.add_parser("schema", help="print the JSON Schema of versioned requests and of their results")
    schema.add_argument(
        "part",
        nargs="?",
        choices=("request", "result"),
        help="that one alone, ready for a validator (default: an object with both)",
    )
    options = parser.parse_args(argv)
    schemas = {"request": request_schema(), "result": result_schema()}
    print(json.dumps(schemas if options.part is None else schemas[options.part], indent=2, ensure_ascii=False))
    return 0
