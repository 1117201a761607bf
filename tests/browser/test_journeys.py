"""What people do in the page, on real sessions of a real host."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.support.browser import Tab, agent, row, shell
from tests.support.hosting import RunningHost

from switchboard import __version__

Tabs = Callable[..., Tab]


def test_the_first_minute(host: RunningHost, tab: Tab) -> None:
    assert "ticket" not in tab.page.url, "the address bar keeps no ticket"
    expect(tab.page.get_by_text("No sessions yet")).to_be_visible()
    agent(tab, host, "First")
    tab.type("hello there")
    tab.shows("> hello there")
    tab.shows("Hello! Type /help")
    row(tab, "First", "idle")


def test_a_draft_is_known_and_kept_from_a_trigger(host: RunningHost, tab: Tab) -> None:
    agent(tab, host)
    tab.type("half a sente", enter=False)
    tab.shows("half a sente")
    row(tab, "Agent", "draft")
    (session,) = host.sessions()
    refused = host.cli("send", session["id"], "over it", "--wait", "idle", "--timeout", "1", "--quiet")
    assert json.loads(refused.stdout)["submitted"] == "no"
    tab.page.get_by_role("button", name=re.compile("^Activity")).click()
    activity = tab.page.get_by_role("complementary", name="Activity")
    expect(activity.get_by_text("refused")).to_be_visible()
    assert "over it" not in tab.screen()
    tab.shows("half a sente")


def test_a_trigger_is_seen_from_its_arrival_to_its_proof(host: RunningHost, tab: Tab) -> None:
    agent(tab, host)
    (session,) = host.sessions()
    sent = host.cli("send", session["id"], "hello from a script", "--wait", "idle", "--quiet")
    assert json.loads(sent.stdout)["submitted"] == "confirmed"
    tab.shows("hello from a script")
    tab.page.get_by_role("button", name=re.compile("^Activity")).click()
    activity = tab.page.get_by_role("complementary", name="Activity")
    expect(activity.get_by_text("confirmed").first).to_be_visible()
    activity.locator("summary").click()
    steps = activity.get_by_role("list", name="Timeline").get_by_role("listitem")
    expect(steps).to_have_text([re.compile(step) for step in ("received", "waiting", "typing", "result", "in all")])


def test_the_session_of_a_trigger_is_named_when_it_has_gone(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs()
    shell(tab, host, "Build box")
    (session,) = host.sessions()
    host.trigger({"sessionId": session["id"], "command": "exit"})
    tab.page.get_by_role("banner").get_by_role("button", name="Remove").click()
    tab.until(lambda: host.sessions() == [], "an empty list")
    for one in (tab, tabs()):
        one.page.get_by_role("button", name=re.compile("^Activity")).click()
        expect(one.page.locator(".trigger-target")).to_have_text("Build box")


def test_stop_asks_and_the_conversation_is_resumed(host: RunningHost, tab: Tab) -> None:
    agent(tab, host, "Talk")
    tab.type("remember me")
    tab.shows("> remember me")
    row(tab, "Talk", "idle")
    (before,) = host.sessions()
    tab.page.get_by_role("banner").get_by_role("button", name="Stop").click()
    question = tab.page.get_by_role("alertdialog")
    question.get_by_role("button", name="Cancel").click()
    assert host.sessions()[0]["state"] == "open"
    tab.page.get_by_role("banner").get_by_role("button", name="Stop").click()
    question.get_by_role("button", name="Stop").click()
    tab.until(lambda: not any(s["state"] == "open" for s in host.sessions()), "the end of the session")
    tab.page.get_by_role("banner").get_by_role("button", name="Remove").click()
    row(tab, "Talk", "closed")
    tab.page.get_by_role("treeitem", name=re.compile("Talk")).click()
    tab.shows("remember me")
    tab.until(lambda: any(s["state"] == "open" for s in host.sessions()), "the session")
    (after,) = [session for session in host.sessions() if session["state"] == "open"]
    assert (after["id"], after["cwd"]) == (before["id"], before["cwd"])
    assert after["pid"] != before["pid"]


@pytest.mark.parametrize("down", [False, True], ids=["refused", "no host"])
def test_why_an_ended_session_is_not_resumed_is_said(host: RunningHost, tab: Tab, down: bool) -> None:
    agent(tab, host, "Talk")
    tab.type("[exit 3]")
    resume = tab.page.locator(".ended").get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    if down:
        host.terminate()
        expect(tab.status("connected")).to_have_count(0)
    else:
        host.project.rename(host.root / "elsewhere")
    resume.click()
    toast = tab.page.locator(".toast.error")
    expect(toast).to_contain_text("Talk was not resumed")
    expect(toast).to_contain_text("Nothing was asked of the host" if down else "is not a directory")
    resume.click()
    expect(toast).to_have_count(1)
    if down:
        host.start()
        tab.trouble.clear()  # the browser tells of each attempt that found nobody


def test_what_is_too_long_is_not_sent(host: RunningHost, tab: Tab) -> None:
    """The host would end the connection for it."""
    tab.page.get_by_role("button", name="New session").first.click()
    directory = tab.dialog.get_by_label("Directory")
    expect(directory).to_have_attribute("maxlength", "4096")
    expect(tab.dialog.get_by_label("Name")).to_have_attribute("maxlength", "256")
    directory.evaluate("(field) => { field.removeAttribute('maxlength'); field.value = '/' + 'x'.repeat(4096); }")
    tab.dialog.get_by_role("button", name="Open", exact=True).click()
    expect(tab.dialog).to_contain_text("The directory has 4097 characters; it may have 4096.")
    expect(tab.status("connected")).to_be_visible()
    assert host.sessions() == []


def test_a_conversation_that_is_open_elsewhere_is_opened_here_only_after_a_question(
    host: RunningHost, tabs: Tabs, tmp_path: Path
) -> None:
    """A second host stands for a terminal of another program, in which the same agent runs."""
    shared = {"SWITCHBOARD_AGENT_HOME": host.environment["SWITCHBOARD_AGENT_HOME"]}
    other = RunningHost(tmp_path / "other", shared).start()
    try:
        there = tabs(enter=False)
        there.enter(other)
        agent(there, other, "There")
        there.type("said elsewhere")
        there.shows("> said elsewhere")
        row(there, "There", "idle")
        tab = tabs()
        tab.page.get_by_role("treeitem", name=re.compile("said elsewhere.*closed", re.DOTALL)).click()
        question = tab.page.get_by_role("alertdialog", name="It is open in another program")
        expect(question).to_contain_text(re.compile(r"Process \d+ has it open in .*other/project"))
        question.get_by_role("button", name="Cancel").click()
        expect(tab.page.get_by_text("session live elsewhere")).to_be_visible()
        assert [session["state"] for session in host.sessions()] == ["closed"]
        tab.page.get_by_role("button", name="Try again").click()
        question.get_by_role("button", name="Open here as well").click()
        tab.until(lambda: host.sessions()[0]["state"] == "open", "the second process")
        assert other.sessions()[0]["id"] == host.sessions()[0]["id"]
    finally:
        other.cli("down", "--sessions")
        other.clean_up()


def test_a_conversation_without_a_prompt_starts_afresh_under_its_id(host: RunningHost, tab: Tab) -> None:
    agent(tab, host, "Unused")
    (before,) = host.sessions()
    tab.page.get_by_role("banner").get_by_role("button", name="Stop").click()
    tab.page.get_by_role("alertdialog").get_by_role("button", name="Stop").click()
    tab.page.get_by_role("button", name="Resume").click()
    tab.until(lambda: any(session["state"] == "open" for session in host.sessions()), "the session")
    row(tab, "Unused", "idle")
    (after,) = [session for session in host.sessions() if session["state"] == "open"]
    assert (after["id"], after["cwd"]) == (before["id"], before["cwd"])
    tab.type("hello there")
    tab.shows("> hello there")


def test_what_does_not_end_is_ended_by_force_after_another_question(host: RunningHost, tab: Tab) -> None:
    shell(tab, host, "Stubborn")
    tab.type("trap '' HUP INT TERM; clear")
    tab.until(lambda: tab.screen() == "here>", "the prompt")
    tab.page.get_by_role("banner").get_by_role("button", name="Stop").click()
    tab.page.get_by_role("alertdialog").get_by_role("button", name="Stop").click()
    question = tab.page.get_by_role("alertdialog", name="“Stubborn” still runs")
    expect(question).to_contain_text("cannot save anything")
    assert host.sessions()[0]["state"] == "open"
    question.get_by_role("button", name="End by force").click()
    tab.until(lambda: host.sessions()[0]["state"] == "exited", "its end")
    expect(tab.page.get_by_text("ended by signal 9").first).to_be_visible()


def test_a_new_session_begins_with_what_the_project_has(host: RunningHost, tab: Tab) -> None:
    other = host.root / "another project"
    other.mkdir()
    agent(tab, host, "First")
    tab.new_session("Plain shell", other, "Second")
    directory = tab.dialog.get_by_label("Directory")
    tab.page.get_by_role("button", name="New session").first.click()
    expect(directory).to_have_value(str(other))
    expect(tab.dialog.get_by_role("radio", name=re.compile("Plain shell"))).to_be_checked()
    tab.dialog.get_by_role("button", name="Cancel").click()
    tab.page.get_by_role("treeitem", name=re.compile("First")).click()
    tab.page.get_by_role("button", name="New session").first.click()
    expect(directory).to_have_value(str(host.project))
    tab.dialog.get_by_role("group", name="Known directories").get_by_role("button", name="another project").click()
    expect(directory).to_have_value(str(other))


def test_colours_follow_the_system_until_somebody_chooses(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    dark = tab.page.evaluate(paper)
    assert dark < 3 * 100
    tab.page.emulate_media(color_scheme="light")
    tab.until(lambda: tab.page.evaluate(paper) > 3 * 200, "a light page")
    tab.page.get_by_role("button", name="More").click()
    tab.page.get_by_role("menuitemcheckbox", name="Colours: dark").click()
    tab.until(lambda: tab.page.evaluate(paper) == dark, "the chosen colours")
    tab.page.reload()
    expect(tab.status("connected")).to_be_visible()
    assert tab.page.evaluate(paper) == dark


def test_rename(host: RunningHost, tab: Tab) -> None:
    agent(tab, host, "Old name")
    tab.page.get_by_role("button", name="Old name").click()
    tab.page.get_by_label("Session name").fill("New name")
    tab.page.keyboard.press("Enter")
    row(tab, "New name")
    tab.until(lambda: host.sessions()[0]["name"] == "New name", "the name at the host")


def test_a_new_name_typed_in_the_list_reaches_no_program(host: RunningHost, tab: Tab) -> None:
    shell(tab, host, "First")
    shell(tab, host, "Second")
    tab.page.get_by_role("treeitem", name=re.compile("First")).focus()
    tab.page.keyboard.press("F2")
    field = tab.page.get_by_label("Session name")
    expect(field).to_be_focused()
    tab.page.wait_for_timeout(300)
    expect(field).to_be_focused()
    tab.page.keyboard.type("touch typed-into-the-shell")
    tab.page.keyboard.press("Enter")
    row(tab, "touch typed-into-the-shell")
    tab.type("echo done")
    tab.shows("done", 2)
    assert "typed-into-the-shell" not in tab.screen()
    assert list(host.project.glob("typed*")) == []


def test_a_question_before_an_end_has_the_keyboard_on_cancel(host: RunningHost, tab: Tab) -> None:
    shell(tab, host)
    tab.page.get_by_role("banner").get_by_role("button", name="Stop").click()
    expect(tab.page.get_by_role("alertdialog").get_by_role("button", name="Cancel")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("alertdialog")).to_have_count(0)
    assert host.sessions()[0]["state"] == "open"


def test_a_long_name_leaves_the_status_its_room(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(720, 700)
    agent(tab, host, "a name without an end " * 10)
    word = tab.page.locator(".head-word > span").first
    expect(word).to_have_text("idle")
    whole = "e => e.offsetWidth > 10 && e.scrollWidth <= e.clientWidth + 1"
    assert word.evaluate(whole)
    assert word.locator("..").evaluate(whole)


def test_the_line_above_names_the_program_and_its_version(host: RunningHost, tab: Tab) -> None:
    agent(tab, host)
    expect(tab.page.locator(".head-about")).to_contain_text(f"Switchboard agent {__version__} · /")
    shell(tab, host)
    expect(tab.page.locator(".head-about")).to_contain_text("Terminal · /")


def test_a_path_gives_way_to_the_name(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(700, 700)
    deep = host.project / "a-directory-with-a-long-name" / "and-another-one-inside-it"
    deep.mkdir(parents=True)
    tab.new_session("Plain shell", deep, "a name to read")
    name = tab.page.locator(".head-name")
    expect(name).to_have_text("a name to read")
    assert name.evaluate("e => e.scrollWidth <= e.clientWidth + 1")


def test_a_session_that_waits_for_a_person_is_loud(host: RunningHost, tab: Tab) -> None:
    agent(tab, host)
    tab.type("[ask touch approved] May I?")
    row(tab, "Agent", "waiting")
    expect(tab.page.get_by_role("contentinfo")).to_contain_text("1 wait")


def test_a_wrong_directory_is_said_in_the_dialog(host: RunningHost, tab: Tab) -> None:
    tab.page.get_by_role("button", name="New session").first.click()
    tab.dialog.get_by_role("radio", name=re.compile("Plain shell")).check(force=True)
    tab.dialog.get_by_label("Directory").fill("/no/such/place")
    tab.dialog.get_by_role("button", name="Open", exact=True).click()
    expect(tab.dialog).to_contain_text("/no/such/place is not a directory")
    assert host.sessions() == []


# --- grid, keys, touch ------------------------------------------------------------------------------------------------


def test_the_grid_shows_live_cards(host: RunningHost, tab: Tab) -> None:
    shell(tab, host, "Left")
    shell(tab, host, "Right")
    tab.page.keyboard.press("Control+Shift+G")
    grid = tab.page.get_by_role("list", name="Running sessions")
    cards = grid.get_by_role("listitem")
    expect(cards).to_have_count(2)
    for card in cards.all():
        box = card.bounding_box()
        assert box is not None
        assert box["width"] >= 420
        assert box["height"] >= 260
    right = cards.filter(has_text="Right")
    right.get_by_role("button", name=re.compile("Right")).click()
    tab.page.keyboard.type("echo in the card")
    tab.page.keyboard.press("Enter")
    expect(right.locator(".xterm-rows")).to_contain_text("in the card")
    right.get_by_role("button", name=re.compile("Right")).dblclick()
    expect(grid).to_be_hidden()
    tab.shows("in the card", 2)


def test_everything_is_reached_by_keyboard(host: RunningHost, tab: Tab) -> None:
    shell(tab, host, "One")
    shell(tab, host, "Two")
    press = tab.page.keyboard.press
    press("Alt+2")
    shown = tab.page.get_by_role("banner").get_by_role("button").first
    two = shown.inner_text()
    press("Alt+1")
    expect(shown).not_to_have_text(two)
    press("Control+k")
    tab.dialog.get_by_role("combobox").fill("Two")
    press("Enter")
    expect(shown).to_have_text("Two")
    press("F6")
    assert not tab.terminal.locator("textarea").evaluate("e => e === document.activeElement")
    press("?")
    expect(tab.dialog).to_contain_text("Command palette")
    press("Escape")
    expect(tab.dialog).to_have_count(0)
    press("Escape")
    tab.page.keyboard.type("echo ?back")
    press("Enter")
    tab.shows("?back", 2)
    press("Control+Shift+A")
    expect(tab.page.get_by_role("complementary", name="Activity")).to_be_visible()


PRESS = """init => {
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, cancelable: true, ...init}));
    return Promise.resolve().then(
        () => [document.activeElement.className, document.querySelector('.head-name').innerText]);
}"""
"""Press a key and tell, before any other can be pressed, where the keyboard is and which session is shown."""


@pytest.mark.parametrize(
    "key",
    [{"key": "Escape"}, {"key": "F6", "code": "F6"}, {"key": "1", "code": "Digit1", "altKey": True}],
    ids=["Escape", "F6", "Alt+1"],
)
def test_the_terminal_has_the_keyboard_before_the_next_key(host: RunningHost, tab: Tab, key: dict[str, Any]) -> None:
    shell(tab, host, "One")
    shell(tab, host, "Two")
    tab.page.get_by_role("banner").get_by_role("button", name="Grid").focus()
    shown = "One" if key["key"] == "1" else "Two"
    assert tab.page.evaluate(PRESS, key) == ["xterm-helper-textarea", shown]


def test_the_palette_gives_the_keyboard_to_what_was_chosen_before_the_next_key(host: RunningHost, tab: Tab) -> None:
    shell(tab, host, "One")
    shell(tab, host, "Two")
    tab.page.keyboard.press("Control+k")
    tab.dialog.get_by_role("combobox").fill("One")
    assert tab.page.evaluate(PRESS, {"key": "Enter"}) == ["xterm-helper-textarea", "One"]


def test_a_dialog_that_was_closed_takes_the_keyboard_from_nobody(host: RunningHost, tab: Tab) -> None:
    tab.page.get_by_role("button", name="More").focus()
    tab.page.keyboard.press("?")
    closed = """async dialog => {
        dialog.close();
        const back = document.activeElement.getAttribute('aria-label');
        document.querySelector('[type=search]').focus();
        await new Promise(done => setTimeout(done, 100));
        return [back, document.activeElement.type, dialog.isConnected];
    }"""
    assert tab.dialog.evaluate(closed) == ["More", "search", False]


def test_escape_keeps_the_old_name(host: RunningHost, tab: Tab) -> None:
    agent(tab, host, "Old name")
    tab.page.get_by_role("button", name="Old name").click()
    tab.page.get_by_label("Session name").fill("Thought again")
    tab.page.keyboard.press("Escape")
    expect(tab.terminal.locator("textarea")).to_be_focused()
    tab.type("hello there")
    tab.shows("> hello there")
    assert host.sessions()[0]["name"] == "Old name"


def test_a_phone(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(400, 800, has_touch=True, is_mobile=True, device_scale_factor=2)
    overflow = "document.documentElement.scrollWidth - innerWidth"
    assert tab.page.evaluate(overflow) <= 0
    tab.page.get_by_role("button", name="New session").last.tap()
    tab.dialog.get_by_role("radio", name=re.compile("Plain shell")).check(force=True)
    tab.dialog.get_by_label("Directory").fill(str(host.project))
    tab.dialog.get_by_role("button", name="Open", exact=True).tap()
    tab.until(lambda: tab.screen().strip() in {"$", "#"}, "a prompt")
    tab.type("echo on-a-phone $(tput cols)")
    tab.shows("on-a-phone", 2)
    keys = tab.page.get_by_role("toolbar", name="Terminal keys")
    tab.type("cat -v")
    for name in ("Up", "Esc", "Tab", "Enter"):
        keys.get_by_role("button", name=name, exact=True).tap()
    tab.shows("^[[A^[")
    keys.get_by_role("button", name="Ctrl", exact=True).tap()
    tab.type("b", enter=False)
    tab.type("")
    tab.shows("^B", 2)
    keys.get_by_role("button", name="^C, interrupt").tap()
    tab.type("echo $?=ended")
    tab.shows("130=ended")
    assert tab.page.evaluate(overflow) <= 0
    tab.page.get_by_role("button", name="Sessions").tap()
    item = tab.page.get_by_role("treeitem", level=2)
    expect(item).to_be_visible()
    item.tap()
    expect(item).not_to_be_in_viewport()
