"""What the page shows of sandboxed sessions."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect
from tests.support.browser import Tab, agent, row, shell
from tests.support.hosting import RunningHost


def listed(tab: Tab, name: str) -> Locator:
    return tab.page.get_by_role("treeitem", name=re.compile(name))


def test_a_sandboxed_session_has_a_quiet_mark(host: RunningHost, tab: Tab) -> None:
    """On its row, above its terminal and on its card; a plain terminal beside it has none."""
    assert host.cli("config", "set", "sandbox", "true").returncode == 0
    agent(tab, host, "Guarded")
    tab.type("hello there")
    tab.shows("> hello there")
    row(tab, "Guarded", "idle")
    found = listed(tab, "Guarded")
    expect(found).to_contain_text("▢ sandbox")
    assert "runs in a sandbox" in (found.get_attribute("title") or "")
    expect(tab.page.locator(".head-about")).to_contain_text("▢ sandbox")
    shell(tab, host, "Plain")
    expect(listed(tab, "Plain")).not_to_contain_text("▢")
    expect(tab.page.locator(".head-about")).not_to_contain_text("▢")
    tab.page.get_by_role("button", name="Grid").click()
    expect(tab.page.locator(".card", has_text="Guarded")).to_contain_text("▢ sandbox")
    known = {session["name"]: session["sandbox"] for session in host.sessions()}
    assert known == {"Guarded": True, "Plain": False}
