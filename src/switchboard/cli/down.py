"""`switchboard down`: stop the host."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from switchboard.cli.output import say
from switchboard.cli.reach import SettingsError, complain, explain, socket_path
from switchboard.page.local_client import HostRefused, HostSilent, HostUnavailable, request
from switchboard.page.messages import Done, Shutdown


def main(argv: Sequence[str]) -> int:
    """Return 0 when the host is ending, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="switchboard down", description="Stop the host. Sessions go on without it.")
    parser.add_argument("--sessions", action="store_true", help="end every session too, as Stop would")
    options = parser.parse_args(argv)
    try:
        answer = request(socket_path(), Shutdown(1, options.sessions), timeout=15)
    except (HostUnavailable, HostSilent, HostRefused, SettingsError) as error:
        complain(explain(error))
        return 1
    if isinstance(answer, Done) and not answer.ok:
        complain(f"{answer.reason}: {answer.detail}")
        return 1
    say("down", "The host is ending." if options.sessions else "The host is ending; sessions go on.")
    return 0
