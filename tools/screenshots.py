"""Take the pictures of the documentation: `python tools/screenshots.py [FOLDER]` (default: docs/images).

A real host with sessions of the built-in agent in every state, and Chromium. Names, times and folders that would differ
from machine to machine are those of a made-up home, so that a new picture differs where the page does.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import expect  # noqa: E402 - after the path is set
from tests.support.browser import Tab, agent, chromium, new_tab, row, shell  # noqa: E402 - after the path is set
from tests.support.hosting import RunningHost  # noqa: E402 - after the path is set

WIDE = (1440, 860)
PHONE = (400, 820)


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    # Always the same one, because it is seen in the pictures.
    home = Path(tempfile.gettempdir()) / "example"
    home.mkdir()
    try:
        host = RunningHost(home / "host").start()
        try:
            with chromium() as browser:
                light = new_tab(browser, *WIDE, color_scheme="light")
                light.enter(host)
                scene(light, host, home)
                light.page.screenshot(path=folder / "page.png")
                dark = new_tab(browser, *WIDE, color_scheme="dark")
                dark.enter(host)
                grid(dark)
                dark.page.screenshot(path=folder / "page-grid.png")
                phone = new_tab(
                    browser, *PHONE, has_touch=True, is_mobile=True, device_scale_factor=2, color_scheme="dark"
                )
                phone.enter(host)
                drawer(phone)
                phone.page.screenshot(path=folder / "page-phone.png")
        finally:
            host.cli("down", "--sessions")
            host.clean_up()
    finally:
        shutil.rmtree(home)
    return 0


def scene(tab: Tab, host: RunningHost, home: Path) -> None:
    """Two projects, sessions in every state, triggers with every outcome."""
    shop, site = home / "work" / "web-shop", home / "work" / "landing-page"
    for project in (shop, site):
        project.mkdir(parents=True)
    host.project = site
    tab.page.keyboard.press("Control+Shift+A")
    shell(tab, host, "build")
    tab.type('for i in 1 2 3; do echo "✓ page $i built"; done')
    agent(tab, host, "Copy review")
    tab.type("[ask touch approved] Rename the headline file")
    row(tab, "Copy review", "waiting")
    host.project = shop
    agent(tab, host, "Flaky checkout test")
    tab.type("[slow 600s] [stream] Find out why the checkout test fails")
    row(tab, "Flaky checkout test", "busy")
    agent(tab, host, "Release notes")
    tab.type("Summarise what changed since the last release")
    row(tab, "Release notes", "idle")
    ids = {session["name"]: session["id"] for session in host.sessions()}
    host.cli("send", ids["Release notes"], "Add a line about the new checkout", "--wait", "idle", "--quiet")
    host.cli("send", ids["Copy review"], "Never an answer to a dialog", "--timeout", "1", "--quiet")
    told = json.loads(host.cli("ls", "--json").stdout)
    assert len(told) == 4, told
    tab.page.get_by_role("treeitem", name=re.compile("Release notes")).click()
    expect(tab.page.get_by_role("complementary", name="Activity").get_by_text("refused").first).to_be_visible()
    tab.page.wait_for_timeout(7000)  # messages at the edge go by themselves


def grid(tab: Tab) -> None:
    tab.page.keyboard.press("Control+Shift+G")
    expect(tab.page.get_by_role("list", name="Running sessions").get_by_role("listitem")).to_have_count(4)
    tab.page.wait_for_timeout(1500)


def drawer(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Sessions").tap()
    expect(tab.page.get_by_role("treeitem", level=2).first).to_be_visible()
    tab.page.wait_for_timeout(500)


if __name__ == "__main__":
    sys.exit(main())
