"""Opening the page in the person's browser (door)."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import webbrowser
from collections.abc import Mapping

from switchboard.cli.reach import SettingsError, host_data_dir


def has_screen(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a browser with windows can be opened. A text browser would take over the host's terminal."""
    return platform == "darwin" or bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def open_browser(url: str, environment: Mapping[str, str]) -> None:
    """Open `url`, which carries a ticket, if there is a screen.

    The command line of a process can be read by every user of the machine, so what the browser is started with is a
    private file that leads on to the address. What cannot be opened is no fault: the address is printed as well.
    """
    if not has_screen(environment, sys.platform):
        return
    try:
        path = _lead(url, host_data_dir(environment))
    except (OSError, SettingsError):
        return
    webbrowser.open(f"file://{path}")


def _lead(url: str, folder: str) -> str:
    path = os.path.join(folder, "open.html")
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix="open-", suffix=".tmp")  # of mode 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        shown = html.escape(url, quote=True)
        file.write('<!doctype html><meta charset="utf-8"><title>Switchboard</title>\n')
        file.write(f'<meta http-equiv="refresh" content="0; url={shown}"><a href="{shown}">Switchboard</a>\n')
    os.replace(temporary, path)
    return path
