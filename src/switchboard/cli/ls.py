"""`switchboard ls`: list sessions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import msgspec

from switchboard.cli.output import can_show, json_text
from switchboard.cli.reach import SettingsError, complain, explain, socket_path
from switchboard.common.paths import short_title
from switchboard.page.local_client import HostRefused, HostSilent, HostUnavailable, request
from switchboard.page.messages import Listing, ListSessions, SessionInfo
from switchboard.page.session_row import each_once


def main(argv: Sequence[str]) -> int:
    """Return 0, or 1 when no host answers."""
    parser = argparse.ArgumentParser(
        prog="switchboard ls", description="List open sessions, and the closed ones used last."
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array, one object per session")
    parser.add_argument("--closed", type=int, default=20, metavar="N", help="how many closed sessions (default: 20)")
    options = parser.parse_args(argv)
    if not 0 <= options.closed <= 10_000:
        parser.error("--closed takes a number from 0 to 10000")
    try:
        answer = request(socket_path(), ListSessions(1, options.closed), timeout=30)
    except (HostUnavailable, HostSilent, HostRefused, SettingsError) as error:
        complain(explain(error))
        return 1
    assert isinstance(answer, Listing)
    sessions = each_once(answer.sessions)
    if options.json:
        print(json_text(msgspec.to_builtins(sessions)))
    elif not sessions:
        print("No sessions yet. Open one in `switchboard watch` (press n).")
    else:
        for line in table(sessions):
            print(line)
    return 0


def table(sessions: Sequence[SessionInfo]) -> list[str]:
    """Return the lines of the list for people."""
    rows = [("ID", "STATE", "STATUS", "CLI", "PID", "GEN", "PROJECT", "NAME")]
    rows += [
        (
            _printable(session.id),
            session.state,
            session.status if session.state != "closed" else "",
            session.cli,
            str(session.pid or ""),
            str(session.generation or ""),
            _printable(short_title(session.project or session.cwd or "?")),
            _printable(session.name or session.title or "")[:60],
        )
        for session in sessions
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    ]


def _printable(text: str) -> str:
    """Return what a terminal shows and does not obey: titles, paths and names of files are anybody's to choose."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if can_show(shown) else "".join(char if can_show(char) else "?" for char in shown)
