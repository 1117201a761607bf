"""`switchboard url`: a fresh address of the browser page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from switchboard.cli.reach import SettingsError, complain, explain, socket_path
from switchboard.page.local_client import HostRefused, HostSilent, HostUnavailable, request
from switchboard.page.messages import Address, AddressIs, Done


def main(argv: Sequence[str]) -> int:
    """Return 0 and print the address, 1 when there is none."""
    parser = argparse.ArgumentParser(
        prog="switchboard url",
        description="Print the address of the browser page with a ticket: good for one browser, within two minutes.",
    )
    parser.parse_args(argv)
    try:
        answer = request(socket_path(), Address(1), timeout=15)
    except (HostUnavailable, HostSilent, HostRefused, SettingsError) as error:
        complain(explain(error))
        return 1
    if isinstance(answer, AddressIs):
        print(answer.url)
        return 0
    if isinstance(answer, Done):
        complain(f"{answer.reason}: {answer.detail}")
    return 1
