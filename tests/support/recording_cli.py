"""Stands in for a CLI in the page's tests: a saved pre-launch prefix runs this instead, with the command as arguments.

It writes down what it was given and where, says so on its terminal, and stays until its input ends or a signal ends it.
It never runs what it was given.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> int:
    """Append one line to `launches.jsonl` in the home directory of the test; echo each line that is typed."""
    launch = {"argv": sys.argv[1:], "cwd": os.getcwd(), "pid": os.getpid()}
    with open(os.path.join(os.environ["HOME"], "launches.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(launch) + "\n")
    print(f"recorded: {' '.join(sys.argv[1:])}", flush=True)
    for line in sys.stdin:
        print(f"heard: {line.strip()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
