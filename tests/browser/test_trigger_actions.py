"""Versioned requests open sessions in the page, and take nobody away from what they do."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect
from tests.support.browser import Tab, shell
from tests.support.hosting import RunningHost
from tests.support.trigger_journey import ANOTHER, CLOSED, Stage, Watched, altered, journey, row

Tabs = Callable[..., Tab]


@pytest.fixture
def stage(host: RunningHost) -> Stage:
    return Stage(host)


# --- the journey ------------------------------------------------------------------------------------------------------


def test_the_journey(stage: Stage, tabs: Tabs) -> None:
    journey(stage, tabs(enter=False))


def test_the_journey_is_red_without_the_pages_subscription(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    served = altered(tab, r"([`'\"])session_action\1", r"\1nothing_of_the_kind\1")
    with pytest.raises(AssertionError, match="'reason': 'renderer action timed out'"):
        journey(stage, tab, timeout_ms=2_000)
    assert len(served) == 1
    assert stage.launches() == []


def test_the_journey_is_red_when_the_session_is_selected_with_the_answer(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    opened = 'this.around.store.state.sessions.find(s=>s.opened_by==="trigger")'
    select = f'this.around.store.dispatch({{type:"select",key:"h"+{opened}.handle}}),this.around.send('
    served = altered(tab, r"this\.around\.send\(", select)
    with pytest.raises(AssertionError, match=r"aria-selected of div\.row became true"):
        journey(stage, tab)
    assert len(served) == 1


# --- every kind of action, whatever the person does -------------------------------------------------------------------


def in_the_terminal(tab: Tab) -> None:
    """As after opening the plain terminal."""


def in_the_grid(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Grid").click()
    tab.page.locator(".card .xterm-screen").click()
    expect(tab.page.locator(".card.active textarea")).to_be_focused()


def in_a_dialog(tab: Tab) -> None:
    tab.page.get_by_role("button", name="New session").first.click()
    tab.dialog.get_by_label("Name").fill("half a na")


def in_the_palette(tab: Tab) -> None:
    tab.page.keyboard.press("Control+k")
    tab.page.keyboard.type("pl")


def in_a_menu(tab: Tab) -> None:
    tab.page.get_by_role("button", name="More").click()
    tab.page.keyboard.press("ArrowDown")


def in_the_search(tab: Tab) -> None:
    tab.page.get_by_label("Search sessions").click()


def renaming(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Plain", exact=True).click()
    tab.page.keyboard.type("half a na")


def on_the_very_row(tab: Tab) -> None:
    row(tab, CLOSED).focus()


def on_another_row(tab: Tab) -> None:
    tab.page.get_by_role("treeitem", name=re.compile("Plain")).focus()


WHERE = [
    in_the_terminal,
    in_the_grid,
    in_a_dialog,
    in_the_palette,
    in_a_menu,
    in_the_search,
    renaming,
    on_the_very_row,
    on_another_row,
]


def plain(stage: Stage, tab: Tab) -> Watched:
    watched = Watched(tab)
    tab.enter(stage.host)
    shell(tab, stage.host, "Plain")
    expect(row(tab, CLOSED)).to_contain_text("closed")
    return watched


@pytest.mark.parametrize("where", WHERE)
def test_whatever_a_person_does_goes_on(stage: Stage, tabs: Tabs, where: Callable[[Tab], None]) -> None:
    """A resume, a start that fails after the page has asked for it, a new session, and one that is open already."""
    tab = tabs(enter=False)
    stage.record(ANOTHER, "Another one")
    watched = plain(stage, tab)
    where(tab)
    watched.watch()
    grid = watched.before["grid"]

    stage.save("shellProfile", "/no/such/shell")
    refused = stage.ask(tab, sessionId=ANOTHER)
    assert (refused["outcome"], refused["reason"], refused["resumed"]) == ("refused", "session open failed", False)
    expect(row(tab, ANOTHER)).to_contain_text("closed")
    watched.still()

    stage.save("shellProfile", "auto")
    opened = stage.ask(tab, sessionId=CLOSED)
    assert (opened["outcome"], opened["resumed"]) == ("opened", True), opened
    expect(row(tab, CLOSED)).not_to_contain_text("closed")
    expect(tab.page.locator(".card")).to_have_count(2 if grid else 0)
    watched.still()

    # The stand-in publishes no state, so its prompt is never typed; the session stays, named.
    new = {"project": str(stage.project), "name": "Follow-up"}
    created = stage.ask(tab, 3_000, new=new, prompt="Investigate")
    assert (created["created"], created["submitted"]) == (True, "no"), created
    expect(row(tab, created["sessionId"])).to_contain_text("Follow-up")
    expect(tab.page.locator(".card")).to_have_count(3 if grid else 0)
    watched.still()

    shown = stage.ask(tab, sessionId=CLOSED)
    assert (shown["outcome"], shown["resumed"]) == ("opened", False), shown
    watched.still()
    assert [one["mode"] for one in watched.said("session_action_result")] == ["resume", "resume", "new", "reattach"]
    assert [one["ok"] for one in watched.said("session_action_result")] == [False, True, True, True]
    assert len(stage.launches()) == 2


def test_a_long_list_stays_where_it_was_scrolled_to(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(height=420, enter=False)
    for number in range(7):
        stage.record(f"1d6f3a52-0000-4000-8000-00000000000{number}", f"Older {number}", hours=number + 1)
    watched = plain(stage, tab)
    last = tab.page.locator(".sidebar .row").last
    last.scroll_into_view_if_needed()
    last.focus()
    before = last.bounding_box()
    watched.watch()
    assert stage.ask(tab, sessionId=CLOSED)["resumed"] is True
    expect(row(tab, CLOSED)).not_to_contain_text("closed")
    assert last.bounding_box() == before
    expect(last).to_be_focused()
    assert watched.said("focus") == []


def test_a_project_that_moves_up_takes_the_keyboard_along(stage: Stage, tabs: Tabs) -> None:
    """With its first open session a project comes before those without one; a row of it is in use meanwhile."""
    tab = tabs(enter=False)
    for number, name in enumerate(("first", "second")):
        project = stage.project.parent / name
        project.mkdir()
        stage.set_up(project)
        for place in range(2):
            ended = f"{number + 2}d6f3a52-0000-4000-8000-00000000000{place}"
            stage.record(ended, f"In {name}, {place}", hours=number + 1, project=project)
    watched = plain(stage, tab)
    heads = tab.page.locator(".project-title")
    expect(heads).to_contain_text(["project", "first", "second"])
    used = row(tab, "3d6f3a52-0000-4000-8000-000000000001")
    used.focus()
    watched.watch()
    assert stage.ask(tab, sessionId="3d6f3a52-0000-4000-8000-000000000000")["resumed"] is True
    expect(heads).to_contain_text(["project", "second", "first"])
    expect(used).to_be_focused()
    watched.still()


def test_in_the_grid_a_click_into_the_new_card_works_as_ever(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    watched = plain(stage, tab)
    in_the_grid(tab)
    watched.watch()
    assert stage.ask(tab, sessionId=CLOSED)["resumed"] is True
    card = tab.page.locator(".card", has_text="↳ trigger")
    expect(card.locator(".xterm-rows")).to_contain_text("recorded: claude --resume")
    watched.still()
    card.locator(".xterm-screen").click()
    expect(card.locator("textarea")).to_be_focused()
    tab.page.keyboard.type("hello\n")
    expect(card.locator(".xterm-rows")).to_contain_text("heard: hello")
    assert len(stage.launches()) == 1


def test_after_a_reload_the_session_is_had_again_without_a_start(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    watched = plain(stage, tab)
    assert stage.ask(tab, sessionId=CLOSED)["resumed"] is True
    (session,) = stage.open_sessions(CLOSED)
    tab.page.reload()
    expect(tab.status("connected")).to_be_visible()
    tab.shows("here>")
    watched.watch()
    shown = stage.ask(tab, sessionId=CLOSED.upper())
    assert (shown["outcome"], shown["resumed"]) == ("opened", False), shown
    assert [one["session"] for one in watched.said("attach")] == [session["handle"]]
    watched.still()
    assert stage.open_sessions(CLOSED) == [session]
    assert len(stage.launches()) == 1


def test_who_selected_the_closed_conversation_sees_it_come_to_life(stage: Stage, tabs: Tabs) -> None:
    """The selection is the same conversation before and after; the keyboard is left where it is."""
    tab = tabs(enter=False)
    plain(stage, tab)
    stage.save("shellProfile", "/no/such/shell")
    row(tab, CLOSED).click()
    expect(tab.page.get_by_text("was not opened")).to_be_visible()
    stage.save("shellProfile", "auto")
    search = tab.page.get_by_label("Search sessions")
    search.focus()
    assert stage.ask(tab, sessionId=CLOSED)["resumed"] is True
    tab.shows(f"recorded: claude --resume {CLOSED}")
    expect(row(tab, CLOSED)).to_have_attribute("aria-selected", "true")
    expect(search).to_be_focused()


def ended_here(tab: Tab) -> None:
    """The conversation was open here, and a person looks at where it ended."""
    row(tab, CLOSED).click()
    tab.shows(f"recorded: claude --resume {CLOSED}")
    tab.type("hello")
    tab.shows("heard: hello")
    tab.page.keyboard.press("Control+d")
    expect(tab.page.locator(".ended")).to_contain_text("ended")


def keys_in_the_terminal(tab: Tab) -> str:
    tab.terminal.locator("textarea").focus()
    return "main .term:visible textarea"


def keys_in_the_list(tab: Tab) -> str:
    row(tab, CLOSED).focus()
    return f'.row[title*="{CLOSED}"]'


def keys_in_the_search_of_the_terminal(tab: Tab) -> str:
    tab.terminal.locator("textarea").focus()
    tab.page.keyboard.press("Control+Shift+F")
    tab.page.keyboard.type("hea")
    return ".find input"


def keys_on_the_button_that_goes(tab: Tab) -> str:
    tab.page.locator(".ended button").first.focus()
    return "main.main-room"


@pytest.mark.parametrize(
    "where",
    [
        keys_in_the_terminal,
        keys_in_the_list,
        keys_in_the_search_of_the_terminal,
        in_the_search,
        keys_on_the_button_that_goes,
    ],
)
def test_who_looks_at_an_ended_session_sees_it_run_again(
    stage: Stage, tabs: Tabs, where: Callable[[Tab], str | None]
) -> None:
    """In its place, without being taken anywhere; the keyboard stays where it is, if that is still there."""
    tab = tabs(enter=False)
    plain(stage, tab)
    ended_here(tab)
    focused = where(tab) or ".sidebar input"
    if where is not keys_on_the_button_that_goes:
        expect(tab.page.locator(focused)).to_be_focused()

    assert stage.ask(tab, sessionId=CLOSED)["resumed"] is True
    tab.until(lambda: "recorded" in tab.screen() and "heard" not in tab.screen(), "the new terminal")
    expect(tab.page.locator(".ended")).to_be_hidden()
    expect(tab.page.locator(".head-word")).to_have_text("starting")
    expect(tab.page.get_by_role("banner").get_by_role("button", name="Stop")).to_be_visible()
    expect(row(tab, CLOSED)).to_have_count(1)
    expect(row(tab, CLOSED)).to_have_attribute("aria-selected", "true")
    expect(tab.page.locator(focused)).to_be_focused()
    expect(tab.page.get_by_role("button", name=re.compile("Sized for another page"))).to_be_hidden()
    if where is keys_in_the_search_of_the_terminal:
        tab.page.keyboard.press("Escape")
    tab.type("again")
    tab.shows("heard: again")
    assert len(stage.launches()) == 2


def test_who_is_elsewhere_than_in_the_ended_session_stays_there(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    watched = plain(stage, tab)
    ended_here(tab)
    tab.page.get_by_role("treeitem", name=re.compile("Plain")).click()
    tab.shows("here>")
    watched.watch()
    assert stage.ask(tab, sessionId=CLOSED)["resumed"] is True
    expect(row(tab, CLOSED)).to_contain_text("↳ trigger")
    watched.still()


def test_a_request_that_comes_while_the_page_is_loaded_anew_waits_for_it(stage: Stage, tabs: Tabs) -> None:
    """A browser does not say whether a page is closed or loaded anew, so for a while it is expected back."""
    tab = tabs(enter=False)
    plain(stage, tab)
    held: list[Route] = []
    tab.context.route("**/assets/*.js", lambda route: held.append(route))
    tab.page.reload(wait_until="commit")
    tab.page.wait_for_function("document.readyState !== 'complete'")
    name = stage.host.trigger({"version": 1, "action": "open", "sessionId": CLOSED, "timeout_ms": 30_000})
    tab.until(lambda: held, "the page's script to be asked for")
    tab.page.wait_for_timeout(1_000)
    assert not stage.host.result_path(name).exists()
    for route in held:
        route.continue_()
    tab.until(stage.host.result_path(name).exists, "the result")
    result = json.loads(stage.host.result_path(name).read_text("utf-8"))
    assert (result["outcome"], result["resumed"]) == ("opened", True), result


def test_a_page_that_was_closed_is_gone_after_a_while(stage: Stage, tabs: Tabs) -> None:
    """Nobody comes back to it: the request is refused long before its own time is over."""
    tab, witness = tabs(enter=False), tabs(enter=False)
    plain(stage, tab)
    tab.page.close()
    asked = time.monotonic()
    result = stage.ask(witness, 60_000, sessionId=CLOSED)
    assert (result["outcome"], result["reason"]) == ("refused", "window not available"), result
    assert time.monotonic() - asked < 30
    assert stage.launches() == []


def test_a_person_clicks_the_session_while_a_request_opens_it(stage: Stage, tabs: Tabs) -> None:
    """Whoever is first: it is opened once, both have it, and the person is with it."""
    tab = tabs(enter=False)
    plain(stage, tab)
    name = stage.host.trigger({"version": 1, "action": "open", "sessionId": CLOSED})
    row(tab, CLOSED).click()
    tab.until(stage.host.result_path(name).exists, "the result")
    result = json.loads(stage.host.result_path(name).read_text("utf-8"))
    assert result["outcome"] == "opened", result
    tab.shows(f"recorded: claude --resume {CLOSED}")
    expect(row(tab, CLOSED)).to_have_attribute("aria-selected", "true")
    expect(tab.terminal.locator("textarea")).to_be_focused()
    assert len(stage.launches()) == 1


# --- what is shown of it ----------------------------------------------------------------------------------------------


def test_the_activity_list_tells_of_each_step(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    plain(stage, tab)
    tab.page.get_by_role("button", name=re.compile("^Activity")).click()
    activity = tab.page.get_by_role("complementary", name="Activity")
    name = stage.host.trigger(
        {
            "version": 1,
            "action": "open",
            "new": {"project": str(stage.project), "name": "Follow-up"},
            "prompt": "Investigate",
            "timeout_ms": 4_000,
        }
    )
    entry = activity.get_by_role("listitem").first
    expect(entry.locator(".pill")).to_have_text("opening")
    expect(entry).to_contain_text("waits until the session is ready")
    tab.until(stage.host.result_path(name).exists, "the result")
    expect(entry.locator(".pill")).to_have_text("refused")
    expect(entry).to_contain_text("its program never showed that it was ready")
    expect(entry.locator(".exact").first).to_have_text("session readiness unavailable")
    entry.locator("summary").click()
    steps = entry.locator(".timeline li > span:nth-child(2)")
    expect(steps).to_have_text(["received", "waiting", "opening", "result", "in all"])
    entry.get_by_role("button", name="Show Follow-up").click()
    expect(tab.page.get_by_role("banner")).to_contain_text("↳ trigger")
    expect(tab.page.locator('.row[aria-selected="true"]')).to_contain_text("↳ trigger")
    stage.ask(tab, sessionId=CLOSED)
    expect(entry.locator(".pill")).to_have_text("opened")
    expect(entry).to_contain_text("There was nothing to type.")
    expect(entry.locator(".meter")).to_have_count(0)
    assert tab.audit() == []


def test_a_session_that_a_person_opens_carries_no_mark(stage: Stage, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    plain(stage, tab)
    row(tab, CLOSED).click()
    tab.shows("recorded: claude --resume")
    expect(row(tab, CLOSED)).not_to_contain_text("trigger")
    assert stage.ask(tab, sessionId=CLOSED)["resumed"] is False
    expect(row(tab, CLOSED)).not_to_contain_text("trigger")
