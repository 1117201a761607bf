"""The grid by keyboard alone."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.support.browser import Tab, shell
from tests.support.hosting import RunningHost


def focused_card(tab: Tab) -> str:
    """The name of the card whose title has the keyboard, and can be seen to have it."""
    return str(
        tab.page.evaluate(
            """() => {
                const title = document.activeElement.closest('.card-title');
                const card = document.activeElement.closest('.card');
                const seen = card && getComputedStyle(card).outlineStyle === 'solid';
                return title && seen ? title.querySelector('.card-name').innerText : '';
            }"""
        )
    )


def test_cards_are_moved_between_entered_and_left_by_keyboard(host: RunningHost, tab: Tab) -> None:
    for name in ("One", "Two", "Three"):
        shell(tab, host, name)
    press = tab.page.keyboard.press
    press("Control+Shift+G")
    grid = tab.page.get_by_role("list", name="Running sessions")
    names = grid.locator(".card-name").all_inner_texts()
    assert sorted(names) == ["One", "Three", "Two"]
    for _ in range(5):
        if focused_card(tab):
            break
        press("F6")
    press("Home")
    seen = [focused_card(tab)]
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Home", "ArrowDown", "ArrowUp", "End"):
        press(key)
        seen.append(focused_card(tab))
    # Two cards beside each other, the third below the first.
    assert [names.index(name) for name in seen] == [0, 1, 2, 2, 1, 0, 2, 0, 2]
    press("Enter")
    card = grid.get_by_role("listitem").filter(has_text=names[2])
    expect(card.locator("textarea")).to_be_focused()
    tab.page.keyboard.type("echo in-$((40+2))")
    press("Enter")
    expect(card.locator(".xterm-rows")).to_contain_text("in-42")
    assert card.locator(".xterm-rows").inner_text().count("here>") == 2, "the key that entered went to no program"
    press("Shift+F6")
    assert focused_card(tab) == names[2]
    press("Escape")
    expect(card.locator("textarea")).to_be_focused()
    press("Shift+F6")
    press("Delete")
    question = tab.page.get_by_role("alertdialog")
    expect(question).to_be_visible()
    press("Escape")
    expect(question).to_have_count(0)
    assert focused_card(tab) == names[2]
    press("?")
    expect(tab.dialog).to_contain_text("Move between cards")
    press("Escape")
    press("ArrowLeft")
    press("Shift+Enter")
    expect(grid).to_be_hidden()
    expect(tab.page.get_by_role("banner").get_by_role("button").first).to_have_text(re.compile(names[1]))
