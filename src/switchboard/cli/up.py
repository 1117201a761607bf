"""`switchboard up`: run the host in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence

from switchboard.cli.output import discard
from switchboard.cli.reach import complain
from switchboard.page.security import MIN_CREDENTIAL, digest, is_loopback
from switchboard.page.web_config import WebConfig


def main(argv: Sequence[str]) -> int:
    """Return 0 after an orderly end, 1 when the host cannot start."""
    options = _parser().parse_args(argv)
    try:
        web = _web_config(options)
    except ValueError as unfit:
        complain(str(unfit))
        return 1

    from switchboard.host.host import HostConfig, run_host
    from switchboard.host.instance import HostRecord, StartError

    def announce(record: HostRecord, fresh_url: Callable[[], str] | None) -> None:
        tell(record, fresh_url)
        # What stands now stands to the end. A full collection would walk all of it, and the loop would wait for some
        # 15 ms each time.
        gc.collect()
        gc.freeze()

    def tell(record: HostRecord, fresh_url: Callable[[], str] | None) -> None:
        if fresh_url is None:
            _say(f"Switchboard is ready: switchboard watch   ({record.url})")
            return
        # A ticket goes to a person, or to who asked for it, and into no service's log.
        shown = fresh_url() if options.print_ticket or sys.stdout.isatty() else record.url
        _say(f"Switchboard is ready: {shown}")
        if not options.no_open:
            from switchboard.cli.browser import open_browser

            open_browser(fresh_url(), os.environ)

    from switchboard.cli.browser import has_screen

    opens_page = web is not None and not options.no_open and has_screen(os.environ, sys.platform)
    failed = False
    try:
        asyncio.run(run_host(HostConfig(os.environ, announce, web, opens_page)))
    except* StartError as group:
        failed = True
        for error in _leaves(group):
            complain(str(error))
    return 1 if failed else 0


def _say(text: str) -> None:
    """Print, if that can be: a host that nobody listens to, or whose log is full, is a host all the same."""
    try:
        print(text, flush=True)
    except OSError as error:
        discard()
        with contextlib.suppress(OSError):
            complain(f"the output could not be written: {error.strerror}. {text}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchboard up",
        description="Start the host. It runs until SIGTERM or Ctrl-C. Sessions outlive it; the next host adopts them.",
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=0,
        metavar="N",
        help="port of the browser page (default: the last host's if it is free, else any)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="H",
        help="address of the browser page (default: 127.0.0.1); beyond loopback only with --credential",
    )
    parser.add_argument(
        "--credential",
        metavar="FILE",
        help=f"a private file with a secret of {MIN_CREDENTIAL} characters or more that opens the page like a ticket",
    )
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--print-ticket", action="store_true", help="print the address with a ticket, also when nobody watches"
    )
    return parser


def _web_config(options: argparse.Namespace) -> WebConfig | None:
    """Return where to serve the page, None when this installation has none. Raises `ValueError`."""
    from switchboard.page.web_files import read_credential, static_folder

    standing = None
    if options.credential is not None:
        standing = digest(read_credential(options.credential))
    if not is_loopback(options.host):
        if options.host in ("0.0.0.0", "::", ""):  # noqa: S104 - this is where binding to everything is refused
            raise ValueError("--host: name one address of this machine, so that the page knows what it is called")
        if standing is None:
            raise ValueError(
                f"--host {options.host} is reached from other machines: that needs --credential FILE as well. "
                "An SSH tunnel to a loopback address is safer, because the page is served without encryption"
            )
    static = static_folder()
    if static is None:
        return None
    return WebConfig(static, options.host, options.port or None, standing)


def _leaves(group: BaseExceptionGroup) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port number (0 to 65535)")
    return int(text)
