"""`switchboard up`: run the host in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Sequence

from switchboard.cli.reach import complain

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def main(argv: Sequence[str]) -> int:
    """Return 0 after an orderly end, 1 when the host cannot start."""
    parser = argparse.ArgumentParser(
        prog="switchboard up",
        description="Start the host. It runs until SIGTERM or Ctrl-C. Sessions outlive it; the next host adopts them.",
    )
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="port of the browser page (default: any free one)"
    )
    parser.add_argument(
        "--host", default=LOOPBACK[0], metavar="H", help="address of the browser page (default: 127.0.0.1)"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    options = parser.parse_args(argv)
    if options.host not in LOOPBACK:
        complain(f"--host {options.host}: only loopback addresses ({', '.join(LOOPBACK)}) are served")
        return 1

    from switchboard.host.host import HostConfig, run_host
    from switchboard.host.instance import HostRecord, StartError

    def announce(record: HostRecord) -> None:
        print(f"Switchboard is ready: switchboard watch   ({record.url})", flush=True)

    failed = False
    try:
        asyncio.run(run_host(HostConfig(os.environ, announce)))
    except* StartError as group:
        failed = True
        for error in _leaves(group):
            complain(str(error))
    return 1 if failed else 0


def _leaves(group: BaseExceptionGroup) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port number (0 to 65535)")
    return int(text)
