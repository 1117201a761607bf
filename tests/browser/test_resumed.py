"""A conversation that runs again is shown in the place of what ended, which is nobody's use of a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.support.browser import Tab, shell
from tests.support.hosting import RunningHost
from tests.support.trigger_journey import CLOSED, Stage, Watched, row

Tabs = Callable[..., Tab]

HIDE = """() => {
    Object.defineProperty(document, 'visibilityState', {configurable: true, get: () => 'hidden'});
    Object.defineProperty(document, 'hidden', {configurable: true, get: () => true});
    document.hasFocus = () => false;
    document.dispatchEvent(new Event('visibilitychange'));
}"""
SHOW = """() => {
    delete document.visibilityState;
    delete document.hidden;
    delete document.hasFocus;
    document.dispatchEvent(new Event('visibilitychange'));
}"""


@pytest.fixture
def stage(host: RunningHost) -> Stage:
    return Stage(host)


def note(tab: Tab) -> Any:
    return tab.page.get_by_role("button", name=re.compile("Sized for another page"))


def enter(tab: Tab, stage: Stage) -> Watched:
    watched = Watched(tab)
    tab.enter(stage.host)
    expect(row(tab, CLOSED)).to_be_visible()
    return watched


def look(tab: Tab) -> None:
    row(tab, CLOSED).click()
    tab.shows("recorded: claude --resume")


def end(tab: Tab, *others: Tab) -> None:
    """The program ends while these windows show it, each with the keyboard in it."""
    for one in (*others, tab):
        one.terminal.locator("textarea").focus()
    tab.page.keyboard.press("Control+d")
    for one in (*others, tab):
        expect(one.page.locator(".ended")).to_contain_text("ended")


def two(stage: Stage, tabs: Tabs) -> list[tuple[Tab, Watched]]:
    """Windows of different sizes that show where the conversation has ended."""
    wide, small = tabs(enter=False), tabs(800, 600, enter=False)
    pages = [(tab, enter(tab, stage)) for tab in (wide, small)]
    for tab, _ in pages:
        look(tab)
    end(wide, small)
    return pages


def resumed(stage: Stage, pages: list[tuple[Tab, Watched]]) -> list[dict[str, Any]]:
    """Have it resumed by a request; return what each page said about the size of the new terminal."""
    for _, watched in pages:
        watched.sent.clear()
    assert stage.ask(pages[0][0], sessionId=CLOSED)["resumed"] is True
    for tab, _ in pages:
        tab.shows("recorded: claude --resume")
        expect(tab.page.locator(".ended")).to_be_hidden()
    pages[0][0].page.wait_for_timeout(700)
    (session,) = stage.open_sessions(CLOSED)
    said = [message for _, watched in pages for message in watched.said("focus")]
    # The ended terminal, whose room the bar above it has changed, may have been given that size only now.
    return [message for message in said if message["session"] == session["handle"]]


def one_has_it(pages: list[tuple[Tab, Watched]]) -> Tab:
    """Return the window that has not got the size."""
    without = [tab for tab, _ in pages if note(tab).is_visible()]
    assert len(without) == 1, "one page has the size, and the other says so"
    return without[0]


def test_a_page_alone_says_one_size_once(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    pages = [(tab, enter(tab, stage))]
    look(tab)
    end(tab)
    [said] = resumed(stage, pages)
    assert said["free"] is True
    (session,) = stage.open_sessions(CLOSED)
    assert (session["columns"], session["rows"]) == (said["columns"], said["rows"])
    expect(tab.terminal.locator("textarea")).to_be_focused()


def test_that_an_ended_session_runs_again_is_nobodys_use(stage: Stage, tabs: Tabs) -> None:
    """Although the keyboard is in its place in both windows; who types or chooses it has the size."""
    pages = two(stage, tabs)
    said = resumed(stage, pages)
    assert [one["free"] for one in said] == [True] * len(said)
    assert len(said) in (1, 2), "each page at most once"
    other = one_has_it(pages)
    expect(other.terminal.locator("textarea")).to_be_focused()
    other.page.keyboard.type("a")
    expect(note(other)).to_be_hidden()


def test_that_a_closed_conversation_runs_again_is_nobodys_use(stage: Stage, tabs: Tabs) -> None:
    pages = two(stage, tabs)
    pages[0][0].page.locator(".ended").get_by_role("button", name="Remove").click()
    for tab, _ in pages:
        expect(tab.page.get_by_text("This conversation is closed")).to_be_visible()
    said = resumed(stage, pages)
    assert [one["free"] for one in said] == [True] * len(said)
    one_has_it(pages)


def test_who_resumes_it_has_the_size(stage: Stage, tabs: Tabs) -> None:
    pages = two(stage, tabs)
    (wide, _), (small, watched) = pages
    watched.sent.clear()
    small.page.locator(".ended").get_by_role("button", name="Resume").click()
    expect(small.terminal.locator("textarea")).to_be_focused()
    small.shows("recorded: claude --resume")
    expect(note(wide)).to_be_visible()
    expect(note(small)).to_be_hidden()
    assert False in [one["free"] for one in watched.said("focus")]


def test_after_a_kill_of_the_host_nobody_has_used_a_page(stage: Stage, tabs: Tabs) -> None:
    host = stage.host
    wide, small = tabs(enter=False), tabs(800, 600, enter=False)
    pages = [(tab, enter(tab, stage)) for tab in (wide, small)]
    shell(wide, host, "Plain")
    small.page.get_by_role("treeitem", name=re.compile("Plain")).click()
    small.shows("here>")
    for _, watched in pages:
        watched.sent.clear()
    host.kill()
    for tab, _ in pages:
        expect(tab.status("connected")).to_have_count(0)
    host.start()
    for tab, _ in pages:
        expect(tab.status("connected")).to_be_visible(timeout=30_000)
        tab.trouble.clear()  # the browser tells of each attempt that found nobody
    wide.page.wait_for_timeout(700)
    said = [message for _, watched in pages for message in watched.said("focus")]
    assert said
    assert [one["free"] for one in said] == [True] * len(said)
    one_has_it(pages)


def test_a_page_that_nobody_sees_leaves_the_size_to_others(stage: Stage, tabs: Tabs) -> None:
    """Until it is seen again, if nobody else has taken it."""
    pages = two(stage, tabs)
    (wide, others), (small, watched) = pages
    wide.page.locator(".ended").get_by_role("button", name="Remove").click()
    row(small, CLOSED).click()  # resumed by a person, so that the wide page shows it as well
    small.shows("recorded: claude --resume")
    end(small)
    shell(wide, stage.host, "Plain")
    small.page.evaluate(HIDE)
    said = resumed(stage, [(small, watched)])
    assert said == []
    watched.sent.clear()
    small.page.evaluate(SHOW)
    small.until(lambda: watched.said("focus"), "a claim of the page that is seen again")
    assert [one["free"] for one in watched.said("focus")] == [True]
    expect(note(small)).to_be_hidden()
    assert [one for one in others.said("focus") if one["session"] == watched.said("focus")[0]["session"]] == []


def test_a_page_that_is_loaded_out_of_sight_claims_nothing(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    watched = enter(tab, stage)
    look(tab)
    tab.page.add_init_script(f"({HIDE})()")
    watched.sent.clear()
    tab.page.reload()
    tab.shows("recorded: claude --resume")
    tab.page.wait_for_timeout(500)
    assert watched.said("focus") == []
    tab.page.evaluate(SHOW)
    tab.until(lambda: watched.said("focus"), "a claim of the page that is seen")
    assert [one["free"] for one in watched.said("focus")] == [True]


def test_the_palette_chooses_a_conversation_that_runs_again_meanwhile(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    enter(tab, stage)
    look(tab)
    end(tab)
    tab.page.keyboard.press("Control+k")
    tab.page.keyboard.type("0d6f")
    assert stage.ask(tab, sessionId=CLOSED)["resumed"] is True
    expect(tab.page.locator(".ended")).to_be_hidden()
    tab.until(lambda: [one["state"] for one in stage.host.sessions() if one["id"] == CLOSED] == ["open"], "one left")
    tab.page.wait_for_timeout(300)
    tab.page.keyboard.press("Enter")
    expect(row(tab, CLOSED)).to_have_attribute("aria-selected", "true")
    expect(tab.terminal.locator("textarea")).to_be_focused()
    tab.shows("recorded: claude --resume")


def test_on_a_touch_screen_who_resumes_it_has_the_size(stage: Stage, tabs: Tabs) -> None:
    """The keyboard does not go into the terminal there, and yet the person has chosen it."""
    small = tabs(800, 600, enter=False, has_touch=True, is_mobile=True)
    watched = enter(small, stage)
    look(small)
    end(small)
    watched.sent.clear()
    small.page.locator(".ended").get_by_role("button", name="Resume").click()
    small.shows("recorded: claude --resume")
    small.until(lambda: False in [one["free"] for one in watched.said("focus")], "the use")


def test_two_people_resume_it_at_once(stage: Stage, tabs: Tabs) -> None:
    """Both have it, and nothing went wrong."""
    pages = two(stage, tabs)
    for tab, _ in pages:
        tab.page.evaluate("() => setTimeout(() => document.querySelector('.ended button').click(), 300)")
    for tab, _ in pages:
        tab.until(lambda tab=tab: "recorded" in tab.screen() and not tab.page.locator(".ended").is_visible(), "it")
        expect(row(tab, CLOSED)).to_have_attribute("aria-selected", "true")
    pages[0][0].page.wait_for_timeout(1_000)
    assert [text for tab, _ in pages for text in tab.page.locator(".toast").all_inner_texts()] == []


def test_into_the_grid_and_back_the_keyboard_is_with_the_terminal(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    enter(tab, stage)
    shell(tab, stage.host, "Plain")
    tab.terminal.locator("textarea").focus()
    tab.page.keyboard.press("Control+Shift+G")
    expect(tab.page.locator(".card")).to_have_count(1)
    tab.page.keyboard.press("Control+Shift+G")
    expect(tab.page.locator(".card:visible")).to_have_count(0)
    expect(tab.terminal.locator("textarea")).to_be_focused()
    tab.page.keyboard.type("echo is back")
    tab.shows("echo is back")
