"""`switchboard watch`: the terminal page."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from switchboard import __version__
from switchboard.cli.reach import SettingsError, complain, explain, socket_path


def main(argv: Sequence[str]) -> int:
    """Return 0 after leaving, 1 when it cannot start."""
    parser = argparse.ArgumentParser(
        prog="switchboard watch", description="See all sessions in this terminal, and use one at a time."
    )
    parser.add_argument("session", nargs="?", metavar="ID", help="start with this session selected")
    options = parser.parse_args(argv)
    try:
        path = socket_path()
    except SettingsError as error:
        complain(str(error))
        return 1

    from switchboard.common.system_clock import SystemClock
    from switchboard.page.terminal.app import run

    try:
        return asyncio.run(
            run(
                path,
                options.session,
                stdin_fd=sys.stdin.fileno(),
                stdout_fd=sys.stdout.fileno(),
                env=os.environ,
                clock=SystemClock(),
                version=__version__,
                explain=explain,
            )
        )
    except Exception as error:  # noqa: BLE001 - the terminal is restored by now; a person gets a sentence
        complain(f"the page failed ({type(error).__name__}: {error}); sessions are not affected")
        return 1
