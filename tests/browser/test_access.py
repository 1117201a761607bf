"""What hinders people who do not see, or do not use a mouse: axe finds nothing serious in any part of the page."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect
from tests.support.browser import Tab, agent, shell
from tests.support.hosting import RunningHost

Tabs = Callable[..., Tab]


def audited(tab: Tab, where: str) -> list[str]:
    return [f"{where}: {line}" for line in tab.audit()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_part_of_the_page_hinders(host: RunningHost, tabs: Tabs, scheme: str) -> None:
    tab = tabs(color_scheme=scheme)
    press = tab.page.keyboard.press
    found = audited(tab, "with nothing there")

    tab.page.get_by_role("button", name="New session").first.click()
    found += audited(tab, "the dialog for a new session")
    press("Escape")

    shell(tab, host, "Shell")
    agent(tab, host, "Agent")
    tab.type("[ask touch approved] May I?")
    tab.shows("May I?")
    found += audited(tab, "sidebar and terminal")

    tab.page.get_by_role("banner").get_by_role("button", name="Stop").click()
    found += audited(tab, "the question before a stop")
    press("Escape")

    tab.page.get_by_role("button", name="More").focus()  # in the terminal the key is the program's
    press("?")
    expect(tab.dialog).to_be_visible()
    found += audited(tab, "the keys")
    press("Escape")

    press("Control+k")
    expect(tab.dialog).to_be_visible()
    found += audited(tab, "the palette")
    press("Escape")

    tab.page.get_by_role("button", name="More").click()
    found += audited(tab, "the menu")
    press("Escape")

    (session, *_) = [one for one in host.sessions() if one["cli"] == "agent"]
    host.cli("send", session["id"], "refused", "--timeout", "1", "--quiet")
    press("Control+Shift+A")
    activity = tab.page.get_by_role("complementary", name="Activity")
    activity.get_by_text(re.compile("refused|waiting")).first.click()
    found += audited(tab, "the activity")

    press("Control+Shift+G")
    expect(tab.page.get_by_role("list", name="Running sessions")).to_be_visible()
    found += audited(tab, "the grid")
    assert found == []


def test_a_narrow_page_does_not_hinder(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(400, 800, has_touch=True, is_mobile=True)
    found = audited(tab, "with nothing there")
    tab.page.get_by_role("button", name="New session").last.tap()
    found += audited(tab, "the dialog for a new session")
    tab.page.keyboard.press("Escape")
    shell(tab, host)
    found += audited(tab, "the terminal")
    tab.page.get_by_role("button", name="Sessions").tap()
    found += audited(tab, "the drawer")
    assert found == []


def test_a_browser_that_is_not_let_in_is_told_so_in_a_way_that_does_not_hinder(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    tab.page.goto(host.cli("url").stdout.partition("#")[0])
    expect(tab.page.get_by_text("switchboard url")).to_be_visible()
    assert audited(tab, "not signed in") == []
    tab.trouble.clear()


def test_still_pictures_for_who_asks_for_them(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(reduced_motion="reduce")
    agent(tab, host)
    tab.type("[slow 3s] think")
    expect(tab.page.get_by_role("treeitem", name=re.compile("busy"))).to_be_visible()
    moving = (
        "document.getAnimations().filter(a => a.playState === 'running' && a.effect.getTiming().duration > 1).length"
    )
    assert tab.page.evaluate(moving) == 0
