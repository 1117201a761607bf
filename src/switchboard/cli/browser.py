"""Opening the page in the person's browser (door)."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Mapping
from threading import Thread

from switchboard.cli.reach import SettingsError, host_data_dir
from switchboard.page.web_files import LeadFile


def has_screen(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a browser with windows can be opened. A text browser would take over the host's terminal."""
    return platform == "darwin" or bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def open_browser(url: str, environment: Mapping[str, str]) -> None:
    """Open `url`, which carries a ticket, if there is a screen.

    What the browser is started with is a private file that leads on to the address (`LeadFile`). What cannot be opened
    is no fault: the address is printed as well.
    """
    if not has_screen(environment, sys.platform):
        return
    try:
        path = LeadFile(host_data_dir(environment)).write(url)
    except (OSError, SettingsError):
        return
    # In a thread, because some browsers are waited for: as long as they run, or five seconds for their first window.
    Thread(target=webbrowser.open, args=[f"file://{path}"], name="opening a browser", daemon=True).start()
